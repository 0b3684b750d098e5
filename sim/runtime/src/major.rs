//! The functions whose signature or meaning depends on the library's major version: the libraries export them, this module
//! does their work.

use crate::abi::{Error, Handle, MemLocation, NodeParams, code, put};
use crate::driver::{self, Driver, Lane, call};
use crate::state::{finish, ready, run};
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

/// `cudaMemPrefetchAsync` with a device number.
pub unsafe fn prefetch(lane: Lane, pointer: *const c_void, bytes: usize, device: c_int, stream: Handle) -> Error {
    // SAFETY: by the API's contract.
    run(|| unsafe { call!(ready()?.lane(lane), prefetch(pointer as u64, bytes, device, stream)) })
}

/// `cudaMemPrefetchAsync` with a location.
pub unsafe fn prefetch_to(
    lane: Lane,
    pointer: *const c_void,
    bytes: usize,
    location: MemLocation,
    flags: c_uint,
    stream: Handle,
) -> Error {
    // SAFETY: by the API's contract.
    run(|| unsafe { call!(ready()?.lane(lane), prefetch_v2(pointer as u64, bytes, location, flags, stream)) })
}

/// `cudaMemAdvise` with a device number.
pub unsafe fn advise(pointer: *const c_void, bytes: usize, advice: c_int, device: c_int) -> Error {
    // SAFETY: by the API's contract.
    run(|| unsafe { call!(ready()?.common, advise(pointer as u64, bytes, advice, device)) })
}

/// `cudaMemAdvise` with a location.
pub unsafe fn advise_at(pointer: *const c_void, bytes: usize, advice: c_int, location: MemLocation) -> Error {
    // SAFETY: by the API's contract.
    run(|| unsafe { call!(ready()?.common, advise_v2(pointer as u64, bytes, advice, location)) })
}

/// `cudaRuntimeGetVersion`.
pub unsafe fn version(out: *mut c_int, version: c_int) -> Error {
    if out.is_null() {
        return finish(Err(code::INVALID_VALUE));
    }
    // SAFETY: not null.
    unsafe { put(out, version) };
    0
}

/// `cudaGetDriverEntryPoint` and its form with a version.
pub unsafe fn entry_point(
    lane: Lane,
    symbol: *const c_char,
    out: *mut *mut c_void,
    version: c_int,
    flags: c_ulonglong,
    status: *mut c_int,
) -> Error {
    run(|| {
        let driver = driver::get()?;
        let flags = if flags == 0 && lane == Lane::PerThread { 2 } else { flags };
        // SAFETY: by the API's contract.
        match unsafe { driver.proc_address(symbol, out, version, flags, status) } {
            0 => Ok(()),
            error => Err(error),
        }
    })
}

/// `cudaStreamGetCaptureInfo`; what a form does not have is null.
pub unsafe fn capture_info(
    lane: Lane,
    stream: Handle,
    status: *mut c_int,
    id: *mut u64,
    graph: *mut Handle,
    dependencies: *mut *const Handle,
    edges: *mut *const c_void,
    count: *mut usize,
) -> Error {
    // SAFETY: by the API's contract.
    run(|| unsafe { call!(ready()?.lane(lane), capture_info(stream, status, id, graph, dependencies, edges, count)) })
}

/// `cudaGraphAddNode`; what it says of edges is ignored.
pub unsafe fn add_node(
    out: *mut Handle,
    graph: Handle,
    list: *const Handle,
    count: usize,
    params: *mut NodeParams,
) -> Error {
    // SAFETY: by the API's contract.
    run(|| unsafe { crate::graph::add_any(out, graph, list, count, params) })
}

/// `cudaPointerGetAttributes`: `size` is that of the major's structure, whose first 24 bytes are alike.
pub unsafe fn pointer_attributes(out: *mut u8, size: usize, pointer: *const c_void) -> Error {
    run(|| {
        let driver = ready()?;
        if out.is_null() {
            return Err(code::INVALID_VALUE);
        }
        let (mut kind, mut ordinal, mut device, mut host, mut managed) = (0u32, -2i32, 0u64, 0usize, 0u8);
        let attributes = [2, 9, 3, 4, 8];
        let mut data: [*mut c_void; 5] = [
            (&raw mut kind).cast(),
            (&raw mut ordinal).cast(),
            (&raw mut device).cast(),
            (&raw mut host).cast(),
            (&raw mut managed).cast(),
        ];
        // SAFETY: five attributes with an out-pointer each.
        unsafe { call!(driver.common, pointer_attributes(5, attributes.as_ptr(), data.as_mut_ptr(), pointer as u64)) }?;
        let kind: c_int = match (kind, managed) {
            (_, 1) => 3,
            (0, _) => 0,
            (kind, _) => kind as c_int,
        };
        let host = if kind == 0 { pointer as usize } else { host };
        // SAFETY: the caller's structure has `size` bytes, at least 24.
        unsafe {
            std::ptr::write_bytes(out, 0, size);
            put(out.cast::<c_int>(), kind);
            put(out.add(4).cast::<c_int>(), ordinal);
            put(out.add(8).cast::<u64>(), device);
            put(out.add(16).cast::<usize>(), host);
        }
        Ok(())
    })
}

