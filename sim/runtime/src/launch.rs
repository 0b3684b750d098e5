//! Launches.

use crate::abi::{Dim3, DriverLaunchConfig, Error, Handle, LaunchConfig, code, put};
use crate::driver::{Lane, call};
use crate::register;
use crate::state::{self, ready};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// A launch by kernel handle, which goes to the driver where its signature says function: as the real runtime does it.
///
/// # Safety
/// As for `cudaLaunchKernel`.
unsafe fn launch(
    lane: Lane,
    kernel: Handle,
    grid: Dim3,
    block: Dim3,
    params: *mut *mut c_void,
    shared: usize,
    stream: Handle,
) -> Result<(), Error> {
    let shared = c_uint::try_from(shared).map_err(|_| code::INVALID_VALUE)?;
    let none = std::ptr::null_mut();
    let (g, b) = (grid, block);
    // SAFETY: by the caller's contract.
    unsafe { call!(ready()?.lane(lane), launch(kernel, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, params, none)) }
        // The runtime has an error of its own for a bad shape.
        .map_err(|error| if error == code::INVALID_VALUE { 9 } else { error })
}

/// As [`launch`], by configuration.
///
/// # Safety
/// As for `cudaLaunchKernelExC`.
unsafe fn launch_ex(
    lane: Lane,
    config: *const LaunchConfig,
    function: *const c_void,
    params: *mut *mut c_void,
) -> Result<(), Error> {
    let kernel = register::kernel(function)?;
    // SAFETY: null, or valid by the caller's contract.
    let config = unsafe { config.as_ref() }.ok_or(code::INVALID_VALUE)?;
    let config = DriverLaunchConfig {
        grid: config.grid,
        block: config.block,
        shared: c_uint::try_from(config.shared).map_err(|_| code::INVALID_VALUE)?,
        stream: config.stream,
        attributes: config.attributes,
        attribute_count: config.attribute_count,
    };
    // SAFETY: by the caller's contract.
    unsafe { call!(ready()?.lane(lane), launch_ex(&raw const config, kernel, params, std::ptr::null_mut())) }
}

lanes! {
    cudaLaunchKernel | cudaLaunchKernel_ptsz(function: *const c_void, grid: Dim3, block: Dim3, params: *mut *mut c_void,
        shared: usize, stream: Handle) lane
        => launch(lane, register::kernel(function)?, grid, block, params, shared, stream);
    __cudaLaunchKernel | __cudaLaunchKernel_ptsz(kernel: Handle, grid: Dim3, block: Dim3, params: *mut *mut c_void,
        shared: usize, stream: Handle) lane => launch(lane, kernel, grid, block, params, shared, stream);
    cudaLaunchKernelExC | cudaLaunchKernelExC_ptsz(config: *const LaunchConfig, function: *const c_void,
        params: *mut *mut c_void) lane => launch_ex(lane, config, function, params);
    cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz(function: *const c_void, grid: Dim3, block: Dim3,
        params: *mut *mut c_void, shared: usize, stream: Handle) lane => {
        let kernel = register::kernel(function)?;
        let shared = c_uint::try_from(shared).map_err(|_| code::INVALID_VALUE)?;
        let (g, b) = (grid, block);
        call!(ready()?.lane(lane), cooperative(kernel, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, params))
    };
}

/// A configuration between `<<<...>>>` and the stub that launches.
#[derive(Clone, Copy)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: usize,
}

const EMPTY: Configuration =
    Configuration { grid: Dim3 { x: 1, y: 1, z: 1 }, block: Dim3 { x: 1, y: 1, z: 1 }, shared: 0, stream: 0 };
const DEPTH: usize = 8;

thread_local! {
    static STACK: [Cell<Configuration>; DEPTH] = const { [const { Cell::new(EMPTY) }; DEPTH] };
    static TOP: Cell<usize> = const { Cell::new(0) };
}

/// `__cudaPushCallConfiguration`: 0 means go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: Handle) -> c_uint {
    let top = TOP.get();
    STACK.with(|stack| match stack.get(top) {
        Some(slot) => {
            slot.set(Configuration { grid, block, shared, stream: stream as usize });
            TOP.set(top + 1);
            0
        }
        None => 1,
    })
}

/// `__cudaPopCallConfiguration`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut c_void,
) -> Error {
    let top = TOP.get().checked_sub(1);
    let popped = STACK.with(|stack| top.and_then(|index| stack.get(index)).map(Cell::get));
    let result = popped.ok_or(code::INVALID_VALUE).map(|configuration| {
        TOP.set(top.unwrap_or(0));
        // SAFETY: nvcc's stub passes valid addresses; the last is that of a stream handle.
        unsafe {
            put(grid, configuration.grid);
            put(block, configuration.block);
            put(shared, configuration.shared);
            put(stream.cast::<usize>(), configuration.stream);
        }
    });
    state::finish(result)
}

/// Bytes of `cudaFuncAttributes`, and where the two fields are that are filled in.
const ATTRIBUTES: usize = 144;
const MAX_THREADS: usize = 24;
const REGISTERS: usize = 28;

exports! {
    cudaFuncGetAttributes(out: *mut u8, function: *const c_void) => {
        register::kernel(function)?;
        if out.is_null() {
            return Err(code::INVALID_VALUE);
        }
        std::ptr::write_bytes(out, 0, ATTRIBUTES);
        put(out.add(MAX_THREADS).cast::<c_int>(), 1024);
        put(out.add(REGISTERS).cast::<c_int>(), 32);
        Ok(())
    };
    cudaFuncSetAttribute(function: *const c_void, _which: c_int, _value: c_int)
        => register::kernel(function).map(drop);
    cudaFuncSetCacheConfig(function: *const c_void, _config: c_int) => register::kernel(function).map(drop);
    cudaFuncGetName(out: *mut *const c_char, function: *const c_void) => {
        let kernel = register::kernel(function)?;
        call!(ready()?.common, kernel_name(out, kernel))
    };
    cudaFuncGetParamInfo(function: *const c_void, index: usize, offset: *mut usize, size: *mut usize) => {
        let kernel = register::kernel(function)?;
        call!(ready()?.common, kernel_param(kernel, index, offset, size))
    };
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(out: *mut c_int, function: *const c_void, block: c_int,
        shared: usize) => {
        let kernel = register::kernel(function)?;
        call!(ready()?.common, occupancy(out, kernel, block, shared, 0))
    };
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out: *mut c_int, function: *const c_void, block: c_int,
        shared: usize, flags: c_uint) => {
        let kernel = register::kernel(function)?;
        call!(ready()?.common, occupancy(out, kernel, block, shared, flags))
    };
}
