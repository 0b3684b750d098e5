//! What two snapshots differ in: by any key that both can be summed up by; of one trace also which allocations are new and
//! which are gone, and where in the address space.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::snapshot::{Held, Snapshot, block};
use super::{Account, Block};
use crate::trace::ProcessId;

/// Allocations that are nearer to each other than this are of one extent: 2 MiB, the driver's largest block of managed
/// memory, and the granularity of device memory.
const NEAR: u64 = 2 << 20;

/// What became of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// There was nothing of it.
    New,
    /// Nothing of it is left.
    Gone,
    /// It has more bytes, or as many in more allocations.
    Grown,
    /// It has less.
    Shrunk,
    /// It is as large as it was.
    Same,
}

impl Verdict {
    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Gone => "gone",
            Self::Grown => "grown",
            Self::Shrunk => "shrunk",
            Self::Same => "same",
        }
    }
}

/// A group before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta<K> {
    /// What its allocations have in common.
    pub key: K,
    /// What there was.
    pub before: Held,
    /// What there is.
    pub after: Held,
}

impl<K> Delta<K> {
    /// By how many bytes it has grown; saturates. `None`: the sizes of one side are not recorded.
    #[must_use]
    pub fn bytes(&self) -> Option<i64> {
        Some(growth(self.before.bytes()?, self.after.bytes()?))
    }

    /// By how many allocations.
    #[must_use]
    pub fn count(&self) -> i64 {
        growth(self.before.count, self.after.count)
    }

    /// What became of it.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.before.count, self.after.count) {
            (0, 1..) => Verdict::New,
            (1.., 0) => Verdict::Gone,
            _ => match (self.bytes().unwrap_or(0), self.count()) {
                (1.., _) | (0, 1..) => Verdict::Grown,
                (0, 0) => Verdict::Same,
                _ => Verdict::Shrunk,
            },
        }
    }
}

/// By how much a number has grown; saturates.
#[must_use]
pub fn growth(before: u64, after: u64) -> i64 {
    let difference = i128::from(after) - i128::from(before);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

/// Groups before and after: what has grown most first, what has shrunk most last; the order of keys decides between equal
/// ones.
#[must_use]
pub fn difference<K: Ord>(before: BTreeMap<K, Held>, after: BTreeMap<K, Held>) -> Vec<Delta<K>> {
    let mut sides: BTreeMap<K, (Held, Held)> = BTreeMap::new();
    for (key, held) in before {
        sides.entry(key).or_default().0.merge(held);
    }
    for (key, held) in after {
        sides.entry(key).or_default().1.merge(held);
    }
    let delta = |(key, (before, after))| Delta { key, before, after };
    let mut list: Vec<Delta<K>> = sides.into_iter().map(delta).collect();
    // Stable: keys are in order.
    list.sort_by_key(|one| Reverse((one.bytes().unwrap_or(0), one.count())));
    list
}

/// Which allocations came and went between two snapshots of one account. An allocation is the same only if it is the same
/// generation of its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turnover {
    /// Those that are there only after: indices into [`Account::blocks`], the largest first.
    pub new: Vec<usize>,
    /// Those that were there only before, the largest first.
    pub gone: Vec<usize>,
    /// Those that are there both times, in order.
    pub kept: Vec<usize>,
}

impl Turnover {
    /// Between two snapshots of an account. That the first is of an earlier moment is not asked for.
    #[must_use]
    pub fn between(account: &Account, before: &Snapshot, after: &Snapshot) -> Self {
        let mut turnover = Self::default();
        let mut later = after.blocks().iter().copied().peekable();
        for &index in before.blocks() {
            while let Some(new) = later.next_if(|&other| other < index) {
                turnover.new.push(new);
            }
            let place = if later.next_if_eq(&index).is_some() { &mut turnover.kept } else { &mut turnover.gone };
            place.push(index);
        }
        turnover.new.extend(later);
        for list in [&mut turnover.new, &mut turnover.gone] {
            list.sort_by_key(|&index| Reverse(block(account, index).map_or(0, |one| one.allocation.bytes)));
        }
        turnover
    }
}

/// Part of a process's address space with allocations that are near to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Process.
    pub process: ProcessId,
    /// First address; `None`: what has no address, such as physical memory, and what the process's address is not known of.
    pub from: Option<u64>,
    /// First address after it.
    pub to: u64,
}

/// The address space before and after, of one account, without what adds nothing to the memory in use: what has grown most
/// first. Where allocations of either snapshot lie less than 2 MiB apart they are one extent.
#[must_use]
pub fn extents(account: &Account, before: &Snapshot, after: &Snapshot) -> Vec<Delta<Extent>> {
    let there = |snapshot: &Snapshot, is_after: bool| -> Vec<(Block, bool)> {
        let blocks = snapshot.blocks().iter().filter_map(|&index| block(account, index));
        blocks.filter(|one| one.allocation.kind.adds_memory()).map(|&one| (one, is_after)).collect()
    };
    let mut all = there(before, false);
    all.extend(there(after, true));
    let address = |one: &Block| one.allocation.has_address().then_some(one.allocation.address);
    all.sort_by_key(|(one, _)| (one.process, address(one)));
    let mut list: Vec<Delta<Extent>> = Vec::new();
    for (one, is_after) in all {
        let from = address(&one);
        let end = from.map_or(0, |_| one.allocation.end());
        let joins = |extent: &Extent| {
            extent.process == one.process
                && extent.from.is_some() == from.is_some()
                && from.unwrap_or(0).saturating_sub(extent.to) < NEAR
        };
        if !list.last().is_some_and(|last| joins(&last.key)) {
            let key = Extent { process: one.process, from, to: end };
            list.push(Delta { key, before: Held::default(), after: Held::default() });
        }
        if let Some(last) = list.last_mut() {
            last.key.to = last.key.to.max(end);
            if is_after { &mut last.after } else { &mut last.before }.add(&one.allocation);
        }
    }
    list.sort_by_key(|one| Reverse((one.bytes().unwrap_or(0), one.count())));
    list
}

#[cfg(test)]
mod tests;
