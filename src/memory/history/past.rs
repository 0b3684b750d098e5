//! What has become of one block of pages: changes in order of time, with all of it written down now and then.

use super::super::blocks::BLOCK_PAGES;
use super::super::state::StateId;

/// Pages of a block.
pub const PAGES: usize = BLOCK_PAGES as usize;
/// Changes after which all of a block is written down at the earliest.
const FEWEST: usize = 64;

/// From a moment on some pages of a block have a state: 12 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    at: [u32; 2],
    /// First page, number of pages less one, and state.
    what: u32,
}

const _: () = assert!(size_of::<Change>() == 12);

impl Change {
    fn new(at_ns: u64, (from, to): (u16, u16), state: StateId) -> Self {
        let what = u32::from(from & 511) | u32::from(to.saturating_sub(from + 1) & 511) << 9 | u32::from(state) << 18;
        Self { at: [at_ns as u32, (at_ns >> 32) as u32], what }
    }

    /// Since when, ns on the trace's axis.
    #[must_use]
    pub const fn at_ns(self) -> u64 {
        self.at[0] as u64 | (self.at[1] as u64) << 32
    }

    /// Pages: first, and first after.
    #[must_use]
    pub const fn pages(self) -> (usize, usize) {
        let from = (self.what & 511) as usize;
        (from, from + (self.what >> 9 & 511) as usize + 1)
    }

    /// State.
    #[must_use]
    pub const fn state(self) -> StateId {
        (self.what >> 18) as StateId
    }
}

/// Changes, and how all of the block was before them.
#[derive(Clone, Debug, Default)]
struct Chapter {
    /// Runs: first page after, and state.
    before: Box<[(u16, StateId)]>,
    changes: Vec<Change>,
}

/// A block's past. Before its first change nothing is known of its pages.
#[derive(Clone, Debug, Default)]
pub struct Past {
    chapters: Vec<Chapter>,
}

/// How far a page has been followed: chapter, changes in it, and the state by then.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    at: Option<(usize, usize)>,
    state: StateId,
}

/// The states of all pages of a block.
pub type Pages = [StateId; PAGES];

impl Past {
    /// Pages change, after [`Past::prepare`]. Moments must not go back.
    pub fn push(&mut self, at_ns: u64, pages: (u16, u16), state: StateId) {
        let Some(chapter) = self.chapters.last_mut() else { return };
        let change = Change::new(at_ns, pages, state);
        if let Some(last) = chapter.changes.last_mut()
            && last.at_ns() == at_ns
            && last.state() == state
            && last.pages().1 == change.pages().0
        {
            *last = Change::new(at_ns, (last.pages().0 as u16, pages.1), state);
            return;
        }
        chapter.changes.push(change);
    }

    /// Before changes: if there have been many since all was written down, it is again. `now`: runs as they are.
    ///
    /// There are at least twice as many changes between two such times as there are runs, so that they take no more than
    /// 2 bytes for each change.
    pub fn prepare(&mut self, now: &[(u16, StateId)]) {
        if let Some(chapter) = self.chapters.last_mut() {
            if chapter.changes.len() < FEWEST.max(2 * now.len()) {
                return;
            }
            chapter.changes.shrink_to_fit();
        }
        // Before the first change there is nothing to write down.
        let before = if self.chapters.is_empty() { Box::default() } else { now.into() };
        self.chapters.push(Chapter { before, changes: Vec::new() });
    }

    /// Forgets what has happened since a moment, ns; false if nothing has.
    pub fn rewind(&mut self, to_ns: u64) -> bool {
        let mut changed = false;
        while let Some(chapter) = self.chapters.last_mut() {
            let count = chapter.changes.partition_point(|change| change.at_ns() < to_ns);
            changed |= count < chapter.changes.len();
            chapter.changes.truncate(count);
            if count > 0 {
                break;
            }
            self.chapters.pop();
        }
        changed
    }

    /// Index of the chapter that a moment lies in, ns, and how many of its changes had happened by then, those at the moment
    /// included.
    fn find(&self, at_ns: u64) -> Option<(usize, usize)> {
        let begun = |chapter: &Chapter| chapter.changes.first().is_some_and(|change| change.at_ns() <= at_ns);
        let index = self.chapters.partition_point(begun).checked_sub(1)?;
        let changes = &self.chapters.get(index)?.changes;
        Some((index, changes.partition_point(|change| change.at_ns() <= at_ns)))
    }

    /// State of a page at a moment, ns, what happens at that moment included.
    #[must_use]
    pub fn page(&self, page: u16, at_ns: u64) -> StateId {
        self.follow(page, at_ns, &mut Mark::default())
    }

    /// Likewise, of one page at moments one after another: only what has changed since the one before is looked at.
    pub fn follow(&self, page: u16, at_ns: u64, mark: &mut Mark) -> StateId {
        let Some((index, count)) = self.find(at_ns) else { return 0 };
        let Some(chapter) = self.chapters.get(index) else { return 0 };
        let known = mark.at.filter(|&(at, seen)| at == index && seen <= count);
        let later = chapter.changes.get(known.map_or(0, |known| known.1)..count).unwrap_or_default();
        let covers = |change: &&Change| (change.pages().0..change.pages().1).contains(&usize::from(page));
        let before = || match known {
            Some(_) => mark.state,
            None => {
                let run = chapter.before.partition_point(|&(end, _)| end <= page);
                chapter.before.get(run).map_or(0, |run| run.1)
            }
        };
        let state = later.iter().rev().find(covers).map_or_else(before, |change| change.state());
        *mark = Mark { at: Some((index, count)), state };
        state
    }

    /// States of all pages at a moment, ns, what happens at that moment included.
    pub fn pages(&self, at_ns: u64, pages: &mut Pages) {
        pages.fill(0);
        let Some((index, count)) = self.find(at_ns) else { return };
        let Some(chapter) = self.chapters.get(index) else { return };
        let mut at = 0;
        for &(end, state) in &chapter.before {
            fill(pages, (at, usize::from(end)), state);
            at = usize::from(end);
        }
        for change in chapter.changes.iter().take(count) {
            fill(pages, change.pages(), change.state());
        }
    }

    /// Changes after a moment, ns, in order.
    pub fn after(&self, at_ns: u64) -> impl Iterator<Item = Change> {
        let (index, count) = self.find(at_ns).unwrap_or((0, 0));
        let later = self.chapters.iter().skip(index).enumerate();
        later.flat_map(move |(at, chapter)| chapter.changes.iter().skip(if at == 0 { count } else { 0 }).copied())
    }

    /// Changes.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.chapters.iter().map(|chapter| chapter.changes.len()).sum()
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let of = |chapter: &Chapter| {
            chapter.before.len() * size_of::<(u16, StateId)>() + chapter.changes.capacity() * size_of::<Change>()
        };
        self.chapters.capacity() * size_of::<Chapter>() + self.chapters.iter().map(of).sum::<usize>()
    }
}

fn fill(pages: &mut Pages, (from, to): (usize, usize), state: StateId) {
    if let Some(pages) = pages.get_mut(from..to) {
        pages.fill(state);
    }
}
