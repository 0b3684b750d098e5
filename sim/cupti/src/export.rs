//! The exported functions.
#![allow(clippy::missing_safety_doc, reason = "the contracts are those of CUPTI's documentation")]

use crate::activity::CounterConfig;
use crate::buffers::{Completed, Requested};
use crate::callbacks::Callback;
use crate::result::{self, INVALID_KIND, INVALID_PARAMETER, MAX_LIMIT_REACHED, NOT_INITIALIZED};
use crate::{activity, buffers, callbacks, clock, config, driver, names, records};
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

fn enter(body: impl FnOnce() -> Result<(), c_int>) -> c_int {
    if driver::is_forked() {
        return NOT_INITIALIZED;
    }
    body().err().unwrap_or(0)
}

/// As [`enter`], unless a test wants the function to fail.
fn permitted(function: &str, body: impl FnOnce() -> Result<(), c_int>) -> c_int {
    enter(|| config::get().permit(function, None).and_then(|()| body()))
}

/// # Safety
/// `out` is null or valid for a write.
unsafe fn put<T>(out: *mut T, value: T) -> Result<(), c_int> {
    if out.is_null() {
        return Err(INVALID_PARAMETER);
    }
    // SAFETY: by the caller's contract.
    unsafe { out.write_unaligned(value) };
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetVersion(out: *mut u32) -> c_int {
    // SAFETY: by the API's contract.
    permitted("version", || unsafe { put(out, config::get().version) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetResultString(number: c_int, out: *mut *const c_char) -> c_int {
    // SAFETY: by the API's contract.
    enter(|| unsafe { put(out, result::name(number).ok_or(INVALID_PARAMETER)?.as_ptr()) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetTimestamp(out: *mut u64) -> c_int {
    // SAFETY: by the API's contract.
    permitted("timestamp", || unsafe { put(out, clock::now()) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiSubscribe(out: *mut *mut c_void, function: Option<Callback>, user: *mut c_void) -> c_int {
    // SAFETY: by the API's contract.
    enter(|| unsafe { callbacks::subscribe(out, function, user) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiUnsubscribe(subscriber: *mut c_void) -> c_int {
    enter(|| callbacks::unsubscribe(subscriber))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiEnableCallback(enable: u32, subscriber: *mut c_void, domain: u32, id: u32) -> c_int {
    enter(|| callbacks::enable(enable != 0, subscriber, domain, id))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiEnableDomain(enable: u32, subscriber: *mut c_void, domain: u32) -> c_int {
    enter(|| callbacks::enable_domain(enable != 0, subscriber, domain))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetCallbackName(domain: u32, id: u32, out: *mut *const c_char) -> c_int {
    // SAFETY: by the API's contract.
    permitted("name", || unsafe { put(out, names::name(domain, id).ok_or(INVALID_PARAMETER)?.as_ptr()) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityRegisterCallbacks(
    requested: Option<Requested>,
    completed: Option<Completed>,
) -> c_int {
    permitted("register", || {
        let (Some(requested), Some(completed)) = (requested, completed) else { return Err(INVALID_PARAMETER) };
        buffers::register(requested, completed);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityEnable(kind: u32) -> c_int {
    enter(|| activity::enable(kind))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityDisable(kind: u32) -> c_int {
    enter(|| activity::disable(kind))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityFlushAll(_forced: u32) -> c_int {
    permitted("flush", || {
        buffers::flush();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetNextRecord(buffer: *mut u8, valid: usize, record: *mut *mut u8) -> c_int {
    permitted("next", || {
        if buffer.is_null() || record.is_null() {
            return Err(INVALID_PARAMETER);
        }
        // SAFETY: by the API's contract.
        let last = unsafe { *record };
        let at = if last.is_null() {
            0
        } else {
            let at = last.addr().checked_sub(buffer.addr()).filter(|at| *at < valid).ok_or(INVALID_PARAMETER)?;
            // SAFETY: the buffer has `valid` bytes by the API's contract.
            unsafe { records::next(buffer, valid, at) }.ok_or(INVALID_KIND)?
        };
        if at >= valid {
            return Err(MAX_LIMIT_REACHED);
        }
        // SAFETY: inside the buffer.
        unsafe { record.write(buffer.add(at)) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetNumDroppedRecords(
    _context: *mut c_void,
    _stream: u32,
    out: *mut usize,
) -> c_int {
    permitted("dropped", || {
        if out.is_null() {
            return Err(INVALID_PARAMETER);
        }
        // SAFETY: by the API's contract.
        unsafe { put(out, buffers::take_dropped()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityConfigureUnifiedMemoryCounter(
    counters: *const CounterConfig,
    count: u32,
) -> c_int {
    enter(|| {
        if counters.is_null() {
            return Err(INVALID_PARAMETER);
        }
        // SAFETY: by the API's contract.
        activity::configure(unsafe { std::slice::from_raw_parts(counters, count as usize) })
    })
}

/// `CUpti_ActivityAttribute`: kept and given back, without effect.
static ATTRIBUTES: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivitySetAttribute(which: u32, size: *mut usize, value: *mut c_void) -> c_int {
    permitted("attribute", || {
        let kept = ATTRIBUTES.get(which as usize).ok_or(INVALID_PARAMETER)?;
        if size.is_null() || value.is_null() {
            return Err(INVALID_PARAMETER);
        }
        let mut bytes = [0; 8];
        // SAFETY: the value has `*size` bytes by the API's contract.
        unsafe {
            let length = (*size).min(bytes.len());
            std::ptr::copy_nonoverlapping(value.cast::<u8>(), bytes.as_mut_ptr(), length);
        }
        kept.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetAttribute(which: u32, size: *mut usize, value: *mut c_void) -> c_int {
    permitted("attribute", || {
        let kept = ATTRIBUTES.get(which as usize).ok_or(INVALID_PARAMETER)?;
        if size.is_null() || value.is_null() {
            return Err(INVALID_PARAMETER);
        }
        let bytes = kept.load(Ordering::Relaxed).to_ne_bytes();
        // SAFETY: the value has room for `*size` bytes by the API's contract.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast::<u8>(), (*size).min(bytes.len())) };
        Ok(())
    })
}

/// Full buffers are handed over at once anyway.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityFlushPeriod(_milliseconds: u32) -> c_int {
    permitted("period", || Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiFinalize() -> c_int {
    permitted("finalize", || {
        activity::disable_all();
        callbacks::leave();
        buffers::flush();
        driver::detach();
        Ok(())
    })
}
