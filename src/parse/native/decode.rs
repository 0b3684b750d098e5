//! Slots to rows: the path that every event takes.

use super::clock::{Clock, Reading};
use super::piece::{FAR, Piece, Stall, bytes_of};
use super::scan::{Contexts, Current, duration, is_created, ordinal};
use crate::trace::semantics::{ContextUse, DeviceAt};
use crate::trace::chunk::Batch;
use crate::trace::store::note;
use crate::trace::stream::Found;
use crate::trace::{
    ApiId, Call, CallFlags, Layer, NO_DEVICE, ProcessId, Semantics, SiteId, StreamId, Streams, Trace, TrackId,
};
use rustc_hash::FxHashMap;
use umtui_wire::clock::ClockTriple;
use umtui_wire::record::{
    FLAG_ENTRY, FLAG_NO_ARGUMENTS, Head, KIND_CALL, KIND_CLOCK, KIND_LOST, KIND_THREAD, SLOT_BYTES, Slot, unpack_site,
};

const SITES_CACHED: usize = 1024;
const STREAMS_CACHED: usize = 16;
/// No such argument.
const NOWHERE: u16 = u16::MAX;

/// What decoding needs to know of a function.
#[derive(Clone, Copy, Debug)]
pub struct Hot {
    /// Its id in the trace, once it has one.
    pub id: Option<ApiId>,
    stream_at: u16,
    device_at: u16,
    bits: u8,
}

const LOCATION: u8 = 1;
const PER_THREAD: u8 = 2;
const DESTROYS: u8 = 4;
const CONCERNS_OTHERS: u8 = 8;
const FOLLOWED: u8 = 16;
const DRIVER: u8 = 32;
const MAKES_STREAM: u8 = 64;

impl Default for Hot {
    fn default() -> Self {
        Self { id: None, stream_at: NOWHERE, device_at: NOWHERE, bits: 0 }
    }
}

impl Hot {
    /// Of a function with these semantics.
    #[must_use]
    pub fn new(id: ApiId, layer: Layer, semantics: &Semantics) -> Self {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let (device_at, location) = match semantics.device_at {
            Some(DeviceAt::Ordinal(at)) => (at, false),
            Some(DeviceAt::Location(at)) => (at, true),
            None => (NOWHERE, false),
        };
        let follows = semantics.sets_device.is_some()
            || semantics.learns_device.is_some()
            || matches!(semantics.context, ContextUse::Sets(_));
        let stream_at = semantics.stream_at.or(semantics.creates_stream).unwrap_or(NOWHERE);
        let bits = bit(location, LOCATION)
            | bit(semantics.per_thread_stream, PER_THREAD)
            | bit(semantics.destroys_stream, DESTROYS)
            | bit(semantics.concerns_others(), CONCERNS_OTHERS)
            | bit(follows, FOLLOWED)
            | bit(layer == Layer::Driver, DRIVER)
            | bit(semantics.creates_stream.is_some(), MAKES_STREAM);
        Self { id: Some(id), stream_at, device_at, bits }
    }

    /// See [`Semantics::concerns_others`].
    #[must_use]
    #[inline]
    pub const fn concerns_others(self) -> bool {
        self.bits & CONCERNS_OTHERS != 0
    }

    /// Device of a call made before any is known: runtime functions, and what they call, begin on device 0.
    #[must_use]
    pub const fn fallback(self, depth: u8) -> u8 {
        if self.has(DRIVER) && depth == 0 { NO_DEVICE } else { 0 }
    }

    const fn has(self, bit: u8) -> bool {
        self.bits & bit != 0
    }
}

/// A thread while it is read.
#[derive(Debug)]
pub struct Thread {
    /// Its track.
    pub track: TrackId,
    reading: Option<Reading>,
    current: Current,
    default_stream: [(u8, Option<StreamId>); 2],
    streams: [(u64, u32, Found); STREAMS_CACHED],
}

impl Thread {
    fn new(track: TrackId) -> Self {
        let nothing = Found { stream: StreamId::NONE, device: NO_DEVICE, from: 1, until: 0 };
        Self {
            track,
            reading: None,
            current: Current::default(),
            default_stream: [(0, None); 2],
            streams: [(0, 0, nothing); STREAMS_CACHED],
        }
    }

    fn default_stream(&mut self, streams: &mut Streams, process: ProcessId, device: u8, own: bool) -> StreamId {
        let Some(cached) = self.default_stream.get_mut(usize::from(own)) else { return StreamId::NONE };
        match *cached {
            (known, Some(stream)) if known == device => stream,
            _ => {
                let stream = streams.default_stream(process, device, own.then_some(self.track));
                *cached = (device, Some(stream));
                stream
            }
        }
    }

