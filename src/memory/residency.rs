//! Where pages of managed memory are, as it is after what has happened so far, and how often they have moved.

use super::blocks::{BLOCK_PAGES, Blocks, Part, parts};
use super::happenings::Range;
use super::state::{State, StateId, States};

pub use super::homes::{Homes, PAGE_BYTES, Place, pages};
pub use super::state::{Advice, Advise, Cause, Happening};

/// Blocks that one record or call may concern: 512 GiB.
const MOST_AT_ONCE: u64 = if cfg!(test) { 1 << 12 } else { 1 << 18 };
/// Blocks that are kept: 2 TiB.
const MOST_BLOCKS: usize = 1 << 20;
/// How often blocks are looked at; a program comes to a few for each record. Beyond it nothing more is followed.
const MOST_VISITS: u64 = if cfg!(test) { 1 << 20 } else { 1 << 26 };
const VISITS_EACH: u64 = 16;

/// How far what happens is followed: a damaged trace must not take all memory, nor for ever.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    happenings: u64,
    visits: u64,
    /// Happenings that were not followed, since they concern more than there can be.
    pub left_out: u64,
}

impl Bounds {
    /// Whether nothing more is followed.
    pub const fn exhausted(&self) -> bool {
        self.visits > MOST_VISITS + VISITS_EACH * self.happenings
    }

    /// The blocks that something concerns, with those parts of them, into `found`. Blocks are made but by [`Happening::Fresh`].
    pub fn concerned<S: Copy + Default + PartialEq>(
        &mut self,
        blocks: &mut Blocks<S>,
        (from, to): Range,
        what: Happening,
        found: &mut Vec<(usize, Part)>,
    ) {
        found.clear();
        self.happenings += 1;
        if self.exhausted() {
            self.left_out += 1;
            return;
        }
        if what == Happening::Fresh {
            found.extend(blocks.existing(from, to));
        } else if to.saturating_sub(from) > MOST_AT_ONCE * BLOCK_PAGES {
            self.left_out += 1;
        } else {
            for part in parts(from, to) {
                if blocks.len() < MOST_BLOCKS || blocks.index(part.0).is_some() {
                    found.push((blocks.make(part.0).0, part));
                } else {
                    self.left_out += 1;
                    break;
                }
            }
        }
        self.visits += found.len() as u64;
    }
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Where it is, and so on.
    pub state: State,
    /// Where its last move took it from; unknown before it has moved.
    pub left: Homes,
    /// Whether it has moved.
    pub moved: bool,
    /// How often it has moved back to where its move before had taken it from.
    pub returns: u32,
}

/// What is kept of a page. There may be one for each page, so it is small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kept {
    returns: u32,
    /// [`Use`] when it came to where it is.
    came: u32,
    state: StateId,
    left: Left,
    moved: bool,
}

const _: () = assert!(size_of::<(u16, Kept)>() == 16);

/// Where a move took pages from: nothing if that is not told, or several places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Left(u8);

impl Left {
    fn of(from: Option<Place>, homes: Homes) -> Self {
        let place = from.or_else(|| homes.places().next().filter(|_| homes.count() == 1));
        Self(place.map_or(0, Self::number))
    }

    const fn number(place: Place) -> u8 {
        match place {
            Place::Host => 1,
            Place::Device(device) => 2 + if device < 62 { device } else { 62 },
        }
    }

    const fn is(self, place: Place) -> bool {
        self.0 == Self::number(place)
    }

    fn homes(self) -> Homes {
        match self.0 {
            0 => Homes::NONE,
            1 => Homes::one(Place::Host),
            device => Homes::one(Place::Device(device - 2)),
        }
    }
}

/// How much work had begun on a device before some moment: to tell whether any ran between two moments. [`Use::KNOWN`]:
/// whatever ran, the page was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Before pages come, work that runs at that moment not counted.
    pub coming: u32,
    /// Before pages leave.
    pub leaving: u32,
}

impl Use {
    /// It was used, or nobody knows.
    pub const KNOWN: u32 = u32::MAX;
    /// Nothing is known of work.
    pub const NONE: Self = Self { coming: Self::KNOWN, leaving: 0 };
}

