//! Reads one file, as far as it has been written, again and again.

mod losses;
mod scanning;

use super::axis;
use super::clock::Clock;
use super::decode::Stop;
use super::file::File;
use super::header;
use super::piece::{Piece, Stall, bytes_of};
use super::reused::Reused;
use super::scan::Scan;
use super::stamp::Stamped;
use super::window::Windowed;
use crate::parse::ParseError;
use crate::trace::{Bytes, ProcessId, State, Trace};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use umtui_wire::checksum;
use umtui_wire::header::{CHUNK_UNIT, FileHeader};
use umtui_wire::record::{SLOT_BYTES, Slot};
use zerocopy::IntoBytes;

/// Slots read at a time for decoding; more than the longest record has.
const BLOCK: u32 = 1024;
/// Chunks whose opening is compared to find how far decoding may go: threads open them nearly in order.
const NEAR: usize = 16;

/// What a poll did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Events added.
    pub events: usize,
    /// The budget ended before the file did: poll again at once.
    pub more: bool,
}

/// Reads one `*.umt` file into a trace.
pub struct NativeReader {
    pub(super) bytes: Arc<dyn Bytes>,
    name: String,
    pub(super) header: Box<FileHeader>,
    pub(super) gone: bool,
    /// Up to which ticks the file is complete.
    complete: u64,
    pub(super) file: File,
    scan: Scan,
    pub(super) pieces: Vec<Piece>,
    pub(super) next: u64,
    pub(super) holes: BTreeSet<u64>,
    pub(super) in_gap: bool,
    pub(super) length: u64,
    pub(super) reused: Reused,
    lost_told: u64,
    end_told: bool,
    pub(super) strings: FxHashMap<u32, Vec<u8>>,
    pub(super) kernel_ticks: FxHashMap<u64, u64>,
    /// Threads that have calls in a chunk which have to wait: so have those in their later chunks.
    waiting: FxHashSet<u32>,
    scratch: Vec<Slot>,
    spare: Vec<Vec<Slot>>,
    kept: usize,
}

impl NativeReader {
    /// Reads the header of the file called `name`, and adds file and process to the trace.
    ///
    /// # Errors
    /// When the header cannot be read, is none, or is of a newer version.
    pub fn open(bytes: Arc<dyn Bytes>, name: &str, trace: &mut Trace) -> Result<Self, ParseError> {
        let reader = Self::open_imported(bytes, name, trace)?;
        // Calls are recorded, also where none has come.
        trace.evidence.add(1);
        Ok(reader)
    }

    /// Likewise for a file that was made of another format, which may be one without calls.
    ///
    /// # Errors
    /// As [`NativeReader::open`].
    pub fn open_imported(bytes: Arc<dyn Bytes>, name: &str, trace: &mut Trace) -> Result<Self, ParseError> {
        let bytes: Arc<dyn Bytes> = Arc::new(Stamped(Windowed::new(bytes)));
        let header = header::read(&*bytes, name)?;
        let file = trace.files.len();
        let mut process = header::process(&header, &mut trace.names, file);
        process.axis_offset_ns = axis::offset(trace, &process);
        axis::note_wall(&mut process, &header.start);
        let clock = Clock::new(header.ticks_per_second, process.axis_offset_ns);
        process.start_ns = clock.ns(clock.reading(&header.start), header.start.ticks);
        process.last_ns = process.start_ns;
        let too_many =
            || ParseError::Format { file: name.to_owned(), what: "one process too many; open fewer".to_owned() };
        let id = trace.add_process(process).ok_or_else(too_many)?;
        trace.add_file(name);
        Ok(Self {
            bytes,
            name: name.to_owned(),
            gone: false,
            complete: u64::MAX,
            file: File::new(id, file, clock, &header.start, header.max_bytes > 0),
            header,
            scan: Scan::default(),
            pieces: Vec::new(),
            next: CHUNK_UNIT,
            holes: BTreeSet::new(),
            in_gap: false,
            length: 0,
            reused: Reused::default(),
            lost_told: 0,
            end_told: false,
            strings: FxHashMap::default(),
            kernel_ticks: FxHashMap::default(),
            waiting: FxHashSet::default(),
            scratch: Vec::new(),
            spare: Vec::new(),
            kept: 0,
        })
    }

    /// The process in the trace.
    #[must_use]
    pub const fn process(&self) -> ProcessId {
        self.file.process
    }

    /// The file's number in the trace.
    #[must_use]
    pub const fn file(&self) -> usize {
        self.file.file
    }

    /// Where the bytes come from, for reading raw records.
    #[must_use]
    pub fn bytes(&self) -> &Arc<dyn Bytes> {
        &self.bytes
    }

    /// Tells whether the process that wrote the file is gone; the reader does not look for itself. It shows in
    /// the process's state at the next poll.
    pub const fn set_process_gone(&mut self, gone: bool) {
        self.gone = gone;
    }

