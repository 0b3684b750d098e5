//! Sums by address: of bins as small as there is room for.

use super::{Counted, Sums};

/// Bits of the smallest bin: a page of 4 KiB.
const FINEST: u32 = 12;
/// Bits of the largest bin.
const COARSEST: u32 = 63;
/// Bins that are looked at one by one before they are searched.
const NEAR: usize = 4;

/// Sums of some records by address, in bins of one size that begin at multiples of it. Bins with nothing in them take no
/// room.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Bits of a bin's size.
    bits: u32,
    /// Numbers of the bins, in order.
    bins: Vec<u64>,
    /// Before each bin what lies in all bins before it, and in the end all.
    before: Vec<Sums>,
}

impl Profile {
    /// Of records by address, in at most `most` bins; `like` is one that is probably much the same.
    pub fn of(records: &[(Counted, u16, u64)], most: usize, like: Option<&Self>) -> Self {
        let mut bits = like.map_or(FINEST, |like| like.bits);
        while bits < COARSEST && count(records, bits) > most {
            bits += 1;
        }
        while bits > FINEST && count(records, bits - 1) <= most {
            bits -= 1;
        }
        let mut sums: Vec<(u64, Sums)> = Vec::new();
        for (record, ..) in records {
            let (first, last) = (record.from >> bits, (record.to - 1) >> bits);
            // They are in order of their beginnings, so all bins before its first are done with; those behind may be there.
            let known = sums.partition_point(|&(bin, _)| bin < first);
            for (at, bin) in (known..).zip(first..=last) {
                if sums.get(at).is_none_or(|&(known, _)| known != bin) {
                    sums.insert(at, (bin, Sums::default()));
                }
                let from = bin << bits;
                // The last bin of all ends behind the last address.
                let to = if bin == last { record.to } else { from.saturating_add(1 << bits) };
                if let Some((_, sum)) = sums.get_mut(at) {
                    sum.count(record.measure, record.within(from, to));
                }
            }
        }
        Self::of_bins(bits, sums)
    }

    /// All of these together, in at most `most` bins.
    pub fn merged<'a>(parts: impl Iterator<Item = &'a Self> + Clone, most: usize) -> Self {
        let mut bits = parts.clone().map(|part| part.bits).max().unwrap_or(FINEST);
        let mut all: Vec<(u64, Sums)> = Vec::new();
        for part in parts {
            let finer = bits - part.bits;
            for (&bin, pair) in part.bins.iter().zip(part.before.windows(2)) {
                let [before, after] = pair else { continue };
                all.push((bin >> finer, after.without(before)));
            }
        }
        all.sort_unstable_by_key(|&(bin, _)| bin);
        join(&mut all);
        while bits < COARSEST && all.len() > most {
            bits += 1;
            all.iter_mut().for_each(|(bin, _)| *bin >>= 1);
            join(&mut all);
        }
        Self::of_bins(bits, all)
    }

    fn of_bins(bits: u32, sums: Vec<(u64, Sums)>) -> Self {
        let mut all = Sums::default();
        let mut bins = Vec::with_capacity(sums.len());
        let mut before = Vec::with_capacity(sums.len() + 1);
        before.push(all);
        for (bin, sum) in sums {
            all.add(&sum);
            bins.push(bin);
            before.push(all);
        }
        Self { bits, bins, before }
    }

    /// What lies in `from..to`, as far as it does so in whole bins; `rest` is called with the parts of bins that are left
    /// and may have something in them. `at` is a bin that does not lie behind `from`, and is one for the next part then,
    /// which must not lie before this one.
    pub fn sum(&self, at: &mut usize, from: u64, to: u64, mut rest: impl FnMut(u64, u64)) -> Option<Sums> {
        if from >= to {
            return None;
        }
        let (first, last) = (from >> self.bits, (to - 1) >> self.bits);
        *at = self.next(*at, first);
        let mut begin = *at;
        if self.bins.get(begin).is_none_or(|&bin| bin > last) {
            return None;
        }
        let size = 1u64 << self.bits;
        let is_whole = |bin: u64| from <= bin << self.bits && (bin << self.bits).saturating_add(size) <= to;
        if self.bins.get(begin) == Some(&first) && !is_whole(first) {
            rest(from, (first << self.bits).saturating_add(size).min(to));
            begin += 1;
        }
        let mut end = last.checked_add(1).map_or(self.bins.len(), |after| self.next(begin, after));
        // The next part may begin in the same bin.
        *at = end.saturating_sub(1).max(*at);
        if end > begin && self.bins.get(end - 1) == Some(&last) && !is_whole(last) {
            rest((last << self.bits).max(from), to);
            end -= 1;
        }
        match (self.before.get(begin), self.before.get(end)) {
            (Some(before), Some(after)) if end > begin => Some(after.without(before)),
            _ => None,
        }
    }

    /// First bin from `at` on whose number is at least `bin`.
    fn next(&self, mut at: usize, bin: u64) -> usize {
        // It is mostly near.
        for _ in 0..NEAR {
            if self.bins.get(at).is_none_or(|&known| known >= bin) {
                return at;
            }
            at += 1;
        }
        at + self.bins.get(at..).unwrap_or_default().partition_point(|&known| known < bin)
    }

    /// Pieces of the addresses in which there is something: first, and first after it, in order; neighbours are joined.
    pub fn extents(&self) -> Vec<(u64, u64)> {
        let mut list: Vec<(u64, u64)> = Vec::new();
        for &bin in &self.bins {
            let (from, to) = (bin << self.bits, (bin << self.bits).saturating_add(1 << self.bits));
            match list.last_mut() {
                Some(last) if last.1 == from => last.1 = to,
                _ => list.push((from, to)),
            }
        }
        list
    }

    /// First address that may have something, and first after the last.
    pub fn bounds(&self) -> Option<(u64, u64)> {
        let (first, last) = (self.bins.first()?, self.bins.last()?);
        Some((first << self.bits, (last << self.bits).saturating_add(1 << self.bits)))
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.bins.capacity() * size_of::<u64>() + self.before.capacity() * size_of::<Sums>()
    }
}

/// Bins of this size that records by address lie in.
fn count(records: &[(Counted, u16, u64)], bits: u32) -> usize {
    let (mut count, mut next) = (0u64, 0u64);
    for (record, ..) in records {
        let (first, last) = ((record.from >> bits).max(next), (record.to - 1) >> bits);
        if last >= first {
            count = count.saturating_add((last - first).saturating_add(1));
            next = last.saturating_add(1);
        }
    }
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Joins neighbours with the same number.
fn join(sums: &mut Vec<(u64, Sums)>) {
    sums.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1.add(&next.1);
        }
        same
    });
}
