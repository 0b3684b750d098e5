//! What moved in which allocations: what calls say of pages is looked for in slices, records are gone through in a thread of
//! their own, as they were when that began.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::later::{Growing, Later};
use super::table::{Moved, Table};
use crate::correlate::Allocations;
use crate::lens::Marks;
use crate::memory::{Movement, Records, Telling, Walk};
use crate::session::model::Model;
use crate::trace::ProcessId;
use crate::trace::activity::{LaneId, What};

/// While a trace grows, what moved is looked at anew so many times less often than that takes.
const PAUSE: u32 = 3;
/// Records that are gone through between two looks at whether somebody still waits.
const RECORDS: usize = 8192;

/// Of so many records a walk takes long: while they still become more by a 64th within such a time, as when a file is read, it
/// waits, but not longer than that.
const MANY: u64 = 500_000;
const STILL: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(30);
/// What is not there yet is waited for so long.
const BRIEF: Duration = Duration::from_micros(500);

/// A state of the trace: allocations, records, and what a lens had decided.
type Of = (u64, u64, Option<u64>);

/// What moved, and of which state of the trace that is.
#[derive(Default)]
pub(super) struct KnownMoved {
    known: Option<(Of, Arc<Moved>)>,
    walking: Option<Walking>,
    due: Option<Instant>,
    growing: Growing<Of>,
    /// How many records there were, and when; and since when they are looked at.
    seen: Option<(u64, Instant)>,
    since: Option<Instant>,
    /// Grows with every change.
    version: u64,
}

/// How far it is.
struct Walking {
    of: Of,
    begun: Instant,
    stage: Stage,
}

/// What is done.
enum Stage {
    /// What the calls of each process say is looked for.
    Calls(Vec<Telling>),
    /// Records are gone through, and summed up.
    Records(Later<(), Arc<Moved>>, Arc<Gone>),
}

/// How many records there are, and how many have been gone through.
#[derive(Debug)]
struct Gone {
    all: u64,
    gone: AtomicU64,
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

    /// Share of the records that have been gone through, thousandths; `None`: none are just now.
    pub(super) fn share(&self) -> Option<u16> {
        let share = |gone: &Gone| {
            let share = u128::from(gone.gone.load(Ordering::Relaxed)) * 1000 / u128::from(gone.all.max(1));
            u16::try_from(share).unwrap_or(1000).min(1000)
        };
        match &self.walking.as_ref()?.stage {
            Stage::Calls(_) => Some(0),
            Stage::Records(_, gone) => Some(share(gone)),
        }
    }

    /// Whether records come so fast that a walk through them would soon have to begin anew.
    fn is_being_read(&mut self, records: u64, now: Instant) -> bool {
        let since = *self.since.get_or_insert(now);
        if self.seen.is_none_or(|(seen, _)| records > seen + seen / 64) {
            self.seen = Some((records, now));
        }
        let comes = self.seen.is_some_and(|(_, at)| now.saturating_duration_since(at) < STILL);
        records >= MANY && comes && now.saturating_duration_since(since) < PATIENCE
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
        if walking.is_none() && self.books.moved.is_being_read(of.1, begun) {
            return false;
        }
        let mut walking = walking.unwrap_or_else(|| {
            let processes = (0..u16::MAX).map(ProcessId).take(self.lives.all().len());
            Walking { of, begun, stage: Stage::Calls(processes.map(Telling::new).collect()) }
        });
        self.walk(&mut walking, (version, table), until);
        let moved = &mut self.books.moved;
        let Stage::Records(found, _) = &mut walking.stage else {
            moved.walking = Some(walking);
            return false;
        };
        // Whoever asks is not to wait long.
        found.wait(until.min(Instant::now() + BRIEF));
        if let Some(found) = found.take() {
            moved.known = Some((walking.of, found));
            moved.due = walking.begun.elapsed().checked_mul(PAUSE).and_then(|pause| Instant::now().checked_add(pause));
            moved.version += 1;
        } else if found.is_making() {
            moved.walking = Some(walking);
        }
        moved.is_of(&of)
    }

    /// Looks for what calls say, until `until`, and when that is known has records gone through.
    fn walk(&mut self, walking: &mut Walking, (version, table): (u64, &Arc<Table>), until: Instant) {
        let Stage::Calls(tellings) = &mut walking.stage else { return };
        let files = self.all_files();
        let mut more = || Instant::now() < until;
        if !tellings.iter_mut().all(|telling| telling.advance(&self.trace, &files, &mut more)) {
            return;
        }
        let tellings = std::mem::take(tellings);
        // From here on it is of the trace as it is now.
        walking.of = (version, self.trace.activities.records(), walking.of.2);
        let records = Records::of(&self.trace);
        let marks = self.lensed.selected().map(|selected| selected.records.clone());
        let (allocations, table) = (self.lives.all().to_vec(), table.clone());
        let processes = (0..u16::MAX).map(ProcessId).take(allocations.len());
        let lanes = processes.filter_map(|process| records.lane(records.unified(process)?));
        let gone = Arc::new(Gone { all: lanes.map(|lane| lane.len() as u64).sum(), gone: AtomicU64::new(0) });
        let (told, mut found) = (gone.clone(), Later::default());
        found.update((), Instant::now(), move || {
            let found = walk_all(&records, tellings, &allocations, marks.as_deref(), &told);
            Arc::new(Moved::of(&table, found))
        });
        walking.stage = Stage::Records(found, gone);
    }
}

/// Goes through the records of all processes, as long as somebody else holds `told`.
fn walk_all(
    records: &Records,
    tellings: Vec<Telling>,
    allocations: &[Arc<Allocations>],
    marks: Option<&[Marks]>,
    told: &Arc<Gone>,
) -> Vec<Movement> {
    let wanted =
        |id: LaneId, row: usize| marks.is_none_or(|marks| marks.get(id.0 as usize).is_some_and(|marks| marks.has(row)));
    let (mut found, mut before) = (Vec::new(), 0);
    for ((process, telling), allocations) in (0..u16::MAX).map(ProcessId).zip(tellings).zip(allocations) {
        if records.unified(process).is_none() {
            continue;
        }
        let Some(mut walk) = Walk::of(records, process, telling.told(allocations)) else { continue };
        while !walk.go_on(records, allocations, &wanted, RECORDS) {
            told.gone.store(before + walk.gone() as u64, Ordering::Relaxed);
            if Arc::strong_count(told) == 1 {
                return Vec::new();
            }
        }
        before += walk.gone() as u64;
        found.extend(walk.movements());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_records_are_waited_for_while_they_are_read_and_few_are_not() {
        let (mut known, begun) = (KnownMoved::default(), Instant::now());
        assert!(!known.is_being_read(MANY / 2, begun));
        assert!(known.is_being_read(MANY, begun));
        assert!(known.is_being_read(2 * MANY, begun + STILL * 2));
        // Some come still, but that is not much.
        assert!(known.is_being_read(2 * MANY + 100, begun + STILL * 2 + STILL / 2));
        assert!(!known.is_being_read(2 * MANY + 200, begun + STILL * 3));
        assert!(known.is_being_read(3 * MANY, begun + STILL * 4));
        assert!(!known.is_being_read(9 * MANY, begun + PATIENCE), "not for ever");
    }
}