    /// Whether that was told.
    #[must_use]
    pub const fn is_process_gone(&self) -> bool {
        self.gone
    }

    /// Calls that ended later than these ticks are left for later polls: of what comes in pieces in no order of time,
    /// only the beginning may be there.
    pub const fn set_horizon(&mut self, ticks: u64) {
        self.complete = ticks;
    }

    /// How much has been read, and how much there is, bytes; about.
    #[must_use]
    pub fn share(&self) -> (u64, u64) {
        let first = self.pieces.iter().find(|piece| piece.events() && piece.decoded < piece.committed);
        (first.map_or(self.next, |piece| piece.offset).min(self.length), self.length)
    }

    /// Reads on: at most about `budget` events.
    ///
    /// # Errors
    /// When the operating system refuses to read. Damage is no error: it is noted in the trace.
    pub fn poll(&mut self, trace: &mut Trace, budget: usize) -> Result<Progress, ParseError> {
        let mut left = budget.max(1);
        let given = left;
        self.refresh(trace)?;
        let mut more = self.discover(trace, false)?;
        // An entry of a desk is cleared after its call's record is committed: looked at first, no call is missed.
        let desks = self.read_desks()?;
        self.snapshot(false)?;
        if !more {
            more = self.discover(trace, true)?;
        }
        self.snapshot(true)?;
        self.read_definitions(trace)?;
        self.scan_begun(trace)?;
        loop {
            let horizon = self.horizon(more);
            trace.streams.captures.settle(self.file.process, horizon);
            if self.decode_to(trace, horizon, &mut left)? {
                more = true;
                break;
            }
            if !self.scan_next(trace)? {
                break;
            }
        }
        self.count_losses(trace, !more && self.complete == u64::MAX);
        if !more {
            self.show_in_flight(&desks, trace);
            self.check_end(trace);
        }
        self.forget_finished(trace);
        if given != left || std::mem::take(&mut self.file.changed) {
            trace.touch();
        }
        Ok(Progress { events: given - left, more })
    }

    pub(super) fn io(&self, offset: u64, source: io::Error) -> ParseError {
        ParseError::Io { file: self.name.clone(), offset, cause: source }
    }

    fn refresh(&mut self, trace: &mut Trace) -> Result<(), ParseError> {
        self.length = self.bytes.len().map_err(|error| self.io(0, error))?;
        let mut page = vec![0; umtui_wire::header::HEADER_BYTES];
        let count = self.bytes.read_at(0, &mut page).map_err(|error| self.io(0, error))?;
        if count == page.len()
            && let Ok(fresh) = <FileHeader as zerocopy::FromBytes>::read_from_bytes(&page)
            && fresh.magic == self.header.magic
        {
            *self.header = fresh;
        }
        let state = header::state(&self.header, self.gone);
        let last = self.file.clock.reading(&self.header.last);
        let last = if self.header.last_sequence.is_multiple_of(2) && self.header.last.ticks != 0 {
            self.file.clock.ns(last, self.header.last.ticks)
        } else {
            0
        };
        if let Some(process) = trace.processes.get_mut(self.file.process.index()) {
            let changed = process.state != state;
            process.state = state;
            process.last_ns = process.last_ns.max(last);
            if last > 0 {
                axis::note_wall(process, &self.header.last);
            }
            let paused = self.header.paused != 0;
            let left_out = self.header.left_out;
            let changed = changed || process.paused != paused || process.left_out != left_out;
            process.paused = paused;
            process.unwritten = header::is_unwritten(&self.header);
            process.left_out = left_out;
            if changed {
                trace.touch();
            }
        }
        Ok(())
    }

    /// Up to which ticks calls may be decoded.
    fn horizon(&self, more: bool) -> u64 {
        let waiting = self.pieces.iter().filter(|piece| !piece.begun && piece.events()).take(NEAR);
        let horizon = match waiting.map(|piece| piece.opened.ticks).min() {
            Some(ticks) => ticks,
            None if more => self.pieces.last().map_or(0, |piece| piece.opened.ticks),
            None => u64::MAX,
        };
        horizon.min(self.complete)
    }

    /// Reads slots `from..upto` of a piece into `into`; fewer if the file ends before.
    pub(super) fn read_slots(
        &mut self,
        index: usize,
        from: u32,
        upto: u32,
        mut into: Vec<Slot>,
    ) -> Result<Vec<Slot>, ParseError> {
        let Some(piece) = self.pieces.get(index) else { return Ok(Vec::new()) };
        let offset = piece.slot_offset(from);
        into.resize(upto.saturating_sub(from) as usize, [0; 6]);
        let count = self.bytes.read_at(offset, into.as_mut_bytes()).map_err(|error| self.io(offset, error))?;
        into.truncate(count / SLOT_BYTES);
        if self.is_overwritten(index)? {
            into.clear();
        }
        Ok(into)
    }

