//! Rows of a picture: places packed one after the other, without the gaps between them.

use std::ops::Range;
use std::sync::Arc;

use super::places::Places;
use crate::trace::ProcessId;

/// Bits of a row above which there is nothing more to be had: then each process has one.
const LARGEST: u8 = 62;
/// Bits of the smallest row that is tried.
const SMALLEST: u8 = 12;
/// Packings that are kept: what fits, and what one has zoomed to.
const KEPT: usize = 4;

/// Addresses that rows go through one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Process.
    pub process: ProcessId,
    /// First address.
    pub from: u64,
    /// First address after it.
    pub to: u64,
    /// Number of its first row.
    pub first: u64,
    /// The place, or the first of several that share a row.
    pub place: usize,
}

/// Places one after the other, in rows of one size; small ones that are neighbours share a row. There may be half a million, so
/// of each stretch little is kept: the rest its places say.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    /// Bits of a row's size.
    pub bits: u8,
    /// Rows in all.
    pub total: u64,
    /// Number of the first row of each stretch, and its first place.
    firsts: Vec<u64>,
    starts: Vec<u32>,
    /// The place after the last one.
    end: usize,
}

impl Packed {
    /// Some of these places in rows of this size.
    pub fn of(places: &Places, shown: Range<usize>, bits: u8) -> Self {
        let (mut firsts, mut starts) = (Vec::new(), Vec::new());
        let total = pack(places, shown.clone(), bits, |place, first, is_shared| {
            if !is_shared {
                firsts.push(first);
                starts.push(u32::try_from(place).unwrap_or(u32::MAX));
            }
        });
        Self { bits, total, firsts, starts, end: shown.end }
    }

    fn stretch(&self, places: &Places, at: usize) -> Option<Stretch> {
        let place = *self.starts.get(at)? as usize;
        let after = self.starts.get(at + 1).map_or(self.end, |&next| next as usize);
        let (one, last) = (places.get(place)?, places.get(after.checked_sub(1)?)?);
        Some(Stretch { process: one.process, from: one.from, to: last.to, first: *self.firsts.get(at)?, place })
    }

    fn rows(&self, at: usize) -> u64 {
        let next = self.firsts.get(at + 1).copied().unwrap_or(self.total);
        next - self.firsts.get(at).copied().unwrap_or(next)
    }

    /// Stretch, first address and first address after a row. `places` are those that were packed.
    pub fn row(&self, places: &Places, row: u64) -> Option<(Stretch, u64, u64)> {
        let at = self.firsts.partition_point(|&first| first <= row).checked_sub(1)?;
        let stretch = self.stretch(places, at)?;
        let inside = row - stretch.first;
        if inside >= self.rows(at) {
            return None;
        }
        let size = 1u64 << self.bits;
        let from = stretch.from.saturating_add(inside.saturating_mul(size));
        // A row that several places share ends with them.
        let to = if self.rows(at) == 1 { stretch.to } else { from.saturating_add(size).min(stretch.to) };
        Some((stretch, from, to))
    }

    /// The row that an address of a process is in, or the next one to it. `places` are those that were packed.
    pub fn row_of(&self, places: &Places, process: ProcessId, address: u64) -> u64 {
        let is_before =
            |&place: &u32| places.get(place as usize).is_some_and(|one| (one.process, one.from) <= (process, address));
        let after = self.starts.partition_point(is_before);
        let Some((at, stretch)) = after.checked_sub(1).and_then(|at| Some((at, self.stretch(places, at)?))) else {
            return 0;
        };
        let inside = if stretch.process == process { (address - stretch.from) >> self.bits } else { u64::MAX };
        stretch.first + inside.min(self.rows(at).saturating_sub(1))
    }
}

/// Packs places into rows of a size, and says how many that are. `each` is called with each place, its first row, and with
/// whether it shares that with the one before.
fn pack(places: &Places, shown: Range<usize>, bits: u8, mut each: impl FnMut(usize, u64, bool)) -> u64 {
    let size = 1u64 << bits;
    let (mut total, mut shared, mut before) = (0u64, 0, None);
    for (place, one) in shown.clone().zip(places.all().get(shown).unwrap_or_default()) {
        let bytes = one.to - one.from;
        let is_shared = before == Some(one.process) && shared > 0 && shared + bytes <= size;
        each(place, total, is_shared);
        if is_shared {
            shared += bytes;
            continue;
        }
        before = Some(one.process);
        shared = if bytes < size { bytes } else { 0 };
        total = total.saturating_add(bytes.div_ceil(size));
    }
    total
}

/// Bits of the smallest rows that all fit into so many lines.
fn fitting(places: &Places, shown: &Range<usize>, lines: u64) -> u8 {
    // Rows are as large as what is in them at most, so there is no use in trying smaller ones.
    let all = places.all().get(shown.clone()).unwrap_or_default();
    let bytes = all.iter().fold(0u64, |sum, one| sum.saturating_add(one.to - one.from));
    let least = bytes.div_ceil(lines.max(1)).max(1).ilog2();
    let mut bits = u8::try_from(least).unwrap_or(LARGEST).clamp(SMALLEST, LARGEST);
    while bits < LARGEST && pack(places, shown.clone(), bits, |_, _, _| {}) > lines {
        bits += 1;
    }
    bits
}

