//! When kernels ran, as a strip along the time axis, and which ones ran at a moment.

use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::trace::activity::LaneId;
use crate::trace::{Activity, ActivityKind, Lane, LaneOf, NameId, Trace};

/// Bits of the shortest step, about 4 us, and most steps: then they get twice as long.
const FINEST: u32 = 12;
const STEPS: u64 = 1 << 14;
/// Rows taken before the clock is looked at.
const BATCH: usize = 8192;

/// How long kernels ran, by steps of time.
#[derive(Debug)]
pub struct Busy {
    bits: u32,
    /// Number of the first step.
    first: u64,
    steps: Vec<u64>,
    /// Rows of each lane that have been taken.
    taken: Vec<usize>,
}

impl Default for Busy {
    fn default() -> Self {
        Self { bits: FINEST, first: 0, steps: Vec::new(), taken: Vec::new() }
    }
}

impl Busy {
    /// Takes what has come, until `until`; true when that is all.
    pub fn update(&mut self, trace: &Trace, until: Instant) -> bool {
        let lanes = trace.activities.lanes();
        self.taken.resize(lanes.len(), 0);
        for (id, lane) in lanes.iter().enumerate().filter(|(_, lane)| is_of_stream(lane)) {
            loop {
                let from = self.taken.get(id).copied().unwrap_or(0);
                let to = lane.len().min(from + BATCH);
                lane.for_each_in(from..to, |_, activity| {
                    if runs(&activity) {
                        self.add(activity.start_ns, activity.end_ns());
                    }
                });
                if let Some(taken) = self.taken.get_mut(id) {
                    *taken = to;
                }
                if to == lane.len() {
                    break;
                }
                if Instant::now() >= until {
                    return false;
                }
            }
        }
        true
    }

    /// Whether any kernel ran.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    fn add(&mut self, from: u64, to: u64) {
        let to = to.max(from.saturating_add(1));
        if self.steps.is_empty() {
            self.first = from >> self.bits;
        }
        loop {
            let (first, last) = (from >> self.bits, (to - 1) >> self.bits);
            let known = (self.first + self.steps.len() as u64).saturating_sub(1);
            if last.max(known) - first.min(self.first) < STEPS {
                break;
            }
            self.coarsen();
        }
        let (first, last) = (from >> self.bits, (to - 1) >> self.bits);
        if first < self.first {
            let more = usize::try_from(self.first - first).unwrap_or(0);
            self.steps.splice(0..0, std::iter::repeat_n(0, more));
            self.first = first;
        }
        for step in first..=last {
            let index = usize::try_from(step - self.first).unwrap_or(usize::MAX);
            if index >= self.steps.len() {
                self.steps.resize(index.saturating_add(1), 0);
            }
            let begin = step << self.bits;
            let inside = to.min(begin.saturating_add(1 << self.bits)) - from.max(begin);
            if let Some(sum) = self.steps.get_mut(index) {
                *sum = sum.saturating_add(inside);
            }
        }
    }

    fn coarsen(&mut self) {
        let mut coarse = Vec::with_capacity(self.steps.len() / 2 + 1);
        let first = self.first >> 1;
        for (step, &sum) in (self.first..).zip(&self.steps) {
            let index = usize::try_from((step >> 1) - first).unwrap_or(usize::MAX);
            match coarse.get_mut(index) {
                Some(known) => *known += sum,
                None => coarse.push(sum),
            }
        }
        (self.bits, self.first, self.steps) = (self.bits + 1, first, coarse);
    }

    /// Share of each column in which kernels ran, thousandths; several at a time count like one. Columns narrower than a
    /// few steps are looked up kernel by kernel.
    pub fn shares(&self, trace: &Trace, from_ns: u64, column_ns: u64, columns: usize) -> Vec<u16> {
        let mut sums = vec![0u64; columns];
        let column_ns = column_ns.max(1);
        let end = from_ns.saturating_add(column_ns.saturating_mul(columns as u64));
        let mut spread = |begin: u64, to: u64, amount: u64| {
            let (begin, to) = (begin.max(from_ns), to.min(end));
            let mut at = begin;
            while at < to {
                let column = (at - from_ns) / column_ns;
                let next = from_ns.saturating_add((column + 1).saturating_mul(column_ns)).min(to);
                let share = u128::from(amount) * u128::from(next - at) / u128::from((to - begin).max(1));
                if let Some(sum) = usize::try_from(column).ok().and_then(|column| sums.get_mut(column)) {
                    *sum = sum.saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
                }
                at = next;
            }
        };
        let step = 1u64 << self.bits;
        if column_ns >= step {
            let skip = usize::try_from((from_ns >> self.bits).saturating_sub(self.first)).unwrap_or(usize::MAX);
            let skip = skip.min(self.steps.len());
            for (number, &sum) in (self.first + skip as u64..).zip(self.steps.iter().skip(skip)) {
                let begin = number << self.bits;
                if begin >= end {
                    break;
                }
                if sum > 0 {
                    let inside = begin.saturating_add(step).min(end).saturating_sub(begin.max(from_ns));
                    let amount = u128::from(sum) * u128::from(inside) / u128::from(step);
                    spread(begin, begin.saturating_add(step), u64::try_from(amount).unwrap_or(u64::MAX));
                }
            }
        } else {
            for lane in trace.activities.lanes().iter().filter(|lane| is_of_stream(lane)) {
                lane.overlapping((from_ns, end), |_, activity| {
                    if runs(&activity) {
                        let (begin, to) = (activity.start_ns, activity.end_ns());
                        spread(begin, to, to.min(end).saturating_sub(begin.max(from_ns)));
                    }
                });
            }
        }
        let share = |sum: u64| u16::try_from(u128::from(sum) * 1000 / u128::from(column_ns)).unwrap_or(1000);
        // However short it was, it is seen.
        sums.into_iter().map(|sum| share(sum).clamp(u16::from(sum > 0), 1000)).collect()
    }
}

