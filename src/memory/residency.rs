//! Where pages of managed memory are: what migrations, faults and advice say of each page of 4 KiB.
//!
//! Where a page is before anything is recorded of it is not known: the first touch of fresh memory moves nothing, and shows
//! only where page faults are recorded.

use super::runs::Runs;

/// Bytes of a page: the smallest piece that moves on x86-64.
pub const PAGE_BYTES: u64 = 4096;

/// A place that memory can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The host.
    Host,
    /// A device.
    Device(u8),
}

/// A set of places; empty: not known. Devices from 62 on share a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Homes(u64);

impl Homes {
    /// One place.
    #[must_use]
    pub const fn one(place: Place) -> Self {
        match place {
            Place::Host => Self(1),
            Place::Device(device) => Self(2 << if device < 62 { device } else { 62 }),
        }
    }

    /// These and a place.
    #[must_use]
    pub const fn with(self, place: Place) -> Self {
        Self(self.0 | Self::one(place).0)
    }

    /// These and others.
    #[must_use]
    pub const fn or(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether a place is among them.
    #[must_use]
    pub const fn has(self, place: Place) -> bool {
        self.0 & Self::one(place).0 != 0
    }

    /// Whether nothing is known.
    #[must_use]
    pub const fn is_unknown(self) -> bool {
        self.0 == 0
    }

    /// How many places.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Where it is.
    pub homes: Homes,
    /// Where its last move took it from; unknown before it has moved.
    pub left: Homes,
    /// How often it has moved.
    pub moves: u32,
    /// How often it has moved back to where its move before had taken it from.
    pub returns: u32,
    /// Copies for reading may be kept in several places.
    pub read_mostly: bool,
}

/// What happens to pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// They moved to a place.
    Moved {
        /// Where from, as far as the record says.
        from: Option<Place>,
        /// Where to.
        to: Place,
    },
    /// A processor met them elsewhere or not at all, and has them now.
    Touched {
        /// Where the processor is.
        by: Place,
        /// It wrote, so that all other copies are worth nothing.
        writes: bool,
    },
    /// Copies for reading may be kept in several places from now on, or may not.
    ReadMostly(bool),
    /// They belong to a new allocation, or to none any more: nothing is known of them.
    Fresh,
}

/// What came of something that happened to some pages, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Pages that moved for the first time.
    pub first: u64,
    /// Pages that moved back to where their move before had taken them from.
    pub returned: u64,
    /// Pages that moved to where they were already: records in between are missing.
    pub contradicted: u64,
}

/// Where all pages of a process are, as it is after what has happened so far.
#[derive(Clone, Debug, Default)]
pub struct Residency {
    pages: Runs<Page>,
}

/// The pages that some bytes lie in: first, and first after.
#[must_use]
pub const fn pages(address: u64, bytes: u64) -> (u64, u64) {
    let end = address.saturating_add(bytes);
    (address / PAGE_BYTES, end / PAGE_BYTES + (!end.is_multiple_of(PAGE_BYTES)) as u64)
}

impl Residency {
    /// Something happens to the pages `from..to`; to be told in order of time.
    pub fn happen(&mut self, (from, to): (u64, u64), what: Happening) -> Outcome {
        let mut outcome = Outcome::default();
        self.pages.update(from, to, |count, page| match what {
            Happening::Moved { from, to } => page.moved(from, to, count, &mut outcome),
            Happening::Touched { by, writes } => page.touched(by, writes),
            Happening::ReadMostly(on) => Page { read_mostly: on, ..page },
            Happening::Fresh => Page::default(),
        });
        outcome
    }

    /// What is known of a page.
    #[must_use]
    pub fn page(&self, page: u64) -> Page {
        self.pages.get(page)
    }

    /// Calls `each` with the pieces of the pages `from..to` that are alike: first page, first page after it, what is known.
    pub fn for_each(&self, from: u64, to: u64, each: impl FnMut(u64, u64, Page)) {
        self.pages.for_each(from, to, each);
    }

    /// Pieces that are kept.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.pages.len()
    }
}

impl Page {
    fn moved(self, from: Option<Place>, to: Place, count: u64, outcome: &mut Outcome) -> Self {
        if self.homes == Homes::one(to) {
            outcome.contradicted += count;
        }
        let returns = self.moves > 0 && self.left.has(to);
        outcome.first += if self.moves == 0 { count } else { 0 };
        outcome.returned += if returns { count } else { 0 };
        let left = from.map_or(self.homes, Homes::one);
        let stays = self.read_mostly && !left.is_unknown();
        Self {
            homes: if stays { self.homes.or(left).with(to) } else { Homes::one(to) },
            left,
            moves: self.moves.saturating_add(1),
            returns: self.returns.saturating_add(u32::from(returns)),
            read_mostly: self.read_mostly,
        }
    }

