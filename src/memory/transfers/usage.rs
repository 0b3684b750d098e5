//! How much a link carried when: bytes by bins of time, each a power of two of nanoseconds wide and all equally wide.
//!
//! A transfer's bytes are spread evenly over its time. By a moment inside, `bytes * passed / duration` of them have gone, rounded
//! down; a bin has the difference between its edges. So two neighbouring bins add up to exactly what one twice as wide would have
//! had, and what comes out does not depend on the order of the rows.

use std::collections::BTreeMap;

/// Bins that are kept at most, from the first that carried anything to the last.
const MOST: u64 = 4096;

/// What a link carried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bins are `1 << shift` ns wide.
    shift: u32,
    /// Bytes by number of the bin; the first would begin at zero on the trace's axis.
    bins: BTreeMap<u64, u64>,
}

/// Bytes that have gone by a moment.
fn gone(bytes: u64, (start, end): (u64, u64), at: u64) -> u64 {
    let passed = at.clamp(start, end).saturating_sub(start);
    let share = (u128::from(bytes) * u128::from(passed)).checked_div(u128::from(end.saturating_sub(start)));
    share.map_or(bytes, |share| u64::try_from(share).unwrap_or(u64::MAX))
}

impl Usage {
    /// Takes a transfer: from when until when, ns, and bytes.
    pub(super) fn take(&mut self, span: (u64, u64), bytes: u64) {
        let (start, end) = span;
        // What takes no time, or ends where a bin begins, belongs to the moment before.
        let last = end.saturating_sub(1).max(start);
        self.make_room(start, last);
        let (first, last) = (start >> self.shift, last >> self.shift);
        for bin in first..=last {
            let edge = |bin: u64| if bin > last { end } else { bin << self.shift };
            let before = if bin == first { 0 } else { gone(bytes, span, edge(bin)) };
            let after = if bin == last { bytes } else { gone(bytes, span, edge(bin + 1)) };
            let sum = self.bins.entry(bin).or_default();
            *sum = sum.saturating_add(after.saturating_sub(before));
        }
    }

    /// Widens the bins until those from the first to the last, and these moments', are few enough.
    fn make_room(&mut self, start: u64, last: u64) {
        let known = |bins: &BTreeMap<u64, u64>| Some((*bins.first_key_value()?.0, *bins.last_key_value()?.0));
        let old = self.shift;
        while self.shift < 63 {
            let (first, end) = known(&self.bins).unwrap_or((u64::MAX, 0));
            let widened = self.shift - old;
            let from = (first >> widened).min(start >> self.shift);
            let to = (end >> widened).max(last >> self.shift);
            if to - from < MOST {
                break;
            }
            self.shift += 1;
        }
        if self.shift > old {
            for (bin, bytes) in std::mem::take(&mut self.bins) {
                let sum = self.bins.entry(bin >> (self.shift - old)).or_default();
                *sum = sum.saturating_add(bytes);
            }
        }
    }

    /// Width of a bin, ns.
    #[must_use]
    pub const fn bin_ns(&self) -> u64 {
        1 << self.shift
    }

    /// Bytes in all; saturates.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bins.values().fold(0, |sum, &bytes| sum.saturating_add(bytes))
    }

    /// Bytes of the fullest bin, and when that begins, ns; `None`: it carried nothing.
    #[must_use]
    pub fn busiest(&self) -> Option<(u64, u64)> {
        let (&bin, &bytes) = self.bins.iter().max_by_key(|&(&bin, &bytes)| (bytes, std::cmp::Reverse(bin)))?;
        Some((bytes, bin << self.shift))
    }

    /// Bytes by cells, of which so many share a span of time, ns. What a bin has is spread evenly over its time.
    #[must_use]
    pub fn cells(&self, (from, to): (u64, u64), cells: usize) -> Vec<u64> {
        let mut list = vec![0u64; cells];
        let (length, count) = (to.saturating_sub(from), cells as u64);
        if length == 0 || count == 0 {
            return list;
        }
        let edge = |cell: u64| {
            let passed = u128::from(length) * u128::from(cell) / u128::from(count);
            from.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX))
        };
        let cell_of = |at: u64| {
            let passed = u128::from(at.clamp(from, to).saturating_sub(from));
            u64::try_from(passed * u128::from(count) / u128::from(length)).unwrap_or(count).min(count - 1)
        };
        for (&bin, &bytes) in self.bins.range(from >> self.shift..=to >> self.shift) {
            let start = bin << self.shift;
            let span = (start, start.saturating_add(self.bin_ns()));
            for cell in cell_of(span.0)..=cell_of(span.1) {
                let part = gone(bytes, span, edge(cell + 1)).saturating_sub(gone(bytes, span, edge(cell)));
                if let Some(sum) = list.get_mut(cell as usize) {
                    *sum = sum.saturating_add(part);
                }
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bins_are_those_of_any_order_and_lose_nothing(
            all in prop::collection::vec((0u64..1 << 20, 0u64..1 << 12, 0u64..10_000), 1..40),
            far in prop::option::of(0u64..1 << 40),
        ) {
            let mut all = all;
            all.extend(far.map(|start| (start, 5, 7)));
            let take = |usage: &mut Usage, &(start, length, bytes): &(u64, u64, u64)| usage.take((start, start + length), bytes);
            let (mut one, mut other) = (Usage::default(), Usage::default());
            all.iter().for_each(|row| take(&mut one, row));
            all.iter().rev().for_each(|row| take(&mut other, row));
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(one.bytes(), all.iter().map(|row| row.2).sum::<u64>());
            let (first, last) = (*one.bins.first_key_value().unwrap().0, *one.bins.last_key_value().unwrap().0);
            prop_assert!(last - first < MOST);
            // By nanosecond: each transfer's bytes at the edges of its bins.
            let mut twin: BTreeMap<u64, u64> = BTreeMap::new();
            for &(start, length, bytes) in &all {
                let mut before = 0;
                for passed in 1..=length.max(1) {
                    let now = (bytes * passed).checked_div(length).unwrap_or(bytes);
                    *twin.entry((start + passed - 1) >> one.shift).or_default() += now - before;
                    before = now;
                }
            }
            twin.retain(|_, bytes| *bytes > 0);
            let mut bins = one.bins.clone();
            bins.retain(|_, bytes| *bytes > 0);
            prop_assert_eq!(bins, twin);
        }

        #[test]
        fn cells_of_the_whole_have_all_bytes(
            all in prop::collection::vec((1000u64..1 << 30, 1u64..1 << 16, 0u64..10_000), 1..20),
            cells in 1usize..90,
        ) {
            let mut usage = Usage::default();
            all.iter().for_each(|&(start, length, bytes)| usage.take((start, start + length), bytes));
            let seen = usage.cells((0, 1 << 31), cells);
            prop_assert_eq!(seen.iter().sum::<u64>(), usage.bytes());
        }
    }

    #[test]
    fn the_fullest_bin_and_odd_spans() {
        let mut usage = Usage::default();
        assert_eq!((usage.busiest(), usage.cells((5, 5), 3)), (None, vec![0; 3]));
        usage.take((100, 100), 50);
        usage.take((200, 210), 40);
        assert_eq!(usage.busiest(), Some((50, 100)));
        usage.take((0, u64::MAX), 1000);
        assert_eq!((usage.bytes(), usage.cells((0, u64::MAX), 4).iter().sum::<u64>()), (1090, 1090));
        usage.take((u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(usage.bytes(), u64::MAX);
        assert!(usage.cells((7, 3), 5).iter().all(|&bytes| bytes == 0) && usage.cells((0, 9), 0).is_empty());
    }
}
