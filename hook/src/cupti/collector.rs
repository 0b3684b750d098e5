//! The one thread of ours: every quarter of a second it has CUPTI hand over what is complete, and writes it down.
//!
//! It takes no signals and calls nothing of the program's. Others only ever wait for it with a limit.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::library::Functions;
use super::writer::Writer;
use crate::thread::WITH_CUPTI;
use crate::{arch, enter, file, loader, process, sys};

/// Between two flushes, ns. (CUPTI's own flush period hands over full buffers only.)
const PERIOD_NS: u64 = 250_000_000;
/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`: also buffers with records that are not complete.
const FORCED: u32 = 1;

/// A buffer is full.
pub const DATA: u32 = 1;
/// Flush now.
pub const FLUSH: u32 = 2;
/// Flush, then never call CUPTI again: the process ends.
pub const FINISH: u32 = 4;
/// Flush, then leave CUPTI to somebody else.
pub const ASIDE: u32 = 8;

/// What is asked of the thread; it sleeps on this word.
static REQUESTS: AtomicU32 = AtomicU32::new(0);
/// Requests that were met; who asks sleeps on this word.
static MET: AtomicU32 = AtomicU32::new(0);

/// Wakes the thread for data that is there.
pub fn wake() {
    if REQUESTS.fetch_or(DATA, Ordering::AcqRel) == 0 {
        sys::wake(&REQUESTS);
    }
}

/// Asks for something and waits until it is done, but no longer than `limit_ns`; whether it is done.
pub fn ask(request: u32, limit_ns: u64) -> bool {
    let end = sys::clock_ns(libc::CLOCK_MONOTONIC).saturating_add(limit_ns);
    let before = MET.load(Ordering::Acquire);
    REQUESTS.fetch_or(request, Ordering::AcqRel);
    sys::wake(&REQUESTS);
    loop {
        if MET.load(Ordering::Acquire) != before {
            return true;
        }
        let left = end.saturating_sub(sys::clock_ns(libc::CLOCK_MONOTONIC));
        if left == 0 {
            return false;
        }
        sys::wait(&MET, before, left);
    }
}

/// Where the functions are while the thread starts.
static FUNCTIONS: AtomicUsize = AtomicUsize::new(0);

/// Starts the thread; `functions` stay for good. False if there can be none.
pub fn start(functions: &'static Functions) -> bool {
    type Create = unsafe extern "C" fn(*mut usize, *const c_void, Run, *mut c_void) -> i32;
    type Detach = unsafe extern "C" fn(usize) -> i32;
    type Run = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
    // Before glibc 2.34 they are in a library that the driver needs, but not we.
    let (create, detach) = (loader::own(c"pthread_create"), loader::own(c"pthread_detach"));
    if create.is_null() || detach.is_null() {
        return false;
    }
    FUNCTIONS.store(&raw const *functions as usize, Ordering::Release);
    let mut thread = 0;
    // It inherits the mask.
    let _held = sys::SignalsHeld::hold_all();
    // SAFETY: the C library's functions by their signatures.
    unsafe {
        let create = core::mem::transmute::<*mut c_void, Create>(create);
        let failed = create(&mut thread, core::ptr::null(), run, core::ptr::null_mut());
        if failed == 0 {
            core::mem::transmute::<*mut c_void, Detach>(detach)(thread);
        }
        failed == 0
    }
}

unsafe extern "C" fn run(_: *mut c_void) -> *mut c_void {
    sys::set_thread_name(c"umtui");
    let generation = process::generation();
    // SAFETY: what `start` has put there, and the calling thread's own state.
    let (functions, thread) =
        unsafe { (&*(FUNCTIONS.load(Ordering::Acquire) as *const Functions), &mut *arch::thread()) };
    // Whatever CUPTI calls in this thread goes past us.
    thread.entering = thread.entering.wrapping_add(WITH_CUPTI);
    enter::begin(thread);
    let mut writer = Writer::new(*functions);
    writer.read_clocks();
    let mut due = sys::clock_ns(libc::CLOCK_MONOTONIC).saturating_add(PERIOD_NS);
    while process::generation() == generation {
        let requests = REQUESTS.swap(0, Ordering::AcqRel);
        let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
        let asked = requests & !DATA != 0;
        if asked || now >= due {
            writer.read_clocks();
            // SAFETY: CUPTI's function; it may call us back with buffers.
            unsafe { (functions.flush_all)(if asked { FORCED } else { 0 }) };
            writer.drain(thread);
            writer.complete(thread);
            file::nudge(crate::clock::triple());
            due = now.saturating_add(PERIOD_NS);
        } else if requests != 0 {
            writer.drain(thread);
        }
        if requests & ASIDE != 0 {
            super::leave(functions);
            writer.drain(thread);
        }
        if asked {
            MET.fetch_add(1, Ordering::AcqRel);
            sys::wake(&MET);
        }
        if requests & (FINISH | ASIDE) != 0 {
            break;
        }
        sys::wait(&REQUESTS, 0, due.saturating_sub(sys::clock_ns(libc::CLOCK_MONOTONIC)));
    }
    thread.entering = thread.entering.wrapping_sub(WITH_CUPTI);
    core::ptr::null_mut()
}
