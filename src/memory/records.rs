//! Records of a trace as they are at a moment, for who goes through them while more come.

use crate::trace::activity::{Lane, LaneId, What};
use crate::trace::{LaneOf, ProcessId, Trace};

/// What was recorded of work and of unified memory by a moment. To make it takes little: all but the newest rows of each lane
/// are shared with the trace.
#[derive(Clone, Debug)]
pub struct Records {
    lanes: Vec<Lane>,
    has_work: bool,
    has_faults: bool,
}

impl Records {
    /// All that there is now.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let activities = &trace.activities;
        let (has_work, has_faults) = (activities.recorded(What::Activity), activities.recorded(What::Faults));
        Self { lanes: activities.lanes().to_vec(), has_work, has_faults }
    }

    /// A lane.
    #[must_use]
    pub fn lane(&self, id: LaneId) -> Option<&Lane> {
        self.lanes.get(id.0 as usize)
    }

    /// All lanes of a process.
    pub fn lanes(&self, process: ProcessId) -> impl Iterator<Item = (LaneId, &Lane)> {
        (0..).map(LaneId).zip(&self.lanes).filter(move |(_, lane)| lane.process == process)
    }

    /// That of a process's unified memory, if anything is in it.
    #[must_use]
    pub fn unified(&self, process: ProcessId) -> Option<LaneId> {
        self.lanes(process).find(|(_, lane)| lane.of == LaneOf::Unified && !lane.is_empty()).map(|(id, _)| id)
    }

    /// Whether kernels, copies and so on were recorded.
    #[must_use]
    pub const fn has_work(&self) -> bool {
        self.has_work
    }

    /// Whether faults were.
    #[must_use]
    pub const fn has_faults(&self) -> bool {
        self.has_faults
    }
}