    fn created_stream(&mut self, streams: &mut Streams, process: ProcessId, handle: u64, at: u64, device: u8) -> Found {
        let place = spread(handle) as usize % STREAMS_CACHED;
        if let Some((known, version, found)) = self.streams.get(place)
            && *known == handle && *version == streams.version() && found.from <= at && at <= found.until {
                return *found;
            }
        let found = streams.find(process, handle, at, device);
        if let Some(place) = self.streams.get_mut(place) {
            *place = (handle, streams.version(), found);
        }
        found
    }
}

/// What a file's records refer to.
#[derive(Debug)]
pub struct File {
    /// Its process.
    pub process: ProcessId,
    /// Its number in the trace.
    pub file: usize,
    /// Ticks to times.
    pub clock: Clock,
    /// Ticks at which recording began.
    pub start_ticks: u64,
    /// The reading taken then.
    pub start: Reading,
    /// Devices of contexts.
    pub contexts: Contexts,
    apis: Vec<Hot>,
    semantics: FxHashMap<u16, Semantics>,
    threads: FxHashMap<u32, usize>,
    list: Vec<Thread>,
    sites: Vec<[(u64, SiteId); 2]>,
    batch: Option<Box<Batch>>,
}

/// How decoding of a piece ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All that was committed, or as far as the horizon lets.
    Done,
    /// The budget is used up.
    Budget,
    /// The buffer is used up.
    Buffer,
}

impl File {
    /// A file of this process.
    #[must_use]
    pub fn new(process: ProcessId, file: usize, clock: Clock, start: &ClockTriple) -> Self {
        Self {
            process,
            file,
            clock,
            start_ticks: start.ticks,
            start: clock.reading(start),
            contexts: Contexts::default(),
            apis: Vec::new(),
            semantics: FxHashMap::default(),
            threads: FxHashMap::default(),
            list: Vec::new(),
            sites: vec![[(u64::MAX, SiteId(0)); 2]; SITES_CACHED],
            batch: None,
        }
    }

    /// What is known of the function with this id in the file.
    #[must_use]
    #[inline]
    pub fn hot(&self, api: u16) -> Hot {
        self.apis.get(usize::from(api)).copied().unwrap_or_default()
    }

    /// What the function with this id in the file does.
    #[must_use]
    pub fn semantics(&self, api: u16) -> Semantics {
        self.semantics.get(&api).copied().unwrap_or_default()
    }

    /// Gives a function of the file its place in the trace.
    pub fn set_api(&mut self, api: u16, hot: Hot, semantics: Semantics) {
        let index = usize::from(api);
        if index >= self.apis.len() {
            self.apis.resize(index + 1, Hot::default());
        }
        if let Some(place) = self.apis.get_mut(index) {
            *place = hot;
        }
        self.semantics.insert(api, semantics);
    }

    /// The function's id in the trace, a placeholder if its definition has not come.
    pub fn api_id(&mut self, api: u16, trace: &mut Trace) -> ApiId {
        if let Some(id) = self.hot(api).id {
            return id;
        }
        let id = trace.undefined_api(api);
        self.set_api(api, Hot { id: Some(id), ..Hot::default() }, Semantics::default());
        id
    }

    /// Forgets which modules addresses lie in.
    pub fn forget_sites(&mut self) {
        self.sites.fill([(u64::MAX, SiteId(0)); 2]);
    }

    /// The track of a thread, made if need be.
    pub fn thread(&mut self, thread: u32, trace: &mut Trace) -> usize {
        if let Some(&known) = self.threads.get(&thread) {
            return known;
        }
        let track = trace.track_of(self.process, thread);
        self.list.push(Thread::new(track));
        self.threads.insert(thread, self.list.len() - 1);
        self.list.len() - 1
    }

