//! One bit a row, and how many are set before a row.

use crate::trace::TrackId;
use crate::trace::activity::LaneId;

/// Words between two sums.
const STRIDE: usize = 8;

/// Which rows of a list are selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    words: Vec<u64>,
    /// Bits set before each eighth word.
    sums: Vec<u64>,
    len: usize,
    ones: usize,
}

impl Marks {
    /// Rows that are decided.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether none is.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Rows that are selected.
    #[must_use]
    pub const fn ones(&self) -> usize {
        self.ones
    }

    /// Whether a row is selected; those that are not decided are not.
    #[must_use]
    #[inline]
    pub fn has(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Selected rows before this one.
    #[must_use]
    pub fn rank(&self, row: usize) -> usize {
        let row = row.min(self.len);
        let word = row / 64;
        let first = word / STRIDE * STRIDE;
        let before = self.sums.get(word / STRIDE).map_or(self.ones as u64, |&sum| sum);
        if self.sums.len() <= word / STRIDE {
            return self.ones;
        }
        let whole = self.words.get(first..word).unwrap_or_default();
        let whole: u64 = whole.iter().map(|word| u64::from(word.count_ones())).sum();
        let rest = self.words.get(word).map_or(0, |bits| bits & ((1u64 << (row % 64)) - 1));
        (before + whole) as usize + rest.count_ones() as usize
    }

    /// The row of the selected one with this number.
    #[must_use]
    pub fn select(&self, number: usize) -> Option<usize> {
        if number >= self.ones {
            return None;
        }
        let stride = self.sums.partition_point(|&sum| sum <= number as u64).checked_sub(1)?;
        let mut left = number - *self.sums.get(stride)? as usize;
        let first = stride * STRIDE;
        for (index, &word) in self.words.iter().enumerate().skip(first) {
            let ones = word.count_ones() as usize;
            if left < ones {
                let mut bits = word;
                for _ in 0..left {
                    bits &= bits - 1;
                }
                return Some(index * 64 + bits.trailing_zeros() as usize);
            }
            left -= ones;
        }
        None
    }

    /// Decides the next row.
    #[inline]
    pub fn push(&mut self, selected: bool) {
        if self.len.is_multiple_of(64) {
            if self.words.len().is_multiple_of(STRIDE) {
                self.sums.push(self.ones as u64);
            }
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(selected) << (self.len % 64);
        }
        self.len += 1;
        self.ones += usize::from(selected);
    }

    /// Decides so many next rows, a bit each.
    pub fn append(&mut self, bits: &[u64], count: usize) {
        for (at, &word) in bits.iter().enumerate().take(count.div_ceil(64)) {
            let rows = (count - at * 64).min(64);
            let word = if rows < 64 { word & ((1 << rows) - 1) } else { word };
            let shift = self.len % 64;
            if shift == 0 {
                self.begin_word(word);
            } else {
                if let Some(last) = self.words.last_mut() {
                    *last |= word << shift;
                }
                // What is counted before a word is so without the bits that go into it.
                let first = word & (u64::MAX >> shift);
                self.ones += first.count_ones() as usize;
                if rows > 64 - shift {
                    self.begin_word(word >> (64 - shift));
                }
            }
            self.len += rows;
        }
    }

    fn begin_word(&mut self, word: u64) {
        if self.words.len().is_multiple_of(STRIDE) {
            self.sums.push(self.ones as u64);
        }
        self.words.push(word);
        self.ones += word.count_ones() as usize;
    }

    /// Decides so many next rows, none of which is selected.
    pub fn skip(&mut self, rows: usize) {
        let end = self.len + rows;
        while self.len < end && !self.len.is_multiple_of(64) {
            self.push(false);
        }
        while self.len < end {
            if self.words.len().is_multiple_of(STRIDE) {
                self.sums.push(self.ones as u64);
            }
            self.words.push(0);
            self.len = end.min(self.len + 64);
        }
    }

    /// Decides a row otherwise.
    pub fn put(&mut self, row: usize, selected: bool) {
        if row >= self.len || self.has(row) == selected {
            return;
        }
        if let Some(word) = self.words.get_mut(row / 64) {
            *word ^= 1 << (row % 64);
        }
        let change = |sum: usize| if selected { sum + 1 } else { sum.saturating_sub(1) };
        self.ones = change(self.ones);
        let after = row / 64 / STRIDE + 1;
        self.sums.iter_mut().skip(after).for_each(|sum| *sum = change(*sum as usize) as u64);
    }
}

/// What a lens selects, row by row.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// Calls of each thread, whole groups.
    pub calls: Vec<Marks>,
    /// Of each thread those of the last rows, whose outermost call has not ended, in order.
    pub unfinished: Vec<Vec<usize>>,
    /// Records of each lane.
    pub records: Vec<Marks>,
    /// Ranges and marks of each thread.
    pub ranges: Vec<Marks>,
}

