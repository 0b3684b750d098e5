//! The clock of the trace: the processor's tick counter where the kernel itself keeps time by it, else
//! `CLOCK_MONOTONIC`.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use umtui_wire::clock::{CLOCK_MONOTONIC, ClockTriple, Rate};

use crate::{arch, sys};

/// How often a thread that makes calls writes down a fresh clock reading, ns.
const REFRESH_NS: u64 = 50_000_000;
/// How long the tick rate is measured when the recorder has not handed one over, ns.
const CALIBRATION_NS: u64 = 2_000_000;

/// Whether the trampoline's own tick readings are the trace's clock.
pub static BY_TICKS: AtomicBool = AtomicBool::new(false);
#[unsafe(link_section = ".data.small")]
static REFRESH_TICKS: AtomicU64 = AtomicU64::new(REFRESH_NS);
/// The rate of the tick counter once it is known, and its error: a child after fork need not measure again.
#[unsafe(link_section = ".data.small")]
static RATE: AtomicU64 = AtomicU64::new(0);
#[unsafe(link_section = ".data.small")]
static RATE_ERROR: AtomicU32 = AtomicU32::new(0);

/// Which clock is asked for.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// The quickest that can be trusted.
    Best,
    /// The tick counter.
    Ticks,
    /// `CLOCK_MONOTONIC`.
    Monotonic,
}

/// What the header says of the clock.
pub struct Clock {
    /// `CLOCK_*`.
    pub kind: u32,
    /// Ticks a second.
    pub ticks_per_second: u64,
    /// Half-width of the rate's error, parts per billion.
    pub error_ppb: u32,
}

/// Now, in ticks.
pub extern "C" fn now() -> u64 {
    if BY_TICKS.load(Ordering::Relaxed) { arch::ticks() } else { monotonic() }
}

/// See [`BY_TICKS`].
pub fn by_ticks() -> bool {
    BY_TICKS.load(Ordering::Relaxed)
}

/// How ticks become nanoseconds.
pub fn rate() -> Rate {
    Rate::new(if by_ticks() { RATE.load(Ordering::Relaxed) } else { 0 })
}

/// Ticks between two clock readings of a thread.
pub fn refresh_ticks() -> u64 {
    REFRESH_TICKS.load(Ordering::Relaxed)
}

fn monotonic() -> u64 {
    sys::clock_ns(libc::CLOCK_MONOTONIC)
}

/// The three clocks read close together: of a few tries, the narrowest.
pub fn triple() -> ClockTriple {
    let mut best = ClockTriple::default();
    let mut width = u64::MAX;
    for _ in 0..4 {
        let before = now();
        let monotonic_ns = monotonic();
        let after = now();
        let tried = after.wrapping_sub(before);
        if tried < width {
            width = tried;
            best.monotonic_ns = monotonic_ns;
            best.ticks = before.wrapping_add(tried / 2);
        }
    }
    let apart = monotonic().wrapping_sub(best.monotonic_ns);
    best.realtime_ns = sys::clock_ns(libc::CLOCK_REALTIME).wrapping_sub(apart);
    best
}

/// Chooses the clock, with the rate that the recorder measured if there is one.
///
/// `wanted` overrules the choice: tools that emulate the processor hide that its counter is invariant.
pub fn choose(handed: Option<u64>, wanted: Wanted) -> Clock {
    let known = RATE.load(Ordering::Relaxed);
    if known != 0 {
        let error_ppb = RATE_ERROR.load(Ordering::Relaxed);
        return Clock { kind: arch::TICK_CLOCK, ticks_per_second: known, error_ppb };
    }
    let by_ticks = match wanted {
        Wanted::Best => arch::ticks_are_invariant() && kernel_uses_ticks(),
        Wanted::Ticks => true,
        Wanted::Monotonic => false,
    };
    if !by_ticks {
        return Clock { kind: CLOCK_MONOTONIC, ticks_per_second: 1_000_000_000, error_ppb: 0 };
    }
    BY_TICKS.store(true, Ordering::Relaxed);
    let (ticks_per_second, error_ppb) = match handed {
        // Measured over 20 ms, to a tick at each end.
        Some(rate) => (rate, tick_ns(rate).wrapping_mul(100).wrapping_add(2_000).min(u64::from(u32::MAX)) as u32),
        None => measure(),
    };
    let refresh = (u128::from(ticks_per_second).wrapping_mul(u128::from(REFRESH_NS)) / 1_000_000_000) as u64;
    REFRESH_TICKS.store(refresh, Ordering::Relaxed);
    RATE_ERROR.store(error_ppb, Ordering::Relaxed);
    RATE.store(ticks_per_second, Ordering::Relaxed);
    Clock { kind: arch::TICK_CLOCK, ticks_per_second, error_ppb }
}

fn measure() -> (u64, u32) {
    let first = triple();
    let mut last = triple();
    while last.monotonic_ns.wrapping_sub(first.monotonic_ns) < CALIBRATION_NS {
        last = triple();
    }
    let ns = last.monotonic_ns.wrapping_sub(first.monotonic_ns).max(1);
    let ticks = last.ticks.wrapping_sub(first.ticks);
    let rate = u128::from(ticks).wrapping_mul(1_000_000_000).checked_div(u128::from(ns)).unwrap_or(0) as u64;
    // Each end is off by some 30 ns, and by a tick, which may be as long.
    let off = tick_ns(rate).wrapping_add(30).wrapping_mul(2_000_000_000);
    (rate, off.checked_div(ns).unwrap_or(0).min(u64::from(u32::MAX)) as u32)
}

/// How long a tick is, ns; zero for less than one.
fn tick_ns(rate: u64) -> u64 {
    1_000_000_000u64.checked_div(rate).unwrap_or(0)
}

fn kernel_uses_ticks() -> bool {
    let fd = sys::open(c"/sys/devices/system/clocksource/clocksource0/current_clocksource", libc::O_RDONLY, 0);
    if sys::failed(fd) {
        return false;
    }
    let mut name = [0u8; 32];
    sys::read(fd as i32, &mut name);
    sys::close(fd as i32);
    name.starts_with(arch::TICK_CLOCKSOURCE)
}
