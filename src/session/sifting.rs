//! What a lens selects of a trace, found out in slices and kept up to date while the trace grows.
//!
//! A thread's calls are tested block by block and go into a tree of their own; of each event one bit is kept. What is
//! not decided yet (calls whose outermost call has not ended, work whose call has not been read) is looked at again.
//! Where an answer that was given no longer holds, a name that was told late for example, all is looked at anew.

mod calls;
mod lanes;
mod ranges;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use self::lanes::Lanes;
use crate::graph::{Cells, Gpu, RangeIndex, Sifted, Tree, WorkStream};
use crate::lens::{Allocated, Block, Counts, Lens, Marks, Plan, PlanError, Selected, StepsFound, Surroundings};
use crate::symbols::Symbols;
use crate::trace::{ApiId, Bytes, Trace, TrackId};

/// What is looked at.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub trace: &'a Trace,
    pub files: &'a [Option<Arc<dyn Bytes>>],
    /// The tree of all calls.
    pub tree: &'a Tree,
    /// Of each lane its stream.
    pub streams: &'a [WorkStream],
    pub allocations: Allocated<'a>,
}

/// A lens at work on a trace.
pub(super) struct Sifting {
    plan: Plan,
    spans: Arc<RwLock<RangeIndex>>,
    pub selected: Selected,
    cut: u64,
    tree: Sifted,
    /// The same by range, made when it is asked for, and how far it is.
    ranged: Option<(Sifted, Vec<usize>)>,
    pub gpu: Gpu,
    lanes: Lanes,
    stages: Vec<Lanes>,
    /// Ranges that had not ended when they were decided, and how many of them are cut.
    open_ranges: Vec<(TrackId, usize)>,
    open_cut: u64,
    /// What has not ended, with what of it is selected, and how much of that is cut.
    unfinished: Vec<(Block, Vec<u64>, u64)>,
    /// Failed calls that the call around them expected.
    pub handled: FxHashMap<ApiId, u64>,
    streams: Vec<WorkStream>,
    /// How many rows of each thread can be decided.
    limits: Vec<usize>,
    block: Block,
    /// Grows with every change.
    pub version: u64,
    /// Grows when records are decided otherwise.
    pub decided: u64,
    /// Grows when everything is looked at anew.
    pub restarts: u64,
    complete: bool,
    /// Some of it no longer holds.
    stale: bool,
    /// When all is looked at anew.
    again: Option<Instant>,
    /// How long it has been worked at until it no longer held.
    spent: Duration,
}

impl Sifting {
    /// Begins with a lens.
    pub(super) fn new(lens: &Lens) -> Result<Self, PlanError> {
        let plan = Plan::new(lens)?;
        Ok(Self {
            stages: (0..plan.stages()).map(|_| Lanes::default()).collect(),
            plan,
            spans: Arc::default(),
            selected: Selected::default(),
            cut: 0,
            tree: Sifted::default(),
            ranged: None,
            gpu: Gpu::default(),
            lanes: Lanes::default(),
            open_ranges: Vec::new(),
            open_cut: 0,
            unfinished: Vec::new(),
            handled: FxHashMap::default(),
            streams: Vec::new(),
            limits: Vec::new(),
            block: Block::default(),
            version: 0,
            decided: 0,
            restarts: 0,
            complete: false,
            stale: false,
            again: None,
            spent: Duration::ZERO,
        })
    }

    /// Whether it must know of each lane its stream.
    pub(super) fn needs_streams(&self) -> bool {
        self.plan.needs_streams()
    }

    /// Whether it must know the allocations.
    pub(super) fn needs_allocations(&self) -> bool {
        self.plan.needs_allocations()
    }

    /// Whether everything that has been read has been looked at.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// The cells of selected calls whose outermost call has ended.
    pub(super) fn cells(&self, by_range: bool) -> &Cells {
        self.sifted(by_range).cells()
    }

    fn sifted(&self, by_range: bool) -> &Sifted {
        self.ranged.as_ref().filter(|_| by_range).map_or(&self.tree, |ranged| &ranged.0)
    }

    /// Those of what has not ended.
    pub(super) fn unfinished_cells(&self, by_range: bool) -> Cells {
        self.sifted(by_range).unfinished(self.unfinished.iter().map(|(block, words, _)| (block, words.as_slice())))
    }

