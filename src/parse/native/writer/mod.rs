//! Writes the native format: for text and other inputs that cannot be read in place, for tests and benches.

mod chunks;
mod definitions;

use super::piece::FAR;
pub use super::records::{CallRecord, FileInfo, ModuleRecord};
use crate::trace::activity::raw::Submitted;
use chunks::Filling;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Seek, Write};
use umtui_wire::activity::{KIND_SUBMIT, POINTERS_CUT, POINTERS_MAX};
use umtui_wire::chunk::{DESK_CALLS, KIND_EVENTS, OpenCall};
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::{CHUNK_MAX, CHUNK_UNIT};
use umtui_wire::record::{
    ARGUMENTS_AT, FLAG_LONG, Head, KIND_CALL, KIND_CLOCK, KIND_LOST, KIND_THREAD, SLOT_BYTES, Slot, pack_site,
};
use zerocopy::{Immutable, IntoBytes};

/// Writes one file. Nothing is readable before [`NativeWriter::finish`].
pub struct NativeWriter<W: Write + Seek> {
    out: W,
    info: FileInfo,
    end: u64,
    sequence: u64,
    chunk_bytes: u64,
    newest: u64,
    definitions: Option<Filling>,
    threads: BTreeMap<u32, Filling>,
    desks: BTreeMap<u32, Vec<OpenCall>>,
    /// What goes before each thread's next call.
    submits: rustc_hash::FxHashMap<u32, Vec<Slot>>,
    /// A record that is being put together; kept for its room, as the next one is for a chunk's.
    record: Vec<Slot>,
    spare: Vec<Slot>,
    next_string: u32,
    strings: rustc_hash::FxHashMap<Vec<u8>, u32>,
    next_api: u16,
    free_apis: BTreeSet<u16>,
    /// What a chunk does not use is left out of the file, as a hole.
    sparse: bool,
    /// Threads that have filled a chunk.
    long: BTreeSet<u32>,
}

/// Records of one chunk lie no further apart than this, ticks: the decoder takes twice as much for damage.
const APART: u64 = FAR / 2;

impl<W: Write + Seek> NativeWriter<W> {
    /// Begins a file. `chunk_bytes` is the length of chunks, made a multiple of [`CHUNK_UNIT`] of at most 1 MiB.
    pub fn new(out: W, info: FileInfo, chunk_bytes: u64) -> Self {
        let newest = info.start.ticks;
        Self {
            out,
            info,
            end: CHUNK_UNIT,
            sequence: 0,
            chunk_bytes: chunk_bytes.clamp(CHUNK_UNIT, CHUNK_MAX) / CHUNK_UNIT * CHUNK_UNIT,
            newest,
            definitions: None,
            threads: BTreeMap::new(),
            desks: BTreeMap::new(),
            submits: rustc_hash::FxHashMap::default(),
            record: Vec::new(),
            spare: Vec::new(),
            next_string: 1,
            strings: rustc_hash::FxHashMap::default(),
            next_api: 0,
            free_apis: BTreeSet::new(),
            sparse: false,
            long: BTreeSet::new(),
        }
    }

    /// Leaves holes in the file where chunks are not full, and begins with a short chunk for each thread: for files with
    /// many threads.
    pub const fn sparse(&mut self) {
        self.sparse = true;
    }

    /// What the header will say, to be changed before [`NativeWriter::finish`].
    pub const fn info_mut(&mut self) -> &mut FileInfo {
        &mut self.info
    }

