//! The one thread of ours: every quarter of a second it has CUPTI hand over what is complete, and writes it down.
//!
//! It takes no signals and calls nothing of the program's. Others only ever wait for it with a limit.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::library::Functions;
use super::writer::Writer;
use crate::thread::{Thread, WITH_CUPTI};
use crate::{arch, capture, enter, file, process, spawn, sys};

/// Between two flushes, ns. (CUPTI's own flush period hands over full buffers only.)
const PERIOD_NS: u64 = 250_000_000;
/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`: also buffers with records that are not complete.
const FORCED: u32 = 1;
/// Bytes of the thread's stack: what the program has chosen for its own threads may be too little for CUPTI.
const STACK_BYTES: usize = 1 << 20;

/// A buffer is full.
pub const DATA: u32 = 1;
/// Flush now.
pub const FLUSH: u32 = 2;
/// Flush, then never call CUPTI again: the process ends.
pub const FINISH: u32 = 4;
/// Flush, then leave CUPTI to somebody else.
pub const ASIDE: u32 = 8;
/// Leave CUPTI, of which nothing has come yet.
pub const GIVE_UP: u32 = 16;

/// What is asked of the thread; it sleeps on this word.
#[unsafe(link_section = ".data.small")]
static REQUESTS: AtomicU32 = AtomicU32::new(0);
/// How often something was asked that is waited for.
#[unsafe(link_section = ".data.small")]
static ASKED: AtomicU32 = AtomicU32::new(0);
/// Up to which of these all is done; who asks sleeps on this word.
#[unsafe(link_section = ".data.small")]
static MET: AtomicU32 = AtomicU32::new(0);
/// Nonzero while there is the thread.
#[unsafe(link_section = ".data.small")]
static RUNS: AtomicU32 = AtomicU32::new(0);
#[unsafe(link_section = ".data.small")]
static LIFE: spawn::Life = spawn::Life::new();

/// Wakes the thread for data that is there.
pub fn wake() {
    if REQUESTS.fetch_or(DATA, Ordering::AcqRel) == 0 {
        sys::wake(&REQUESTS);
    }
}

/// Asks for something and waits until it is done, but no longer than `limit_ns`; whether it is done.
pub fn ask(request: u32, limit_ns: u64) -> bool {
    REQUESTS.fetch_or(request, Ordering::AcqRel);
    let number = ASKED.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    sys::wake(&REQUESTS);
    wait_until(limit_ns, |met| (met.wrapping_sub(number) as i32) >= 0)
}

/// Waits until the thread is no more, but no longer than `limit_ns`.
pub fn wait_for_end(limit_ns: u64) {
    LIFE.wait_for_end(limit_ns);
}

/// Waits until `done` says so of [`MET`]; false if the thread ends before that, or does not come to it in time.
fn wait_until(limit_ns: u64, done: impl Fn(u32) -> bool) -> bool {
    let end = sys::clock_ns(libc::CLOCK_MONOTONIC).saturating_add(limit_ns);
    loop {
        // First, since it is changed last.
        let runs = RUNS.load(Ordering::Acquire) != 0;
        let met = MET.load(Ordering::Acquire);
        if done(met) {
            return true;
        }
        let left = end.saturating_sub(sys::clock_ns(libc::CLOCK_MONOTONIC));
        if left == 0 || !runs {
            return false;
        }
        sys::wait(&MET, met, left);
    }
}

/// In a child after fork: the thread is the parent's.
pub fn after_fork() {
    RUNS.store(0, Ordering::Release);
    LIFE.forget();
    REQUESTS.store(0, Ordering::Release);
}

/// Where the functions are while the thread starts.
#[unsafe(link_section = ".data.small")]
static FUNCTIONS: AtomicUsize = AtomicUsize::new(0);
/// The first pause that it has to know of: it may come before the thread has got a processor.
#[unsafe(link_section = ".data.small")]
static FIRST_MOMENT: AtomicU32 = AtomicU32::new(0);

/// Starts the thread; `functions` stay for good. False if there can be none.
pub fn start(functions: &'static Functions) -> bool {
    FIRST_MOMENT.store(capture::next_moment(), Ordering::Release);
    FUNCTIONS.store(&raw const *functions as usize, Ordering::Release);
    // At once, so that whoever asks it for something waits until it has begun.
    RUNS.store(1, Ordering::Release);
    LIFE.starts();
    let started = spawn::detached(run, STACK_BYTES);
    if !started {
        LIFE.forget();
        RUNS.store(0, Ordering::Release);
    }
    started
}

unsafe extern "C" fn run(_: *mut c_void) -> *mut c_void {
    LIFE.begins();
    sys::set_thread_name(c"umtui");
    // SAFETY: what `start` has put there, and the calling thread's own state.
    let (functions, thread) =
        unsafe { (&*(FUNCTIONS.load(Ordering::Acquire) as *const Functions), &mut *arch::thread()) };
    // Whatever CUPTI calls in this thread goes past us.
    thread.entering = thread.entering.wrapping_add(WITH_CUPTI);
    enter::begin(thread);
    collect(functions, thread);
    thread.entering = thread.entering.wrapping_sub(WITH_CUPTI);
    RUNS.store(0, Ordering::Release);
    sys::wake(&MET);
    core::ptr::null_mut()
}

fn collect(functions: &Functions, thread: &mut Thread) {
    let generation = process::generation();
    let mut writer = Writer::new(*functions, FIRST_MOMENT.load(Ordering::Acquire));
    writer.read_clocks();
    let mut due = sys::clock_ns(libc::CLOCK_MONOTONIC).saturating_add(PERIOD_NS);
    while process::generation() == generation {
        // In this order: who has asked by then has said before what for.
        let asked_for = ASKED.load(Ordering::Acquire);
        let requests = REQUESTS.swap(0, Ordering::AcqRel);
        let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
        let asked = requests & !DATA != 0;
        if asked || now >= due {
            if !thread.has_chunk() && file::is_open() {
                // What was in the way may be gone.
                enter::begin(thread);
            }
            round(functions, &mut writer, thread, asked);
            due = now.saturating_add(PERIOD_NS);
        } else if requests != 0 {
            writer.drain(thread);
        }
        if requests & ASIDE != 0 {
            super::leave(functions);
        } else if requests & GIVE_UP != 0 {
            super::leave_quietly(functions);
        }
        if requests & (ASIDE | GIVE_UP) != 0 {
            // Whoever comes after us would be handed what buffers of ours are still there.
            round(functions, &mut writer, thread, true);
        }
        if asked {
            MET.store(asked_for, Ordering::Release);
            sys::wake(&MET);
        }
        if requests & (FINISH | ASIDE | GIVE_UP) != 0 {
            break;
        }
        sys::wait(&REQUESTS, 0, due.saturating_sub(sys::clock_ns(libc::CLOCK_MONOTONIC)));
    }
}

/// Has CUPTI hand over what it has, and writes it down.
fn round(functions: &Functions, writer: &mut Writer, thread: &mut Thread, forced: bool) {
    writer.read_clocks();
    // SAFETY: CUPTI's function; it may call us back with buffers.
    unsafe { (functions.flush_all)(if forced { FORCED } else { 0 }) };
    writer.drain(thread);
    writer.complete(thread);
    file::nudge(crate::clock::triple());
}
