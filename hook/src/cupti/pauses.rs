//! When recording paused, by CUPTI's clock: what the GPU began meanwhile is left out.

use super::clock::Pair;
use crate::{capture, clock};

/// Pauses that are kept; what began in an older one is taken for recorded.
const KEPT: usize = 256;

/// The newest pauses. One thread's.
pub struct Pauses {
    /// Number of the next moment that recording pauses or goes on.
    next: u32,
    /// Since when it has been paused, ns.
    since: Option<u64>,
    /// From, until, ns: a ring.
    over: [(u64, u64); KEPT],
    /// How many there were.
    count: usize,
}

impl Pauses {
    /// From a moment on that [`capture::next_moment`] has told, when recording was on.
    pub fn after(next: u32) -> Self {
        Self { next, since: None, over: [(0, 0); KEPT], count: 0 }
    }

    /// Takes over what has happened since the last time, all before now.
    pub fn update(&mut self, pair: Pair) {
        while let Some((ticks, on)) = capture::moment(&mut self.next) {
            self.add(pair.ns_at(ticks), on);
        }
    }

    fn add(&mut self, ns: u64, on: bool) {
        match (on, self.since) {
            (false, None) => self.since = Some(ns),
            (true, Some(since)) => {
                self.since = None;
                if let Some(place) = self.over.get_mut(self.count & KEPT.wrapping_sub(1)) {
                    *place = (since, ns);
                }
                self.count = self.count.wrapping_add(1);
            }
            _ => {}
        }
    }

    /// Whether recording was paused then; zero is no time.
    pub fn cover(&self, ns: u64) -> bool {
        if ns == 0 || self.count == 0 && self.since.is_none() {
            return false;
        }
        if self.since.is_some_and(|since| ns >= since) {
            return true;
        }
        for back in 1..=self.count.min(KEPT) {
            let place = self.count.wrapping_sub(back) & KEPT.wrapping_sub(1);
            let Some(&(from, until)) = self.over.get(place) else { break };
            if ns >= from {
                return ns < until;
            }
        }
        false
    }
}

impl Pair {
    /// A moment of ours by CUPTI's clock, ns.
    fn ns_at(self, ticks: u64) -> u64 {
        let rate = clock::rate();
        match ticks.checked_sub(self.ticks) {
            Some(after) => self.ns.saturating_add(rate.ns(after)),
            None => self.ns.saturating_sub(rate.ns(self.ticks.wrapping_sub(ticks))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_in_one_of_the_newest_pauses_is_told_from_what_does_not() {
        let mut pauses = Pauses::after(0);
        assert!(!pauses.cover(5));
        // It is paused from 10 to 15, from 20 to 25 and so on; what comes twice changes nothing.
        for round in 1..=1000u64 {
            pauses.add(round * 10, false);
            pauses.add(round * 10 + 1, false);
            assert!(pauses.cover(round * 10) && pauses.cover(u64::MAX) && !pauses.cover(round * 10 - 1));
            pauses.add(round * 10 + 5, true);
            pauses.add(round * 10 + 7, true);
        }
        let oldest = (1000 - KEPT as u64 + 1) * 10;
        for ns in 0..11_000 {
            let paused = ns >= oldest && ns < 10_010 && ns % 10 < 5;
            assert_eq!(pauses.cover(ns), paused, "{ns}");
        }
    }

    #[test]
    fn moments_before_and_after_a_comparison_of_clocks_are_converted() {
        let pair = Pair { ticks: 1000, ns: 1_000_000, width: 0 };
        assert_eq!((pair.ns_at(1500), pair.ns_at(400), pair.ns_at(1000)), (1_000_500, 999_400, 1_000_000));
        let early = Pair { ticks: u64::MAX, ns: 5, width: 0 };
        assert_eq!(early.ns_at(0), 0);
    }
}
