//! Where pages were, for pictures that are coloured by it.

use std::sync::Arc;
use std::time::Instant;

use super::view::{HeatCell, HeatMark};
use crate::correlate::Allocations;
use crate::memory::residency::{PAGE_BYTES, Place};
use crate::memory::{History, Sample, told};
use crate::trace::{Bytes, LaneOf, ProcessId, Trace};

/// The pages of each process at any time; made when they are first asked for.
#[derive(Default)]
pub struct Where {
    of: Vec<(ProcessId, History)>,
    /// Which allocations calls were looked at with.
    known: Option<u64>,
}

impl Where {
    /// Goes through what has come, until `until`; true when that is all. `allocations` are those of each process, `version`
    /// grows when they change; `files` are those of the trace.
    pub fn update(
        &mut self,
        trace: &Trace,
        files: &[Option<Arc<dyn Bytes>>],
        (allocations, version): (&[Arc<Allocations>], u64),
        until: Instant,
    ) -> bool {
        let processes = (0..trace.processes.len()).filter_map(|id| u16::try_from(id).ok()).map(ProcessId);
        let with_pages = processes.filter(|&process| trace.activities.find(process, LaneOf::Unified).is_some());
        for process in with_pages {
            if !self.of.iter().any(|(known, _)| *known == process) {
                self.of.push((process, History::default()));
                self.known = None;
            }
        }
        let lane = |process| trace.activities.lane(trace.activities.find(process, LaneOf::Unified)?);
        if self.known != Some(version) {
            let none: Arc<dyn Bytes> = Arc::new(Vec::new());
            let files: Vec<Arc<dyn Bytes>> =
                files.iter().map(|file| file.clone().unwrap_or_else(|| none.clone())).collect();
            let nothing = Allocations::default();
            for (process, history) in &mut self.of {
                let allocations = allocations.get(process.index()).map_or(&nothing, |of| of);
                history.set_told(lane(*process), told(trace, *process, &files, allocations));
            }
            self.known = Some(version);
        }
        let mut complete = true;
        for (process, history) in &mut self.of {
            if let Some(lane) = lane(*process) {
                complete &= history.advance(lane, || Instant::now() >= until);
            }
        }
        complete
    }

    /// The pages of a process.
    pub fn of(&self, process: ProcessId) -> Option<&History> {
        self.of.iter().find(|(known, _)| *known == process).map(|(_, history)| history)
    }

    /// Where the pages of each row were at some moments, ns, row after row.
    pub fn cells(&self, rows: impl Iterator<Item = (ProcessId, u64, u64)>, moments: &[u64]) -> Vec<HeatCell> {
        let (mut cells, mut samples) = (Vec::new(), Vec::with_capacity(moments.len()));
        for (process, from, to) in rows {
            samples.clear();
            if let Some(history) = self.of(process) {
                history.samples((from / PAGE_BYTES, to.div_ceil(PAGE_BYTES)), moments, &mut samples);
            }
            samples.resize(moments.len(), Sample::default());
            cells.extend(samples.iter().map(cell));
        }
        cells
    }
}

fn cell(sample: &Sample) -> HeatCell {
    let homes = sample.state.homes;
    let mark = match (homes.count(), homes.places().next()) {
        (0, _) | (_, None) => HeatMark::Nothing,
        (1, Some(Place::Host)) => HeatMark::OnHost,
        (1, Some(Place::Device(device))) => HeatMark::OnDevice(device),
        _ => HeatMark::OnSeveral,
    };
    HeatCell { shade: if mark == HeatMark::Nothing { 0 } else { 4 }, mark }
}
