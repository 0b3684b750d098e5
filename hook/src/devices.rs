//! The devices, as the driver describes them once it is initialised.

use core::ffi::{CStr, c_char};
use umtui_wire::record::{
    DEVICE_CONCURRENT_MANAGED, DEVICE_HOST_PAGE_TABLES, DEVICE_INTEGRATED, DEVICE_PAGEABLE_ACCESS, DEVICE_PART,
};

use crate::{definitions, symbols};

/// `CU_DEVICE_ATTRIBUTE_*`.
mod attribute {
    pub const MULTIPROCESSORS: i32 = 16;
    pub const INTEGRATED: i32 = 18;
    pub const PCI_BUS: i32 = 33;
    pub const PCI_DEVICE: i32 = 34;
    pub const PCI_DOMAIN: i32 = 50;
    pub const MAJOR: i32 = 75;
    pub const MINOR: i32 = 76;
    pub const PAGEABLE_ACCESS: i32 = 88;
    pub const CONCURRENT_MANAGED: i32 = 89;
    pub const HOST_PAGE_TABLES: i32 = 100;
}

/// Devices that are described at most.
const MOST: u32 = 64;

type Number = unsafe extern "C" fn(*mut i32) -> i32;
type Name = unsafe extern "C" fn(*mut c_char, i32, i32) -> i32;
type Memory = unsafe extern "C" fn(*mut usize, i32) -> i32;
type Attribute = unsafe extern "C" fn(*mut i32, i32, i32) -> i32;
type Uuid = unsafe extern "C" fn(*mut [u64; 2], i32) -> i32;

/// A function of the driver, called past ourselves.
///
/// # Safety
/// It has this type.
unsafe fn driver<F: Copy>(name: &[u8]) -> Option<F> {
    let address = symbols::of_library(b"libcuda.so.1", name)?;
    // SAFETY: as the caller says; a function pointer is an address.
    Some(unsafe { core::mem::transmute_copy::<usize, F>(&address) })
}

/// The driver's version, 13000 for 13.0; zero if it does not say.
pub fn driver_version() -> u32 {
    let mut version = 0;
    // SAFETY: the driver's function by its signature, which fills a number of ours.
    if let Some(get) = unsafe { driver::<Number>(b"cuDriverGetVersion") } {
        // SAFETY: as above.
        unsafe { get(&mut version) };
    }
    version.max(0) as u32
}

/// How many there are; `None`: the driver does not say, as before it is initialised.
pub fn count() -> Option<u32> {
    let mut count = 0;
    // SAFETY: the driver's functions by their signatures; each fills what is passed and nothing more.
    let status = unsafe { driver::<Number>(b"cuDeviceGetCount")?(&mut count) };
    (status == 0).then_some(count.max(0) as u32)
}

/// Describes each device in the file; how many there are, if the driver says.
pub fn describe() -> Option<u32> {
    let count = count()?;
    for device in 0..count.min(MOST) {
        describe_one(device as i32);
    }
    Some(count)
}

fn describe_one(device: i32) -> Option<()> {
    // SAFETY: as in `describe`.
    let (get_name, get_memory, get_attribute, get_uuid) = unsafe {
        (
            driver::<Name>(b"cuDeviceGetName")?,
            driver::<Memory>(b"cuDeviceTotalMem_v2")?,
            driver::<Attribute>(b"cuDeviceGetAttribute")?,
            driver::<Uuid>(b"cuDeviceGetUuid_v2").or_else(|| driver::<Uuid>(b"cuDeviceGetUuid")),
        )
    };
    let mut name = [0u8; 256];
    let (mut memory, mut uuid) = (0, [0u64; 2]);
    // Ordinals are those of handles: the driver's `CUdevice` is the ordinal.
    // SAFETY: as in `describe`.
    unsafe {
        get_name(name.as_mut_ptr().cast(), name.len() as i32, device);
        get_memory(&mut memory, device);
        if let Some(get_uuid) = get_uuid {
            get_uuid(&mut uuid, device);
        }
    }
    let attribute = |which| {
        let mut value = 0;
        // SAFETY: as in `describe`.
        let status = unsafe { get_attribute(&mut value, which, device) };
        if status == 0 { u64::from(value.max(0) as u32) } else { 0 }
    };
    let name = CStr::from_bytes_until_nul(&name).map(CStr::to_bytes).unwrap_or_default();
    let mut bits = 0;
    for (which, bit) in [
        (attribute::CONCURRENT_MANAGED, DEVICE_CONCURRENT_MANAGED),
        (attribute::PAGEABLE_ACCESS, DEVICE_PAGEABLE_ACCESS),
        (attribute::HOST_PAGE_TABLES, DEVICE_HOST_PAGE_TABLES),
        (attribute::INTEGRATED, DEVICE_INTEGRATED),
    ] {
        bits |= if attribute(which) != 0 { bit } else { 0 };
    }
    if name.windows(5).any(|part| part == b" MIG ") {
        bits |= DEVICE_PART;
    }
    let words = [
        memory as u64,
        attribute(attribute::MINOR).wrapping_shl(32) | attribute(attribute::MAJOR),
        attribute(attribute::MULTIPROCESSORS) | attribute(attribute::PCI_DOMAIN).wrapping_shl(32),
        attribute(attribute::PCI_BUS).wrapping_shl(32) | attribute(attribute::PCI_DEVICE),
        bits,
    ];
    definitions::device(device as u16, definitions::string(name), words, uuid);
    Some(())
}
