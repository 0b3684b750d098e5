//! The events behind a node of the calls tree.
//!
//! A thread's rows are looked through once, block by block; of each block only how many rows match is kept, so that
//! memory does not grow with the matches. Which rows those are is found again for the blocks that are looked at.

use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::order::{Selection, before};
use crate::graph::{CellId, Cells, RowId, Rows, Tree};
use crate::trace::{ApiId, Call, OpenCall, Trace, Track, TrackId};

/// Rows of a block, and a little more up to the end of its last group.
const BLOCK: usize = 1024;
/// Blocks whose matches are kept.
const KEPT: usize = 512;

/// Start, depth and row of an event.
type Place = (u64, u8, usize);

/// Which calls match: those counted in certain cells.
#[derive(Debug, Default)]
struct Wanted {
    /// Of the tree's cells.
    ended: Vec<bool>,
    /// Of the unfinished ones.
    unfinished: Vec<bool>,
    /// The functions at the ends of these cells' paths.
    apis: Vec<bool>,
}

/// Matches of one thread.
#[derive(Debug, Default)]
struct Found {
    /// First row of each block, and how many rows before it match.
    blocks: Vec<(usize, usize)>,
    /// Rows that have been looked through: whole groups.
    rows: usize,
    matches: usize,
    /// Matching rows among those whose outermost call has not ended, in order of start.
    rest: Vec<Place>,
}

/// The events behind a node, as far as they have been looked for.
#[derive(Debug, Default)]
pub(super) struct Matches {
    wanted: Wanted,
    tracks: Vec<Found>,
    kept: FxHashMap<(TrackId, usize), Arc<Vec<Place>>>,
    open: Vec<(TrackId, OpenCall)>,
}

/// Calls that have not ended, and the last rows, with their cells.
pub(super) type Unfinished = (Vec<(OpenCall, Option<CellId>)>, Vec<Option<CellId>>);

/// Finds the cells that calls are counted in.
pub(super) trait Behind {
    /// The cells of calls whose outermost call has ended.
    fn cells(&self) -> &Cells;
    /// Rows of a thread that can be looked at: whole groups.
    fn ready(&self, id: TrackId, track: &Track) -> usize;
    /// The cells of these rows, whole groups; `None` for calls that are not counted.
    fn locate(&self, id: TrackId, track: &Track, rows: Range<usize>) -> Vec<Option<CellId>>;
    /// Likewise, among those of `rows`, of calls that have not ended and of the last rows, from `whole` on.
    fn unfinished(&self, rows: &Rows, id: TrackId, track: &Track, whole: usize) -> Unfinished;
}

impl Behind for Tree {
    fn cells(&self) -> &Cells {
        self.cells()
    }

    fn ready(&self, _: TrackId, track: &Track) -> usize {
        whole_rows(track)
    }

    fn locate(&self, id: TrackId, track: &Track, rows: Range<usize>) -> Vec<Option<CellId>> {
        self.cells().locate(id, &calls(track, rows))
    }

    fn unfinished(&self, rows: &Rows, id: TrackId, track: &Track, whole: usize) -> Unfinished {
        let calls = calls(track, whole..track.len());
        let (open, ended) = self.locate_unfinished(rows.unfinished(), id, &track.in_flight, &calls);
        (self.still_open(id, &track.in_flight).copied().zip(open).collect(), ended)
    }
}

/// The matches with what is needed to look for more.
pub(super) struct Filtered<'a> {
    pub matches: &'a mut Matches,
    pub behind: &'a dyn Behind,
}

