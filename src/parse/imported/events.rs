//! Calls, ranges, marks, samples of counters and work of an input, one at a time.

use super::actors::{Process, Thread};
use super::call::Call;
use super::edges::EdgeRecord;
use super::identity::Key;
use super::range::{Edge, Range};
use super::slices::{Kind, LAST, Slice};
use super::target::Target;
use super::texts::Text;
use super::work::Work;
use crate::trace::Sampled;
use crate::trace::activity::Told;
use crate::trace::activity::evidence::What;
use crate::trace::sampled::{DOMAIN, THREAD};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::io;
use umtui_wire::activity as wire;

/// Pieces of work at time zero that are kept until it is known what that means.
const ZEROS: usize = 1 << 18;

impl Target {
    /// A sum of unified memory that the input has without the events behind it.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn told(&mut self, process: Process, told: &Told) -> io::Result<()> {
        let Some(at) = self.bound(process)? else { return Ok(()) };
        let Some(binding) = self.processes.get_mut(at).and_then(|state| state.binding.as_mut()) else { return Ok(()) };
        let moves = [wire::UNIFIED_TO_DEVICE, wire::UNIFIED_TO_HOST, wire::UNIFIED_BETWEEN_DEVICES];
        let what = if moves.contains(&told.what) { What::Migrations } else { What::Faults };
        self.seen |= 1 << what as u16;
        binding.told(told)
    }

    /// A call.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn call(&mut self, thread: Thread, call: &Call) -> io::Result<()> {
        self.reach(call.start, call.end.unwrap_or(call.start));
        let sequence = self.number();
        self.slices.push(Slice::call(thread.0, sequence, call), &*self.spool)
    }

    /// A range of the thread's stack, with both its ends.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn range(&mut self, thread: Thread, range: &Range) -> io::Result<()> {
        self.slice(thread, Kind::Range, range)
    }

    /// A range that crosses others as it likes (asynchronous, or begun by one thread and ended by another).
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn loose_range(&mut self, thread: Thread, range: &Range) -> io::Result<()> {
        self.slice(thread, Kind::Loose, range)
    }

    /// A moment with a name.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn mark(&mut self, thread: Thread, range: &Range) -> io::Result<()> {
        self.slice(thread, Kind::Mark, &Range { end: Some(range.start), ..*range })
    }

    /// A sample of a counter: what `series` of it was at a moment. A counter belongs to its process; where it has one
    /// series only, that may have no name.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn sample(
        &mut self,
        process: Process,
        (counter, series): (&str, &str),
        start: u64,
        value: Sampled,
    ) -> io::Result<()> {
        let thread = self.counters_of(process);
        let name = if series.is_empty() { self.text(counter) } else { self.text(&[counter, series].join(" ")) };
        let domain = self.text(DOMAIN);
        let (payload_type, bits) = value.payload();
        let payload = Some((payload_type as u16 | wire::PAYLOAD_SAMPLE as u16, bits));
        let range = Range { name, domain, start, end: Some(start), payload, ..Range::default() };
        self.reach(start, start);
        let (sequence, length) = (self.number(), if series.is_empty() { 0 } else { counter.len() });
        let slice = Slice::sample(thread.0, sequence, &range, u32::try_from(length).unwrap_or(0));
        self.slices.push(slice, &*self.spool)
    }

    /// The thread that a process's counters are shown as.
    fn counters_of(&mut self, process: Process) -> Thread {
        let known = self.processes.get(process.0 as usize).and_then(|state| state.counters);
        known.unwrap_or_else(|| {
            let thread = self.thread(process, &Key::text(THREAD));
            if let Some(state) = self.processes.get_mut(process.0 as usize) {
                state.counters = Some(thread);
            }
            thread
        })
    }

    fn slice(&mut self, thread: Thread, kind: Kind, range: &Range) -> io::Result<()> {
        self.reach(range.start, range.end.unwrap_or(range.start));
        let sequence = self.number();
        self.slices.push(Slice::range(thread.0, sequence, kind, range), &*self.spool)
    }

    /// One end of a range of the thread's stack; `range.start` says when.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn edge(&mut self, thread: Thread, edge: Edge, range: &Range) -> io::Result<()> {
        self.push_edge(u64::from(thread.0), thread, edge, range, false)
    }

    /// One end of a range that any thread may end; `id` says which.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn loose_edge(&mut self, thread: Thread, edge: Edge, range: &Range, id: &impl Hash) -> io::Result<()> {
        let mut hasher = FxHasher::default();
        id.hash(&mut hasher);
        self.push_edge(hasher.finish() | 1 << 63, thread, edge, range, true)
    }

    fn push_edge(&mut self, track: u64, thread: Thread, edge: Edge, range: &Range, loose: bool) -> io::Result<()> {
        self.reach(range.start, range.start);
        let (payload_type, payload) = range.payload.unwrap_or_default();
        let record = EdgeRecord {
            track,
            ns: range.start.min(LAST),
            sequence: self.number(),
            payload,
            thread: thread.0,
            name: range.name.0,
            domain: range.domain.0,
            category: range.category,
            color: range.color,
            said: range.said.0,
            reserved: 0,
            payload_type,
            begins: u8::from(matches!(edge, Edge::Begin)),
            loose: u8::from(loose),
        };
        self.edges.push(record, &*self.spool)
    }

    /// Work of the GPU, or of the driver. `device` and `correlation` are `None` and zero where the input has none.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn work(&mut self, process: Process, device: Option<u16>, correlation: u32, work: Work) -> io::Result<()> {
        let device = device.unwrap_or(u16::MAX);
        let (start, end) = work.times();
        if start == 0 && self.zeros.len() < ZEROS {
            self.zeros.push((process, device, correlation, work));
            return Ok(());
        }
        if start != Work::UNKNOWN {
            self.reach(start, end);
        }
        self.place(process, device, correlation, work)
    }

    pub(super) fn place(&mut self, process: Process, device: u16, correlation: u32, mut work: Work) -> io::Result<()> {
        let Some(at) = self.bound(process)? else { return Ok(()) };
        let Self { processes, texts, seen, .. } = self;
        let Some(state) = processes.get_mut(at) else { return Ok(()) };
        let Some(binding) = &mut state.binding else { return Ok(()) };
        if work.is_submitted() {
            state.correlations.add(correlation);
        }
        *seen |= 1 << work.evidence() as u16;
        work.place();
        if let Some(name) = work.name() {
            *name = binding.string(Text(*name), texts)?;
        }
        // What has no time is written wherever the file is.
        let moment = Some(work.times()).filter(|&(start, _)| start != 0).map(|(_, end)| end);
        work.with_bytes(device, correlation, |bytes| binding.work(bytes, moment))
    }
}
