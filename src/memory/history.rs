//! Where each page was at any time.
//!
//! Each block of 2 MiB keeps the changes of its pages in order of time, 12 bytes each, and all of its states are written down
//! again after at least 64 changes and twice as many as it has runs: so a moment is found by looking at one stretch of changes
//! for each block, and all takes at most about 15 bytes for each change and 150 for each block. A record that changes nothing
//! (most faults) takes none.
//!
//! Records come late. One that is earlier than what has been gone through undoes all that has happened since then, in all
//! blocks, and that is gone through again together with it.
//!
//! Who wants it keeps one for each process: [`History::set_told`] with [`super::told`] whenever the table of allocations is
//! found anew, [`History::advance`] with the process's lane of unified memory while there is time, and then
//! [`History::for_each`] for rectangles, [`History::samples`] for the rows of a picture, [`super::life`] for one page.

mod past;

use super::blocks::{BLOCK_PAGES, Blocks, Part};
use super::happenings::{Feed, Next, Range, Told, of_record};
use super::residency::{Bounds, Shares};
use super::state::{State, StateId, States};
use crate::trace::activity::Lane;
use past::{Mark, PAGES, Past};

/// Happenings between two looks at the time.
const AT_ONCE: usize = 256;

/// Where the pages of a process were at any time.
#[derive(Clone, Debug, Default)]
pub struct History {
    states: States,
    now: Blocks<StateId>,
    /// Of each block.
    pasts: Vec<Past>,
    feed: Feed,
    told: Vec<Told>,
    bounds: Bounds,
    found: Vec<(usize, Part)>,
    cut_ns: Option<u64>,
}

/// Pages that were alike for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Pages: first, and first after.
    pub pages: Range,
    /// From when until when, ns on the trace's axis.
    pub span: (u64, u64),
    /// How they were.
    pub state: State,
}

/// What a cell of a picture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// How most of the pages that were looked at were.
    pub state: State,
    /// How many pages were like that.
    pub alike: u8,
    /// How many were looked at.
    pub of: u8,
}

/// Pages of a row that are looked at for a picture.
const SAMPLES: u64 = 4;

impl History {
    /// What calls say is now this, in order of time ([`super::happenings::told`]). What followed from what has changed is
    /// undone, and gone through again by [`History::advance`].
    pub fn set_told(&mut self, lane: Option<&Lane>, told: Vec<Told>) {
        let same = self.told.iter().zip(&told).take_while(|(old, new)| old == new).count();
        let first = |list: &[Told]| list.get(same).map(|told| told.at_ns);
        let earliest = first(&self.told).into_iter().chain(first(&told)).min();
        self.told = told;
        if let (Some(earliest), Some(lane)) = (earliest, lane)
            && self.feed.is_past(earliest)
        {
            self.rewind(lane, earliest);
        }
    }

    /// Goes through what has come, until `stop` says so, which is asked now and then; true when all is gone through. `lane`:
    /// unified memory of the process, always the same one.
    pub fn advance(&mut self, lane: &Lane, mut stop: impl FnMut() -> bool) -> bool {
        loop {
            if let Some(late_ns) = self.feed.take(lane) {
                self.rewind(lane, late_ns);
            }
            for _ in 0..AT_ONCE {
                let (at_ns, range, what) = match self.feed.next(lane, &self.told) {
                    None => break,
                    Some(Next::Told(index)) => match self.told.get(index) {
                        Some(told) => (told.at_ns, told.pages, told.what),
                        None => continue,
                    },
                    Some(Next::Row(_, activity)) => match of_record(&activity) {
                        Some((range, what)) => (activity.start_ns, range, what),
                        None => continue,
                    },
                };
                self.happen(at_ns, range, what);
            }
            if self.feed.is_done(lane, &self.told) {
                return true;
            }
            if stop() {
                return false;
            }
        }
    }

    fn happen(&mut self, at_ns: u64, range: Range, what: super::residency::Happening) {
        let Self { states, now, pasts, bounds, found, .. } = self;
        bounds.concerned(now, range, what, found);
        pasts.resize_with(now.len(), Past::default);
        for &(index, (_, first, last)) in found.iter() {
            let Some(past) = pasts.get_mut(index) else { continue };
            past.prepare(now.block(index));
            now.update(index, (first, last), |begin, end, state| {
                let after = states.after(state, what);
                if after != state {
                    past.push(at_ns, (begin, end), after);
                }
                after
            });
        }
        if (self.bounds.exhausted() || self.states.overflown()) && self.cut_ns.is_none() {
            self.cut_ns = Some(at_ns);
        }
    }

    fn rewind(&mut self, lane: &Lane, to_ns: u64) {
        let mut pages = [0; PAGES];
        for (index, past) in self.pasts.iter_mut().enumerate() {
            if past.rewind(to_ns) {
                past.pages(u64::MAX, &mut pages);
                self.now.set(index, (1..).zip(pages.iter().copied()));
            }
        }
        self.cut_ns = self.cut_ns.filter(|&cut_ns| cut_ns < to_ns);
        self.feed.rewind(lane, &self.told, to_ns);
    }

    /// From this moment on, ns, not everything is followed: the trace says more than can be kept of it.
    #[must_use]
    pub const fn cut_ns(&self) -> Option<u64> {
        self.cut_ns
    }

    fn past(&self, page: u64) -> Option<&Past> {
        self.pasts.get(self.now.index(page / BLOCK_PAGES)?)
    }

    /// How a page was at a moment, ns, what happens at that moment included.
    #[must_use]
    pub fn page(&self, page: u64, at_ns: u64) -> State {
        let id = self.past(page).map_or(0, |past| past.page((page % BLOCK_PAGES) as u16, at_ns));
        self.states.get(id)
    }

