//! States of pages where something happens: in blocks of 2 MiB, in each of which pages that are alike are one run.
//!
//! The driver decides by such blocks, and a record of it stays inside one. So a record changes one short list. Where pages
//! differ so much that the list is long, it may become an array of all pages ([`Blocks::with_arrays`]): to change a page in the
//! middle of a list moves all behind it.

use std::collections::BTreeMap;

/// Pages of a block.
pub const BLOCK_PAGES: u64 = 512;

/// First page after a run, counted from the block's first, and the run's state.
type Run<S> = (u16, S);

/// For each page a state; pages of blocks that are not there have the default one.
#[derive(Clone, Debug)]
pub struct Blocks<S> {
    ids: BTreeMap<u64, u32>,
    /// Runs of each block, in order; they cover all of it, and neighbours differ.
    blocks: Vec<Vec<Run<S>>>,
    /// Of blocks that have an array the state of each page; they have no runs.
    arrays: Vec<Option<Box<[S]>>>,
    /// Blocks with more runs get an array.
    most_runs: usize,
    /// Blocks that were looked up lately, and their indices: a block's place is by its last bits.
    recent: Vec<(u64, u32)>,
    scratch: Vec<Run<S>>,
}

impl<S> Default for Blocks<S> {
    fn default() -> Self {
        Self {
            ids: BTreeMap::new(),
            blocks: Vec::new(),
            arrays: Vec::new(),
            most_runs: usize::MAX,
            recent: Vec::new(),
            scratch: Vec::new(),
        }
    }
}

/// Blocks of which the indices are at hand.
const RECENT: usize = 256;
/// Runs of a block that gets no array yet: then that takes three times the room at most.
const MOST_RUNS: usize = if cfg!(test) { 6 } else { 128 };

/// Part of a block: its number, first page and first page after, counted from its first.
pub type Part = (u64, u16, u16);

/// The blocks that pages lie in, and their parts of them.
pub fn parts(from: u64, to: u64) -> impl Iterator<Item = Part> {
    let blocks = if from < to { from / BLOCK_PAGES..to.div_ceil(BLOCK_PAGES) } else { 0..0 };
    blocks.map(move |block| part(block, from, to))
}

fn part(block: u64, from: u64, to: u64) -> Part {
    let first = block * BLOCK_PAGES;
    let inside = |page: u64| page.saturating_sub(first).min(BLOCK_PAGES) as u16;
    (block, inside(from), inside(to))
}

impl<S: Copy + Default + PartialEq> Blocks<S> {
    /// Blocks that may become arrays; of these [`Blocks::block`] tells no runs.
    #[must_use]
    pub fn with_arrays() -> Self {
        Self { most_runs: MOST_RUNS, ..Self::default() }
    }

    fn array(&self, index: usize) -> Option<&[S]> {
        self.arrays.get(index)?.as_deref()
    }

    /// Calls `each` with the runs of a block that reach into the pages `first..last`, counted from the block's first: first page
    /// after it, and its state. The last one may reach further; goes on as long as `each` says so.
    fn runs_in(&self, index: usize, (first, last): (u16, u16), mut each: impl FnMut(u16, S) -> bool) -> bool {
        if let Some(array) = self.array(index) {
            let mut at = first;
            let pages = array.get(usize::from(first)..usize::from(last)).unwrap_or_default();
            return pages.chunk_by(|one, next| one == next).all(|alike| {
                at += alike.len() as u16;
                alike.first().is_none_or(|&state| each(at, state))
            });
        }
        let runs = self.block(index);
        let skip = runs.partition_point(|&(end, _)| end <= first);
        for &(end, state) in runs.iter().skip(skip) {
            if !each(end, state) {
                return false;
            }
            if end >= last {
                break;
            }
        }
        true
    }

    /// Blocks that are there.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Runs in all of them.
    #[must_use]
    pub fn runs(&self) -> usize {
        let of_array = |array: &[S]| array.chunk_by(|one, next| one == next).count();
        let arrays = self.arrays.iter().flatten().map(|array| of_array(array)).sum::<usize>();
        self.blocks.iter().map(Vec::len).sum::<usize>() + arrays
    }

    /// Where a block lies among those that are there, in the order in which they came.
    #[must_use]
    pub fn index(&self, block: u64) -> Option<usize> {
        match self.recent.get(block as usize % RECENT) {
            Some(&(recent, index)) if recent == block => Some(index as usize),
            _ => self.ids.get(&block).map(|&index| index as usize),
        }
    }

