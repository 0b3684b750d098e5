//! A stand-in for `libcudart.so.12`: what `umsim-runtime` exports, and the functions that only CUDA 12 has in this form.
#![allow(non_snake_case, reason = "exported names are the runtime's")]
#![allow(clippy::missing_safety_doc, reason = "the contracts are those of CUDA's documentation")]
#![allow(clippy::too_many_arguments, reason = "the signatures are CUDA's")]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr::null_mut;
use umsim_runtime::abi::{Error, Handle, MemLocation, NodeParams};
use umsim_runtime::driver::Lane;
use umsim_runtime::major::{self, Layout};

const VERSION: c_int = 12090;

/// Bytes of `cudaPointerAttributes`.
const POINTER_ATTRIBUTES: usize = 24;

/// `cudaDeviceProp` of CUDA 12. Its first form, without `_v2`, ends earlier but has the same beginning.
const PROPERTIES: Layout = Layout {
    size: 1032,
    ints: &[
        (13, 348),
        (16, 388),
        (18, 396),
        (19, 400),
        (31, 576),
        (33, 584),
        (34, 588),
        (50, 592),
        (40, 600),
        (41, 604),
        (36, 608),
        (37, 612),
        (38, 616),
        (39, 624),
        (83, 652),
        (88, 672),
        (89, 676),
        (115, 744),
    ],
};

/// `cudaDeviceProp` of CUDA 11, which the plain name still means.
const OLD_PROPERTIES: Layout = Layout { size: 728, ints: &[(13, 348), (16, 388), (18, 396), (19, 400), (31, 576)] };

/// `cudaRuntimeGetVersion`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaRuntimeGetVersion(out: *mut c_int) -> Error {
    // SAFETY: passed through.
    unsafe { major::version(out, VERSION) }
}

/// `cudaGetDeviceProperties`: the structure of CUDA 11.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties(out: *mut u8, device: c_int) -> Error {
    // SAFETY: passed through.
    unsafe { major::properties(out, device, &OLD_PROPERTIES) }
}

/// `cudaGetDeviceProperties_v2`: what CUDA 12's headers make of the plain name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties_v2(out: *mut u8, device: c_int) -> Error {
    // SAFETY: passed through.
    unsafe { major::properties(out, device, &PROPERTIES) }
}

/// `cudaPointerGetAttributes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaPointerGetAttributes(out: *mut u8, pointer: *const c_void) -> Error {
    // SAFETY: passed through.
    unsafe { major::pointer_attributes(out, POINTER_ATTRIBUTES, pointer) }
}

/// `cudaMemAdvise`: a device number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemAdvise(pointer: *const c_void, bytes: usize, advice: c_int, device: c_int) -> Error {
    // SAFETY: passed through.
    unsafe { major::advise(pointer, bytes, advice, device) }
}

/// `cudaMemAdvise_v2`: a location by value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemAdvise_v2(
    pointer: *const c_void,
    bytes: usize,
    advice: c_int,
    location: MemLocation,
) -> Error {
    // SAFETY: passed through.
    unsafe { major::advise_at(pointer, bytes, advice, location) }
}

/// `cudaGraphAddNode`: without a word of edges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddNode(
    out: *mut Handle,
    graph: Handle,
    list: *const Handle,
    count: usize,
    params: *mut NodeParams,
) -> Error {
    // SAFETY: passed through.
    unsafe { major::add_node(out, graph, list, count, params) }
}

/// `cudaGraphAddNode_v2`: with data of edges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddNode_v2(
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
    cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz(pointer: *const c_void, bytes: usize, device: c_int,
        stream: Handle) lane => major::prefetch(lane, pointer, bytes, device, stream);
    cudaMemPrefetchAsync_v2 | cudaMemPrefetchAsync_v2_ptsz(pointer: *const c_void, bytes: usize, location: MemLocation,
        flags: c_uint, stream: Handle) lane => major::prefetch_to(lane, pointer, bytes, location, flags, stream);
    cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz(symbol: *const c_char, out: *mut *mut c_void,
        flags: c_ulonglong, status: *mut c_int) lane
        => major::entry_point(lane, symbol, out, VERSION, flags, status);
    cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz(symbol: *const c_char,
        out: *mut *mut c_void, version: c_uint, flags: c_ulonglong, status: *mut c_int) lane
        => major::entry_point(lane, symbol, out, version as c_int, flags, status);
    cudaStreamGetCaptureInfo | cudaStreamGetCaptureInfo_ptsz(stream: Handle, status: *mut c_int, id: *mut u64) lane
        => major::capture_info(lane, stream, status, id, null_mut(), null_mut(), null_mut(), null_mut());
    cudaStreamGetCaptureInfo_v2 | cudaStreamGetCaptureInfo_v2_ptsz(stream: Handle, status: *mut c_int, id: *mut u64,
        graph: *mut Handle, dependencies: *mut *const Handle, count: *mut usize) lane
        => major::capture_info(lane, stream, status, id, graph, dependencies, null_mut(), count);
    cudaStreamGetCaptureInfo_v3 | cudaStreamGetCaptureInfo_v3_ptsz(stream: Handle, status: *mut c_int, id: *mut u64,
        graph: *mut Handle, dependencies: *mut *const Handle, edges: *mut *const c_void, count: *mut usize) lane
        => major::capture_info(lane, stream, status, id, graph, dependencies, edges, count);
}

/// `cudaThreadSynchronize`: the old name of `cudaDeviceSynchronize`, gone in CUDA 13.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaThreadSynchronize() -> Error {
    // SAFETY: no arguments.
    unsafe { major::synchronize() }
}