    /// Appends a call of a thread.
    ///
    /// # Errors
    /// When writing fails, or the arguments are longer than a record can be.
    pub fn call(&mut self, thread: u32, call: &CallRecord) -> io::Result<()> {
        let long = call.duration > u64::from(u32::MAX);
        let mut length = ARGUMENTS_AT + call.arguments.len();
        if long {
            length = length.max(SLOT_BYTES) + 8;
        }
        let extra = u8::try_from(length.saturating_sub(SLOT_BYTES).div_ceil(SLOT_BYTES)).map_err(|_| too_long())?;
        let flags = if long { call.flags | FLAG_LONG } else { call.flags & !FLAG_LONG };
        let head = Head { kind: KIND_CALL, extra, a: call.api, b: call.status };
        let mut slots = std::mem::take(&mut self.record);
        slots.clear();
        // Both in one chunk.
        if let Some(submit) = self.submits.remove(&thread) {
            slots.extend(submit);
        }
        let at = slots.len();
        slots.resize(at + 1 + usize::from(extra), [0; 6]);
        if let Some(own) = slots.get_mut(at..) {
            if let Some(first) = own.first_mut() {
                let duration = u64::from(call.duration as u32);
                *first = [head.word(), call.start, pack_site(call.site, call.depth, flags), duration, 0, 0];
            }
            let place = own.as_mut_bytes().get_mut(ARGUMENTS_AT..ARGUMENTS_AT + call.arguments.len());
            if let Some(place) = place {
                place.copy_from_slice(&call.arguments);
            }
            if let Some(last) = own.last_mut().filter(|_| long) {
                last[5] = call.duration;
            }
        }
        let end = call.start.saturating_add(call.duration);
        self.newest = self.newest.max(end);
        let done = self.append(thread, &slots, end, Some((call.start, end)));
        self.record = slots;
        done
    }

    /// Appends a record of [`umtui_wire::activity`] that was written at about `moment`, ticks: as many of its slots as its
    /// head says.
    ///
    /// # Errors
    /// When writing fails.
    pub fn record<R: IntoBytes + Immutable>(&mut self, thread: u32, record: &R, moment: u64) -> io::Result<()> {
        self.record_bytes(thread, record.as_bytes(), moment)
    }

