//! Copies and fills: which memory is meant, and whether the call waits.

use crate::abi::{DevicePtr, Handle, Memcpy2D, Memcpy3D, Result32, code};
use crate::context;
use crate::ops::{Copy, Op, PAGEABLE, Set};
use crate::ranges::{self, Kind};
use crate::residency::{HOST, Place};
use crate::stream::{self, Lane, Target};
use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

const NONE: Handle = std::ptr::null_mut();

/// What a call says about a side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Host,
    Device,
    Unified,
}

/// Where an address is, and CUPTI's kind of that memory.
fn side(address: usize, bytes: usize, said: Said) -> Result<(Place, u8), Result32> {
    if bytes == 0 {
        return Ok((HOST, 0));
    }
    match ranges::find(address) {
        Some(range) => {
            if address.checked_add(bytes).is_none_or(|end| end > range.end().next_multiple_of(512)) {
                return Err(code::INVALID_VALUE);
            }
            if range.kind == Kind::Reserved {
                return Err(code::INVALID_VALUE);
            }
            let place = match (range.kind, said) {
                // Managed memory is what the call takes it for.
                (Kind::Managed, Said::Host) => HOST,
                _ => range.place(),
            };
            Ok((place, range.kind.memory()))
        }
        None if said == Said::Device || address < 4096 => Err(code::INVALID_VALUE),
        None => Ok((HOST, PAGEABLE)),
    }
}

fn linear(dst: usize, dst_said: Said, src: usize, src_said: Said, bytes: usize) -> Result<Copy, Result32> {
    let (to, written) = side(dst, bytes, dst_said)?;
    let (from, read) = side(src, bytes, src_said)?;
    Ok(Copy {
        dst,
        src,
        width: bytes,
        height: 1,
        depth: 1,
        dst_pitch: bytes,
        src_pitch: bytes,
        dst_slice: bytes,
        src_slice: bytes,
        from,
        to,
        memory: [read, written],
    })
}

fn now(lane: Lane, copy: Copy) -> Result<(), Result32> {
    stream::run_now(stream::resolve(lane, NONE)?, &Op::Copy(copy), false)
}

/// Asynchronous copies with ordinary host memory are staged: the call returns when the memory is done with.
fn later(target: Target, copy: Copy) -> Result<(), Result32> {
    if copy.pageable() && target.stream.captured().is_none() {
        return stream::run_now(target, &Op::Copy(copy), true);
    }
    stream::submit(target, Op::Copy(copy)).map(drop)
}

macro_rules! pair {
    ($(#[$doc:meta])* $sync:ident, $asynchronous:ident, $dst:ty, $dst_said:ident, $src:ty, $src_said:ident) => {
        $(#[$doc])*
        pub unsafe fn $sync(lane: Lane, dst: $dst, src: $src, bytes: usize) -> Result<(), Result32> {
            context::current()?;
            now(lane, linear(dst as usize, Said::$dst_said, src as usize, Said::$src_said, bytes)?)
        }
        /// The asynchronous form.
        pub unsafe fn $asynchronous(
            lane: Lane,
            dst: $dst,
            src: $src,
            bytes: usize,
            stream: Handle,
        ) -> Result<(), Result32> {
            let target = stream::resolve(lane, stream)?;
            later(target, linear(dst as usize, Said::$dst_said, src as usize, Said::$src_said, bytes)?)
        }
    };
}

pair!(/// `cuMemcpyHtoD`.
    htod, htod_async, DevicePtr, Device, *const c_void, Host);
pair!(/// `cuMemcpyDtoH`.
    dtoh, dtoh_async, *mut c_void, Host, DevicePtr, Device);
pair!(/// `cuMemcpyDtoD`.
    dtod, dtod_async, DevicePtr, Device, DevicePtr, Device);
pair!(/// `cuMemcpy`.
    any, any_async, DevicePtr, Unified, DevicePtr, Unified);

/// `cuMemcpyPeer`.
pub unsafe fn peer(
    lane: Lane,
    dst: DevicePtr,
    _to: Handle,
    src: DevicePtr,
    _from: Handle,
    bytes: usize,
) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { dtod(lane, dst, src, bytes) }
}

/// `cuMemcpyPeerAsync`.
pub unsafe fn peer_async(
    lane: Lane,
    dst: DevicePtr,
    _to: Handle,
    src: DevicePtr,
    _from: Handle,
    bytes: usize,
    stream: Handle,
) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { dtod_async(lane, dst, src, bytes, stream) }
}

