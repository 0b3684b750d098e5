//! Streams, events, launches, capture.

use crate::abi::{DevicePtr, Handle, HostFn, LaunchConfig, StreamCallback};
use crate::{capture, event, launch};
use std::ffi::{c_int, c_uint, c_void};

super::streamed! { TABLE:
    "cuStreamSynchronize" 2000 cuStreamSynchronize | 7000 cuStreamSynchronize_ptsz(stream: Handle)
        => launch::stream_synchronize;
    "cuStreamQuery" 2000 cuStreamQuery | 7000 cuStreamQuery_ptsz(stream: Handle) => launch::stream_query;
    "cuStreamGetFlags" 5050 cuStreamGetFlags | 7000 cuStreamGetFlags_ptsz(stream: Handle, out: *mut c_uint)
        => launch::stream_flags;
    "cuStreamGetPriority" 5050 cuStreamGetPriority | 7000 cuStreamGetPriority_ptsz(stream: Handle, out: *mut c_int)
        => launch::stream_priority;
    "cuStreamGetId" 12000 cuStreamGetId | 12000 cuStreamGetId_ptsz(stream: Handle, out: *mut u64)
        => launch::stream_id;
    "cuStreamGetCtx" 9020 cuStreamGetCtx | 9020 cuStreamGetCtx_ptsz(stream: Handle, out: *mut Handle)
        => launch::stream_context;
    "cuStreamGetDevice" 12080 cuStreamGetDevice | 12080 cuStreamGetDevice_ptsz(stream: Handle, out: *mut c_int)
        => launch::stream_device;
    "cuStreamWaitEvent" 3020 cuStreamWaitEvent | 7000 cuStreamWaitEvent_ptsz
        (stream: Handle, event: Handle, flags: c_uint) => event::wait;
    "cuStreamAddCallback" 5000 cuStreamAddCallback | 7000 cuStreamAddCallback_ptsz
        (stream: Handle, function: Option<StreamCallback>, user: *mut c_void, flags: c_uint) => launch::callback;
    "cuStreamAttachMemAsync" 6000 cuStreamAttachMemAsync | 7000 cuStreamAttachMemAsync_ptsz
        (stream: Handle, address: DevicePtr, bytes: usize, flags: c_uint) => launch::stream_attach;
    "cuStreamWriteValue32" 11070 cuStreamWriteValue32_v2 | 11070 cuStreamWriteValue32_v2_ptsz
        (stream: Handle, address: DevicePtr, value: u32, flags: c_uint) => launch::write32;
    "cuStreamWriteValue64" 11070 cuStreamWriteValue64_v2 | 11070 cuStreamWriteValue64_v2_ptsz
        (stream: Handle, address: DevicePtr, value: u64, flags: c_uint) => launch::write64;
    "cuStreamWaitValue32" 11070 cuStreamWaitValue32_v2 | 11070 cuStreamWaitValue32_v2_ptsz
        (stream: Handle, address: DevicePtr, value: u32, flags: c_uint) => launch::wait32;
    "cuStreamWaitValue64" 11070 cuStreamWaitValue64_v2 | 11070 cuStreamWaitValue64_v2_ptsz
        (stream: Handle, address: DevicePtr, value: u64, flags: c_uint) => launch::wait64;
    "cuEventRecord" 2000 cuEventRecord | 7000 cuEventRecord_ptsz(event: Handle, stream: Handle) => event::record;
    "cuEventRecordWithFlags" 11010 cuEventRecordWithFlags | 11010 cuEventRecordWithFlags_ptsz
        (event: Handle, stream: Handle, flags: c_uint) => event::record_with_flags;
    "cuLaunchKernel" 4000 cuLaunchKernel | 7000 cuLaunchKernel_ptsz
        (function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
         block_z: c_uint, shared: c_uint, stream: Handle, params: *mut *mut c_void, extra: *mut *mut c_void)
        => launch::kernel;
    "cuLaunchKernelEx" 11060 cuLaunchKernelEx | 11060 cuLaunchKernelEx_ptsz
        (config: *const LaunchConfig, function: Handle, params: *mut *mut c_void, extra: *mut *mut c_void)
        => launch::kernel_ex;
    "cuLaunchCooperativeKernel" 9000 cuLaunchCooperativeKernel | 9000 cuLaunchCooperativeKernel_ptsz
        (function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
         block_z: c_uint, shared: c_uint, stream: Handle, params: *mut *mut c_void) => launch::cooperative;
    "cuLaunchHostFunc" 10000 cuLaunchHostFunc | 10000 cuLaunchHostFunc_ptsz
        (stream: Handle, function: Option<HostFn>, user: *mut c_void) => launch::host;
    "cuStreamBeginCapture" 10000 cuStreamBeginCapture | 10000 cuStreamBeginCapture_ptsz(stream: Handle)
        => capture::begin_global;
    "cuStreamBeginCapture" 10010 cuStreamBeginCapture_v2 | 10010 cuStreamBeginCapture_v2_ptsz
        (stream: Handle, mode: c_int) => capture::begin;
    "cuStreamEndCapture" 10000 cuStreamEndCapture | 10000 cuStreamEndCapture_ptsz(stream: Handle, out: *mut Handle)
        => capture::end;
    "cuStreamIsCapturing" 10000 cuStreamIsCapturing | 10000 cuStreamIsCapturing_ptsz
        (stream: Handle, out: *mut c_int) => capture::is_capturing;
    "cuStreamGetCaptureInfo" 10010 cuStreamGetCaptureInfo | 10010 cuStreamGetCaptureInfo_ptsz
        (stream: Handle, out: *mut c_int, id: *mut u64) => capture::capture_info;
    "cuStreamGetCaptureInfo" 11030 cuStreamGetCaptureInfo_v2 | 11030 cuStreamGetCaptureInfo_v2_ptsz
        (stream: Handle, out: *mut c_int, id: *mut u64, graph: *mut Handle, dependencies: *mut *const Handle,
         count: *mut usize) => capture::capture_info_v2;
    "cuStreamGetCaptureInfo" 12030 cuStreamGetCaptureInfo_v3 | 12030 cuStreamGetCaptureInfo_v3_ptsz
        (stream: Handle, out: *mut c_int, id: *mut u64, graph: *mut Handle, dependencies: *mut *const Handle,
         edges: *mut *const c_void, count: *mut usize) => capture::capture_info_v3;
}

