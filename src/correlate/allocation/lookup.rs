//! Which allocation held an address at a moment.

use super::Allocation;
use crate::trace::TrackId;

/// Bases that are looked at for one address. A program does not come near; a damaged trace must not make it slow.
const MOST_BASES: usize = 1024;

/// Allocations that begin at one address: part of the list.
#[derive(Clone, Copy, Debug)]
struct Base {
    address: u64,
    first: usize,
}

/// Which one held an address, and for what else that is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Index into the list; `None`: none did.
    pub index: Option<usize>,
    /// Addresses: first, and first after.
    pub addresses: (u64, u64),
    /// Moments: first and last, ns.
    pub moments: (u64, u64),
}

/// An index of a list of allocations by address.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    /// Allocations in the list.
    count: usize,
    bases: Vec<Base>,
    /// Largest end of the allocations of each base, and above them of each two: a tree, the root at 1.
    ends: Vec<u64>,
}

/// Allocations and nodes between two looks at the clock.
const STEP: usize = 4096;

/// An index that is being made.
#[derive(Debug, Default)]
pub struct Indexing {
    index: Lookup,
    /// The tree that takes the place of the ends, and how many of them are in it.
    tree: Vec<u64>,
    planted: usize,
    /// Nodes of the tree that are not made yet.
    left: Option<usize>,
}

impl Indexing {
    /// Goes on with allocations by address, and in order of time where it is the same, as long as `go_on` says so; true
    /// when all are in the index.
    pub fn advance(&mut self, list: &[Allocation], go_on: &mut dyn FnMut() -> bool) -> bool {
        while self.index.count < list.len() {
            let from = self.index.count;
            let some = list.get(from..list.len().min(from + STEP)).unwrap_or_default();
            some.iter().for_each(|one| self.index.push(one));
            if !go_on() {
                return false;
            }
        }
        if self.left.is_none() {
            if !self.plant(go_on) {
                return false;
            }
            self.left = Some(self.tree.len() / 2);
            self.index.ends = std::mem::take(&mut self.tree);
        }
        let mut left = self.left.unwrap_or(0);
        while left > 1 {
            let from = left.saturating_sub(STEP).max(1);
            (from..left).rev().for_each(|node| self.index.sum_up(node));
            left = from;
            self.left = Some(left);
            if !go_on() {
                return false;
            }
        }
        true
    }

    /// Makes leaves of the ends; true when all are. One more than there are bases at least, so that there is one behind the
    /// last.
    fn plant(&mut self, go_on: &mut dyn FnMut() -> bool) -> bool {
        let leaves = (self.index.bases.len() + 1).next_power_of_two();
        if self.tree.is_empty() {
            self.tree = vec![0; 2 * leaves];
        }
        let leaves = self.tree.get_mut(leaves..).unwrap_or_default();
        while let Some(ends) = self.index.ends.get(self.planted..).filter(|ends| !ends.is_empty()) {
            let some = ends.len().min(STEP);
            let places = leaves.iter_mut().skip(self.planted);
            places.zip(ends.iter().take(some)).for_each(|(place, end)| *place = *end);
            self.planted += some;
            if !go_on() {
                return false;
            }
        }
        true
    }

    /// The index, when all are in it.
    pub fn into_index(self) -> Lookup {
        self.index
    }
}

impl Lookup {
    /// Of allocations by address, and in order of time where it is the same.
    pub fn of(list: &[Allocation]) -> Self {
        let mut indexing = Indexing::default();
        indexing.advance(list, &mut || true);
        indexing.into_index()
    }

    fn push(&mut self, one: &Allocation) {
        if self.bases.last().is_none_or(|base| base.address != one.address) {
            self.bases.push(Base { address: one.address, first: self.count });
            self.ends.push(0);
        }
        if let Some(end) = self.ends.last_mut() {
            *end = one.end().max(*end);
        }
        self.count += 1;
    }

    /// Makes a node of the two below it.
    fn sum_up(&mut self, node: usize) {
        let of = |at: usize| self.ends.get(at).copied().unwrap_or(0);
        let largest = of(2 * node).max(of(2 * node + 1));
        if let Some(place) = self.ends.get_mut(node) {
            *place = largest;
        }
    }

    /// The first one at the address of the one at `index`; `None`: it is not in the index.
    pub fn first_at(&self, index: usize) -> Option<usize> {
        let after = self.bases.partition_point(|base| base.first <= index);
        self.bases.get(after.checked_sub(1)?).filter(|_| index < self.count).map(|base| base.first)
    }

