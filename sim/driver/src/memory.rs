//! Device, host and managed allocations, and what a pointer is.

use crate::abi::{DevicePtr, Result32, code, put};
use crate::activity;
use crate::config;
use crate::context::{self, Current};
use crate::heap;
use crate::managed;
use crate::ranges::{self, Kind, Range};
use crate::stream::{self, Stream};
use crate::told::{self, Event};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;

fn enter(now: &Current, base: usize, bytes: usize, kind: Kind, flags: u32) {
    let device = now.device();
    let range = Range { base, bytes, kind, device, context: now.handle, flags, owner: 0, id: 0 };
    ranges::insert(range);
    tell(&range, ALLOCATED, None);
}

/// CUPTI's operations.
pub const ALLOCATED: u64 = 1;
pub const RELEASED: u64 = 2;

/// Tells of memory that was allocated or released, in order of a stream or at once.
pub fn tell(range: &Range, operation: u64, stream: Option<&Stream>) {
    if !activity::attached() || range.kind == Kind::Registered {
        return;
    }
    activity::tell(&Event {
        start: config::now(),
        address: range.base as u64,
        bytes: range.bytes as u64,
        value: operation,
        memory: [range.kind.memory(); 2],
        device: range.device as u32,
        context: context::lookup(range.context).map_or(0, |context| context.id.load(Ordering::Relaxed)),
        stream: stream.map_or(told::NONE, |stream| stream.id.load(Ordering::Relaxed)),
        asynchronous: u8::from(stream.is_some()),
        correlation: activity::correlate(),
        ..Event::new(told::kind::MEMORY)
    });
}

/// Device memory for the current context.
pub fn take_device(now: &Current, bytes: usize) -> Result<usize, Result32> {
    let cost = heap::rounded(bytes) as u64;
    if !heap::charge(now.device(), cost) {
        return Err(code::OUT_OF_MEMORY);
    }
    let Some(base) = heap::take(bytes) else {
        heap::refund(now.device(), cost);
        return Err(code::OUT_OF_MEMORY);
    };
    enter(now, base, bytes, Kind::Device, 0);
    Ok(base)
}

/// Gives device memory back.
pub fn drop_device(base: usize, bytes: usize) {
    if let Some(range) = ranges::remove(base, |r| r.kind == Kind::Device) {
        tell(&range, RELEASED, None);
        heap::refund(range.device, heap::rounded(bytes) as u64);
        heap::give(base, bytes);
    }
}

/// `cuMemAlloc`.
pub unsafe fn alloc(out: *mut DevicePtr, bytes: usize) -> Result<(), Result32> {
    let now = context::current()?;
    if out.is_null() || bytes == 0 {
        return Err(code::INVALID_VALUE);
    }
    let base = take_device(&now, bytes)?;
    // SAFETY: not null.
    unsafe { put(out, base as DevicePtr) };
    Ok(())
}

/// `cuMemAllocPitch`.
pub unsafe fn alloc_pitch(
    out: *mut DevicePtr,
    pitch: *mut usize,
    width: usize,
    height: usize,
    element: c_uint,
) -> Result<(), Result32> {
    let now = context::current()?;
    if out.is_null() || pitch.is_null() || width == 0 || height == 0 || !matches!(element, 4 | 8 | 16) {
        return Err(code::INVALID_VALUE);
    }
    let row = width.checked_next_multiple_of(heap::ALIGN).ok_or(code::OUT_OF_MEMORY)?;
    let base = take_device(&now, row.checked_mul(height).ok_or(code::OUT_OF_MEMORY)?)?;
    // SAFETY: not null.
    unsafe {
        put(out, base as DevicePtr);
        put(pitch, row);
    }
    Ok(())
}

/// `cuMemFree`: waits for the device, as the real one does.
pub unsafe fn free(pointer: DevicePtr) -> Result<(), Result32> {
    context::current()?;
    if pointer == 0 {
        return Ok(());
    }
    let base = pointer as usize;
    let range = ranges::find(base).filter(|r| r.base == base).ok_or(code::INVALID_VALUE)?;
    if !matches!(range.kind, Kind::Device | Kind::Managed | Kind::Pool) {
        return Err(code::INVALID_VALUE);
    }
    stream::refuse_while_capturing(range.context)?;
    stream::drain_context(range.context);
    match range.kind {
        Kind::Pool => crate::pool::give_back(base, None),
        _ => release(base),
    }
}

