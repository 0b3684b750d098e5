//! The trace: everything that was read, from all files.

use super::activity::Activities;
use super::api::Api;
use super::chunk::Summary;
use super::ids::{ApiId, NameId, ProcessId, TrackId};
use super::names::Names;
use super::process::Process;
use super::range::Ranges;
use super::semantics::Semantics;
use super::site::Sites;
use super::stream::Streams;
use super::track::Track;
use super::{Layer, Signature};
use rustc_hash::FxHashMap;

/// Most damages that are kept; later ones are counted.
const DAMAGE_KEPT: usize = 1000;

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// File: index into [`Trace::files`].
    pub file: usize,
    /// Byte offset, or line for a text.
    pub offset: u64,
    /// What is wrong, in a few words.
    pub why: String,
}

/// Which kinds of evidence a trace holds: a set of levels 1 to 6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence(u8);

impl Evidence {
    /// Adds a level, 1 (API calls) to 6.
    pub const fn add(&mut self, level: u8) {
        if level >= 1 && level <= 6 {
            self.0 |= 1 << level;
        }
    }

    /// Whether this level is there.
    #[must_use]
    pub const fn has(self, level: u8) -> bool {
        level < 8 && self.0 >> level & 1 == 1
    }

    /// The levels there are.
    pub fn levels(self) -> impl Iterator<Item = u8> {
        (1..=6).filter(move |&level| self.has(level))
    }
}

/// Everything read so far. It only grows; readers append, everyone else looks.
#[derive(Debug, Default)]
pub struct Trace {
    /// Names of the files, as the user gave them.
    pub files: Vec<String>,
    /// Processes, by id.
    pub processes: Vec<Process>,
    /// Threads, by id.
    pub tracks: Vec<Track>,
    /// Functions, by id.
    pub apis: Vec<Api>,
    /// Call sites and modules.
    pub sites: Sites,
    /// Streams.
    pub streams: Streams,
    /// Names.
    pub names: Names,
    /// Kernels by process and handle.
    pub kernels: FxHashMap<(ProcessId, u64), NameId>,
    /// What could not be read, as far as it is kept.
    pub damage: Vec<Damage>,
    /// Damages that were not kept.
    pub more_damage: u64,
    /// What else is to be known of files: what was mended in them, what has no place here. File and line, not safe for
    /// the terminal.
    pub notes: Vec<(usize, String)>,
    /// Files that were made of another format: they have of calls what that has.
    pub imported: usize,
    /// Files of several clocks may come, of which the first need not be that of the first moment: set before there is
    /// any.
    pub several_clocks: bool,
    /// Kinds of evidence.
    pub evidence: Evidence,
    /// What the GPU and the driver did.
    pub activities: Activities,
    /// Ranges and marks.
    pub ranges: Ranges,
    api_ids: FxHashMap<(NameId, Layer, Signature), ApiId>,
    track_ids: FxHashMap<(ProcessId, u32), TrackId>,
    epoch: u64,
}

impl Trace {
    /// Grows with every change.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Says that something has changed.
    pub const fn touch(&mut self) {
        self.epoch += 1;
    }