/// What came of something that happened to some pages, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Pages that moved for the first time.
    pub first: u64,
    /// Pages that moved back to where their move before had taken them from.
    pub returned: u64,
    /// Of those, pages that went back from a device on which nothing ran while they were there.
    pub needless: u64,
    /// Of those that moved back, pages that eviction had moved away.
    pub evicted: u64,
    /// Pages that moved to where they were already: records in between are missing.
    pub contradicted: u64,
    /// How often the page of them that has moved back most has done so.
    pub most_returns: u32,
}

/// Where some pages are, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// On the host only.
    pub host: u64,
    /// On one device only.
    pub device: u64,
    /// Copies for reading in several places.
    pub several: u64,
    /// Not known.
    pub unknown: u64,
}

impl Shares {
    /// Some more pages.
    pub const fn add(&mut self, count: u64, homes: Homes) {
        let sum = match homes.count() {
            0 => &mut self.unknown,
            1 if homes.has(Place::Host) => &mut self.host,
            1 => &mut self.device,
            _ => &mut self.several,
        };
        *sum = sum.saturating_add(count);
    }
}

/// Where all pages of a process are, as it is after what has happened so far.
#[derive(Clone, Debug)]
pub struct Residency {
    states: States,
    pages: Blocks<Kept>,
    bounds: Bounds,
    found: Vec<(usize, Part)>,
}

impl Default for Residency {
    fn default() -> Self {
        let (states, bounds) = (States::default(), Bounds::default());
        Self { states, pages: Blocks::with_arrays(), bounds, found: Vec::new() }
    }
}

impl Residency {
    /// Something happens to the pages `from..to`; to be told in order of time.
    pub fn happen(&mut self, range: Range, what: Happening, work: Use) -> Outcome {
        let mut outcome = Outcome::default();
        let Self { states, pages, bounds, found } = self;
        bounds.concerned(pages, range, what, found);
        for &(index, (_, first, last)) in found.iter() {
            pages.update(index, (first, last), |begin, end, kept| {
                let state = states.after(kept.state, what);
                match what {
                    Happening::Moved { from, to, cause } => {
                        let count = u64::from(end - begin);
                        let before = states.get(kept.state);
                        Kept { state, ..kept.moved(&before, (from, to), cause, work, count, &mut outcome) }
                    }
                    Happening::Fresh => Kept::default(),
                    _ => Kept { state, ..kept },
                }
            });
        }
        outcome
    }

    /// What is known of a page.
    #[must_use]
    pub fn page(&self, page: u64) -> Page {
        let Kept { left, moved, returns, state, .. } = self.pages.get(page);
        Page { state: self.states.get(state), left: left.homes(), moved, returns }
    }

    /// Where the pages `from..to` are.
    #[must_use]
    pub fn shares(&self, from: u64, to: u64) -> Shares {
        let mut shares = Shares::default();
        self.pages.for_each(from, to, |from, to, kept| shares.add(to - from, self.states.get(kept.state).homes));
        shares
    }

    /// Whether all of the pages `from..to`, at most some thousands, are at a place.
    #[must_use]
    pub fn all_at(&self, from: u64, to: u64, place: Place) -> bool {
        self.pages.all(from, to, |kept| self.states.get(kept.state).homes.has(place))
    }

    /// Runs of pages that are alike.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.pages.runs()
    }

    /// Records and calls that were not followed, since they concern more than there can be.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.bounds.left_out
    }
}

impl Kept {
    fn moved(
        self,
        before: &State,
        (from, to): (Option<Place>, Place),
        cause: Cause,
        work: Use,
        count: u64,
        outcome: &mut Outcome,
    ) -> Self {
        let returns = self.left.is(to);
        let add = |sum: &mut u64, wanted: bool| *sum += if wanted { count } else { 0 };
        add(&mut outcome.contradicted, before.homes == Homes::one(to));
        add(&mut outcome.first, !self.moved);
        add(&mut outcome.returned, returns);
        add(&mut outcome.evicted, returns && before.evicted);
        let unused = self.came != Use::KNOWN && self.came == work.leaving;
        add(&mut outcome.needless, returns && unused && from.is_some_and(|from| before.homes == Homes::one(from)));
        let is_used = cause.is_access() || cause == Cause::Unknown || to == Place::Host;
        let after = Self {
            left: Left::of(from, before.homes),
            moved: true,
            returns: self.returns.saturating_add(u32::from(returns)),
            came: if is_used { Use::KNOWN } else { work.coming },
            state: self.state,
        };
        outcome.most_returns = outcome.most_returns.max(after.returns);
        after
    }
}

#[cfg(test)]
mod tests;
