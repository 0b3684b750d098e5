//! The lock of the hook: a guest must not wait for ever.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{arch, sys};

/// A lock that is only ever tried for: its holder may be the very thread that a signal has interrupted.
pub struct TryLock(AtomicUsize);

/// Unlocks when it goes.
pub struct Held<'a>(&'a TryLock);

impl TryLock {
    /// An open lock.
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Tries for some milliseconds at most; at once gives up if the calling thread itself holds it.
    pub fn try_for_a_while(&self) -> Option<Held<'_>> {
        let me = arch::thread() as usize;
        for round in 0..1_000u32 {
            match self.0.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(Held(self)),
                Err(holder) if holder == me => return None,
                Err(_) if round < 500 => core::hint::spin_loop(),
                Err(_) if round < 800 => sys::yield_now(),
                // Whoever holds it is in a system call, or has lost the processor.
                Err(_) => sys::sleep_ns(100_000),
            }
        }
        None
    }

    /// Tries once.
    pub fn try_at_once(&self) -> Option<Held<'_>> {
        let me = arch::thread() as usize;
        self.0.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).ok().map(|_| Held(self))
    }

    /// Opens it if the calling thread holds it: what it was held for has been left by a jump.
    pub fn let_go(&self) {
        let me = arch::thread() as usize;
        let _ = self.0.compare_exchange(me, 0, Ordering::Release, Ordering::Relaxed);
    }

    /// Opens it whoever holds it.
    pub fn reset(&self) {
        // To look costs a child of fork no page of its own.
        if self.0.load(Ordering::Relaxed) != 0 {
            self.0.store(0, Ordering::Release);
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.reset();
    }
}
