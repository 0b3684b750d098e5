//! Events to what the target knows.

use super::category::Category;
use super::event::{Event, integer, raw_of};
use super::flows::Flows;
use super::said::Sayer;
use super::streams::Streams;
use super::{counters, gpu, host, meta};
use crate::parse::imported::{Edge, Function, Imported, Key, Process, Range, Repair, Target, Text, Thread, api_name};
use crate::parse::json::{Flaws, Scanner, Str, Value};
use crate::trace::Layer;
use crate::trace::activity::evidence::What;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::io;

const NO_TIME: Repair = Repair::Lost("events without a time, left out");
const NEGATIVE: Repair = Repair::Mended("events before time zero, shown at zero");
const NO_DURATION: Repair = Repair::Mended("slices with no or a negative duration, shown as unfinished");
const NO_LENGTH: Repair = Repair::Mended("slices with a duration of zero");
const LATE: Repair = Repair::Mended("times beyond what 64 bits of nanoseconds hold, shown at the last one");
const UNKNOWN: Repair = Repair::Mended("events of an unknown phase, shown as marks");
/// A time that is later counts as one since 1970, ns: 2001.
const EPOCH: u64 = 1_000_000_000_000_000_000;
/// Last moment there is, ns.
const LAST: u64 = i64::MAX as u64;

/// What is known of a process of the input.
pub struct Pid {
    /// In the target.
    pub process: Process,
    key: Key,
    threads: FxHashMap<Box<[u8]>, Thread>,
    /// Calls of CUDA, and operators.
    calls: u64,
    ranges: u64,
    /// Only the profiler itself says something there.
    profiler_only: bool,
    /// The device whose name it has.
    pub device: Option<u16>,
}

/// The state of an import.
pub struct Mapping {
    /// Where it goes.
    pub target: Target,
    /// The process that work of the GPU belongs to.
    pub gpu: Process,
    pids: Vec<Pid>,
    by_raw: FxHashMap<Box<[u8]>, usize>,
    last_pid: (Vec<u8>, usize),
    last_tid: (Vec<u8>, usize, Thread),
    domains: FxHashMap<Box<[u8]>, Text>,
    last_domain: (Vec<u8>, Text),
    of_runtime: FxHashMap<Box<str>, Function>,
    of_driver: FxHashMap<Box<str>, Function>,
    /// `baseTimeNanoseconds`.
    pub base: Option<i128>,
    /// It has events of Kineto's categories.
    pub kineto: bool,
    /// `distributedInfo`.
    pub rank: Option<u32>,
    flows: Flows,
    /// What was mended of the event at hand, or is missing of it: where it is the document knows.
    pub here: Vec<Repair>,
    /// Streams and contexts.
    pub streams: Streams,
    sayer: Sayer,
}

impl Mapping {
    /// At the beginning.
    pub fn new(mut target: Target) -> Self {
        let gpu = target.nameless_process();
        target.nest_together();
        Self {
            target,
            gpu,
            pids: Vec::new(),
            by_raw: FxHashMap::default(),
            last_pid: (Vec::new(), usize::MAX),
            last_tid: (Vec::new(), usize::MAX, Thread::default()),
            domains: FxHashMap::default(),
            last_domain: (Vec::new(), Text::NONE),
            of_runtime: FxHashMap::default(),
            of_driver: FxHashMap::default(),
            base: None,
            kineto: false,
            rank: None,
            flows: Flows::default(),
            here: Vec::new(),
            streams: Streams::default(),
            sayer: Sayer::default(),
        }
    }

    /// Something of the event at hand was mended, or is missing.
    pub fn repair(&mut self, repair: Repair) {
        self.here.push(repair);
    }

