//! Where pages were, for pictures that are coloured by it.

use std::sync::Arc;
use std::time::Instant;

use super::view::{HeatCell, HeatMark};
use crate::correlate::Allocations;
use crate::memory::residency::{PAGE_BYTES, Place};
use crate::memory::{History, Sample, Telling, Told};
use crate::session::memory::later::Later;
use crate::trace::activity::Lane;
use crate::trace::{Bytes, LaneOf, ProcessId, Trace};

/// The pages of each process at any time; made when they are first asked for.
#[derive(Default)]
pub struct Where {
    of: Vec<Pages>,
    is_complete: bool,
}

/// Those of one process.
struct Pages {
    process: ProcessId,
    history: History,
    /// Which allocations what calls say was put in order with.
    told: Option<u64>,
    stage: Stage,
}

/// What calls say of pages, while it is found anew; with which allocations that is.
enum Stage {
    /// It is not.
    Rests,
    /// It is looked for.
    Calls(u64, Telling),
    /// It is put in order, in a thread beside.
    InOrder(u64, Later<(), Vec<Told>>),
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
        for process in processes {
            let has_pages = trace.activities.find(process, LaneOf::Unified).is_some();
            if has_pages && !self.of.iter().any(|known| known.process == process) {
                self.of.push(Pages { process, history: History::default(), told: None, stage: Stage::Rests });
            }
        }
        let is_known = self.of.iter().all(|pages| pages.told == Some(version));
        let none: Arc<dyn Bytes> = Arc::new(Vec::new());
        let of_file = |file: &Option<Arc<dyn Bytes>>| file.clone().unwrap_or_else(|| none.clone());
        let files: Vec<Arc<dyn Bytes>> = if is_known { Vec::new() } else { files.iter().map(of_file).collect() };
        self.is_complete = true;
        for pages in &mut self.of {
            let Some(id) = trace.activities.find(pages.process, LaneOf::Unified) else { continue };
            let Some(lane) = trace.activities.lane(id) else { continue };
            let known = allocations.get(pages.process.index()).cloned().unwrap_or_default();
            self.is_complete &= pages.learn_told(trace, &files, lane, (&known, version), until);
            // Without what calls say all would have to be gone through again.
            if pages.told.is_some() {
                self.is_complete &= pages.history.advance(lane, || Instant::now() >= until);
            }
        }
        self.is_complete
    }

    /// Whether all that was recorded of pages has been gone through.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The pages of a process.
    pub fn of(&self, process: ProcessId) -> Option<&History> {
        self.of.iter().find(|known| known.process == process).map(|pages| &pages.history)
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

impl Pages {
    /// Goes on finding what calls say, until `until`; true if that is known for these allocations. What was found with others
    /// holds until then.
    fn learn_told(
        &mut self,
        trace: &Trace,
        files: &[Arc<dyn Bytes>],
        lane: &Lane,
        (allocations, version): (&Arc<Allocations>, u64),
        until: Instant,
    ) -> bool {
        if self.told == Some(version) {
            return true;
        }
        if let Stage::Rests = self.stage {
            self.stage = Stage::Calls(version, Telling::new(self.process));
        }
        if let Stage::Calls(of, telling) = &mut self.stage {
            if !telling.advance(trace, files, &mut || Instant::now() < until) {
                return false;
            }
            let (telling, allocations) = (std::mem::replace(telling, Telling::new(self.process)), allocations.clone());
            // There may be others by now; then all is looked for once more.
            let (of, mut told) = (*of, Later::default());
            told.update((), until, move || telling.told(&allocations));
            self.stage = Stage::InOrder(of, told);
        }
        let Stage::InOrder(of, told) = &mut self.stage else { return false };
        told.wait(until);
        match told.take() {
            Some(told) => {
                self.history.set_told(Some(lane), told);
                self.told = Some(*of);
                self.stage = Stage::Rests;
            }
            None if told.is_making() => {}
            // There was no thread to be had: once more.
            None => self.stage = Stage::Rests,
        }
        self.told == Some(version)
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
