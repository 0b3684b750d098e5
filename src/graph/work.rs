//! The finest cells of what the GPU did: one for each lane, device and kind of work, a kernel's name being a kind.
//!
//! The stream of a lane is that which a call names that submitted some of its work. Records of the GPU and calls come
//! in any order, so cells are by lane, and [`Work::places`] says at the time of showing which stream each one is of.

use rustc_hash::FxHashMap;

use super::identity::What;
use super::stats::Stats;
use crate::correlate::submitting_call;
use crate::trace::activity::{LaneId, TextId};
use crate::trace::{Activity, ActivityKind, Lane, LaneOf, NameId, ProcessId, StreamId, Trace};
use umtui_wire::activity as wire;

/// Smallest correlation ids of a lane that are kept: of most lanes the first call knows the stream; those of copies by
/// functions that take none do not.
const ASKED: usize = 16;

/// What kind of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WorkOf {
    /// A kernel, by name.
    Kernel(TextId),
    /// Copies of a kind, and whether one side is pageable.
    Copy(u8, bool),
    /// Memory set.
    Set,
    /// Whole graphs.
    Graph,
    /// Unified memory: `UNIFIED_*`, and a migration's cause or a fault's access.
    Unified(u16, u8),
}

/// Work of one kind, in one lane and on one device.
#[derive(Clone, Debug)]
pub struct WorkCell {
    /// Lane.
    pub lane: LaneId,
    /// Device, or [`crate::trace::NO_DEVICE`].
    pub device: u8,
    /// Kind.
    pub of: WorkOf,
    /// Counts and durations; of moments only how many.
    pub stats: Stats,
    /// Bytes copied, set or moved; groups of GPU faults.
    pub amount: u64,
}

/// Which rows a lane's work stands under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkPlace {
    /// Process.
    pub process: ProcessId,
    /// Its host.
    pub host: NameId,
    /// The stream.
    pub stream: WorkStream,
}

/// Which stream a lane is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkStream {
    /// One that calls name.
    Known(StreamId),
    /// One of which only the driver's ids are known: context and stream.
    Ids(u32, u32),
    /// It is of none.
    None,
}

/// All cells.
#[derive(Clone, Debug, Default)]
pub struct Work {
    cells: Vec<WorkCell>,
    ids: FxHashMap<(LaneId, u8, WorkOf), u32>,
    lowest: Vec<Lowest>,
}

/// The smallest correlation ids of a lane, in order.
#[derive(Clone, Copy, Debug, Default)]
struct Lowest {
    ids: [u32; ASKED],
    used: u8,
}

impl Lowest {
    #[inline]
    fn add(&mut self, id: u32) {
        let full = usize::from(self.used) == ASKED;
        if id == 0 || (full && self.ids.last().is_none_or(|&last| id >= last)) {
            return;
        }
        self.insert(id);
    }