fn release(base: usize) -> Result<(), Result32> {
    let range = ranges::remove(base, |r| matches!(r.kind, Kind::Device | Kind::Managed)).ok_or(code::INVALID_VALUE)?;
    tell(&range, RELEASED, None);
    if range.kind == Kind::Managed {
        managed::release(base);
    } else {
        heap::refund(range.device, heap::rounded(range.bytes) as u64);
        heap::give(base, range.bytes);
    }
    Ok(())
}

/// Frees what a dying context owns.
pub fn free_context(context: usize) {
    for range in ranges::all(|r| r.context == context) {
        match range.kind {
            Kind::Device | Kind::Managed => drop(release(range.base)),
            Kind::Pinned => drop(release_host(range.base)),
            Kind::Registered => drop(ranges::remove(range.base, |r| r.kind == Kind::Registered)),
            Kind::Pool | Kind::Reserved | Kind::Mapped | Kind::Opened => {}
        }
    }
}

/// `cuMemGetInfo`.
pub unsafe fn info(free: *mut usize, total: *mut usize) -> Result<(), Result32> {
    let now = context::current()?;
    let all = config::get().memory;
    let used = heap::used(now.device()).saturating_add(managed::resident_bytes(now.device()));
    // SAFETY: out-pointers by the API's contract.
    unsafe {
        put(free, all.saturating_sub(used) as usize);
        put(total, all as usize);
    }
    Ok(())
}

/// `cuMemGetAddressRange`.
pub unsafe fn address_range(base: *mut DevicePtr, bytes: *mut usize, pointer: DevicePtr) -> Result<(), Result32> {
    context::current()?;
    let range = ranges::find(pointer as usize).ok_or(code::NOT_FOUND)?;
    // SAFETY: out-pointers by the API's contract.
    unsafe {
        put(base, range.base as DevicePtr);
        put(bytes, range.bytes);
    }
    Ok(())
}

/// `cuMemAllocManaged`.
pub unsafe fn alloc_managed(out: *mut DevicePtr, bytes: usize, flags: c_uint) -> Result<(), Result32> {
    let now = context::current()?;
    if out.is_null() || bytes == 0 || !matches!(flags, 1 | 2) {
        return Err(code::INVALID_VALUE);
    }
    let base = managed::allocate(bytes).ok_or(code::OUT_OF_MEMORY)?;
    enter(&now, base, bytes, Kind::Managed, flags);
    // SAFETY: not null.
    unsafe { put(out, base as DevicePtr) };
    Ok(())
}

/// `cuMemHostAlloc`.
pub unsafe fn host_alloc(out: *mut *mut c_void, bytes: usize, flags: c_uint) -> Result<(), Result32> {
    let now = context::current()?;
    if out.is_null() || bytes == 0 || flags > 7 {
        return Err(code::INVALID_VALUE);
    }
    let base = heap::take(bytes).ok_or(code::OUT_OF_MEMORY)?;
    enter(&now, base, bytes, Kind::Pinned, flags);
    // SAFETY: not null.
    unsafe { put(out, base as *mut c_void) };
    Ok(())
}

/// `cuMemAllocHost`.
pub unsafe fn alloc_host(out: *mut *mut c_void, bytes: usize) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { host_alloc(out, bytes, 0) }
}

fn release_host(base: usize) -> Result<(), Result32> {
    let range = ranges::remove(base, |r| r.kind == Kind::Pinned).ok_or(code::INVALID_VALUE)?;
    tell(&range, RELEASED, None);
    heap::give(base, range.bytes);
    Ok(())
}

/// `cuMemFreeHost`.
pub unsafe fn free_host(pointer: *mut c_void) -> Result<(), Result32> {
    let now = context::current()?;
    if pointer.is_null() {
        return Ok(());
    }
    stream::drain_context(now.handle);
    release_host(pointer as usize)
}

/// `cuMemHostRegister`.
pub unsafe fn host_register(pointer: *mut c_void, bytes: usize, flags: c_uint) -> Result<(), Result32> {
    let now = context::current()?;
    if pointer.is_null() || bytes == 0 || flags > 15 {
        return Err(code::INVALID_VALUE);
    }
    if ranges::overlaps(pointer as usize, bytes) {
        return Err(code::HOST_MEMORY_ALREADY_REGISTERED);
    }
    enter(&now, pointer as usize, bytes, Kind::Registered, flags);
    Ok(())
}

/// `cuMemHostUnregister`.
pub unsafe fn host_unregister(pointer: *mut c_void) -> Result<(), Result32> {
    context::current()?;
    if pointer.is_null() {
        return Err(code::INVALID_VALUE);
    }
    ranges::remove(pointer as usize, |r| r.kind == Kind::Registered).map(drop).ok_or(code::HOST_MEMORY_NOT_REGISTERED)
}

