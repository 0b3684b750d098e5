//! What is recorded and what is not, and why: said once, in each of the process's files.
//!
//! A statement is kept until a thread can write it: before the first CUDA call there is no file. It is written again
//! in a child's file after fork, as far as it holds there, and when old chunks, it among them, make room for new ones.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};
use umtui_wire::activity::{EVIDENCE_RANGES, KIND_EVIDENCE, WHY_FORKED, WHY_RECORDED};
use umtui_wire::definition::NO_STRING;
use umtui_wire::record::Head;

use crate::lock::TryLock;
use crate::thread::Thread;
use crate::{append, arch, chunks, clock, definitions, process, text};

/// Kinds of evidence there is room for.
const KINDS: usize = 16;
/// Longest detail that is kept as text, bytes.
const DETAIL: usize = 256;

#[unsafe(link_section = ".data.small")]
static LOCK: TryLock = TryLock::new();
/// Kinds of which something was said: a bit for each.
#[unsafe(link_section = ".data.small")]
static SAID: AtomicU32 = AtomicU32::new(0);
/// Those that this file has yet to be told.
#[unsafe(link_section = ".data.small")]
static DUE: AtomicU32 = AtomicU32::new(0);

struct Places(UnsafeCell<[Statement; KINDS]>);
// SAFETY: used only by the holder of LOCK.
unsafe impl Sync for Places {}
static PLACES: Places = Places(UnsafeCell::new([const { Statement::new() }; KINDS]));

/// What was said last of one kind.
struct Statement {
    why: u32,
    result: u32,
    driver_version: u32,
    library_version: u32,
    /// String id of the detail, if it was given as one, and the set of tables that it is of.
    id: u32,
    tables: u16,
    /// The detail, if it was given as text: it outlives the file.
    text: text::Path<DETAIL>,
    /// Which recording it was said in; zero: before it began.
    generation: u64,
}

