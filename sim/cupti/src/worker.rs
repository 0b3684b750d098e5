//! The thread that writes records into buffers and hands full ones over.

use crate::buffers;
use crate::sync::{SignalsBlocked, futex_wait, futex_wake};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How long it sleeps at most.
const NAP_NS: u64 = 50_000_000;

static WAKES: AtomicU32 = AtomicU32::new(0);
static ASLEEP: AtomicBool = AtomicBool::new(false);
static RUNS: AtomicBool = AtomicBool::new(false);

/// Whether there is one.
pub fn runs() -> bool {
    RUNS.load(Ordering::Relaxed)
}

/// Wakes it. Async-signal-safe.
pub fn wake() {
    WAKES.fetch_add(1, Ordering::Release);
    if ASLEEP.load(Ordering::SeqCst) {
        futex_wake(&WAKES, 1);
    }
}

/// Starts it, once. Without it buffers are filled by flushes alone.
pub fn start() {
    if RUNS.swap(true, Ordering::AcqRel) {
        return;
    }
    // The thread inherits the mask: the program's signals are never delivered to it.
    let _signals = SignalsBlocked::new();
    let spawned = std::thread::Builder::new().name("sim cupti".to_owned()).spawn(|| {
        loop {
            let seen = WAKES.load(Ordering::Acquire);
            buffers::drain();
            ASLEEP.store(true, Ordering::SeqCst);
            futex_wait(&WAKES, seen, Some(NAP_NS));
            ASLEEP.store(false, Ordering::SeqCst);
        }
    });
    if spawned.is_err() {
        RUNS.store(false, Ordering::Release);
    }
}