    /// Takes an event.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn take(&mut self, event: &Event<'_>, scanner: &mut Scanner<'_, '_>) -> io::Result<()> {
        let phase = event.phase.unwrap_or_default().raw;
        match phase {
            b"M" => {
                meta::named(event, self);
                return Ok(());
            }
            b"C" => {
                let Some(start) = event.start() else {
                    self.repair(NO_TIME);
                    return Ok(());
                };
                let start = self.not_negative(start);
                return counters::take(self, event, start, scanner);
            }
            b"s" | b"t" | b"f" => {
                // Those between calls and work are known by the correlation, too.
                if !matches!(event.category.raw, b"ac2g" | b"async_cpu_to_gpu") {
                    let end = self.flows.take(event);
                    if let Some(start) = event.start() {
                        return host::flow(self, event, &event.id, end, u64::try_from(start).unwrap_or(0), scanner);
                    }
                    self.repair(NO_TIME);
                }
                return Ok(());
            }
            b"N" | b"O" | b"D" | b"(" | b")" | b"v" | b"V" | b"P" | b"c" | b"=" => {
                self.target.unplaced("objects, samples, memory dumps and clock marks");
                return Ok(());
            }
            _ => {}
        }
        let known =
            matches!(phase, b"X" | b"B" | b"E" | b"b" | b"e" | b"n" | b"i" | b"I" | b"R" | b"S" | b"T" | b"p" | b"F");
        if !known {
            self.repair(UNKNOWN);
        }
        let Some(start) = event.start() else {
            self.repair(NO_TIME);
            return Ok(());
        };
        let start = self.not_negative(start);
        if event.bound != Value::None {
            let end = self.flows.bound(event);
            host::flow(self, event, &event.bound, end, start, scanner)?;
        }
        match phase {
            b"X" => self.complete(event, start, scanner),
            b"B" => self.edge(event, Edge::Begin, start, scanner),
            b"E" => self.edge(event, Edge::End, start, scanner),
            b"b" | b"S" => self.loose_edge(event, Edge::Begin, start, scanner),
            b"e" | b"F" => self.loose_edge(event, Edge::End, start, scanner),
            _ => host::mark(self, event, start, scanner),
        }
    }

    fn not_negative(&mut self, start: i64) -> u64 {
        u64::try_from(start).unwrap_or_else(|_| {
            self.repair(NEGATIVE);
            0
        })
    }

    fn complete(&mut self, event: &Event<'_>, start: u64, scanner: &mut Scanner<'_, '_>) -> io::Result<()> {
        let category = Category::of(event.category.raw);
        let end = event.end(start);
        if end.is_none() && !category.is_work() {
            self.repair(NO_DURATION);
        }
        if end == Some(start) {
            self.repair(NO_LENGTH);
        }
        if start >= LAST || end.is_some_and(|end| end >= LAST) {
            self.repair(LATE);
        }
        self.kineto |= !matches!(category, Category::Other | Category::Trace);
        match category {
            Category::Runtime | Category::Driver => host::call(self, event, category, start, end, scanner),
            Category::Other if event.category.raw.is_empty() => {
                if gpu::described(self, event, start, end, scanner)?
                    || host::described(self, event, start, end, scanner)?
                {
                    return Ok(());
                }
                host::range(self, event, start, end, scanner)
            }
            Category::Other | Category::Trace => host::range(self, event, start, end, scanner),
            Category::OnStream => gpu::on_stream(self, event, start, end, scanner),
            _ => gpu::work(self, event, category, start, end, scanner),
        }
    }

    fn edge(&mut self, event: &Event<'_>, edge: Edge, start: u64, scanner: &mut Scanner<'_, '_>) -> io::Result<()> {
        let at = self.pid(&event.pid);
        let thread = self.thread(at, &event.tid);
        let range = self.named(event, start, None, scanner);
        self.seen(at, false, true);
        self.target.edge(thread, edge, &range)
    }

    fn loose_edge(
        &mut self,
        event: &Event<'_>,
        edge: Edge,
        start: u64,
        scanner: &mut Scanner<'_, '_>,
    ) -> io::Result<()> {
        let at = self.pid(&event.pid);
        let thread = self.thread(at, &event.tid);
        let range = self.named(event, start, None, scanner);
        self.seen(at, false, true);
        self.target.loose_edge(thread, edge, &range, &event.key())
    }

    /// A range with an event's name and category.
    pub fn named(&mut self, event: &Event<'_>, start: u64, end: Option<u64>, scanner: &mut Scanner<'_, '_>) -> Range {
        let name = name_of(event, scanner);
        let name = self.target.text(&name);
        let domain = self.domain(&event.category, scanner);
        let said = self.sayer.of(event, &mut self.target);
        Range { name, domain, start, end, said, ..Range::default() }
    }

    /// A category as a domain.
    fn domain(&mut self, category: &Str<'_>, scanner: &mut Scanner<'_, '_>) -> Text {
        if category.raw == self.last_domain.0 {
            return self.last_domain.1;
        }
        let text = match self.domains.get(category.raw) {
            Some(&known) => known,
            None => {
                let text = scanner.text(category);
                let text = self.target.text(&text);
                if self.domains.len() < 10_000 {
                    self.domains.insert(category.raw.into(), text);
                }
                text
            }
        };
        keep(&mut self.last_domain.0, category.raw);
        self.last_domain.1 = text;
        text
    }

    /// A function by its name as the input has it.
    pub fn function(&mut self, layer: Layer, name: &str) -> Function {
        let known = if layer == Layer::Driver { &mut self.of_driver } else { &mut self.of_runtime };
        if let Some(&function) = known.get(name) {
            return function;
        }
        let function = self.target.function(layer, api_name(name), "");
        self.target.called(function, name);
        if known.len() < 10_000 {
            known.insert(name.into(), function);
        }
        function
    }

    /// Index of a process.
    pub fn pid(&mut self, value: &Value<'_>) -> usize {
        let raw = raw_of(value);
        if self.last_pid.1 != usize::MAX && self.last_pid.0 == raw {
            return self.last_pid.1;
        }
        let at = match self.by_raw.get(raw) {
            Some(&known) => known,
            None => {
                let key = key_of(value);
                let process = self.target.process(&key);
                let known = self.pids.iter().position(|pid| pid.process == process);
                let at = known.unwrap_or_else(|| {
                    let (threads, device) = (FxHashMap::default(), None);
                    self.pids.push(Pid { process, key, threads, calls: 0, ranges: 0, profiler_only: true, device });
                    self.pids.len() - 1
                });
                if self.by_raw.len() < 100_000 {
                    self.by_raw.insert(raw.into(), at);
                }
                at
            }
        };
        keep(&mut self.last_pid.0, raw);
        self.last_pid.1 = at;
        at
    }

    /// What is known of a process.
    pub fn pid_mut(&mut self, at: usize) -> Option<&mut Pid> {
        self.pids.get_mut(at)
    }

    /// A thread of the process with this index.
    pub fn thread(&mut self, at: usize, value: &Value<'_>) -> Thread {
        let raw = raw_of(value);
        if self.last_tid.1 == at && self.last_tid.0 == raw {
            return self.last_tid.2;
        }
        let Some(pid) = self.pids.get_mut(at) else { return Thread::default() };
        let thread = match pid.threads.get(raw) {
            Some(&known) => known,
            None => {
                let thread = self.target.thread(pid.process, &key_of(value));
                if pid.threads.len() < 1_000_000 {
                    pid.threads.insert(raw.into(), thread);
                }
                thread
            }
        };
        keep(&mut self.last_tid.0, raw);
        (self.last_tid.1, self.last_tid.2) = (at, thread);
        thread
    }

    /// A process that has counters: it is one of its own, whatever else it does.
    pub fn counting(&mut self, value: &Value<'_>) -> Process {
        let at = self.pid(value);
        let pid = self.pids.get_mut(at);
        pid.map_or_else(Process::default, |pid| {
            pid.profiler_only = false;
            pid.process
        })
    }

    /// Counts what a process does: calls of CUDA, or other things of its own.
    pub fn seen(&mut self, at: usize, is_call: bool, own: bool) {
        if let Some(pid) = self.pids.get_mut(at) {
            pid.calls += u64::from(is_call);
            pid.ranges += u64::from(!is_call && own);
            pid.profiler_only &= !is_call && !own;
        }
    }

    /// The events have ended.
    ///
    /// # Errors
    /// When a temporary file cannot be written or read.
    pub fn finish(mut self) -> io::Result<Imported> {
        // Work belongs to the process that made the calls.
        let rank = |pid: &&Pid| (pid.calls, pid.ranges, std::cmp::Reverse(pid.key.clone()));
        let main = self.pids.iter().filter(|pid| pid.calls > 0 || self.kineto && pid.ranges > 0).max_by_key(rank);
        if let Some(main) = main.map(|main| main.process) {
            self.target.merge(main, self.gpu);
            let several = self.pids.iter().filter(|pid| pid.calls > 0).count();
            if several > 1 {
                let what = "several processes call CUDA here; work of the GPU is put to the one with most calls";
                self.target.note(what.to_owned());
            }
            for pid in self.pids.iter().filter(|pid| pid.profiler_only && pid.process != main) {
                self.target.merge(pid.process, self.gpu);
            }
        }
        gpu::place_waiting(&mut self)?;
        if let Some(note) = self.streams.note() {
            self.target.note(note);
        }
        if self.rank.is_some() {
            self.target.rank(self.gpu, self.rank, None);
        }
        match (self.base, self.target.span()) {
            (Some(base), _) => self.target.wall_clock(base),
            (None, Some((first, _))) if first >= EPOCH => self.target.wall_clock(0),
            _ => self.target.note("no time of day is known: the file's clock begins anywhere".to_owned()),
        }
        let lines: Vec<String> = self.flows.lines().collect();
        lines.into_iter().for_each(|line| self.target.note(line));
        for what in [What::Migrations, What::Faults, What::Pointers] {
            self.target.never(what);
        }
        self.target.finish()
    }
}