    /// Calls `each` with the pieces of the pages `from..to` that were alike at a moment, ns, in order of pages: first page,
    /// first page after it, how they were. Blocks of which nothing is recorded are left out. Some microseconds for each
    /// block of 2 MiB.
    pub fn at(&self, (from, to): Range, at_ns: u64, mut each: impl FnMut(u64, u64, State)) {
        let mut pages = [0; PAGES];
        for (index, (block, first, last)) in self.now.existing(from, to) {
            let Some(past) = self.pasts.get(index) else { continue };
            past.pages(at_ns, &mut pages);
            let base = block * BLOCK_PAGES;
            let mut begin = usize::from(first);
            for alike in pages.get(begin..usize::from(last)).unwrap_or_default().chunk_by(|one, next| one == next) {
                let state = self.states.get(alike.first().copied().unwrap_or(0));
                each(base + begin as u64, base + (begin + alike.len()) as u64, state);
                begin += alike.len();
            }
        }
    }

    /// Where the pages `from..to` were at a moment, ns.
    #[must_use]
    pub fn shares(&self, (from, to): Range, at_ns: u64) -> Shares {
        let mut shares = Shares::default();
        self.at((from, to), at_ns, |from, to, state| shares.add(to - from, state.homes));
        let told = shares.host + shares.device + shares.several + shares.unknown;
        shares.add(to.saturating_sub(from).saturating_sub(told), super::homes::Homes::NONE);
        shares
    }

    /// Calls `each` with rectangles that fill the pages `from..to` from one moment to another, ns: pages that were alike for a
    /// time, cut off at the edges. Block by block, and in a block in order of when they end. Blocks of which nothing is
    /// recorded are left out. It takes as long as there are changes; for a picture of many, see [`History::samples`].
    pub fn for_each(&self, (from, to): Range, (from_ns, to_ns): (u64, u64), mut each: impl FnMut(Stretch)) {
        if from_ns >= to_ns {
            return;
        }
        let mut states = [0; PAGES];
        for (index, (block, first, last)) in self.now.existing(from, to) {
            let Some(past) = self.pasts.get(index) else { continue };
            past.pages(from_ns, &mut states);
            let mut since = [from_ns; PAGES];
            let base = block * BLOCK_PAGES;
            let (first, last) = (usize::from(first), usize::from(last));
            let mut end = |pages: (usize, usize), until_ns: u64, states: &past::Pages, since: &[u64; PAGES]| {
                let mut at = pages.0;
                while at < pages.1 {
                    let key = |page: usize| (states.get(page), since.get(page));
                    let until = (at + 1..pages.1).find(|&page| key(page) != key(at)).unwrap_or(pages.1);
                    let (state, since_ns) = (states.get(at).copied().unwrap_or(0), since.get(at).copied().unwrap_or(0));
                    if since_ns < until_ns {
                        let pages = (base + at as u64, base + until as u64);
                        each(Stretch { pages, span: (since_ns, until_ns), state: self.states.get(state) });
                    }
                    at = until;
                }
            };
            for change in past.after(from_ns).take_while(|change| change.at_ns() < to_ns) {
                let pages = (change.pages().0.max(first), change.pages().1.min(last));
                if pages.0 >= pages.1 {
                    continue;
                }
                end(pages, change.at_ns(), &states, &since);
                if let (Some(states), Some(since)) = (states.get_mut(pages.0..pages.1), since.get_mut(pages.0..pages.1))
                {
                    states.fill(change.state());
                    since.fill(change.at_ns());
                }
            }
            end((first, last), to_ns, &states, &since);
        }
    }

    /// One row of a picture: how the pages `from..to` were at each of some moments, ns, best in order. Of the pages a few are looked at, as
    /// far apart as they can be, so that it takes about as long for many pages as for few.
    pub fn samples(&self, (from, to): Range, moments: &[u64], out: &mut Vec<Sample>) {
        out.clear();
        let count = to.saturating_sub(from);
        let of = count.min(SAMPLES);
        // The middle of each part.
        let pages: Vec<u64> = (0..of).map(|at| from + (count / of) * at + count / of / 2).collect();
        let pasts: Vec<(u16, Option<&Past>)> =
            pages.iter().map(|&page| ((page % BLOCK_PAGES) as u16, self.past(page))).collect();
        let mut marks = [Mark::default(); SAMPLES as usize];
        let mut ids = [0; SAMPLES as usize];
        for &at_ns in moments {
            for ((id, mark), (page, past)) in ids.iter_mut().zip(&mut marks).zip(&pasts) {
                *id = past.map_or(0, |past| past.follow(*page, at_ns, mark));
            }
            let ids = ids.get(..pasts.len()).unwrap_or_default();
            let alike = |id: StateId| ids.iter().filter(|&&other| other == id).count();
            // Of equally many the first.
            let most = ids.iter().rev().copied().max_by_key(|&id| alike(id)).unwrap_or(0);
            out.push(Sample { state: self.states.get(most), alike: alike(most) as u8, of: ids.len() as u8 });
        }
    }

    /// Changes that are kept.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.pasts.iter().map(Past::changes).sum()
    }

    /// Bytes on the heap, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let pasts: usize = self.pasts.iter().map(Past::heap_bytes).sum();
        self.now.heap_bytes()
            + self.pasts.capacity() * size_of::<Past>()
            + pasts
            + self.told.capacity() * size_of::<Told>()
    }
}

#[cfg(test)]
mod tests;