    /// Calls that have ended.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.tracks.iter().map(|track| track.len() as u64).sum()
    }

    /// Events: calls that have ended, records of the GPU, beginnings and ends of ranges, and marks.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.calls() + self.activities.records() + self.ranges.records()
    }

    /// What is listed and what a lens counts: calls that have ended, records of the GPU, ranges and marks. A range is one,
    /// where [`Trace::events`] has two.
    #[must_use]
    pub fn listed(&self) -> u64 {
        self.calls() + self.activities.records() + self.ranges.rows()
    }

    /// Events that could not be recorded.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.processes.iter().fold(0, |sum, process| sum.saturating_add(process.lost))
    }

    /// Events of streams from before they were joined.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.processes.iter().fold(0, |sum, process| sum.saturating_add(process.missed))
    }

    /// Places that could not be read, also those that are not kept.
    #[must_use]
    pub fn damages(&self) -> u64 {
        self.more_damage.saturating_add(self.damage.len() as u64)
    }

    /// Smallest start of a call, ended or not, or of anything else, ns; where there is none, that of the first process.
    #[must_use]
    pub fn start_ns(&self) -> u64 {
        let ended = self.summaries().map(|summary| summary.min_start_ns);
        let open = self.tracks.iter().filter_map(|track| track.in_flight.first()).map(|call| call.start_ns);
        let others = [self.activities.span(), self.ranges.span()].into_iter().flatten().map(|span| span.0);
        let first = ended.chain(open).chain(others).min();
        first.or_else(|| self.processes.iter().map(|process| process.start_ns).min()).unwrap_or(0)
    }

    /// Largest end or start of a call or of anything else, ns; at least [`Trace::start_ns`].
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        let ended = self.summaries().map(|summary| summary.max_end_ns);
        let open = self.tracks.iter().filter_map(|track| track.in_flight.last()).map(|call| call.start_ns);
        let others = [self.activities.span(), self.ranges.span()].into_iter().flatten().map(|span| span.1);
        ended.chain(open).chain(others).max().unwrap_or(0).max(self.start_ns())
    }

    /// When each process is last known to have been there, ns: its newest sign of life, or what it did after that.
    #[must_use]
    pub fn process_ends(&self) -> Vec<u64> {
        let mut ends: Vec<u64> = self.processes.iter().map(|process| process.last_ns).collect();
        let calls = self
            .tracks
            .iter()
            .flat_map(|track| track.chunks().map(|chunk| (track.process, chunk.summary().max_end_ns)));
        let work = self
            .activities
            .lanes()
            .iter()
            .flat_map(|lane| lane.spans(0..lane.len()).map(|(_, (_, last))| (lane.process, last)));
        for (process, last) in calls.chain(work) {
            if let Some(end) = ends.get_mut(process.index()) {
                *end = last.max(*end);
            }
        }
        ends
    }

    fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.tracks.iter().flat_map(Track::chunks).map(super::Chunk::summary).filter(|summary| summary.count > 0)
    }

    /// A process.
    #[must_use]
    pub fn process(&self, id: ProcessId) -> Option<&Process> {
        self.processes.get(id.index())
    }

    /// A thread.
    #[must_use]
    pub fn track(&self, id: TrackId) -> Option<&Track> {
        self.tracks.get(id.index())
    }

    /// A function.
    #[must_use]
    pub fn api(&self, id: ApiId) -> Option<&Api> {
        self.apis.get(id.index())
    }

    /// A function's name.
    #[must_use]
    pub fn api_name(&self, id: ApiId) -> &str {
        self.api(id).map_or("", |api| self.names.get(api.name))
    }

    /// Adds a file by name; its number.
    pub fn add_file(&mut self, name: &str) -> usize {
        self.files.push(name.to_owned());
        self.files.len() - 1
    }

    /// Adds a process; `None` after 65,535.
    pub fn add_process(&mut self, process: Process) -> Option<ProcessId> {
        let id = u16::try_from(self.processes.len()).ok().filter(|&id| id < u16::MAX)?;
        self.processes.push(process);
        self.touch();
        Some(ProcessId(id))
    }

    /// The track of a thread, new or known.
    pub fn track_of(&mut self, process: ProcessId, thread: u32) -> TrackId {
        if let Some(&known) = self.track_ids.get(&(process, thread)) {
            return known;
        }
        let id = TrackId(u32::try_from(self.tracks.len()).unwrap_or(u32::MAX));
        let file = self.process(process).map_or(0, |process| process.file);
        self.tracks.push(Track::new(process, thread, u32::try_from(file).unwrap_or(u32::MAX)));
        self.track_ids.insert((process, thread), id);
        self.touch();
        id
    }

    /// The function with this name, layer and signature, new or known. After 65,000 of them, further ones are the last.
    pub fn api_of(&mut self, name: &str, layer: Layer, signature: Signature) -> ApiId {
        let key = (self.names.intern(name), layer, signature);
        if let Some(&known) = self.api_ids.get(&key) {
            return known;
        }
        let semantics = Semantics::of(name, &key.2);
        let api = Api { name: key.0, layer, signature: key.2.clone(), semantics, defined: true };
        let id = self.push_api(api);
        self.api_ids.insert(key, id);
        id
    }

    /// A function whose definition has not been read, by its number in the file.
    pub fn undefined_api(&mut self, number: u16) -> ApiId {
        let name = self.names.intern(&format!("api#{number}"));
        let (layer, signature, semantics) = (Layer::Runtime, Signature::default(), Semantics::default());
        self.push_api(Api { name, layer, signature, semantics, defined: false })
    }

    /// Gives a function of [`Trace::undefined_api`] its definition.
    pub fn define_api(&mut self, id: ApiId, name: &str, layer: Layer, signature: Signature) {
        let semantics = Semantics::of(name, &signature);
        let name = self.names.intern(name);
        if let Some(api) = self.apis.get_mut(id.index()) {
            *api = Api { name, layer, signature, semantics, defined: true };
            self.touch();
        }
    }

    fn push_api(&mut self, api: Api) -> ApiId {
        let id = u16::try_from(self.apis.len()).unwrap_or(u16::MAX);
        if id < u16::MAX {
            self.apis.push(api);
            self.touch();
            ApiId(id)
        } else {
            ApiId(u16::MAX - 1)
        }
    }

    /// Notes that something could not be read.
    pub fn add_damage(&mut self, file: usize, offset: u64, why: impl Into<String>) {
        note(&mut self.damage, &mut self.more_damage, Damage { file, offset, why: why.into() });
        self.touch();
    }

    /// Bytes on the heap that grow with the number of events.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.tracks.iter().map(Track::heap_bytes).sum::<usize>()
            + self.activities.heap_bytes()
            + self.ranges.heap_bytes()
    }
}

