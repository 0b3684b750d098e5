//! What the GPU did, for the overview.

use super::calls::thousandths;
use super::labels::cause;
use super::model::Model;
use super::overview::Steps;
use super::safe::safe;
use super::search;
use super::view::{Moved, TopRow};
use crate::graph::Amounts;
use crate::symbols::demangled;
use crate::trace::{ProcessId, Trace};
use std::collections::BTreeMap;
use umtui_wire::activity::{UNIFIED_TO_DEVICE, UNIFIED_TO_HOST};

/// Over which time bytes a second are counted.
const SECOND: u64 = 1_000_000_000;
/// Causes that are named.
const CAUSES: usize = 3;

impl Model {
    /// Pages that moved, by direction; nothing where none did.
    pub(super) fn moved(&self, steps: &Steps, live: bool) -> Vec<Moved> {
        // What is younger than that may not have come yet.
        let complete = processes(&self.trace).filter_map(|id| self.trace.activities.of(id)?.complete_ns).max();
        let gpu = self.seen_gpu();
        let directions = [(true, UNIFIED_TO_DEVICE, &gpu.to_device), (false, UNIFIED_TO_HOST, &gpu.to_host)];
        let rows = directions.into_iter().map(|(to_device, counter, timeline)| {
            let sum = gpu.unified(|key| key.counter == counter);
            let history = steps.spans().map(|span| {
                // KiB, which a step's number has room for.
                let rate = u128::from(timeline.between(span)) * u128::from(SECOND) / u128::from(steps.step_ns) / 1024;
                u32::try_from(rate).unwrap_or(u32::MAX)
            });
            let until = complete.unwrap_or(u64::MAX).min(self.trace.end_ns());
            Moved {
                to_device,
                history: history.collect(),
                per_second: live.then(|| timeline.between((until.saturating_sub(SECOND), until))),
                bytes: sum.amount,
                count: sum.count,
                causes: self.causes(counter),
            }
        });
        let rows: Vec<Moved> = rows.collect();
        if rows.iter().all(|moved| moved.count == 0) { Vec::new() } else { rows }
    }

    /// Why pages moved in this direction, the commonest first.
    fn causes(&self, counter: u16) -> Vec<String> {
        let mut causes: BTreeMap<&str, Amounts> = BTreeMap::new();
        for (key, amounts) in self.seen_gpu().unified.iter().filter(|(key, _)| key.counter == counter) {
            causes.entry(cause(key.flags)).or_default().add(amounts);
        }
        let mut causes: Vec<(&str, Amounts)> = causes.into_iter().collect();
        causes.sort_by_key(|(_, amounts)| std::cmp::Reverse(amounts.amount));
        causes.into_iter().take(CAUSES).map(|(cause, _)| cause.to_owned()).collect()
    }

    /// Kernels by total, as many as asked for, and how many there are beyond them.
    pub(super) fn top_kernels(&self, rows: usize) -> (Vec<TopRow>, usize) {
        let kernels = self.seen_gpu().kernels(&self.trace);
        let all_ns = kernels.iter().fold(0u64, |sum, (_, stats)| sum.saturating_add(stats.sums.total_ns));
        let row = |(name, stats): &(crate::trace::NameId, crate::graph::Stats)| TopRow {
            depth: 0,
            name: safe(&demangled(self.trace.names.get(*name))).into_owned(),
            what: Some(crate::graph::What::Kernel(*name)),
            like: Some(search::like_kernel(self.trace.names.get(*name))),
            total_ns: stats.sums.total_ns,
            total_share: thousandths(stats.sums.total_ns, all_ns),
            self_share: thousandths(stats.sums.total_ns, all_ns),
            count: stats.sums.count,
        };
        (kernels.iter().take(rows).map(row).collect(), kernels.len().saturating_sub(rows))
    }
}

fn processes(trace: &Trace) -> impl Iterator<Item = ProcessId> {
    (0..u16::MAX).map(ProcessId).take(trace.processes.len())
}
