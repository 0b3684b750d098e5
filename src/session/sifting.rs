//! What a lens selects of a trace, found out in slices and kept up to date while the trace grows.
//!
//! A thread's calls are tested block by block and go into a tree of their own; of each event one bit is kept. What is
//! not decided yet (calls whose outermost call has not ended, work whose call has not been read) is looked at again.
//! Where an answer that was given no longer holds, a name that was told late for example, all is looked at anew.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::matches::whole_rows;
use crate::correlate::calls::{Found, Records};
use crate::correlate::failure::is_farewell;
use crate::graph::{Cells, Gpu, RangeIndex, Sifted, Tree, WorkStream};
use crate::lens::{Block, Counts, Lens, Marks, Plan, PlanError, Selected, StepsFound, Surroundings, bit};
use crate::symbols::Symbols;
use crate::trace::activity::LaneId;
use crate::trace::{ApiId, Bytes, NO_DEVICE, StreamId, Trace, Track, TrackId};

/// Rows of a block, and a little more up to the end of its last group.
const BLOCK: usize = 4096;
/// Records of a lane looked at before the clock is.
const STEP: usize = 1024;

/// What is looked at.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub trace: &'a Trace,
    pub files: &'a [Option<Arc<dyn Bytes>>],
    /// The tree of all calls.
    pub tree: &'a Tree,
    /// Of each lane its stream.
    pub streams: &'a [WorkStream],
}

