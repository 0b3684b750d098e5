//! Copies and fills.

use crate::abi::{
    DriverMemcpy2D, DriverMemcpy3D, Error, Extent, FlatSide, Handle, Memcpy3DParms, PitchedPtr, Pos, Side, code,
};
use crate::driver::{Lane, call};
use crate::register;
use crate::state::{self, ready};
use std::ffi::{c_int, c_uchar, c_uint, c_void};

const NONE: Handle = std::ptr::null_mut();

/// `CUmemorytype` of the destination and the source for a `cudaMemcpyKind`.
fn types(kind: c_int) -> Result<(c_uint, c_uint), Error> {
    match kind {
        0 => Ok((1, 1)),
        1 => Ok((2, 1)),
        2 => Ok((1, 2)),
        3 => Ok((2, 2)),
        4 => Ok((4, 4)),
        _ => Err(code::INVALID_MEMCPY_DIRECTION),
    }
}

/// A plain copy, by the driver function that its kind names.
///
/// # Safety
/// As for `cudaMemcpy`; `stream` is `None` for the synchronous form.
unsafe fn linear(
    lane: Lane,
    dst: *mut c_void,
    src: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: Option<Handle>,
) -> Result<(), Error> {
    let table = ready()?.lane(lane);
    types(kind)?;
    // SAFETY: by the caller's contract.
    unsafe {
        match (kind, stream) {
            (1, None) => call!(table, htod(dst as u64, src, bytes)),
            (2, None) => call!(table, dtoh(dst, src as u64, bytes)),
            (3, None) => call!(table, dtod(dst as u64, src as u64, bytes)),
            (_, None) => call!(table, copy(dst as u64, src as u64, bytes)),
            (1, Some(stream)) => call!(table, htod_async(dst as u64, src, bytes, stream)),
            (2, Some(stream)) => call!(table, dtoh_async(dst, src as u64, bytes, stream)),
            (3, Some(stream)) => call!(table, dtod_async(dst as u64, src as u64, bytes, stream)),
            (_, Some(stream)) => call!(table, copy_async(dst as u64, src as u64, bytes, stream)),
        }
    }
}

fn flat(pointer: *mut c_void, pitch: usize, kind: c_uint) -> FlatSide {
    FlatSide { x: 0, y: 0, kind, host: pointer, device: pointer as u64, array: NONE, pitch }
}

unsafe fn planar(
    lane: Lane,
    dst: (*mut c_void, usize),
    src: (*const c_void, usize),
    width: usize,
    height: usize,
    kind: c_int,
    stream: Option<Handle>,
) -> Result<(), Error> {
    let table = ready()?.lane(lane);
    let (to, from) = types(kind)?;
    let params =
        DriverMemcpy2D { src: flat(src.0.cast_mut(), src.1, from), dst: flat(dst.0, dst.1, to), width, height };
    // SAFETY: by the caller's contract.
    unsafe {
        match stream {
            None => call!(table, planar(&raw const params)),
            Some(stream) => call!(table, planar_async(&raw const params, stream)),
        }
    }
}

/// The driver's form of a three-dimensional copy.
pub fn volume(params: &Memcpy3DParms) -> Result<DriverMemcpy3D, Error> {
    let (to, from) = types(params.kind)?;
    let side = |at: &PitchedPtr, pos: &Pos, kind: c_uint| Side {
        x: pos.x,
        y: pos.y,
        z: pos.z,
        lod: 0,
        kind,
        host: at.ptr,
        device: at.ptr as u64,
        array: NONE,
        reserved: NONE,
        pitch: at.pitch,
        height: at.ysize,
    };
    if !params.src_array.is_null() || !params.dst_array.is_null() {
        return Err(code::NOT_SUPPORTED);
    }
    Ok(DriverMemcpy3D {
        src: side(&params.src, &params.src_pos, from),
        dst: side(&params.dst, &params.dst_pos, to),
        width: params.extent.width,
        height: params.extent.height,
        depth: params.extent.depth,
    })
}

unsafe fn volume_copy(lane: Lane, params: *const Memcpy3DParms, stream: Option<Handle>) -> Result<(), Error> {
    let table = ready()?.lane(lane);
    // SAFETY: null, or valid by the caller's contract.
    let params = volume(unsafe { params.as_ref() }.ok_or(code::INVALID_VALUE)?)?;
    // SAFETY: by the caller's contract.
    unsafe {
        match stream {
            None => call!(table, volume(&raw const params)),
            Some(stream) => call!(table, volume_async(&raw const params, stream)),
        }
    }
}

