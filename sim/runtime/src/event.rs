//! Events.

use crate::abi::Handle;
use crate::driver::call;
use crate::state::ready;
use std::ffi::c_uint;

exports! {
    cudaEventCreate(out: *mut Handle) => call!(ready()?.common, event_create(out, 0));
    cudaEventCreateWithFlags(out: *mut Handle, flags: c_uint) => call!(ready()?.common, event_create(out, flags));
    cudaEventDestroy(event: Handle) => call!(ready()?.common, event_destroy(event));
    cudaEventQuery(event: Handle) => call!(ready()?.common, event_query(event));
    cudaEventSynchronize(event: Handle) => call!(ready()?.common, event_synchronize(event));
    cudaEventElapsedTime(out: *mut f32, start: Handle, end: Handle)
        => call!(ready()?.common, event_elapsed(out, start, end));
}

lanes! {
    cudaEventRecord | cudaEventRecord_ptsz(event: Handle, stream: Handle) lane
        => call!(ready()?.lane(lane), record(event, stream));
    cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz(event: Handle, stream: Handle, flags: c_uint) lane
        => call!(ready()?.lane(lane), record_with_flags(event, stream, flags));
}