    /// The one of the list at an address that a call made, by when that began, ns, and its thread and row.
    pub fn made(&self, list: &[Allocation], address: u64, from_ns: u64, by: (TrackId, usize)) -> Option<usize> {
        let list = list.get(..self.count)?;
        let first = list.partition_point(|one| (one.address, one.from_ns) < (address, from_ns));
        let same = list.iter().enumerate().skip(first);
        let mut same = same.take_while(|(_, one)| (one.address, one.from_ns) == (address, from_ns));
        same.find(|(_, one)| (one.track, one.row as usize) == by).map(|(index, _)| index)
    }

    /// The first address after this one at which any begins.
    pub fn next_base(&self, address: u64) -> Option<u64> {
        let after = self.bases.partition_point(|base| base.address <= address);
        self.bases.get(after).map(|base| base.address)
    }

    /// Which one of the list held an address at a moment, ns.
    pub fn find(&self, list: &[Allocation], address: u64, at_ns: u64) -> Option<usize> {
        let mut before = self.bases.partition_point(|base| base.address <= address);
        // The newest that has been handed out, while another one is being released or asked for.
        let newest = |one: &Allocation| (one.made_ns <= at_ns, one.from_ns);
        let mut best: Option<((bool, u64), usize)> = None;
        for _ in 0..MOST_BASES {
            let Some(base) = self.last_reaching(before, address) else { break };
            let first = self.bases.get(base)?.first;
            let end = self.bases.get(base + 1).map_or(self.count, |next| next.first);
            let lives = list.get(first..end)?;
            let begun = lives.partition_point(|one| one.from_ns <= at_ns);
            let fits = |at: &usize| lives.get(*at).is_some_and(|one| one.end() > address && one.until_ns >= at_ns);
            let near = (begun.saturating_sub(2)..begun).filter(fits);
            if let Some(at) = near.max_by_key(|&at| lives.get(at).map(newest))
                && let Some(one) = lives.get(at)
                && best.is_none_or(|(since, _)| since < newest(one))
            {
                best = Some((newest(one), first + at));
            }
            before = base;
        }
        best.map(|(_, index)| index)
    }

    /// Likewise, and for which other addresses and moments that is the answer; `None` where that is not simple: more than one
    /// may have lain there just then, or reach there from below.
    pub fn find_simple(&self, list: &[Allocation], address: u64, at_ns: u64) -> Option<Holding> {
        let at = self.bases.partition_point(|base| base.address <= address).checked_sub(1)?;
        let base = self.bases.get(at)?;
        if self.last_reaching(at, base.address).is_some() {
            return None;
        }
        let (end, next_base) = self.bases.get(at + 1).map_or((self.count, u64::MAX), |next| (next.first, next.address));
        let lives = list.get(base.first..end)?;
        let begun = lives.partition_point(|one| one.from_ns <= at_ns);
        let is_there = |at: &usize| lives.get(*at).is_some_and(|one| one.until_ns >= at_ns);
        let mut there = (begun.saturating_sub(2)..begun).filter(is_there);
        let (found, None) = (there.next(), there.next()) else { return None };
        let one = found.and_then(|found| lives.get(found));
        let end = one.map_or(base.address, Allocation::end);
        let next_ns = lives.get(begun).map_or(u64::MAX, |next| next.from_ns - 1);
        let moments = (at_ns, one.map_or(u64::MAX, |one| one.until_ns).min(next_ns));
        Some(if address < end {
            let index = found.map(|found| base.first + found);
            Holding { index, addresses: (base.address, end.min(next_base)), moments }
        } else {
            Holding { index: None, addresses: (end, next_base), moments }
        })
    }

    /// The last of the first `before` bases that has an allocation which ends behind `address`.
    fn last_reaching(&self, before: usize, address: u64) -> Option<usize> {
        let leaves = self.ends.len() / 2;
        let reaches = |node: usize| self.ends.get(node).is_some_and(|&end| end > address);
        // Up from the leaf behind the last one, until a left neighbour reaches far enough; then down its right side.
        let mut node = leaves + before;
        while node > 1 {
            if node % 2 == 1 && reaches(node - 1) {
                node -= 1;
                while node < leaves {
                    node = if reaches(2 * node + 1) { 2 * node + 1 } else { 2 * node };
                }
                return Some(node - leaves);
            }
            node /= 2;
        }
        None
    }
}
