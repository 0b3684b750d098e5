//! What a file's records refer to: its functions, threads, sites and streams, with small caches before the trace's
//! tables, so that a record costs no hash look-up.

use super::activity::GpuClock;
use super::clock::{Clock, Reading};
use super::decode::Segment;
use super::piece::FAR;
use super::scan::{Contexts, Current, is_created, ordinal};
use crate::trace::chunk::Batch;
use crate::trace::semantics::{ContextUse, DeviceAt};
use crate::trace::stream::Found;
use crate::trace::{
    ApiId, CallFlags, Captor, Layer, NO_DEVICE, ProcessId, Semantics, SiteId, StreamId, Streams, Trace, TrackId,
};
use rustc_hash::FxHashMap;
use umtui_wire::clock::ClockTriple;

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
    bits: u16,
}

const LOCATION: u16 = 1;
const PER_THREAD: u16 = 2;
const DESTROYS: u16 = 4;
const CONCERNS_OTHERS: u16 = 8;
const FOLLOWED: u16 = 16;
const DRIVER: u16 = 32;
const MAKES_STREAM: u16 = 64;
const NOT_PLAIN: u16 = 128;
const CAPTURED: u16 = 256;

impl Default for Hot {
    fn default() -> Self {
        Self { id: None, stream_at: NOWHERE, device_at: NOWHERE, bits: 0 }
    }
}

impl Hot {
    /// Of a function with these semantics.
    #[must_use]
    pub fn new(id: ApiId, layer: Layer, semantics: &Semantics) -> Self {
        let bit = |set: bool, bit: u16| if set { bit } else { 0 };
        let (device_at, location) = match semantics.device_at {
            Some(DeviceAt::Ordinal(at)) => (at, false),
            Some(DeviceAt::Location(at)) => (at, true),
            None => (NOWHERE, false),
        };
        let follows = semantics.sets_device.is_some()
            || semantics.learns_device.is_some()
            || matches!(semantics.context, ContextUse::Sets(_));
        let stream_at = semantics.stream_at.or(semantics.creates_stream).unwrap_or(NOWHERE);
        let plain = stream_at == NOWHERE && device_at == NOWHERE && !follows;
        let bits = bit(location, LOCATION)
            | bit(!plain, NOT_PLAIN)
            | bit(semantics.per_thread_stream, PER_THREAD)
            | bit(semantics.destroys_stream, DESTROYS)
            | bit(semantics.concerns_others(), CONCERNS_OTHERS)
            | bit(follows, FOLLOWED)
            | bit(layer == Layer::Driver, DRIVER)
            | bit(semantics.creates_stream.is_some(), MAKES_STREAM)
            | bit(semantics.stream_at.is_some() && semantics.is_captured, CAPTURED);
        Self { id: Some(id), stream_at, device_at, bits }
    }

    /// Device of a call made before any is known: runtime functions, and what they call, begin on device 0.
    #[must_use]
    pub const fn fallback(self, depth: u8) -> u8 {
        if self.has(DRIVER) && depth == 0 { NO_DEVICE } else { 0 }
    }

    /// Whether it works on no stream and names no device, and changes neither.
    #[inline]
    pub(super) const fn is_plain(self) -> bool {
        !self.has(NOT_PLAIN)
    }

    /// Whether the thread's current device follows from its calls.
    #[inline]
    pub(super) const fn is_followed(self) -> bool {
        self.has(FOLLOWED)
    }

    /// The stream whose capture a call with this record would belong to.
    #[inline]
    pub(super) fn captor(self, record: &[u8], thread: &Thread) -> Option<Captor> {
        let handle = word(record, self.stream_at).filter(|_| self.has(CAPTURED))?;
        Captor::of(handle, self.has(PER_THREAD), thread.id)
    }

    const fn has(self, bit: u16) -> bool {
        self.bits & bit != 0
    }
}

/// A thread while it is read.
#[derive(Debug)]
pub struct Thread {
    /// Its track.
    pub track: TrackId,
    /// Its id.
    id: u32,
    pub(super) reading: Option<Reading>,
    /// The driver's clock as this thread compared it last.
    pub(super) gpu: Option<GpuClock>,
    pub(super) current: Current,
    default_stream: [(u8, Option<StreamId>); 2],
    streams: [(u64, u32, Found); STREAMS_CACHED],
}

impl Thread {
    fn new(track: TrackId, id: u32) -> Self {
        let nothing = Found { stream: StreamId::NONE, device: NO_DEVICE, from: 1, until: 0 };
        Self {
            track,
            id,
            reading: None,
            gpu: None,
            current: Current::default(),
            default_stream: [(0, None); 2],
            streams: [(0, 0, nothing); STREAMS_CACHED],
        }
    }

