//! What a user calls slow, and what a storm: rows that are get a mark.

/// The mark of rows that are slow, or a storm.
pub const MARK: &str = "!";

/// Parts of the names of functions that wait for the GPU, or ask whether it has finished; as in the filter sync-storms.
const WAITS: [&str; 5] = ["Synchronize", "StreamWaitEvent", "StreamQuery", "EventQuery", "WaitValue"];

const SECOND: u64 = 1_000_000_000;

/// From where on something is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// What takes so long is slow, ns.
    pub slow_ns: u64,
    /// Calls a second of a function that waits or asks.
    pub storm: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { slow_ns: 1_000_000, storm: 1_000 }
    }
}

impl Thresholds {
    /// Whether a duration, ns, is slow. One that is not known is not.
    #[must_use]
    pub fn is_slow(self, ns: Option<u64>) -> bool {
        ns.is_some_and(|ns| ns >= self.slow_ns)
    }

    /// Calls a second of this function in so much time, ns, if that is a storm. In less than a second as many are
    /// needed as in one.
    #[must_use]
    pub fn storm(self, function: &str, calls: u64, span_ns: u64) -> Option<u64> {
        if !WAITS.iter().any(|part| function.contains(part)) {
            return None;
        }
        let rate = u128::from(calls) * u128::from(SECOND) / u128::from(span_ns.max(SECOND));
        u64::try_from(rate).ok().filter(|rate| *rate >= self.storm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_is_what_takes_as_long_or_longer() {
        let thresholds = Thresholds { slow_ns: 5, storm: 1 };
        assert_eq!(
            [None, Some(4), Some(5), Some(u64::MAX)].map(|ns| thresholds.is_slow(ns)),
            [false, false, true, true]
        );
    }

    #[test]
    fn a_storm_is_of_calls_that_wait_or_ask_and_needs_a_second_of_them() {
        let thresholds = Thresholds { slow_ns: 1, storm: 1_000 };
        let second = 1_000_000_000;
        assert_eq!(thresholds.storm("cudaEventQuery", 5_000, 2 * second), Some(2_500));
        assert_eq!(thresholds.storm("cudaMalloc", 5_000, 2 * second), None);
        assert_eq!(thresholds.storm("cudaEventQuery", 1_999, 2 * second), None);
        // Twenty calls in a short trace are none.
        assert_eq!(thresholds.storm("cudaDeviceSynchronize", 20, 1_000), None);
        assert_eq!(thresholds.storm("cuStreamSynchronize", u64::MAX, 0), Some(u64::MAX));
    }

    #[test]
    fn the_filter_of_that_name_selects_the_same() {
        let filter = include_str!("../../filters/sync-storms.toml");
        assert!(WAITS.iter().all(|part| filter.contains(&format!("\"*{part}*\""))));
        assert_eq!(filter.matches("\"*").count(), WAITS.len());
    }
}