    /// Takes back a buffer that a piece no longer needs.
    fn give(&mut self, buffer: Vec<Slot>) {
        if buffer.capacity() > BLOCK as usize {
            self.kept = self.kept.saturating_sub(buffer.capacity());
            self.spare.push(buffer);
        }
    }

    /// Decodes calls that ended by `horizon`; whether the budget ended it.
    fn decode_to(&mut self, trace: &mut Trace, horizon: u64, left: &mut usize) -> Result<bool, ParseError> {
        loop {
            // The thread that goes on in a chunk may have later chunks of its own: those wait.
            let mut limit = horizon;
            self.waiting.clear();
            for index in 0..self.pieces.len() {
                let Some(piece) = self.pieces.get(index).filter(|piece| piece.begun && piece.events()) else {
                    continue;
                };
                let stalled = match piece.stall {
                    Stall::No => false,
                    Stall::Until(ticks) => ticks > limit,
                    Stall::HandOver { .. } => true,
                };
                let due = !stalled && piece.decoded < piece.committed && !self.waiting.contains(&piece.thread);
                if due && self.decode_piece(index, trace, limit, left)? {
                    return Ok(true);
                }
                match self.pieces.get(index).map(|piece| (piece.stall, piece.thread)) {
                    Some((Stall::HandOver { ticks, .. }, _)) => limit = limit.min(ticks),
                    Some((Stall::Until(_), thread)) => {
                        self.waiting.insert(thread);
                    }
                    _ => {}
                }
            }
            // Where several chunks change hands, the earliest goes on first: a thread may have written to several.
            let waiting = self.pieces.iter_mut().filter_map(|piece| match piece.stall {
                Stall::HandOver { ticks, thread } if ticks <= horizon => Some((ticks, thread, piece)),
                _ => None,
            });
            let Some((_, thread, piece)) = waiting.min_by_key(|&(ticks, ..)| ticks) else { return Ok(false) };
            piece.thread = thread;
            piece.stall = Stall::No;
        }
    }

    fn decode_piece(
        &mut self,
        index: usize,
        trace: &mut Trace,
        horizon: u64,
        left: &mut usize,
    ) -> Result<bool, ParseError> {
        loop {
            let Some(piece) = self.pieces.get_mut(index) else { return Ok(false) };
            let before = *left;
            let stop = self.file.decode(piece, trace, horizon, left);
            piece.calls += (before - *left) as u64;
            match stop {
                Stop::Done => return Ok(false),
                Stop::Budget => return Ok(true),
                Stop::Buffer => {}
            }
            let (from, upto) = (piece.decoded, piece.committed.min(piece.decoded.saturating_add(BLOCK)));
            let held = piece.buffer_at <= from && piece.buffer_at + piece.buffer.len() as u32 >= upto;
            if from >= piece.committed {
                let buffer = std::mem::take(&mut piece.buffer);
                self.give(buffer);
                return Ok(false);
            }
            if held {
                // A record that is longer than what is committed: it is being written, or damaged.
                if piece.sealed {
                    cut(piece, from, &self.file, trace);
                }
                return Ok(false);
            }
            let mut buffer = std::mem::take(&mut piece.buffer);
            if buffer.capacity() > BLOCK as usize {
                self.give(buffer);
                buffer = Vec::new();
            }
            let slots = self.read_slots(index, from, upto, buffer)?;
            let Some(piece) = self.pieces.get_mut(index) else { return Ok(false) };
            let upto = upto.min(piece.committed);
            if (slots.len() as u32) < upto - from {
                cut(piece, from + slots.len() as u32, &self.file, trace);
            }
            piece.buffer = slots;
            piece.buffer_at = from;
        }
    }
}

/// Verifies the checksum of a sealed chunk's slots.
pub(super) fn check(piece: &mut Piece, slots: &[Slot], file: usize, trace: &mut Trace) {
    if checksum::of_slots(bytes_of(slots)) != piece.checksum {
        piece.suspect = true;
        let why = "the checksum of this chunk does not match; what looks right is shown";
        trace.add_damage(file, piece.offset, why);
    }
}

/// The records of a piece end at `slot`, before they should.
pub(super) fn cut(piece: &mut Piece, slot: u32, file: &File, trace: &mut Trace) {
    if !piece.cut {
        piece.cut = true;
        let missing = piece.committed.max(piece.scannable).saturating_sub(slot);
        let why = format!("the file ends here or a record is cut short: {missing} slots of this chunk are missing");
        trace.add_damage(file.file, piece.slot_offset(slot), why);
    }
    piece.committed = piece.committed.min(slot);
    piece.scannable = piece.scannable.min(slot).max(piece.scanned);
}
