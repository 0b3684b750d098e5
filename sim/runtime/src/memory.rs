//! Allocation, pools, unified memory.

use crate::abi::{Extent, Handle, IpcHandle, MemLocation, PitchedPtr, code, put};
use crate::driver::{self, call};
use crate::state::ready;
use std::ffi::{c_int, c_uint, c_void};

/// Runs an allocation that fills a 64-bit address, and hands it out as a pointer only after success.
///
/// # Safety
/// `out` is null or valid.
unsafe fn handed(
    out: *mut *mut c_void,
    allocate: impl FnOnce(*mut u64) -> Result<(), crate::abi::Error>,
) -> Result<(), crate::abi::Error> {
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let mut address = 0u64;
    allocate(&raw mut address)?;
    // SAFETY: not null.
    unsafe { put(out, address as usize as *mut c_void) };
    Ok(())
}

exports! {
    cudaMalloc(out: *mut *mut c_void, bytes: usize) => {
        let driver = ready()?;
        if bytes == 0 && !out.is_null() {
            put(out, std::ptr::null_mut());
            return Ok(());
        }
        handed(out, |address| call!(driver.common, mem_alloc(address, bytes)))
    };
    cudaMallocPitch(out: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) => {
        let driver = ready()?;
        handed(out, |address| call!(driver.common, mem_alloc_pitch(address, pitch, width, height, 4)))
    };
    cudaMalloc3D(out: *mut PitchedPtr, extent: Extent) => {
        let driver = ready()?;
        if out.is_null() {
            return Err(code::INVALID_VALUE);
        }
        let rows = extent.height.saturating_mul(extent.depth);
        let (mut base, mut pitch) = (std::ptr::null_mut(), 0usize);
        handed(&raw mut base, |address| {
            call!(driver.common, mem_alloc_pitch(address, &raw mut pitch, extent.width, rows, 4))
        })?;
        put(out, PitchedPtr { ptr: base, pitch, xsize: extent.width, ysize: extent.height });
        Ok(())
    };
    cudaMallocManaged(out: *mut *mut c_void, bytes: usize, flags: c_uint) => {
        let driver = ready()?;
        handed(out, |address| call!(driver.common, mem_alloc_managed(address, bytes, flags)))
    };
    cudaFree(pointer: *mut c_void) => call!(ready()?.common, mem_free(pointer as u64));
    cudaMallocHost(out: *mut *mut c_void, bytes: usize) => call!(ready()?.common, host_alloc(out, bytes, 0));
    cudaHostAlloc(out: *mut *mut c_void, bytes: usize, flags: c_uint)
        => call!(ready()?.common, host_alloc(out, bytes, flags));
    cudaFreeHost(pointer: *mut c_void) => call!(ready()?.common, free_host(pointer));
    cudaHostRegister(pointer: *mut c_void, bytes: usize, flags: c_uint)
        => call!(ready()?.common, host_register(pointer, bytes, flags));
    cudaHostUnregister(pointer: *mut c_void) => call!(ready()?.common, host_unregister(pointer));
    cudaHostGetDevicePointer(out: *mut *mut c_void, pointer: *mut c_void, flags: c_uint) => {
        let driver = ready()?;
        handed(out, |address| call!(driver.common, host_device_pointer(address, pointer, flags)))
    };
    cudaHostGetFlags(out: *mut c_uint, pointer: *mut c_void) => call!(ready()?.common, host_flags(out, pointer));
    cudaMemRangeGetAttribute(out: *mut c_void, size: usize, attribute: c_int, pointer: *const c_void, bytes: usize)
        => call!(ready()?.common, range_attribute(out, size, attribute, pointer as u64, bytes));
    cudaMemRangeGetAttributes(data: *mut *mut c_void, sizes: *mut usize, attributes: *mut c_int, count: usize,
        pointer: *const c_void, bytes: usize)
        => call!(ready()?.common, range_attributes(data, sizes, attributes, count, pointer as u64, bytes));
    cudaDeviceGetDefaultMemPool(out: *mut Handle, device: c_int)
        => call!(driver::get()?.common, default_pool(out, device));
    cudaDeviceGetMemPool(out: *mut Handle, device: c_int) => call!(driver::get()?.common, current_pool(out, device));
    cudaDeviceSetMemPool(device: c_int, pool: Handle) => call!(driver::get()?.common, set_pool(device, pool));
    cudaMemPoolCreate(out: *mut Handle, props: *const c_void) => call!(ready()?.common, pool_create(out, props));
    cudaMemPoolDestroy(pool: Handle) => call!(ready()?.common, pool_destroy(pool));
    cudaMemPoolTrimTo(pool: Handle, keep: usize) => call!(ready()?.common, pool_trim(pool, keep));
    cudaMemPoolSetAttribute(pool: Handle, attribute: c_int, value: *mut c_void)
        => call!(ready()?.common, pool_set(pool, attribute, value));
    cudaMemPoolGetAttribute(pool: Handle, attribute: c_int, value: *mut c_void)
        => call!(ready()?.common, pool_get(pool, attribute, value));
    cudaMemPoolSetAccess(pool: Handle, list: *const c_void, count: usize)
        => call!(ready()?.common, pool_set_access(pool, list, count));
    cudaMemPoolGetAccess(out: *mut c_int, pool: Handle, location: *mut MemLocation)
        => call!(ready()?.common, pool_get_access(out, pool, location));
    cudaIpcGetMemHandle(out: *mut c_void, pointer: *mut c_void)
        => call!(ready()?.common, ipc_get(out, pointer as u64));
    cudaIpcOpenMemHandle(out: *mut *mut c_void, handle: IpcHandle, flags: c_uint) => {
        let driver = ready()?;
        handed(out, |address| call!(driver.common, ipc_open(address, handle, flags)))
    };
    cudaIpcCloseMemHandle(pointer: *mut c_void) => call!(ready()?.common, ipc_close(pointer as u64));
}

lanes! {
    cudaMallocAsync | cudaMallocAsync_ptsz(out: *mut *mut c_void, bytes: usize, stream: Handle) lane => {
        let driver = ready()?;
        handed(out, |address| call!(driver.lane(lane), alloc_async(address, bytes, stream)))
    };
    cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz(out: *mut *mut c_void, bytes: usize, pool: Handle,
        stream: Handle) lane => {
        let driver = ready()?;
        handed(out, |address| call!(driver.lane(lane), alloc_from(address, bytes, pool, stream)))
    };
    cudaFreeAsync | cudaFreeAsync_ptsz(pointer: *mut c_void, stream: Handle) lane
        => call!(ready()?.lane(lane), free_async(pointer as u64, stream));
    cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz(stream: Handle, pointer: *mut c_void, bytes: usize,
        flags: c_uint) lane => call!(ready()?.lane(lane), attach(stream, pointer as u64, bytes, flags));
}
