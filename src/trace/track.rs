//! A thread's calls.

use super::call::{Call, Location, OpenCall};
use super::chunk::{Batch, Chunk, ROWS};
use super::ids::{NameId, ProcessId};
use std::ops::Range;
use std::sync::Arc;

/// First number that imports make up for a process or thread that has none, or one that is no number of Linux's, which end
/// far below (`PID_MAX_LIMIT`, 2^22).
pub const MADE_UP: u32 = 0x8000_0000;

/// One thread of a process: its calls in order of completion.
///
/// A call made by the program (depth 0) and the calls nested in it stand one after another, nested ones first: a
/// group. Groups are in order of their outermost call's start. A group whose outermost call has not ended is at the
/// end and has nested calls only.
#[derive(Clone, Debug)]
pub struct Track {
    /// Process.
    pub process: ProcessId,
    /// Thread id.
    pub thread: u32,
    /// Thread name, empty if not recorded.
    pub name: NameId,
    /// Events of this thread that could not be recorded.
    pub lost: u64,
    /// Calls begun and not ended, outermost first.
    pub in_flight: Vec<OpenCall>,
    /// File its raw records lie in.
    pub file: u32,
    sealed: Vec<Arc<Chunk>>,
    tail: Chunk,
    last_outer_ns: u64,
}

impl Track {
    /// A thread without calls.
    #[must_use]
    pub fn new(process: ProcessId, thread: u32, file: u32) -> Self {
        Self {
            process,
            thread,
            name: NameId::NONE,
            lost: 0,
            in_flight: Vec::new(),
            file,
            sealed: Vec::new(),
            tail: Chunk::default(),
            last_outer_ns: 0,
        }
    }

