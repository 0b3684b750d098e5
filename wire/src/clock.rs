//! Which clock a trace counts in, and how its ticks become nanoseconds.

/// Ticks are `CLOCK_MONOTONIC` nanoseconds.
pub const CLOCK_MONOTONIC: u32 = 1;
/// Ticks are x86 time-stamp counts, used where the counter is invariant and the kernel itself keeps time by it.
pub const CLOCK_TSC: u32 = 2;
/// Ticks are Arm generic-timer counts (`CNTVCT_EL0`).
pub const CLOCK_CNTVCT: u32 = 3;

/// One moment read from three clocks, the ticks in the middle of the two others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct ClockTriple {
    /// The trace's own clock.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`, ns.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`, ns since 1970.
    pub realtime_ns: u64,
}

/// A fixed rate from ticks to nanoseconds: `ns = ticks * mult >> 32`.
///
/// One rate holds for a whole file, so that a duration shown while the program runs is the duration
/// shown after it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    mult: u64,
}

impl Rate {
    /// The rate of a clock with this many ticks a second; zero counts as one tick a nanosecond.
    #[must_use]
    pub const fn new(ticks_per_second: u64) -> Self {
        if ticks_per_second == 0 {
            return Self { mult: 1 << 32 };
        }
        let mult = (1_000_000_000u128 << 32) / ticks_per_second as u128;
        // A clock slower than one tick in four seconds is nonsense from a damaged file.
        Self { mult: if mult > u64::MAX as u128 { 1 << 32 } else { mult as u64 } }
    }

    /// Nanoseconds in `ticks`, rounded down; saturates.
    #[must_use]
    pub const fn ns(self, ticks: u64) -> u64 {
        let ns = (ticks as u128 * self.mult as u128) >> 32;
        if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;

    #[test]
    fn nanosecond_clocks_pass_through() {
        assert_eq!(Rate::new(1_000_000_000).ns(123_456_789), 123_456_789);
        assert_eq!(Rate::new(0).ns(77), 77);
    }

    #[test]
    fn a_day_of_tsc_stays_exact_to_the_microsecond() {
        let hz = 2_100_000_000;
        let day = Rate::new(hz).ns(hz * 86_400);
        assert!((86_400_000_000_000 - day) < 50_000, "{day}");
        assert_eq!(Rate::new(1).ns(u64::MAX), u64::MAX);
    }
}