    fn remember(&mut self, block: u64, index: u32) {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, (u64::MAX, 0));
        }
        if let Some(place) = self.recent.get_mut(block as usize % RECENT) {
            *place = (block, index);
        }
    }

    /// Those in which some of the pages `from..to` lie: index and part.
    pub fn existing(&self, from: u64, to: u64) -> impl Iterator<Item = (usize, Part)> {
        let blocks = if from < to { from / BLOCK_PAGES..to.div_ceil(BLOCK_PAGES) } else { 0..0 };
        self.ids.range(blocks).map(move |(&block, &index)| (index as usize, part(block, from, to)))
    }

    /// A block, made if it is not there: index, and whether it was made. All of its pages have the default state then.
    pub fn make(&mut self, block: u64) -> (usize, bool) {
        if let Some(index) = self.index(block) {
            self.remember(block, index as u32);
            return (index, false);
        }
        let index = self.blocks.len() as u32;
        self.blocks.push(vec![(BLOCK_PAGES as u16, S::default())]);
        self.ids.insert(block, index);
        self.remember(block, index);
        (index as usize, true)
    }

    /// Runs of a block: first page after each, counted from the block's first, and its state.
    #[must_use]
    pub fn block(&self, index: usize) -> &[(u16, S)] {
        self.blocks.get(index).map_or(&[], Vec::as_slice)
    }

    /// Gives a block runs, which cover all of it.
    pub fn set(&mut self, index: usize, runs: impl Iterator<Item = (u16, S)>) {
        let Some(block) = self.blocks.get_mut(index) else { return };
        if let Some(array) = self.arrays.get_mut(index) {
            *array = None;
        }
        block.clear();
        for run in runs {
            match block.last_mut() {
                Some(last) if last.1 == run.1 => last.0 = run.0,
                _ => block.push(run),
            }
        }
    }

    /// State of a page.
    #[must_use]
    pub fn get(&self, page: u64) -> S {
        let inner = (page % BLOCK_PAGES) as u16;
        let Some(index) = self.index(page / BLOCK_PAGES) else { return S::default() };
        if let Some(array) = self.array(index) {
            return array.get(usize::from(inner)).copied().unwrap_or_default();
        }
        let runs = self.block(index);
        let run = runs.get(runs.partition_point(|&(end, _)| end <= inner));
        run.map_or_else(S::default, |&(_, state)| state)
    }

    /// Whether the states of all of the pages `from..to` fit.
    pub fn all(&self, from: u64, to: u64, mut fits: impl FnMut(S) -> bool) -> bool {
        parts(from, to).all(|(block, first, last)| match self.index(block) {
            None => fits(S::default()),
            Some(index) => self.runs_in(index, (first, last), |_, state| fits(state)),
        })
    }

    /// Calls `each` with the pieces of the pages `from..to`, in order: first page, first page after it, state.
    pub fn for_each(&self, from: u64, to: u64, mut each: impl FnMut(u64, u64, S)) {
        if from >= to {
            return;
        }
        let mut pending = (from, from, S::default());
        let mut push = |end: u64, state: S| {
            if state != pending.2 {
                if pending.0 < pending.1 {
                    each(pending.0, pending.1, pending.2);
                }
                pending = (pending.1, end, state);
            }
            pending.1 = end;
        };
        let mut at = from;
        for (index, (block, first, last)) in self.existing(from, to) {
            let base = block * BLOCK_PAGES;
            if base > at {
                push(base, S::default());
            }
            self.runs_in(index, (first, last), |end, state| {
                push(base + u64::from(end.min(last)), state);
                true
            });
            at = base + u64::from(last);
        }
        if at < to {
            push(to, S::default());
        }
        each(pending.0, pending.1, pending.2);
    }

    /// Gives pages of a block what `change` makes of them; it is called with the pieces that are alike, in order: first page
    /// and first page after it, counted from the block's first, and their state.
    pub fn update(&mut self, index: usize, (from, to): (u16, u16), mut change: impl FnMut(u16, u16, S) -> S) {
        if let Some(array) = self.arrays.get_mut(index).and_then(Option::as_deref_mut) {
            update_pages(array, (from, to), change);
            return;
        }
        let Some(runs) = self.blocks.get_mut(index).filter(|_| from < to) else { return };
        let first = runs.partition_point(|&(end, _)| end <= from);
        let mut begin = first.checked_sub(1).and_then(|at| runs.get(at)).map_or(0, |&(end, _)| end);
        let pieces = &mut self.scratch;
        pieces.clear();
        let mut put = |end: u16, state: S| match pieces.last_mut() {
            Some(last) if last.1 == state => last.0 = end,
            _ => pieces.push((end, state)),
        };
        let mut after = first;
        for &(end, state) in runs.iter().skip(first) {
            if begin < from {
                put(from, state);
            }
            let until = end.min(to);
            put(until, change(begin.max(from), until, state));
            if end > to {
                put(end, state);
            }
            begin = end;
            after += 1;
            if end >= to {
                break;
            }
        }
        // Neighbours that have become alike are one.
        let before =
            first.checked_sub(1).filter(|&at| runs.get(at).map(|run| run.1) == pieces.first().map(|run| run.1));
        if runs.get(after).is_some_and(|run| pieces.last().is_some_and(|last| last.1 == run.1)) {
            pieces.pop();
        }
        let first = before.unwrap_or(first);
        match runs.get_mut(first..after) {
            Some(same) if same.len() == pieces.len() => same.copy_from_slice(pieces),
            Some(_) => drop(runs.splice(first..after, pieces.iter().copied())),
            None => {}
        }
        if runs.len() > self.most_runs {
            let mut array = Vec::with_capacity(BLOCK_PAGES as usize);
            std::mem::take(runs).iter().for_each(|&(end, state)| array.resize(usize::from(end), state));
            self.arrays.resize_with(self.arrays.len().max(index + 1), || None);
            if let Some(place) = self.arrays.get_mut(index) {
                *place = Some(array.into());
            }
        }
    }

    /// Bytes on the heap, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let of = |runs: &Vec<Run<S>>| size_of::<Vec<Run<S>>>() + runs.capacity() * size_of::<Run<S>>();
        let arrays = self.arrays.iter().flatten().count() * BLOCK_PAGES as usize * size_of::<S>();
        self.ids.len() * 24 + self.blocks.iter().map(of).sum::<usize>() + arrays
    }
}