    /// Tracks of the file.
    pub fn tracks(&self) -> impl Iterator<Item = TrackId> + '_ {
        self.list.iter().map(|thread| thread.track)
    }

    /// The track of a thread by its place from [`File::thread`].
    #[must_use]
    pub fn track(&self, place: usize) -> Option<TrackId> {
        self.list.get(place).map(|thread| thread.track)
    }

    /// The newest clock reading of a thread by its place.
    #[must_use]
    pub fn reading(&self, place: usize) -> Reading {
        self.list.get(place).and_then(|thread| thread.reading).unwrap_or(self.start)
    }

    /// Whether an open call may have begun at these ticks.
    #[must_use]
    pub const fn plausible(&self, ticks: u64) -> bool {
        ticks.abs_diff(self.start_ticks) <= FAR
    }

    /// The site of an address, for a call that ended at `ticks`.
    #[inline]
    pub fn site(&mut self, trace_sites: &mut crate::trace::Sites, address: u64, ticks: u64) -> SiteId {
        let place = spread(address) as usize % SITES_CACHED;
        if let Some([first, second]) = self.sites.get(place) {
            if first.0 == address {
                return first.1;
            }
            if second.0 == address {
                return second.1;
            }
        }
        let found = trace_sites.find(self.process, address, ticks);
        if let Some([first, second]) = self.sites.get_mut(place).filter(|_| found.lasting) {
            *second = *first;
            *first = (address, found.site);
        }
        found.site
    }

    /// Decodes what `piece.buffer` holds from `piece.decoded` on, up to `horizon` ticks and `budget` calls.
    pub fn decode(&mut self, piece: &mut Piece, trace: &mut Trace, horizon: u64, budget: &mut usize) -> Stop {
        let buffer = std::mem::take(&mut piece.buffer);
        let readable = piece.committed.saturating_sub(piece.buffer_at) as usize;
        let slots = buffer.get(..readable.min(buffer.len())).unwrap_or(&[]);
        let stop = loop {
            let place = self.thread(piece.thread, trace);
            match self.segment(piece, slots, trace, place, horizon, budget) {
                Segment::Stop(stop) => break stop,
                Segment::Undefined(api) => {
                    self.api_id(api, trace);
                }
            }
        };
        piece.buffer = buffer;
        stop
    }

    /// The calls of one thread, up to a hand-over.
    fn segment(
        &mut self,
        piece: &mut Piece,
        slots: &[Slot],
        trace: &mut Trace,
        place: usize,
        horizon: u64,
        budget: &mut usize,
    ) -> Segment {
        let bytes = bytes_of(slots);
        let (low, high) = piece.plausible(self.start_ticks);
        let mut reading = piece.reading.unwrap_or_else(|| self.clock.reading(&piece.opened));
        let mut at = (piece.decoded.saturating_sub(piece.buffer_at)) as usize;
        let mut list = std::mem::take(&mut self.list);
        let mut batch = self.batch.take().unwrap_or_default();
        let Some((thread, track)) =
            list.get_mut(place).and_then(|thread| trace.tracks.get_mut(thread.track.index()).map(|track| (thread, track)))
        else {
            self.list = list;
            return Segment::Stop(Stop::Done);
        };
        piece.stall = Stall::No;
        let first_offset = piece.slot_offset(piece.buffer_at);
        let result = loop {
            let Some(slot) = slots.get(at) else { break Segment::Stop(Stop::Buffer) };
            let head = Head::from_word(slot[0]);
            let next = at + 1 + usize::from(head.extra);
            if next > slots.len() {
                break Segment::Stop(Stop::Buffer);
            }
            if head.kind != KIND_CALL {
                track.append(&mut batch);
                match self.other(piece, slot, head, &mut reading, track.thread) {
                    Other::Skip => {}
                    Other::HandOver(ticks) => {
                        piece.stall = Stall::HandOver { ticks, thread: head.b };
                        break Segment::Stop(Stop::Done);
                    }
                    Other::Name(name) => {
                        let process = trace.processes.get(self.process.index());
                        if let Some(&name) = process.and_then(|process| process.strings.get(&name)) {
                            track.name = name;
                        }
                    }
                    Other::Odd => {
                        let offset = first_offset + (at * SLOT_BYTES) as u64;
                        note(&mut trace.damage, &mut trace.more_damage, odd(self.file, offset));
                    }
                }
                at = next;
                continue;
            }
            let (address, depth, flags) = unpack_site(slot[2]);
            let last = if next > at + 1 { slots.get(next - 1).map(|slot| slot[5]) } else { None };
            let ticks = duration(slot, flags, last);
            let (start, end) = (slot[1], slot[1].saturating_add(ticks));
            if start < low || end > high {
                let offset = first_offset + (at * SLOT_BYTES) as u64;
                note(&mut trace.damage, &mut trace.more_damage, odd(self.file, offset));
                track.append(&mut batch);
                at = next;
                continue;
            }
            if end > horizon {
                piece.stall = Stall::Until(end);
                break Segment::Stop(Stop::Done);
            }
            if *budget == 0 {
                break Segment::Stop(Stop::Budget);
            }
            let hot = self.hot(head.a);
            let Some(api) = hot.id else { break Segment::Undefined(head.a) };
            let call_flags = CallFlags::of_record(flags, head.b);
            let readable = flags & (FLAG_NO_ARGUMENTS | FLAG_ENTRY) == 0;
            let record = || bytes.get(at * SLOT_BYTES..next * SLOT_BYTES).filter(|_| readable).unwrap_or(&[]);
            if hot.has(FOLLOWED) && readable && !call_flags.failed() {
                thread.current.follow(&self.semantics(head.a), record(), &self.contexts);
            }
            let (stream, device) = if hot.stream_at == NOWHERE && hot.device_at == NOWHERE {
                (StreamId::NONE, thread.current.0.unwrap_or(hot.fallback(depth)))
            } else {
                let moment = if hot.has(DESTROYS) { start } else { end };
                self.place(thread, &mut trace.streams, hot, record(), moment, depth, call_flags)
            };
            let site = self.site(&mut trace.sites, address, end);
            let call = Call {
                start_ns: self.clock.ns(reading, start),
                duration_ns: if flags & FLAG_ENTRY == 0 { self.clock.span(ticks) } else { 0 },
                api,
                site,
                stream,
                device,
                depth,
                flags: call_flags,
                extra: head.extra,
            };
            if batch.is_full() {
                track.append(&mut batch);
            }
            batch.push(&call, first_offset + (at * SLOT_BYTES) as u64);
            *budget -= 1;
            at = next;
        };
        track.append(&mut batch);
        piece.decoded = piece.buffer_at + at as u32;
        piece.reading = Some(reading);
        thread.reading = Some(reading);
        self.list = list;
        self.batch = Some(batch);
        result
    }

    /// Stream and device of a call; `record` is empty if its arguments were not recorded.
    #[allow(clippy::too_many_arguments, reason = "the parts of one record, taken apart already")]
    fn place(
        &self,
        thread: &mut Thread,
        streams: &mut Streams,
        hot: Hot,
        record: &[u8],
        moment: u64,
        depth: u8,
        flags: CallFlags,
    ) -> (StreamId, u8) {
        let current = thread.current.0.unwrap_or(hot.fallback(depth));
        let told = told_device(hot, record);
        let device = told.unwrap_or(current);
        if hot.has(MAKES_STREAM) && flags.failed() {
            return (StreamId::NONE, device);
        }
        let Some(handle) = word(record, hot.stream_at) else { return (StreamId::NONE, device) };
        if is_created(handle) {
            let found = thread.created_stream(streams, self.process, handle, moment, current);
            let device = told.unwrap_or(if found.device == NO_DEVICE { current } else { found.device });
            return (found.stream, device);
        }
        if hot.has(MAKES_STREAM) {
            return (StreamId::NONE, device);
        }
        let own = handle == 2 || (handle == 0 && hot.has(PER_THREAD));
        (thread.default_stream(streams, self.process, current, own), device)
    }

    /// Records other than calls.
    fn other(&self, piece: &mut Piece, slot: &Slot, head: Head, reading: &mut Reading, thread: u32) -> Other {
        match head.kind {
            KIND_CLOCK => {
                let triple = ClockTriple { ticks: slot[1], monotonic_ns: slot[2], realtime_ns: slot[3] };
                let fresh = self.clock.reading(&triple);
                if piece.suspect && !self.clock.agree(*reading, fresh) {
                    return Other::Odd;
                }
                *reading = fresh;
                Other::Skip
            }
            KIND_THREAD if head.b != thread => Other::HandOver(slot[1]),
            KIND_THREAD => Other::Name(slot[2] as u32),
            KIND_LOST => {
                piece.lost_records = piece.lost_records.saturating_add(slot[2]);
                Other::Skip
            }
            0 => Other::Odd,
            _ => Other::Skip,
        }
    }
}