    /// What has not ended, with a bit for each call that is selected.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = (&Block, &[u64])> {
        self.unfinished.iter().map(|(block, words, _)| (block, words.as_slice()))
    }

    /// The ranges.
    pub(super) fn spans(&self) -> &RwLock<RangeIndex> {
        &self.spans
    }

    /// Events let through and others, as far as they have been looked at.
    pub(super) fn counts(&self, trace: &Trace) -> Counts {
        let shown = self.selected.count();
        let cut = self.unfinished.iter().fold(self.cut + self.open_cut, |sum, (.., cut)| sum + cut);
        Counts { shown, hidden: trace.listed().saturating_sub(shown), cut }
    }

    /// What the steps are that are looked at, their time since the trace began.
    pub(super) fn steps(&self, trace: &Trace) -> Option<StepsFound> {
        let mut found = self.plan.steps()?.clone();
        let since = |ns: u64| if ns == u64::MAX { ns } else { ns.saturating_sub(trace.start_ns()) };
        found.ns = found.ns.map(|(from, to)| (since(from), since(to)));
        Some(found)
    }

    /// How much of what has been read has been looked at, thousandths.
    pub(super) fn done(&self, trace: &Trace) -> u16 {
        let all = trace.calls() + trace.activities.records();
        let done =
            self.selected.calls.iter().chain(&self.selected.records).map(|marks| marks.len() as u64).sum::<u64>();
        if self.complete || all == 0 {
            return 1000;
        }
        u16::try_from(u128::from(done) * 1000 / u128::from(all)).unwrap_or(1000).min(999)
    }

    fn restart(&mut self) {
        self.selected = Selected::default();
        self.cut = 0;
        self.tree = Sifted::default();
        self.ranged = self.ranged.take().map(|_| (Sifted::by_range(self.spans.clone()), Vec::new()));
        self.gpu = Gpu::default();
        self.lanes = Lanes::default();
        self.stages.iter_mut().for_each(|stage| *stage = Lanes::default());
        self.plan.forget_submitted();
        self.open_ranges.clear();
        self.handled.clear();
        self.stale = false;
        self.decided += 1;
        self.restarts += 1;
        self.again = None;
        self.spent = Duration::ZERO;
    }

    fn is_begun(&self) -> bool {
        !self.selected.calls.is_empty() || !self.selected.records.is_empty()
    }

    /// Looks on until `until`; true when all that has been read has been looked at.
    pub(super) fn advance(&mut self, ground: Ground<'_>, symbols: &mut Symbols, until: Instant) -> bool {
        let trace = ground.trace;
        self.version += 1;
        if self.plan.needs_sites() {
            symbols.ask_all(trace);
        }
        let wants_spans = self.plan.needs_spans() || self.ranged.is_some();
        if let Some(mut spans) = wants_spans.then(|| self.spans.write()).and_then(Result::ok) {
            spans.update(trace);
        }
        let spans = self.spans.clone();
        let spans = spans.read().unwrap_or_else(PoisonError::into_inner);
        let around = Surroundings { trace, files: ground.files, spans: &*spans, allocations: ground.allocations };
        let mut changed = self.plan.update(&around, symbols, &mut || Instant::now() < until);
        let common = self.streams.iter().zip(ground.streams);
        changed |= self.plan.needs_streams() && common.clone().any(|(before, now)| before != now);
        if self.streams.len() != ground.streams.len() || common.clone().any(|(before, now)| before != now) {
            self.streams = ground.streams.to_vec();
        }
        self.stale |= changed && self.is_begun();
        let now = Instant::now();
        // What changes again and again while a trace is read must not keep it from being looked at: as long again as
        // was worked at what no longer holds passes before it is thrown away.
        if self.stale && now >= *self.again.get_or_insert(now + self.spent) {
            self.restart();
        }
        self.limits.clear();
        let limits = trace.tracks.iter().map(|track| calls::known_rows(track, self.plan.known_until(track.process)));
        self.limits.extend(limits);
        self.plan.set_limits(&self.limits);
        let mut complete = !self.plan.is_behind();
        let knows_all = self.plan.knows_all();
        complete = complete && self.mark_stages(&around, until);
        complete = complete && self.look_at_calls(&around, until);
        complete = complete && self.look_at_lanes(&around, until);
        complete = complete && self.look_at_ranges(&around, until);
        if !self.plan.is_behind() {
            self.look_at_unfinished(&around, ground.tree);
        }
        complete = complete && self.catch_up_ranged(trace, until);
        if !self.stale {
            self.spent += now.elapsed();
        }
        self.complete = complete && knows_all && !self.stale;
        self.complete
    }
}

/// The bits of some rows, beginning with the first.
pub(super) fn words_of(marks: &Marks, first: usize, count: usize) -> Vec<u64> {
    let mut words = vec![0u64; count.div_ceil(64)];
    for at in (0..count).filter(|&at| marks.has(first + at)) {
        if let Some(word) = words.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }
    words
}