/// [`Trace::add_damage`] for readers that hold other parts of the trace.
pub fn note(list: &mut Vec<Damage>, more: &mut u64, damage: Damage) {
    if list.len() < DAMAGE_KEPT {
        list.push(damage);
    } else {
        *more = more.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_apart_by_signature() {
        let mut trace = Trace::default();
        let a = trace.api_of("cudaFree", Layer::Runtime, Signature::default());
        assert_eq!(trace.api_of("cudaFree", Layer::Runtime, Signature::default()), a);
        let b = trace.undefined_api(12);
        assert_eq!(trace.api_name(b), "api#12");
        trace.define_api(b, "cudaMalloc", Layer::Runtime, Signature::default());
        assert_eq!(trace.api_name(b), "cudaMalloc");
    }

    #[test]
    fn damage_is_bounded() {
        let mut trace = Trace::default();
        for offset in 0..2000 {
            trace.add_damage(0, offset, "odd");
        }
        assert_eq!((trace.damage.len(), trace.more_damage), (1000, 1000));
    }

    #[test]
    fn sums_of_what_files_say_stay_where_they_cannot_be_larger() {
        let mut trace = Trace::default();
        for _ in 0..2 {
            let _ = trace.add_process(Process { missed: u64::MAX - 3, lost: u64::MAX - 3, ..Process::default() });
        }
        assert_eq!((trace.missed(), trace.lost()), (u64::MAX, u64::MAX));
        trace.more_damage = u64::MAX;
        trace.add_damage(0, 1, "odd");
        assert_eq!(trace.damages(), u64::MAX);
    }

    #[test]
    fn an_empty_trace_has_no_time() {
        let trace = Trace::default();
        assert_eq!((trace.start_ns(), trace.end_ns(), trace.events()), (0, 0, 0));
    }
}
