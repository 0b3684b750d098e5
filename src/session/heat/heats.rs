//! The heat of each process, kept up to date.

use std::time::Instant;

use crate::lens::{Marks, Selected};
use crate::memory::heat::Heat;
use crate::trace::activity::LaneId;
use crate::trace::{Lane, LaneOf, ProcessId, Trace};

/// Rows taken before the clock is looked at.
const STEP: usize = 8192;

/// The heats of a trace, or of what a lens selects of it.
#[derive(Debug, Default)]
pub(in crate::session) struct Heats {
    of: Vec<(LaneId, ProcessId, Heat)>,
    /// Lanes that have been looked at.
    lanes: usize,
    /// What a lens had decided.
    decided: u64,
}

impl Heats {
    /// Takes what has come, until `until`, and of it what a lens selects; `decided` says that something is decided
    /// otherwise. True when all has been taken.
    pub fn update(&mut self, trace: &Trace, sieve: Option<&Selected>, decided: u64, until: Instant) -> bool {
        if self.decided != decided {
            *self = Self { decided, ..Self::default() };
        }
        for (id, lane) in (0..).map(LaneId).zip(trace.activities.lanes()).skip(self.lanes) {
            if lane.of == LaneOf::Unified {
                self.of.push((id, lane.process, Heat::default()));
            }
        }
        self.lanes = trace.activities.lanes().len();
        for (id, _, heat) in &mut self.of {
            let Some(lane) = trace.activities.lane(*id) else { continue };
            let marks = sieve.map(|sieve| sieve.records.get(id.0 as usize));
            let limit = marks.map_or(lane.len(), |marks| marks.map_or(0, Marks::len));
            while heat.rows() < limit {
                let to = limit.min(heat.rows() + STEP);
                match marks.flatten() {
                    Some(marks) => heat.take(lane, to, |row| marks.has(row)),
                    None => heat.take(lane, to, |_| true),
                }
                if Instant::now() >= until && heat.rows() < limit {
                    return false;
                }
            }
        }
        true
    }

    /// All of them: their process and lane.
    pub fn all<'a>(&'a self, trace: &'a Trace) -> impl Iterator<Item = (ProcessId, &'a Heat, &'a Lane)> {
        self.of.iter().filter_map(|(id, process, heat)| Some((*process, heat, trace.activities.lane(*id)?)))
    }

    /// That of a process.
    pub fn heat_of(&self, process: ProcessId) -> Option<&Heat> {
        self.of.iter().find(|one| one.1 == process).map(|(.., heat)| heat)
    }

    /// Rows that have been taken, and what a lens had decided then.
    pub fn version(&self) -> (u64, u64) {
        (self.of.iter().map(|(.., heat)| heat.rows() as u64).sum(), self.decided)
    }
}
