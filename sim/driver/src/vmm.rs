//! Address reservation and mapping: `cuMemAddressReserve`, `cuMemCreate`, `cuMemMap` and the rest.

use crate::abi::{AccessDesc, AllocationProp, DevicePtr, MemLocation, Result32, code, put};
use crate::context;
use crate::heap;
use crate::ranges::{self, Kind, Range};
use crate::slots::Slots;
use crate::sync::Lock;
use std::ffi::{c_int, c_ulonglong, c_void};

const GRANULARITY: usize = 2 << 20;

/// Physical memory: a memory file, freed when the handle is released and no mapping is left.
#[derive(Clone, Copy)]
struct Physical {
    file: c_int,
    bytes: usize,
    device: usize,
    mappings: u32,
    released: bool,
}

struct Slot(Lock<Option<Physical>>);

impl Default for Slot {
    fn default() -> Self {
        Self(Lock::new(None))
    }
}

static HANDLES: Slots<Slot> = Slots::new();

/// `cuMemGetAllocationGranularity`.
pub unsafe fn granularity(out: *mut usize, _prop: *const AllocationProp, _option: c_int) -> Result<(), Result32> {
    context::initialized()?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, GRANULARITY) };
    Ok(())
}

/// `cuMemAddressReserve`.
pub unsafe fn reserve(
    out: *mut DevicePtr,
    bytes: usize,
    _alignment: usize,
    _address: DevicePtr,
    _flags: c_ulonglong,
) -> Result<(), Result32> {
    context::initialized()?;
    if out.is_null() || bytes == 0 || !bytes.is_multiple_of(GRANULARITY) {
        return Err(code::INVALID_VALUE);
    }
    let whole = bytes.checked_add(GRANULARITY).ok_or(code::OUT_OF_MEMORY)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping without access.
    let map = unsafe { libc::mmap(std::ptr::null_mut(), whole, libc::PROT_NONE, flags, -1, 0) };
    if map == libc::MAP_FAILED {
        return Err(code::OUT_OF_MEMORY);
    }
    let base = (map as usize).next_multiple_of(GRANULARITY);
    let head = base - map as usize;
    // SAFETY: the parts before and after the aligned range are ours and unused.
    unsafe {
        if head > 0 {
            libc::munmap(map, head);
        }
        if whole - head > bytes {
            libc::munmap((base + bytes) as *mut _, whole - head - bytes);
        }
    }
    ranges::insert(Range { base, bytes, kind: Kind::Reserved, device: 0, context: 0, flags: 0, owner: 0, id: 0 });
    // SAFETY: not null.
    unsafe { put(out, base as DevicePtr) };
    Ok(())
}

/// `cuMemAddressFree`.
pub unsafe fn release_range(pointer: DevicePtr, bytes: usize) -> Result<(), Result32> {
    let base = pointer as usize;
    if !ranges::all(|r| r.kind == Kind::Mapped && r.base >= base && r.base < base.saturating_add(bytes)).is_empty() {
        return Err(code::INVALID_VALUE);
    }
    ranges::remove(base, |r| r.kind == Kind::Reserved && r.bytes == bytes).ok_or(code::INVALID_VALUE)?;
    // SAFETY: exactly a reservation of ours.
    unsafe { libc::munmap(base as *mut c_void, bytes) };
    Ok(())
}

/// `cuMemCreate`.
pub unsafe fn create(
    out: *mut c_ulonglong,
    bytes: usize,
    prop: *const AllocationProp,
    _flags: c_ulonglong,
) -> Result<(), Result32> {
    context::initialized()?;
    // SAFETY: null, or valid by the API's contract.
    let prop = unsafe { prop.as_ref() }.ok_or(code::INVALID_VALUE)?;
    if out.is_null() || bytes == 0 || !bytes.is_multiple_of(GRANULARITY) || prop.location.kind != 1 {
        return Err(code::INVALID_VALUE);
    }
    let device = context::device(prop.location.id)?;
    if !heap::charge(device, bytes as u64) {
        return Err(code::OUT_OF_MEMORY);
    }
    // SAFETY: a constant name; the size is set on our own descriptor.
    let file = unsafe {
        let file = libc::memfd_create(c"umsim physical".as_ptr(), libc::MFD_CLOEXEC);
        if file >= 0 && libc::ftruncate(file, bytes as libc::off_t) != 0 {
            libc::close(file);
            -1
        } else {
            file
        }
    };
    let slot = if file >= 0 { HANDLES.create() } else { None };
    let Some((handle, slot)) = slot else {
        heap::refund(device, bytes as u64);
        return Err(code::OUT_OF_MEMORY);
    };
    *slot.0.lock() = Some(Physical { file, bytes, device, mappings: 0, released: false });
    // SAFETY: not null.
    unsafe { put(out, handle as c_ulonglong) };
    Ok(())
}