    /// Rows: calls that have ended.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tail.first_row + self.tail.len()
    }

    /// Whether no call has ended yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Chunks in order, the one still growing last (it may be empty).
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = &Chunk> {
        self.sealed.iter().map(|chunk| &**chunk).chain(std::iter::once(&self.tail))
    }

    /// The chunks that will not change, to be shared.
    #[must_use]
    pub fn sealed(&self) -> &[Arc<Chunk>] {
        &self.sealed
    }

    /// The chunk still growing.
    #[must_use]
    pub const fn tail(&self) -> &Chunk {
        &self.tail
    }

    /// The chunk that holds `row`, and the row's number in it.
    #[must_use]
    pub fn chunk_of(&self, row: usize) -> Option<(&Chunk, usize)> {
        let chunk = if row >= self.tail.first_row {
            &self.tail
        } else {
            let at = self.sealed.partition_point(|chunk| chunk.first_row <= row).checked_sub(1)?;
            self.sealed.get(at)?
        };
        let inner = row.checked_sub(chunk.first_row)?;
        (inner < chunk.len()).then_some((chunk, inner))
    }

    /// The call of a row.
    #[must_use]
    pub fn call(&self, row: usize) -> Option<Call> {
        let (chunk, inner) = self.chunk_of(row)?;
        chunk.call(inner)
    }

    /// Where the raw record of a row lies.
    #[must_use]
    pub fn location(&self, row: usize) -> Option<Location> {
        let (chunk, inner) = self.chunk_of(row)?;
        let slots = 1 + u16::from(chunk.call(inner)?.extra);
        Some(Location { file: self.file, offset: chunk.offset(inner)?, slots })
    }

    /// Calls `each` with every call of these rows, in order.
    pub fn for_each(&self, rows: Range<usize>, mut each: impl FnMut(Call)) {
        let from = self.sealed.partition_point(|chunk| chunk.first_row + chunk.len() <= rows.start);
        let rest = self.sealed.get(from..).unwrap_or(&[]).iter().map(|chunk| &**chunk);
        for chunk in rest.chain(std::iter::once(&self.tail)) {
            if chunk.first_row >= rows.end {
                break;
            }
            let start = rows.start.saturating_sub(chunk.first_row);
            chunk.for_each(start..rows.end - chunk.first_row, &mut each);
        }
    }

    /// The rows of the group that holds `row`.
    #[must_use]
    pub fn group(&self, row: usize) -> Range<usize> {
        // Mostly all of it lies in one chunk.
        if let Some((chunk, inner)) = self.chunk_of(row) {
            let (before, after) = chunk.depths().split_at_checked(inner).unwrap_or_default();
            let outer = |depth: &u8| *depth == 0;
            if let (Some(last), Some(outer)) = (before.iter().rposition(outer), after.iter().position(outer)) {
                return chunk.first_row + last + 1..row + outer + 1;
            }
        }
        self.group_start(row)..self.outer_from(row).map_or(self.len(), |outer| outer + 1)
    }

    /// First row whose outermost call starts at or after `ns` in [`Track::in_order`]'s numbering, that is, how many
    /// calls start before it.
    #[must_use]
    pub fn count_before(&self, ns: u64) -> usize {
        // Groups whose outermost call starts before: all but the last of them have ended before it.
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let group = self.group(middle);
            if self.group_starts_at(&group) < ns {
                low = group.end;
            } else {
                high = group.start;
            }
        }
        let Some(last) = low.checked_sub(1) else { return 0 };
        let start = self.group_start(last);
        let mut count = start;
        self.for_each(start..low, |call| count += usize::from(call.start_ns < ns));
        count
    }

    /// Rows in order of start: those at positions `positions` of that order.
    #[must_use]
    pub fn in_order(&self, positions: Range<usize>) -> Vec<usize> {
        let end = positions.end.min(self.len());
        let mut rows = Vec::new();
        let mut at = positions.start;
        while at < end {
            let group = self.group(at);
            let mut ordered = Vec::with_capacity(group.len());
            let mut row = group.start;
            self.for_each(group.clone(), |call| {
                ordered.push((call.start_ns, call.depth, row));
                row += 1;
            });
            ordered.sort_unstable();
            let from = at - group.start;
            let upto = (end - group.start).min(ordered.len());
            rows.extend(ordered.get(from..upto).unwrap_or(&[]).iter().map(|&(.., row)| row));
            at = group.end.max(at + 1);
        }
        rows
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.chunks().map(Chunk::heap_bytes).sum()
    }

    /// Appends a call whose raw record lies at `offset` of the track's file.
    ///
    /// Two clock readings may disagree by some nanoseconds; an outermost call that would start before the one before
    /// it is moved to that one's start, so that groups stay sorted.
    #[inline]
    pub fn push(&mut self, mut call: Call, offset: u64) {
        if call.depth == 0 {
            call.start_ns = call.start_ns.max(self.last_outer_ns);
            self.last_outer_ns = call.start_ns;
        }
        self.push_row(&call, offset);
    }

    fn push_row(&mut self, call: &Call, offset: u64) {
        if !self.tail.fits(call.start_ns) {
            self.seal();
        }
        self.tail.push(call, offset);
    }

    /// Appends a batch, and empties it. As [`Track::push`], call by call.
    pub fn append(&mut self, batch: &mut Batch) {
        let rows = batch.len;
        for (start, depth) in batch.start.iter_mut().zip(&batch.depth).take(rows) {
            if *depth == 0 {
                *start = (*start).max(self.last_outer_ns);
                self.last_outer_ns = *start;
            }
        }
        if !self.tail.append(batch) {
            let mut offset = batch.offset;
            for row in 0..rows {
                let Some(call) = batch.call(row) else { break };
                self.push_row(&call, offset);
                offset = offset.saturating_add(48 * (1 + u64::from(call.extra)));
            }
        }
        batch.len = 0;
    }

    fn seal(&mut self) {
        // A thread that has filled some chunks will fill the next: growing it step by step would copy it.
        let full_so_far = self.tail.len() == ROWS;
        let room = match self.sealed.len() {
            3.. if full_so_far => ROWS,
            _ if full_so_far => ROWS / 4,
            _ => 0,
        };
        let fresh = Chunk::with_room(self.len(), room);
        let mut full = std::mem::replace(&mut self.tail, fresh);
        full.shrink();
        self.sealed.push(Arc::new(full));
    }

    /// The first outermost call at or after `row`.
    #[must_use]
    pub fn outer_from(&self, row: usize) -> Option<usize> {
        let from = self.sealed.partition_point(|chunk| chunk.first_row + chunk.len() <= row);
        let rest = self.sealed.get(from..).unwrap_or(&[]).iter().map(|chunk| &**chunk);
        rest.chain(std::iter::once(&self.tail)).find_map(|chunk| {
            let skip = row.saturating_sub(chunk.first_row);
            let found = chunk.depths().get(skip..)?.iter().position(|&depth| depth == 0)?;
            Some(chunk.first_row + skip + found)
        })
    }

    /// The row after the last outermost call before `row`.
    fn group_start(&self, row: usize) -> usize {
        let upto = self.sealed.partition_point(|chunk| chunk.first_row < row);
        let before = self.sealed.get(..upto).unwrap_or(&[]).iter().map(|chunk| &**chunk);
        let found = before.chain(std::iter::once(&self.tail)).rev().find_map(|chunk| {
            let end = row.saturating_sub(chunk.first_row).min(chunk.len());
            let found = chunk.depths().get(..end)?.iter().rposition(|&depth| depth == 0)?;
            Some(chunk.first_row + found + 1)
        });
        found.unwrap_or(0)
    }

    fn group_starts_at(&self, group: &Range<usize>) -> u64 {
        let last = group.end.checked_sub(1).and_then(|row| self.call(row));
        if let Some(outer) = last.filter(|call| call.depth == 0) {
            return outer.start_ns;
        }
        let mut first = u64::MAX;
        self.for_each(group.clone(), |call| first = first.min(call.start_ns));
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ApiId, CallFlags, SiteId, StreamId};
    use proptest::prelude::*;

    fn call(start_ns: u64, duration_ns: u64, depth: u8, extra: u8) -> Call {
        Call {
            start_ns,
            duration_ns,
            api: ApiId((start_ns % 300) as u16),
            site: SiteId(7),
            stream: StreamId::NONE,
            device: 0,
            depth,
            flags: CallFlags(start_ns.is_multiple_of(5).into()),
            extra,
        }
    }

    fn track() -> Track {
        Track::new(ProcessId(0), 1, 0)
    }

    #[test]
    fn long_times_and_durations_are_kept_exactly() {
        let mut track = track();
        let mut all = Vec::new();
        for (index, start) in [5, 1 << 40, (1 << 40) + 3, 1 << 48, 1 << 50, u64::MAX - 9].into_iter().enumerate() {
            all.push(call(start, [1, u64::from(u32::MAX), 1 << 40][index % 3], 0, 0));
        }
        for call in &all {
            track.push(*call, 0);
        }
        let mut seen = Vec::new();
        track.for_each(0..usize::MAX, |call| seen.push(call));
        assert_eq!(seen, all);
        assert!(track.sealed().len() >= 2);
        for (row, call) in all.iter().enumerate() {
            assert_eq!(track.call(row).as_ref(), Some(call));
        }
    }

    #[test]
    fn many_rows_roll_over() {
        let mut track = track();
        let rows = crate::trace::chunk::ROWS * 2 + 10;
        let mut offset = 4096;
        for row in 0..rows {
            track.push(call(row as u64 * 10, 5, 0, (row % 3) as u8), offset);
            offset += 48 * (1 + row as u64 % 3);
            if row % 1000 == 0 {
                offset += 64;
            }
        }
        assert_eq!(track.len(), rows);
        assert_eq!(track.count_before(655_350), 65_535);
        let mut offset = 4096;
        for row in 0..rows {
            let location = track.location(row).unwrap();
            assert_eq!((location.offset, location.slots), (offset, 1 + (row % 3) as u16));
            offset += 48 * u64::from(location.slots);
            if row % 1000 == 0 {
                offset += 64;
            }
        }
        assert_eq!(track.chunks().map(|chunk| chunk.summary().count).sum::<usize>(), rows);
        assert!(track.heap_bytes() < rows * 26);
    }

    /// Random forest: (depth of each call in order of completion), with times that nest.
    fn groups() -> impl Strategy<Value = Vec<Call>> {
        prop::collection::vec((prop::collection::vec(0u8..4, 0..6), 0u64..50), 0..40).prop_map(|groups| {
            let mut calls = Vec::new();
            let mut now = 100;
            for (children, gap) in groups {
                let start = now;
                for depth in children {
                    calls.push(call(now + 1, 2, depth + 1, 0));
                    now += 4;
                }
                calls.push(call(start, now + 1 - start, 0, 0));
                now += 2 + gap;
            }
            calls
        })
    }

    proptest! {
        #[test]
        fn batches_equal_single_calls(
            calls in prop::collection::vec((0u64..1 << 50, 0u64..6_000_000_000, 0u8..3, 0u8..3), 0..400),
            sorted: bool,
            cut in 1usize..200,
        ) {
            let mut calls: Vec<Call> = calls.iter().map(|&(s, d, depth, extra)| call(s, d >> (s % 8 * 4), depth, extra)).collect();
            if sorted {
                calls.sort_by_key(|call| call.start_ns);
            }
            let (mut one, mut many) = (track(), track());
            let mut batch = Batch::default();
            let mut offset = 4096;
            for (index, call) in calls.iter().enumerate() {
                if index % cut == 0 {
                    many.append(&mut batch);
                    offset += 48 * (index as u64 % 3);
                }
                if batch.is_full() {
                    many.append(&mut batch);
                }
                one.push(*call, offset);
                batch.push(call, offset);
                offset += 48 * (1 + u64::from(call.extra));
            }
            many.append(&mut batch);
            prop_assert_eq!(one.len(), many.len());
            for row in 0..one.len() {
                prop_assert_eq!(one.call(row), many.call(row));
                prop_assert_eq!(one.location(row), many.location(row));
            }
            let summaries = |track: &Track| track.chunks().map(|chunk| chunk.summary().clone()).collect::<Vec<_>>();
            prop_assert_eq!(summaries(&one).len(), summaries(&many).len());
            for (one, many) in summaries(&one).iter().zip(&summaries(&many)) {
                prop_assert_eq!(one, many);
            }
        }

        #[test]
        fn order_and_counts_agree_with_sorting(calls in groups(), orphans in 0u64..4, at in 0u64..600) {
            let mut track = track();
            let mut all = calls;
            let last = all.last().map_or(0, Call::end_ns);
            for orphan in 0..orphans {
                all.push(call(last + 5 + orphan * 3, 1, 1, 0));
            }
            for call in &all {
                track.push(*call, 0);
            }
            let mut rows: Vec<usize> = (0..all.len()).collect();
            rows.sort_by_key(|&row| (all[row].start_ns, all[row].depth, row));
            prop_assert_eq!(track.in_order(0..usize::MAX), rows.clone());
            for from in (0..all.len()).step_by(3) {
                prop_assert_eq!(track.in_order(from..from + 5), &rows[from..(from + 5).min(all.len())]);
            }
            let before = all.iter().filter(|call| call.start_ns < at).count();
            prop_assert_eq!(track.count_before(at), before);
        }
    }
}