    /// Likewise, of the record's bytes.
    ///
    /// # Errors
    /// When writing fails.
    pub fn record_bytes(&mut self, thread: u32, bytes: &[u8], moment: u64) -> io::Result<()> {
        let head = bytes.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word));
        self.newest = self.newest.max(moment);
        let mut slots = std::mem::take(&mut self.record);
        fill(&mut slots, bytes, Head::from_word(head).extra);
        let done = self.append(thread, &slots, moment, None);
        self.record = slots;
        done
    }

    /// Names a thread.
    ///
    /// # Errors
    /// When writing fails.
    pub fn thread_name(&mut self, thread: u32, name: u32, ticks: u64) -> io::Result<()> {
        let head = Head { kind: KIND_THREAD, extra: 0, a: 0, b: thread };
        self.append(thread, &[[head.word(), ticks, u64::from(name), 0, 0, 0]], ticks, None)
    }

    /// Hands the chunk of a thread that has ended to another.
    ///
    /// # Errors
    /// When writing fails.
    pub fn hand_over(&mut self, from: u32, to: u32, name: u32, ticks: u64) -> io::Result<()> {
        if from != to && !self.threads.contains_key(&to) {
            self.desks.remove(&from);
            if let Some(chunk) = self.threads.remove(&from) {
                self.threads.insert(to, chunk);
            }
        }
        self.thread_name(to, name, ticks)
    }

    /// Appends a clock reading.
    ///
    /// # Errors
    /// When writing fails.
    pub fn clock(&mut self, thread: u32, reading: &ClockTriple) -> io::Result<()> {
        let head = Head { kind: KIND_CLOCK, extra: 0, a: 0, b: 0 };
        let slot = [head.word(), reading.ticks, reading.monotonic_ns, reading.realtime_ns, 0, 0];
        self.append(thread, &[slot], reading.ticks, None)
    }

    /// Appends a place where `count` events were lost; the chunk counts them as well.
    ///
    /// # Errors
    /// When writing fails.
    pub fn lost_here(&mut self, thread: u32, ticks: u64, count: u64) -> io::Result<()> {
        let head = Head { kind: KIND_LOST, extra: 0, a: 0, b: 0 };
        self.append(thread, &[[head.word(), ticks, count, 0, 0, 0]], ticks, None)?;
        self.lost(thread, count)
    }

    /// Counts events that a thread could not record.
    ///
    /// # Errors
    /// When writing fails.
    pub fn lost(&mut self, thread: u32, count: u64) -> io::Result<()> {
        self.append(thread, &[], self.newest, None)?;
        if let Some(chunk) = self.threads.get_mut(&thread) {
            chunk.header.lost = chunk.header.lost.saturating_add(count);
        }
        Ok(())
    }

    /// Sets the open calls of a thread, outermost first; those beyond [`DESK_CALLS`] are left out.
    ///
    /// # Errors
    /// When writing fails.
    pub fn in_flight(&mut self, thread: u32, calls: &[OpenCall]) -> io::Result<()> {
        self.append(thread, &[], self.newest, None)?;
        self.desks.insert(thread, calls.iter().copied().take(DESK_CALLS).collect());
        Ok(())
    }

    /// Says what the thread's next call, which starts at `start` ticks, submitted: correlation id, graph node, pointers.
    ///
    /// # Errors
    /// When there are more pointers than a record holds.
    pub fn submit(&mut self, thread: u32, start: u64, submitted: &Submitted) -> io::Result<()> {
        let count = u16::try_from(submitted.pointers.len()).ok().filter(|&count| count <= POINTERS_MAX);
        let count = count.ok_or_else(too_long)?;
        let extra = (3 + usize::from(count)).div_ceil(6) as u8 - 1;
        let a = count | if submitted.cut { POINTERS_CUT } else { 0 };
        let head = Head { kind: KIND_SUBMIT, extra, a, b: submitted.correlation };
        let words = [head.word(), start, submitted.node].into_iter().chain(submitted.pointers.iter().copied());
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        self.submits.insert(thread, slots_of(&bytes, extra));
        Ok(())
    }

    /// Writes what there is of a thread: it need not be kept any longer.
    ///
    /// # Errors
    /// When writing fails.
    pub fn close_thread(&mut self, thread: u32) -> io::Result<()> {
        self.long.remove(&thread);
        self.threads.remove(&thread).map_or(Ok(()), |chunk| self.put_chunk(chunk, true))
    }

    /// Appends a record that was complete at `moment`.
    fn append(&mut self, thread: u32, slots: &[Slot], moment: u64, ticks: Option<(u64, u64)>) -> io::Result<()> {
        let near = |chunk: &Filling| chunk.header.opened.ticks.abs_diff(moment) <= APART;
        match self.threads.get_mut(&thread) {
            Some(chunk) if chunk.fits(slots.len()) && near(chunk) => {
                chunk.take(slots, ticks);
                return Ok(());
            }
            Some(_) => {
                self.long.insert(thread);
                let next = self.open(KIND_EVENTS, thread, moment);
                if let Some(chunk) = self.threads.insert(thread, next) {
                    self.put_chunk(chunk, true)?;
                }
            }
            None => {
                let chunk = self.open(KIND_EVENTS, thread, moment);
                self.threads.insert(thread, chunk);
            }
        }
        if let Some(chunk) = self.threads.get_mut(&thread) {
            chunk.take(slots, ticks);
        }
        Ok(())
    }
}

/// The slots of a record whose first bytes are these.
fn slots_of(bytes: &[u8], extra: u8) -> Vec<Slot> {
    let mut slots = Vec::new();
    fill(&mut slots, bytes, extra);
    slots
}

fn fill(slots: &mut Vec<Slot>, bytes: &[u8], extra: u8) {
    slots.clear();
    slots.resize(1 + usize::from(extra), [0; 6]);
    let place = slots.as_mut_bytes();
    let count = bytes.len().min(place.len());
    if let (Some(to), Some(from)) = (place.get_mut(..count), bytes.get(..count)) {
        to.copy_from_slice(from);
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "too long for one record of a trace")
}
