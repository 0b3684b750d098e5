//! The call tree: takes each thread's calls as they end and keeps the cells.

use std::sync::{Arc, PoisonError, RwLockReadGuard};

use super::cells::{CellId, Cells, Place};
use super::forest::Forest;
use super::ranges::{OUTSIDE, RangeIndex};
use super::walk::{Frame, Outermost, Sink, duration, leave, outermost, place, walk};
use crate::trace::{Call, NO_DEVICE, OpenCall, StreamId, Trace, TrackId};

/// Nested calls that wait for their outermost call one by one; more are merged by path.
const WAITING: usize = 4096;
/// Rows taken before the clock is looked at.
const STEP: usize = 16 * 1024;

/// The merged call tree of a trace.
///
/// Only calls whose outermost call has ended are in the [`Cells`]; what waits for its callers is added at the
/// time of showing by [`Tree::unfinished`], so that it can move to where it belongs once they have ended.
#[derive(Debug)]
pub struct Tree {
    cells: Cells,
    tracks: Vec<Waiting>,
    frames: Vec<Frame<CellId>>,
    waiting: usize,
    calls: u64,
    failed: u64,
}

/// What is kept of one thread.
#[derive(Debug)]
struct Waiting {
    /// Rows of the track that are in the tree.
    rows: usize,
    /// Nested calls whose outermost call has not ended, by end.
    ended: Vec<Call>,
    /// Likewise, older and merged.
    forest: Forest,
    /// When `ended` is merged.
    limit: usize,
    /// For each depth one more than the start of the newest call that has ended.
    newest: Vec<u64>,
    /// Device of the newest call.
    device: u8,
}

impl Default for Tree {
    fn default() -> Self {
        Self::with_waiting(WAITING)
    }
}

impl Tree {
    /// A tree that merges nested calls once so many of a thread wait.
    #[must_use]
    pub fn with_waiting(waiting: usize) -> Self {
        let waiting = waiting.max(1);
        let mut cells = Cells::default();
        cells.next_generation();
        Self { cells, tracks: Vec::new(), frames: Vec::new(), waiting, calls: 0, failed: 0 }
    }

    /// A tree that also tells apart in which range of its thread an outermost call was made.
    #[must_use]
    pub fn by_range() -> Self {
        let mut tree = Self::default();
        tree.cells.ranges = Some(Arc::default());
        tree
    }

    /// The ranges, of a tree that tells them apart.
    #[must_use]
    pub fn ranges(&self) -> Option<RwLockReadGuard<'_, RangeIndex>> {
        self.cells.ranges.as_ref().map(|ranges| ranges.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The cells of all calls whose outermost call has ended.
    #[must_use]
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Calls so far, nested ones and those that wait included.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Of these the failed ones.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Begins a batch: rows take what changed batch by batch.
    pub fn begin_batch(&mut self) {
        self.cells.next_generation();
    }

    /// Takes what the trace has got since the last time.
    pub fn update(&mut self, trace: &Trace) {
        self.update_while(trace, &mut || true);
    }

    /// Likewise as long as `go_on` says so; true when it has all of that.
    pub fn update_while(&mut self, trace: &Trace, go_on: &mut dyn FnMut() -> bool) -> bool {
        self.begin_batch();
        if let Some(ranges) = &self.cells.ranges {
            ranges.write().unwrap_or_else(PoisonError::into_inner).update(trace);
        }
        let mut step = STEP;
        for (index, track) in trace.tracks.iter().enumerate() {
            let Ok(id) = u32::try_from(index).map(TrackId) else { return true };
            let mut from = self.tracks.get(index).map_or(0, |waiting| waiting.rows);
            while from < track.len() {
                if step == 0 {
                    if !go_on() {
                        return false;
                    }
                    step = STEP;
                }
                let end = track.len().min(from + step);
                track.for_each(from..end, |call| self.push(id, &call));
                step -= end - from;
                from = end;
            }
        }
        true
    }

    /// Takes the next call of a thread, in order of end.
    #[inline]
    pub fn push(&mut self, track: TrackId, call: &Call) {
        self.calls += 1;
        self.failed += u64::from(call.flags.failed());
        if self.tracks.len() <= track.index() {
            let waiting = self.waiting;
            self.tracks.resize_with(track.index() + 1, || Waiting::new(waiting));
        }
        let Some(waiting) = self.tracks.get_mut(track.index()) else { return };
        waiting.note(call);
        if call.depth > 0 {
            waiting.ended.push(*call);
            if waiting.ended.len() >= waiting.limit {
                waiting.merge(track);
            }
            return;
        }
        if waiting.ended.is_empty() && waiting.forest.is_empty() {
            let cell = self.cells.root(place(track, call), outermost(call));
            self.cells.whole_call(cell, duration(call), call.flags.failed());
            return;
        }
        waiting.ended.push(*call);
        walk(&mut self.cells, track, &mut self.frames, &waiting.ended, &waiting.forest);
        waiting.ended.clear();
        if !waiting.forest.is_empty() {
            waiting.forest = Forest::default();
            waiting.limit = self.waiting;
        }
    }

    /// What is still under way: calls that have begun, given by `in_flight` for each thread, and finished calls
    /// whose outermost call has not ended, put under the calls that have begun. Where those are not known they
    /// count as made by the program.
    #[must_use]
    pub fn unfinished<'a>(&self, in_flight: impl Fn(TrackId) -> &'a [OpenCall], tracks: usize) -> Cells {
        let mut cells = Cells::default();
        cells.ranges.clone_from(&self.cells.ranges);
        cells.next_generation();
        let mut frames = Vec::new();
        let nothing = Waiting::new(1);
        for index in 0..tracks.max(self.tracks.len()) {
            let Ok(track) = u32::try_from(index).map(TrackId) else { break };
            let waiting = self.tracks.get(index).unwrap_or(&nothing);
            waiting.begin(&mut cells, track, in_flight(track), &mut frames, Cells::add_running);
            walk(&mut cells, track, &mut frames, &waiting.ended, &waiting.forest);
        }
        cells
    }

