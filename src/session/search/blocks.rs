//! Looking through a long list whose rows are made on demand: the match that is wanted first, then how many there are.
//!
//! Of each block of rows only the number of matches is kept. A block is looked through again when a match in it is
//! wanted.

use std::ops::Range;
use std::time::Instant;

use super::ask::Step;

/// Rows of a block.
const BLOCK: u64 = 2048;

/// A list that can be looked through.
pub(super) trait List {
    /// Rows in it.
    fn len(&mut self) -> u64;
    /// Numbers of the rows among these that match, in order.
    fn matches(&mut self, rows: Range<u64>) -> Vec<u64>;
}

/// What is known of a list.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Matches of each block that has been looked through.
    counts: Vec<Option<u32>>,
    /// Rows that there were.
    len: u64,
    /// Blocks before this one have all been looked through.
    done: usize,
}

/// A match that is wanted, and how far it has been looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    from: u64,
    step: Step,
    /// Blocks that have been passed.
    passed: u64,
    /// The match, its number in its block, and whether it lies beyond an end.
    pub found: Option<(u64, u64, bool)>,
    /// There is none.
    pub none: bool,
}

impl Wanted {
    pub(super) fn new(from: u64, step: Step) -> Self {
        Self { from, step, passed: 0, found: None, none: false }
    }
}

impl Blocks {
    /// Takes how long the list is now; what was counted of its last block no longer holds if it has grown.
    fn fit(&mut self, len: u64) {
        if len == self.len {
            return;
        }
        let whole = usize::try_from(len.min(self.len) / BLOCK).unwrap_or(usize::MAX);
        self.counts.truncate(whole);
        self.counts.resize(usize::try_from(len.div_ceil(BLOCK)).unwrap_or(usize::MAX), None);
        self.done = self.done.min(whole);
        self.len = len;
    }

    /// Looks for the match that is wanted, and then counts, until `until`. True when all is done.
    pub(super) fn advance(&mut self, list: &mut impl List, wanted: &mut Wanted, until: Instant) -> bool {
        self.fit(list.len());
        while wanted.found.is_none() && !wanted.none {
            self.look(list, wanted);
            if Instant::now() >= until {
                return false;
            }
        }
        while let Some(known) = self.counts.get(self.done) {
            if known.is_none() {
                self.matches(list, self.done as u64);
            }
            self.done += 1;
            if Instant::now() >= until && self.done < self.counts.len() {
                return false;
            }
        }
        true
    }

