//! What the GPU and the driver did, and what is known of how that was recorded.
//!
//! Records of one kind of place stand together in a [`Lane`]: a stream's work, a process's unified memory, its
//! allocations as the driver sees them, and its waits. Rows are in the order in which they were read, which is not that
//! of time: the driver hands records over late, and several threads may write them.

mod column;
pub mod evidence;
pub mod fields;
pub mod lane;
mod piece;
pub mod places;
pub mod raw;
pub mod record;
pub mod submits;
pub mod texts;

pub use evidence::{Device, Statement, What};
pub use lane::Lane;
pub use record::{Activity, ActivityKind, LaneOf};
pub use submits::{Near, Submit};
pub use texts::TextId;

use super::call::Location;
use super::ids::{NameId, ProcessId};
use evidence::Statements;
use places::Places;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use submits::Submits;
use texts::Texts;

/// Most lanes: those of further streams are one, [`LaneOf::Rest`].
const LANES: usize = 65_000;

/// A lane; index into [`Activities::lanes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub u32);

/// What is known of a process beside its lanes.
#[derive(Debug, Default)]
pub struct OfProcess {
    /// What was recorded, since when, and why other things were not.
    pub evidence: Statements,
    /// Its devices, by ordinal.
    pub devices: BTreeMap<u16, Device>,
    /// Records that the driver could not hand over, as far as anybody counted.
    pub dropped: u64,
    /// More were dropped, nobody knows how many.
    pub dropped_unknown: bool,
    /// Largest half-width of a bracket by which the driver's clock was compared, ns; `None`: it never was.
    pub clock_error_ns: Option<u64>,
    /// Work that had ended by then has been read, ns on the trace's axis; `None`: nothing was said.
    pub complete_ns: Option<u64>,
    /// Sums of unified memory of which there are no records.
    pub told: Vec<Told>,
    /// Which calls submitted which work.
    pub submits: Submits,
    /// Where its records lie.
    pub places: Places,
}

/// A sum of unified memory that was told without the events behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// `UNIFIED_*`.
    pub what: u16,
    /// Device, or [`crate::trace::NO_DEVICE`].
    pub device: u8,
    /// How many.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// How long in all, ns.
    pub total_ns: u64,
}

impl Told {
    /// Most of a process that are kept.
    pub const KEPT: usize = 4096;
}

/// All of it, from all processes.
#[derive(Debug, Default)]
pub struct Activities {
    lanes: Vec<Lane>,
    ids: FxHashMap<(ProcessId, LaneOf), LaneId>,
    processes: Vec<OfProcess>,
    texts: Texts,
    records: u64,
    span: Option<(u64, u64)>,
}

impl Activities {
    /// All lanes, by id.
    #[must_use]
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// A lane.
    #[must_use]
    pub fn lane(&self, id: LaneId) -> Option<&Lane> {
        self.lanes.get(id.0 as usize)
    }

    /// The lane of a process with this in it, if there is one.
    #[must_use]
    pub fn find(&self, process: ProcessId, of: LaneOf) -> Option<LaneId> {
        self.ids.get(&(process, of)).copied()
    }

    /// What is known of a process.
    #[must_use]
    pub fn of(&self, process: ProcessId) -> Option<&OfProcess> {
        self.processes.get(process.index())
    }

    /// Likewise, to be changed.
    pub fn of_mut(&mut self, process: ProcessId) -> &mut OfProcess {
        let index = process.index();
        if index >= self.processes.len() {
            self.processes.resize_with(index + 1, OfProcess::default);
        }
        &mut self.processes[index]
    }

