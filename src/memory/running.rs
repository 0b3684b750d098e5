//! What ran on devices at moments that are asked for in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::records::Records;
use super::residency::Use;
use crate::trace::activity::{Lane, LaneId, TextId};
use crate::trace::{ActivityKind, LaneOf, ProcessId};

/// Pieces of work at one time that are told apart.
const MOST_AT_ONCE: usize = 256;

/// A lane, and how far it has been gone through.
#[derive(Clone, Debug)]
struct Cursor {
    lane: LaneId,
    /// Rows in order of start; `None`: as they are.
    rows: Option<Vec<u32>>,
    next: usize,
}

/// A piece of work that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Work {
    end_ns: u64,
    device: u8,
    kernel: Option<u32>,
}

/// Work of a process: what runs, and how much has begun.
#[derive(Clone, Debug)]
pub struct Running {
    cursors: Vec<Cursor>,
    /// Starts of the next pieces of work, and the lanes' places among the cursors.
    next: BinaryHeap<Reverse<(u64, u32)>>,
    /// By their ends.
    runs: BinaryHeap<Reverse<Work>>,
    /// By device.
    begun: Vec<u32>,
    recorded: bool,
}

impl Running {
    /// Before all work of a process.
    #[must_use]
    pub fn of(records: &Records, process: ProcessId) -> Self {
        let is_work = |lane: &Lane| matches!(lane.of, LaneOf::Stream { .. } | LaneOf::Rest) && !lane.is_empty();
        let streams = records.lanes(process).filter(|(_, lane)| is_work(lane));
        let cursors = streams.map(|(id, lane)| {
            let rows = (!lane.is_sorted()).then(|| lane.in_order().rows().into_owned());
            Cursor { lane: id, rows, next: 0 }
        });
        let mut running = Self {
            cursors: cursors.collect(),
            next: BinaryHeap::new(),
            runs: BinaryHeap::new(),
            begun: vec![0; 256],
            recorded: records.has_work(),
        };
        for index in 0..running.cursors.len() {
            running.look(records, index as u32);
        }
        running
    }

    /// Puts the next piece of work of a lane where its start is known.
    fn look(&mut self, records: &Records, index: u32) {
        let Some(cursor) = self.cursors.get(index as usize) else { return };
        let start = cursor.row().and_then(|row| records.lane(cursor.lane)?.get(row));
        self.next.extend(start.map(|activity| Reverse((activity.start_ns, index))));
    }

    /// Goes on to a moment, ns, which must not go back.
    pub fn go_to(&mut self, records: &Records, at_ns: u64) {
        while let Some(&Reverse((start_ns, index))) = self.next.peek()
            && start_ns <= at_ns
        {
            self.next.pop();
            let Some(cursor) = self.cursors.get_mut(index as usize) else { continue };
            let row = cursor.row().and_then(|row| records.lane(cursor.lane)?.get(row));
            cursor.next += 1;
            if let Some(activity) = row.filter(|activity| activity.kind.is_work() && activity.timed) {
                if let Some(begun) = self.begun.get_mut(usize::from(activity.device)) {
                    *begun = begun.wrapping_add(1);
                }
                let kernel = (activity.kind == ActivityKind::Kernel).then(|| activity.text().0);
                if activity.end_ns() > at_ns && self.runs.len() < MOST_AT_ONCE {
                    self.runs.push(Reverse(Work { end_ns: activity.end_ns(), device: activity.device, kernel }));
                }
            }
            self.look(records, index);
        }
        while self.runs.peek().is_some_and(|Reverse(work)| work.end_ns <= at_ns) {
            self.runs.pop();
        }
    }

    fn on(&self, device: u8) -> impl Iterator<Item = &Work> {
        self.runs.iter().map(|Reverse(work)| work).filter(move |work| work.device == device)
    }

    /// The kernels that run on a device, each name once.
    pub fn kernels(&self, device: u8, names: &mut Vec<TextId>) {
        names.clear();
        names.extend(self.on(device).filter_map(|work| work.kernel).map(TextId));
        names.sort_unstable();
        names.dedup();
    }

    /// For pages that come to a device, or leave it.
    #[must_use]
    pub fn usage(&self, device: u8) -> Use {
        if !self.recorded {
            return Use::NONE;
        }
        let begun = self.begun.get(usize::from(device)).copied().unwrap_or(0);
        let runs = u32::from(self.on(device).next().is_some());
        Use { coming: begun.wrapping_sub(runs), leaving: begun }
    }

    /// Whether kernels, copies and so on were recorded.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.recorded
    }
}

impl Cursor {
    fn row(&self) -> Option<usize> {
        match &self.rows {
            Some(rows) => rows.get(self.next).map(|&row| row as usize),
            None => Some(self.next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::activity::What;
    use crate::trace::{Activity, Trace};

    #[test]
    fn what_runs_is_told_by_device_and_what_has_begun_is_counted() {
        let mut trace = Trace::default();
        let process = ProcessId(0);
        trace.activities.of_mut(process).evidence.seen(What::Activity);
        let mut add = |stream, start_ns, duration_ns, value, device| {
            let row = Activity { start_ns, duration_ns, value, device, ..Activity::default() };
            trace.activities.push(process, LaneOf::Stream { context: 1, stream }, &row, 0);
        };
        add(1, 100, 50, 7, 0);
        add(2, 120, 100, 8, 0);
        add(2, 10, 5, 9, 0); // late
        add(3, 130, 10, 7, 1);
        add(1, 300, 1, 7, 0);
        let records = Records::of(&trace);
        let mut running = Running::of(&records, process);
        let mut seen = Vec::new();
        let mut at = |ns, device| {
            running.go_to(&records, ns);
            running.kernels(device, &mut seen);
            let work = running.usage(device);
            (seen.iter().map(|name| name.0).collect::<Vec<_>>(), work.coming, work.leaving)
        };
        assert_eq!(at(50, 0), (vec![], 1, 1));
        assert_eq!(at(130, 0), (vec![7, 8], 2, 3));
        assert_eq!(at(130, 1), (vec![7], 0, 1));
        assert_eq!(at(150, 0), (vec![8], 2, 3));
        assert_eq!(at(220, 0), (vec![], 3, 3));
        assert_eq!(at(900, 0), (vec![], 4, 4));
    }
}
