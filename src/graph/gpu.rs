//! What the GPU did, summed up: kernels by name, copies by kind, unified memory by device, direction and cause.

use super::stats::Stats;
use super::timeline::Timeline;
use super::work::{Work, WorkOf};
use crate::trace::activity::LaneId;
use crate::trace::{Activity, ActivityKind, NameId, ProcessId, Trace};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use umtui_wire::activity::{UNIFIED_TO_DEVICE, UNIFIED_TO_HOST};

/// Sums over records of one kind. Adding in any order gives the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amounts {
    /// Records.
    pub count: u64,
    /// Bytes, or groups of faults.
    pub amount: u64,
    /// Smallest of a record; `u64::MAX` if there is none.
    pub min: u64,
    /// Largest of a record.
    pub max: u64,
    /// Durations, ns.
    pub total_ns: u64,
}

impl Default for Amounts {
    fn default() -> Self {
        Self { count: 0, amount: 0, min: u64::MAX, max: 0, total_ns: 0 }
    }
}

impl Amounts {
    /// Counts a record.
    pub fn count(&mut self, activity: &Activity) {
        self.add(&Self {
            count: 1,
            amount: activity.value,
            min: activity.value,
            max: activity.value,
            total_ns: activity.duration_ns,
        });
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.amount = self.amount.saturating_add(other.amount);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
    }
}

/// Which records of unified memory are summed up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnifiedKey {
    /// Process.
    pub process: ProcessId,
    /// Device, or [`crate::trace::NO_DEVICE`].
    pub device: u8,
    /// `UNIFIED_*`.
    pub counter: u16,
    /// A migration's cause, a fault's access.
    pub flags: u8,
}

/// The sums, and how far each lane has been taken in.
#[derive(Debug, Default)]
pub struct Gpu {
    next: Vec<usize>,
    /// The finest cells.
    pub work: Work,
    /// Copies by kind, and whether one side is pageable.
    pub copies: BTreeMap<(u8, bool), Amounts>,
    /// Memory set.
    pub sets: Amounts,
    /// Unified memory.
    pub unified: BTreeMap<UnifiedKey, Amounts>,
    /// Time that went elsewhere, by `CUpti_ActivityOverheadKind`.
    pub overheads: BTreeMap<u64, Amounts>,
    /// Bytes that moved to devices, over time.
    pub to_device: Timeline,
    /// Bytes that moved to the host, over time.
    pub to_host: Timeline,
}

impl Gpu {
    /// Takes in what has been read since the last time.
    pub fn update(&mut self, trace: &Trace) {
        let lanes = trace.activities.lanes();
        self.next.resize(lanes.len(), 0);
        for (index, lane) in lanes.iter().enumerate() {
            let from = self.next.get(index).copied().unwrap_or(0);
            let id = LaneId(u32::try_from(index).unwrap_or(u32::MAX));
            if from < lane.len() {
                lane.for_each(from, |_, activity| {
                    self.take(id, lane.process, &activity);
                });
            }
            if let Some(next) = self.next.get_mut(index) {
                *next = lane.len();
            }
        }
    }

    /// Counts one record of a lane, which [`Gpu::update`] must not see as well.
    pub fn take(&mut self, id: LaneId, process: ProcessId, activity: &Activity) {
        self.work.count(id, activity);
        self.count(process, activity);
    }

    fn count(&mut self, process: ProcessId, activity: &Activity) {
        match activity.kind {
            ActivityKind::Copy => self.copies.entry(activity.copy()).or_default().count(activity),
            ActivityKind::Set => self.sets.count(activity),
            ActivityKind::Overhead => self.overheads.entry(activity.value).or_default().count(activity),
            ActivityKind::Unified => {
                let (counter, flags) = activity.unified();
                let key = UnifiedKey { process, device: activity.device, counter, flags };
                self.unified.entry(key).or_default().count(activity);
                match counter {
                    UNIFIED_TO_DEVICE => self.to_device.add(activity.start_ns, activity.value),
                    UNIFIED_TO_HOST => self.to_host.add(activity.start_ns, activity.value),
                    _ => {}
                }
            }
            ActivityKind::Kernel
            | ActivityKind::Wait
            | ActivityKind::Event
            | ActivityKind::Graph
            | ActivityKind::Memory => {}
        }
    }

    /// Kernels by name, the largest total first.
    #[must_use]
    pub fn kernels(&self, trace: &Trace) -> Vec<(NameId, Stats)> {
        let mut by_name: FxHashMap<NameId, Stats> = FxHashMap::default();
        for cell in self.work.cells() {
            if let WorkOf::Kernel(text) = cell.of {
                by_name.entry(trace.activities.name(text)).or_default().merge(&cell.stats);
            }
        }
        let mut list: Vec<(NameId, Stats)> = by_name.into_iter().collect();
        list.sort_by_key(|(name, stats)| (std::cmp::Reverse(stats.sums.total_ns), *name));
        list
    }

    /// Sums of unified memory over all keys that `which` takes.
    #[must_use]
    pub fn unified(&self, which: impl Fn(&UnifiedKey) -> bool) -> Amounts {
        let mut sum = Amounts::default();
        self.unified.iter().filter(|(key, _)| which(key)).for_each(|(_, amounts)| sum.add(amounts));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::LaneOf;

    #[test]
    fn pieces_give_the_same_as_the_whole() {
        let mut trace = Trace::default();
        let (mut piecewise, process) = (Gpu::default(), ProcessId(0));
        for row in 0..500u64 {
            let kind = ActivityKind::ALL[row as usize % 9];
            let activity = Activity {
                kind,
                start_ns: row * 10,
                duration_ns: row % 7,
                value: row % 5,
                detail: 1 + (row % 8) as u8,
                device: 0,
                ..Activity::default()
            };
            trace.activities.push(process, if row % 2 == 0 { LaneOf::Rest } else { LaneOf::Unified }, &activity, 0);
            if row % 31 == 0 {
                piecewise.update(&trace);
            }
        }
        piecewise.update(&trace);
        let mut whole = Gpu::default();
        whole.update(&trace);
        assert_eq!(piecewise.kernels(&trace), whole.kernels(&trace));
        assert_eq!((&piecewise.copies, piecewise.sets), (&whole.copies, whole.sets));
        assert_eq!((&piecewise.unified, &piecewise.overheads), (&whole.unified, &whole.overheads));
        let all = whole.unified(|_| true);
        assert_eq!((all.count, all.min, all.max), (55, 0, 4));
        assert_eq!(whole.to_device.between((0, 1 << 40)), whole.unified(|key| key.counter == 1).amount);
    }
}
