//! Devices and the whole of the program.

use crate::abi::{Error, Handle, code, put};
use crate::driver::{self, call};
use crate::state::{self, ready};
use std::ffi::{c_char, c_int, c_uint, c_void};

exports! {
    cudaGetDeviceCount(out: *mut c_int) => {
        if out.is_null() {
            return Err(code::INVALID_VALUE);
        }
        match driver::get() {
            Ok(driver) => call!(driver.common, device_count(out)),
            Err(error) => {
                put(out, 0);
                Err(error)
            }
        }
    };
    cudaSetDevice(device: c_int) => state::select(device);
    cudaInitDevice(device: c_int, _flags: c_uint, _what: c_uint) => state::select(device);
    cudaDeviceSynchronize() => call!(ready()?.common, synchronize());
    cudaDeviceReset() => state::reset();
    cudaDeviceGetAttribute(out: *mut c_int, attribute: c_int, device: c_int)
        => call!(driver::get()?.common, device_attribute(out, attribute, device));
    cudaDriverGetVersion(out: *mut c_int) => call!(driver::get()?.common, version(out));
    cudaDeviceGetLimit(out: *mut usize, limit: c_int) => call!(ready()?.common, get_limit(out, limit));
    cudaDeviceSetLimit(limit: c_int, value: usize) => call!(ready()?.common, set_limit(limit, value));
    cudaDeviceGetCacheConfig(out: *mut c_int) => { ready()?; put(out, 0); Ok(()) };
    cudaDeviceSetCacheConfig(_config: c_int) => ready().map(drop);
    cudaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int)
        => call!(ready()?.common, priority_range(least, greatest));
    cudaDeviceGetPCIBusId(out: *mut c_char, length: c_int, device: c_int)
        => call!(driver::get()?.common, device_bus_id(out, length, device));
    cudaDeviceCanAccessPeer(out: *mut c_int, from: c_int, to: c_int)
        => call!(driver::get()?.common, can_access_peer(out, from, to));
    cudaDeviceGetP2PAttribute(out: *mut c_int, attribute: c_int, from: c_int, to: c_int)
        => call!(driver::get()?.common, p2p_attribute(out, attribute, from, to));
    cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) => {
        let driver = ready()?;
        let mut context: Handle = std::ptr::null_mut();
        call!(driver.common, primary_retain(&raw mut context, peer))?;
        call!(driver.common, enable_peer(context, flags))
    };
    cudaDeviceDisablePeerAccess(peer: c_int) => {
        let driver = ready()?;
        let mut context: Handle = std::ptr::null_mut();
        call!(driver.common, primary_retain(&raw mut context, peer))?;
        call!(driver.common, disable_peer(context))
    };
    cudaSetDeviceFlags(flags: c_uint) => call!(driver::get()?.common, primary_set_flags(state::device(), flags));
    cudaGetDeviceFlags(out: *mut c_uint) => { driver::get()?; put(out, 8); Ok(()) };
    cudaProfilerStart() => call!(ready()?.common, profiler_start());
    cudaProfilerStop() => call!(ready()?.common, profiler_stop());
    cudaMemGetInfo(free: *mut usize, total: *mut usize) => call!(ready()?.common, mem_info(free, total));
    cudaGetExportTable(out: *mut *const c_void, id: *const c_void)
        => call!(driver::get()?.common, export_table(out, id));
}

/// `cudaGetDevice`: answered without the driver once the thread is bound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDevice(out: *mut c_int) -> Error {
    let result = match ready() {
        Ok(_) if out.is_null() => Err(code::INVALID_VALUE),
        Ok(_) => {
            // SAFETY: not null.
            unsafe { put(out, state::device()) };
            Ok(())
        }
        Err(error) => Err(error),
    };
    state::finish(result)
}
