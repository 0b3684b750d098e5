//! Reads one file, as far as it has been written, again and again.

use super::clock::{Clock, offset_ns};
use super::decode::{File, Hot, Stop};
use super::definitions::{self, Definition};
use super::header;
use super::piece::{Holds, Piece, Stall, bytes_of, committed, header_at};
use super::scan::Scan;
use crate::parse::ParseError;
use crate::trace::{Bytes, Module, NameId, Process, ProcessId, Semantics, Signature, State, Trace};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use umtui_wire::checksum;
use umtui_wire::chunk::HEADER_BYTES;
use umtui_wire::header::{CHUNK_UNIT, FileHeader};
use umtui_wire::record::{Head, SLOT_BYTES, Slot};
use zerocopy::IntoBytes;

/// Slots read at a time for decoding; more than the longest record has.
const BLOCK: u32 = 1024;
/// Places looked at for chunks in one poll.
const STEPS: usize = 4096;
/// Chunks known but not begun: the reader does not look for more.
const AHEAD: usize = 512;
/// Bytes scanned before it is decoding's turn.
const SCAN_BYTES: usize = 1 << 20;
/// Places without a chunk that are looked at again while the file is being written.
const HOLES: usize = 512;
/// Slots kept between scanning and decoding, all chunks together: 8 MiB.
const KEPT_SLOTS: usize = (8 << 20) / SLOT_BYTES;
/// Chunks whose opening is compared to find how far decoding may go: threads open them nearly in order.
const NEAR: usize = 16;

/// What a poll did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Calls added.
    pub events: usize,
    /// The budget ended before the file did: poll again at once.
    pub more: bool,
}

/// Reads one `*.umt` file into a trace.
pub struct NativeReader {
    pub(super) bytes: Arc<dyn Bytes>,
    name: String,
    header: Box<FileHeader>,
    gone: bool,
    pub(super) file: File,
    scan: Scan,
    pub(super) pieces: Vec<Piece>,
    next: u64,
    holes: BTreeSet<u64>,
    in_gap: bool,
    length: u64,
    lost_told: u64,
    end_told: bool,
    strings: FxHashMap<u32, Vec<u8>>,
    kernel_ticks: FxHashMap<u64, u64>,
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
        let header = header::read(&*bytes, name)?;
        let file = trace.files.len();
        let mut process = header::process(&header, &mut trace.names, file);
        process.axis_offset_ns = axis_offset(trace, &process);
        let clock = Clock::new(header.ticks_per_second, process.axis_offset_ns);
        process.start_ns = clock.ns(clock.reading(&header.start), header.start.ticks);
        process.last_ns = process.start_ns;
        let too_many = || ParseError::Format { file: name.to_owned(), what: "one process too many; open fewer".to_owned() };
        let id = trace.add_process(process).ok_or_else(too_many)?;
        trace.add_file(name);
        trace.evidence.add(1);
        Ok(Self {
            bytes,
            name: name.to_owned(),
            gone: false,
            file: File::new(id, file, clock, &header.start),
            header,
            scan: Scan::default(),
            pieces: Vec::new(),
            next: CHUNK_UNIT,
            holes: BTreeSet::new(),
            in_gap: false,
            length: 0,
            lost_told: 0,
            end_told: false,
            strings: FxHashMap::default(),
            kernel_ticks: FxHashMap::default(),
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

    /// How much has been read, and how much there is, bytes; about.
    #[must_use]
    pub fn share(&self) -> (u64, u64) {
        let first = self.pieces.iter().find(|piece| piece.events() && piece.decoded < piece.committed);
        (first.map_or(self.next, |piece| piece.offset).min(self.length), self.length)
    }

    /// Reads on: at most about `budget` calls.
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
            if self.decode_to(trace, horizon, &mut left)? {
                more = true;
                break;
            }
            if !self.scan_next(trace)? {
                break;
            }
        }
        self.count_losses(trace);
        if !more {
            self.show_in_flight(&desks, trace);
            self.check_end(trace);
        }
        self.pieces.retain(|piece| !piece.finished());
        if given != left {
            trace.touch();
        }
        Ok(Progress { events: given - left, more })
    }

