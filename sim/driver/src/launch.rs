//! Launches, and the other calls that only put something into a stream.

use crate::abi::{DevicePtr, Handle, HostFn, LaunchConfig, Result32, StreamCallback, code, put};
use crate::context;
use crate::kernel::{Launch, Size};
use crate::module;
use crate::ops::Op;
use crate::stream::{self, Lane};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// Copies a launch's arguments, in either of the two forms.
///
/// # Safety
/// As for `cuLaunchKernel`: `params` has a valid pointer for each parameter, or `extra` is a list that ends with 0.
unsafe fn arguments(
    kernel: &module::KernelInfo,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Vec<u8>, Result32> {
    let signature = &kernel.signature.params;
    let length = signature.last().map_or(0, |last| last.offset + last.size);
    let mut buffer = vec![0u8; length];
    if !params.is_null() {
        for (index, param) in signature.iter().enumerate() {
            // SAFETY: the caller passes one pointer for each parameter.
            let from = unsafe { *params.add(index) };
            if from.is_null() {
                return Err(code::INVALID_VALUE);
            }
            if let Some(to) = buffer.get_mut(param.offset..param.offset + param.size) {
                // SAFETY: each points to a value of the parameter's size.
                unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.as_mut_ptr(), to.len()) };
            }
        }
    } else if !extra.is_null() {
        let (mut from, mut size) = (std::ptr::null::<u8>(), 0usize);
        let mut at = extra;
        // SAFETY: pairs of key and value up to a key of 0.
        unsafe {
            while !(*at).is_null() {
                match *at as usize {
                    BUFFER_POINTER => from = (*at.add(1)).cast(),
                    BUFFER_SIZE => size = *(*at.add(1)).cast::<usize>(),
                    _ => return Err(code::INVALID_VALUE),
                }
                at = at.add(2);
            }
            if !from.is_null() {
                let count = size.min(length);
                std::ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), count);
            }
        }
    } else if length > 0 {
        return Err(code::INVALID_VALUE);
    }
    Ok(buffer)
}

/// Makes a launch out of a call's arguments.
///
/// # Safety
/// As for [`arguments`].
pub unsafe fn prepare(
    function: Handle,
    size: Size,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Op, Result32> {
    let kernel = module::launchable(function)?;
    let threads = size.block.iter().fold(1u64, |all, n| all.saturating_mul(u64::from(*n)));
    if threads == 0 || threads > 1024 || size.grid.contains(&0) {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: by the caller's contract.
    let arguments = unsafe { arguments(kernel, params, extra) }?;
    Ok(Op::Kernel(Arc::new(Launch::new(kernel, size, arguments))))
}

/// `cuLaunchKernel`.
#[expect(clippy::too_many_arguments, reason = "the driver's signature")]
pub unsafe fn kernel(
    lane: Lane,
    function: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    // SAFETY: by the API's contract.
    let op = unsafe { prepare(function, Size { grid, block, shared, cooperative: false }, params, extra) }?;
    stream::submit(target, op).map(drop)
}

/// `cuLaunchCooperativeKernel`.
#[expect(clippy::too_many_arguments, reason = "the driver's signature")]
pub unsafe fn cooperative(
    lane: Lane,
    function: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Handle,
    params: *mut *mut c_void,
) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    let size = Size { grid, block, shared, cooperative: true };
    // SAFETY: by the API's contract.
    let op = unsafe { prepare(function, size, params, std::ptr::null_mut()) }?;
    stream::submit(target, op).map(drop)
}

/// `cuLaunchKernelEx`: the attributes are ignored.
pub unsafe fn kernel_ex(
    lane: Lane,
    config: *const LaunchConfig,
    function: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<(), Result32> {
    // SAFETY: null, or valid by the API's contract.
    let config = unsafe { config.as_ref() }.ok_or(code::INVALID_VALUE)?;
    let target = stream::resolve(lane, config.stream)?;
    let size = Size { grid: config.grid, block: config.block, shared: config.shared, cooperative: false };
    // SAFETY: by the API's contract.
    let op = unsafe { prepare(function, size, params, extra) }?;
    stream::submit(target, op).map(drop)
}

/// `cuLaunchHostFunc`.
pub unsafe fn host(lane: Lane, stream: Handle, function: Option<HostFn>, user: *mut c_void) -> Result<(), Result32> {
    let function = function.ok_or(code::INVALID_VALUE)?;
    stream::submit(stream::resolve(lane, stream)?, Op::Host(function, user as usize)).map(drop)
}

/// `cuStreamAddCallback`.
pub unsafe fn callback(
    lane: Lane,
    stream: Handle,
    function: Option<StreamCallback>,
    user: *mut c_void,
    _flags: c_uint,
) -> Result<(), Result32> {
    let function = function.ok_or(code::INVALID_VALUE)?;
    let target = stream::resolve(lane, stream)?;
    stream::submit(target, Op::Callback(function, stream as usize, user as usize)).map(drop)
}

/// `cuStreamCreate`.
pub unsafe fn stream_create(out: *mut Handle, flags: c_uint) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { stream_create_priority(out, flags, 0) }
}

/// `cuStreamCreateWithPriority`.
pub unsafe fn stream_create_priority(out: *mut Handle, flags: c_uint, priority: c_int) -> Result<(), Result32> {
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let handle = stream::create(flags, priority)?;
    // SAFETY: not null.
    unsafe { put(out, handle as Handle) };
    Ok(())
}

/// `cuStreamDestroy`.
pub unsafe fn stream_destroy(stream: Handle) -> Result<(), Result32> {
    stream::destroy(stream)
}

/// `cuStreamSynchronize`.
pub unsafe fn stream_synchronize(lane: Lane, stream: Handle) -> Result<(), Result32> {
    stream::synchronize(lane, stream)
}

/// `cuStreamQuery`.
#[inline]
pub unsafe fn stream_query(lane: Lane, stream: Handle) -> Result<(), Result32> {
    stream::query(lane, stream)
}

/// `cuStreamGetFlags`.
pub unsafe fn stream_flags(lane: Lane, stream: Handle, out: *mut c_uint) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, target.stream.flags.load(Ordering::Relaxed)) };
    Ok(())
}

