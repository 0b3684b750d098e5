//! A snapshot into a native file.

use super::snapshot::{Action, Entry, Snapshot};
use crate::parse::ParseError;
use crate::parse::imported::{Call, Edge, Function, Imported, Key, Process, Range, Target, Thread};
use crate::parse::pickle::{self, Value};
use crate::trace::Layer;
use crate::trace::activity::evidence::What;
use rustc_hash::{FxHashMap, FxHashSet};
use std::io::{self, Read};

/// Result of an allocation that failed: `cudaErrorMemoryAllocation`.
const OUT_OF_MEMORY: u32 = 2;
/// Entries between two looks at whether to stop.
const CHECK: usize = 1 << 14;

/// Reads a snapshot into `target`; `name` is what errors call it.
///
/// # Errors
/// When it cannot be read, is damaged, names what is no data, or is no snapshot of the allocator.
pub fn import(input: impl Read, name: &str, mut target: Target) -> Result<Imported, ParseError> {
    let format = |what: String| ParseError::Format { file: name.to_owned(), what };
    let io = |cause| ParseError::Io { file: name.to_owned(), offset: 0, cause };
    let (heap, root) = pickle::read(input).map_err(|error| format(format!("a pickle, and {error}")))?;
    let Some(snapshot) = Snapshot::of(&heap, root) else {
        let what = "a pickle, but no snapshot of PyTorch's allocator: it has neither `segments` nor `device_traces`";
        return Err(format(what.to_owned()));
    };
    for what in What::ALL {
        if what != What::Ranges {
            target.never(what);
        }
    }
    let process = target.process(&Key::None);
    target.process_name(process, "PyTorch");
    let mut function = |name, arguments: [&str; 2]| arguments.map(|text| target.function(Layer::Runtime, name, text));
    let functions = Functions {
        segment: function("torch::segment_alloc", MADE),
        segment_free: function("torch::segment_free", GONE),
        unmap: function("torch::segment_unmap", GONE),
        block: function("torch::alloc", MADE),
        free: function("torch::free", GONE),
    };
    let mut importer = Importer {
        snapshot: &snapshot,
        target,
        process,
        functions,
        stacks: FxHashMap::default(),
        before: 0,
        begins: 0,
    };
    importer.all().map_err(io)?;
    importer.target.finish().map_err(io)
}

const MADE: [&str; 2] =
    ["ptr:*ptr@32 bytes:size@40 device:dev@28", "ptr:*ptr@32 bytes:size@40 device:dev@28 stream:handle@48"];
const GONE: [&str; 2] =
    ["ptr:ptr@32 bytes:size@40 device:dev@28", "ptr:ptr@32 bytes:size@40 device:dev@28 stream:handle@48"];

/// Each without and with a stream.
struct Functions {
    segment: [Function; 2],
    segment_free: [Function; 2],
    unmap: [Function; 2],
    block: [Function; 2],
    free: [Function; 2],
}

struct Importer<'a> {
    snapshot: &'a Snapshot<'a>,
    target: Target,
    process: Process,
    functions: Functions,
    /// Call sites of stacks.
    stacks: FxHashMap<Value, u64>,
    /// How many were there before the history.
    before: u64,
    /// When the history begins, ns.
    begins: u64,
}

/// A device's history while it is gone through.
struct History {
    device: u32,
    thread: Thread,
    newest: u64,
    blocks: FxHashSet<u64>,
    segments: FxHashSet<u64>,
    /// Given back, and when: something may still use it.
    pending: FxHashMap<u64, (u64, Entry)>,
}

impl History {
    /// Entries stand in the order in which things happened, times are in microseconds: of equal ones each is a
    /// nanosecond later.
    const fn after(&mut self, time: u64) -> u64 {
        self.newest = if time > self.newest { time } else { self.newest.saturating_add(1) };
        self.newest
    }
}