    pub(super) fn io(&self, offset: u64, source: io::Error) -> ParseError {
        ParseError::Io { file: self.name.clone(), offset, source }
    }

    fn refresh(&mut self, trace: &mut Trace) -> Result<(), ParseError> {
        self.length = self.bytes.len().map_err(|error| self.io(0, error))?;
        let mut page = vec![0; umtui_wire::header::HEADER_BYTES];
        let count = self.bytes.read_at(0, &mut page).map_err(|error| self.io(0, error))?;
        if count == page.len()
            && let Ok(fresh) = <FileHeader as zerocopy::FromBytes>::read_from_bytes(&page)
                && fresh.magic == self.header.magic {
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
            if changed {
                trace.touch();
            }
        }
        Ok(())
    }

    /// Finds chunks; whether it stopped before the end of the file. `late`: after the moment that decoding goes up to.
    fn discover(&mut self, trace: &mut Trace, late: bool) -> Result<bool, ParseError> {
        self.length = self.length.max(self.bytes.len().map_err(|error| self.io(0, error))?);
        for hole in self.holes.clone() {
            self.try_chunk(hole, late)?;
        }
        if header::state(&self.header, self.gone) != State::Recording {
            self.holes.clear();
        }
        let mut ahead = self.pieces.iter().filter(|piece| !piece.begun && piece.events()).count();
        for _ in 0..STEPS {
            if self.next.saturating_add(HEADER_BYTES as u64) > self.length {
                return Ok(false);
            }
            if ahead >= AHEAD {
                break;
            }
            let at = self.next;
            match self.try_chunk(at, late)? {
                Found::Chunk(bytes) => {
                    self.in_gap = false;
                    ahead += 1;
                    self.next = at.saturating_add(bytes);
                }
                Found::Nothing => {
                    self.in_gap = false;
                    let recording = header::state(&self.header, self.gone) == State::Recording;
                    if recording && self.holes.len() < HOLES {
                        self.holes.insert(at);
                    }
                    self.next = at.saturating_add(CHUNK_UNIT);
                }
                Found::Odd => {
                    if !self.in_gap {
                        self.in_gap = true;
                        trace.add_damage(self.file.file, at, "no chunk begins here, though one should; skipped to the next");
                    }
                    self.next = at.saturating_add(CHUNK_UNIT);
                }
            }
        }
        Ok(true)
    }

    fn try_chunk(&mut self, at: u64, late: bool) -> Result<Found, ParseError> {
        let mut bytes = [0; HEADER_BYTES];
        let count = self.bytes.read_at(at, &mut bytes).map_err(|error| self.io(at, error))?;
        let Some(header) = bytes.get(..count).and_then(|bytes| header_at(bytes, at)) else {
            let nothing = bytes.iter().take(4).all(|&byte| byte == 0);
            return Ok(if nothing { Found::Nothing } else { Found::Odd });
        };
        let length = u64::from(header.bytes);
        let covered: Vec<u64> = self.holes.range(at..at.saturating_add(length)).copied().collect();
        for hole in covered {
            self.holes.remove(&hole);
        }
        let place = self.pieces.partition_point(|piece| piece.offset < at);
        self.pieces.insert(place, Piece::new(&header, late));
        Ok(Found::Chunk(length))
    }

    /// Takes what is committed now: for scanning and definitions if `later`, else for decoding. The newest chunks are
    /// read first, so that whatever a thread wrote before is there as well.
    fn snapshot(&mut self, later: bool) -> Result<(), ParseError> {
        for index in (0..self.pieces.len()).rev() {
            let live = |piece: &&mut Piece| !piece.sealed && piece.holds != Holds::Desks;
            let Some(piece) = self.pieces.get_mut(index).filter(live) else { continue };
            let mut bytes = [0; HEADER_BYTES];
            let offset = piece.offset;
            let count = match self.bytes.read_at(offset, &mut bytes) {
                Ok(count) => count,
                Err(error) => return Err(self.io(offset, error)),
            };
            let Some(header) = bytes.get(..count).and_then(|bytes| header_at(bytes, offset)) else { continue };
            if later && piece.events() {
                piece.scannable = piece.scannable.max(committed(&header));
            } else {
                piece.refresh(&header);
            }
        }
        Ok(())
    }

