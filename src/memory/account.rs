//! What was allocated and how much of it was in use: in all, by kind, by device and by call site.

use rustc_hash::FxHashMap;

use super::Live;
use super::changes::changes;
use crate::correlate::{Allocation, AllocationKind, Refused};
use crate::trace::{ProcessId, SiteId};

/// An allocation of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Process.
    pub process: ProcessId,
    /// The allocation.
    pub allocation: Allocation,
}

/// What allocations are summed up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// All that add to the memory in use ([`AllocationKind::adds_memory`]).
    All,
    /// Of one kind.
    Kind(AllocationKind),
    /// Of one device, or of none that is known; only what adds to the memory in use.
    Device(u8),
    /// Made by one place in the program; only what adds to the memory in use.
    Site(SiteId),
}

/// Allocations summed up. Sizes that are not recorded count as nothing, and how many there are is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Allocations.
    pub count: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Those whose size is not recorded.
    pub unsized_count: u64,
    /// Those that have not ended.
    pub live_count: u64,
    /// Bytes of those.
    pub live_bytes: u64,
    /// The most bytes in use at a moment.
    pub peak_bytes: u64,
    /// The first such moment, ns on the trace's axis.
    pub peak_ns: u64,
}

/// Who held memory at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Code that had asked for it.
    pub site: SiteId,
    /// Kind.
    pub kind: AllocationKind,
    /// Allocations.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The account of some processes' memory.
#[derive(Clone, Debug, Default)]
pub struct Account {
    blocks: Vec<Block>,
    groups: FxHashMap<Group, Totals>,
    live: Live,
    refused: Vec<(ProcessId, Refused)>,
}

impl Account {
    /// Of allocations, and of what was asked for in vain.
    #[must_use]
    pub fn of(blocks: Vec<Block>, mut refused: Vec<(ProcessId, Refused)>) -> Self {
        let mut groups: FxHashMap<Group, Totals> = FxHashMap::default();
        let mut live = Live::default();
        for change in changes(&blocks) {
            let Some(one) = blocks.get(change.block).map(|block| block.allocation) else { continue };
            for group in Group::of(&one).into_iter().flatten() {
                let totals = groups.entry(group).or_default();
                if change.comes {
                    totals.comes(&one, change.at_ns);
                } else {
                    totals.live_count -= 1;
                    totals.live_bytes = totals.live_bytes.saturating_sub(one.bytes);
                }
                if group == Group::All {
                    live.push(change.at_ns, totals.live_bytes);
                }
            }
        }
        refused.sort_by_key(|(_, refused)| refused.at_ns);
        Self { blocks, groups, live, refused }
    }

    /// All allocations, in the order in which they were given.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The sums of a group; nothing where there are none of it.
    #[must_use]
    pub fn totals(&self, group: Group) -> Totals {
        self.groups.get(&group).copied().unwrap_or_default()
    }

    /// All groups with what they sum up to, in order.
    #[must_use]
    pub fn groups(&self) -> Vec<(Group, Totals)> {
        let mut list: Vec<(Group, Totals)> = self.groups.iter().map(|(&group, &totals)| (group, totals)).collect();
        list.sort_unstable_by_key(|&(group, _)| group);
        list
    }

    /// Bytes in use over time, of what adds to the memory in use.
    #[must_use]
    pub const fn live(&self) -> &Live {
        &self.live
    }

    /// What was asked for in vain, in order of time.
    #[must_use]
    pub fn refused(&self) -> &[(ProcessId, Refused)] {
        &self.refused
    }

    /// Who held memory at a moment, ns, the most bytes first. What comes at that moment is there, also if it is gone at
    /// once; what goes is not.
    #[must_use]
    pub fn holders(&self, at_ns: u64) -> Vec<Holder> {
        let mut sums: FxHashMap<(SiteId, AllocationKind), (u64, u64)> = FxHashMap::default();
        for one in self.blocks.iter().map(|block| &block.allocation) {
            let lives = one.made_ns <= at_ns && (one.freed_ns > at_ns || one.made_ns == at_ns);
            if lives && one.kind.adds_memory() {
                let (count, bytes) = sums.entry((one.site, one.kind)).or_default();
                *count += 1;
                *bytes = bytes.saturating_add(one.bytes);
            }
        }
        let holder = |((site, kind), (count, bytes))| Holder { site, kind, count, bytes };
        let mut list: Vec<Holder> = sums.into_iter().map(holder).collect();
        list.sort_unstable_by_key(|one| (std::cmp::Reverse((one.bytes, one.count)), one.site, one.kind));
        list
    }
}

impl Group {
    /// Those that an allocation belongs to.
    fn of(one: &Allocation) -> [Option<Self>; 4] {
        let adds = one.kind.adds_memory();
        [
            Some(Self::Kind(one.kind)),
            adds.then_some(Self::All),
            adds.then_some(Self::Device(one.device)),
            adds.then_some(Self::Site(one.site)),
        ]
    }
}

impl Totals {
    fn comes(&mut self, one: &Allocation, at_ns: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(one.bytes);
        self.unsized_count += u64::from(one.bytes == 0);
        self.live_count += 1;
        self.live_bytes = self.live_bytes.saturating_add(one.bytes);
        if self.live_bytes > self.peak_bytes {
            self.peak_bytes = self.live_bytes;
            self.peak_ns = at_ns;
        }
    }
}

#[cfg(test)]
mod tests;
