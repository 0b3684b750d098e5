//! What is known of a set of calls: how many, how long, how they ended.

use super::histogram::Histogram;

/// Sums over a set of calls. Adding in any order gives the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Counts and times.
    pub sums: Sums,
    /// Durations by size.
    pub histogram: Histogram,
}

/// The part of [`Stats`] of which a later state less an earlier one is the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Calls that have ended, or of which only the beginning is recorded.
    pub count: u64,
    /// Calls that returned an error.
    pub failed: u64,
    /// Calls that have begun and not ended.
    pub running: u64,
    /// Durations, ns. A running call adds nothing.
    pub total_ns: u64,
    /// Durations less those of nested calls, ns.
    pub self_ns: u64,
    /// Shortest duration, ns; `u64::MAX` if none is known.
    pub min_ns: u64,
    /// Longest duration, ns; 0 if none is known.
    pub max_ns: u64,
}

impl Default for Sums {
    fn default() -> Self {
        Self::NONE
    }
}

impl Sums {
    /// Those of nothing.
    pub const NONE: Self =
        Self { count: 0, failed: 0, running: 0, total_ns: 0, self_ns: 0, min_ns: u64::MAX, max_ns: 0 };

    /// Whether there is anything to show.
    #[must_use]
    pub fn any(&self) -> bool {
        self.count > 0 || self.running > 0
    }

    /// Shortest and longest duration, ns; `None` if no duration is known.
    #[must_use]
    pub fn extremes(&self) -> Option<(u64, u64)> {
        (self.min_ns <= self.max_ns).then_some((self.min_ns, self.max_ns))
    }

    /// Mean duration, ns, rounded down; `None` if no duration is known.
    #[must_use]
    pub fn average(&self) -> Option<u64> {
        self.extremes().and_then(|_| self.total_ns.checked_div(self.count))
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.failed = self.failed.saturating_add(other.failed);
        self.running = self.running.saturating_add(other.running);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// What has come since `before`, an earlier state of the same sums; smallest and largest are those of now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            count: self.count.saturating_sub(before.count),
            failed: self.failed.saturating_sub(before.failed),
            running: self.running.saturating_sub(before.running),
            total_ns: self.total_ns.saturating_sub(before.total_ns),
            self_ns: self.self_ns.saturating_sub(before.self_ns),
            min_ns: self.min_ns,
            max_ns: self.max_ns,
        }
    }
}

impl Stats {
    /// Counts a call; `duration_ns` is `None` if its end was not seen.
    #[inline]
    pub fn add_call(&mut self, duration_ns: Option<u64>, failed: bool) {
        let sums = &mut self.sums;
        sums.count += 1;
        sums.failed += u64::from(failed);
        if let Some(ns) = duration_ns {
            sums.total_ns = sums.total_ns.saturating_add(ns);
            sums.min_ns = sums.min_ns.min(ns);
            sums.max_ns = sums.max_ns.max(ns);
            self.histogram.add(ns);
        }
    }

    /// Adds `other`.
    pub fn merge(&mut self, other: &Self) {
        self.sums.add(&other.sums);
        self.histogram.merge(&other.histogram);
    }

    /// A percentile, ns, within the histogram's error and never outside what was measured.
    #[must_use]
    pub fn quantile(&self, percent: u8) -> Option<u64> {
        let (min, max) = self.sums.extremes()?;
        self.histogram.quantile(percent).map(|ns| ns.clamp(min, max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_an_end_count_but_have_no_duration() {
        let mut stats = Stats::default();
        stats.add_call(None, false);
        assert_eq!((stats.sums.count, stats.sums.extremes(), stats.quantile(50)), (1, None, None));
        stats.add_call(Some(0), true);
        assert_eq!((stats.sums.count, stats.sums.failed, stats.sums.extremes()), (2, 1, Some((0, 0))));
    }

    #[test]
    fn percentiles_of_one_call_are_that_call() {
        let mut stats = Stats::default();
        stats.add_call(Some(1_000_003), false);
        assert_eq!((stats.quantile(50), stats.quantile(99)), (Some(1_000_003), Some(1_000_003)));
    }
}
