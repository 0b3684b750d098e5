// The exports of CUDA 13 alone, included by the shared library and by the static one.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use umsim_runtime::abi::{Error, Handle, MemLocation, NodeParams};
use umsim_runtime::driver::Lane;
use umsim_runtime::major::{self, Layout};

const VERSION: c_int = 13000;

/// Bytes of `cudaPointerAttributes`.
const POINTER_ATTRIBUTES: usize = 88;

/// `cudaDeviceProp` of CUDA 13.
const PROPERTIES: Layout = Layout {
    size: 1008,
    ints: &[
        (16, 384),
        (18, 388),
        (19, 392),
        (31, 560),
        (33, 568),
        (34, 572),
        (50, 576),
        (40, 584),
        (41, 588),
        (37, 592),
        (38, 596),
        (39, 604),
        (83, 636),
        (88, 652),
        (89, 656),
        (115, 720),
    ],
};

/// `cudaRuntimeGetVersion`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaRuntimeGetVersion(out: *mut c_int) -> Error {
    // SAFETY: passed through.
    unsafe { major::version(out, VERSION) }
}

/// `cudaGetDeviceProperties`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties(out: *mut u8, device: c_int) -> Error {
    // SAFETY: passed through.
    unsafe { major::properties(out, device, &PROPERTIES) }
}

/// `cudaPointerGetAttributes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaPointerGetAttributes(out: *mut u8, pointer: *const c_void) -> Error {
    // SAFETY: passed through.
    unsafe { major::pointer_attributes(out, POINTER_ATTRIBUTES, pointer) }
}

/// `cudaMemAdvise`: a location by value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemAdvise(
    pointer: *const c_void,
    bytes: usize,
    advice: c_int,
    location: MemLocation,
) -> Error {
    // SAFETY: passed through.
    unsafe { major::advise_at(pointer, bytes, advice, location) }
}

/// `cudaGraphAddNode`: with data of edges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddNode(
    out: *mut Handle,
    graph: Handle,
    list: *const Handle,
    _edges: *const c_void,
    count: usize,
    params: *mut NodeParams,
) -> Error {
    // SAFETY: passed through.
    unsafe { major::add_node(out, graph, list, count, params) }
}

macro_rules! lanes {
    ($($name:ident | $own:ident($($arg:ident: $kind:ty),*) $lane:ident => $body:expr;)*) => { $(
        /// The function of this name, with the legacy default stream.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $kind),*) -> Error {
            let $lane = Lane::Legacy;
            // SAFETY: passed through.
            unsafe { $body }
        }
        /// The function of this name, with the thread's own default stream.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $own($($arg: $kind),*) -> Error {
            let $lane = Lane::PerThread;
            // SAFETY: passed through.
            unsafe { $body }
        }
    )* };
}

lanes! {
    cudaMemPrefetchBatchAsync | cudaMemPrefetchBatchAsync_ptsz(pointers: *const u64, sizes: *const usize, count: usize,
        locations: *const MemLocation, indexes: *const usize, location_count: usize, flags: c_ulonglong,
        stream: Handle) lane => major::prefetch_batch(lane, false, pointers, sizes, count, locations, indexes,
            location_count, flags, stream);
    cudaMemDiscardAndPrefetchBatchAsync | cudaMemDiscardAndPrefetchBatchAsync_ptsz(pointers: *const u64,
        sizes: *const usize, count: usize, locations: *const MemLocation, indexes: *const usize, location_count: usize,
        flags: c_ulonglong, stream: Handle) lane => major::prefetch_batch(lane, true, pointers, sizes, count,
            locations, indexes, location_count, flags, stream);
    cudaMemDiscardBatchAsync | cudaMemDiscardBatchAsync_ptsz(pointers: *const u64, sizes: *const usize, count: usize,
        flags: c_ulonglong, stream: Handle) lane => major::discard_batch(lane, pointers, sizes, count, flags, stream);
    cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz(pointer: *const c_void, bytes: usize, location: MemLocation,
        flags: c_uint, stream: Handle) lane => major::prefetch_to(lane, pointer, bytes, location, flags, stream);
    cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz(symbol: *const c_char, out: *mut *mut c_void,
        flags: c_ulonglong, status: *mut c_int) lane
        => major::entry_point(lane, symbol, out, VERSION, flags, status);
    cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz(symbol: *const c_char,
        out: *mut *mut c_void, version: c_uint, flags: c_ulonglong, status: *mut c_int) lane
        => major::entry_point(lane, symbol, out, version as c_int, flags, status);
    cudaStreamGetCaptureInfo | cudaStreamGetCaptureInfo_ptsz(stream: Handle, status: *mut c_int, id: *mut u64,
        graph: *mut Handle, dependencies: *mut *const Handle, edges: *mut *const c_void, count: *mut usize) lane
        => major::capture_info(lane, stream, status, id, graph, dependencies, edges, count);
}
