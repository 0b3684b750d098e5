//! Who moves pages: records of unified memory tied to allocations by address and time, and what became of each page.

mod owners;
mod walk;

use std::sync::Arc;

use umtui_wire::activity as wire;

use super::happenings::told;
use super::pattern::Pattern;
use super::records::Records;
use super::residency::{Outcome, PAGE_BYTES, Shares};
use super::state::Cause;
use crate::correlate::{Allocation, Allocations};
use crate::trace::activity::{LaneId, TextId, What};
use crate::trace::{Activity, Bytes, ProcessId, Trace};

pub use walk::Walk;

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
    /// Records of moves.
    pub migrations: u64,
    /// Faults of the CPU.
    pub host_faults: u64,
    /// Records of faults of devices.
    pub device_faults: u64,
    /// Bytes of different pages that moved, each counted once.
    pub moved_once: u64,
    /// Bytes that moved back to where their move before had taken them from: divided by [`PAGE_BYTES`] the alternations of
    /// all pages.
    pub returned: u64,
    /// Alternations of the page that has most.
    pub most_returns: u32,
    /// Of what moved back, bytes that had been moved to a device without a fault (prefetched, or speculatively) and left it
    /// before any kernel, copy, set or graph ran there: both ways were for nothing. Of bytes on the host nothing shows whether
    /// they are used. `None`: what ran was not recorded.
    pub needless: Option<u64>,
    /// Of what moved back, bytes that eviction had moved away.
    pub evicted_back: u64,
    /// Bytes that eviction moved away.
    pub evicted: u64,
    /// Bytes that a prefetch call moved.
    pub prefetched: u64,
    /// Bytes that came to where they were already: records of their leaving are missing.
    pub contradicted: u64,
    /// Where its pages were when it was released, or are in the end.
    pub last: Shares,
    /// In which order the CPU met it. `None`: faults were not recorded.
    pub host_pattern: Option<Pattern>,
    /// In which order devices met it; of several the one with most faults. `None`: faults were not recorded.
    pub device_pattern: Option<Pattern>,
}

impl Movement {
    const fn none(process: ProcessId, allocation: Option<Allocation>) -> Self {
        Self {
            process,
            allocation,
            to_device: 0,
            to_host: 0,
            between: 0,
            migrations: 0,
            host_faults: 0,
            device_faults: 0,
            moved_once: 0,
            returned: 0,
            most_returns: 0,
            needless: None,
            evicted_back: 0,
            evicted: 0,
            prefetched: 0,
            contradicted: 0,
            last: Shares { host: 0, device: 0, several: 0, unknown: 0 },
            host_pattern: None,
            device_pattern: None,
        }
    }

    /// Bytes that moved in all; saturates.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.to_device.saturating_add(self.to_host).saturating_add(self.between)
    }

    /// Faults of the CPU, and records of faults of devices.
    #[must_use]
    pub const fn faults(&self) -> u64 {
        self.host_faults.saturating_add(self.device_faults)
    }

    /// Round trips and half ones of all its pages together: how often a page went back to where it had come from.
    #[must_use]
    pub const fn alternations(&self) -> u64 {
        self.returned / PAGE_BYTES
    }

    fn outcome(&mut self, outcome: Outcome) {
        let add = |sum: &mut u64, pages: u64| *sum = sum.saturating_add(pages.saturating_mul(PAGE_BYTES));
        add(&mut self.moved_once, outcome.first);
        add(&mut self.returned, outcome.returned);
        add(&mut self.evicted_back, outcome.evicted);
        add(&mut self.contradicted, outcome.contradicted);
        if let Some(needless) = &mut self.needless {
            add(needless, outcome.needless);
        }
        self.most_returns = self.most_returns.max(outcome.most_returns);
    }

    /// Bytes that one record moved.
    fn moved(&mut self, activity: &Activity, bytes: u64) {
        let add = |sum: &mut u64, wanted: bool| *sum = sum.saturating_add(if wanted { bytes } else { 0 });
        let (counter, cause) = (activity.unified().0, Cause::of(activity));
        add(&mut self.to_device, counter == wire::UNIFIED_TO_DEVICE);
        add(&mut self.to_host, counter == wire::UNIFIED_TO_HOST);
        add(&mut self.between, counter == wire::UNIFIED_BETWEEN_DEVICES);
        add(&mut self.evicted, cause == Cause::Eviction);
        add(&mut self.prefetched, cause == Cause::User);
        self.migrations += 1;
    }
}

/// What moved while kernels of one name ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Process.
    pub process: ProcessId,
    /// The kernel; `None`: no kernel ran on the device.
    pub kernel: Option<TextId>,
    /// Bytes that moved to the device on which it ran.
    pub to_device: u64,
    /// Bytes that moved from there to the host.
    pub to_host: u64,
    /// Bytes that moved to there from other devices.
    pub between: u64,
    /// Records of moves.
    pub migrations: u64,
}

impl Overlap {
    const fn none(process: ProcessId, kernel: Option<TextId>) -> Self {
        Self { process, kernel, to_device: 0, to_host: 0, between: 0, migrations: 0 }
    }

    /// Bytes that moved in all; saturates.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.to_device.saturating_add(self.to_host).saturating_add(self.between)
    }
}

/// What moved, by allocation and by what ran meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Movements {
    /// Allocations whose pages moved or were missed, the most bytes first.
    pub allocations: Vec<Movement>,
    /// Names of kernels, the most bytes first. What began to move while several ran counts for each of them, so these do not
    /// add up. `None`: kernels were not recorded.
    pub kernels: Option<Vec<Overlap>>,
}

/// All processes' movements; `None` if no migrations were recorded. `files` are those of the trace, `allocations` those of
/// each of its processes. Only records that are wanted count, but where pages are follows from all of them.
#[must_use]
pub fn movements(
    trace: &Trace,
    files: &[Arc<dyn Bytes>],
    allocations: &[Arc<Allocations>],
    wanted: &dyn Fn(LaneId, usize) -> bool,
) -> Option<Movements> {
    if !trace.activities.recorded(What::Migrations) {
        return None;
    }
    let mut all = Movements::default();
    let (records, mut kernels) = (Records::of(trace), Vec::new());
    for (process, allocations) in (0..u16::MAX).map(ProcessId).zip(allocations) {
        if records.unified(process).is_none() {
            continue;
        }
        let told = told(trace, process, files, allocations);
        let Some(mut walk) = Walk::of(&records, process, told) else { continue };
        while !walk.go_on(&records, allocations, wanted, usize::MAX) {}
        let (found, by_kernel) = walk.finish(trace);
        all.allocations.extend(found);
        kernels.extend(by_kernel);
    }
    let address = |one: &Movement| one.allocation.map(|allocation| (allocation.address, allocation.from_ns));
    all.allocations.sort_by_key(|one| (std::cmp::Reverse((one.bytes(), one.faults())), one.process, address(one)));
    kernels.sort_by_key(|one: &Overlap| (std::cmp::Reverse(one.bytes()), one.process, one.kernel));
    all.kernels = trace.activities.recorded(What::Activity).then_some(kernels);
    Some(all)
}

#[cfg(test)]
mod tests;