fn with<R>(handle: usize, operation: impl FnOnce(&mut Physical) -> Result<R, Result32>) -> Result<R, Result32> {
    let slot = HANDLES.get(handle as *const c_void).ok_or(code::INVALID_VALUE)?;
    let mut held = slot.0.lock();
    let physical = held.as_mut().ok_or(code::INVALID_VALUE)?;
    let result = operation(physical)?;
    if physical.released && physical.mappings == 0 {
        // SAFETY: our own descriptor, used by nobody any more.
        unsafe { libc::close(physical.file) };
        heap::refund(physical.device, physical.bytes as u64);
        *held = None;
        drop(held);
        HANDLES.retire(handle as *const c_void);
        HANDLES.recycle(handle as *const c_void);
    }
    Ok(result)
}

/// `cuMemRelease`.
pub unsafe fn release(handle: c_ulonglong) -> Result<(), Result32> {
    context::initialized()?;
    with(handle as usize, |physical| {
        if std::mem::replace(&mut physical.released, true) { Err(code::INVALID_VALUE) } else { Ok(()) }
    })
}

/// `cuMemMap`: without access until `cuMemSetAccess`.
pub unsafe fn map(
    pointer: DevicePtr,
    bytes: usize,
    offset: usize,
    handle: c_ulonglong,
    flags: c_ulonglong,
) -> Result<(), Result32> {
    let base = pointer as usize;
    let end = base.checked_add(bytes).ok_or(code::INVALID_VALUE)?;
    let free = ranges::find(base).is_some_and(|r| r.kind == Kind::Reserved && end <= r.end());
    let clash = !ranges::all(|r| r.kind == Kind::Mapped && r.base < end && r.end() > base).is_empty();
    if flags != 0 || bytes == 0 || !free || clash || !base.is_multiple_of(4096) {
        return Err(code::INVALID_VALUE);
    }
    let device = with(handle as usize, |physical| {
        if physical.released || offset.checked_add(bytes).is_none_or(|last| last > physical.bytes) {
            return Err(code::INVALID_VALUE);
        }
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let at = offset as libc::off_t;
        // SAFETY: replaces a part of a reservation of ours that holds no mapping.
        let map = unsafe { libc::mmap(base as *mut _, bytes, libc::PROT_NONE, flags, physical.file, at) };
        if map == libc::MAP_FAILED {
            return Err(code::OUT_OF_MEMORY);
        }
        physical.mappings += 1;
        Ok(physical.device)
    })?;
    let context = context::current().map_or(0, |now| now.handle);
    let owner = handle as usize;
    ranges::insert(Range { base, bytes, kind: Kind::Mapped, device, context, flags: 0, owner, id: 0 });
    Ok(())
}

/// `cuMemUnmap`.
pub unsafe fn unmap(pointer: DevicePtr, bytes: usize) -> Result<(), Result32> {
    let (base, end) = (pointer as usize, (pointer as usize).saturating_add(bytes));
    let inside = ranges::all(|r| r.kind == Kind::Mapped && r.base >= base && r.end() <= end);
    if inside.is_empty() {
        return Err(code::INVALID_VALUE);
    }
    if let Ok(now) = context::current() {
        crate::stream::drain_context(now.handle);
    }
    for range in inside {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: puts the bare reservation back where our mapping was.
        unsafe { libc::mmap(range.base as *mut _, range.bytes, libc::PROT_NONE, flags, -1, 0) };
        ranges::remove(range.base, |r| r.kind == Kind::Mapped);
        with(range.owner, |physical| {
            physical.mappings = physical.mappings.saturating_sub(1);
            Ok(())
        })?;
    }
    Ok(())
}

/// `cuMemSetAccess`.
pub unsafe fn set_access(
    pointer: DevicePtr,
    bytes: usize,
    access: *const AccessDesc,
    count: usize,
) -> Result<(), Result32> {
    let (base, end) = (pointer as usize, (pointer as usize).saturating_add(bytes));
    let inside = ranges::all(|r| r.kind == Kind::Mapped && r.base >= base && r.end() <= end);
    if access.is_null() || count == 0 || inside.is_empty() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: `count` elements by the API's contract.
    let widest = (0..count).map(|index| unsafe { (*access.add(index)).flags }).max().unwrap_or(0);
    let protection = match widest {
        0 => libc::PROT_NONE,
        1 => libc::PROT_READ,
        _ => libc::PROT_READ | libc::PROT_WRITE,
    };
    for range in inside {
        // SAFETY: a mapping of ours.
        unsafe { libc::mprotect(range.base as *mut _, range.bytes, protection) };
    }
    Ok(())
}

/// `cuMemGetAccess`.
pub unsafe fn get_access(
    out: *mut c_ulonglong,
    _location: *const MemLocation,
    pointer: DevicePtr,
) -> Result<(), Result32> {
    ranges::find(pointer as usize).filter(|r| r.kind == Kind::Mapped).ok_or(code::INVALID_VALUE)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, 3) };
    Ok(())
}

/// `cuMemRetainAllocationHandle`.
pub unsafe fn retain(out: *mut c_ulonglong, pointer: *mut c_void) -> Result<(), Result32> {
    let range = ranges::find(pointer as usize).filter(|r| r.kind == Kind::Mapped).ok_or(code::INVALID_VALUE)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, range.owner as c_ulonglong) };
    Ok(())
}

/// The bare lock, for the fork handlers.
pub fn raw() -> &'static crate::sync::RawLock {
    HANDLES.raw()
}