fn is_of_stream(lane: &Lane) -> bool {
    matches!(lane.of, LaneOf::Stream { .. } | LaneOf::Rest)
}

fn runs(activity: &Activity) -> bool {
    matches!(activity.kind, ActivityKind::Kernel | ActivityKind::Graph) && activity.timed
}

/// Kernels that ran in a span of time, ns, by name, with how many of each, the most first.
pub fn between(trace: &Trace, span: (u64, u64)) -> Vec<(NameId, u64)> {
    let mut names: FxHashMap<NameId, u64> = FxHashMap::default();
    for (_, lane) in (0..).map(LaneId).zip(trace.activities.lanes()).filter(|(_, lane)| is_of_stream(lane)) {
        lane.overlapping((span.0, span.1.saturating_sub(1)), |_, activity| {
            if activity.kind == ActivityKind::Kernel && activity.timed {
                *names.entry(trace.activities.kernel_name(&activity)).or_default() += 1;
            }
        });
    }
    let mut list: Vec<(NameId, u64)> = names.into_iter().collect();
    list.sort_unstable_by_key(|&(name, count)| (std::cmp::Reverse(count), name.0));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_strip_shows_kernels_however_short_they_are() {
        let mut busy = Busy::default();
        let trace = Trace::default();
        busy.add(1 << 20, (1 << 20) + 10);
        busy.add(2 << 20, 4 << 20);
        assert_eq!(busy.shares(&trace, 0, 1 << 20, 6), [0, 1, 1000, 1000, 0, 0]);
        assert_eq!(busy.shares(&trace, 3 << 20, 1 << 21, 2), [500, 0]);
    }

    proptest! {
        #[test]
        fn no_time_is_lost_in_whatever_order_kernels_come(
            all in prop::collection::vec((0u64..1 << 36, 1u64..1 << 22), 1..60),
        ) {
            let mut forth = Busy::default();
            all.iter().for_each(|&(from, took)| forth.add(from, from + took));
            let mut back = Busy::default();
            all.iter().rev().for_each(|&(from, took)| back.add(from, from + took));
            let sum = |busy: &Busy| busy.steps.iter().sum::<u64>();
            prop_assert_eq!(sum(&forth), all.iter().map(|one| one.1).sum::<u64>());
            prop_assert_eq!(sum(&back), sum(&forth));
            prop_assert!(forth.steps.len() as u64 <= STEPS);
            prop_assert_eq!(forth.bits, back.bits);
        }
    }
}
