//! Durations by size: how many fell into each of some 250 buckets, from which percentiles are read.
//!
//! Values below 8 ns have a bucket each; from there on every octave is cut into four. A histogram is the
//! same whatever the order of arrival, so a live one equals one read from the file. Most call paths are
//! taken a few times only: up to [`RAW`] values are kept as bare bucket numbers, and only then is a table made.

/// Values kept as bare bucket numbers before a table is made.
pub const RAW: usize = 24;
/// Half-width of a quantile's error, per cent of the true value, rounded up.
///
/// A bucket reaches from `4u` to `5u` at worst; the value that stands for it is `40u / 9`, one ninth (11.1 %)
/// away from either end.
pub const QUANTILE_ERROR_PCT: u8 = 12;

/// Values below this have a bucket each.
const EXACT: u64 = 8;
const EXACT_BITS: u32 = 3;

/// Counts of durations by size.
#[derive(Clone, Debug)]
pub struct Histogram(Kept);

#[derive(Clone, Debug)]
enum Kept {
    Raw { used: u8, buckets: [u8; RAW] },
    Table(Box<Table>),
}

#[derive(Clone, Debug)]
struct Table {
    total: u64,
    /// Bucket number of `counts[0]`.
    first: u8,
    counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self(Kept::Raw { used: 0, buckets: [0; RAW] })
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.sparse() == other.sparse()
    }
}

impl Eq for Histogram {}

impl Histogram {
    /// Counts one duration, ns.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        let bucket = bucket(ns);
        if let Kept::Table(table) = &mut self.0 {
            return table.add(bucket, 1);
        }
        self.add_raw(bucket);
    }

    fn add_raw(&mut self, bucket: u8) {
        if let Kept::Raw { used, buckets } = &mut self.0
            && let Some(place) = buckets.get_mut(usize::from(*used))
        {
            *place = bucket;
            *used += 1;
            return;
        }
        self.spill();
        if let Kept::Table(table) = &mut self.0 {
            table.add(bucket, 1);
        }
    }

    /// Makes a table of the bare numbers.
    #[cold]
    fn spill(&mut self) {
        if let Kept::Raw { used, buckets } = &self.0 {
            let mut table = Table { total: 0, first: 0, counts: Vec::new() };
            for &bucket in buckets.iter().take(usize::from(*used)) {
                table.add(bucket, 1);
            }
            self.0 = Kept::Table(Box::new(table));
        }
    }

    /// Counts everything that `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        match &other.0 {
            Kept::Raw { used, buckets } => {
                for &bucket in buckets.iter().take(usize::from(*used)) {
                    match &mut self.0 {
                        Kept::Table(table) => table.add(bucket, 1),
                        Kept::Raw { .. } => self.add_raw(bucket),
                    }
                }
            }
            Kept::Table(theirs) => {
                self.spill();
                if let Kept::Table(ours) = &mut self.0 {
                    for (bucket, &count) in (theirs.first..=u8::MAX).zip(&theirs.counts) {
                        if count > 0 {
                            ours.add(bucket, count);
                        }
                    }
                }
            }
        }
    }

    /// Values counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.0 {
            Kept::Raw { used, .. } => u64::from(*used),
            Kept::Table(table) => table.total,
        }
    }

    /// The value, ns, that `percent` of all values do not exceed, off by at most [`QUANTILE_ERROR_PCT`];
    /// `None` if nothing was counted.
    #[must_use]
    pub fn quantile(&self, percent: u8) -> Option<u64> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let rank = (u128::from(total) * u128::from(percent.min(100))).div_ceil(100).max(1);
        let mut seen = 0u128;
        for (bucket, count) in self.sparse() {
            seen += u128::from(count);
            if seen >= rank {
                return Some(middle(bucket));
            }
        }
        None
    }

    /// Buckets that are not empty, in order of size: number and count.
    fn sparse(&self) -> Vec<(u8, u64)> {
        match &self.0 {
            Kept::Raw { used, buckets } => {
                let mut sorted: Vec<u8> = buckets.iter().take(usize::from(*used)).copied().collect();
                sorted.sort_unstable();
                sorted.chunk_by(|a, b| a == b).filter_map(|run| Some((*run.first()?, run.len() as u64))).collect()
            }
            Kept::Table(table) => (table.first..=u8::MAX)
                .zip(&table.counts)
                .filter(|&(_, &count)| count > 0)
                .map(|(bucket, &count)| (bucket, count))
                .collect(),
        }
    }
}

