//! Locks and waiting on bare futexes.
//!
//! `std`'s locks would do, but three things rule them out here: a fork must be able to take and release them all, the
//! residency lock is taken inside a SIGSEGV handler, and a thread that waits for a stream must hold nothing, so that a
//! signal handler may `longjmp` out of the wait.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

/// Waits until `word` no longer holds `seen`, a wake-up comes, or `timeout_ns` have passed.
pub fn futex_wait(word: &AtomicU32, seen: u32, timeout_ns: Option<u64>) {
    let timeout = timeout_ns.map(|ns| libc::timespec {
        tv_sec: libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word and the timeout live for the whole call; FUTEX_WAIT only reads them.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, seen, timeout);
    }
}

/// Wakes up to `count` waiters of `word`.
pub fn futex_wake(word: &AtomicU32, count: i32) {
    // SAFETY: FUTEX_WAKE uses the address only as a key.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, count);
    }
}

/// A mutual-exclusion word: 0 free, 1 held, 2 held with waiters.
pub struct RawLock(AtomicU32);

impl RawLock {
    /// A free lock.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Takes the lock, sleeping while another thread has it.
    pub fn acquire(&self) {
        if self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
        for _ in 0..64 {
            std::hint::spin_loop();
            if self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return;
            }
        }
        while self.0.swap(2, Ordering::Acquire) != 0 {
            futex_wait(&self.0, 2, None);
        }
    }

    /// Gives the lock back.
    pub fn release(&self) {
        if self.0.swap(0, Ordering::Release) == 2 {
            futex_wake(&self.0, 1);
        }
    }
}

/// A value behind a [`RawLock`]. Never poisoned.
pub struct Lock<T> {
    raw: RawLock,
    value: UnsafeCell<T>,
}

// SAFETY: the raw lock gives one thread at a time access to the value.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self { raw: RawLock::new(), value: UnsafeCell::new(value) }
    }

    /// Takes the lock.
    pub fn lock(&self) -> Guard<'_, T> {
        self.raw.acquire();
        Guard(self)
    }

    /// The bare lock, for the fork handlers.
    pub fn raw(&self) -> &RawLock {
        &self.raw
    }
}

/// A held [`Lock`].
pub struct Guard<'a, T>(&'a Lock<T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard's existence means that the lock is held by this thread.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.raw.release();
    }
}

/// Blocks every asynchronous signal of this thread while it lives, so that no handler of the program can run (and touch
/// managed memory) while this thread holds the residency lock.
pub struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    /// Blocks them.
    pub fn new() -> Self {
        // SAFETY: plain signal-set calls on local memory; all-zero is a valid sigset_t to overwrite.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            let mut old: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            // Synchronous signals stay: blocking them would turn a bug into a silent kill.
            for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
                libc::sigdelset(&raw mut all, signal);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
            Self(old)
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: restores the mask read in `new`.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut());
        }
    }
}

/// This thread's `errno`.
pub fn errno() -> i32 {
    // SAFETY: the address is valid for the thread's lifetime.
    unsafe { *libc::__errno_location() }
}

/// Sets this thread's `errno`.
pub fn set_errno(value: i32) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value }
}