/// How places were packed of late: of half a million of them that takes some milliseconds.
#[derive(Debug, Default)]
pub struct Packings {
    /// Which places these are.
    of: u64,
    /// Which places were shown in so many lines, and the rows that fit.
    fits: Option<(Range<usize>, u64, u8)>,
    /// The last one that was asked for comes last.
    kept: Vec<(Range<usize>, Arc<Packed>)>,
}

impl Packings {
    /// Forgets all if the places are others now; `version` says which.
    pub fn are_of(&mut self, version: u64) {
        if self.of != version {
            *self = Self { of: version, ..Self::default() };
        }
    }

    /// Bits of the smallest rows in which some places all fit into so many lines.
    pub fn fitting(&mut self, places: &Places, shown: &Range<usize>, lines: u64) -> u8 {
        if let Some((.., bits)) = self.fits.as_ref().filter(|known| (&known.0, known.1) == (shown, lines)) {
            return *bits;
        }
        let bits = fitting(places, shown, lines);
        self.fits = Some((shown.clone(), lines, bits));
        bits
    }

    /// Some places in rows of this size.
    pub fn packed(&mut self, places: &Places, shown: &Range<usize>, bits: u8) -> Arc<Packed> {
        let known = self.kept.iter().position(|(of, packed)| of == shown && packed.bits == bits);
        let found = match known {
            Some(at) => self.kept.remove(at),
            None => (shown.clone(), Arc::new(Packed::of(places, shown.clone(), bits))),
        };
        if self.kept.len() >= KEPT {
            self.kept.remove(0);
        }
        let packed = found.1.clone();
        self.kept.push(found);
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::tests::place;
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn places_are_packed_without_the_gaps_between() {
        let places = Places::of_list(vec![
            place(0, 0, 4 * MIB),
            place(0, 100 * MIB, 100 * MIB + 4096),
            place(0, 200 * MIB, 200 * MIB + 8192),
            place(0, 300 * MIB, 305 * MIB),
            place(1, 0, 4096),
        ]);
        let packed = Packed::of(&places, 0..5, 21);
        assert_eq!(packed.total, 2 + 1 + 3 + 1);
        let row = |row| packed.row(&places, row).map(|(stretch, from, to)| (stretch.place, from, to));
        assert_eq!(row(1), Some((0, 2 * MIB, 4 * MIB)));
        assert_eq!(row(2), Some((1, 100 * MIB, 200 * MIB + 8192)));
        assert_eq!(row(5), Some((3, 304 * MIB, 305 * MIB)));
        assert_eq!(row(6), Some((4, 0, 4096)));
        assert_eq!(row(7), None);
        for number in 0..packed.total {
            let (stretch, from, to) = packed.row(&places, number).unwrap();
            assert_eq!(packed.row_of(&places, stretch.process, from), number);
            assert_eq!(packed.row_of(&places, stretch.process, to - 1), number);
        }
        assert_eq!(packed.row_of(&places, ProcessId(0), 50 * MIB), 1);
        assert_eq!(fitting(&places, &(0..5), 7), 21);
        assert_eq!(fitting(&places, &(0..5), 1), 62);
        assert_eq!(Packed::of(&Places::default(), 0..0, fitting(&Places::default(), &(0..0), 7)).total, 0);
        // One of them alone.
        let packed = Packed::of(&places, 3..4, 20);
        assert_eq!((packed.total, packed.row(&places, 4).map(|row| row.0.place)), (5, Some(3)));
    }

    #[test]
    fn packings_are_kept_as_long_as_the_places_are_the_same() {
        let places = Places::of_list(vec![place(0, 0, 4 * MIB)]);
        let mut packings = Packings::default();
        packings.are_of(1);
        assert_eq!(packings.fitting(&places, &(0..1), 4), 20);
        let first = packings.packed(&places, &(0..1), 20);
        for bits in 12..20 {
            packings.packed(&places, &(0..1), bits);
            assert!(Arc::ptr_eq(&first, &packings.packed(&places, &(0..1), 20)));
        }
        assert!(packings.kept.len() <= KEPT);
        packings.are_of(2);
        assert!(!Arc::ptr_eq(&first, &packings.packed(&places, &(0..1), 20)));
    }

    proptest! {
        /// Against all sizes one after the other.
        #[test]
        fn the_smallest_rows_that_fit_are_found(
            sizes in prop::collection::vec((1u64..5000, 1u64..100, 0u16..3), 0..40),
            lines in 1u64..60,
        ) {
            let (mut at, mut process) = (0, 0);
            let list = sizes.into_iter().map(|(pages, gap, next)| {
                process += u16::from(next == 0);
                at += gap * 4096 + pages * 4096;
                place(process, at - pages * 4096, at)
            });
            let places = Places::of_list(list.collect());
            let all = 0..places.len();
            let first = (12..62).find(|&bits| Packed::of(&places, all.clone(), bits).total <= lines).unwrap_or(62);
            prop_assert_eq!(fitting(&places, &all, lines), first);
        }
    }
}
