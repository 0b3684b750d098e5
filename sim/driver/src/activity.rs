//! The door for the profiling interface: `umsim_set_activity_sink`. Unused, it costs one relaxed load a call and a record.

use crate::api;
use crate::config;
use crate::context;
use crate::module;
use crate::ops::Env;
use crate::stream::Stream;
use crate::told::{self, Call, Driver, Event, Sink};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

static SINK: AtomicPtr<Sink> = AtomicPtr::new(std::ptr::null_mut());

/// Numbers calls that submit something.
static CORRELATION: AtomicU32 = AtomicU32::new(0);
/// In a call that has no number so far.
const OPEN: u32 = u32::MAX;
thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
    /// The number of the call that this thread is in; 0 where nobody is told of calls.
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

static DRIVER: Driver = Driver { size: std::mem::size_of::<Driver>(), initialized, symbol, watch };

fn sink() -> Option<&'static Sink> {
    let sink = SINK.load(Ordering::Relaxed);
    if sink.is_null() {
        return None;
    }
    // SAFETY: the registrar's structure lives as long as the process; written before the pointer was stored.
    unsafe { SINK.load(Ordering::Acquire).as_ref() }
}

/// Whether somebody is told.
#[inline(always)]
pub fn attached() -> bool {
    !SINK.load(Ordering::Relaxed).is_null()
}

/// Tells of something that happened.
#[inline]
pub fn tell(event: &Event) {
    if let Some(sink) = sink() {
        // SAFETY: the registrar's function; the record lives for the call.
        unsafe { (sink.event)(event) };
    }
}

/// Tells of a context that was made (1) or is about to end (2).
pub fn tell_context(site: u32, handle: usize) {
    if let Some(sink) = sink() {
        // SAFETY: the registrar's function.
        unsafe { (sink.context)(site, handle as *const c_void) };
    }
}

/// Tells of a wait that began at `start` and is over: CUPTI's kind of it, for a stream or for the current context, and for which
/// recording of which event.
#[inline]
pub fn tell_wait(stream: Option<&Stream>, how: u64, start: u64, event: Option<(u32, u64)>) {
    if !attached() {
        return;
    }
    let (object, number) = event.unwrap_or((told::NONE, 0));
    let record = match stream {
        Some(stream) => Env::of(stream, correlate()).record(told::kind::WAIT, start, 0),
        None => {
            let now = context::current().ok();
            Event {
                start,
                device: now.map_or(0, |now| now.device() as u32),
                context: now.map_or(0, |now| now.context.id.load(Ordering::Relaxed)),
                stream: told::NONE,
                correlation: correlate(),
                ..Event::new(told::kind::WAIT)
            }
        }
    };
    tell(&Event { end: config::now(), value: how, object, number, ..record });
}

fn next() -> u32 {
    loop {
        let number = CORRELATION.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if number != 0 && number != OPEN {
            return number;
        }
    }
}

/// The number of the submitting call that the thread is in.
pub fn correlate() -> u32 {
    let number = match CURRENT.get() {
        0 => next(),
        OPEN => {
            let number = next();
            CURRENT.set(number);
            number
        }
        number => number,
    };
    LAST.set(number);
    number
}

/// Runs a call's body, telling of it if it is watched. All that it submits has one number.
#[cold]
pub fn call<P>(
    id: u32,
    symbol: &str,
    params: &P,
    body: impl FnOnce() -> Result<(), crate::abi::Result32>,
) -> crate::abi::Result32 {
    let run = |body: &mut dyn FnMut() -> Result<(), crate::abi::Result32>| body().err().unwrap_or(0);
    let mut body = Some(body);
    let mut body = move || body.take().map_or(Ok(()), |body| body());
    let Some(sink) = sink().filter(|_| id != 0) else {
        let outer = CURRENT.replace(OPEN);
        let result = run(&mut body);
        CURRENT.set(outer);
        return result;
    };
    let number = next();
    let outer = CURRENT.replace(number);
    let (context, context_id) =
        context::current().map_or((0, 0), |now| (now.handle, now.context.id.load(Ordering::Relaxed)));
    let (mut result, mut data): (c_int, u64) = (0, 0);
    // SAFETY: each launch's parameters are a structure that begins with one or two pointers.
    let name = unsafe { kernel(symbol, std::ptr::from_ref(params).cast()) };
    let mut call = Call {
        site: 0,
        id,
        correlation: number,
        context_id,
        context: context as *const c_void,
        params: std::ptr::from_ref(params).cast(),
        result: &raw const result,
        symbol: name,
        data: &raw mut data,
    };
    // SAFETY: the registrar's function; everything lives for the call.
    unsafe { (sink.call)(&raw const call) };
    CURRENT.set(number);
    let given = run(&mut body);
    // SAFETY: our own variable; written through the pointer that the structure has.
    unsafe { (&raw mut result).write(given) };
    call.site = 1;
    // SAFETY: as above.
    unsafe { (sink.call)(&raw const call) };
    CURRENT.set(outer);
    given
}

/// The kernel that a call launches, or null.
///
/// # Safety
/// `params` are the parameters of `symbol`.
unsafe fn kernel(symbol: &str, params: *const crate::abi::Handle) -> *const c_char {
    let place = match symbol.trim_end_matches("_ptsz") {
        "cuLaunchKernel" | "cuLaunchCooperativeKernel" => 0,
        "cuLaunchKernelEx" => 1,
        _ => return std::ptr::null(),
    };
    // SAFETY: by the caller's contract.
    let function = unsafe { params.add(place).read() };
    module::launchable(function).map_or(std::ptr::null(), |kernel| CStr::as_ptr(&kernel.name))
}

extern "C" fn initialized() -> c_int {
    c_int::from(context::initialized().is_ok())
}

/// # Safety
/// `length` is valid for a write.
unsafe extern "C" fn symbol(index: usize, length: *mut usize) -> *const c_char {
    match api::tables().nth(index) {
        Some(entry) => {
            // SAFETY: by the caller's contract.
            unsafe { crate::abi::put(length, entry.symbol.len()) };
            entry.symbol.as_ptr().cast()
        }
        None => std::ptr::null(),
    }
}

extern "C" fn watch(index: usize, id: u32) {
    if let Some(entry) = api::tables().nth(index) {
        entry.calls.watch(id);
    }
}

/// Tells `sink` of calls and events from now on (null: nobody). It must live as long as the process.
///
/// # Safety
/// `sink` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umsim_set_activity_sink(sink: *mut Sink) -> *const Driver {
    SINK.store(sink, Ordering::Release);
    &raw const DRIVER
}

/// The correlation number of this thread's latest submitting call, 0 before the first.
#[unsafe(no_mangle)]
pub extern "C" fn umsim_last_correlation() -> u32 {
    LAST.get()
}
