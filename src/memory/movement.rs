//! Who moves pages: records of unified memory tied to allocations by address and time, and what became of each page.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use umtui_wire::activity as wire;

use super::residency::{Happening, Outcome, PAGE_BYTES, Place, Residency, pages};
use crate::correlate::calls::{Found, Records, bare, choose, each};
use crate::correlate::{Allocation, AllocationKind, Allocations};
use crate::trace::activity::{Lane, LaneId, What};
use crate::trace::{Activity, ActivityKind, Argument, Bytes, LaneOf, ProcessId, Trace};

/// `cudaMemAdviseSetReadMostly` and the driver's like, and that which takes it back.
const READ_MOSTLY: [u64; 2] = [1, 2];
/// Accesses of a fault that write: `CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE` and `..._ATOMIC`.
const WRITES: [u8; 2] = [2, 3];

/// What became of an allocation's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movement {
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
    /// Bytes of different pages that moved, each counted once.
    pub moved_once: u64,
    /// Bytes that moved back to where their move before had taken them from.
    pub returned: u64,
    /// Bytes that came to where they were already: records of their leaving are missing.
    pub contradicted: u64,
}

impl Movement {
    const fn none(process: ProcessId, allocation: Option<Allocation>) -> Self {
        Self {
            process,
            allocation,
            to_device: 0,
            to_host: 0,
            between: 0,
            faults: 0,
            moved_once: 0,
            returned: 0,
            contradicted: 0,
        }
    }

    /// Bytes that moved in all; saturates.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.to_device.saturating_add(self.to_host).saturating_add(self.between)
    }

    fn outcome(&mut self, outcome: Outcome) {
        let add = |sum: &mut u64, pages: u64| *sum = sum.saturating_add(pages.saturating_mul(PAGE_BYTES));
        add(&mut self.moved_once, outcome.first);
        add(&mut self.returned, outcome.returned);
        add(&mut self.contradicted, outcome.contradicted);
    }
}

/// Allocations whose pages moved or were missed, the most bytes first; `None` if no migrations were recorded. `files` are
/// those of the trace, `allocations` those of each of its processes. Only records that are wanted count, but where pages are follows from all of them.
#[must_use]
pub fn movements(
    trace: &Trace,
    files: &[Arc<dyn Bytes>],
    allocations: &[Arc<Allocations>],
    wanted: &dyn Fn(LaneId, usize) -> bool,
) -> Option<Vec<Movement>> {
    if !trace.activities.recorded(What::Migrations) {
        return None;
    }
    let processes = (0..u16::MAX).map(ProcessId).zip(allocations);
    let mut list: Vec<Movement> =
        processes.flat_map(|(process, allocations)| of_process(trace, process, files, allocations, wanted)).collect();
    let address = |one: &Movement| one.allocation.map(|allocation| (allocation.address, allocation.from_ns));
    list.sort_by_key(|one| (std::cmp::Reverse((one.bytes(), one.faults)), one.process, address(one)));
    Some(list)
}

fn of_process(
    trace: &Trace,
    process: ProcessId,
    files: &[Arc<dyn Bytes>],
    allocations: &Allocations,
    wanted: &dyn Fn(LaneId, usize) -> bool,
) -> Vec<Movement> {
    let found = trace.activities.find(process, LaneOf::Unified);
    let lane = found.and_then(|id| Some((id, trace.activities.lane(id)?)));
    let Some((id, lane)) = lane.filter(|(_, lane)| !lane.is_empty()) else { return Vec::new() };
    let mut told = fresh(allocations);
    advice(trace, process, files, &mut told);
    told.sort_by_key(|told| told.at_ns);
    walk(process, lane, allocations, &told, |row| wanted(id, row))
}

/// Something that calls say of pages.
#[derive(Clone, Copy, Debug)]
struct Told {
    at_ns: u64,
    pages: (u64, u64),
    what: Happening,
}

/// New allocations: nothing is known of their pages any more.
fn fresh(allocations: &Allocations) -> Vec<Told> {
    let managed = allocations.all().iter().filter(|one| one.kind == AllocationKind::Managed);
    let told =
        |one: &Allocation| Told { at_ns: one.from_ns, pages: pages(one.address, one.bytes), what: Happening::Fresh };
    managed.map(told).collect()
}

