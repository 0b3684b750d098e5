//! Which ranges and marks a lens selects.

use std::time::Instant;

use super::Sifting;
use crate::lens::{Marks, Surroundings};
use crate::trace::TrackId;

/// Ranges of a thread looked at before the clock is.
const STEP: usize = 1024;

impl Sifting {
    pub(super) fn look_at_ranges(&mut self, around: &Surroundings<'_>, until: Instant) -> bool {
        let trace = around.trace;
        self.selected.ranges.resize_with(trace.tracks.len(), Marks::default);
        self.open_cut = 0;
        for (id, row) in std::mem::take(&mut self.open_ranges) {
            self.take_range(around, id, row);
        }
        for id in (0..).map(TrackId).take(trace.tracks.len()) {
            let all = trace.ranges.of(id).len();
            loop {
                let from = self.selected.ranges.get(id.index()).map_or(all, Marks::len);
                if from >= all {
                    break;
                }
                if Instant::now() >= until {
                    return false;
                }
                for row in from..all.min(from + STEP) {
                    self.take_range(around, id, row);
                }
            }
        }
        true
    }

    fn take_range(&mut self, around: &Surroundings<'_>, id: TrackId, row: usize) {
        let (selected, cut) = self.plan.range(around, id, row);
        let ended = around.trace.ranges.of(id).get(row).is_some_and(|range| range.end_ns().is_some());
        if let Some(marks) = self.selected.ranges.get_mut(id.index()) {
            if row < marks.len() { marks.put(row, selected) } else { marks.push(selected) }
        }
        if ended {
            self.cut += u64::from(cut);
        } else {
            self.open_cut += u64::from(cut);
            self.open_ranges.push((id, row));
        }
    }
}