unsafe fn fill_volume(
    lane: Lane,
    at: PitchedPtr,
    value: c_int,
    extent: Extent,
    stream: Option<Handle>,
) -> Result<(), Error> {
    let table = ready()?.lane(lane);
    let value = value as c_uchar;
    for slice in 0..extent.depth {
        let base = at.ptr as u64 + (slice * at.pitch * at.ysize) as u64;
        // SAFETY: by the caller's contract.
        unsafe {
            match stream {
                None => call!(table, set2d8(base, at.pitch, value, extent.width, extent.height)),
                Some(stream) => call!(table, set2d8_async(base, at.pitch, value, extent.width, extent.height, stream)),
            }
        }?;
    }
    Ok(())
}

exports! {
    cudaMemcpyPeer(dst: *mut c_void, _to: c_int, src: *const c_void, _from: c_int, bytes: usize)
        => call!(ready()?.lane(Lane::Legacy), peer(dst as u64, NONE, src as u64, NONE, bytes));
    cudaMemcpyPeerAsync(dst: *mut c_void, _to: c_int, src: *const c_void, _from: c_int, bytes: usize, stream: Handle)
        => call!(ready()?.lane(Lane::Legacy), peer_async(dst as u64, NONE, src as u64, NONE, bytes, stream));
}

lanes! {
    cudaMemcpy | cudaMemcpy_ptds(dst: *mut c_void, src: *const c_void, bytes: usize, kind: c_int) lane
        => linear(lane, dst, src, bytes, kind, None);
    cudaMemcpyAsync | cudaMemcpyAsync_ptsz(dst: *mut c_void, src: *const c_void, bytes: usize, kind: c_int,
        stream: Handle) lane => linear(lane, dst, src, bytes, kind, Some(stream));
    cudaMemcpy2D | cudaMemcpy2D_ptds(dst: *mut c_void, dst_pitch: usize, src: *const c_void, src_pitch: usize,
        width: usize, height: usize, kind: c_int) lane
        => planar(lane, (dst, dst_pitch), (src, src_pitch), width, height, kind, None);
    cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz(dst: *mut c_void, dst_pitch: usize, src: *const c_void,
        src_pitch: usize, width: usize, height: usize, kind: c_int, stream: Handle) lane
        => planar(lane, (dst, dst_pitch), (src, src_pitch), width, height, kind, Some(stream));
    cudaMemcpy3D | cudaMemcpy3D_ptds(params: *const Memcpy3DParms) lane => volume_copy(lane, params, None);
    cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz(params: *const Memcpy3DParms, stream: Handle) lane
        => volume_copy(lane, params, Some(stream));
    cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds(symbol: *const c_void, src: *const c_void, bytes: usize,
        offset: usize, kind: c_int) lane
        => linear(lane, register::symbol(symbol)?.0.wrapping_byte_add(offset), src, bytes, kind, None);
    cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds(dst: *mut c_void, symbol: *const c_void, bytes: usize,
        offset: usize, kind: c_int) lane
        => linear(lane, dst, register::symbol(symbol)?.0.wrapping_byte_add(offset), bytes, kind, None);
    cudaMemset | cudaMemset_ptds(dst: *mut c_void, value: c_int, count: usize) lane
        => call!(ready()?.lane(lane), set8(dst as u64, value as c_uchar, count));
    cudaMemsetAsync | cudaMemsetAsync_ptsz(dst: *mut c_void, value: c_int, count: usize, stream: Handle) lane
        => call!(ready()?.lane(lane), set8_async(dst as u64, value as c_uchar, count, stream));
    cudaMemset2D | cudaMemset2D_ptds(dst: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) lane
        => call!(ready()?.lane(lane), set2d8(dst as u64, pitch, value as c_uchar, width, height));
    cudaMemset2DAsync | cudaMemset2DAsync_ptsz(dst: *mut c_void, pitch: usize, value: c_int, width: usize,
        height: usize, stream: Handle) lane
        => call!(ready()?.lane(lane), set2d8_async(dst as u64, pitch, value as c_uchar, width, height, stream));
    cudaMemset3D | cudaMemset3D_ptds(at: PitchedPtr, value: c_int, extent: Extent) lane
        => fill_volume(lane, at, value, extent, None);
    cudaMemset3DAsync | cudaMemset3DAsync_ptsz(at: PitchedPtr, value: c_int, extent: Extent, stream: Handle) lane
        => fill_volume(lane, at, value, extent, Some(stream));
}

/// `cudaGetSymbolAddress`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetSymbolAddress(out: *mut *mut c_void, symbol: *const c_void) -> Error {
    state::finish(register::symbol(symbol).map(|(address, _)| {
        // SAFETY: out-pointer by the API's contract.
        unsafe { crate::abi::put(out, address) }
    }))
}

/// `cudaGetSymbolSize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetSymbolSize(out: *mut usize, symbol: *const c_void) -> Error {
    state::finish(register::symbol(symbol).map(|(_, bytes)| {
        // SAFETY: out-pointer by the API's contract.
        unsafe { crate::abi::put(out, bytes) }
    }))
}
