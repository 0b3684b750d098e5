//! What the driver said of a device's memory over time: answers to `cudaMemGetInfo`, and NVML's readings while live.

use std::time::Instant;

use super::ask::ToldPlot;
use crate::correlate::device_memory::{Asked, Told};
use crate::session::model::Model;
use crate::session::sampler::{Kept, UsedAt};
use crate::trace::{NO_DEVICE, ProcessId};

/// What programs were told, process by process.
#[derive(Default)]
pub(super) struct KnownAsked {
    processes: Vec<Asked>,
    /// The calls that have been looked at.
    known: Option<u64>,
}

impl Model {
    /// Goes on finding what programs were told, until `until`; true if it is that of the trace as it is.
    pub(super) fn learn_asked(&mut self, until: Instant) -> bool {
        let calls = self.trace.calls();
        if self.books.asked.known == Some(calls) {
            return true;
        }
        let files = self.all_files();
        let known = &mut self.books.asked;
        for process in (0..u16::MAX).map(ProcessId).take(self.trace.processes.len()).skip(known.processes.len()) {
            known.processes.push(Asked::new(process));
        }
        let mut more = || Instant::now() < until;
        let all = known.processes.iter_mut().all(|asked| asked.advance(&self.trace, &files, &mut more));
        known.known = all.then_some(calls);
        all
    }

    /// What was said of the device that most was said of, by cells of the time from the trace's start on; `None`: nothing.
    pub(super) fn told_plot(&self, kept: &Kept, (length_ns, cells): (u64, usize)) -> Option<ToldPlot> {
        let told = self.books.asked.processes.iter().flat_map(Asked::told);
        let mut points: Vec<(u8, UsedAt)> =
            told.clone().map(|one: &Told| (one.device, (one.at_ns, one.used(), one.total))).collect();
        let asked = points.len();
        for (device, points_of) in self.readings_of(kept) {
            points.extend(points_of.iter().map(|&point| (device, point)));
        }
        let count = |device: u8| points.iter().filter(|one| one.0 == device).count();
        let mut devices: Vec<u8> = points.iter().map(|one| one.0).collect();
        devices.sort_unstable();
        devices.dedup();
        let device = devices.iter().copied().max_by_key(|&device| (count(device), std::cmp::Reverse(device)))?;
        let start = self.trace.start_ns();
        let mut most: Vec<Option<u64>> = vec![None; cells];
        let mut last: Option<UsedAt> = None;
        for &(of, point) in &points {
            if of != device {
                continue;
            }
            let since = point.0.saturating_sub(start).min(length_ns);
            let cell = u128::from(since) * cells as u128 / u128::from(length_ns.max(1));
            if let Some(cell) = usize::try_from(cell).ok().and_then(|cell| most.get_mut(cell.min(cells - 1))) {
                *cell = (*cell).max(Some(point.1));
            }
            last = last.max(Some(point));
        }
        let (at_ns, used, total) = last?;
        Some(ToldPlot {
            device: if device == NO_DEVICE { "a GPU".to_owned() } else { format!("GPU {device}") },
            others: devices.len() as u64 - 1,
            most,
            at_ns: at_ns.saturating_sub(start),
            used,
            total,
            by: match (asked, points.len() - asked) {
                (0, _) => "NVML",
                (_, 0) => "cudaMemGetInfo",
                _ => "cudaMemGetInfo and NVML",
            },
        })
    }
}
