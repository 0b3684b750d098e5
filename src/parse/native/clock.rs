//! Clock ticks to nanoseconds.

use umtui_wire::clock::{ClockTriple, Rate};

/// A clock reading, placed on the trace's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    ticks: u64,
    ns: u64,
    /// How much longer the ticks say that it was since the reading before, ns; zero unless the machine was suspended:
    /// its counter goes on then, and MONOTONIC stands.
    slept: u64,
}

/// What readings may be apart for other reasons than suspension, ns.
const APART: u64 = 1_000_000_000;

/// How a file's ticks become times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    rate: Rate,
    offset_ns: i64,
    /// The rate's factor: `ns = ticks * factor >> 32`.
    factor: u64,
    /// Spans below this many ticks can be multiplied in 64 bits.
    short: u64,
}

impl Clock {
    /// With this rate, and this much to add to the host's MONOTONIC time.
    #[must_use]
    pub const fn new(ticks_per_second: u64, offset_ns: i64) -> Self {
        let rate = Rate::new(ticks_per_second);
        let factor = rate.ns(1 << 32);
        // 2^31 * 2^33 is the most that fits; a clock of less than 500 MHz has a larger factor.
        let short = if factor < 1 << 33 { 1 << 31 } else { 0 };
        Self { rate, offset_ns, factor, short }
    }

    /// Places a reading.
    #[must_use]
    pub const fn reading(&self, triple: &ClockTriple) -> Reading {
        Reading { ticks: triple.ticks, ns: triple.monotonic_ns.saturating_add_signed(self.offset_ns), slept: 0 }
    }

    /// Places a reading that comes after another of the same thread.
    #[must_use]
    pub const fn reading_after(&self, before: Reading, triple: &ClockTriple) -> Reading {
        let reading = self.reading(triple);
        let slept = self.ns(before, triple.ticks).saturating_sub(reading.ns);
        Reading { slept: if slept > APART { slept } else { 0 }, ..reading }
    }

    /// Time of `ticks` by a reading; saturates.
    #[must_use]
    #[inline]
    pub const fn ns(&self, by: Reading, ticks: u64) -> u64 {
        if ticks >= by.ticks {
            by.ns.saturating_add(self.span(ticks - by.ticks))
        } else {
            by.ns.saturating_sub(by.awake(self.span(by.ticks - ticks)))
        }
    }

    /// What `ticks` from `start` on took, ns, by the reading after which they were written down.
    #[must_use]
    #[inline]
    pub const fn duration(&self, by: Reading, start: u64, ticks: u64) -> u64 {
        let span = self.span(ticks);
        if start >= by.ticks { span } else { by.awake(span) }
    }

    /// A span of `ticks`, ns.
    #[must_use]
    #[inline]
    pub const fn span(&self, ticks: u64) -> u64 {
        if ticks < self.short { (ticks * self.factor) >> 32 } else { self.rate.ns(ticks) }
    }

    /// Whether two readings agree to within a second.
    #[must_use]
    pub const fn agree(&self, one: Reading, other: Reading) -> bool {
        self.ns(one, other.ticks).abs_diff(other.ns) < APART
    }
}

impl Reading {
    /// A span before the reading without the suspension, if that lies in it: the reading is the first thing that a thread
    /// does after one, so only what was going on then is as long.
    const fn awake(&self, span: u64) -> u64 {
        if span >= self.slept { span - self.slept } else { span }
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
    fn short_and_long_spans_agree_with_the_rate() {
        for hz in [0, 1, 1000, 499_999_999, 500_000_001, 1_000_000_000, 2_100_000_001, u64::MAX] {
            let (clock, rate) = (Clock::new(hz, 0), Rate::new(hz));
            for ticks in [0, 1, 77, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, u64::MAX] {
                assert_eq!(clock.span(ticks), rate.ns(ticks), "{hz} {ticks}");
            }
        }
    }

    #[test]
    fn ticks_before_and_after_a_reading() {
        let clock = Clock::new(2_000_000_000, 0);
        let by = clock.reading(&ClockTriple { ticks: 1000, monotonic_ns: 70_000, realtime_ns: 0 });
        assert_eq!(clock.ns(by, 1000), 70_000);
        assert_eq!(clock.ns(by, 1200), 70_100);
        assert_eq!(clock.ns(by, 800), 69_900);
        assert_eq!(clock.ns(by, u64::MAX), clock.ns(by, u64::MAX - 1));
    }

    #[test]
    fn a_suspension_is_left_out() {
        let clock = Clock::new(1_000_000_000, 0);
        let triple = |ticks, monotonic_ns| ClockTriple { ticks, monotonic_ns, realtime_ns: 0 };
        let hour = 3_600_000_000_000;
        let before = clock.reading(&triple(1000, 1000));
        let after = clock.reading_after(before, &triple(hour + 9000, 9000));
        // Begun before it and ended after it; begun after it; later than the reading.
        assert_eq!((clock.ns(after, 2000), clock.duration(after, 2000, hour + 6500)), (2000, 6500));
        assert_eq!((clock.ns(after, hour + 8000), clock.duration(after, hour + 8000, 500)), (8000, 500));
        assert_eq!((clock.ns(after, hour + 9500), clock.duration(after, hour + 9500, hour)), (9500, hour));
        // Readings that are off by less are as they are.
        let apart = clock.reading_after(before, &triple(5000, 4000));
        assert_eq!((clock.ns(apart, 3000), clock.duration(apart, 3000, 10)), (2000, 10));
    }
}
