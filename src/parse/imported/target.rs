//! The one target of all readers of foreign formats.

use super::binding::Binding;
use super::call::Call;
use super::correlations::Correlations;
use super::edges::EdgeRecord;
use super::identity::{Handles, Key, Numbers};
use super::progress::Progress;
use super::range::{Edge, Range};
use super::repairs::{Place, Repair, Repairs};
use super::sites::{SiteName, Sites};
use super::slices::{Kind, LAST, Slice};
use super::sorter::Sorter;
use super::texts::{Text, Texts};
use super::work::Work;
use crate::trace::activity::evidence::What;
use crate::trace::activity::{Device, Told};
use crate::trace::{Bytes, Layer};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io;
use std::sync::Arc;
use umtui_wire::activity as wire;

/// Makes a temporary file: to be written, and to be read.
pub type Spool = dyn Fn() -> io::Result<(File, Arc<dyn Bytes>)> + Send + Sync;

/// Processes of an input at most: each is a file that stays open.
const PROCESSES: usize = 400;
/// Threads of an input at most.
const THREADS: u32 = 200_000;
/// Functions of an input at most.
const FUNCTIONS: u32 = 50_000;
/// Names of one function by which an input calls it, at most, and letters of each.
const ORIGINALS_MAX: usize = 8;
const ORIGINAL_MAX: usize = 200;
/// Pieces of work at time zero that are kept until it is known what that means.
const ZEROS: usize = 1 << 18;
/// Kinds of events without a place in the model that are told apart.
const UNPLACED: usize = 64;

const TOO_MANY_PROCESSES: Repair = Repair::Mended("processes beyond 400, put together in the last");
const TOO_MANY_THREADS: Repair = Repair::Mended("threads beyond 200,000, put together in the last");

/// A process of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process(pub(super) u32);
/// A thread of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread(pub(super) u32);
/// A function of CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function(pub(super) u32);

/// A function with its layer and signature.
pub struct FunctionText {
    /// Layer.
    pub layer: Layer,
    /// `name(arguments)`.
    pub signature: String,
    /// What the input calls it, where that is more than its name; in order.
    originals: Vec<String>,
}

impl FunctionText {
    /// What its definition says.
    pub fn definition(&self) -> String {
        if self.originals.is_empty() {
            return self.signature.clone();
        }
        format!("{} as {}", self.signature, self.originals.join(","))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.signature.split('(').next().unwrap_or_default()
    }
}

/// A native file of an import.
#[derive(Clone)]
pub struct ImportedFile {
    /// Its bytes.
    pub bytes: Arc<dyn Bytes>,
}

/// What came of an input.
#[derive(Clone)]
pub struct Imported {
    /// What format it was, in a word: `chrome`.
    pub format: &'static str,
    /// A native file for each process with anything in it.
    pub files: Vec<ImportedFile>,
    /// What is missing: a line or row of the input (zero for none), and what.
    pub lost: Vec<(u64, String)>,
    /// What was mended, what has no place in the model, and what else is to be known, a line each.
    pub notes: Vec<String>,
    /// What call sites are called that the input knows by name.
    pub names: Vec<SiteName>,
}

#[derive(Default)]
pub(super) struct ProcessState {
    pub(super) key: Option<Key>,
    pub(super) name: String,
    pub(super) host: String,
    pub(super) folder: String,
    pub(super) arguments: Vec<String>,
    pub(super) rank: Option<u32>,
    pub(super) local_rank: Option<u32>,
    pub(super) parent: u32,
    /// Where it belongs to.
    pub(super) within: Option<u32>,
    pub(super) binding: Option<Binding>,
    pub(super) correlations: Correlations,
    pub(super) numbers: Numbers,
    pub(super) devices: BTreeMap<u16, (String, Device)>,
    pub(super) ids: u64,
}

pub(super) struct ThreadState {
    pub(super) process: u32,
    pub(super) key: Key,
    pub(super) name: String,
}

/// What an input is read into; see the module.
pub struct Target {
    pub(super) name: String,
    pub(super) format: &'static str,
    pub(super) spool: Arc<Spool>,
    pub(super) progress: Arc<Progress>,
    pub(super) texts: Texts,
    pub(super) sites: Sites,
    pub(super) processes: Vec<ProcessState>,
    pub(super) process_handles: FxHashMap<Key, u32>,
    pub(super) threads: Vec<ThreadState>,
    pub(super) thread_handles: Handles<(u32, Key)>,
    pub(super) functions: Vec<FunctionText>,
    pub(super) function_handles: Handles<(Layer, String)>,
    pub(super) slices: Sorter<Slice>,
    pub(super) edges: Sorter<EdgeRecord>,
    pub(super) sequence: u64,
    pub(super) zeros: Vec<(Process, u16, u32, Work)>,
    /// First and last moment, ns.
    pub(super) span: (u64, u64),
    /// Moment zero, ns since 1970.
    pub(super) wall_ns: Option<i128>,
    pub(super) repairs: Repairs,
    pub(super) notes: Vec<String>,
    pub(super) unplaced: BTreeMap<String, u64>,
    pub(super) never: Vec<What>,
    /// Kinds of evidence that are there, a bit each.
    pub(super) seen: u16,
    pub(super) together: bool,
}

