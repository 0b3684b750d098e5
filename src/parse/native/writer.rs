//! Writes the native format: for text and other inputs that cannot be read in place, for tests and benches.

pub use super::records::{CallRecord, FileInfo, ModuleRecord};
use crate::trace::activity::Device;
use crate::trace::activity::raw::Submitted;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Seek, SeekFrom, Write};
use umtui_wire::activity::{KIND_SUBMIT, POINTERS_CUT, POINTERS_MAX};
use umtui_wire::checksum;
use umtui_wire::chunk::{
    self, ChunkHeader, DESK_BYTES, DESK_CALLS, DESKS_AT, Desk, KIND_DEFINITIONS, KIND_DESKS, KIND_EVENTS, OpenCall,
    STATE_OPEN, STATE_SEALED,
};
use umtui_wire::clock::ClockTriple;
use umtui_wire::definition::{BUILD_ID_MAX, TEXT_MAX, extra_slots};
use umtui_wire::frame::is_event;
use umtui_wire::header::{CHUNK_MAX, CHUNK_UNIT, HEADER_BYTES};
use umtui_wire::record::{
    ARGUMENTS_AT, FLAG_LONG, Head, KIND_API, KIND_CALL, KIND_CLOCK, KIND_DEVICE, KIND_KERNEL, KIND_LOST, KIND_MODULE,
    KIND_STRING, KIND_THREAD, SLOT_BYTES, Slot, pack_site,
};
use umtui_wire::table::Layer;
use zerocopy::{FromZeros, Immutable, IntoBytes};