fn advice(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>], told: &mut Vec<Told>) {
    struct Advises {
        address: Argument,
        bytes: Argument,
        advice: Argument,
    }
    let chosen = choose(trace, |api, base| {
        let argument = |role| api.signature.role(role).cloned();
        if bare(base) != "MemAdvise" {
            return None;
        }
        Some(Advises { address: argument("ptr")?, bytes: argument("bytes")?, advice: argument("advice")? })
    });
    let mut records = Records::of(trace, process, files);
    each(trace, process, &chosen, |found: Found<'_, Advises>| {
        if found.call.depth != 0 || found.call.flags.failed() {
            return;
        }
        let Some(record) = records.read(&found) else { return };
        let number = |argument| record.number(argument);
        if let (Some(address), Some(bytes), Some(advice)) =
            (number(&found.what.address), number(&found.what.bytes), number(&found.what.advice))
            && let Some(which) = READ_MOSTLY.iter().position(|&one| one == advice)
        {
            let what = Happening::ReadMostly(which == 0);
            told.push(Told { at_ns: found.call.end_ns(), pages: pages(address, bytes), what });
        }
    });
}

/// Goes through the records in order of time, and through what calls have told by then.
fn walk(
    process: ProcessId,
    lane: &Lane,
    allocations: &Allocations,
    told: &[Told],
    wanted: impl Fn(usize) -> bool,
) -> Vec<Movement> {
    let mut residency = Residency::default();
    let mut sums: FxHashMap<Option<usize>, Movement> = FxHashMap::default();
    let mut told = told.iter().peekable();
    for &row in lane.in_order().rows().iter() {
        let row = row as usize;
        let Some(activity) = lane.get(row) else { continue };
        while let Some(told) = told.next_if(|told| told.at_ns <= activity.start_ns) {
            residency.happen(told.pages, told.what);
        }
        let Some((what, bytes)) = happening(&activity) else { continue };
        let wanted = wanted(row);
        let mut sum = |found: Option<usize>, bytes: u64, outcome: Outcome| {
            if !wanted {
                return;
            }
            let allocation = found.and_then(|index| allocations.all().get(index)).copied();
            let sum = sums.entry(found).or_insert_with(|| Movement::none(process, allocation));
            let place = match activity.unified().0 {
                wire::UNIFIED_TO_DEVICE => &mut sum.to_device,
                wire::UNIFIED_TO_HOST => &mut sum.to_host,
                wire::UNIFIED_BETWEEN_DEVICES => &mut sum.between,
                _ => &mut sum.faults,
            };
            *place = place.saturating_add(bytes);
            sum.outcome(outcome);
        };
        let Some(bytes) = bytes else {
            let page = activity.address / PAGE_BYTES;
            let outcome = residency.happen((page, page.saturating_add(1)), what);
            sum(allocations.find(activity.address, activity.start_ns), 1, outcome);
            continue;
        };
        let end = activity.address.saturating_add(bytes);
        let (mut page, last) = pages(activity.address, bytes);
        while page < last {
            let (found, until) = owner(allocations, (page, last), activity.start_ns);
            let outcome = residency.happen((page, until), what);
            let from = page.saturating_mul(PAGE_BYTES).max(activity.address);
            sum(found, until.saturating_mul(PAGE_BYTES).min(end).saturating_sub(from), outcome);
            page = until;
        }
    }
    sums.into_values().collect()
}

/// The allocation that pages from the first on are of, and the first page that is not, at most the second. A page that
/// several allocations share is of the first of them.
fn owner(allocations: &Allocations, (page, last): (u64, u64), at_ns: u64) -> (Option<usize>, u64) {
    let address = page.saturating_mul(PAGE_BYTES);
    let next = allocations.next_base(address).unwrap_or(u64::MAX);
    let on_page = || Some(next).filter(|next| next / PAGE_BYTES == page).and_then(|next| allocations.find(next, at_ns));
    let found = allocations.find(address, at_ns).or_else(on_page);
    let until = match found.and_then(|index| allocations.all().get(index)) {
        Some(one) => pages(one.address, one.bytes).1,
        None => next / PAGE_BYTES,
    };
    (found, until.clamp(page.saturating_add(1), last))
}

/// What a record says happened, and of a move how many bytes moved; `None`: nothing that counts here.
fn happening(activity: &Activity) -> Option<(Happening, Option<u64>)> {
    if activity.kind != ActivityKind::Unified {
        return None;
    }
    let (counter, flags) = activity.unified();
    let device = Place::Device(activity.device);
    let moved = |from, to| Some((Happening::Moved { from, to }, Some(activity.value)));
    let touched = |by| Some((Happening::Touched { by, writes: WRITES.contains(&flags) }, None));
    match counter {
        wire::UNIFIED_TO_DEVICE => moved(Some(Place::Host), device),
        wire::UNIFIED_TO_HOST => moved(Some(device), Place::Host),
        wire::UNIFIED_BETWEEN_DEVICES => moved(None, device),
        wire::UNIFIED_CPU_FAULT => touched(Place::Host),
        wire::UNIFIED_GPU_FAULT => touched(device),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
