//! Who moves pages: records of unified memory, tied to allocations by address and time.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use umtui_wire::activity as wire;

use crate::trace::activity::{LaneId, What};
use crate::trace::{ActivityKind, Bytes, LaneOf, ProcessId, Trace};

use super::allocation::{Allocation, Allocations};

/// What became of an allocation's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Process.
    pub process: ProcessId,
    /// The allocation; `None`: all memory that no call was seen to allocate, such as variables in managed memory and
    /// the system's.
    pub allocation: Option<Allocation>,
    /// Bytes that moved to devices.
    pub to_device: u64,
    /// Bytes that moved to the host.
    pub to_host: u64,
    /// Bytes that moved between devices.
    pub between: u64,
    /// Faults of the CPU, and records of faults of devices.
    pub faults: u64,
}

impl Migrated {
    /// Bytes that moved in all; saturates.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.to_device.saturating_add(self.to_host).saturating_add(self.between)
    }
}

/// Allocations whose pages moved or were missed, the most bytes first; `None` if no migrations were recorded. `files` are
/// those of the trace, and only records that are wanted count.
#[must_use]
pub fn migrated(
    trace: &Trace,
    files: &[Arc<dyn Bytes>],
    wanted: &dyn Fn(LaneId, usize) -> bool,
) -> Option<Vec<Migrated>> {
    if !trace.activities.recorded(What::Migrations) {
        return None;
    }
    let processes = (0..u16::MAX).map(ProcessId).take(trace.processes.len());
    let mut list: Vec<Migrated> = processes.flat_map(|process| of_process(trace, process, files, wanted)).collect();
    let address = |one: &Migrated| one.allocation.map(|allocation| (allocation.address, allocation.from_ns));
    list.sort_by_key(|one| (std::cmp::Reverse((one.bytes(), one.faults)), one.process, address(one)));
    Some(list)
}

fn of_process(
    trace: &Trace,
    process: ProcessId,
    files: &[Arc<dyn Bytes>],
    wanted: &dyn Fn(LaneId, usize) -> bool,
) -> Vec<Migrated> {
    let found = trace.activities.find(process, LaneOf::Unified);
    let lane = found.and_then(|id| Some((id, trace.activities.lane(id)?)));
    let Some((id, lane)) = lane.filter(|(_, lane)| !lane.is_empty()) else { return Vec::new() };
    let allocations = Allocations::of(trace, process, files);
    let mut sums: FxHashMap<Option<usize>, Migrated> = FxHashMap::default();
    lane.for_each(0, |row, activity| {
        if activity.kind != ActivityKind::Unified || !wanted(id, row) {
            return;
        }
        let (counter, _) = activity.unified();
        let is_move =
            matches!(counter, wire::UNIFIED_TO_DEVICE | wire::UNIFIED_TO_HOST | wire::UNIFIED_BETWEEN_DEVICES);
        let is_fault = matches!(counter, wire::UNIFIED_CPU_FAULT | wire::UNIFIED_GPU_FAULT);
        if !is_move && !is_fault {
            return;
        }
        let found = allocations.find(activity.address, activity.start_ns);
        let sum = sums.entry(found).or_insert_with(|| Migrated {
            process,
            allocation: found.and_then(|index| allocations.all().get(index)).copied(),
            to_device: 0,
            to_host: 0,
            between: 0,
            faults: 0,
        });
        let place = match counter {
            wire::UNIFIED_TO_DEVICE => &mut sum.to_device,
            wire::UNIFIED_TO_HOST => &mut sum.to_host,
            wire::UNIFIED_BETWEEN_DEVICES => &mut sum.between,
            _ => &mut sum.faults,
        };
        *place = place.saturating_add(if is_fault { 1 } else { activity.value });
    });
    sums.into_values().collect()
}