impl Target {
    /// For the input called `name`, whose format is called `format` in the report.
    #[must_use]
    pub fn new(name: &str, format: &'static str, spool: Arc<Spool>, progress: Arc<Progress>) -> Self {
        Self {
            name: name.to_owned(),
            format,
            spool,
            progress,
            texts: Texts::default(),
            sites: Sites::default(),
            processes: Vec::new(),
            process_handles: FxHashMap::default(),
            threads: Vec::new(),
            thread_handles: Handles::new(THREADS),
            functions: Vec::new(),
            function_handles: Handles::new(FUNCTIONS),
            slices: Sorter::default(),
            edges: Sorter::default(),
            sequence: 0,
            zeros: Vec::new(),
            span: (u64::MAX, 0),
            wall_ns: None,
            repairs: Repairs::default(),
            notes: Vec::new(),
            unplaced: BTreeMap::new(),
            never: Vec::new(),
            seen: 0,
            together: false,
        }
    }

    /// How far the import is, and whether it is to stop.
    #[must_use]
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Ranges of all domains of a thread nest in one another, as slices of one track do. (Ranges of NVTX do not.)
    pub const fn nest_together(&mut self) {
        self.together = true;
    }

    /// The process that the input calls `key`.
    pub fn process(&mut self, key: &Key) -> Process {
        if let Some(&known) = self.process_handles.get(key) {
            return Process(known);
        }
        if self.processes.len() >= PROCESSES {
            self.repairs.add(TOO_MANY_PROCESSES, 1, Place::Nowhere);
            return Process((PROCESSES - 1) as u32);
        }
        let process = self.nameless_process();
        self.process_handles.insert(key.clone(), process.0);
        if let Some(state) = self.processes.get_mut(process.0 as usize) {
            state.key = Some(key.clone());
        }
        process
    }

    /// A process of which it is not known yet which one it is: [`Target::merge`] may say so.
    pub fn nameless_process(&mut self) -> Process {
        self.processes.push(ProcessState::default());
        Process((self.processes.len() - 1) as u32)
    }

    /// Everything of `part` belongs to `whole`, which is called as `part` is, unless it has a key of its own.
    pub fn merge(&mut self, part: Process, whole: Process) {
        if part == whole {
            return;
        }
        let Some(state) = self.processes.get_mut(part.0 as usize) else { return };
        state.within = Some(whole.0);
        let (key, name) = (state.key.clone(), state.name.clone());
        if let Some(whole) = self.processes.get_mut(whole.0 as usize)
            && whole.key.is_none()
        {
            (whole.key, whole.name) = (key, name);
        }
    }

    /// Names a process: its program.
    pub fn process_name(&mut self, process: Process, name: &str) {
        self.with(process, |state| name.clone_into(&mut state.name));
    }

    /// The host that a process ran on.
    pub fn host(&mut self, process: Process, host: &str) {
        self.with(process, |state| host.clone_into(&mut state.host));
    }

    /// Its working folder and arguments.
    pub fn command(&mut self, process: Process, folder: &str, arguments: &[String]) {
        self.with(process, |state| {
            folder.clone_into(&mut state.folder);
            arguments.clone_into(&mut state.arguments);
        });
    }

    /// Its rank in a parallel job, and on its host.
    pub fn rank(&mut self, process: Process, rank: Option<u32>, local_rank: Option<u32>) {
        self.with(process, |state| (state.rank, state.local_rank) = (rank, local_rank));
    }

    /// Its parent's number.
    pub fn parent(&mut self, process: Process, parent: u32) {
        self.with(process, |state| state.parent = parent);
    }

    /// A device of a process.
    pub fn device(&mut self, process: Process, number: u16, name: &str, device: &Device) {
        self.with(process, |state| {
            state.devices.insert(number, (name.to_owned(), device.clone()));
        });
    }

    fn with(&mut self, process: Process, change: impl FnOnce(&mut ProcessState)) {
        if let Some(state) = self.processes.get_mut(process.0 as usize) {
            change(state);
        }
    }

