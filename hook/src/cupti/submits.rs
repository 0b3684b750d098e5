//! Which call submitted a piece of work: the id that CUPTI gives it, told by a callback inside the submitting call.
//!
//! Callbacks are enabled one by one for the driver's submitting functions alone, so that all other calls cost what they
//! cost without. The runtime's own functions need none: inside them the driver's are called, with the same id.

use core::ffi::{CStr, c_char, c_void};

use super::library::Functions;
use crate::{arch, process, text};

const DOMAIN_DRIVER: u32 = 1;
/// `CUPTI_API_ENTER`.
const ENTER: u32 = 0;
/// Ids that are asked for their names: 13.5 has 876.
const IDS: u32 = 2048;
/// So many ids without a name in a row are the end.
const NAMELESS: u32 = 64;

/// What of `CUpti_CallbackData` is read.
#[repr(C)]
struct CallbackData {
    site: u32,
    function_name: *const c_char,
    parameters: *const c_void,
    return_value: *mut c_void,
    symbol_name: *const c_char,
    context: *mut c_void,
    context_uid: u32,
    correlation_data: *mut u64,
    correlation_id: u32,
}

const _: () = assert!(core::mem::offset_of!(CallbackData, correlation_id) == 64);

/// Whether a function of runtime or driver hands work to a device.
pub fn submits(name: &[u8]) -> bool {
    let name = text::without_stream_suffix(name);
    let rest = name.strip_prefix(b"__cuda").or_else(|| name.strip_prefix(b"cuda"));
    let rest = rest.or_else(|| name.strip_prefix(b"cu")).unwrap_or_default();
    const BEGINNINGS: [&[u8]; 8] = [
        b"LaunchKernel",
        b"LaunchCooperativeKernel",
        b"LaunchGrid",
        b"GraphLaunch",
        b"Memcpy",
        b"Memset",
        b"MemPrefetch",
        b"MemDiscardAndPrefetch",
    ];
    rest == b"Launch" || BEGINNINGS.iter().any(|beginning| rest.starts_with(beginning))
}

/// CUPTI calls it inside the submitting call, in its thread.
///
/// # Safety
/// `data` is what CUPTI passes.
pub unsafe extern "C" fn called(_: *mut c_void, domain: u32, _: u32, data: *const c_void) {
    if domain != DOMAIN_DRIVER || data.is_null() {
        return;
    }
    // SAFETY: CUPTI's structure, and the calling thread's own state.
    unsafe {
        let data = data.cast::<CallbackData>();
        if (*data).site == ENTER {
            let thread = &mut *arch::thread();
            // A thread that does not record has no open calls; while a record is written it is a handler's call that is
            // not recorded.
            if thread.generation != process::generation() || thread.busy != 0 {
                return;
            }
            thread.correlation = (*data).correlation_id;
            thread.correlation_depth = u16::from(thread.depth()).wrapping_add(1);
        }
    }
}

/// Asks for the callbacks of submitting functions, which are found by their names: ids differ between versions. If there
/// is none, CUPTI's last answer that was a refusal.
pub fn enable(functions: &Functions, subscriber: *mut c_void) -> Result<(), i32> {
    let (mut enabled, mut nameless, mut refused) = (0u32, 0u32, 0);
    for id in 1..IDS {
        let mut name: *const c_char = core::ptr::null();
        // SAFETY: the function fills a pointer of ours with a C string of its own.
        let status = unsafe { (functions.get_callback_name)(DOMAIN_DRIVER, id, &mut name) };
        if status != 0 || name.is_null() {
            refused = status;
            nameless = nameless.wrapping_add(1);
            if nameless > NAMELESS {
                break;
            }
            continue;
        }
        nameless = 0;
        // SAFETY: as above; the subscriber is ours. Newer libraries have names that an older driver lacks.
        let status = unsafe {
            if !submits(CStr::from_ptr(name).to_bytes()) {
                continue;
            }
            (functions.enable_callback)(1, subscriber, DOMAIN_DRIVER, id)
        };
        enabled = enabled.wrapping_add(u32::from(status == 0));
        if status != 0 {
            refused = status;
        }
    }
    if enabled > 0 { Ok(()) } else { Err(refused) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hands_over_work_is_told_by_its_name() {
        for name in [
            "cuLaunchKernel",
            "cuLaunchKernelEx_ptsz",
            "cuLaunchCooperativeKernel",
            "cuLaunch",
            "cuGraphLaunch_ptsz",
            "cuMemcpyHtoD_v2",
            "cuMemsetD8Async",
            "cuMemPrefetchAsync_v2",
            "cudaMemcpyAsync",
            "cudaLaunchKernelExC",
            "__cudaLaunchKernel",
            "cudaGraphLaunch",
        ] {
            assert!(submits(name.as_bytes()), "{name}");
        }
        for name in ["cuMemAlloc_v2", "cuLaunchHostFunc", "cudaMalloc", "cuGraphUpload", "cudaStreamSynchronize", "cu"]
        {
            assert!(!submits(name.as_bytes()), "{name}");
        }
    }
}