/// The forms without a default stream.
pub mod plain {
    use super::*;

    crate::api::plain! { TABLE:
        "cuStreamCreate" 2000 cuStreamCreate(out: *mut Handle, flags: c_uint) => launch::stream_create;
        "cuStreamCreateWithPriority" 5050 cuStreamCreateWithPriority(out: *mut Handle, flags: c_uint, priority: c_int)
            => launch::stream_create_priority;
        "cuStreamDestroy" 2000 cuStreamDestroy(stream: Handle) => launch::stream_destroy;
        "cuStreamDestroy" 4000 cuStreamDestroy_v2(stream: Handle) => launch::stream_destroy;
        "cuEventCreate" 2000 cuEventCreate(out: *mut Handle, flags: c_uint) => event::create;
        "cuEventDestroy" 2000 cuEventDestroy(event: Handle) => event::destroy;
        "cuEventDestroy" 4000 cuEventDestroy_v2(event: Handle) => event::destroy;
        "cuEventQuery" 2000 cuEventQuery(event: Handle) => event::query;
        "cuEventSynchronize" 2000 cuEventSynchronize(event: Handle) => event::synchronize;
        "cuEventElapsedTime" 2000 cuEventElapsedTime(out: *mut f32, start: Handle, end: Handle) => event::elapsed;
        "cuEventElapsedTime" 12080 cuEventElapsedTime_v2(out: *mut f32, start: Handle, end: Handle)
            => event::elapsed;
        "cuThreadExchangeStreamCaptureMode" 10010 cuThreadExchangeStreamCaptureMode(mode: *mut c_int)
            => capture::exchange_mode;
    }
}