    /// The thread that the input calls `key`.
    pub fn thread(&mut self, process: Process, key: &Key) -> Thread {
        match self.thread_handles.of((process.0, key.clone())) {
            Some((handle, true)) => {
                self.threads.push(ThreadState { process: process.0, key: key.clone(), name: String::new() });
                Thread(handle)
            }
            Some((handle, false)) => Thread(handle),
            None => {
                self.repairs.add(TOO_MANY_THREADS, 1, Place::Nowhere);
                Thread(THREADS - 1)
            }
        }
    }

    /// Names a thread.
    pub fn thread_name(&mut self, thread: Thread, name: &str) {
        if let Some(state) = self.threads.get_mut(thread.0 as usize) {
            name.clone_into(&mut state.name);
        }
    }

    /// The number of a name.
    pub fn text(&mut self, name: &str) -> Text {
        self.texts.of(name.as_bytes())
    }

    /// A function. `arguments` is as in a signature: `ptr:ptr@32 bytes:size@40`, empty for none; see [`Call::words`].
    pub fn function(&mut self, layer: Layer, name: &str, arguments: &str) -> Function {
        let plain = |c: char| if c.is_whitespace() || c.is_control() || c == '(' || c == ')' { '_' } else { c };
        let mut signature: String = name.chars().take(1000).map(plain).collect();
        if signature.is_empty() {
            signature.push('?');
        }
        let signature = format!("{signature}({arguments})");
        match self.function_handles.of((layer, signature.clone())) {
            Some((handle, true)) => {
                self.functions.push(FunctionText { layer, signature, originals: Vec::new() });
                Function(handle)
            }
            Some((handle, false)) => Function(handle),
            None => Function(FUNCTIONS - 1),
        }
    }

    /// Says what the input calls a function, if that is more than its name.
    pub fn called(&mut self, function: Function, original: &str) {
        let Some(text) = self.functions.get_mut(function.0 as usize) else { return };
        let plain = |c: char| if c.is_whitespace() || c.is_control() || c == ',' { '_' } else { c };
        let original: String = original.chars().take(ORIGINAL_MAX).map(plain).collect();
        let is_new = !original.is_empty() && original != text.name() && !text.originals.contains(&original);
        if is_new && text.originals.len() < ORIGINALS_MAX {
            text.originals.push(original);
            text.originals.sort_unstable();
        }
    }

    /// The call site with this name, to be put into [`Call::site`]. `module` is a library or program, or the source file
    /// where there is none; what is not known is empty, a line zero.
    pub fn site(&mut self, module: &str, function: &str, file: &str, line: u32) -> u64 {
        self.sites.of(module, function, file, line)
    }

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

    pub(super) fn reach(&mut self, start: u64, end: u64) {
        self.span = (self.span.0.min(start), self.span.1.max(end.min(LAST)));
    }

    fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
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

    /// Index of the process that has the file of this one.
    pub(super) fn bound(&mut self, process: Process) -> io::Result<Option<usize>> {
        let at = process.0 as usize;
        let within = self.processes.get(at).and_then(|state| state.within);
        let at = within.map_or(at, |at| at as usize);
        let Some(state) = self.processes.get_mut(at) else { return Ok(None) };
        if state.binding.is_none() {
            state.binding = Some(Binding::new((self.spool)()?)?);
        }
        Ok(Some(at))
    }

    /// What moment zero of the input was, ns since 1970.
    pub const fn wall_clock(&mut self, ns: i128) {
        self.wall_ns = Some(ns);
    }

    /// First and last moment so far, ns; `None` if there is none.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        (self.span.0 <= self.span.1).then_some(self.span)
    }

    /// Something was mended, skipped or is unfinished.
    pub fn repair(&mut self, repair: Repair, place: Place) {
        self.repairs.add(repair, 1, place);
    }

    /// Whether the place of one more of these would be told: finding it may take time.
    #[must_use]
    pub fn wants_place(&self, repair: Repair) -> bool {
        self.repairs.wants_place(repair)
    }

    /// Something else is to be known of the input, in a line.
    pub fn note(&mut self, line: String) {
        if self.notes.len() < UNPLACED {
            self.notes.push(line);
        }
    }

    /// An event of a kind that the model has no place for.
    pub fn unplaced(&mut self, what: &str) {
        let known = self.unplaced.len();
        let what: String = match self.unplaced.get_mut(what) {
            Some(count) => {
                *count += 1;
                return;
            }
            None if known < UNPLACED => what.chars().take(80).collect(),
            None => "others".to_owned(),
        };
        *self.unplaced.entry(what).or_default() += 1;
    }

    /// Evidence that this format never has.
    pub fn never(&mut self, what: What) {
        self.never.push(what);
    }
}