/// `cuStreamGetPriority`.
pub unsafe fn stream_priority(lane: Lane, stream: Handle, out: *mut c_int) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, target.stream.priority.load(Ordering::Relaxed)) };
    Ok(())
}

/// `cuStreamGetId`.
pub unsafe fn stream_id(lane: Lane, stream: Handle, out: *mut u64) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, u64::from(target.stream.id.load(Ordering::Relaxed))) };
    Ok(())
}

/// `cuStreamGetCtx`.
pub unsafe fn stream_context(lane: Lane, stream: Handle, out: *mut Handle) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, target.stream.context.load(Ordering::Relaxed) as Handle) };
    Ok(())
}

/// `cuStreamGetDevice`.
pub unsafe fn stream_device(lane: Lane, stream: Handle, out: *mut c_int) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    let context = context::lookup(target.stream.context.load(Ordering::Relaxed)).ok_or(code::INVALID_HANDLE)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, context.device.load(Ordering::Relaxed) as c_int) };
    Ok(())
}

/// `cuStreamAttachMemAsync`: checked and ordered, without effect.
pub unsafe fn stream_attach(
    lane: Lane,
    stream: Handle,
    address: DevicePtr,
    _bytes: usize,
    flags: c_uint,
) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    if !crate::managed::covers(address as usize, 1) || !matches!(flags, 1 | 2 | 4) {
        return Err(code::INVALID_VALUE);
    }
    stream::submit(target, Op::Nothing).map(drop)
}

fn word(address: DevicePtr, wide: bool) -> Result<usize, Result32> {
    let address = address as usize;
    let known = crate::ranges::find(address).is_some();
    let size = if wide { 8 } else { 4 };
    (known && address.is_multiple_of(size)).then_some(address).ok_or(code::INVALID_VALUE)
}

/// `cuStreamWriteValue32`.
pub unsafe fn write32(
    lane: Lane,
    stream: Handle,
    address: DevicePtr,
    value: u32,
    _flags: c_uint,
) -> Result<(), Result32> {
    let op = Op::Write { address: word(address, false)?, value: u64::from(value), wide: false };
    stream::submit(stream::resolve(lane, stream)?, op).map(drop)
}

/// `cuStreamWriteValue64`.
pub unsafe fn write64(
    lane: Lane,
    stream: Handle,
    address: DevicePtr,
    value: u64,
    _flags: c_uint,
) -> Result<(), Result32> {
    let op = Op::Write { address: word(address, true)?, value, wide: true };
    stream::submit(stream::resolve(lane, stream)?, op).map(drop)
}

/// `cuStreamWaitValue32`.
pub unsafe fn wait32(
    lane: Lane,
    stream: Handle,
    address: DevicePtr,
    value: u32,
    flags: c_uint,
) -> Result<(), Result32> {
    let op = Op::Await { address: word(address, false)?, value: u64::from(value), wide: false, how: flags };
    stream::submit(stream::resolve(lane, stream)?, op).map(drop)
}

/// `cuStreamWaitValue64`.
pub unsafe fn wait64(
    lane: Lane,
    stream: Handle,
    address: DevicePtr,
    value: u64,
    flags: c_uint,
) -> Result<(), Result32> {
    let op = Op::Await { address: word(address, true)?, value, wide: true, how: flags };
    stream::submit(stream::resolve(lane, stream)?, op).map(drop)
}