/// How a segment ended.
enum Segment {
    Stop(Stop),
    Undefined(u16),
}

/// What a record other than a call asks for.
enum Other {
    Skip,
    HandOver(u64),
    Name(u32),
    Odd,
}

fn odd(file: usize, offset: u64) -> crate::trace::Damage {
    crate::trace::Damage { file, offset, why: "a record that cannot be right, left out".to_owned() }
}

/// Spreads addresses, which are alike in their low and their high bits.
const fn spread(address: u64) -> u64 {
    address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

fn word(record: &[u8], at: u16) -> Option<u64> {
    let at = usize::from(at);
    let mut eight = [0; 8];
    eight.copy_from_slice(record.get(at..at + 8)?);
    Some(u64::from_le_bytes(eight))
}

fn told_device(hot: Hot, record: &[u8]) -> Option<u8> {
    if hot.device_at == NOWHERE {
        return None;
    }
    let at = usize::from(hot.device_at);
    let mut four = [0; 4];
    four.copy_from_slice(record.get(at..at + 4)?);
    let first = u32::from_le_bytes(four);
    if !hot.has(LOCATION) {
        return ordinal(first);
    }
    four.copy_from_slice(record.get(at + 4..at + 8)?);
    if first == 1 { ordinal(u32::from_le_bytes(four)) } else { None }
}
