//! States of pages where something happens: in blocks of 2 MiB, in each of which pages that are alike are one run.
//!
//! The driver decides by such blocks, and a record of it stays inside one. So a record changes one short list.

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
    /// Blocks that were looked up lately, and their indices: a block's place is by its last bits.
    recent: Vec<(u64, u32)>,
    scratch: Vec<Run<S>>,
}

impl<S> Default for Blocks<S> {
    fn default() -> Self {
        Self { ids: BTreeMap::new(), blocks: Vec::new(), recent: Vec::new(), scratch: Vec::new() }
    }
}

/// Blocks of which the indices are at hand.
const RECENT: usize = 256;

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
    /// Blocks that are there.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Runs in all of them.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
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
        let found = self.index(page / BLOCK_PAGES).and_then(|index| self.blocks.get(index));
        let run = found.and_then(|runs| runs.get(runs.partition_point(|&(end, _)| end <= inner)));
        run.map_or_else(S::default, |&(_, state)| state)
    }

    /// Whether the states of all of the pages `from..to` fit.
    pub fn all(&self, from: u64, to: u64, mut fits: impl FnMut(S) -> bool) -> bool {
        parts(from, to).all(|(block, first, last)| match self.index(block) {
            None => fits(S::default()),
            Some(index) => {
                let runs = self.block(index);
                let skip = runs.partition_point(|&(end, _)| end <= first);
                let reached = runs.iter().skip(skip).take_while(|&&(end, _)| end < last).count();
                runs.iter().skip(skip).take(reached + 1).all(|&(_, state)| fits(state))
            }
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
            for &(end, state) in self.block(index).iter().filter(|&&(end, _)| end > first) {
                push(base + u64::from(end.min(last)), state);
                if end >= last {
                    break;
                }
            }
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
    }

    /// Bytes on the heap, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let of = |runs: &Vec<Run<S>>| size_of::<Vec<Run<S>>>() + runs.capacity() * size_of::<Run<S>>();
        self.ids.len() * 24 + self.blocks.iter().map(of).sum::<usize>()
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
            steps in prop::collection::vec((0u64..1600, 0u64..700, 0u8..4), 0..60),
            asked in (0u64..1600, 0u64..1600),
        ) {
            let mut blocks: Blocks<u8> = Blocks::default();
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
                for (index, (block, ..)) in blocks.existing(0, 4096) {
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