/// The address of a side of a structured copy.
fn address(kind: c_uint, host: *const c_void, device: DevicePtr) -> Result<(usize, Said), Result32> {
    match kind {
        1 => Ok((host as usize, Said::Host)),
        2 => Ok((device as usize, Said::Device)),
        4 => Ok((device as usize, Said::Unified)),
        _ => Err(code::NOT_SUPPORTED),
    }
}

fn planar(copy: &Memcpy2D) -> Result<Copy, Result32> {
    volume(&Memcpy3D {
        src_x: copy.src_x,
        src_y: copy.src_y,
        src_z: 0,
        src_lod: 0,
        src_type: copy.src_type,
        src_host: copy.src_host,
        src_device: copy.src_device,
        src_array: copy.src_array,
        reserved0: NONE,
        src_pitch: copy.src_pitch,
        src_height: copy.height,
        dst_x: copy.dst_x,
        dst_y: copy.dst_y,
        dst_z: 0,
        dst_lod: 0,
        dst_type: copy.dst_type,
        dst_host: copy.dst_host,
        dst_device: copy.dst_device,
        dst_array: copy.dst_array,
        reserved1: NONE,
        dst_pitch: copy.dst_pitch,
        dst_height: copy.height,
        width: copy.width,
        height: copy.height,
        depth: 1,
    })
}

/// Checks a structured copy and finds its addresses.
pub fn volume(copy: &Memcpy3D) -> Result<Copy, Result32> {
    let (src, src_said) = address(copy.src_type, copy.src_host, copy.src_device)?;
    let (dst, dst_said) = address(copy.dst_type, copy.dst_host, copy.dst_device)?;
    let pitch = |pitch: usize, x: usize| {
        let pitch = if pitch == 0 { copy.width } else { pitch };
        (pitch >= copy.width.saturating_add(x) || copy.height <= 1).then_some(pitch).ok_or(code::INVALID_VALUE)
    };
    let (src_pitch, dst_pitch) = (pitch(copy.src_pitch, copy.src_x)?, pitch(copy.dst_pitch, copy.dst_x)?);
    let slice = |pitch: usize, height: usize| pitch.checked_mul(height.max(copy.height)).ok_or(code::INVALID_VALUE);
    let (src_slice, dst_slice) = (slice(src_pitch, copy.src_height)?, slice(dst_pitch, copy.dst_height)?);
    let start = |base: usize, slice: usize, z: usize, pitch: usize, y: usize, x: usize| {
        let offset = slice.checked_mul(z)?.checked_add(pitch.checked_mul(y)?)?.checked_add(x)?;
        base.checked_add(offset)
    };
    let src = start(src, src_slice, copy.src_z, src_pitch, copy.src_y, copy.src_x).ok_or(code::INVALID_VALUE)?;
    let dst = start(dst, dst_slice, copy.dst_z, dst_pitch, copy.dst_y, copy.dst_x).ok_or(code::INVALID_VALUE)?;
    let span = |pitch: usize, slice: usize| {
        let rows = pitch.saturating_mul(copy.height.saturating_sub(1)).saturating_add(copy.width);
        let empty = copy.width == 0 || copy.height == 0 || copy.depth == 0;
        if empty { 0 } else { slice.saturating_mul(copy.depth - 1).saturating_add(rows) }
    };
    let (to, written) = side(dst, span(dst_pitch, dst_slice), dst_said)?;
    let (from, read) = side(src, span(src_pitch, src_slice), src_said)?;
    Ok(Copy {
        dst,
        src,
        width: copy.width,
        height: copy.height,
        depth: copy.depth,
        dst_pitch,
        src_pitch,
        dst_slice,
        src_slice,
        from,
        to,
        memory: [read, written],
    })
}

/// `cuMemcpy2D` and `cuMemcpy2DUnaligned`.
pub unsafe fn planar_now(lane: Lane, copy: *const Memcpy2D) -> Result<(), Result32> {
    context::current()?;
    // SAFETY: null, or valid by the API's contract.
    now(lane, planar(unsafe { copy.as_ref() }.ok_or(code::INVALID_VALUE)?)?)
}

/// `cuMemcpy2DAsync`.
pub unsafe fn planar_async(lane: Lane, copy: *const Memcpy2D, stream: Handle) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    // SAFETY: as above.
    later(target, planar(unsafe { copy.as_ref() }.ok_or(code::INVALID_VALUE)?)?)
}

