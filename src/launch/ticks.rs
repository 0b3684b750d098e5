//! The rate of the processor's tick counter, measured here so that the programs we start need not.
#![allow(unsafe_code, reason = "reading the tick counter and the clocks")]

/// Ticks a second, or `None` where the hook counts by another clock. Takes a few milliseconds.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[must_use]
pub fn per_second() -> Option<u64> {
    use std::time::{Duration, Instant};
    let read = || {
        let before = counter();
        let now = Instant::now();
        let after = counter();
        (before + (after - before) / 2, now, after - before)
    };
    // Of several readings, the one that was disturbed least.
    let closest = || (0..8).map(|_| read()).min_by_key(|reading| reading.2);
    let (first_ticks, first, _) = closest()?;
    std::thread::sleep(Duration::from_millis(20));
    let (last_ticks, last, _) = closest()?;
    let ns = last.duration_since(first).as_nanos();
    let ticks = u128::from(last_ticks.checked_sub(first_ticks)?);
    u64::try_from(ticks.checked_mul(1_000_000_000)?.checked_div(ns)?).ok()
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: reads a counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter; the barrier keeps the reading where it stands.
    unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags)) };
    ticks
}

/// Ticks a second.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[must_use]
pub fn per_second() -> Option<u64> {
    None
}