/// A chunk being filled.
struct Filling {
    header: ChunkHeader,
    slots: Vec<Slot>,
    ticks: (u64, u64),
}

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
    submits: BTreeMap<u32, Vec<Slot>>,
    next_string: u32,
    strings: rustc_hash::FxHashMap<Vec<u8>, u32>,
    next_api: u16,
    free_apis: BTreeSet<u16>,
}

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
            submits: BTreeMap::new(),
            next_string: 1,
            strings: rustc_hash::FxHashMap::default(),
            next_api: 0,
            free_apis: BTreeSet::new(),
        }
    }

    /// What the header will say, to be changed before [`NativeWriter::finish`].
    pub const fn info_mut(&mut self) -> &mut FileInfo {
        &mut self.info
    }

    /// Id of a string, written at its first use; empty strings are 0 ("not recorded") only if `nothing` is meant by the
    /// caller: here they get an id like any other.
    ///
    /// # Errors
    /// When writing fails.
    pub fn string(&mut self, text: &[u8]) -> io::Result<u32> {
        if let Some(&known) = self.strings.get(text) {
            return Ok(known);
        }
        let id = self.next_string;
        self.next_string = self.next_string.saturating_add(1);
        let total = u32::try_from(text.len()).map_err(|_| too_long())?;
        let mut offset = 0;
        loop {
            let rest = text.get(offset..).unwrap_or(&[]);
            let piece = rest.get(..rest.len().min(TEXT_MAX)).unwrap_or(rest);
            let word = u64::from(total) | (offset as u64) << 32;
            self.define(Head { kind: KIND_STRING, extra: extra_slots(piece.len()), a: 0, b: id }, word, piece)?;
            offset += piece.len();
            if offset >= text.len() {
                break;
            }
        }
        self.strings.insert(text.to_vec(), id);
        Ok(id)
    }

    /// Gives strings ids from `first` on; to be called before the first one is written.
    pub const fn strings_from(&mut self, first: u32) {
        self.next_string = first;
    }

    /// Keeps an api id free: calls with it are of a function that is not defined.
    pub fn keep_free(&mut self, id: u16) {
        self.free_apis.insert(id);
    }

    /// Defines a function; its id. `signature` is as in a definition, with the name.
    ///
    /// # Errors
    /// When writing fails, or the signature is longer than a record can be.
    pub fn api(&mut self, layer: Layer, signature: &str) -> io::Result<u16> {
        while self.free_apis.contains(&self.next_api) {
            self.next_api = self.next_api.checked_add(1).ok_or_else(too_long)?;
        }
        let id = self.next_api;
        self.next_api = self.next_api.checked_add(1).ok_or_else(too_long)?;
        if signature.len() > TEXT_MAX {
            return Err(too_long());
        }
        let head = Head { kind: KIND_API, extra: extra_slots(signature.len()), a: id, b: layer as u32 };
        self.define(head, signature.len() as u64, signature.as_bytes())?;
        Ok(id)
    }

    /// Defines a module.
    ///
    /// # Errors
    /// When writing fails.
    pub fn module(&mut self, module: &ModuleRecord) -> io::Result<()> {
        let build_id = module.build_id.get(..module.build_id.len().min(BUILD_ID_MAX)).unwrap_or(&[]);
        let mut text = Vec::new();
        for word in [module.end, module.file_offset, module.ticks, 0, build_id.len() as u64] {
            text.extend_from_slice(&word.to_le_bytes());
        }
        text.extend_from_slice(build_id);
        let head = Head { kind: KIND_MODULE, extra: 1, a: 0, b: module.path };
        self.define(head, module.start, &text)
    }

    /// Defines a kernel.
    ///
    /// # Errors
    /// When writing fails.
    pub fn kernel(&mut self, handle: u64, name: u32, ticks: u64) -> io::Result<()> {
        self.define(Head { kind: KIND_KERNEL, extra: 0, a: 0, b: name }, handle, &ticks.to_le_bytes())
    }

    /// Defines a device.
    ///
    /// # Errors
    /// When writing fails.
    pub fn device(&mut self, ordinal: u16, name: u32, device: &Device) -> io::Result<()> {
        let two = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let (domain, bus, number) = device.pci;
        let words = [
            two(device.capability.0, device.capability.1),
            two(device.multiprocessors, domain),
            two(number, bus),
            device.bits,
            device.uuid[0],
            device.uuid[1],
        ];
        let text: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.define(Head { kind: KIND_DEVICE, extra: 1, a: ordinal, b: name }, device.memory_bytes, &text)
    }

    fn define(&mut self, head: Head, word: u64, text: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(SLOT_BYTES * (1 + usize::from(head.extra)));
        bytes.extend_from_slice(&head.word().to_le_bytes());
        bytes.extend_from_slice(&word.to_le_bytes());
        bytes.extend_from_slice(text);
        let slots = slots_of(&bytes, head.extra);
        let full = self.definitions.as_ref().is_some_and(|chunk| !chunk.fits(slots.len()));
        if full && let Some(chunk) = self.definitions.take() {
            self.put_chunk(chunk, true)?;
        }
        if self.definitions.is_none() {
            self.definitions = Some(self.open(KIND_DEFINITIONS, 0, self.newest));
        }
        if let Some(chunk) = &mut self.definitions {
            chunk.slots.extend(slots);
        }
        Ok(())
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
        let mut bytes = Vec::with_capacity(SLOT_BYTES * (1 + usize::from(extra)));
        for word in [head.word(), call.start, pack_site(call.site, call.depth, flags)] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&(call.duration as u32).to_le_bytes());
        bytes.extend_from_slice(&call.arguments);
        let mut slots = slots_of(&bytes, extra);
        if let Some(last) = slots.last_mut().filter(|_| long) {
            last[5] = call.duration;
        }
        let end = call.start.saturating_add(call.duration);
        self.newest = self.newest.max(end);
        // Both in one chunk.
        if let Some(submit) = self.submits.remove(&thread) {
            slots.splice(..0, submit);
        }
        self.append(thread, &slots, end, Some((call.start, end)))
    }

    /// Appends a record of [`umtui_wire::activity`] that was written at about `moment`, ticks: as many of its slots as its
    /// head says.
    ///
    /// # Errors
    /// When writing fails.
    pub fn record<R: IntoBytes + Immutable>(&mut self, thread: u32, record: &R, moment: u64) -> io::Result<()> {
        let bytes = record.as_bytes();
        let head = bytes.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word));
        self.newest = self.newest.max(moment);
        self.append(thread, &slots_of(bytes, Head::from_word(head).extra), moment, None)
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

    /// Appends a record that was complete at `moment`.
    fn append(&mut self, thread: u32, slots: &[Slot], moment: u64, ticks: Option<(u64, u64)>) -> io::Result<()> {
        let full = self.threads.get(&thread).is_some_and(|chunk| !chunk.fits(slots.len()));
        if full {
            if let Some(chunk) = self.threads.remove(&thread) {
                let next = self.open(KIND_EVENTS, thread, moment);
                self.threads.insert(thread, next);
                self.put_chunk(chunk, true)?;
            }
        } else if !self.threads.contains_key(&thread) {
            let chunk = self.open(KIND_EVENTS, thread, moment);
            self.threads.insert(thread, chunk);
        }
        if let Some(chunk) = self.threads.get_mut(&thread) {
            chunk.slots.extend_from_slice(slots);
            let (mut events, mut rest) = (0, slots);
            while let Some(slot) = rest.first() {
                let head = Head::from_word(slot[0]);
                events += usize::from(is_event(head.kind));
                rest = rest.get(1 + usize::from(head.extra)..).unwrap_or(&[]);
            }
            chunk.header.others += (slots.len() - events) as u32;
            if let Some((first, last)) = ticks {
                chunk.ticks = (chunk.ticks.0.min(first), chunk.ticks.1.max(last));
            }
        }
        Ok(())
    }

    fn open(&mut self, kind: u16, thread: u32, moment: u64) -> Filling {
        let bytes = if kind == KIND_EVENTS { self.chunk_bytes } else { CHUNK_UNIT };
        let mut header = ChunkHeader::new_zeroed();
        header.magic = chunk::MAGIC;
        header.kind = kind;
        header.state = STATE_OPEN;
        header.bytes = bytes as u32;
        header.thread = thread;
        header.offset = self.end;
        header.sequence = self.sequence;
        header.opened = self.triple(moment);
        self.end += bytes;
        self.sequence += 1;
        Filling { header, slots: Vec::new(), ticks: (u64::MAX, 0) }
    }

    /// A clock reading that agrees with the start at the file's rate.
    fn triple(&self, ticks: u64) -> ClockTriple {
        let rate = umtui_wire::clock::Rate::new(self.info.ticks_per_second);
        let since = rate.ns(ticks.saturating_sub(self.info.start.ticks));
        ClockTriple {
            ticks,
            monotonic_ns: self.info.start.monotonic_ns.saturating_add(since),
            realtime_ns: self.info.start.realtime_ns.saturating_add(since),
        }
    }

    fn put_chunk(&mut self, mut chunk: Filling, seal: bool) -> io::Result<()> {
        let slots = chunk.slots.as_bytes();
        chunk.header.committed = (chunk::HEADER_BYTES + slots.len()) as u32;
        if seal {
            chunk.header.state = STATE_SEALED;
            chunk.header.checksum = checksum::of_slots(slots);
            chunk.header.sealed = self.triple(self.newest);
            chunk.header.last_ticks = chunk.ticks.1;
            chunk.header.first_ticks = if chunk.ticks.0 == u64::MAX { 0 } else { chunk.ticks.0 };
        }
        self.out.seek(SeekFrom::Start(chunk.header.offset))?;
        self.out.write_all(chunk.header.as_bytes())?;
        self.out.write_all(slots)?;
        let rest = (chunk.header.bytes as usize).saturating_sub(chunk::HEADER_BYTES + slots.len());
        io::copy(&mut io::Read::take(io::repeat(0), rest as u64), &mut self.out)?;
        Ok(())
    }

    fn put_desks(&mut self) -> io::Result<()> {
        let per_chunk = (CHUNK_UNIT as usize - DESKS_AT) / DESK_BYTES;
        let mut left: Vec<(u32, Vec<OpenCall>)> = std::mem::take(&mut self.desks).into_iter().collect();
        while !left.is_empty() {
            let mut chunk = self.open(KIND_DESKS, 0, self.newest);
            chunk.header.committed = chunk::HEADER_BYTES as u32;
            self.out.seek(SeekFrom::Start(chunk.header.offset))?;
            self.out.write_all(chunk.header.as_bytes())?;
            let mut bytes = vec![0; DESKS_AT - chunk::HEADER_BYTES];
            for (thread, calls) in left.drain(..left.len().min(per_chunk)) {
                let mut desk = Desk::new_zeroed();
                desk.thread = thread;
                desk.no_frame = u64::MAX;
                for (place, call) in desk.calls.iter_mut().zip(calls) {
                    *place = call;
                }
                bytes.extend_from_slice(desk.as_bytes());
            }
            bytes.resize(CHUNK_UNIT as usize - chunk::HEADER_BYTES, 0);
            self.out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Writes what is left and the header; the chunks still being filled stay open unless `seal`.
    ///
    /// # Errors
    /// When writing fails.
    pub fn finish(mut self, seal: bool) -> io::Result<W> {
        if let Some(chunk) = self.definitions.take() {
            self.put_chunk(chunk, seal)?;
        }
        for chunk in std::mem::take(&mut self.threads).into_values() {
            self.put_chunk(chunk, seal)?;
        }
        self.put_desks()?;
        let header = self.info.header(self.end);
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(header.as_bytes())?;
        let gap = CHUNK_UNIT - HEADER_BYTES as u64;
        if self.end == CHUNK_UNIT {
            io::copy(&mut io::Read::take(io::repeat(0), gap), &mut self.out)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

impl Filling {
    fn fits(&self, slots: usize) -> bool {
        self.slots.len() + slots <= super::piece::capacity(self.header.bytes) as usize
    }
}

/// The slots of a record whose first bytes are these.
fn slots_of(bytes: &[u8], extra: u8) -> Vec<Slot> {
    let mut slots = vec![[0u64; 6]; 1 + usize::from(extra)];
    let place = slots.as_mut_bytes();
    let count = bytes.len().min(place.len());
    if let (Some(to), Some(from)) = (place.get_mut(..count), bytes.get(..count)) {
        to.copy_from_slice(from);
    }
    slots
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "too long for one record of a trace")
}
