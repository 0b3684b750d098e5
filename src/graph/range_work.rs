//! What the GPU did, by the range in which it was submitted.

use super::ranges::{OUTSIDE, RangeIndex, RangeNode};
use super::work::{Work, WorkOf};
use crate::correlate::submitting_row;
use crate::trace::activity::{LaneId, Near};
use crate::trace::{Lane, Trace};

/// Rows looked at before the clock is.
const STEP: usize = 2048;

/// Cells of what the GPU did, with the number of a path of ranges in place of a lane's: [`Work`] of
/// [`super::WorkPlace`]s that are ranges.
#[derive(Debug, Default)]
pub struct RangeWork {
    work: Work,
    next: Vec<usize>,
    /// Rows whose calls have not been read.
    waiting: Vec<(LaneId, usize)>,
    /// Calls that were known to have submitted something when these were looked at last.
    known: usize,
    near: Near,
    /// Of each thread the range that was found last, from when and until before when, ns.
    last: Vec<(u64, u64, RangeNode)>,
}

impl RangeWork {
    /// The cells.
    #[must_use]
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// Takes what has been read since the last time; `ranges` have been updated.
    pub fn update(&mut self, trace: &Trace, ranges: &RangeIndex) {
        self.update_some(trace, ranges, |_, lane| lane.len(), |_, _| true, &mut || true);
    }

    /// Likewise up to a row of each lane, and only the rows that are wanted, as long as `go_on` says so; true when it has
    /// all of that.
    pub fn update_some(
        &mut self,
        trace: &Trace,
        ranges: &RangeIndex,
        limit: impl Fn(LaneId, &Lane) -> usize,
        wanted: impl Fn(LaneId, usize) -> bool,
        go_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        let known = (0..u16::MAX)
            .take(trace.processes.len())
            .filter_map(|id| trace.activities.of(crate::trace::ProcessId(id)))
            .map(|of| of.submits.len())
            .sum();
        if known != self.known {
            self.known = known;
            for (id, row) in std::mem::take(&mut self.waiting) {
                if let Some(lane) = trace.activities.lane(id) {
                    self.take(trace, ranges, (id, lane), row);
                }
            }
        }
        let mut step = STEP;
        let lanes = trace.activities.lanes();
        self.next.resize(lanes.len(), 0);
        for (index, lane) in lanes.iter().enumerate() {
            let id = LaneId(u32::try_from(index).unwrap_or(u32::MAX));
            let mut from = self.next.get(index).copied().unwrap_or(0);
            let limit = limit(id, lane);
            while from < limit {
                if step == 0 {
                    if !go_on() {
                        return false;
                    }
                    step = STEP;
                }
                let end = limit.min(from + step);
                for row in (from..end).filter(|&row| wanted(id, row)) {
                    self.take(trace, ranges, (id, lane), row);
                }
                step -= end - from;
                from = end;
                if let Some(next) = self.next.get_mut(index) {
                    *next = end;
                }
            }
        }
        true
    }

    fn take(&mut self, trace: &Trace, ranges: &RangeIndex, (id, lane): (LaneId, &Lane), row: usize) {
        let Some(activity) = lane.get(row) else { return };
        if !WorkOf::of(&activity).is_some_and(WorkOf::is_work) || activity.correlation == 0 {
            return;
        }
        let near = &mut self.near;
        let Some((track_id, row_of_call)) = submitting_row(trace, lane.process, activity.correlation, near) else {
            return self.waiting.push((id, row));
        };
        let Some(track) = trace.track(track_id) else { return };
        let Some(outermost) = track.outer_from(row_of_call).and_then(|row| track.call(row)) else {
            // The call around it has not ended.
            self.known = 0;
            return self.waiting.push((id, row));
        };
        let now = outermost.start_ns;
        self.last.resize(trace.tracks.len(), (1, 0, OUTSIDE));
        let Some(last) = self.last.get_mut(track_id.index()) else { return };
        if now < last.0 || now >= last.1 {
            let (node, until) = ranges.at_until(track_id, now);
            *last = (now, until, node);
        }
        let node = last.2;
        self.work.count(LaneId(node), &activity);
    }
}
