//! Which records of the GPU a lens selects, lane by lane, and the calls that submitted what calls are to be around of.

use std::time::Instant;

use super::Sifting;
use crate::graph::WorkStream;
use crate::lens::{Marks, Surroundings};
use crate::trace::activity::LaneId;
use crate::trace::{Activity, Lane, StreamId};

/// Records of a lane looked at before the clock is.
const STEP: usize = 512;

/// How far lanes have been looked at.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    next: Vec<usize>,
    /// Rows about which not all is known, and how they were decided.
    waiting: Vec<(LaneId, usize, bool)>,
    /// Of these the ones that are being looked at again.
    again: Vec<(LaneId, usize, bool)>,
    /// How much was known when these were looked at last.
    known: u64,
}

impl Sifting {
    /// Finds the calls that have submitted work that fits what calls are to be around of.
    pub(super) fn mark_stages(&mut self, around: &Surroundings<'_>, until: Instant) -> bool {
        for at in 0..self.stages.len() {
            let Some(mut lanes) = self.stages.get_mut(at).map(std::mem::take) else { continue };
            let (plan, streams) = (&mut self.plan, &self.streams);
            let mut hits = Vec::new();
            let mut taken_back = false;
            let done = lanes.look(around, until, |id, _, _, activity, before| {
                let (call, open) = plan.stage(around, at, id, activity, stream_of(streams, id));
                hits.extend(call);
                taken_back |= before == Some(true) && call.is_none();
                (call.is_some(), open)
            });
            self.stale |= taken_back;
            // What comes after this stage may rest on what it has not said yet; until that has begun, only answers that
            // were noted on the way do.
            let later = self.stages.iter().skip(at + 1).any(Lanes::is_begun)
                || self.selected.records.iter().any(|marks| !marks.is_empty());
            let mut followed = false;
            for (track, row) in hits {
                self.plan.note_submitted(at, track, row);
                // Calls that have been looked at already may be around it.
                self.stale |= self.selected.calls.get(track.index()).is_some_and(|marks| row < marks.len());
                followed |= self.plan.has_followed(around, track, row);
            }
            self.stale |= followed && later;
            if followed && !later {
                self.plan.forget_ties();
            }
            if let Some(place) = self.stages.get_mut(at) {
                *place = lanes;
            }
            if !done {
                return false;
            }
        }
        true
    }

    pub(super) fn look_at_lanes(&mut self, around: &Surroundings<'_>, until: Instant) -> bool {
        let trace = around.trace;
        self.selected.records.resize_with(trace.activities.lanes().len(), Marks::default);
        if !self.plan.selects_records() {
            for (marks, lane) in self.selected.records.iter_mut().zip(trace.activities.lanes()) {
                marks.skip(lane.len() - marks.len());
            }
            return true;
        }
        let mut lanes = std::mem::take(&mut self.lanes);
        let done = lanes.look(around, until, |id, lane, row, activity, before| {
            let decision = self.plan.record(around, id, activity, stream_of(&self.streams, id));
            if decision.selected && before != Some(true) {
                self.gpu.take(id, lane.process, activity);
                self.cut += u64::from(decision.cut);
            }
            // What was counted cannot be taken back.
            self.stale |= before == Some(true) && !decision.selected;
            if let Some(marks) = self.selected.records.get_mut(id.0 as usize) {
                match before {
                    None => marks.push(decision.selected),
                    Some(before) if before != decision.selected => {
                        marks.put(row, decision.selected);
                        self.decided += 1;
                    }
                    Some(_) => {}
                }
            }
            (decision.selected, decision.open)
        });
        self.lanes = lanes;
        done
    }
}

fn stream_of(streams: &[WorkStream], id: LaneId) -> Option<StreamId> {
    match streams.get(id.0 as usize) {
        Some(WorkStream::Known(stream)) => Some(*stream),
        _ => None,
    }
}

impl Lanes {
    fn is_begun(&self) -> bool {
        self.next.iter().any(|&next| next > 0)
    }

    /// Gives `decide` the rows that have come, and those that wait when more is known: lane, row, what it holds, how it was
    /// decided before. It says how it is decided, and whether that is open.
    fn look(
        &mut self,
        around: &Surroundings<'_>,
        until: Instant,
        mut decide: impl FnMut(LaneId, &Lane, usize, &Activity, Option<bool>) -> (bool, bool),
    ) -> bool {
        let trace = around.trace;
        let processes = (0..trace.processes.len()).filter_map(|id| u16::try_from(id).ok());
        let submits = processes.filter_map(|id| trace.activities.of(crate::trace::ProcessId(id)));
        let known = submits.map(|of| of.submits.len()).sum::<usize>() + trace.names.len();
        let held = around.allocations.known_until.iter().fold(0, |sum: u64, &until| sum.wrapping_add(until));
        let known = (known as u64 + trace.calls()).wrapping_add(held);
        if known != self.known && self.again.is_empty() {
            self.known = known;
            self.again = std::mem::take(&mut self.waiting);
        }
        while let Some((id, row, before)) = self.again.pop() {
            let Some(lane) = trace.activities.lane(id) else { continue };
            let Some(activity) = lane.get(row) else { continue };
            let (selected, open) = decide(id, lane, row, &activity, Some(before));
            if open {
                self.waiting.push((id, row, selected));
            }
            if self.again.len().is_multiple_of(STEP) && Instant::now() >= until {
                return false;
            }
        }
        let lanes = trace.activities.lanes();
        self.next.resize(lanes.len(), 0);
        for ((id, lane), next) in (0..).map(LaneId).zip(lanes).zip(&mut self.next) {
            while *next < lane.len() {
                if Instant::now() >= until {
                    return false;
                }
                let end = lane.len().min(*next + STEP);
                lane.for_each_in(*next..end, |row, activity| {
                    let (selected, open) = decide(id, lane, row, &activity, None);
                    if open {
                        self.waiting.push((id, row, selected));
                    }
                });
                *next = end;
            }
        }
        known == self.known
    }
}