/// Keeps `now` in place of what was there.
fn keep(place: &mut Vec<u8>, now: &[u8]) {
    place.clear();
    place.extend_from_slice(now);
}

/// A name as it stands, for a note.
pub fn words(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().take(80).collect()
}

/// An event's name; numbers are names, too.
pub fn name_of<'a>(event: &Event<'a>, scanner: &mut Scanner<'_, '_>) -> Cow<'a, str> {
    match &event.name {
        Value::Text(text) => scanner.text(text),
        other => String::from_utf8_lossy(raw_of(other)),
    }
}

/// What a process, thread or stream is called by.
pub fn key_of(value: &Value<'_>) -> Key {
    match value {
        Value::Number(raw) => match integer(value) {
            Some(number) => Key::Number(number),
            None => Key::text(&String::from_utf8_lossy(raw)),
        },
        Value::Text(text) => Key::text(&text.text(&mut Default::default())),
        _ => Key::None,
    }
}

/// Calls `each` with the keys and values of an object, which may be damaged at its end.
pub fn arguments<'a>(args: &Value<'a>, mut each: impl FnMut(&'a [u8], Value<'a>)) {
    pairs(args, |key, value| each(key.raw, value));
}

/// Likewise, with keys that may have escapes.
pub fn pairs<'a>(args: &Value<'a>, mut each: impl FnMut(Str<'a>, Value<'a>)) {
    let Value::Inner(bytes) = args else { return };
    let mut flaws = Flaws::default();
    let mut scanner = Scanner::new(bytes, &mut flaws);
    if scanner.take(b'{') != Ok(true) {
        return;
    }
    let mut first = true;
    while let Ok(Some(key)) = scanner.key(first)
        && let Ok(value) = scanner.value()
    {
        first = false;
        each(key, value);
    }
}
