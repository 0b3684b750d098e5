//! Blocks inside an allocation: what a caching allocator hands out of a segment, as far as it can be told.
//!
//! No call says where a block begins or ends. A block is seen by its address being given to a kernel, a copy or a set; how
//! large it is at least is known from copies and sets alone. A pointer into the middle of a block looks like a block of its own,
//! and a block that was handed back and out again at the same address like one.

use rustc_hash::FxHashMap;

use super::Span;
use crate::correlate::allocation::{Allocation, Allocations, PIECE, Sorting};

/// Different addresses that are counted, and such of which more is kept: 56 bytes each.
const MOST_ADDRESSES: usize = 1 << 20;
const MOST_BLOCKS: usize = 1 << 18;
/// Of an address that is counted and of which nothing is kept.
const NONE: u32 = u32::MAX;

/// A block of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its address.
    pub address: u64,
    /// Bytes from there on that copies and sets named at most: it has at least as many. 1: none did.
    pub bytes: u64,
    /// The use that began first, and the one that was over last.
    pub span: Span,
    /// How often it was given. Saturates.
    pub uses: u32,
    /// A copy or set used it: not only kernels and graphs were given it.
    pub is_certain: bool,
}

/// Blocks on their way: by address as they are given, then in order.
pub struct Gathering {
    /// By allocation and address: place in the list, or [`NONE`].
    places: FxHashMap<(u32, u64), u32>,
    list: Vec<(u32, Block)>,
    sorting: Sorting<(u32, Block), (u32, u64)>,
    most: usize,
}

/// What became of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// It had not been given before.
    New,
    /// It had.
    Known,
    /// Nobody knows: there are too many.
    TooMany,
}

impl Default for Gathering {
    fn default() -> Self {
        let sorting = Sorting::by(|(allocation, block): &(u32, Block)| (*allocation, block.address));
        Self { places: FxHashMap::default(), list: Vec::new(), sorting, most: MOST_BLOCKS }
    }
}

impl Gathering {
    /// An address in an allocation was given so many times: from when to when, so many bytes, and whether these were used for
    /// certain.
    pub fn give(
        &mut self,
        allocation: u32,
        (address, bytes): (u64, u64),
        span: Span,
        (times, is_certain): (u32, bool),
    ) -> Given {
        let key = (allocation, address);
        match self.places.get(&key) {
            Some(&place) => {
                if let Some((_, block)) = self.list.get_mut(place as usize) {
                    let mut known = Some(block.span);
                    Span::add(&mut known, span.first, span.last);
                    block.span = known.unwrap_or(block.span);
                    block.bytes = block.bytes.max(bytes);
                    block.uses = block.uses.saturating_add(times);
                    block.is_certain |= is_certain;
                }
                Given::Known
            }
            None if self.places.len() >= MOST_ADDRESSES => Given::TooMany,
            None => {
                let place = if self.list.len() < self.most { self.list.len() as u32 } else { NONE };
                self.places.insert(key, place);
                if place != NONE {
                    self.list.push((allocation, Block { address, bytes, span, uses: times, is_certain }));
                }
                Given::New
            }
        }
    }

    /// Whether there were more addresses than are kept.
    pub fn is_cut(&self) -> bool {
        self.places.len() > self.most || self.places.len() >= MOST_ADDRESSES
    }

    /// Puts them in order, as long as `go_on` says so; true when all are.
    pub fn sort(&mut self, go_on: &mut dyn FnMut() -> bool) -> bool {
        while !self.list.is_empty() {
            let rest = self.list.len().saturating_sub(PIECE);
            self.sorting.add(self.list.split_off(rest));
            if !go_on() {
                return false;
            }
        }
        self.sorting.advance(go_on)
    }

    /// Those of each allocation in which there are others than its beginning, by allocation and address.
    pub fn into_blocks(self, allocations: &Allocations) -> Vec<(u32, Block)> {
        let all = self.sorting.into_sorted();
        let begins = |allocation: u32| allocations.all().get(allocation as usize).map(|one: &Allocation| one.address);
        let groups = all.chunk_by(|one, next| one.0 == next.0);
        let inside = groups.filter(|group| match group {
            [(allocation, block)] => begins(*allocation) != Some(block.address),
            _ => true,
        });
        inside.flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlate::AllocationKind;
    use crate::correlate::usage::{Use, UseKind};
    use crate::trace::TrackId;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn allocation(address: u64) -> Allocation {
        Allocation::lived(AllocationKind::Device, (address, 16), 0, None)
    }

    fn span(from: u64, to: u64) -> Span {
        let one = |at_ns| Use::new(at_ns, UseKind::Kernel, (TrackId(0), 0), false);
        Span { first: one(from), last: one(to) }
    }

    proptest! {
        /// Against a list of all that was given; with few places, the first addresses that were given are kept.
        #[test]
        fn blocks_are_what_looking_at_all_that_was_given_finds(
            given in prop::collection::vec((0u32..4, 0u64..5, 1u64..9, 0u64..100, 0u64..20, any::<bool>()), 0..60),
            most in 1usize..12,
            patience in 1usize..4,
        ) {
            let allocations = Allocations::of_list((0..4).map(|at| allocation(0x100 * (at + 1))).collect());
            let mut gathering = Gathering { most, ..Gathering::default() };
            let (mut kept, mut seen) = (BTreeSet::new(), BTreeSet::new());
            for &(of, offset, bytes, from, took, certain) in &given {
                let key = (of, 0x100 * u64::from(of + 1) + offset);
                let is_new = seen.insert(key);
                if is_new && kept.len() < most {
                    kept.insert(key);
                }
                let was = gathering.give(of, (key.1, bytes), span(from, from + took), (1, certain));
                prop_assert_eq!(was, if is_new { Given::New } else { Given::Known });
            }
            prop_assert_eq!(gathering.is_cut(), seen.len() > most);
            let mut looks = 0;
            while !gathering.sort(&mut || { looks += 1; looks % patience != 0 }) {}
            let found: BTreeMap<(u32, u64), _> = gathering.into_blocks(&allocations).into_iter().map(|(of, block)| {
                let times = (block.span.first.at_ns, block.span.last.at_ns);
                ((of, block.address), (block.bytes, block.uses, block.is_certain, times))
            }).collect();
            let mut wanted = BTreeMap::new();
            for &(of, address) in &kept {
                let of_it = |one: &&(u32, u64, u64, u64, u64, bool)| (one.0, 0x100 * u64::from(one.0 + 1) + one.1) == (of, address);
                let all: Vec<_> = given.iter().filter(of_it).collect();
                let others = kept.iter().any(|one| one.0 == of && one.1 != address);
                if !others && address == 0x100 * u64::from(of + 1) {
                    continue;
                }
                let times = (all.iter().map(|one| one.3).min().unwrap(), all.iter().map(|one| one.3 + one.4).max().unwrap());
                let bytes = all.iter().map(|one| one.2).max().unwrap();
                wanted.insert((of, address), (bytes, all.len() as u32, all.iter().any(|one| one.5), times));
            }
            prop_assert_eq!(found, wanted);
        }
    }
}
