//! Where the pages of one managed allocation live, and how they move: pure bookkeeping, no memory is touched here.
//!
//! The rules follow what an H200 with driver 580 was seen to do, and the open part of its driver: a CPU fault takes the
//! 4 KiB page by coherence and a region round it by speculative prefetch, where the region is the 64 KiB block or the
//! largest power-of-two subtree of the 2 MiB block that is more than 51 % resident already. So a sequential walk over
//! 2 MiB faults six times, which is what the counters of the real machine say. A kernel's faults come in groups.
//!
//! Nothing here allocates after construction, because CPU faults are served inside a SIGSEGV handler.

use crate::config::Rng;

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Pages of a 2 MiB block, the driver's unit of migration.
pub const BLOCK: usize = 512;
/// Pages of a 64 KiB block, the least a fault brings in.
pub const BIG: usize = 16;
/// Occupancy above which the prefetcher takes a whole subtree, in percent.
const DENSITY: usize = 51;
/// Pages that one GPU fault group serves before the next one begins.
const GROUP: usize = 172;

/// A place where pages can be: 0 the host, 1 + n device n.
pub type Place = u8;
/// The host's place.
pub const HOST: Place = 0;

/// The place of a device.
pub const fn device(ordinal: usize) -> Place {
    ordinal as Place + 1
}

/// Why pages moved; the numbers are those of CUPTI's migration causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Cause {
    /// An explicit prefetch.
    User = 1,
    /// A fault.
    Coherence = 2,
    /// Speculation beside a fault.
    Prefetch = 3,
    /// Room was needed.
    Eviction = 4,
}

/// What happened to a run of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The pages left `from` and are at `to` alone.
    Moved { from: Place, to: Place, cause: Cause },
    /// The pages are at `to` as well as at `from`.
    Copied { from: Place, to: Place, cause: Cause },
    /// The pages had no memory and got it at `to`: nothing was transferred.
    Populated { to: Place },
    /// All copies but the one at `keep` were dropped.
    Collapsed { keep: Place },
    /// `who` mapped the pages where they are, at `at`.
    Remote { who: Place, at: Place },
    /// The CPU faulted on the first page.
    CpuFault { write: bool },
    /// A device's fault group began at the first page.
    GpuFaultGroup { who: Place, write: bool },
}

/// A run of pages and what happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// First page.
    pub first: usize,
    /// Number of pages.
    pub count: usize,
    /// What happened.
    pub change: Change,
}

/// What the CPU may do with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Protection {
    /// Any touch faults.
    None = 0,
    /// A write faults: there are copies elsewhere.
    Read = 1,
    /// All.
    ReadWrite = 2,
}

/// One page's state. All zero: unpopulated, no advice.
#[derive(Clone, Copy, Default, Debug)]
pub struct Page {
    /// One bit a place.
    pub resident: u8,
    /// Devices advised as accessors, one bit a place.
    pub accessed_by: u8,
    /// Preferred location: 0 none, else place + 1.
    pub preferred: u8,
    /// Last prefetch destination: 0 none, else place + 1.
    pub prefetched: u8,
    /// Advised as mostly read.
    pub read_mostly: bool,
    /// The protection that the CPU's mapping has.
    pub mapped: u8,
}

impl Page {
    /// Whether the page is (also) at a place.
    pub fn at(self, place: Place) -> bool {
        self.resident & (1 << place) != 0
    }

    fn only_at(self, place: Place) -> bool {
        self.resident == 1 << place
    }

    /// The place a copy is taken from: the lowest that has the page.
    fn source(self) -> Place {
        self.resident.trailing_zeros() as Place
    }

    /// What the CPU may do now.
    pub fn protection(self) -> Protection {
        if !self.at(HOST) {
            Protection::None
        } else if self.only_at(HOST) {
            Protection::ReadWrite
        } else {
            Protection::Read
        }
    }
}