    /// Records in all lanes.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// First start and last end, ns on the trace's axis.
    #[must_use]
    pub const fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// Appends a record whose slot has this number ([`Places`]).
    pub fn push(&mut self, process: ProcessId, of: LaneOf, activity: &Activity, place: u32) -> LaneId {
        let id = self.lane_of(process, of);
        if let Some(lane) = self.lanes.get_mut(id.0 as usize) {
            lane.push(activity, place);
        }
        self.records += 1;
        if activity.timed {
            let (first, last) = self.span.unwrap_or((u64::MAX, 0));
            self.span = Some((first.min(activity.start_ns), last.max(activity.end_ns())));
        }
        id
    }

    fn lane_of(&mut self, process: ProcessId, of: LaneOf) -> LaneId {
        if let Some(&known) = self.ids.get(&(process, of)) {
            return known;
        }
        if self.lanes.len() >= LANES && matches!(of, LaneOf::Stream { .. }) {
            return self.lane_of(process, LaneOf::Rest);
        }
        let id = LaneId(u32::try_from(self.lanes.len()).unwrap_or(u32::MAX));
        self.lanes.push(Lane::new(process, of));
        self.ids.insert((process, of), id);
        id
    }

    /// A string of a process's file; `known`: what it stands for, if its definition has been read.
    pub fn text(&mut self, process: ProcessId, string: u32, known: Option<NameId>) -> TextId {
        self.texts.of(process, string, known)
    }

    /// A string has been defined.
    pub fn define_text(&mut self, process: ProcessId, string: u32, name: NameId) {
        self.texts.define(process, string, name);
    }

    /// What a string stands for; the empty name as long as it is not defined.
    #[must_use]
    pub fn name(&self, text: TextId) -> NameId {
        self.texts.get(text)
    }

    /// Name of a kernel.
    #[must_use]
    pub fn kernel_name(&self, activity: &Activity) -> NameId {
        self.name(activity.text())
    }

    /// Where the raw record of a row lies; `file` is that of its process.
    #[must_use]
    pub fn location(&self, lane: &Lane, row: usize, file: usize) -> Option<Location> {
        let offset = self.of(lane.process)?.places.offset(lane.place(row)?)?;
        Some(Location { file: u32::try_from(file).ok()?, offset, slots: lane.get(row)?.kind.slots() })
    }

    /// The statements of all processes about one kind of evidence say at some time that it is recorded, or records of
    /// it are there.
    #[must_use]
    pub fn recorded(&self, what: What) -> bool {
        self.processes.iter().any(|process| process.evidence.ever(what))
    }

    /// Bytes on the heap that grow with the number of records.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let of = |process: &OfProcess| process.submits.heap_bytes() + process.places.heap_bytes();
        self.lanes.iter().map(Lane::heap_bytes).sum::<usize>() + self.processes.iter().map(of).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(start_ns: u64) -> Activity {
        Activity { kind: ActivityKind::Kernel, start_ns, duration_ns: 5, ..Activity::default() }
    }

    #[test]
    fn streams_beyond_the_limit_share_a_lane() {
        let mut activities = Activities::default();
        let process = ProcessId(3);
        for stream in 0..LANES as u32 + 10 {
            activities.push(process, LaneOf::Stream { context: 1, stream }, &kernel(7), 0);
        }
        activities.push(process, LaneOf::Unified, &kernel(2), 0);
        assert_eq!(activities.lanes().len(), LANES + 2);
        let rest = activities.find(process, LaneOf::Rest).unwrap();
        assert_eq!(activities.lane(rest).unwrap().len(), 10);
        assert_eq!((activities.records(), activities.span()), (LANES as u64 + 11, Some((2, 12))));
    }

    #[test]
    fn a_name_may_come_after_its_use() {
        let (mut activities, process) = (Activities::default(), ProcessId(0));
        let early = activities.text(process, 9, None);
        let known = activities.text(process, 4, Some(NameId(77)));
        assert_eq!((activities.name(early), activities.name(known)), (NameId::NONE, NameId(77)));
        assert_eq!(activities.text(process, 9, None), early);
        activities.define_text(process, 9, NameId(5));
        assert_eq!(activities.name(early), NameId(5));
    }
}
