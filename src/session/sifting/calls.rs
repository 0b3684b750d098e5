//! Which calls a lens selects, block by block, those that have not ended, and the same by range.

use std::time::Instant;

use super::super::matches::whole_rows;
use super::{Sifting, words_of};
use crate::correlate::calls::{Found, Records};
use crate::correlate::failure::is_farewell;
use crate::graph::{Sifted, Tree};
use crate::lens::{Block, Marks, Surroundings, bit};
use crate::trace::{NO_DEVICE, Trace, Track, TrackId};

/// Rows of a block, and a little more up to the end of its last group.
const BLOCK: usize = 4096;

/// How many of the first rows are of whole groups that began by a moment, ns.
pub(super) fn known_rows(track: &Track, until_ns: u64) -> usize {
    let whole = whole_rows(track);
    if until_ns == u64::MAX {
        return whole;
    }
    let count = track.count_before(until_ns.saturating_add(1)).min(whole);
    let Some(last) = count.checked_sub(1) else { return 0 };
    let group = track.group(last);
    if group.end == count { count } else { group.start }
}

impl Sifting {
    pub(super) fn look_at_calls(&mut self, around: &Surroundings<'_>, until: Instant) -> bool {
        let trace = around.trace;
        self.selected.calls.resize_with(trace.tracks.len(), Marks::default);
        self.tree.begin_batch();
        let mut block = std::mem::take(&mut self.block);
        let mut complete = true;
        'tracks: for (id, track) in (0..).map(TrackId).zip(&trace.tracks) {
            let whole = self.limits.get(id.index()).copied().unwrap_or(0);
            loop {
                let from = self.selected.calls.get(id.index()).map_or(whole, Marks::len);
                if from >= whole {
                    break;
                }
                if Instant::now() >= until {
                    complete = false;
                    break 'tracks;
                }
                if let Some(end) = self.skippable(id, track, from) {
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
    fn skippable(&self, id: TrackId, track: &Track, from: usize) -> Option<usize> {
        let (chunk, _) = track.chunk_of(from)?;
        if !self.plan.skips(id, chunk) {
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
            marks.append(&words, block.len());
        }
        self.plan.note_ties(around, block);
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

    pub(super) fn look_at_unfinished(&mut self, around: &Surroundings<'_>, tree: &Tree) {
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

    /// Asks for rows by range from now on.
    pub(in crate::session) fn want_ranged(&mut self, trace: &Trace) {
        if self.ranged.is_none() {
            // What the GPU did is put into ranges at once.
            if let Ok(mut spans) = self.spans.write() {
                spans.update(trace);
            }
            self.ranged = Some((Sifted::by_range(self.spans.clone()), Vec::new()));
            self.complete = false;
        }
    }

    pub(super) fn catch_up_ranged(&mut self, trace: &Trace, until: Instant) -> bool {
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