/// Advice for a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Set or unset read-mostly.
    ReadMostly(bool),
    /// Set (to a place) or unset the preferred location.
    Preferred(Option<Place>),
    /// Set or unset a place as accessor.
    AccessedBy(Place, bool),
}

/// The pages of one allocation.
pub struct Space {
    pages: Vec<Page>,
    resident: [u64; 8],
    dirty: (usize, usize),
}

impl Space {
    /// An unpopulated space.
    pub fn new(pages: usize) -> Self {
        Self { pages: vec![Page::default(); pages], resident: [0; 8], dirty: (usize::MAX, 0) }
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// A page's state (default for one outside).
    pub fn page(&self, index: usize) -> Page {
        self.pages.get(index).copied().unwrap_or_default()
    }

    /// Records the protection that the CPU's mapping now has.
    pub fn set_mapped(&mut self, index: usize, protection: Protection) {
        if let Some(page) = self.pages.get_mut(index) {
            page.mapped = protection as u8;
        }
    }

    /// Pages (also) at a place.
    pub fn resident(&self, place: Place) -> u64 {
        self.resident.get(usize::from(place)).copied().unwrap_or(0)
    }

    /// The range of pages whose protection may be out of date, and forgets it.
    pub fn take_dirty(&mut self) -> std::ops::Range<usize> {
        let (low, high) = std::mem::replace(&mut self.dirty, (usize::MAX, 0));
        low.min(high)..high
    }

    fn set_resident(&mut self, index: usize, mask: u8) {
        let Some(page) = self.pages.get_mut(index) else { return };
        let old = std::mem::replace(&mut page.resident, mask);
        for (place, count) in self.resident.iter_mut().enumerate() {
            let bit = 1u8 << place;
            match (old & bit != 0, mask & bit != 0) {
                (false, true) => *count += 1,
                (true, false) => *count = count.saturating_sub(1),
                _ => {}
            }
        }
        self.dirty = (self.dirty.0.min(index), self.dirty.1.max(index + 1));
    }

    /// The region that a fault of `place` at `index` brings in.
    fn region(&self, index: usize, place: Place) -> (usize, usize) {
        let block = index / BLOCK * BLOCK;
        let end = (block + BLOCK).min(self.len());
        let low = index / BIG * BIG;
        let high = (low + BIG).min(end);
        let mut region = (low, high);
        let mut size = BIG * 2;
        while size <= BLOCK {
            let first = block + (index - block) / size * size;
            let last = (first + size).min(end);
            let held = (first..last).filter(|&i| (low..high).contains(&i) || self.page(i).at(place)).count();
            if held * 100 > (last - first) * DENSITY {
                region = (first, last);
            }
            size *= 2;
        }
        region
    }

    /// How page `index` would come to `place`, or `None` where it is there already.
    fn plan(&self, index: usize, place: Place, write: bool, cause: Cause) -> Option<Change> {
        let page = self.page(index);
        if page.at(place) {
            return (write && !page.only_at(place)).then_some(Change::Collapsed { keep: place });
        }
        if page.resident == 0 {
            return Some(Change::Populated { to: place });
        }
        let from = page.source();
        Some(if page.read_mostly && !write {
            Change::Copied { from, to: place, cause }
        } else {
            Change::Moved { from, to: place, cause }
        })
    }

    fn apply(&mut self, index: usize, change: Change) {
        let old = self.page(index).resident;
        match change {
            Change::Moved { to, .. } | Change::Populated { to } => self.set_resident(index, 1 << to),
            Change::Copied { to, .. } => self.set_resident(index, old | 1 << to),
            Change::Collapsed { keep } => self.set_resident(index, 1 << keep),
            Change::Remote { .. } | Change::CpuFault { .. } | Change::GpuFaultGroup { .. } => {}
        }
    }

    /// Brings `first..last` to `place` in runs of pages that fare alike, each inside one 2 MiB block.
    fn bring(
        &mut self,
        first: usize,
        last: usize,
        place: Place,
        write: bool,
        cause: Cause,
        sink: &mut dyn FnMut(Step),
    ) -> usize {
        let mut changed = 0;
        let mut run: Option<Step> = None;
        for index in first..last.min(self.len()) {
            let plan = self.plan(index, place, write, cause);
            if let Some(change) = plan {
                self.apply(index, change);
                changed += 1;
            }
            run = match (run, plan) {
                (Some(step), Some(change)) if step.change == change && !index.is_multiple_of(BLOCK) => {
                    Some(Step { count: step.count + 1, ..step })
                }
                (old, plan) => {
                    if let Some(step) = old {
                        sink(step);
                    }
                    plan.map(|change| Step { first: index, count: 1, change })
                }
            };
        }
        if let Some(step) = run {
            sink(step);
        }
        changed
    }

    /// The CPU touched a page whose mapping did not allow it.
    pub fn cpu_access(&mut self, index: usize, write: bool, sink: &mut dyn FnMut(Step)) {
        let page = self.page(index);
        if index >= self.len() || (page.at(HOST) && (!write || page.only_at(HOST))) {
            return;
        }
        sink(Step { first: index, count: 1, change: Change::CpuFault { write } });
        if page.at(HOST) {
            self.bring(index, index + 1, HOST, true, Cause::Coherence, sink);
            return;
        }
        let (low, high) = self.region(index, HOST);
        self.bring(index, index + 1, HOST, write, Cause::Coherence, sink);
        // What is fetched on speculation is only read so far: mostly-read pages keep their other copies.
        self.bring(low, index, HOST, false, Cause::Prefetch, sink);
        self.bring(index + 1, high, HOST, false, Cause::Prefetch, sink);
    }

    /// Whether `who` should use the page where it is instead of moving it.
    fn stays_remote(page: Page, who: Place, write: bool) -> bool {
        if page.read_mostly && !write {
            return false;
        }
        let elsewhere = page.preferred != 0 && page.preferred != who + 1;
        let settled = page.preferred != 0 && page.at(page.preferred - 1);
        (elsewhere && settled) || (page.accessed_by & (1 << who) != 0 && page.preferred != who + 1)
    }

    /// A kernel on `who` touches the pages `first..last`, which lie in one 2 MiB block. Returns the pages transferred.
    pub fn gpu_access(
        &mut self,
        who: Place,
        first: usize,
        last: usize,
        write: bool,
        rng: &mut Rng,
        sink: &mut dyn FnMut(Step),
    ) -> usize {
        let last = last.min(self.len());
        let mut served = GROUP;
        let mut moved = 0;
        let mut index = first;
        while index < last {
            let page = self.page(index);
            if page.at(who) {
                if write && !page.only_at(who) {
                    self.apply(index, Change::Collapsed { keep: who });
                    sink(Step { first: index, count: 1, change: Change::Collapsed { keep: who } });
                }
                index += 1;
                continue;
            }
            if let Some(end) = self.remote_run(who, index, last, write, sink) {
                index = end;
                continue;
            }
            if served >= GROUP {
                served = 0;
                sink(Step { first: index, count: 1, change: Change::GpuFaultGroup { who, write } });
            }
            // Many warps fault at once: stretches of faulted pages, and between them what the driver fills in.
            let demand = 1 + rng.below(BIG as u64) as usize;
            let fill = rng.below(BIG as u64 - 4) as usize;
            let middle = self.local_end(who, index, (index + demand).min(last), write);
            moved += self.bring(index, middle, who, write, Cause::Coherence, sink);
            let end = self.local_end(who, middle, (middle + fill).min(last), write);
            moved += self.bring(middle, end, who, write, Cause::Prefetch, sink);
            served += end - index;
            index = end.max(index + 1);
        }
        moved
    }

    /// The end of the stretch from `index` in which no page has to stay where it is.
    fn local_end(&self, who: Place, index: usize, limit: usize, write: bool) -> usize {
        (index..limit)
            .find(|&i| {
                let page = self.page(i);
                !page.at(who) && page.resident != 0 && Self::stays_remote(page, who, write)
            })
            .unwrap_or(limit.max(index))
    }

    /// Maps the stretch of pages from `index` that advice keeps elsewhere; its end, or `None` where there is none.
    fn remote_run(
        &mut self,
        who: Place,
        index: usize,
        last: usize,
        write: bool,
        sink: &mut dyn FnMut(Step),
    ) -> Option<usize> {
        // An unpopulated page with a preferred location gets its memory there.
        let page = self.page(index);
        if page.resident == 0 && page.preferred != 0 && page.preferred != who + 1 {
            let to = page.preferred - 1;
            self.apply(index, Change::Populated { to });
            sink(Step { first: index, count: 1, change: Change::Populated { to } });
        }
        let page = self.page(index);
        if page.resident == 0 || !Self::stays_remote(page, who, write) {
            return None;
        }
        let at = page.source();
        let end = (index..last)
            .find(|&i| {
                let page = self.page(i);
                page.at(who) || page.resident == 0 || page.source() != at || !Self::stays_remote(page, who, write)
            })
            .unwrap_or(last);
        sink(Step { first: index, count: end - index, change: Change::Remote { who, at } });
        Some(end)
    }

    /// An explicit prefetch of `first..last` to a place. Returns the pages that changed.
    pub fn prefetch(&mut self, first: usize, last: usize, to: Place, sink: &mut dyn FnMut(Step)) -> usize {
        let last = last.min(self.len());
        for page in self.pages.get_mut(first..last).unwrap_or_default() {
            page.prefetched = to + 1;
        }
        self.bring(first, last, to, false, Cause::User, sink)
    }

    /// Pushes the pages of the block at `first` that are on `from` back to the host. Returns their number.
    pub fn evict(&mut self, from: Place, first: usize, sink: &mut dyn FnMut(Step)) -> usize {
        let last = (first + BLOCK).min(self.len());
        let mut evicted = 0;
        let mut index = first;
        while index < last {
            if !self.page(index).at(from) {
                index += 1;
                continue;
            }
            let copied = !self.page(index).only_at(from);
            let end =
                (index..last).find(|&i| !self.page(i).at(from) || self.page(i).only_at(from) == copied).unwrap_or(last);
            for i in index..end {
                let rest = self.page(i).resident & !(1 << from);
                self.set_resident(i, if rest == 0 { 1 << HOST } else { rest });
            }
            if !copied {
                let change = Change::Moved { from, to: HOST, cause: Cause::Eviction };
                sink(Step { first: index, count: end - index, change });
            }
            evicted += end - index;
            index = end;
        }
        evicted
    }

    /// Takes advice for `first..last`.
    pub fn advise(&mut self, first: usize, last: usize, advice: Advice, sink: &mut dyn FnMut(Step)) {
        for index in first..last.min(self.len()) {
            let Some(page) = self.pages.get_mut(index) else { return };
            match advice {
                Advice::ReadMostly(on) => page.read_mostly = on,
                Advice::Preferred(place) => page.preferred = place.map_or(0, |p| p + 1),
                Advice::AccessedBy(who, true) => page.accessed_by |= 1 << who,
                Advice::AccessedBy(who, false) => page.accessed_by &= !(1 << who),
            }
            let page = *page;
            if advice == Advice::ReadMostly(false) && page.resident.count_ones() > 1 {
                let keep = match page.preferred {
                    p if p != 0 && page.at(p - 1) => p - 1,
                    _ => page.source(),
                };
                self.apply(index, Change::Collapsed { keep });
                sink(Step { first: index, count: 1, change: Change::Collapsed { keep } });
            }
        }
    }
}

#[cfg(test)]
mod tests;