/// `cuMemcpy3D`.
pub unsafe fn volume_now(lane: Lane, copy: *const Memcpy3D) -> Result<(), Result32> {
    context::current()?;
    // SAFETY: as above.
    now(lane, volume(unsafe { copy.as_ref() }.ok_or(code::INVALID_VALUE)?)?)
}

/// `cuMemcpy3DAsync`.
pub unsafe fn volume_async(lane: Lane, copy: *const Memcpy3D, stream: Handle) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    // SAFETY: as above.
    later(target, volume(unsafe { copy.as_ref() }.ok_or(code::INVALID_VALUE)?)?)
}

/// Checks a fill.
pub fn fill(
    dst: DevicePtr,
    pitch: usize,
    value: u32,
    element: usize,
    width: usize,
    height: usize,
) -> Result<Op, Result32> {
    let row = width.checked_mul(element).ok_or(code::INVALID_VALUE)?;
    let pitch = if height <= 1 { row } else { pitch };
    if pitch < row || !(dst as usize).is_multiple_of(element.max(1)) {
        return Err(code::INVALID_VALUE);
    }
    let span = pitch.saturating_mul(height.saturating_sub(1)).saturating_add(row);
    let span = if height == 0 { 0 } else { span };
    // Registered and pinned memory may be filled too; ordinary host memory may not.
    let (_, memory) = side(dst as usize, span, Said::Device)?;
    Ok(Op::Set(Set { dst: dst as usize, pitch, value, element, width, height, memory }))
}

macro_rules! fills {
    ($value:ty, $element:literal, $one:ident, $one_async:ident, $two:ident, $two_async:ident) => {
        /// `cuMemsetD8`, `D16`, `D32`. A fill of device memory does not hold up the host, but here it may as well.
        pub unsafe fn $one(lane: Lane, dst: DevicePtr, value: $value, count: usize) -> Result<(), Result32> {
            let target = stream::resolve(lane, NONE)?;
            stream::run_now(target, &fill(dst, 0, u32::from(value), $element, count, 1)?, false)
        }
        /// The asynchronous form.
        pub unsafe fn $one_async(
            lane: Lane,
            dst: DevicePtr,
            value: $value,
            count: usize,
            stream: Handle,
        ) -> Result<(), Result32> {
            let target = stream::resolve(lane, stream)?;
            stream::submit(target, fill(dst, 0, u32::from(value), $element, count, 1)?).map(drop)
        }
        /// `cuMemsetD2D8`, `D2D16`, `D2D32`.
        pub unsafe fn $two(
            lane: Lane,
            dst: DevicePtr,
            pitch: usize,
            value: $value,
            width: usize,
            height: usize,
        ) -> Result<(), Result32> {
            let target = stream::resolve(lane, NONE)?;
            stream::run_now(target, &fill(dst, pitch, u32::from(value), $element, width, height)?, false)
        }
        /// The asynchronous form.
        pub unsafe fn $two_async(
            lane: Lane,
            dst: DevicePtr,
            pitch: usize,
            value: $value,
            width: usize,
            height: usize,
            stream: Handle,
        ) -> Result<(), Result32> {
            let target = stream::resolve(lane, stream)?;
            stream::submit(target, fill(dst, pitch, u32::from(value), $element, width, height)?).map(drop)
        }
    };
}

fills!(c_uchar, 1, set8, set8_async, set2d8, set2d8_async);
fills!(c_ushort, 2, set16, set16_async, set2d16, set2d16_async);
fills!(c_uint, 4, set32, set32_async, set2d32, set2d32_async);

/// `cuMemcpyBatchAsync` (13.0): every copy in the stream's order; the attributes are ignored.
#[expect(clippy::too_many_arguments, reason = "the driver's signature")]
pub unsafe fn batch(
    lane: Lane,
    dsts: *const DevicePtr,
    srcs: *const DevicePtr,
    sizes: *const usize,
    count: usize,
    _attributes: *mut c_void,
    _indexes: *mut usize,
    _attribute_count: usize,
    stream: Handle,
) -> Result<(), Result32> {
    if dsts.is_null() || srcs.is_null() || sizes.is_null() || stream.is_null() {
        return Err(code::INVALID_VALUE);
    }
    for index in 0..count {
        // SAFETY: the arrays have `count` elements by the API's contract.
        unsafe { any_async(lane, *dsts.add(index), *srcs.add(index), *sizes.add(index), stream) }?;
    }
    Ok(())
}