/// `cuMemHostGetDevicePointer`: the same address.
pub unsafe fn host_device_pointer(out: *mut DevicePtr, pointer: *mut c_void, _flags: c_uint) -> Result<(), Result32> {
    context::current()?;
    ranges::find(pointer as usize)
        .filter(|r| matches!(r.kind, Kind::Pinned | Kind::Registered))
        .ok_or(code::INVALID_VALUE)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, pointer as DevicePtr) };
    Ok(())
}

/// `cuMemHostGetFlags`.
pub unsafe fn host_flags(out: *mut c_uint, pointer: *mut c_void) -> Result<(), Result32> {
    context::current()?;
    let range = ranges::find(pointer as usize).filter(|r| r.kind == Kind::Pinned).ok_or(code::INVALID_VALUE)?;
    // SAFETY: out-pointer by the API's contract. Pinned memory is always mapped under unified addressing.
    unsafe { put(out, range.flags | 2) };
    Ok(())
}

/// One pointer attribute, written with the size that the driver gives it.
///
/// # Safety
/// `out` is valid for the attribute's size.
unsafe fn one(range: &Range, attribute: c_int, pointer: usize, out: *mut c_void) -> Result<(), Result32> {
    let host = matches!(range.kind, Kind::Pinned | Kind::Registered);
    let managed = range.kind == Kind::Managed;
    // SAFETY: by the caller's contract, for every arm.
    unsafe {
        match attribute {
            1 => put(out.cast(), range.context),
            2 => put(out.cast::<c_uint>(), if host { 1 } else { 2 }),
            3 => put(out.cast(), pointer as DevicePtr),
            4 if host || managed => put(out.cast(), pointer),
            4 => return Err(code::INVALID_VALUE),
            6 => put(out.cast::<c_uint>(), 0),
            7 | 20 => put(out.cast(), range.id),
            8 => put(out.cast::<u8>(), u8::from(managed)),
            9 => put(out.cast::<c_int>(), range.device as c_int),
            10 => put(out.cast::<u8>(), u8::from(range.kind == Kind::Device)),
            11 | 19 => put(out.cast(), range.base as DevicePtr),
            12 | 18 => put(out.cast(), range.bytes),
            13 => put(out.cast::<u8>(), u8::from(range.kind != Kind::Reserved)),
            14 => put(out.cast::<u64>(), 0),
            15 | 21 => put(out.cast::<u8>(), 0),
            16 => put(out.cast::<c_uint>(), 3),
            17 => put(out.cast(), if range.kind == Kind::Pool { range.owner } else { 0 }),
            _ => return Err(code::INVALID_VALUE),
        }
    }
    Ok(())
}

/// `cuPointerGetAttribute`.
pub unsafe fn pointer_attribute(out: *mut c_void, attribute: c_int, pointer: DevicePtr) -> Result<(), Result32> {
    context::current()?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let range = ranges::find(pointer as usize).ok_or(code::INVALID_VALUE)?;
    // SAFETY: by the API's contract.
    unsafe { one(&range, attribute, pointer as usize, out) }
}

/// `cuPointerGetAttributes`: for an unknown pointer every value is zero, and the call succeeds.
pub unsafe fn pointer_attributes(
    count: c_uint,
    attributes: *const c_int,
    data: *mut *mut c_void,
    pointer: DevicePtr,
) -> Result<(), Result32> {
    context::current()?;
    if attributes.is_null() || data.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let range = ranges::find(pointer as usize);
    for index in 0..count as usize {
        // SAFETY: the arrays have `count` elements by the API's contract.
        let (attribute, out) = unsafe { (*attributes.add(index), *data.add(index)) };
        // SAFETY: each out-pointer is valid for its attribute.
        unsafe {
            let known = range.as_ref().is_some_and(|range| one(range, attribute, pointer as usize, out).is_ok());
            if !known {
                match attribute {
                    1 | 3 | 4 | 7 | 11 | 12 | 14 | 17..=20 => put(out.cast::<u64>(), 0),
                    9 => put(out.cast::<c_int>(), -2),
                    8 | 10 | 13 | 15 | 21 => put(out.cast::<u8>(), 0),
                    _ => put(out.cast::<c_uint>(), 0),
                }
            }
        }
    }
    Ok(())
}

/// `cuPointerSetAttribute`: accepted for known pointers.
pub unsafe fn set_pointer_attribute(
    _value: *const c_void,
    _attribute: c_int,
    pointer: DevicePtr,
) -> Result<(), Result32> {
    context::current()?;
    ranges::find(pointer as usize).map(drop).ok_or(code::INVALID_VALUE)
}
