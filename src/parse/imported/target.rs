//! The one target of all readers of foreign formats.

use super::actors::{Process, ProcessState, THREADS, ThreadState};
use super::edges::EdgeRecord;
use super::functions::{FUNCTIONS, FunctionText};
use super::identity::{Handles, Key};
use super::progress::Progress;
use super::repairs::{Place, Repair, Repairs};
use super::said::{Said, Sayings};
use super::sites::Sites;
use super::slices::{LAST, Slice};
use super::sorter::Sorter;
use super::texts::{Text, Texts};
use super::work::Work;
use crate::trace::activity::evidence::What;
use crate::trace::{Bytes, Layer};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Makes a temporary file: to be written, and to be read.
pub type Spool = dyn Fn() -> io::Result<(File, Arc<dyn Bytes>)> + Send + Sync;

/// Kinds of events without a place in the model that are told apart.
const UNPLACED: usize = 64;

/// What an input is read into; see the module.
pub struct Target {
    pub(super) name: String,
    pub(super) format: &'static str,
    pub(super) spool: Arc<Spool>,
    pub(super) progress: Arc<Progress>,
    pub(super) texts: Texts,
    pub(super) sayings: Sayings,
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
            sayings: Sayings::default(),
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

    /// The number of a name.
    pub fn text(&mut self, name: &str) -> Text {
        self.texts.of(name.as_bytes())
    }

    /// The number of what else an input says of a range, as [`super::Range::said`] has it: an object in JSON, or text.
    pub fn said(&mut self, text: &str) -> Said {
        self.sayings.of(text)
    }

    /// The call site with this name, to be put into [`Call::site`](super::Call::site). `module` is a library or program, or the source file
    /// where there is none; what is not known is empty, a line zero.
    pub fn site(&mut self, module: &str, function: &str, file: &str, line: u32) -> u64 {
        self.sites.of(module, function, file, line)
    }

    pub(super) fn reach(&mut self, start: u64, end: u64) {
        self.span = (self.span.0.min(start), self.span.1.max(end.min(LAST)));
    }

    pub(super) fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
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