impl Matches {
    /// Takes which calls the row counts now, and looks through what has come, until `until`. True when all has been
    /// looked through.
    pub(super) fn update(
        &mut self,
        trace: &Trace,
        behind: &dyn Behind,
        rows: &Rows,
        row: RowId,
        until: Instant,
    ) -> bool {
        self.wanted = Wanted::of(rows, row, behind.cells());
        self.tracks.resize_with(trace.tracks.len(), Found::default);
        self.open.clear();
        let mut complete = true;
        for (index, track) in trace.tracks.iter().enumerate() {
            let Ok(id) = u32::try_from(index).map(TrackId) else { break };
            let whole = whole_rows(track);
            self.unfinished(behind, rows, id, track, whole);
            complete &= self.advance(behind, id, track, behind.ready(id, track), until);
        }
        self.open.sort_by_key(|(track, call)| (call.start_ns, call.depth, *track));
        complete
    }

    /// Open calls that match, by start.
    pub(super) fn open(&self) -> &[(TrackId, OpenCall)] {
        &self.open
    }

    /// Matches among what has not ended.
    fn unfinished(&mut self, behind: &dyn Behind, rows: &Rows, id: TrackId, track: &Track, whole: usize) {
        if whole == track.len() && track.in_flight.is_empty() {
            if let Some(found) = self.tracks.get_mut(id.index()) {
                found.rest.clear();
            }
            return;
        }
        let calls = calls(track, whole..track.len());
        let (open, ended) = behind.unfinished(rows, id, track, whole);
        let wanted = |cell: Option<CellId>| cell.is_some_and(|cell| marked(&self.wanted.unfinished, cell.index()));
        self.open.extend(open.into_iter().filter(|(_, cell)| wanted(*cell)).map(|(call, _)| (id, call)));
        let mut rest: Vec<Place> = (whole..)
            .zip(calls.iter().zip(ended))
            .filter(|(_, (_, cell))| wanted(*cell))
            .map(|(row, (call, _))| (call.start_ns, call.depth, row))
            .collect();
        rest.sort_unstable();
        if let Some(found) = self.tracks.get_mut(id.index()) {
            found.rest = rest;
        }
    }

    /// Looks through further whole groups of a thread.
    fn advance(&mut self, behind: &dyn Behind, id: TrackId, track: &Track, whole: usize, until: Instant) -> bool {
        let Some(found) = self.tracks.get_mut(id.index()) else { return true };
        while found.rows < whole {
            if Instant::now() >= until {
                return false;
            }
            let begun = found.blocks.last().map(|block| block.0).filter(|begun| found.rows - begun < BLOCK);
            let first = begun.unwrap_or_else(|| {
                found.blocks.push((found.rows, found.matches));
                found.rows
            });
            self.kept.remove(&(id, found.blocks.len() - 1));
            let end = track.group((first + BLOCK).min(whole) - 1).end.max(found.rows + 1);
            let range = found.rows..end;
            if self.wanted.any_of(track, &range) {
                let cells = behind.locate(id, track, range);
                found.matches += cells.into_iter().filter(|&cell| self.wanted.ended(cell)).count();
            }
            found.rows = end;
        }
        true
    }

    /// Matching rows of a block, in order of start.
    fn listed(&mut self, behind: &dyn Behind, id: TrackId, track: &Track, block: usize) -> Arc<Vec<Place>> {
        if let Some(known) = self.kept.get(&(id, block)) {
            return known.clone();
        }
        let mut list = Vec::new();
        if let Some(found) = self.tracks.get(id.index()) {
            let first = found.blocks.get(block).map_or(found.rows, |block| block.0);
            let range = first..found.blocks.get(block + 1).map_or(found.rows, |block| block.0);
            if self.wanted.any_of(track, &range) {
                let calls = calls(track, range.clone());
                let cells = behind.locate(id, track, range);
                let all = (first..).zip(calls.iter().zip(cells));
                let matching = all.filter(|(_, (_, cell))| self.wanted.ended(*cell));
                list.extend(matching.map(|(row, (call, _))| (call.start_ns, call.depth, row)));
                list.sort_unstable();
            }
        }
        if self.kept.len() >= KEPT {
            self.kept.clear();
        }
        let list = Arc::new(list);
        self.kept.insert((id, block), list.clone());
        list
    }
}

