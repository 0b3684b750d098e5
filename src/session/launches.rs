//! The launches of a kernel: how long fast and slow ones take and how much memory moved meanwhile, the slowest, and who
//! launched them.

use rustc_hash::FxHashMap;

use super::gpu_details::{is_laid_out, is_migration};
use super::gpu_events::Context;
use super::view::{Half, Launches};
use crate::correlate::submitting_call;
use crate::graph::{WorkCell, WorkOf};
use crate::lens::Selected;
use crate::trace::activity::{LaneId, What};
use crate::trace::{Activity, ActivityKind, LaneOf, ProcessId};
use umtui_wire::activity as wire;

/// Most launches that are compared; of more every so many.
const COMPARED: u64 = 100_000;
/// Call sites that are named.
const SITES: usize = 4;

/// A launch.
#[derive(Clone, Copy, Debug)]
struct Launch {
    activity: Activity,
    process: ProcessId,
    lane: LaneId,
    row: usize,
}

impl Context<'_, '_> {
    /// What is known of the launches that these cells count, of a lens those that it selects. They are of one kernel.
    pub(super) fn launches(&self, cells: &[&WorkCell], selected: Option<&Selected>) -> Launches {
        let count = cells.iter().fold(0u64, |sum, cell| sum.saturating_add(cell.stats.sums.count));
        let stride = (count / COMPARED).saturating_add(1);
        let mut list: Vec<Launch> = Vec::new();
        let mut number = 0u64;
        for cell in cells {
            let (Some(lane), WorkOf::Kernel(text)) = (self.trace.activities.lane(cell.lane), cell.of) else { continue };
            lane.for_each(0, |row, activity| {
                let same = activity.kind == ActivityKind::Kernel
                    && activity.text() == text
                    && activity.device == cell.device
                    && activity.timed
                    && selected.is_none_or(|selected| selected.record(cell.lane, row));
                if same {
                    number += 1;
                    if number.is_multiple_of(stride) {
                        list.push(Launch { activity, process: lane.process, lane: cell.lane, row });
                    }
                }
            });
        }
        list.sort_by_key(|launch| (launch.activity.duration_ns, launch.activity.start_ns));
        let (fast, slow) = list.split_at(list.len() / 2);
        let grid = list.last().and_then(|slowest| {
            let lane = self.trace.activities.lane(slowest.lane)?;
            self.raw::<wire::Kernel>(lane, slowest.row).filter(is_laid_out).map(|kernel| (kernel.grid, kernel.block))
        });
        let (sites, more_sites) = self.sites(&list);
        Launches { compared: list.len() as u64, fast: self.half(fast), slow: self.half(slow), grid, sites, more_sites }
    }

    /// Durations of some launches, and what moved while any of them ran.
    fn half(&self, launches: &[Launch]) -> Option<Half> {
        let (first, last) = (launches.first()?, launches.last()?);
        let mut spans: FxHashMap<(ProcessId, u8), Vec<(u64, u64)>> = FxHashMap::default();
        for launch in launches {
            let key = (launch.process, launch.activity.device);
            spans.entry(key).or_default().push((launch.activity.start_ns, launch.activity.end_ns()));
        }
        let mut moved = Some(0u64);
        for ((process, device), spans) in spans {
            moved = moved.zip(self.moved(process, device, merged(spans))).map(|(sum, more)| sum.saturating_add(more));
        }
        Some(Half { min_ns: first.activity.duration_ns, max_ns: last.activity.duration_ns, moved })
    }

    /// Bytes of the pages that moved to or from a device at any of these times; `None` if that was not recorded.
    fn moved(&self, process: ProcessId, device: u8, spans: Vec<(u64, u64)>) -> Option<u64> {
        let activities = &self.trace.activities;
        if !activities.of(process)?.evidence.ever(What::Migrations) {
            return None;
        }
        let Some(lane) = activities.find(process, LaneOf::Unified).and_then(|id| activities.lane(id)) else {
            return Some(0);
        };
        let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Some(0) };
        let mut bytes = 0u64;
        lane.overlapping((first.0, last.1), |_, moved| {
            if is_migration(&moved) && moved.device == device && overlaps(&spans, (moved.start_ns, moved.end_ns())) {
                bytes = bytes.saturating_add(moved.value);
            }
        });
        Some(bytes)
    }

    /// The code that launched them with how often, the most frequent first, and how many more there are.
    fn sites(&self, launches: &[Launch]) -> (Vec<(String, u64)>, usize) {
        let mut sites: FxHashMap<_, u64> = FxHashMap::default();
        for launch in launches {
            let call = submitting_call(self.trace, launch.process, launch.activity.correlation);
            if let Some(call) = call.and_then(|(track, row, _)| self.outermost(track, row)) {
                *sites.entry(call.2.site).or_default() += 1;
            }
        }
        let mut named: FxHashMap<String, u64> = FxHashMap::default();
        let mut list: Vec<_> = sites.into_iter().collect();
        list.sort_by_key(|&(site, count)| (std::cmp::Reverse(count), site));
        for &(site, count) in list.iter().take(SITES * 4) {
            // Several places in one line of code have one name.
            *named.entry(self.namer.site(site)).or_default() += count;
        }
        let rest = list.len().saturating_sub(SITES * 4);
        let mut named: Vec<(String, u64)> = named.into_iter().collect();
        named.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let more = named.len().saturating_sub(SITES) + rest;
        named.truncate(SITES);
        (named, more)
    }
}

/// Spans in order, those that touch put together.
fn merged(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (from, to) in spans {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// Whether a span overlaps or touches any of the merged ones.
fn overlaps(merged: &[(u64, u64)], (from, to): (u64, u64)) -> bool {
    let next = merged.partition_point(|span| span.1 < from);
    merged.get(next).is_some_and(|span| span.0 <= to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_span_overlaps_what_it_overlaps_of_all(spans in prop::collection::vec((0u64..200, 0u64..20), 0..30), from in 0u64..220, length in 0u64..20) {
            let spans: Vec<(u64, u64)> = spans.into_iter().map(|(from, length)| (from, from + length)).collect();
            let to = from + length;
            let twin = spans.iter().any(|span| span.0 <= to && span.1 >= from);
            prop_assert_eq!(overlaps(&merged(spans), (from, to)), twin);
        }
    }
}