impl Table {
    #[inline]
    fn add(&mut self, bucket: u8, count: u64) {
        self.total = self.total.saturating_add(count);
        let at = usize::from(bucket).wrapping_sub(usize::from(self.first));
        if let Some(place) = self.counts.get_mut(at) {
            *place = place.saturating_add(count);
        } else {
            self.widen(bucket, count);
        }
    }

    #[cold]
    fn widen(&mut self, bucket: u8, count: u64) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let more = usize::from(self.first - bucket);
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let at = usize::from(bucket - self.first);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        if let Some(place) = self.counts.get_mut(at) {
            *place = place.saturating_add(count);
        }
    }
}

/// Number of the bucket that a duration falls into.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "at most 251")]
fn bucket(ns: u64) -> u8 {
    if ns < EXACT {
        return ns as u8;
    }
    let octave = ns.ilog2();
    let quarter = (ns >> (octave - 2)) & 3;
    (EXACT + u64::from(octave - EXACT_BITS) * 4 + quarter) as u8
}

/// Smallest and largest value of a bucket.
fn bounds(bucket: u8) -> (u64, u64) {
    let bucket = u64::from(bucket);
    if bucket < EXACT {
        return (bucket, bucket);
    }
    let step = bucket - EXACT;
    let shift = step / 4 + 1;
    let low = u128::from(4 + step % 4) << shift;
    let high = low + (1u128 << shift) - 1;
    (clamp(low), clamp(high))
}

/// The value that is wrong by the same share at both ends of the bucket.
fn middle(bucket: u8) -> u64 {
    let (low, high) = bounds(bucket);
    let (low, high) = (u128::from(low), u128::from(high));
    if low == 0 { 0 } else { clamp(low + low * (high - low) / (low + high)) }
}

fn clamp(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_meet_without_gap_or_overlap() {
        let mut next = 0u128;
        for number in 0..=bucket(u64::MAX) {
            let (low, high) = bounds(number);
            assert_eq!(u128::from(low), next, "bucket {number}");
            assert_eq!(bucket(low), number);
            assert_eq!(bucket(high), number);
            next = u128::from(high) + 1;
        }
        assert_eq!(next, 1 << 64);
    }

    #[test]
    fn the_stated_error_holds_at_both_ends_of_every_bucket() {
        for number in 0..=bucket(u64::MAX) {
            let (low, high) = bounds(number);
            for value in [low, high] {
                let off = u128::from(middle(number).abs_diff(value));
                assert!(off * 100 <= u128::from(value) * u128::from(QUANTILE_ERROR_PCT), "bucket {number}");
            }
        }
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        assert_eq!(Histogram::default().quantile(50), None);
    }

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&ns| histogram.add(ns));
        histogram
    }

    proptest! {
        #[test]
        fn order_and_splits_do_not_matter(mut values in prop::collection::vec(0u64..u64::MAX, 0..120), cut in 0usize..120) {
            let whole = of(&values);
            let cut = cut.min(values.len());
            let mut merged = of(&values[cut..]);
            merged.merge(&of(&values[..cut]));
            prop_assert_eq!(&whole, &merged);
            values.sort_unstable();
            prop_assert_eq!(&whole, &of(&values));
            prop_assert_eq!(whole.count(), values.len() as u64);
        }

        #[test]
        fn quantiles_stay_within_the_stated_error(mut values in prop::collection::vec(0u64..10_000_000_000, 1..200), percent in 0u8..=100) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = (values.len() * usize::from(percent)).div_ceil(100).max(1);
            let truth = values[rank - 1];
            let off = histogram.quantile(percent).unwrap().abs_diff(truth);
            prop_assert!(off * 100 <= truth * u64::from(QUANTILE_ERROR_PCT), "off by {off} of {truth}");
        }
    }
}