/// Where the fields of a major's `cudaDeviceProp` are: a device attribute's number and an offset, for the `int` fields.
pub struct Layout {
    /// Bytes of the structure.
    pub size: usize,
    /// Attribute and offset.
    pub ints: &'static [(c_int, usize)],
}

/// Offsets that both majors share.
const NAME: usize = 0;
const UUID: usize = 256;
const TOTAL: usize = 288;
const SHARED: usize = 296;
const PITCH: usize = 312;
const CONSTANT: usize = 352;
/// Attribute and offset of the `int` fields that both majors have in one place.
const COMMON: &[(c_int, usize)] =
    &[(12, 304), (10, 308), (1, 320), (2, 324), (3, 328), (4, 332), (5, 336), (6, 340), (7, 344), (75, 360), (76, 364)];

fn attribute(driver: &Driver, which: c_int, device: c_int) -> Result<c_int, Error> {
    let mut value = 0;
    // SAFETY: a valid out-pointer.
    unsafe { call!(driver.common, device_attribute(&raw mut value, which, device)) }?;
    Ok(value)
}

/// `cudaGetDeviceProperties` in a major's layout.
pub unsafe fn properties(out: *mut u8, device: c_int, layout: &Layout) -> Error {
    run(|| {
        let driver = driver::get()?;
        if out.is_null() {
            return Err(code::INVALID_VALUE);
        }
        let mut total = 0usize;
        // SAFETY: the caller's structure has the layout's size; all offsets lie inside it.
        unsafe {
            call!(driver.common, device_total(&raw mut total, device))?;
            std::ptr::write_bytes(out, 0, layout.size);
            call!(driver.common, device_name(out.add(NAME).cast(), 256, device))?;
            call!(driver.common, device_uuid(out.add(UUID).cast(), device))?;
            put(out.add(TOTAL).cast::<usize>(), total);
            put(out.add(SHARED).cast::<usize>(), attribute(driver, 8, device)? as usize);
            put(out.add(PITCH).cast::<usize>(), attribute(driver, 11, device)? as usize);
            put(out.add(CONSTANT).cast::<usize>(), attribute(driver, 9, device)? as usize);
            for (which, offset) in COMMON.iter().chain(layout.ints) {
                put(out.add(*offset).cast::<c_int>(), attribute(driver, *which, device)?);
            }
        }
        Ok(())
    })
}

/// `cudaThreadSynchronize` of CUDA 12.
pub unsafe fn synchronize() -> Error {
    // SAFETY: no arguments.
    run(|| unsafe { call!(ready()?.common, synchronize()) })
}

/// `cudaMemPrefetchBatchAsync`, and with `discard` `cudaMemDiscardAndPrefetchBatchAsync`.
pub unsafe fn prefetch_batch(
    lane: Lane,
    discard: bool,
    pointers: *const u64,
    sizes: *const usize,
    count: usize,
    locations: *const MemLocation,
    indexes: *const usize,
    location_count: usize,
    flags: c_ulonglong,
    stream: Handle,
) -> Error {
    // SAFETY: by the API's contract.
    run(|| unsafe {
        let table = ready()?.lane(lane);
        if discard {
            call!(
                table,
                discard_prefetch_batch(pointers, sizes, count, locations, indexes, location_count, flags, stream)
            )
        } else {
            call!(table, prefetch_batch(pointers, sizes, count, locations, indexes, location_count, flags, stream))
        }
    })
}

/// `cudaMemDiscardBatchAsync`.
pub unsafe fn discard_batch(
    lane: Lane,
    pointers: *const u64,
    sizes: *const usize,
    count: usize,
    flags: c_ulonglong,
    stream: Handle,
) -> Error {
    // SAFETY: by the API's contract.
    run(|| unsafe { call!(ready()?.lane(lane), discard_batch(pointers, sizes, count, flags, stream)) })
}
