//! Calls of one thread with their callers: whole groups, or what has not ended.

use std::ops::Range;

use crate::trace::{Call, CallFlags, OpenCall, StreamId, Track, TrackId};

/// There is no caller.
pub const NO_CALLER: u32 = u32::MAX;

/// Calls of a thread in order of end, each before its caller; those that have not ended come last, innermost first.
#[derive(Debug)]
pub struct Block {
    /// Thread.
    pub track: TrackId,
    /// Row of the first call.
    pub first_row: usize,
    /// The calls; of those that have not ended nothing but start, function, place and nesting is known.
    pub calls: Vec<Call>,
    /// How many of them have ended.
    pub ended: usize,
    /// Of each its caller, or [`NO_CALLER`].
    pub callers: Vec<u32>,
    /// Of each the outermost call around it, or itself.
    pub roots: Vec<u32>,
    frames: Vec<Frame>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    at: u32,
    start_ns: u64,
    depth: u8,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            track: TrackId(0),
            first_row: 0,
            calls: Vec::new(),
            ended: 0,
            callers: Vec::new(),
            roots: Vec::new(),
            frames: Vec::new(),
        }
    }
}

impl Block {
    /// Takes these rows, which must be whole groups.
    pub fn read(&mut self, id: TrackId, track: &Track, rows: Range<usize>) {
        self.fill(id, track, rows, &[]);
    }

    /// Takes the last rows, whose outermost call has not ended, and the calls that have not: those of `open`.
    pub fn read_unfinished(&mut self, id: TrackId, track: &Track, rows: Range<usize>, open: &[OpenCall], device: u8) {
        let call = |open: &OpenCall| Call {
            start_ns: open.start_ns,
            duration_ns: 0,
            api: open.api,
            site: open.site,
            stream: StreamId::NONE,
            device,
            depth: open.depth,
            flags: CallFlags::ENTRY_ONLY,
            extra: 0,
        };
        let open: Vec<Call> = open.iter().rev().map(call).collect();
        self.fill(id, track, rows, &open);
    }

    fn fill(&mut self, id: TrackId, track: &Track, rows: Range<usize>, open: &[Call]) {
        (self.track, self.first_row) = (id, rows.start);
        self.calls.clear();
        track.for_each(rows, |call| self.calls.push(call));
        self.ended = self.calls.len();
        self.calls.extend_from_slice(open);
        self.find_callers();
    }

    /// As the tree finds them: read backwards, a call lies in the last one that is less deep and did not begin later.
    fn find_callers(&mut self) {
        let count = self.calls.len();
        self.callers.clear();
        self.callers.resize(count, NO_CALLER);
        self.roots.clear();
        self.roots.resize(count, 0);
        self.frames.clear();
        for at in (0..count).rev() {
            let Some(call) = self.calls.get(at) else { continue };
            while self.frames.last().is_some_and(|top| top.depth >= call.depth || top.start_ns > call.start_ns) {
                self.frames.pop();
            }
            let number = at as u32;
            let caller = self.frames.last().map_or(NO_CALLER, |frame| frame.at);
            let root = self.roots.get(caller as usize).copied().unwrap_or(number);
            if let (Some(own), Some(place)) = (self.callers.get_mut(at), self.roots.get_mut(at)) {
                (*own, *place) = (caller, root);
            }
            // Of a call without an end nobody knows what it called, unless it has not ended yet.
            if at >= self.ended || !call.flags.entry_only() {
                self.frames.push(Frame { at: number, start_ns: call.start_ns, depth: call.depth });
            }
        }
    }

    /// Calls in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The outermost call around a call.
    #[must_use]
    #[inline]
    pub fn root(&self, at: usize) -> Option<&Call> {
        self.calls.get(*self.roots.get(at)? as usize)
    }

    /// Whether a call has ended.
    #[must_use]
    pub const fn has_ended(&self, at: usize) -> bool {
        at < self.ended
    }

    /// Duration of a call, ns; `None` if it is not known.
    #[must_use]
    #[inline]
    pub fn duration(&self, at: usize) -> Option<u64> {
        self.calls.get(at).filter(|call| !call.flags.entry_only()).map(|call| call.duration_ns)
    }

    /// Whether each call is wanted, or around one that is.
    #[must_use]
    pub fn with_callers(&self, wanted: &[u64]) -> Vec<bool> {
        let mut needed: Vec<bool> = (0..self.len()).map(|at| bit(wanted, at)).collect();
        for at in 0..self.len() {
            if needed.get(at).copied().unwrap_or(false)
                && let Some(caller) = self.callers.get(at).and_then(|&caller| needed.get_mut(caller as usize))
            {
                *caller = true;
            }
        }
        needed
    }
}

/// A bit of a list of words.
#[must_use]
#[inline]
pub fn bit(words: &[u64], at: usize) -> bool {
    words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}