    /// Up to which ticks calls may be decoded.
    fn horizon(&self, more: bool) -> u64 {
        let waiting = self.pieces.iter().filter(|piece| !piece.begun && piece.events()).take(NEAR);
        match waiting.map(|piece| piece.opened.ticks).min() {
            Some(ticks) => ticks,
            None if more => self.pieces.last().map_or(0, |piece| piece.opened.ticks),
            None => u64::MAX,
        }
    }

    /// Reads slots `from..upto` of a piece into `into`; fewer if the file ends before.
    fn read_slots(&mut self, index: usize, from: u32, upto: u32, mut into: Vec<Slot>) -> Result<Vec<Slot>, ParseError> {
        let Some(piece) = self.pieces.get(index) else { return Ok(Vec::new()) };
        let offset = piece.slot_offset(from);
        into.resize(upto.saturating_sub(from) as usize, [0; 6]);
        let count = self.bytes.read_at(offset, into.as_mut_bytes()).map_err(|error| self.io(offset, error))?;
        into.truncate(count / SLOT_BYTES);
        Ok(into)
    }

    /// Scans what was added to chunks that were looked at before.
    fn scan_begun(&mut self, trace: &mut Trace) -> Result<(), ParseError> {
        for index in 0..self.pieces.len() {
            let due = |piece: &Piece| piece.begun && piece.events() && piece.scanned < piece.scannable;
            if self.pieces.get(index).is_some_and(due) {
                self.scan(index, trace)?;
            }
        }
        Ok(())
    }

    /// Scans chunks that were not looked at yet; whether there was one.
    fn scan_next(&mut self, trace: &mut Trace) -> Result<bool, ParseError> {
        let mut bytes = 0;
        let mut any = false;
        for index in 0..self.pieces.len() {
            let Some(piece) = self.pieces.get_mut(index).filter(|piece| !piece.begun && piece.events()) else { continue };
            piece.begun = true;
            bytes += piece.scannable as usize * SLOT_BYTES;
            any = true;
            self.scan(index, trace)?;
            if bytes >= SCAN_BYTES {
                break;
            }
        }
        Ok(any)
    }