    /// A fault of a page that is elsewhere is followed by its move, or by its being mapped from afar; so only of pages of
    /// which nothing is known, and of copies, it says where they are.
    fn touched(self, by: Place, writes: bool) -> Self {
        let homes = if self.homes.is_unknown() || (writes && self.homes.count() > 1 && self.homes.has(by)) {
            Homes::one(by)
        } else {
            self.homes
        };
        Self { homes, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GPU: Place = Place::Device(0);
    const TO_GPU: Happening = Happening::Moved { from: Some(Place::Host), to: GPU };
    const TO_HOST: Happening = Happening::Moved { from: Some(GPU), to: Place::Host };

    #[test]
    fn pages_that_bounce_return_each_time_but_the_first() {
        let mut residency = Residency::default();
        let range = pages(0x10_0000, 64 << 10);
        assert_eq!(range, (0x100, 0x110));
        assert!(residency.page(0x100).homes.is_unknown());
        assert_eq!(residency.happen(range, TO_GPU), Outcome { first: 16, returned: 0, contradicted: 0 });
        assert_eq!(residency.happen(range, TO_HOST).returned, 16);
        assert_eq!(residency.happen(range, TO_GPU).returned, 16);
        // Half of them come again, though nothing is recorded of their having left.
        let again = residency.happen((0x100, 0x108), TO_GPU);
        assert_eq!((again.first, again.contradicted), (0, 8));
        assert_eq!((residency.page(0x10f).moves, residency.page(0x10f).returns), (3, 2));
        assert_eq!(residency.pieces(), 2);
        residency.happen(range, Happening::Fresh);
        assert_eq!(residency.pieces(), 0);
    }

    #[test]
    fn memory_that_is_mostly_read_has_several_homes_until_somebody_writes() {
        let mut residency = Residency::default();
        let range = (5, 9);
        residency.happen(range, Happening::Touched { by: Place::Host, writes: true });
        residency.happen(range, Happening::ReadMostly(true));
        residency.happen(range, TO_GPU);
        let homes = residency.page(6).homes;
        assert!(homes.has(Place::Host) && homes.has(GPU) && homes.count() == 2);
        residency.happen((5, 6), Happening::Touched { by: Place::Host, writes: true });
        assert_eq!(residency.page(5).homes, Homes::one(Place::Host));
        assert_eq!(residency.page(6).homes, homes);
    }

    #[test]
    fn the_first_touch_is_known_by_its_fault_alone() {
        let mut residency = Residency::default();
        residency.happen((0, 4), Happening::Touched { by: GPU, writes: false });
        residency.happen((0, 8), TO_HOST);
        assert_eq!(residency.page(1).left, Homes::one(GPU));
        residency.happen((8, 9), Happening::Moved { from: None, to: GPU });
        assert!(residency.page(8).left.is_unknown());
    }

    fn happening(what: u8, device: u8) -> Happening {
        let place = if device == 2 { Place::Host } else { Place::Device(device) };
        match what {
            0..=3 => Happening::Moved { from: [None, Some(Place::Host), Some(GPU)][usize::from(what % 3)], to: place },
            4 | 5 => Happening::Touched { by: place, writes: what == 5 },
            6 => Happening::ReadMostly(device != 0),
            _ => Happening::Fresh,
        }
    }

    proptest! {
        /// Against pages one by one.
        #[test]
        fn runs_of_pages_are_what_pages_one_by_one_are(
            steps in prop::collection::vec((0u64..40, 0u64..20, 0u8..8, 0u8..3), 0..60),
        ) {
            let mut residency = Residency::default();
            let mut single: Vec<Residency> = (0..64).map(|_| Residency::default()).collect();
            for (from, count, what, device) in steps {
                let what = happening(what, device);
                let outcome = residency.happen((from, from + count), what);
                let mut sum = Outcome::default();
                for page in from..from + count {
                    let one = single[page as usize].happen((page, page + 1), what);
                    sum.first += one.first;
                    sum.returned += one.returned;
                    sum.contradicted += one.contradicted;
                }
                prop_assert_eq!(outcome, sum);
            }
            for page in 0..64 {
                prop_assert_eq!(residency.page(page), single[page as usize].page(page));
            }
        }
    }
}
