//! Who moves pages: records of unified memory tied to allocations by address and time, and what became of each page.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use umtui_wire::activity as wire;

use super::happenings::{Feed, Next, Told, of_record, told};
use super::pattern::{Faults, Pattern};
use super::residency::{Happening, Outcome, PAGE_BYTES, Place, Residency, Shares, Use, pages};
use super::running::Running;
use super::state::Cause;
use crate::correlate::{Allocation, Allocations};
use crate::trace::activity::{Lane, LaneId, TextId, What};
use crate::trace::{Activity, Bytes, LaneOf, ProcessId, Trace};

/// Kernels that are told apart, in each process.
const MOST_KERNELS: usize = 1 << 16;

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
    let mut kernels = Vec::new();
    for (process, allocations) in (0..u16::MAX).map(ProcessId).zip(allocations) {
        let Some(mut walk) = Walk::of(trace, process, files, allocations) else { continue };
        while !walk.go_on(trace, allocations, wanted, usize::MAX) {}
        let (found, by_kernel) = walk.finish(trace, allocations);
        all.allocations.extend(found);
        kernels.extend(by_kernel);
    }
    let address = |one: &Movement| one.allocation.map(|allocation| (allocation.address, allocation.from_ns));
    all.allocations.sort_by_key(|one| (std::cmp::Reverse((one.bytes(), one.faults())), one.process, address(one)));
    kernels.sort_by_key(|one: &Overlap| (std::cmp::Reverse(one.bytes()), one.process, one.kernel));
    all.kernels = trace.activities.recorded(What::Activity).then_some(kernels);
    Some(all)
}

/// Goes through the records of a process in order of time, by slices, and through what calls have told by then. For records
/// that come while it is under way, begin anew.
pub struct Walk {
    process: ProcessId,
    lane: LaneId,
    told: Vec<Told>,
    feed: Feed,
    running: Running,
    residency: Residency,
    sums: FxHashMap<Option<u32>, Movement>,
    faults: FxHashMap<(Option<u32>, Place), (u64, Faults)>,
    kernels: FxHashMap<Option<TextId>, Overlap>,
    names: Vec<TextId>,
    has_faults: bool,
}