    fn scan(&mut self, index: usize, trace: &mut Trace) -> Result<(), ParseError> {
        let Some((from, upto)) = self.pieces.get(index).map(|piece| (piece.scanned, piece.scannable)) else { return Ok(()) };
        let scratch = std::mem::take(&mut self.scratch);
        let slots = self.read_slots(index, from, upto, scratch)?;
        if let Some(piece) = self.pieces.get_mut(index) {
            let short = (slots.len() as u32) < upto - from;
            if short {
                cut(piece, from + slots.len() as u32, &self.file, trace);
            }
            if piece.sealed && from == 0 && upto == piece.committed && !short {
                check(piece, &slots, self.file.file, trace);
            }
            self.scan.look(piece, &slots, &mut self.file, &mut trace.streams);
            if piece.sealed && piece.scanned < piece.scannable {
                piece.scanned = piece.scannable;
            }
        }
        // What was read for scanning is kept for decoding, as far as there is room.
        match self.pieces.get_mut(index) {
            Some(piece) if piece.buffer.is_empty() && piece.decoded == from && self.kept < KEPT_SLOTS => {
                self.kept += slots.capacity();
                piece.buffer = slots;
                piece.buffer_at = from;
                self.scratch = self.spare.pop().unwrap_or_default();
            }
            _ => self.scratch = slots,
        }
        Ok(())
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
            for index in 0..self.pieces.len() {
                let Some(piece) = self.pieces.get(index).filter(|piece| piece.begun && piece.events()) else { continue };
                let stalled = match piece.stall {
                    Stall::No => false,
                    Stall::Until(ticks) => ticks > limit,
                    Stall::HandOver { .. } => true,
                };
                let due = !stalled && piece.decoded < piece.committed;
                if due && self.decode_piece(index, trace, limit, left)? {
                    return Ok(true);
                }
                if let Some(Stall::HandOver { ticks, .. }) = self.pieces.get(index).map(|piece| piece.stall) {
                    limit = limit.min(ticks);
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
            match self.file.decode(piece, trace, horizon, left) {
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
            if (slots.len() as u32) < upto - from {
                cut(piece, from + slots.len() as u32, &self.file, trace);
            }
            piece.buffer = slots;
            piece.buffer_at = from;
        }
    }

    fn read_definitions(&mut self, trace: &mut Trace) -> Result<(), ParseError> {
        for index in 0..self.pieces.len() {
            let due = |piece: &&Piece| piece.holds == Holds::Definitions && piece.decoded < piece.committed;
            let Some(piece) = self.pieces.get(index).filter(due) else { continue };
            let (from, upto) = (piece.decoded, piece.committed);
            let slots = self.read_slots(index, from, upto, Vec::new())?;
            let Some(piece) = self.pieces.get_mut(index) else { continue };
            let short = (slots.len() as u32) < upto - from;
            if piece.sealed && from == 0 && !short {
                check(piece, &slots, self.file.file, trace);
            }
            let first = piece.slot_offset(from);
            let mut at = 0;
            while let Some(slot) = slots.get(at) {
                let next = at + 1 + usize::from(Head::from_word(slot[0]).extra);
                let Some(record) = slots.get(at..next) else { break };
                let offset = first + (at * SLOT_BYTES) as u64;
                self.define(bytes_of(record), offset, trace);
                at = next;
            }
            let Some(piece) = self.pieces.get_mut(index) else { continue };
            piece.decoded = from + at as u32;
            if short || (piece.sealed && piece.decoded < piece.committed) {
                cut(piece, from + at as u32, &self.file, trace);
            }
        }
        Ok(())
    }

    fn define(&mut self, record: &[u8], offset: u64, trace: &mut Trace) {
        let process = self.file.process;
        match definitions::parse(record) {
            None => trace.add_damage(self.file.file, offset, "a definition that contradicts itself, left out"),
            Some(Definition::Unknown) => {}
            Some(Definition::String { id, length, offset: at, bytes }) => {
                let text = self.strings.entry(id).or_default();
                if at == 0 {
                    text.clear();
                }
                if text.len() != at as usize {
                    self.strings.remove(&id);
                    trace.add_damage(self.file.file, offset, format!("a piece of string {id} is missing"));
                    return;
                }
                text.extend_from_slice(bytes);
                if text.len() >= length as usize {
                    let name = trace.names.intern(&String::from_utf8_lossy(text));
                    self.strings.remove(&id);
                    if let Some(process) = trace.processes.get_mut(process.index()) {
                        process.strings.insert(id, name);
                    }
                }
            }
            Some(Definition::Api { id, name, layer, signature }) => {
                if signature.is_none() {
                    let why = format!("the arguments of {name} cannot be understood, its calls are shown without");
                    trace.add_damage(self.file.file, offset, why);
                }
                self.define_api(id, &name, layer, signature.unwrap_or_default(), trace);
            }
            Some(Definition::Module { path, start, end, file_offset, ticks, build_id }) => {
                let path = self.string(path, trace);
                let build_id = build_id.to_vec();
                let module = Module { process, path, build_id, start, end, file_offset, ticks, identity: 0 };
                trace.sites.add_module(module);
                self.file.forget_sites();
            }
            Some(Definition::Kernel { name, handle, ticks }) => {
                let name = self.string(name, trace);
                let known = self.kernel_ticks.entry(handle).or_insert(ticks);
                if *known <= ticks {
                    *known = ticks;
                    trace.kernels.insert((process, handle), name);
                }
            }
        }
        trace.touch();
    }

    fn define_api(
        &mut self,
        number: u16,
        name: &str,
        layer: umtui_wire::table::Layer,
        signature: Signature,
        trace: &mut Trace,
    ) {
        let semantics = Semantics::of(name, &signature);
        let id = match self.file.hot(number).id {
            Some(id) if trace.api(id).is_some_and(|api| !api.defined) => {
                trace.define_api(id, name, layer, signature);
                id
            }
            _ => trace.api_of(name, layer, signature),
        };
        self.file.set_api(number, Hot::new(id, layer, &semantics), semantics);
    }

    /// A string of the file; one that has not come is shown by its number.
    fn string(&self, id: u32, trace: &mut Trace) -> NameId {
        let known = trace.process(self.file.process).and_then(|process| process.strings.get(&id)).copied();
        known.unwrap_or_else(|| if id == 0 { NameId::NONE } else { trace.names.intern(&format!("string#{id}")) })
    }

    /// A file that is no longer written should be as long as its header says.
    fn check_end(&mut self, trace: &mut Trace) {
        let over = header::state(&self.header, self.gone) != State::Recording;
        if over && self.header.end > self.length && !self.end_told {
            self.end_told = true;
            let why = format!("the file ends here; its header says that it had {} bytes", self.header.end);
            trace.add_damage(self.file.file, self.length, why);
        }
    }

    fn count_losses(&mut self, trace: &mut Trace) {
        let mut all = self.header.lost.saturating_sub(self.lost_told);
        self.lost_told = self.lost_told.max(self.header.lost);
        for piece in &mut self.pieces {
            let lost = piece.lost_header.max(piece.lost_records);
            let fresh = lost.saturating_sub(piece.lost_told);
            if fresh > 0 {
                piece.lost_told = lost;
                all = all.saturating_add(fresh);
                let track = trace.track_of(self.file.process, piece.opener);
                if let Some(track) = trace.tracks.get_mut(track.index()) {
                    track.lost = track.lost.saturating_add(fresh);
                }
            }
        }
        if all > 0 {
            if let Some(process) = trace.processes.get_mut(self.file.process.index()) {
                process.lost = process.lost.saturating_add(all);
            }
            trace.touch();
        }
    }
}

/// What lies at a place where a chunk may begin.
enum Found {
    /// A chunk of so many bytes.
    Chunk(u64),
    /// Zeros.
    Nothing,
    /// Something else.
    Odd,
}

/// Verifies the checksum of a sealed chunk's slots.
fn check(piece: &mut Piece, slots: &[Slot], file: usize, trace: &mut Trace) {
    if checksum::of_slots(bytes_of(slots)) != piece.checksum {
        piece.suspect = true;
        let why = "the checksum of this chunk does not match; what looks right is shown";
        trace.add_damage(file, piece.offset, why);
    }
}

/// The records of a piece end at `slot`, before they should.
fn cut(piece: &mut Piece, slot: u32, file: &File, trace: &mut Trace) {
    if !piece.cut {
        piece.cut = true;
        let missing = piece.committed.max(piece.scannable).saturating_sub(slot);
        let why = format!("the file ends here or a record is cut short: {missing} slots of this chunk are missing");
        trace.add_damage(file.file, piece.slot_offset(slot), why);
    }
    piece.committed = piece.committed.min(slot);
    piece.scannable = piece.scannable.min(slot).max(piece.scanned);
}

/// What to add to a process's MONOTONIC time: zero on the first file's host.
fn axis_offset(trace: &Trace, process: &Process) -> i64 {
    let Some(first) = trace.processes.first() else { return 0 };
    let same_boot = |other: &&Process| {
        other.boot_id == process.boot_id && (process.boot_id != [0; 16] || other.host == process.host)
    };
    if let Some(neighbour) = trace.processes.iter().find(same_boot) {
        return neighbour.axis_offset_ns;
    }
    let axis = i128::from(first.start.realtime_ns) - i128::from(first.start.monotonic_ns);
    offset_ns(&process.start, axis)
}