impl Statement {
    const fn new() -> Self {
        Self {
            why: 0,
            result: 0,
            driver_version: 0,
            library_version: 0,
            id: NO_STRING,
            tables: 0,
            text: text::Path::new(),
            generation: 0,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let numbers = |of: &Self| (of.why, of.result, of.driver_version, of.library_version, of.id, of.tables);
        numbers(self) == numbers(other) && self.text.as_bytes() == other.text.as_bytes()
    }

    /// String id of the detail in this file.
    fn detail(&self) -> u32 {
        match self.text.as_bytes() {
            [] if self.tables == definitions::generation() => self.id,
            [] => NO_STRING,
            text => definitions::string(text),
        }
    }
}

/// Says whether evidence is recorded from here on: `what` is `EVIDENCE_*`, `why` `WHY_*`, `detail` a string id that
/// holds in this file (zero for none), `result` CUPTI's. Written by the calling thread if it records, else by the next
/// that can. A detail that is to be said in children's files too is better given as text, see [`tell_text`].
pub fn tell(what: u16, why: u32, detail: u32, result: u32, driver_version: u32, library_version: u32) {
    let mut statement = Statement::new();
    (statement.why, statement.result) = (why, result);
    (statement.driver_version, statement.library_version) = (driver_version, library_version);
    if detail != NO_STRING {
        (statement.id, statement.tables) = (detail, definitions::generation());
    }
    say(what, statement);
}

/// As [`tell`], with the detail as text: it may be said before there is a file. What is longer than 255 bytes is cut.
pub fn tell_text(what: u16, why: u32, detail: &[u8]) {
    let mut statement = Statement::new();
    statement.why = why;
    statement.text.push(detail);
    say(what, statement);
}

fn say(what: u16, mut statement: Statement) {
    let index = usize::from(what);
    if index >= KINDS {
        return;
    }
    statement.generation = process::generation();
    let bit = 1u32.wrapping_shl(u32::from(what));
    {
        let Some(_held) = LOCK.try_for_a_while() else { return };
        // SAFETY: the lock is held.
        let places = unsafe { &mut *PLACES.0.get() };
        let Some(place) = places.get_mut(index) else { return };
        // Said and written already, or about to be.
        if SAID.fetch_or(bit, Ordering::Relaxed) & bit != 0 && place.is_same(&statement) {
            return;
        }
        *place = statement;
    }
    DUE.fetch_or(bit, Ordering::Release);
    // SAFETY: the calling thread's own state.
    let thread = unsafe { &mut *arch::thread() };
    if process::generation() != 0 && thread.generation == process::generation() && thread.has_chunk() {
        append::with_chunk(thread, |thread| {
            if append::room(thread, clock::now()).is_some() {
                write_due(thread);
            }
        });
    }
}

/// Writes what is due at the cursor of a thread's chunk; the thread has it for itself.
#[inline]
pub fn write_due(thread: &mut Thread) {
    if DUE.load(Ordering::Relaxed) != 0 {
        write_all_due(thread);
    }
}

#[cold]
fn write_all_due(thread: &mut Thread) {
    let Some(_held) = LOCK.try_at_once() else { return };
    let due = DUE.swap(0, Ordering::AcqRel);
    // SAFETY: the lock is held.
    let places = unsafe { &*PLACES.0.get() };
    for (what, statement) in places.iter().enumerate().filter(|(what, _)| due.wrapping_shr(*what as u32) & 1 != 0) {
        let head = Head { kind: KIND_EVIDENCE, extra: 0, a: what as u16, b: statement.why };
        let result = u64::from(statement.result) | u64::from(statement.driver_version).wrapping_shl(32);
        let detail = u64::from(statement.detail());
        let library = u64::from(statement.library_version);
        if !chunks::put(thread, [head.word(), clock::now(), detail, result, library, 0]) {
            DUE.fetch_or(1u32.wrapping_shl(what as u32), Ordering::Relaxed);
        }
    }
}

/// Old chunks make room for new ones: what they said must be said again.
pub fn repeat() {
    DUE.fetch_or(SAID.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// In a child after fork, whose file begins: what the parent said of the driver's evidence does not hold here, ranges go
/// on as they did.
pub fn after_fork() {
    LOCK.reset();
    let Some(_held) = LOCK.try_at_once() else { return };
    // SAFETY: the lock is held.
    let places = unsafe { &mut *PLACES.0.get() };
    for (what, statement) in places.iter_mut().enumerate() {
        // What the child itself has said before it began to record was said in no recording.
        let of_parent = statement.generation != 0;
        if of_parent && statement.why == WHY_RECORDED && what != usize::from(EVIDENCE_RANGES) {
            statement.why = WHY_FORKED;
        }
    }
    repeat();
}

#[cfg(test)]
mod tests {
    use super::*;
    use umtui_wire::activity::{EVIDENCE_FAULTS, EVIDENCE_MIGRATIONS, WHY_NOT_ASKED, WHY_VARIABLE_TAKEN};

    /// What is kept of a kind.
    fn kept<R>(what: u16, look: impl FnOnce(&mut Statement) -> R) -> Option<R> {
        let _held = LOCK.try_for_a_while();
        // SAFETY: the lock is held, and nobody else says anything here.
        let places = unsafe { &mut *PLACES.0.get() };
        places.get_mut(usize::from(what)).map(look)
    }

    #[test]
    fn a_statement_is_due_once_and_again_in_a_childs_file() {
        tell_text(EVIDENCE_RANGES, WHY_VARIABLE_TAKEN, b"/tool.so");
        tell(EVIDENCE_MIGRATIONS, WHY_RECORDED, 0, 0, 13000, 26);
        tell(EVIDENCE_FAULTS, WHY_NOT_ASKED, 0, 0, 0, 0);
        tell(99, WHY_RECORDED, 0, 0, 0, 0);
        let all = 1 << EVIDENCE_RANGES | 1 << EVIDENCE_MIGRATIONS | 1 << EVIDENCE_FAULTS;
        assert_eq!(DUE.swap(0, Ordering::Relaxed), all, "there is no file yet, and no kind 99");
        tell_text(EVIDENCE_RANGES, WHY_VARIABLE_TAKEN, b"/tool.so");
        assert_eq!(DUE.load(Ordering::Relaxed), 0, "it was said already");
        tell_text(EVIDENCE_RANGES, WHY_RECORDED, b"");
        assert_eq!(DUE.swap(0, Ordering::Relaxed), 1 << EVIDENCE_RANGES);
        // As if it had been said while the parent recorded.
        kept(EVIDENCE_MIGRATIONS, |said| said.generation = 1);
        after_fork();
        assert_eq!(DUE.load(Ordering::Relaxed), all);
        assert_eq!(kept(EVIDENCE_MIGRATIONS, |said| said.why), Some(WHY_FORKED));
        assert_eq!(kept(EVIDENCE_FAULTS, |said| said.why), Some(WHY_NOT_ASKED));
        assert_eq!(kept(EVIDENCE_RANGES, |said| (said.why, said.text.as_bytes().len())), Some((WHY_RECORDED, 0)));
    }
}
