//! What moved in which allocations: records of unified memory gone through in slices, between two steps in threads of their
//! own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::later::{Growing, Later};
use super::table::{Moved, Table};
use crate::correlate::Allocations;
use crate::memory::{Telling, Told, Walk};
use crate::session::model::Model;
use crate::trace::ProcessId;
use crate::trace::activity::What;

/// While a trace grows, what moved is looked at anew so many times less often than that takes.
const PAUSE: u32 = 3;
/// Records that are gone through between two looks at the clock.
const RECORDS: usize = 1024;

/// A state of the trace: allocations, records, and what a lens had decided.
type Of = (u64, u64, Option<u64>);

/// What moved, and of which state of the trace that is.
#[derive(Default)]
pub(super) struct KnownMoved {
    known: Option<(Of, Arc<Moved>)>,
    walking: Option<Walking>,
    due: Option<Instant>,
    growing: Growing<Of>,
    /// Grows with every change.
    version: u64,
}

/// How far the records have been gone through.
struct Walking {
    of: Of,
    allocations: Vec<Arc<Allocations>>,
    /// The process that is next, and how far it is.
    process: u16,
    stage: Stage,
    /// Those of the processes before.
    done: Vec<Walk>,
    /// What becomes of all of them.
    summed: Later<Of, Arc<Moved>>,
    is_walked: bool,
    spent: Duration,
}

/// How far a process is.
enum Stage {
    /// What its calls say is looked for.
    Calls(Telling),
    /// That is put in order, with what comes and goes.
    InOrder(Later<u16, Vec<Told>>),
    /// Records are gone through.
    Records(Box<Walk>),
    /// It has none, or there is no thread to put it in order.
    Over,
}

impl Stage {
    fn of(process: u16) -> Self {
        Self::Calls(Telling::new(ProcessId(process)))
    }
}

impl KnownMoved {
    /// What moved, as far as it is known; `None`: it is not known yet, or not recorded.
    pub(super) fn moved(&self) -> Option<&Arc<Moved>> {
        self.known.as_ref().map(|(_, moved)| moved)
    }

    /// Grows with every change.
    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    fn is_of(&self, of: &Of) -> bool {
        self.known.as_ref().is_some_and(|(known, _)| known == of)
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
        if self.books.moved.is_of(&of) {
            return true;
        }
        let begun = Instant::now();
        // What is under way goes on though the trace has grown meanwhile, but not if another lens is looked through.
        let walking = self.books.moved.walking.take().filter(|walking| walking.of.2 == decided);
        let same_lens = self.books.moved.known.as_ref().is_some_and(|(known, _)| known.2 == decided);
        let grows = self.books.moved.growing.is(of, begun);
        if walking.is_none() && same_lens && grows && self.books.moved.due.is_some_and(|due| begun < due) {
            return false;
        }
        let mut walking = walking.unwrap_or_else(|| Walking {
            of,
            allocations: self.lives.all().to_vec(),
            process: 0,
            stage: Stage::of(0),
            done: Vec::new(),
            summed: Later::default(),
            is_walked: false,
            spent: Duration::ZERO,
        });
        if !walking.is_walked {
            walking.is_walked = self.walk(&mut walking, until);
            walking.spent += begun.elapsed();
            if walking.is_walked {
                let (done, table) = (std::mem::take(&mut walking.done), table.clone());
                walking.summed.update(walking.of, until, move || {
                    Arc::new(Moved::of(&table, done.into_iter().flat_map(Walk::movements).collect()))
                });
            }
        } else {
            walking.summed.wait(until);
        }
        let moved = &mut self.books.moved;
        if let Some(found) = walking.summed.take() {
            moved.known = Some((walking.of, found));
            moved.due = walking.spent.checked_mul(PAUSE).and_then(|pause| Instant::now().checked_add(pause));
            moved.version += 1;
        } else if !walking.is_walked || walking.summed.is_making() {
            moved.walking = Some(walking);
        }
        moved.is_of(&of)
    }

    /// Goes through records until `until`; true if it has come to their end.
    fn walk(&mut self, walking: &mut Walking, until: Instant) -> bool {
        let files = self.all_files();
        let selected = self.lensed.selected();
        let wanted = |id, row| selected.is_none_or(|selected| selected.record(id, row));
        let mut more = || Instant::now() < until;
        while let Some(allocations) = walking.allocations.get(usize::from(walking.process)) {
            let process = ProcessId(walking.process);
            match std::mem::replace(&mut walking.stage, Stage::Over) {
                Stage::Calls(mut telling) => {
                    if !telling.advance(&self.trace, &files, &mut more) {
                        walking.stage = Stage::Calls(telling);
                        return false;
                    }
                    let (mut told, allocations) = (Later::default(), allocations.clone());
                    told.update(process.0, until, move || telling.told(&allocations));
                    walking.stage = Stage::InOrder(told);
                }
                Stage::InOrder(mut told) => {
                    told.wait(until);
                    match told.take() {
                        Some(told) => {
                            let walk = Walk::of_told(&self.trace, process, told);
                            walking.stage = walk.map_or(Stage::Over, |walk| Stage::Records(Box::new(walk)));
                        }
                        None if told.is_making() => {
                            walking.stage = Stage::InOrder(told);
                            return false;
                        }
                        None => {}
                    }
                }
                Stage::Records(mut walk) => {
                    while !walk.go_on(&self.trace, allocations, &wanted, RECORDS) {
                        if !more() {
                            walking.stage = Stage::Records(walk);
                            return false;
                        }
                    }
                    walking.done.push(*walk);
                }
                Stage::Over => {
                    walking.process += 1;
                    walking.stage = Stage::of(walking.process);
                }
            }
        }
        true
    }
}