    /// Matches that have been counted.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().flatten().map(|&count| u64::from(count)).sum()
    }

    /// Share of the list that has been looked through, thousandths.
    pub(super) fn share(&self) -> u16 {
        let known = self.counts.iter().flatten().count() as u64;
        u16::try_from(known * 1000 / (self.counts.len() as u64).max(1)).unwrap_or(1000)
    }

    /// Number of the wanted match among all, from 1, once all before it are counted.
    pub(super) fn number(&self, wanted: &Wanted) -> Option<u64> {
        let (row, inside, _) = wanted.found?;
        let before = self.counts.get(..usize::try_from(row / BLOCK).ok()?)?;
        let before: Option<u64> = before.iter().map(|count| count.map(u64::from)).sum();
        before.map(|before| before + inside + 1)
    }

    fn matches(&mut self, list: &mut impl List, block: u64) -> Vec<u64> {
        let rows = block * BLOCK..((block + 1) * BLOCK).min(self.len);
        let matches = list.matches(rows);
        if let Some(count) = usize::try_from(block).ok().and_then(|block| self.counts.get_mut(block)) {
            *count = Some(u32::try_from(matches.len()).unwrap_or(u32::MAX));
        }
        matches
    }

    /// Looks through the next block in which the wanted match can be.
    fn look(&mut self, list: &mut impl List, wanted: &mut Wanted) {
        let blocks = self.counts.len() as u64;
        // The first block again at the end: its other part.
        if blocks == 0 || wanted.passed > blocks {
            wanted.none = true;
            return;
        }
        let first = (wanted.from / BLOCK).min(blocks - 1);
        let backwards = wanted.step == Step::Previous;
        let passed = wanted.passed % blocks;
        let block = if backwards { (first + blocks - passed) % blocks } else { (first + passed) % blocks };
        let again = wanted.passed == blocks;
        wanted.passed += 1;
        if usize::try_from(block).ok().and_then(|block| self.counts.get(block)) == Some(&Some(0)) {
            return;
        }
        let matches = self.matches(list, block);
        let fits = |row: u64| match wanted.step {
            Step::Here => row >= wanted.from,
            Step::Next => row > wanted.from,
            Step::Previous => row < wanted.from,
            Step::Names(_) | Step::NamesOf(..) | Step::Source | Step::About => false,
        };
        let mut numbered = (0..).zip(matches).filter(|(_, row)| block != first || fits(*row) != again);
        let found = if backwards { numbered.last() } else { numbered.next() };
        wanted.found = found.map(|(inside, row)| (row, inside, !fits(row)));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    struct Rows {
        len: u64,
        every: u64,
        asked: u64,
    }

    impl List for Rows {
        fn len(&mut self) -> u64 {
            self.len
        }

        fn matches(&mut self, rows: Range<u64>) -> Vec<u64> {
            self.asked += 1;
            rows.filter(|row| row % self.every == 3).collect()
        }
    }

    fn all(list: &Rows) -> Vec<u64> {
        (0..list.len).filter(|row| row % list.every == 3).collect()
    }

    #[test]
    fn the_wanted_one_is_found_before_all_are_counted() {
        let mut list = Rows { len: 1_000_000, every: 100_000, asked: 0 };
        let (mut blocks, mut wanted, past) = (Blocks::default(), Wanted::new(500_000, Step::Here), Instant::now());
        while wanted.found.is_none() {
            assert!(!blocks.advance(&mut list, &mut wanted, past));
        }
        assert_eq!((wanted.found, blocks.number(&wanted)), (Some((500_003, 0, false)), None));
        assert!(list.asked < 3);
        let mut share = 0;
        while !blocks.advance(&mut list, &mut wanted, past) {
            assert!(blocks.share() >= share);
            share = blocks.share();
        }
        assert_eq!((blocks.count(), blocks.number(&wanted)), (10, Some(6)));
        // All is known now, so only blocks with matches are looked at again.
        let asked = list.asked;
        let mut next = Wanted::new(500_003, Step::Next);
        while !blocks.advance(&mut list, &mut next, past) {}
        assert_eq!((next.found, list.asked - asked), (Some((600_003, 0, false)), 2));
    }

    #[test]
    fn a_list_that_grows_is_counted_on() {
        let mut list = Rows { len: 3_000, every: 10, asked: 0 };
        let until = Instant::now() + Duration::from_secs(60);
        let (mut blocks, mut wanted) = (Blocks::default(), Wanted::new(2_999, Step::Next));
        assert!(blocks.advance(&mut list, &mut wanted, until));
        assert_eq!((wanted.found, blocks.count()), (Some((3, 0, true)), 300));
        list.len = 5_000;
        assert!(blocks.advance(&mut list, &mut wanted, until));
        assert_eq!((blocks.count(), list.asked), (500, 4));
    }

    proptest! {
        #[test]
        fn every_step_is_that_of_the_whole_list(
            len in 0_u64..9_000, every in 4_u64..6_000, from in 0_u64..9_000, counted: bool,
            step in prop::sample::select(&[Step::Here, Step::Next, Step::Previous][..]),
        ) {
            let mut list = Rows { len, every, asked: 0 };
            let until = Instant::now() + Duration::from_secs(60);
            let mut blocks = Blocks::default();
            if counted {
                blocks.advance(&mut list, &mut Wanted::new(0, Step::Here), until);
            }
            let mut wanted = Wanted::new(from, step);
            prop_assert!(blocks.advance(&mut list, &mut wanted, until));
            let all = all(&list);
            let (near, far) = match step {
                Step::Here => (all.iter().find(|&&row| row >= from), all.first()),
                Step::Next => (all.iter().find(|&&row| row > from), all.first()),
                _ => (all.iter().rev().find(|&&row| row < from), all.last()),
            };
            prop_assert_eq!(wanted.found.map(|found| found.0), near.or(far).copied());
            prop_assert_eq!(wanted.found.map(|found| found.2), near.or(far).map(|_| near.is_none()));
            let number = near.or(far).and_then(|row| all.iter().position(|other| other == row));
            prop_assert_eq!(blocks.number(&wanted), number.map(|at| at as u64 + 1));
            prop_assert_eq!(blocks.count(), all.len() as u64);
        }
    }
}