impl Walk {
    /// Before the first record; `None` if a process has none.
    #[must_use]
    pub fn of(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>], allocations: &Allocations) -> Option<Self> {
        let lane = trace.activities.find(process, LaneOf::Unified)?;
        trace.activities.lane(lane).filter(|lane| !lane.is_empty())?;
        Some(Self::with(trace, process, lane, told(trace, process, files, allocations)))
    }

    fn with(trace: &Trace, process: ProcessId, lane: LaneId, told: Vec<Told>) -> Self {
        Self {
            process,
            lane,
            told,
            feed: Feed::default(),
            running: Running::of(trace, process),
            residency: Residency::default(),
            sums: FxHashMap::default(),
            faults: FxHashMap::default(),
            kernels: FxHashMap::default(),
            names: Vec::new(),
            has_faults: trace.activities.recorded(What::Faults),
        }
    }

    /// Goes through so many more records at most; true when it has gone through all. `allocations` are those it began with.
    pub fn go_on(
        &mut self,
        trace: &Trace,
        allocations: &Allocations,
        wanted: &dyn Fn(LaneId, usize) -> bool,
        most: usize,
    ) -> bool {
        let Some(lane) = trace.activities.lane(self.lane) else { return true };
        for _ in 0..most {
            if self.feed.take(lane).is_some() {
                self.begin_anew(trace, lane);
            }
            match self.feed.next(lane, &self.told) {
                None => break,
                Some(Next::Told(index)) => self.tell(index, allocations),
                Some(Next::Row(row, activity)) => {
                    let wanted = wanted(self.lane, row);
                    self.row(trace, &activity, allocations, wanted);
                }
            }
        }
        self.feed.is_done(lane, &self.told)
    }

    fn begin_anew(&mut self, trace: &Trace, lane: &Lane) {
        let mut anew = Self::with(trace, self.process, self.lane, std::mem::take(&mut self.told));
        std::mem::swap(&mut anew.feed, &mut self.feed);
        anew.feed.rewind(lane, &anew.told, 0);
        *self = anew;
    }

    fn tell(&mut self, index: usize, allocations: &Allocations) {
        let Some(told) = self.told.get(index).copied() else { return };
        if let Some(ended) = told.ends
            && let Some(sum) = self.sums.get_mut(&Some(ended))
            && let Some(one) = allocations.all().get(ended as usize)
        {
            let (first, after) = pages(one.address, one.bytes);
            sum.last = self.residency.shares(first, after);
        }
        self.residency.happen(told.pages, told.what, Use::NONE);
    }

    fn sum(&mut self, found: Option<u32>, allocations: &Allocations) -> &mut Movement {
        let recorded = self.running.is_recorded();
        self.sums.entry(found).or_insert_with(|| {
            let allocation = found.and_then(|index| allocations.all().get(index as usize)).copied();
            Movement { needless: recorded.then_some(0), ..Movement::none(self.process, allocation) }
        })
    }

    fn row(&mut self, trace: &Trace, activity: &Activity, allocations: &Allocations, wanted: bool) {
        let Some((range, what)) = of_record(activity) else { return };
        self.running.go_to(trace, activity.start_ns);
        match what {
            Happening::Touched { by, .. } => self.fault(activity, (range, what, by), allocations, wanted),
            Happening::Moved { .. } => self.moved(activity, range, what, allocations, wanted),
            _ => {
                self.residency.happen(range, what, Use::NONE);
            }
        }
    }

    fn fault(
        &mut self,
        activity: &Activity,
        (range, what, by): ((u64, u64), Happening, Place),
        allocations: &Allocations,
        wanted: bool,
    ) {
        let found = allocations.find(activity.address, activity.start_ns).map(|index| index as u32);
        if wanted {
            let sum = self.sum(found, allocations);
            match by {
                Place::Host => sum.host_faults += 1,
                Place::Device(_) => sum.device_faults += 1,
            }
            let empty = || (0, Faults::new(by != Place::Host));
            let (count, faults) = self.faults.entry((found, by)).or_insert_with(empty);
            *count += 1;
            let span = (activity.start_ns, activity.end_ns());
            faults.push(range.0, span, |from, to| self.residency.all_at(from, to, by));
        }
        self.residency.happen(range, what, Use::NONE);
    }

    fn moved(
        &mut self,
        activity: &Activity,
        (mut page, last): (u64, u64),
        what: Happening,
        allocations: &Allocations,
        wanted: bool,
    ) {
        let work = self.running.usage(activity.device);
        let end = activity.address.saturating_add(activity.value);
        while page < last {
            let (found, until) = owner(allocations, (page, last), activity.start_ns);
            let outcome = self.residency.happen((page, until), what, work);
            if wanted {
                let from = page.saturating_mul(PAGE_BYTES).max(activity.address);
                let bytes = until.saturating_mul(PAGE_BYTES).min(end).saturating_sub(from);
                let sum = self.sum(found.map(|index| index as u32), allocations);
                sum.moved(activity, bytes);
                sum.outcome(outcome);
            }
            page = until;
        }
        if wanted && self.running.is_recorded() {
            self.overlap(activity);
        }
    }

    fn overlap(&mut self, activity: &Activity) {
        let mut names = std::mem::take(&mut self.names);
        self.running.kernels(activity.device, &mut names);
        let mut add = |kernel: Option<TextId>| {
            if self.kernels.len() >= MOST_KERNELS && !self.kernels.contains_key(&kernel) {
                return;
            }
            let empty = Overlap::none(self.process, kernel);
            let sum = self.kernels.entry(kernel).or_insert(empty);
            let place = match activity.unified().0 {
                wire::UNIFIED_TO_DEVICE => &mut sum.to_device,
                wire::UNIFIED_TO_HOST => &mut sum.to_host,
                _ => &mut sum.between,
            };
            *place = place.saturating_add(activity.value);
            sum.migrations += 1;
        };
        if names.is_empty() {
            add(None);
        }
        names.iter().for_each(|&name| add(Some(name)));
        self.names = names;
    }

    /// What was found, in no order.
    #[must_use]
    pub fn finish(mut self, trace: &Trace, allocations: &Allocations) -> (Vec<Movement>, Vec<Overlap>) {
        for (index, sum) in &mut self.sums {
            let one = index.and_then(|index| allocations.all().get(index as usize));
            if let Some(one) = one.filter(|one| !one.has_ended()) {
                let (first, after) = pages(one.address, one.bytes);
                sum.last = self.residency.shares(first, after);
            }
            if self.has_faults {
                sum.host_pattern = Some(Pattern::Undecided);
                sum.device_pattern = Some(Pattern::Undecided);
            }
        }
        let mut faults: Vec<_> = self.faults.into_iter().collect();
        // The device with most faults comes last.
        faults.sort_by_key(|((_, place), (count, _))| (*count, std::cmp::Reverse(*place)));
        for ((found, place), (_, faults)) in faults {
            let Some(sum) = self.sums.get_mut(&found) else { continue };
            let pattern = if place == Place::Host { &mut sum.host_pattern } else { &mut sum.device_pattern };
            *pattern = Some(faults.pattern());
        }
        // A name is looked up late: the same may have had two numbers.
        let mut kernels: FxHashMap<Option<u32>, Overlap> = FxHashMap::default();
        for one in self.kernels.into_values() {
            let name = one.kernel.map(|text| trace.activities.name(text).0);
            let sum =
                kernels.entry(name).or_insert(Overlap { to_device: 0, to_host: 0, between: 0, migrations: 0, ..one });
            sum.to_device = sum.to_device.saturating_add(one.to_device);
            sum.to_host = sum.to_host.saturating_add(one.to_host);
            sum.between = sum.between.saturating_add(one.between);
            sum.migrations += one.migrations;
            sum.kernel = sum.kernel.min(one.kernel);
        }
        (self.sums.into_values().collect(), kernels.into_values().collect())
    }
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

#[cfg(test)]
mod tests;
