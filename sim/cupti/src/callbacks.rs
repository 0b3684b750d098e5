//! The subscriber and what it is called back for: driver calls, and contexts that come and go.

use crate::names::{self, DOMAINS, DRIVER, RESOURCE, RUNTIME};
use crate::result::{INVALID_PARAMETER, MULTIPLE_SUBSCRIBERS, NOT_INITIALIZED};
use crate::told::Call;
use crate::{config, driver};
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// `CUpti_CallbackFunc`.
pub type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);

/// `CUpti_CallbackData`.
#[repr(C)]
struct Data {
    site: u32,
    name: *const c_char,
    params: *const c_void,
    result: *const c_int,
    symbol: *const c_char,
    context: *const c_void,
    context_id: u32,
    data: *mut u64,
    correlation: u32,
}

const _: () = assert!(std::mem::offset_of!(Data, context_id) == 48 && std::mem::offset_of!(Data, correlation) == 64);

/// `CUpti_ResourceData`.
#[repr(C)]
struct Resource {
    context: *const c_void,
    handle: *const c_void,
    descriptor: *const c_void,
}

/// The subscriber's function and argument; its handle is the address of the first.
static FUNCTION: AtomicUsize = AtomicUsize::new(0);
static USER: AtomicUsize = AtomicUsize::new(0);
/// Ids of the resource domain that are asked for, a bit each.
static RESOURCES: AtomicU32 = AtomicU32::new(0);

fn handle() -> *mut c_void {
    FUNCTION.as_ptr().cast()
}

fn check(subscriber: *mut c_void) -> Result<(), c_int> {
    let valid = subscriber == handle() && FUNCTION.load(Ordering::Relaxed) != 0;
    if valid { Ok(()) } else { Err(INVALID_PARAMETER) }
}

/// `cuptiSubscribe`.
///
/// # Safety
/// `out` is null or valid.
pub unsafe fn subscribe(out: *mut *mut c_void, function: Option<Callback>, user: *mut c_void) -> Result<(), c_int> {
    config::get().permit("subscribe", None)?;
    let function = function.filter(|_| !out.is_null()).ok_or(INVALID_PARAMETER)?;
    driver::attach().ok_or(NOT_INITIALIZED)?;
    FUNCTION
        .compare_exchange(0, function as usize, Ordering::AcqRel, Ordering::Relaxed)
        .map_err(|_| MULTIPLE_SUBSCRIBERS)?;
    USER.store(user as usize, Ordering::Release);
    // SAFETY: not null.
    unsafe { out.write(handle()) };
    Ok(())
}

/// `cuptiUnsubscribe`.
pub fn unsubscribe(subscriber: *mut c_void) -> Result<(), c_int> {
    config::get().permit("unsubscribe", None)?;
    check(subscriber)?;
    leave();
    Ok(())
}

/// Nobody is called back any more.
pub fn leave() {
    if FUNCTION.load(Ordering::Relaxed) == 0 {
        return;
    }
    RESOURCES.store(0, Ordering::Relaxed);
    watch_all(false);
    FUNCTION.store(0, Ordering::Release);
}

fn watch_all(enable: bool) {
    let Some(driver) = driver::attach() else { return };
    for (id, call) in names::driver_calls() {
        (driver.watch)(call.index, if enable { id } else { 0 });
    }
}

/// `cuptiEnableCallback`.
pub fn enable(enable: bool, subscriber: *mut c_void, domain: u32, id: u32) -> Result<(), c_int> {
    config::get().permit("callback", None)?;
    check(subscriber)?;
    match domain {
        DRIVER => {
            let call = names::driver_call(id).ok_or(INVALID_PARAMETER)?;
            let driver = driver::attach().ok_or(NOT_INITIALIZED)?;
            (driver.watch)(call.index, if enable { id } else { 0 });
        }
        RESOURCE => {
            let bit = 1u32.checked_shl(id).ok_or(INVALID_PARAMETER)?;
            if enable {
                RESOURCES.fetch_or(bit, Ordering::Relaxed)
            } else {
                RESOURCES.fetch_and(!bit, Ordering::Relaxed)
            };
        }
        RUNTIME | 4..DOMAINS => {}
        _ => return Err(INVALID_PARAMETER),
    }
    Ok(())
}

/// `cuptiEnableDomain`.
pub fn enable_domain(enable: bool, subscriber: *mut c_void, domain: u32) -> Result<(), c_int> {
    config::get().permit("domain", None)?;
    check(subscriber)?;
    match domain {
        DRIVER => watch_all(enable),
        RESOURCE => RESOURCES.store(if enable { u32::MAX } else { 0 }, Ordering::Relaxed),
        RUNTIME | 4..DOMAINS => {}
        _ => return Err(INVALID_PARAMETER),
    }
    Ok(())
}

fn call_back(domain: u32, id: u32, data: *const c_void) {
    let function = FUNCTION.load(Ordering::Acquire);
    if function != 0 {
        // SAFETY: only `subscribe` stores here, and it stores a function of this type; the data live for the call.
        unsafe {
            let function = std::mem::transmute::<usize, Callback>(function);
            function(USER.load(Ordering::Acquire) as *mut c_void, domain, id, data);
        }
    }
}

/// The driver tells of a watched call.
///
/// # Safety
/// `call` is valid.
pub unsafe extern "C" fn on_call(call: *const Call) {
    // SAFETY: by the caller's contract.
    let call = unsafe { &*call };
    let data = Data {
        site: call.site,
        name: names::driver_call(call.id).map_or(std::ptr::null(), |known| known.name.as_ptr()),
        params: call.params,
        result: call.result,
        symbol: call.symbol,
        context: call.context,
        context_id: call.context_id,
        data: call.data,
        correlation: call.correlation,
    };
    call_back(DRIVER, call.id, (&raw const data).cast());
}

/// The driver tells of a context.
pub unsafe extern "C" fn on_context(site: u32, context: *const c_void) {
    if RESOURCES.load(Ordering::Relaxed) & (1 << (site & 31)) != 0 {
        let data = Resource { context, handle: std::ptr::null(), descriptor: std::ptr::null() };
        call_back(RESOURCE, site, (&raw const data).cast());
    }
}
