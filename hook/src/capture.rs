//! Recording only a part of the run: between `cudaProfilerStart` and `cudaProfilerStop`, while a range is open, or from
//! one signal to the next.
//!
//! While nothing is to be recorded the trampoline that records nothing is in force. Calls that are open when recording
//! stops are recorded to their ends.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use umtui_wire::table::FUNCTIONS;

use crate::{clock, file, kept, process, text};

const ALL: u8 = 0;
const PROFILER: u8 = 1;
const RANGE: u8 = 2;
const SIGNAL: u8 = 3;

#[unsafe(link_section = ".data.small")]
static MODE: AtomicU8 = AtomicU8::new(ALL);
#[unsafe(link_section = ".data.small")]
static ON: AtomicBool = AtomicBool::new(true);

/// The newest moments at which recording paused or went on: ticks << 1, and whether it went on. Zero once it was taken.
static MOMENTS: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];
/// How many there were.
#[unsafe(link_section = ".data.small")]
static MOMENTS_NOTED: AtomicU32 = AtomicU32::new(0);

/// In signal handlers too.
fn note(on: bool) {
    let number = MOMENTS_NOTED.fetch_add(1, Ordering::AcqRel) as usize;
    if let Some(place) = MOMENTS.get(number & MOMENTS.len().wrapping_sub(1)) {
        place.store(clock::now().wrapping_shl(1) | u64::from(on), Ordering::Release);
    }
}

/// Number of the next moment at which recording pauses or goes on.
pub fn next_moment() -> u32 {
    MOMENTS_NOTED.load(Ordering::Acquire)
}

/// The moment with this number or, where others have taken its place, the first that is still there: ticks, and whether
/// recording went on. Each comes once; only one thread may ask. `None`: it has not come yet.
pub fn moment(number: &mut u32) -> Option<(u64, bool)> {
    let next = next_moment();
    let behind = next.wrapping_sub(*number);
    if behind == 0 {
        return None;
    }
    let kept = MOMENTS.len() as u32;
    if behind > kept {
        *number = next.wrapping_sub(kept);
    }
    let place = MOMENTS.get(*number as usize & MOMENTS.len().wrapping_sub(1))?;
    // Zero: whoever notes it is at it.
    let found = place.swap(0, Ordering::AcqRel);
    if found == 0 {
        return None;
    }
    *number = number.wrapping_add(1);
    Some((found >> 1, found & 1 != 0))
}

/// Whether recording may have begun, or may begin, later than the program uses the GPU.
pub fn may_be_late() -> bool {
    MODE.load(Ordering::Relaxed) != ALL
}

/// Takes over what the variable asks for: `profiler`, `nvtx:RANGE`, `nvtx:RANGE@DOMAIN` or `signal:NUMBER`. At load: a
/// signal may come before the first CUDA call.
pub fn prepare() {
    let Some(wish) = kept::find(kept::current(), c"UMTUI_CAPTURE=") else { return };
    let mode = if wish == b"profiler" {
        PROFILER
    } else if let Some(range) = wish.strip_prefix(b"nvtx:") {
        crate::nvtx::wait_for(range);
        RANGE
    } else if let Some(number) = wish.strip_prefix(b"signal:").and_then(text::number) {
        if !take_signal(number as c_int) {
            return;
        }
        SIGNAL
    } else {
        return;
    };
    MODE.store(mode, Ordering::Relaxed);
    ON.store(false, Ordering::Relaxed);
}

/// Takes a signal over, unless the program is known to use it already.
fn take_signal(number: c_int) -> bool {
    // SAFETY: the structures are ours; the handler only uses atomics.
    unsafe {
        let mut before = core::mem::MaybeUninit::<libc::sigaction>::zeroed();
        if libc::sigaction(number, core::ptr::null(), before.as_mut_ptr()) != 0
            || before.assume_init().sa_sigaction != libc::SIG_DFL
        {
            return false;
        }
        let mut action = core::mem::MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        let handler: extern "C" fn(c_int) = signalled;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(number, &action, core::ptr::null_mut()) == 0
    }
}

extern "C" fn signalled(_: c_int) {
    let errno = crate::sys::Errno::save();
    note(!ON.fetch_xor(true, Ordering::SeqCst));
    settle();
    drop(errno);
}

/// Whether calls are to be recorded now.
pub fn is_on() -> bool {
    ON.load(Ordering::SeqCst)
}

/// From here on calls are recorded, or are not.
pub fn set(on: bool) {
    if ON.swap(on, Ordering::SeqCst) != on {
        note(on);
        settle();
    }
}

/// If ranges were asked for: recording is on exactly while `wanted` says so. Whoever changes what it looks at calls this
/// after each change.
pub fn follow(wanted: impl Fn() -> bool) {
    if MODE.load(Ordering::Relaxed) != RANGE {
        return;
    }
    // Of two threads the one that was first here may be the last to set: it looks again.
    loop {
        let on = wanted();
        set(on);
        if wanted() == on {
            return;
        }
    }
}

/// Makes what is done what is wanted. Other threads, and handlers in this one, may change that meanwhile.
pub fn settle() {
    loop {
        let on = is_on();
        process::recording_wanted(on);
        file::paused(!on);
        if is_on() == on {
            return;
        }
    }
}

/// A function that controls profilers is about to be called, or has been: `cudaProfilerStart`, `cuProfilerStop` and
/// the like.
pub fn controlled(api: u16, called: bool) {
    if MODE.load(Ordering::Relaxed) != PROFILER {
        return;
    }
    let name = FUNCTIONS.get(usize::from(api)).map_or("", |function| function.name);
    match (name.ends_with("Start"), called) {
        (true, false) => set(true),
        (false, true) if name.ends_with("Stop") => set(false),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard};

    /// Both tests make moments, and there is one row of them in a process.
    fn alone() -> MutexGuard<'static, ()> {
        static ONE: Mutex<()> = Mutex::new(());
        ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[test]
    fn moments_come_once_and_the_newest_stay() {
        let _alone = alone();
        let mut number = next_moment();
        assert_eq!(moment(&mut number), None);
        note(false);
        note(true);
        assert_eq!(moment(&mut number).map(|(_, on)| on), Some(false));
        assert_eq!(moment(&mut number).map(|(_, on)| on), Some(true));
        assert_eq!(moment(&mut number), None);
        for count in 0..1000u32 {
            note(count & 1 != 0);
        }
        let mut last = 0;
        for _ in 0..MOMENTS.len() {
            let found = moment(&mut number);
            assert!(found.is_some_and(|(ticks, _)| ticks >= last));
            last = found.map_or(0, |found| found.0);
        }
        assert_eq!(moment(&mut number), None);
    }

    #[test]
    fn a_range_that_opens_while_another_closes_keeps_recording_on() {
        let _alone = alone();
        // The last one closes, and before that is acted on another opens, whose thread finds recording on.
        let asked = AtomicU8::new(0);
        MODE.store(RANGE, Ordering::Relaxed);
        follow(|| asked.fetch_add(1, Ordering::SeqCst) > 0);
        assert!(is_on());
        follow(|| false);
        assert!(!is_on());
        follow(|| true);
        assert!(is_on());
        MODE.store(ALL, Ordering::Relaxed);
        follow(|| false);
        assert!(is_on(), "where no range was asked for");
    }
}