impl Wanted {
    fn of(rows: &Rows, row: RowId, ended: &Cells) -> Self {
        let mut wanted = Self::default();
        rows.for_each_cell(row, &mut |unfinished, id| {
            let (cells, marks) =
                if unfinished { (rows.unfinished(), &mut wanted.unfinished) } else { (ended, &mut wanted.ended) };
            mark(marks, id.index());
            if let Some(cell) = cells.get(id) {
                mark(&mut wanted.apis, cell.api.index());
            }
        });
        wanted
    }

    fn ended(&self, cell: Option<CellId>) -> bool {
        cell.is_some_and(|cell| marked(&self.ended, cell.index()))
    }

    /// Whether a chunk that holds some of these rows has calls of a wanted function.
    fn any_of(&self, track: &Track, rows: &Range<usize>) -> bool {
        let mut row = rows.start;
        while row < rows.end {
            let Some((chunk, _)) = track.chunk_of(row) else { return false };
            if chunk.summary().apis().any(|ApiId(api)| marked(&self.apis, usize::from(api))) {
                return true;
            }
            row = chunk.first_row() + chunk.len();
        }
        false
    }
}

impl Selection for Filtered<'_> {
    fn len(&mut self, _: &Trace, track: TrackId) -> usize {
        self.matches.tracks.get(track.index()).map_or(0, |found| found.matches + found.rest.len())
    }

    fn before(&mut self, trace: &Trace, id: TrackId, ns: u64) -> usize {
        let Some(track) = trace.track(id) else { return 0 };
        let Some(found) = self.matches.tracks.get(id.index()) else { return 0 };
        let place = before(track, ns);
        if place >= found.rows {
            return found.matches + found.rest.partition_point(|event| event.0 < ns);
        }
        let Some(block) = found.blocks.partition_point(|block| block.0 <= place).checked_sub(1) else { return 0 };
        let earlier = found.blocks.get(block).map_or(0, |block| block.1);
        let list = self.matches.listed(self.behind, id, track, block);
        earlier + list.partition_point(|event| event.0 < ns)
    }

    fn rows(&mut self, trace: &Trace, id: TrackId, places: Range<usize>) -> Vec<Place> {
        let mut rows = Vec::new();
        let Some(track) = trace.track(id) else { return rows };
        let mut place = places.start;
        while place < places.end {
            let Some(found) = self.matches.tracks.get(id.index()) else { break };
            let wanted = places.end - place;
            if place >= found.matches {
                rows.extend(found.rest.iter().skip(place - found.matches).take(wanted));
                break;
            }
            // The last block with so many matches before it is the one that has this match.
            let Some(block) = found.blocks.partition_point(|block| block.1 <= place).checked_sub(1) else { break };
            let earlier = found.blocks.get(block).map_or(0, |block| block.1);
            let list = self.matches.listed(self.behind, id, track, block);
            let before = rows.len();
            rows.extend(list.iter().skip(place - earlier).take(wanted));
            if rows.len() == before {
                break;
            }
            place += rows.len() - before;
        }
        rows
    }
}

/// Rows of a thread up to the end of the last outermost call that has ended.
pub(super) fn whole_rows(track: &Track) -> usize {
    let Some(last) = track.len().checked_sub(1) else { return 0 };
    if track.call(last).is_some_and(|call| call.depth == 0) { track.len() } else { track.group(last).start }
}

fn calls(track: &Track, rows: Range<usize>) -> Vec<Call> {
    let mut calls = Vec::with_capacity(rows.len());
    track.for_each(rows, |call| calls.push(call));
    calls
}

fn mark(marks: &mut Vec<bool>, at: usize) {
    if at >= marks.len() {
        marks.resize(at + 1, false);
    }
    if let Some(mark) = marks.get_mut(at) {
        *mark = true;
    }
}

fn marked(marks: &[bool], at: usize) -> bool {
    marks.get(at).copied().unwrap_or(false)
}