    /// Device of a call that says nothing of it.
    #[inline]
    pub(super) fn device(&self, hot: Hot, depth: u8) -> u8 {
        self.current.0.unwrap_or(hot.fallback(depth))
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
            && *known == handle
            && *version == streams.version()
            && found.from <= at
            && at <= found.until
        {
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
    /// The driver's clock as it was compared last, by whichever thread.
    pub(super) gpu: Option<GpuClock>,
    /// The same by the time of day when recording began: what it is if nobody compares it.
    pub(super) gpu_start: GpuClock,
    /// Something was taken in that is no event.
    pub(super) changed: bool,
    /// Whether older chunks make room for newer ones.
    pub(super) has_cap: bool,
    /// Devices of contexts.
    pub contexts: Contexts,
    apis: Vec<Hot>,
    semantics: FxHashMap<u16, Semantics>,
    threads: FxHashMap<u32, usize>,
    list: Vec<Thread>,
    sites: Box<[[(u64, SiteId); 2]; SITES_CACHED]>,
    pub(super) batch: Option<Box<Batch>>,
}

impl File {
    /// A file of this process.
    #[must_use]
    pub fn new(process: ProcessId, file: usize, clock: Clock, start: &ClockTriple, has_cap: bool) -> Self {
        let reading = clock.reading(start);
        Self {
            process,
            file,
            clock,
            start_ticks: start.ticks,
            start: reading,
            gpu: None,
            gpu_start: GpuClock { driver_ns: start.realtime_ns, axis_ns: clock.ns(reading, start.ticks) },
            changed: false,
            has_cap,
            contexts: Contexts::default(),
            apis: Vec::new(),
            semantics: FxHashMap::default(),
            threads: FxHashMap::default(),
            list: Vec::new(),
            sites: Box::new([[(u64::MAX, SiteId(0)); 2]; SITES_CACHED]),
            batch: None,
        }
    }

    /// What is known of the function with this id in the file.
    #[must_use]
    #[inline]
    pub fn hot(&self, api: u16) -> Hot {
        self.apis.get(usize::from(api)).copied().unwrap_or_default()
    }

    /// [`Semantics::concerns_others`] of the function with this id in the file.
    #[must_use]
    #[inline]
    pub fn concerns_others(&self, api: u16) -> bool {
        self.apis.get(usize::from(api)).is_some_and(|hot| hot.bits & CONCERNS_OTHERS != 0)
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

    /// Lends the threads out, so that one can be changed beside the file.
    pub(super) fn take_threads(&mut self) -> Vec<Thread> {
        std::mem::take(&mut self.list)
    }

    /// Takes the threads back; passes `result` on.
    pub(super) fn give_threads(&mut self, list: Vec<Thread>, result: Segment) -> Segment {
        self.list = list;
        result
    }

    /// The track of a thread, made if need be.
    pub fn thread(&mut self, thread: u32, trace: &mut Trace) -> usize {
        if let Some(&known) = self.threads.get(&thread) {
            return known;
        }
        let track = trace.track_of(self.process, thread);
        self.list.push(Thread::new(track, thread));
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

    /// Stream and device of a call; `record` is empty if its arguments were not recorded.
    #[allow(clippy::too_many_arguments, reason = "the parts of one record, taken apart already")]
    pub(super) fn place(
        &self,
        thread: &mut Thread,
        streams: &mut Streams,
        hot: Hot,
        record: &[u8],
        (start, end): (u64, u64),
        depth: u8,
        flags: CallFlags,
    ) -> (StreamId, u8) {
        let moment = if hot.has(DESTROYS) { start } else { end };
        let current = thread.device(hot, depth);
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

    /// The site of an address, for a call that ended at `ticks`.
    #[inline]
    pub fn site(&mut self, trace_sites: &mut crate::trace::Sites, address: u64, ticks: u64) -> SiteId {
        let place = spread(address) as usize % SITES_CACHED;
        if let Some(set) = self.sites.get(place) {
            // Picked by index, not by a branch that nobody can foresee.
            let (known, site) = set[usize::from(set[1].0 == address)];
            if known == address {
                return site;
            }
        }
        let found = trace_sites.find(self.process, address, ticks);
        if let Some([first, second]) = self.sites.get_mut(place).filter(|_| found.lasting) {
            *second = *first;
            *first = (address, found.site);
        }
        found.site
    }
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