    pub(super) fn begin_open<S: Sink>(
        &self,
        sink: &mut S,
        track: TrackId,
        open: &[OpenCall],
        frames: &mut Vec<Frame<S::Node>>,
        each: impl FnMut(&mut S, S::Node),
    ) {
        match self.tracks.get(track.index()) {
            Some(waiting) => waiting.begin(sink, track, open, frames, each),
            None => Waiting::new(1).begin(sink, track, open, frames, each),
        }
    }

    /// Those of `open` that have really not ended. A trace that is being written can show a call both as begun
    /// and as ended for a moment.
    pub fn still_open<'a>(&'a self, track: TrackId, open: &'a [OpenCall]) -> impl Iterator<Item = &'a OpenCall> {
        let waiting = self.tracks.get(track.index());
        open.iter().filter(move |call| waiting.is_none_or(|waiting| waiting.is_open(call)))
    }
}

impl Waiting {
    fn new(limit: usize) -> Self {
        Self { rows: 0, ended: Vec::new(), forest: Forest::default(), limit, newest: vec![0; 2], device: NO_DEVICE }
    }

    #[inline]
    fn note(&mut self, call: &Call) {
        self.rows += 1;
        self.device = call.device;
        let depth = usize::from(call.depth);
        if depth >= self.newest.len() {
            self.newest.resize(depth + 1, 0);
        }
        if let Some(newest) = self.newest.get_mut(depth) {
            *newest = call.start_ns.saturating_add(1);
        }
    }

    /// Whether no call at this depth or less, begun at the same time or later, has ended: else this one has, too.
    fn is_open(&self, open: &OpenCall) -> bool {
        self.newest.iter().take(usize::from(open.depth) + 1).all(|&newest| newest <= open.start_ns)
    }

    /// Enters the open calls, each under the one around it, and tells `each` where they are.
    fn begin<S: Sink>(
        &self,
        sink: &mut S,
        track: TrackId,
        open: &[OpenCall],
        frames: &mut Vec<Frame<S::Node>>,
        mut each: impl FnMut(&mut S, S::Node),
    ) {
        for call in open.iter().filter(|call| self.is_open(call)) {
            leave(sink, frames, call.depth, call.start_ns);
            let node = match frames.last() {
                Some(caller) => sink.child(caller.node, call.api),
                None => sink.root(
                    Place { track, site: call.site, stream: StreamId::NONE, device: self.device, range: OUTSIDE },
                    Outermost { api: call.api, depth: call.depth, start_ns: call.start_ns },
                ),
            };
            each(sink, node);
            frames.push(Frame { node, start_ns: call.start_ns, depth: call.depth, left_ns: None });
        }
    }

    /// Merges the calls that wait.
    #[cold]
    fn merge(&mut self, track: TrackId) {
        let mut merged = Forest::default();
        walk(&mut merged, track, &mut Vec::new(), &self.ended, &self.forest);
        self.ended.clear();
        // Paths may be as many as calls; merging must not cost more than linear time then.
        self.limit = self.limit.max(merged.len().saturating_mul(2));
        self.forest = merged;
    }
}