/// Gives pages what `change` makes of pieces that are alike.
fn update_pages<S: Copy + PartialEq>(
    array: &mut [S],
    (from, to): (u16, u16),
    mut change: impl FnMut(u16, u16, S) -> S,
) {
    let mut begin = usize::from(from);
    while let Some(&state) = array.get(begin).filter(|_| begin < usize::from(to)) {
        let rest = array.get(begin..usize::from(to)).unwrap_or_default();
        let alike = rest.iter().take_while(|&&other| other == state).count().max(1);
        let after = change(begin as u16, (begin + alike) as u16, state);
        if let Some(pages) = array.get_mut(begin..begin + alike) {
            pages.fill(after);
        }
        begin += alike;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against an array of pages.
        #[test]
        fn runs_are_what_an_array_of_pages_is(
            steps in prop::collection::vec((0u64..1600, prop_oneof![0u64..700, 1u64..4], 0u8..4), 0..90),
            asked in (0u64..1600, 0u64..1600),
            with_arrays: bool,
        ) {
            let mut blocks: Blocks<u8> = if with_arrays { Blocks::with_arrays() } else { Blocks::default() };
            let mut pages = vec![0u8; 4096];
            for (from, count, what) in steps {
                let change = |state: u8| if what == 3 { state.wrapping_add(1) % 4 } else { what };
                let mut seen = Vec::new();
                for (block, first, last) in parts(from, from + count) {
                    let (index, _) = blocks.make(block);
                    blocks.update(index, (first, last), |begin, end, state| {
                        assert!(begin < end);
                        seen.extend(std::iter::repeat_n(state, usize::from(end - begin)));
                        change(state)
                    });
                }
                let range = from as usize..(from + count) as usize;
                prop_assert_eq!(&seen[..], &pages[range.clone()]);
                for page in &mut pages[range] {
                    *page = change(*page);
                }
                let runs: usize = pages.chunks(512).enumerate().filter(|(block, _)| blocks.index(*block as u64).is_some())
                    .map(|(_, pages)| pages.chunk_by(|one, next| one == next).count()).sum();
                prop_assert_eq!(blocks.runs(), runs);
                for (index, (block, ..)) in blocks.existing(0, 4096) {
                    if blocks.array(index).is_some() {
                        continue;
                    }
                    let base = (block * BLOCK_PAGES) as usize;
                    let runs = blocks.block(index);
                    prop_assert_eq!(runs.last().unwrap().0, 512);
                    // As few runs as there can be.
                    let one = &pages[base..base + 512];
                    prop_assert_eq!(runs.len(), 1 + (1..512).filter(|&at| one[at] != one[at - 1]).count());
                }
                for page in (0..2300).step_by(7) {
                    prop_assert_eq!(blocks.get(page), pages[page as usize]);
                }
            }
            let (from, count) = asked;
            let mut seen = Vec::new();
            let mut last = None;
            blocks.for_each(from, from + count, |start, end, state| {
                assert!(start < end && last != Some(state));
                last = Some(state);
                seen.extend(std::iter::repeat_n(state, (end - start) as usize));
            });
            let asked = &pages[from as usize..(from + count) as usize];
            prop_assert_eq!(&seen[..], asked);
            for state in 0..4 {
                prop_assert_eq!(blocks.all(from, from + count, |one| one == state), asked.iter().all(|&one| one == state));
            }
        }
    }
}
