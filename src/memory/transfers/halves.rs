//! Copies from one device to another that the driver sends through memory of the host of its own.
//!
//! Where neither device may access the other, CUPTI tells of such a copy as of two, which the same call has submitted: to the
//! host, and from there to the other device, as many bytes. A graph's copies share a call, too, so which call it was decides.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::correlate::calls::bare;
use crate::correlate::submitting_row;
use crate::trace::activity::Near;
use crate::trace::semantics::base_name;
use crate::trace::{Activity, ActivityKind, ProcessId, Trace};

/// Halves of which the other one has not come that are kept.
const MOST: usize = 1 << 20;

/// A half: whether it is the one to the host, its device by its number in the process, its bytes.
type Half = (bool, u8, u64);

/// Both halves of what may be one copy: from which device to which.
#[derive(Clone, Copy, Debug)]
struct Pair {
    process: ProcessId,
    correlation: u32,
    from: u8,
    to: u8,
    bytes: u64,
}

/// Puts halves together, in whatever order they come.
#[derive(Debug, Default)]
pub struct Halves {
    alone: FxHashMap<(ProcessId, u32), Half>,
    /// Pairs of which the call is not known yet.
    open: Vec<Pair>,
    /// How many copies from each device to each, and bytes.
    sums: BTreeMap<(ProcessId, u8, u8), (u64, u64)>,
}

impl Halves {
    /// Takes a copy.
    pub fn take(&mut self, process: ProcessId, activity: &Activity) {
        let (kind, pageable) = activity.copy();
        let is_half = activity.kind == ActivityKind::Copy && matches!(kind, 1 | 2) && !pageable;
        if !is_half || activity.correlation == 0 || activity.detail & Activity::MANAGED != 0 {
            return;
        }
        let key = (process, activity.correlation);
        let half: Half = (kind == 2, activity.device, activity.value);
        match self.alone.get(&key) {
            Some(&other) if other.0 != half.0 && other.1 != half.1 && other.2 == half.2 => {
                self.alone.remove(&key);
                let (from, to) = if half.0 { (half.1, other.1) } else { (other.1, half.1) };
                self.open.push(Pair { process, correlation: activity.correlation, from, to, bytes: half.2 });
            }
            Some(_) => {}
            None if self.alone.len() < MOST => {
                self.alone.insert(key, half);
            }
            None => {}
        }
    }

    /// Decides about those pairs of which the call is known by now.
    pub fn settle(&mut self, trace: &Trace) {
        let sums = &mut self.sums;
        self.open.retain(|pair| {
            let Some((track, row)) = submitting_row(trace, pair.process, pair.correlation, &mut Near::default()) else {
                return true;
            };
            let api = trace.track(track).and_then(|track| trace.api(track.call(row)?.api));
            let name = api.map_or("", |api| bare(base_name(trace.names.get(api.name))));
            if name.starts_with("Memcpy") && !name.contains("Batch") {
                let sum = sums.entry((pair.process, pair.from, pair.to)).or_default();
                *sum = (sum.0.saturating_add(1), sum.1.saturating_add(pair.bytes));
            }
            false
        });
    }

    /// How many copies from each device to each, by their numbers in the process, and bytes.
    pub fn all(&self) -> impl Iterator<Item = ((ProcessId, u8, u8), (u64, u64))> + '_ {
        self.sums.iter().map(|(&ends, &sum)| (ends, sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlate::made::{Made, P};
    use crate::trace::activity::Submit;

    fn half(kind: u8, device: u8, correlation: u32, value: u64) -> Activity {
        Activity { kind: ActivityKind::Copy, detail: kind, device, correlation, value, ..Activity::default() }
    }

    /// A thread with a call of each of these names, in order, that submitted the work with the id of its place, from 1 on.
    fn traced(names: &[&str]) -> Trace {
        let mut made = Made::new();
        for (correlation, name) in (1..).zip(names) {
            let start = u64::from(correlation) * 10;
            let (track, row) = made.call(name, &[], (start, start + 5));
            made.trace.activities.of_mut(P).submits.push(Submit { correlation, track, row });
        }
        made.trace
    }

    #[test]
    fn two_halves_of_one_copy_are_put_together_whatever_their_order() {
        let trace = traced(&["cuMemcpyPeerAsync", "cuGraphLaunch", "cuMemcpyDtoDAsync_v2", "cuMemcpyBatchAsync"]);
        let mut halves = Halves::default();
        let copies = [
            half(1, 1, 1, 100),
            half(2, 0, 1, 100),
            // A graph's, those of a batch, and those that are of no call that is known.
            half(2, 0, 2, 100),
            half(1, 1, 2, 100),
            half(2, 0, 4, 100),
            half(1, 1, 4, 100),
            half(2, 0, 9, 100),
            half(1, 1, 9, 100),
            // Other bytes, the same device, pageable.
            half(2, 1, 3, 7),
            half(1, 0, 3, 7),
            half(2, 0, 5, 7),
            half(1, 1, 5, 8),
            half(2, 0, 6, 7),
            half(1, 0, 6, 7),
            half(Activity::copy_detail(2, true, false), 0, 7, 7),
            half(1, 1, 7, 7),
        ];
        copies.iter().for_each(|one| halves.take(P, one));
        halves.settle(&trace);
        assert_eq!(halves.all().collect::<Vec<_>>(), [((P, 0, 1), (1, 100)), ((P, 1, 0), (1, 7))]);
        assert_eq!(halves.open.len(), 1, "a call may become known");
    }
}
