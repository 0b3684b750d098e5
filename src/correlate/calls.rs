//! Calls of chosen functions, with what their raw records say of the arguments.

use std::sync::Arc;

use crate::trace::call::CallFlags;
use crate::trace::semantics::base_name;
use crate::trace::{Api, Argument, Bytes, Call, ProcessId, Signature, Trace, TrackId, Value};
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{Head, SLOT_BYTES};

/// For each function of a trace, by id, what `of` says of its name without endings.
pub fn choose<T>(trace: &Trace, mut of: impl FnMut(&Api, &str) -> Option<T>) -> Vec<Option<T>> {
    trace.apis.iter().map(|api| of(api, base_name(trace.names.get(api.name)))).collect()
}

/// A name without the runtime's or the driver's beginning.
#[must_use]
pub fn bare(base: &str) -> &str {
    base.strip_prefix("cuda").or_else(|| base.strip_prefix("cu")).unwrap_or(base)
}

/// A call that was found.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a, T> {
    /// Its thread.
    pub track: TrackId,
    /// Its row there.
    pub row: usize,
    /// Its columns.
    pub call: Call,
    /// What was chosen of its function.
    pub what: &'a T,
    /// Where its record lies: byte offset in the file of its process.
    pub offset: u64,
}

impl<T> Found<'_, T> {
    /// The same call, of which something else is known.
    pub const fn with<'a, U>(&self, what: &'a U) -> Found<'a, U> {
        Found { track: self.track, row: self.row, call: self.call, what, offset: self.offset }
    }
}

