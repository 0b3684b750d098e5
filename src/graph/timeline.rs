//! How much of something there was over time, at a resolution that gets coarser as the time gets longer.

use std::collections::VecDeque;

/// Most steps that are kept.
const STEPS: usize = 4096;
/// Bits of the shortest step: about a millisecond.
const FINEST: u32 = 20;

/// Amounts by steps of time, which begin at multiples of their length: in whatever order amounts come, the result is the
/// same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    bits: u32,
    first: u64,
    steps: VecDeque<u64>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { bits: FINEST, first: 0, steps: VecDeque::new() }
    }
}

impl Timeline {
    /// Adds an amount at a moment, ns.
    pub fn add(&mut self, ns: u64, amount: u64) {
        if self.steps.is_empty() {
            self.first = ns >> self.bits;
        }
        loop {
            let at = ns >> self.bits;
            let last = self.first + self.steps.len().saturating_sub(1) as u64;
            if at.max(last) - at.min(self.first) < STEPS as u64 {
                break;
            }
            self.coarsen();
        }
        let at = ns >> self.bits;
        while at < self.first {
            self.steps.push_front(0);
            self.first -= 1;
        }
        let index = (at - self.first) as usize;
        if index >= self.steps.len() {
            self.steps.resize(index + 1, 0);
        }
        if let Some(step) = self.steps.get_mut(index) {
            *step = step.saturating_add(amount);
        }
    }

    /// Amount in a span of time, ns, its end excluded; to the step, of which a part counts by its share.
    #[must_use]
    pub fn between(&self, (from, to): (u64, u64)) -> u64 {
        let mut sum = 0u64;
        let length = 1u64 << self.bits;
        let skip = (from >> self.bits).saturating_sub(self.first);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(self.steps.len());
        for (index, &amount) in self.steps.iter().enumerate().skip(skip) {
            let begin = (self.first + index as u64) << self.bits;
            if begin >= to {
                break;
            }
            let end = begin.saturating_add(length);
            let inside = end.min(to).saturating_sub(begin.max(from));
            let share = u128::from(amount) * u128::from(inside) / u128::from(length);
            sum = sum.saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
        }
        sum
    }

    fn coarsen(&mut self) {
        let mut coarse = VecDeque::with_capacity(self.steps.len() / 2 + 1);
        let first = self.first >> 1;
        for (index, amount) in self.steps.iter().enumerate() {
            let at = (((self.first + index as u64) >> 1) - first) as usize;
            if at >= coarse.len() {
                coarse.push_back(0u64);
            }
            if let Some(step) = coarse.get_mut(at) {
                *step = step.saturating_add(*amount);
            }
        }
        (self.bits, self.first, self.steps) = (self.bits + 1, first, coarse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_order_does_not_count(amounts in prop::collection::vec((any::<u64>(), 0u32..60, 0u64..1000), 0..60)) {
            let amounts: Vec<(u64, u64)> = amounts.iter().map(|&(ns, shift, amount)| (ns >> shift, amount)).collect();
            let mut forth = Timeline::default();
            amounts.iter().for_each(|&(ns, amount)| forth.add(ns, amount));
            let mut back = Timeline::default();
            amounts.iter().rev().for_each(|&(ns, amount)| back.add(ns, amount));
            prop_assert_eq!(&forth, &back);
            prop_assert!(forth.steps.len() <= STEPS);
            prop_assert_eq!(forth.steps.iter().sum::<u64>(), amounts.iter().map(|(_, amount)| amount).sum::<u64>());
            let half = u64::MAX / 2;
            prop_assert!(forth.between((0, half)) + forth.between((half, u64::MAX)) <= forth.steps.iter().sum());
        }
    }

    #[test]
    fn a_part_of_a_step_counts_by_its_share() {
        let mut timeline = Timeline::default();
        timeline.add(5 << FINEST, 1000);
        assert_eq!(timeline.between((0, (5 << FINEST) + (1 << FINEST) / 4)), 250);
        assert_eq!(timeline.between((0, 5 << FINEST)), 0);
        assert_eq!(timeline.between((0, u64::MAX)), 1000);
    }
}