/// How far lanes have been looked at.
#[derive(Debug, Default)]
struct Lanes {
    next: Vec<usize>,
    /// Rows about which not all is known, and how they were decided.
    waiting: Vec<(LaneId, usize, bool)>,
    /// Of these the ones that are being looked at again.
    again: Vec<(LaneId, usize, bool)>,
    /// How much was known when these were looked at last.
    known: u64,
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
        let ranges = (0..trace.tracks.len()).filter_map(|id| u32::try_from(id).ok());
        let ranges: u64 = ranges.map(|id| trace.ranges.of(TrackId(id)).len() as u64).sum();
        let all = trace.calls() + trace.activities.records() + ranges;
        let cut = self.unfinished.iter().fold(self.cut + self.open_cut, |sum, (.., cut)| sum + cut);
        Counts { shown, hidden: all.saturating_sub(shown), cut }
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
        let around = Surroundings { trace, files: ground.files, spans: &*spans };
        let mut changed = self.plan.update(&around, symbols);
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
        let mut complete = !self.plan.is_behind();
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
        self.complete = complete && !self.stale;
        self.complete
    }

    /// Finds the calls that have submitted work that fits what calls are to be around of.
    fn mark_stages(&mut self, around: &Surroundings<'_>, until: Instant) -> bool {
        for at in 0..self.stages.len() {
            let Some(mut lanes) = self.stages.get_mut(at).map(std::mem::take) else { continue };
            let (plan, streams) = (&mut self.plan, &self.streams);
            let mut hits = Vec::new();
            let mut taken_back = false;
            let done = lanes.look(around.trace, until, |id, row, before| {
                let Some(activity) = around.trace.activities.lane(id).and_then(|lane| lane.get(row)) else {
                    return (false, false);
                };
                let (call, open) = plan.stage(around, at, id, &activity, stream_of(streams, id));
                hits.extend(call);
                taken_back |= before == Some(true) && call.is_none();
                (call.is_some(), open)
            });
            self.stale |= taken_back;
            for (track, row) in hits {
                self.plan.note_submitted(at, track, row);
                // Calls that have been looked at already may be around it.
                self.stale |= self.selected.calls.get(track.index()).is_some_and(|marks| row < marks.len());
            }
            if let Some(place) = self.stages.get_mut(at) {
                *place = lanes;
            }
            if !done {
                return false;
            }
        }
        true
    }

    fn look_at_calls(&mut self, around: &Surroundings<'_>, until: Instant) -> bool {
        let trace = around.trace;
        self.selected.calls.resize_with(trace.tracks.len(), Marks::default);
        self.tree.begin_batch();
        let mut block = std::mem::take(&mut self.block);
        let mut complete = true;
        'tracks: for (id, track) in (0..).map(TrackId).zip(&trace.tracks) {
            let whole = whole_rows(track);
            loop {
                let from = self.selected.calls.get(id.index()).map_or(whole, Marks::len);
                if from >= whole {
                    break;
                }
                if Instant::now() >= until {
                    complete = false;
                    break 'tracks;
                }
                if let Some(end) = self.skippable(track, from) {
                    if let Some(marks) = self.selected.calls.get_mut(id.index()) {
                        marks.skip(end - from);
                    }
                    continue;
                }
                let end = track.group((from + BLOCK).min(whole) - 1).end.max(from + 1);
                block.read(id, track, from..end);
                self.take_block(around, track, &block);
            }
        }
        self.block = block;
        complete
    }

    /// Up to which row no call can be selected.
    fn skippable(&self, track: &Track, from: usize) -> Option<usize> {
        let (chunk, _) = track.chunk_of(from)?;
        if !self.plan.skips(chunk) {
            return None;
        }
        let last = chunk.first_row() + chunk.len() - 1;
        let group = track.group(last);
        let end = if group.end == last + 1 && track.call(last).is_some_and(|call| call.depth == 0) {
            group.end
        } else {
            group.start
        };
        (end > from).then_some(end)
    }

    fn take_block(&mut self, around: &Surroundings<'_>, track: &Track, block: &Block) {
        let (words, cut) = self.plan.calls(around, block);
        self.cut += cut;
        self.tree.take(block, &words);
        if let Some(marks) = self.selected.calls.get_mut(block.track.index()) {
            (0..block.len()).for_each(|at| marks.push(bit(&words, at)));
        }
        if block.calls.iter().any(|call| call.flags.failed()) {
            self.note_handled(around, track, block, &words);
        }
    }

    /// Counts selected failures that are nobody's.
    fn note_handled(&mut self, around: &Surroundings<'_>, track: &Track, block: &Block, words: &[u64]) {
        let file = around.files.get(track.file as usize).and_then(|file| file.as_deref());
        let mut records = Records::new(file);
        let mut outermost = None;
        for (at, call) in block.calls.iter().enumerate().rev() {
            if call.depth == 0 {
                outermost = Some(call.flags);
            }
            if !call.flags.failed() || !bit(words, at) {
                continue;
            }
            let row = block.first_row + at;
            let handled = if call.depth > 0 {
                outermost.is_some_and(|flags| !flags.failed() && !flags.entry_only())
            } else {
                track.location(row).is_some_and(|location| {
                    let found = Found { track: block.track, row, call: *call, what: &(), offset: location.offset };
                    is_farewell(around.trace, &found, &mut records)
                })
            };
            if handled {
                *self.handled.entry(call.api).or_default() += 1;
            }
        }
    }

    fn look_at_unfinished(&mut self, around: &Surroundings<'_>, tree: &Tree) {
        let trace = around.trace;
        self.unfinished.clear();
        self.selected.unfinished.clear();
        self.selected.unfinished.resize(trace.tracks.len(), Vec::new());
        for (id, track) in (0..).map(TrackId).zip(&trace.tracks) {
            let whole = whole_rows(track);
            if whole == track.len() && track.in_flight.is_empty() {
                continue;
            }
            let open: Vec<_> = tree.still_open(id, &track.in_flight).copied().collect();
            let last = track.len().checked_sub(1).and_then(|last| track.call(last));
            let mut block = Block::default();
            block.read_unfinished(id, track, whole..track.len(), &open, last.map_or(NO_DEVICE, |call| call.device));
            if block.is_empty() {
                continue;
            }
            let (words, cut) = self.plan.calls(around, &block);
            if let Some(rows) = self.selected.unfinished.get_mut(id.index()) {
                rows.extend((0..block.ended).filter(|&at| bit(&words, at)).map(|at| whole + at));
            }
            self.unfinished.push((block, words, cut));
        }
    }

    fn look_at_lanes(&mut self, around: &Surroundings<'_>, until: Instant) -> bool {
        let trace = around.trace;
        self.selected.records.resize_with(trace.activities.lanes().len(), Marks::default);
        let mut lanes = std::mem::take(&mut self.lanes);
        let done = lanes.look(trace, until, |id, row, before| {
            let Some((lane, activity)) =
                trace.activities.lane(id).and_then(|lane| lane.get(row).map(|activity| (lane, activity)))
            else {
                return (false, false);
            };
            let decision = self.plan.record(around, id, &activity, stream_of(&self.streams, id));
            if decision.selected && before != Some(true) {
                self.gpu.take(id, lane.process, &activity);
                self.cut += u64::from(decision.cut);
            }
            // What was counted cannot be taken back.
            self.stale |= before == Some(true) && !decision.selected;
            if let Some(marks) = self.selected.records.get_mut(id.0 as usize) {
                match before {
                    None => marks.push(decision.selected),
                    Some(before) if before != decision.selected => {
                        marks.put(row, decision.selected);
                        self.decided += 1;
                    }
                    Some(_) => {}
                }
            }
            (decision.selected, decision.open)
        });
        self.lanes = lanes;
        done
    }

    fn look_at_ranges(&mut self, around: &Surroundings<'_>, until: Instant) -> bool {
        let trace = around.trace;
        self.selected.ranges.resize_with(trace.tracks.len(), Marks::default);
        self.open_cut = 0;
        for (id, row) in std::mem::take(&mut self.open_ranges) {
            self.take_range(around, id, row);
        }
        for id in (0..).map(TrackId).take(trace.tracks.len()) {
            let all = trace.ranges.of(id).len();
            loop {
                let from = self.selected.ranges.get(id.index()).map_or(all, Marks::len);
                if from >= all {
                    break;
                }
                if Instant::now() >= until {
                    return false;
                }
                for row in from..all.min(from + STEP) {
                    self.take_range(around, id, row);
                }
            }
        }
        true
    }

    fn take_range(&mut self, around: &Surroundings<'_>, id: TrackId, row: usize) {
        let (selected, cut) = self.plan.range(around, id, row);
        let ended = around.trace.ranges.of(id).get(row).is_some_and(|range| range.end_ns().is_some());
        if let Some(marks) = self.selected.ranges.get_mut(id.index()) {
            if row < marks.len() { marks.put(row, selected) } else { marks.push(selected) }
        }
        if ended {
            self.cut += u64::from(cut);
        } else {
            self.open_cut += u64::from(cut);
            self.open_ranges.push((id, row));
        }
    }

    /// Asks for rows by range from now on.
    pub(super) fn want_ranged(&mut self, trace: &Trace) {
        if self.ranged.is_none() {
            // What the GPU did is put into ranges at once.
            if let Ok(mut spans) = self.spans.write() {
                spans.update(trace);
            }
            self.ranged = Some((Sifted::by_range(self.spans.clone()), Vec::new()));
            self.complete = false;
        }
    }

    fn catch_up_ranged(&mut self, trace: &Trace, until: Instant) -> bool {
        let Some((tree, next)) = &mut self.ranged else { return true };
        tree.begin_batch();
        next.resize(trace.tracks.len(), 0);
        let mut block = std::mem::take(&mut self.block);
        let mut complete = true;
        for ((id, track), next) in (0..).map(TrackId).zip(&trace.tracks).zip(next) {
            let Some(marks) = self.selected.calls.get(id.index()) else { break };
            while *next < marks.len() {
                if Instant::now() >= until {
                    complete = false;
                    break;
                }
                let end = track.group((*next + BLOCK).min(marks.len()) - 1).end.max(*next + 1);
                if marks.rank(end) > marks.rank(*next) {
                    block.read(id, track, *next..end);
                    tree.take(&block, &words_of(marks, *next, block.len()));
                }
                *next = end;
            }
        }
        self.block = block;
        complete
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

fn stream_of(streams: &[WorkStream], id: LaneId) -> Option<StreamId> {
    match streams.get(id.0 as usize) {
        Some(WorkStream::Known(stream)) => Some(*stream),
        _ => None,
    }
}

impl Lanes {
    /// Gives `decide` the rows that have come, and those that wait when more calls are known: lane, row, how it was
    /// decided before. It says how it is decided, and whether that is open.
    fn look(
        &mut self,
        trace: &Trace,
        until: Instant,
        mut decide: impl FnMut(LaneId, usize, Option<bool>) -> (bool, bool),
    ) -> bool {
        let processes = (0..trace.processes.len()).filter_map(|id| u16::try_from(id).ok());
        let submits = processes.filter_map(|id| trace.activities.of(crate::trace::ProcessId(id)));
        let known = submits.map(|of| of.submits.len()).sum::<usize>() + trace.names.len();
        let known = known as u64 + trace.calls();
        if known != self.known && self.again.is_empty() {
            self.known = known;
            self.again = std::mem::take(&mut self.waiting);
        }
        while let Some((id, row, before)) = self.again.pop() {
            let (selected, open) = decide(id, row, Some(before));
            if open {
                self.waiting.push((id, row, selected));
            }
            if self.again.len().is_multiple_of(STEP) && Instant::now() >= until {
                return false;
            }
        }
        let lanes = trace.activities.lanes();
        self.next.resize(lanes.len(), 0);
        for ((id, lane), next) in (0..).map(LaneId).zip(lanes).zip(&mut self.next) {
            while *next < lane.len() {
                if Instant::now() >= until {
                    return false;
                }
                for row in *next..lane.len().min(*next + STEP) {
                    let (selected, open) = decide(id, row, None);
                    if open {
                        self.waiting.push((id, row, selected));
                    }
                }
                *next = lane.len().min(*next + STEP);
            }
        }
        known == self.known
    }
}