/// Calls `each` with the calls of a process to chosen functions, thread by thread, in order of rows. Pieces of the columns
/// in which there are none are skipped.
pub fn each<T>(trace: &Trace, process: ProcessId, chosen: &[Option<T>], each: impl FnMut(Found<'_, T>)) {
    each_while(trace, process, chosen, &mut Vec::new(), each, &mut || true);
}

/// Calls between two questions whether to go on.
const STRIDE: usize = 256;

/// Likewise from the rows `reached` of each thread on, which are then those up to which it has come, as long as `more` says
/// so, which is asked now and then; true when all have been gone through.
fn each_while<T>(
    trace: &Trace,
    process: ProcessId,
    chosen: &[Option<T>],
    reached: &mut Vec<usize>,
    mut each: impl FnMut(Found<'_, T>),
    more: &mut dyn FnMut() -> bool,
) -> bool {
    reached.resize(trace.tracks.len().max(reached.len()), 0);
    let threads = (0..).map(TrackId).zip(&trace.tracks).zip(reached);
    for ((id, track), reached) in threads.filter(|((_, track), _)| track.process == process) {
        for chunk in track.chunks() {
            if chunk.first_row() + chunk.len() <= *reached {
                continue;
            }
            let skipped = reached.saturating_sub(chunk.first_row());
            *reached = chunk.first_row() + chunk.len();
            if !chunk.summary().apis().any(|api| chosen.get(api.index()).is_some_and(Option::is_some)) {
                continue;
            }
            let mut found = 0;
            for (inner, &api) in chunk.apis().iter().enumerate().skip(skipped) {
                let Some(Some(what)) = chosen.get(usize::from(api)) else { continue };
                let (Some(call), Some(offset)) = (chunk.call(inner), chunk.offset(inner)) else { continue };
                each(Found { track: id, row: chunk.first_row() + inner, call, what, offset });
                found += 1;
                if found % STRIDE == 0 && !more() {
                    *reached = chunk.first_row() + inner + 1;
                    return false;
                }
            }
            if !more() {
                return false;
            }
        }
    }
    true
}

/// Calls of chosen functions of a process, looked for in slices and while the trace grows, and what is made of each.
#[derive(Debug)]
pub struct Search<T, R> {
    process: ProcessId,
    chosen: Vec<Option<T>>,
    /// Rows of each thread that have been looked at.
    reached: Vec<usize>,
    found: Vec<R>,
}

impl<T, R> Search<T, R> {
    /// One that has not begun.
    #[must_use]
    pub const fn new(process: ProcessId) -> Self {
        Self { process, chosen: Vec::new(), reached: Vec::new(), found: Vec::new() }
    }

    /// Goes on until all is looked at, or `more` says no, which is asked now and then. `choose` says of a function and its
    /// name without endings what is wanted of it, `make` makes something of a call. `files` are those of the trace.
    pub fn advance(
        &mut self,
        trace: &Trace,
        files: &[Arc<dyn Bytes>],
        choose: impl FnMut(&Api, &str) -> Option<T>,
        mut make: impl FnMut(&Found<'_, T>, &mut Records<'_>) -> Option<R>,
        more: &mut dyn FnMut() -> bool,
    ) -> bool {
        if self.chosen.len() != trace.apis.len() {
            self.chosen = self::choose(trace, choose);
        }
        if self.chosen.iter().all(Option::is_none) {
            return true;
        }
        let mut records = Records::of(trace, self.process, files);
        let Self { process, chosen, reached, found } = self;
        let each = |one: Found<'_, T>| found.extend(make(&one, &mut records));
        each_while(trace, *process, chosen, reached, each, more)
    }

    /// What was found so far, thread by thread, what came later last.
    #[must_use]
    pub fn found(&self) -> &[R] {
        &self.found
    }

    /// Likewise, to keep.
    #[must_use]
    pub fn into_found(self) -> Vec<R> {
        self.found
    }
}

/// Raw records of a file, read a chunk's worth at a time: those of one thread mostly lie one behind another.
pub struct Records<'a> {
    bytes: Option<&'a dyn Bytes>,
    start: u64,
    block: Vec<u8>,
    single: Vec<u8>,
}

impl<'a> Records<'a> {
    /// Of a process's file; `files` are those of the trace.
    #[must_use]
    pub fn of(trace: &Trace, process: ProcessId, files: &'a [Arc<dyn Bytes>]) -> Self {
        let file = trace.process(process).and_then(|process| files.get(process.file));
        Self::new(file.map(|file| &**file))
    }

    /// Of a file; `None`: there are none.
    #[must_use]
    pub const fn new(bytes: Option<&'a dyn Bytes>) -> Self {
        Self { bytes, start: 0, block: Vec::new(), single: Vec::new() }
    }

    /// The record of a call that was found; `None` where it is no longer in the file.
    pub fn read<T>(&mut self, found: &Found<'_, T>) -> Option<Record<'_>> {
        let length = SLOT_BYTES * (1 + usize::from(found.call.extra));
        let flags = found.call.flags;
        if slice(&self.block, found.offset.checked_sub(self.start), length).is_none() {
            self.start = found.offset;
            self.block.resize(usize::try_from(CHUNK_UNIT - found.offset % CHUNK_UNIT).ok()?, 0);
            let count = self.bytes?.read_at(found.offset, &mut self.block).ok()?;
            self.block.truncate(count);
        }
        if slice(&self.block, found.offset.checked_sub(self.start), length).is_none() {
            // It goes on beyond the block.
            self.single.resize(length, 0);
            let count = self.bytes?.read_at(found.offset, &mut self.single).ok()?;
            self.single.truncate(count);
            return slice(&self.single, Some(0), length).map(|bytes| Record { bytes, flags });
        }
        slice(&self.block, found.offset.checked_sub(self.start), length).map(|bytes| Record { bytes, flags })
    }
}

/// The record that begins at `at`, if one does and all of it is there.
fn slice(block: &[u8], at: Option<u64>, length: usize) -> Option<&[u8]> {
    let at = usize::try_from(at?).ok()?;
    block.get(at..at.checked_add(length)?).filter(|record| record.first() != Some(&0))
}

/// A call's raw record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    bytes: &'a [u8],
    flags: CallFlags,
}

impl<'a> Record<'a> {
    /// Of bytes that were read.
    #[must_use]
    pub const fn of_bytes(bytes: &'a [u8], flags: CallFlags) -> Self {
        Self { bytes, flags }
    }

    fn word(&self, index: usize) -> u64 {
        let eight = self.bytes.get(index * 8..).and_then(|rest| rest.first_chunk::<8>());
        eight.map_or(0, |eight| u64::from_le_bytes(*eight))
    }

    /// What the call returned.
    #[must_use]
    pub fn status(&self) -> u32 {
        Head::from_word(self.word(0)).b
    }

    /// When the call began, ticks.
    #[must_use]
    pub fn start_ticks(&self) -> u64 {
        self.word(1)
    }

    /// A number among its arguments; `None` if it was not recorded.
    #[must_use]
    pub fn number(&self, argument: &Argument) -> Option<u64> {
        match self.value(argument)? {
            Value::Number(bits) => Some(bits),
            Value::Dim3(_) => None,
        }
    }

    /// A value of its arguments; `None` if it was not recorded.
    #[must_use]
    pub fn value(&self, argument: &Argument) -> Option<Value> {
        let unread = self.flags.has(CallFlags::NO_ARGUMENTS) || self.flags.entry_only();
        if unread || (argument.on_success && self.status() != 0) {
            return None;
        }
        argument.read(self.bytes)
    }

    /// The number with this role; of several that conditions tell apart the one that is there.
    #[must_use]
    pub fn named(&self, signature: &Signature, role: &str) -> Option<u64> {
        let all = signature.arguments.iter().filter(|argument| argument.role == role);
        all.filter_map(|argument| self.number(argument)).next()
    }
}