    fn insert(&mut self, id: u32) {
        let known = self.ids.get(..usize::from(self.used)).unwrap_or_default();
        let at = known.partition_point(|&known| known < id);
        if known.get(at) == Some(&id) {
            return;
        }
        self.used = (self.used + 1).min(ASKED as u8);
        if let Some(rest) = self.ids.get_mut(at..usize::from(self.used)) {
            rest.rotate_right(1);
            if let Some(first) = rest.first_mut() {
                *first = id;
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ids.iter().take(usize::from(self.used)).copied()
    }
}

impl Work {
    /// The cells.
    #[must_use]
    pub fn cells(&self) -> &[WorkCell] {
        &self.cells
    }

    /// Counts a record of a lane.
    pub fn count(&mut self, lane: LaneId, activity: &Activity) {
        let Some(of) = WorkOf::of(activity) else { return };
        let key = (lane, activity.device, of);
        let next = u32::try_from(self.cells.len()).unwrap_or(u32::MAX);
        let at = *self.ids.entry(key).or_insert(next);
        if at == next {
            let (stats, amount) = (Stats::default(), 0);
            self.cells.push(WorkCell { lane, device: activity.device, of, stats, amount });
        }
        if let Some(cell) = self.cells.get_mut(at as usize) {
            let known = (activity.timed && !of.is_moment()).then_some(activity.duration_ns);
            cell.stats.add_call(known, false);
            cell.stats.sums.self_ns = cell.stats.sums.total_ns;
            if !matches!(of, WorkOf::Kernel(_) | WorkOf::Graph) {
                cell.amount = cell.amount.saturating_add(activity.value);
            }
        }
        if of.is_work() {
            let index = lane.0 as usize;
            if index >= self.lowest.len() {
                self.lowest.resize(index + 1, Lowest::default());
            }
            if let Some(lowest) = self.lowest.get_mut(index) {
                lowest.add(activity.correlation);
            }
        }
    }

    /// Where each lane's work stands as far as that is known now.
    #[must_use]
    pub fn places(&self, trace: &Trace) -> Vec<WorkPlace> {
        let lanes = trace.activities.lanes().iter().enumerate();
        lanes
            .map(|(index, lane)| WorkPlace {
                process: lane.process,
                host: trace.process(lane.process).map_or(NameId::NONE, |process| process.host),
                stream: self.stream(trace, index, lane),
            })
            .collect()
    }

    fn stream(&self, trace: &Trace, index: usize, lane: &Lane) -> WorkStream {
        let ids = match lane.of {
            LaneOf::Stream { context, stream } => WorkStream::Ids(context, stream),
            LaneOf::Rest => return WorkStream::Ids(wire::NONE, wire::NONE),
            LaneOf::Unified | LaneOf::Memory | LaneOf::Host => return WorkStream::None,
        };
        let named = |correlation| {
            let (.., call) = submitting_call(trace, lane.process, correlation)?;
            Some(call.stream).filter(|&stream| stream != StreamId::NONE && stream != StreamId::OTHER)
        };
        let known = self.lowest.get(index).and_then(|lowest| lowest.iter().find_map(named));
        known.map_or(ids, WorkStream::Known)
    }
}

impl WorkOf {
    /// Kind of a record; `None` for those that are no work.
    #[must_use]
    pub fn of(activity: &Activity) -> Option<Self> {
        Some(match activity.kind {
            ActivityKind::Kernel => Self::Kernel(activity.text()),
            ActivityKind::Copy => {
                let (kind, pageable) = activity.copy();
                Self::Copy(kind, pageable)
            }
            ActivityKind::Set => Self::Set,
            ActivityKind::Graph => Self::Graph,
            ActivityKind::Unified => {
                let (counter, flags) = activity.unified();
                Self::Unified(counter, flags)
            }
            ActivityKind::Wait | ActivityKind::Event | ActivityKind::Overhead | ActivityKind::Memory => return None,
        })
    }

    /// What its row stands for.
    pub(super) fn what(self, name: &impl Fn(TextId) -> NameId) -> What {
        match self {
            Self::Kernel(text) => What::Kernel(name(text)),
            Self::Copy(kind, pageable) => What::Copy(kind, pageable),
            Self::Set => What::Set,
            Self::Graph => What::Graph,
            Self::Unified(counter, flags) => What::Unified(counter, flags),
        }
    }

    /// Whether it is work of a stream.
    #[must_use]
    pub const fn is_work(self) -> bool {
        !matches!(self, Self::Unified(..))
    }

    /// Whether pages moved.
    #[must_use]
    pub const fn is_migration(self) -> bool {
        let Self::Unified(counter, _) = self else { return false };
        matches!(counter, wire::UNIFIED_TO_DEVICE | wire::UNIFIED_TO_HOST | wire::UNIFIED_BETWEEN_DEVICES)
    }

    /// Whether it has no duration.
    #[must_use]
    pub const fn is_moment(self) -> bool {
        let Self::Unified(counter, _) = self else { return false };
        matches!(counter, wire::UNIFIED_CPU_FAULT | wire::UNIFIED_THRASHING | wire::UNIFIED_REMOTE_MAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_smallest_ids_are_kept_whatever_their_order(ids in prop::collection::vec(0u32..60, 0..80)) {
            let mut lowest = Lowest::default();
            ids.iter().for_each(|&id| lowest.add(id));
            let mut sorted: Vec<u32> = ids.into_iter().filter(|&id| id > 0).collect();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.truncate(ASKED);
            prop_assert_eq!(lowest.iter().collect::<Vec<_>>(), sorted);
        }
    }
}
