//! Streams and capture.

use crate::abi::{Handle, HostFn, StreamCallback, put};
use crate::driver::call;
use crate::state::ready;
use std::ffi::{c_int, c_uint, c_void};

exports! {
    cudaStreamCreate(out: *mut Handle) => call!(ready()?.common, stream_create(out, 0));
    cudaStreamCreateWithFlags(out: *mut Handle, flags: c_uint) => call!(ready()?.common, stream_create(out, flags));
    cudaStreamCreateWithPriority(out: *mut Handle, flags: c_uint, priority: c_int)
        => call!(ready()?.common, stream_create_priority(out, flags, priority));
    cudaStreamDestroy(stream: Handle) => call!(ready()?.common, stream_destroy(stream));
    cudaThreadExchangeStreamCaptureMode(mode: *mut c_int) => call!(ready()?.common, exchange_mode(mode));
}

lanes! {
    cudaStreamSynchronize | cudaStreamSynchronize_ptsz(stream: Handle) lane
        => call!(ready()?.lane(lane), synchronize(stream));
    cudaStreamQuery | cudaStreamQuery_ptsz(stream: Handle) lane => call!(ready()?.lane(lane), query(stream));
    cudaStreamGetFlags | cudaStreamGetFlags_ptsz(stream: Handle, out: *mut c_uint) lane
        => call!(ready()?.lane(lane), flags(stream, out));
    cudaStreamGetPriority | cudaStreamGetPriority_ptsz(stream: Handle, out: *mut c_int) lane
        => call!(ready()?.lane(lane), priority(stream, out));
    cudaStreamGetId | cudaStreamGetId_ptsz(stream: Handle, out: *mut u64) lane
        => call!(ready()?.lane(lane), id(stream, out));
    cudaStreamGetDevice | cudaStreamGetDevice_ptsz(stream: Handle, out: *mut c_int) lane
        => call!(ready()?.lane(lane), device(stream, out));
    cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz(stream: Handle, event: Handle, flags: c_uint) lane
        => call!(ready()?.lane(lane), wait_event(stream, event, flags));
    cudaStreamAddCallback | cudaStreamAddCallback_ptsz(stream: Handle, function: Option<StreamCallback>,
        user: *mut c_void, flags: c_uint) lane
        => call!(ready()?.lane(lane), callback(stream, function, user, flags));
    cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz(stream: Handle, function: Option<HostFn>, user: *mut c_void) lane
        => call!(ready()?.lane(lane), host(stream, function, user));
    cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz(stream: Handle, mode: c_int) lane
        => call!(ready()?.lane(lane), begin_capture(stream, mode));
    cudaStreamEndCapture | cudaStreamEndCapture_ptsz(stream: Handle, out: *mut Handle) lane
        => call!(ready()?.lane(lane), end_capture(stream, out));
    cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz(stream: Handle, out: *mut c_int) lane
        => call!(ready()?.lane(lane), is_capturing(stream, out));
    cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz(_stream: Handle, _which: c_int, _value: *mut c_void) _lane
        => ready().map(drop);
    cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz(_stream: Handle, _which: c_int, _value: *const c_void) _lane
        => ready().map(drop);
}

/// `cudaCtxResetPersistingL2Cache`: accepted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaCtxResetPersistingL2Cache() -> c_int {
    crate::state::finish(ready().map(drop))
}

/// `cudaChooseDevice`: always the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaChooseDevice(out: *mut c_int, _properties: *const c_void) -> c_int {
    crate::state::finish(crate::driver::get().map(|_| {
        // SAFETY: out-pointer by the API's contract.
        unsafe { put(out, 0) }
    }))
}
