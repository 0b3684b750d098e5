//! Clock ticks to nanoseconds.

use umtui_wire::clock::{ClockTriple, Rate};

/// A clock reading, placed on the trace's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    ticks: u64,
    ns: u64,
}

/// How a file's ticks become times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    rate: Rate,
    offset_ns: i64,
}

impl Clock {
    /// With this rate, and this much to add to the host's MONOTONIC time.
    #[must_use]
    pub const fn new(ticks_per_second: u64, offset_ns: i64) -> Self {
        Self { rate: Rate::new(ticks_per_second), offset_ns }
    }

    /// Places a reading.
    #[must_use]
    pub const fn reading(&self, triple: &ClockTriple) -> Reading {
        Reading { ticks: triple.ticks, ns: triple.monotonic_ns.saturating_add_signed(self.offset_ns) }
    }

    /// Time of `ticks` by a reading; saturates.
    #[must_use]
    #[inline]
    pub const fn ns(&self, by: Reading, ticks: u64) -> u64 {
        if ticks >= by.ticks {
            by.ns.saturating_add(self.rate.ns(ticks - by.ticks))
        } else {
            by.ns.saturating_sub(self.rate.ns(by.ticks - ticks))
        }
    }

    /// A span of `ticks`, ns.
    #[must_use]
    #[inline]
    pub const fn span(&self, ticks: u64) -> u64 {
        self.rate.ns(ticks)
    }

    /// Whether two readings agree to within a second.
    #[must_use]
    pub const fn agree(&self, one: Reading, other: Reading) -> bool {
        self.ns(one, other.ticks).abs_diff(other.ns) < 1_000_000_000
    }
}

/// What to add to a host's MONOTONIC time to get the axis of another whose `realtime - monotonic` is `axis`, ns.
#[must_use]
pub fn offset_ns(start: &ClockTriple, axis: i128) -> i64 {
    let own = i128::from(start.realtime_ns) - i128::from(start.monotonic_ns);
    i64::try_from(own - axis).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_before_and_after_a_reading() {
        let clock = Clock::new(2_000_000_000, 0);
        let by = clock.reading(&ClockTriple { ticks: 1000, monotonic_ns: 70_000, realtime_ns: 0 });
        assert_eq!(clock.ns(by, 1000), 70_000);
        assert_eq!(clock.ns(by, 1200), 70_100);
        assert_eq!(clock.ns(by, 800), 69_900);
        assert_eq!(clock.ns(by, u64::MAX), clock.ns(by, u64::MAX - 1));
    }
}