impl Importer<'_> {
    fn all(&mut self) -> io::Result<()> {
        let histories: Vec<(u32, usize)> = self.snapshot.histories().take(1024).collect();
        let devices = self.snapshot.segments().filter_map(|segment| segment.device);
        let most = devices.map(|device| device.min(1023) + 1).max().unwrap_or(0).max(histories.len() as u32).max(1);
        let first = |&(device, _): &(u32, usize)| self.snapshot.history(device).filter_map(|entry| entry.time_us).min();
        let first_us = histories.iter().filter_map(first).min();
        self.begins = first_us.map_or(0, |us| us.saturating_mul(1000).saturating_sub(1));
        if first_us.is_some() {
            self.target.wall_clock(0);
        } else if histories.iter().any(|&(_, count)| count > 0) {
            self.target.note("without times: entries are shown a microsecond apart".to_owned());
        }
        for device in 0..most {
            self.device(device)?;
        }
        self.annotations()?;
        if self.before > 0 {
            let line = format!(
                "{} blocks and segments are older than the history, and shown where it begins (`max_entries` says how far \
                 back it goes)",
                self.before
            );
            self.target.note(line);
        }
        if histories.iter().all(|&(_, count)| count == 0) {
            self.target.note(
                "no history: only what is there at the end (`torch.cuda.memory._record_memory_history` records one)"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// What the program said it was doing: ranges of its device.
    fn annotations(&mut self) -> io::Result<()> {
        let snapshot = self.snapshot;
        for (number, one) in snapshot.annotations().enumerate() {
            if number.is_multiple_of(CHECK) {
                self.target.progress().check()?;
            }
            let thread = self.target.thread(self.process, &Key::Text(format!("device {}", one.device).into()));
            let (name, start) = (self.target.text(&one.name), one.time_us.saturating_mul(1000));
            let range = Range { name, start, ..Range::default() };
            match one.begins {
                Some(begins) => self.target.edge(thread, if begins { Edge::Begin } else { Edge::End }, &range)?,
                None => self.target.mark(thread, &range)?,
            }
        }
        Ok(())
    }

    fn device(&mut self, device: u32) -> io::Result<()> {
        let thread = self.target.thread(self.process, &Key::Text(format!("device {device}").into()));
        let mut history = History {
            device,
            thread,
            newest: self.begins,
            blocks: FxHashSet::default(),
            segments: FxHashSet::default(),
            pending: FxHashMap::default(),
        };
        let snapshot = self.snapshot;
        for (number, entry) in snapshot.history(device).enumerate() {
            if number.is_multiple_of(CHECK) {
                self.target.progress().check()?;
            }
            let us = entry.time_us.unwrap_or(number as u64 + 1);
            let time = history.after(us.saturating_mul(1000));
            self.entry(&mut history, entry, time)?;
        }
        for (time, entry) in std::mem::take(&mut history.pending).into_values() {
            self.call(&history, self.functions.free, (time, None), 0, entry)?;
        }
        self.left(&mut history)
    }

    fn entry(&mut self, history: &mut History, entry: Entry, time: u64) -> io::Result<()> {
        let address = entry.address;
        let now = (time, Some(time));
        match entry.action {
            Action::Alloc => {
                history.blocks.insert(address);
                self.call(history, self.functions.block, now, 0, entry)
            }
            Action::FreeRequested => {
                self.older(history, entry, false)?;
                history.blocks.remove(&address);
                match history.pending.insert(address, (time, entry)) {
                    // The one before was never completed; whatever it was, it is over.
                    Some((begun, old)) => self.call(history, self.functions.free, (begun, Some(begun)), 0, old),
                    None => Ok(()),
                }
            }
            Action::FreeCompleted => {
                let (begun, with) = match history.pending.remove(&address) {
                    Some((begun, requested)) => (begun, requested),
                    None => {
                        self.older(history, entry, false)?;
                        history.blocks.remove(&address);
                        (time, entry)
                    }
                };
                self.call(history, self.functions.free, (begun, Some(time)), 0, with)
            }
            Action::SegmentAlloc | Action::SegmentMap => {
                history.segments.insert(address);
                self.call(history, self.functions.segment, now, 0, entry)
            }
            Action::SegmentFree => {
                self.older(history, entry, true)?;
                history.segments.remove(&address);
                self.call(history, self.functions.segment_free, now, 0, entry)
            }
            Action::SegmentUnmap => self.call(history, self.functions.unmap, now, 0, entry),
            Action::OutOfMemory => {
                let without = Entry { address: 0, ..entry };
                self.call(history, self.functions.block, now, OUT_OF_MEMORY, without)?;
                let free = entry.free_bytes.map_or_else(String::new, |free| format!(", {free} bytes free"));
                self.mark(history, time, &format!("out of memory: {} bytes wanted{free}", entry.bytes))
            }
            Action::Snapshot => self.mark(history, time, "snapshot"),
            Action::Other => {
                self.target.unplaced("entries of other kinds");
                Ok(())
            }
        }
    }

    /// What is released without having been made in the history was there before it.
    fn older(&mut self, history: &History, entry: Entry, is_segment: bool) -> io::Result<()> {
        let (known, function) = if is_segment {
            (&history.segments, self.functions.segment)
        } else {
            (&history.blocks, self.functions.block)
        };
        if known.contains(&entry.address) || history.pending.contains_key(&entry.address) {
            return Ok(());
        }
        self.before += 1;
        // Who released it is not who made it.
        let made = Entry { stack: None, ..entry };
        self.call(history, function, (self.begins, Some(self.begins)), 0, made)
    }

    /// Blocks and segments that are there at the end and were made before the history.
    fn left(&mut self, history: &mut History) -> io::Result<()> {
        let snapshot = self.snapshot;
        let begins = (self.begins, Some(self.begins));
        for segment in snapshot.segments().filter(|segment| segment.device.unwrap_or(0) == history.device) {
            let plain = Entry { stream: segment.stream, ..Entry::NOTHING };
            if history.segments.insert(segment.address) {
                self.before += 1;
                let entry = Entry { address: segment.address, bytes: segment.bytes, stack: segment.stack, ..plain };
                self.call(history, self.functions.segment, begins, 0, entry)?;
            }
            for block in snapshot.blocks(&segment).filter(|block| block.is_active && !block.is_pending) {
                if history.blocks.insert(block.address) {
                    self.before += 1;
                    let entry = Entry { address: block.address, bytes: block.bytes, stack: block.stack, ..plain };
                    self.call(history, self.functions.block, begins, 0, entry)?;
                }
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        history: &History,
        [plain, with_stream]: [Function; 2],
        (start, end): (u64, Option<u64>),
        status: u32,
        entry: Entry,
    ) -> io::Result<()> {
        let site = entry.stack.map_or(0, |stack| self.site(stack));
        let function = if entry.stream.is_some() { with_stream } else { plain };
        let words = Some([entry.address, entry.bytes, entry.stream.unwrap_or(0)]);
        let short = history.device;
        let call = Call { function, start, end, status: end.map(|_| status), site, words, short, ..Call::default() };
        self.target.call(history.thread, &call)
    }

    fn site(&mut self, stack: Value) -> u64 {
        if let Some(&known) = self.stacks.get(&stack) {
            return known;
        }
        let site = self
            .snapshot
            .caller(stack)
            .map_or(0, |frame| self.target.site(&frame.file, &frame.function, &frame.file, frame.line));
        self.stacks.insert(stack, site);
        site
    }

    fn mark(&mut self, history: &History, time: u64, name: &str) -> io::Result<()> {
        let name = self.target.text(name);
        self.target.mark(history.thread, &Range { name, start: time, end: Some(time), ..Range::default() })
    }
}