impl Selected {
    /// Whether a call is selected.
    #[must_use]
    pub fn call(&self, track: TrackId, row: usize) -> bool {
        match self.calls.get(track.index()) {
            Some(marks) if row < marks.len() => marks.has(row),
            _ => self.unfinished.get(track.index()).is_some_and(|rows| rows.binary_search(&row).is_ok()),
        }
    }

    /// Selected calls of a thread.
    #[must_use]
    pub fn calls_of(&self, track: TrackId) -> usize {
        let unfinished = self.unfinished.get(track.index()).map_or(0, Vec::len);
        self.calls.get(track.index()).map_or(0, Marks::ones) + unfinished
    }

    /// Whether a record of the GPU is selected.
    #[must_use]
    pub fn record(&self, lane: LaneId, row: usize) -> bool {
        self.records.get(lane.0 as usize).is_some_and(|marks| marks.has(row))
    }

    /// Whether a range or mark is selected.
    #[must_use]
    pub fn range(&self, track: TrackId, row: usize) -> bool {
        self.ranges.get(track.index()).is_some_and(|marks| marks.has(row))
    }

    /// Selected events.
    #[must_use]
    pub fn count(&self) -> u64 {
        let marks = self.calls.iter().chain(&self.records).chain(&self.ranges).map(Marks::ones);
        let unfinished = self.unfinished.iter().map(Vec::len);
        marks.chain(unfinished).map(|count| count as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_and_places_are_those_of_a_list(runs in prop::collection::vec((0usize..200, any::<u64>(), prop::collection::vec(any::<u64>(), 0..20), any::<prop::sample::Index>()), 0..12), late in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..5)) {
            let (mut marks, mut twin) = (Marks::default(), Vec::new());
            for (skip, bits, many, count) in runs {
                marks.skip(skip);
                twin.resize(twin.len() + skip, false);
                for bit in 0..bits % 64 {
                    let selected = bits >> bit & 1 == 1;
                    marks.push(selected);
                    twin.push(selected);
                }
                let count = count.index(many.len() * 64 + 1);
                marks.append(&many, count);
                twin.extend((0..count).map(|at| many[at / 64] >> (at % 64) & 1 == 1));
            }
            for (row, selected) in late {
                if !twin.is_empty() {
                    let row = row.index(twin.len());
                    marks.put(row, selected);
                    twin[row] = selected;
                }
            }
            prop_assert_eq!(marks.len(), twin.len());
            prop_assert_eq!(marks.ones(), twin.iter().filter(|one| **one).count());
            let mut ones = 0;
            for (row, &selected) in twin.iter().enumerate() {
                prop_assert_eq!(marks.has(row), selected);
                prop_assert_eq!(marks.rank(row), ones);
                if selected {
                    prop_assert_eq!(marks.select(ones), Some(row));
                    ones += 1;
                }
            }
            prop_assert_eq!((marks.rank(twin.len()), marks.rank(usize::MAX), marks.select(ones)), (ones, ones, None));
        }
    }
}
