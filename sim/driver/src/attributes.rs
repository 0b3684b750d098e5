//! What a stand-in device says about itself.

use crate::abi::{Result32, Uuid, code, put};
use crate::{config, context};
use std::ffi::{c_char, c_int, c_uint};

/// The driver's version: CUDA 13.0.
pub const VERSION: c_int = 13000;

/// `cuDriverGetVersion`.
pub unsafe fn driver_version(out: *mut c_int) -> Result<(), Result32> {
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null.
    unsafe { put(out, VERSION) };
    Ok(())
}

/// `cuDeviceGetCount`.
pub unsafe fn count(out: *mut c_int) -> Result<(), Result32> {
    context::initialized()?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null.
    unsafe { put(out, config::get().devices as c_int) };
    Ok(())
}

/// `cuDeviceGet`.
pub unsafe fn get(out: *mut c_int, ordinal: c_int) -> Result<(), Result32> {
    context::device(ordinal)?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null.
    unsafe { put(out, ordinal) };
    Ok(())
}

/// Copies text and its NUL into a caller's buffer, cut to fit.
///
/// # Safety
/// `out` is valid for `length` bytes.
unsafe fn text(out: *mut c_char, length: c_int, text: &str) -> Result<(), Result32> {
    let room = usize::try_from(length).ok().and_then(|n| n.checked_sub(1)).ok_or(code::INVALID_VALUE)?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let bytes = text.as_bytes();
    let count = bytes.len().min(room);
    // SAFETY: `count` + 1 is at most `length`.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), out.cast::<u8>(), count);
        out.add(count).write(0);
    }
    Ok(())
}

/// `cuDeviceGetName`.
pub unsafe fn name(out: *mut c_char, length: c_int, ordinal: c_int) -> Result<(), Result32> {
    let device = context::device(ordinal)?;
    // SAFETY: by the API's contract.
    unsafe { text(out, length, &format!("Stand-in GPU {device}")) }
}

/// `cuDeviceGetPCIBusId`.
pub unsafe fn pci_bus_id(out: *mut c_char, length: c_int, ordinal: c_int) -> Result<(), Result32> {
    let device = context::device(ordinal)?;
    // SAFETY: by the API's contract.
    unsafe { text(out, length, &format!("0000:{:02X}:00.0", device + 1)) }
}

/// `cuDeviceTotalMem`.
pub unsafe fn total_mem(out: *mut usize, ordinal: c_int) -> Result<(), Result32> {
    context::device(ordinal)?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null.
    unsafe { put(out, config::get().memory as usize) };
    Ok(())
}

/// `cuDeviceGetUuid`: "umtui sim" and the ordinal.
pub unsafe fn uuid(out: *mut Uuid, ordinal: c_int) -> Result<(), Result32> {
    let device = context::device(ordinal)?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let mut bytes = *b"umtui-sim-gpu-00";
    if let Some(last) = bytes.last_mut() {
        *last = b'0' + device as u8;
    }
    // SAFETY: not null.
    unsafe { put(out, Uuid { bytes }) };
    Ok(())
}

/// `cuDeviceComputeCapability`.
pub unsafe fn capability(major: *mut c_int, minor: *mut c_int, ordinal: c_int) -> Result<(), Result32> {
    context::device(ordinal)?;
    // SAFETY: out-pointers by the API's contract.
    unsafe {
        put(major, 9);
        put(minor, 0);
    }
    Ok(())
}

/// An attribute's value: those of an H200 where programs are known to look.
pub fn value(attribute: c_int, device: usize) -> Option<c_int> {
    Some(match attribute {
        1..=3 => 1_024,
        4 => 64,
        5 => 0x7fff_ffff,
        6 | 7 => 65_535,
        8 => 49_152,
        9 | 12 | 82 => 65_536,
        10 => 32,
        11 => 0x7fff_ffff,
        13 => 1_980_000,
        14 | 30 => 512,
        16 => 132,
        33 => device as c_int + 1,
        34 | 50 => 0,
        36 => 3_201_000,
        37 => 6_144,
        38 => 62_914_560,
        39 => 2_048,
        40 => 3,
        51 => 32,
        75 => 9,
        76 => 0,
        81 => 233_472,
        97 => 232_448,
        106 => 32,
        111 => 1_024,
        119 | 127 | 126 | 120 => 1,
        // Managed and concurrent managed access, memory pools, address management and the like: yes.
        15 | 19 | 31 | 32 | 41 | 78 | 79 | 80 | 83 | 89 | 90 | 91 | 95 | 99 | 102 | 103 | 115 | 121 | 122 | 129 => 1,
        85 | 134 => device as c_int,
        130 => 0,
        131 => -1,
        n if (1..=147).contains(&n) => 0,
        _ => return None,
    })
}

/// `cuDeviceGetAttribute`.
pub unsafe fn attribute(out: *mut c_int, attribute: c_int, ordinal: c_int) -> Result<(), Result32> {
    let device = context::device(ordinal)?;
    let value = value(attribute, device).ok_or(code::INVALID_VALUE)?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null.
    unsafe { put(out, value) };
    Ok(())
}

/// `cuDeviceCanAccessPeer`.
pub unsafe fn can_access_peer(out: *mut c_int, from: c_int, to: c_int) -> Result<(), Result32> {
    let (from, to) = (context::device(from)?, context::device(to)?);
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, c_int::from(from != to)) };
    Ok(())
}

/// `cuDeviceGetP2PAttribute`.
pub unsafe fn p2p_attribute(out: *mut c_int, attribute: c_int, from: c_int, to: c_int) -> Result<(), Result32> {
    let (from, to) = (context::device(from)?, context::device(to)?);
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, c_int::from(from != to && attribute != 1)) };
    Ok(())
}

/// `cuModuleGetLoadingMode`: lazy, as CUDA 12 and later default to.
pub unsafe fn loading_mode(out: *mut c_int) -> Result<(), Result32> {
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, 2) };
    Ok(())
}

/// `cuOccupancyMaxActiveBlocksPerMultiprocessor` and its form with flags.
pub unsafe fn occupancy(
    out: *mut c_int,
    _function: *mut std::ffi::c_void,
    block: c_int,
    _shared: usize,
    _flags: c_uint,
) -> Result<(), Result32> {
    context::current()?;
    if block <= 0 {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, (2_048 / block).min(32)) };
    Ok(())
}
