//! What moved in which allocations: records of unified memory gone through in slices.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::later::Later;
use super::table::{Moved, Table};
use crate::correlate::Allocations;
use crate::memory::{Block, Movement, Walk};
use crate::session::model::Model;
use crate::trace::activity::What;
use crate::trace::{Bytes, ProcessId};

/// While a trace grows, what moved is looked at anew so many times less often than that takes.
const PAUSE: u32 = 3;
/// Records that are gone through between two looks at the clock.
const RECORDS: usize = 1024;

/// A state of the trace: allocations, records, and what a lens had decided.
type Of = (u64, u64, Option<u64>);

/// What moved, and of which state of the trace that is.
#[derive(Default)]
pub(super) struct KnownMoved {
    numbered: Later<Of, Arc<Moved>>,
    walking: Option<Walking>,
    due: Option<Instant>,
    /// Grows with every change.
    version: u64,
}

/// How far the records have been gone through.
struct Walking {
    of: Of,
    allocations: Vec<Arc<Allocations>>,
    /// The process that is next, and how far it is.
    process: u16,
    walk: Option<Walk>,
    found: Arc<Vec<Movement>>,
    spent: Duration,
    /// All of it has been gone through.
    is_done: bool,
}

impl KnownMoved {
    /// What moved, as far as it is known; `None`: it is not known yet, or not recorded.
    pub(super) fn moved(&self) -> Option<&Arc<Moved>> {
        self.numbered.get()
    }

    /// Grows with every change.
    pub(super) const fn version(&self) -> u64 {
        self.version
    }
}

impl Model {
    /// Goes on finding what moved, until `until`; true if it is of the trace as it is now.
    pub(super) fn learn_moved(&mut self, version: u64, table: &Arc<Table>, until: Instant) -> bool {
        if !self.trace.activities.recorded(What::Migrations) {
            return true;
        }
        let decided = self.selected().map(|_| self.decided());
        let of = (version, self.trace.activities.records(), decided);
        if self.books.moved.numbered.key() == Some(&of) {
            return true;
        }
        let begun = Instant::now();
        // What is under way goes on though the trace has grown meanwhile, but not if another lens is looked through.
        let goes_on = self.books.moved.walking.as_ref().is_some_and(|walking| walking.of.2 == decided);
        let same_lens = self.books.moved.numbered.key().is_some_and(|known| known.2 == decided);
        if !goes_on {
            if same_lens && self.books.moved.due.is_some_and(|due| begun < due) {
                return false;
            }
            let allocations = self.lives.all().to_vec();
            let (found, spent) = (Arc::default(), Duration::ZERO);
            self.books.moved.walking =
                Some(Walking { of, allocations, process: 0, walk: None, found, spent, is_done: false });
        }
        let Some(mut walking) = self.books.moved.walking.take() else { return false };
        if !walking.is_done {
            self.walk(&mut walking, until);
            walking.spent += begun.elapsed();
        }
        if !walking.is_done {
            self.books.moved.walking = Some(walking);
            return false;
        }
        let moved = &mut self.books.moved;
        let (found, table) = (walking.found.clone(), table.clone());
        let before = moved.numbered.key().copied();
        moved.numbered.update(walking.of, until, move || Arc::new(numbered(&table, &found)));
        if moved.numbered.key() == Some(&walking.of) {
            moved.due = walking.spent.checked_mul(PAUSE).and_then(|pause| Instant::now().checked_add(pause));
        } else {
            moved.walking = Some(walking);
        }
        moved.version += u64::from(moved.numbered.key().copied() != before);
        moved.numbered.key() == Some(&of)
    }

    /// Goes through records until `until`, or to their end.
    fn walk(&mut self, walking: &mut Walking, until: Instant) {
        let none: Arc<dyn Bytes> = Arc::new(Vec::new());
        let selected = self.lensed.selected();
        let wanted = |id, row| selected.is_none_or(|selected| selected.record(id, row));
        while let Some(allocations) = walking.allocations.get(usize::from(walking.process)) {
            if walking.walk.is_none() {
                let files: Vec<Arc<dyn Bytes>> =
                    self.files.iter().map(|file| file.clone().unwrap_or_else(|| none.clone())).collect();
                walking.walk = Walk::of(&self.trace, ProcessId(walking.process), &files, allocations);
            }
            if let Some(walk) = &mut walking.walk {
                while !walk.go_on(&self.trace, allocations, &wanted, RECORDS) {
                    if Instant::now() >= until {
                        return;
                    }
                }
            }
            if let Some(walk) = walking.walk.take() {
                let (found, _) = walk.finish(&self.trace, allocations);
                Arc::make_mut(&mut walking.found).extend(found);
            }
            walking.process += 1;
        }
        walking.is_done = true;
    }
}

/// By the numbers of the allocations.
fn numbered(table: &Table, found: &[Movement]) -> Moved {
    let of = found.iter().filter_map(|&one| {
        let block = Block { process: one.process, allocation: one.allocation? };
        Some((table.number_of(&block)?, one))
    });
    Moved(of.collect())
}
