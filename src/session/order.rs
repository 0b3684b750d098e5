//! Every event of all threads in order of start, without a list of them.
//!
//! A thread's calls can be had in order of start (`Track::in_order`), and how many of them start before a moment is
//! found by bisection. So the event with number `n` is: the last moment before which at most `n` events start, and
//! from there on a merge of the threads. Calls that have not ended stand where they began. What the GPU did and ranges
//! stand among the calls ([`Others`]).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use super::others::Others;
use crate::graph::Tree;
use crate::lens::{Marks, Selected};
use crate::trace::activity::LaneId;
use crate::trace::{OpenCall, Trace, Track, TrackId};

/// Rows fetched of a thread at once.
const FETCH: usize = 32;
/// Events among which a call is looked for that start at the same time, or soon after.
const SAME_START: usize = 512;

/// An event: a call that has ended, by its row, or one that has not; a range or a record of a lane, by its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    Ended(TrackId, usize),
    Open(TrackId, OpenCall),
    Range(TrackId, usize),
    Record(LaneId, usize),
}

/// Which rows of a thread take part, in order of start.
pub(super) trait Selection {
    /// How many there are.
    fn len(&mut self, trace: &Trace, track: TrackId) -> usize;
    /// How many start before this time.
    fn before(&mut self, trace: &Trace, track: TrackId, ns: u64) -> usize;
    /// The rows at these places, with their starts.
    fn rows(&mut self, trace: &Trace, track: TrackId, places: Range<usize>) -> Vec<(u64, u8, usize)>;
}

/// All rows.
pub(super) struct All;

impl Selection for All {
    fn len(&mut self, trace: &Trace, track: TrackId) -> usize {
        trace.track(track).map_or(0, Track::len)
    }

    fn before(&mut self, trace: &Trace, track: TrackId, ns: u64) -> usize {
        trace.track(track).map_or(0, |track| before(track, ns))
    }

    fn rows(&mut self, trace: &Trace, track: TrackId, places: Range<usize>) -> Vec<(u64, u8, usize)> {
        let Some(track) = trace.track(track) else { return Vec::new() };
        let rows = track.in_order(places).into_iter();
        rows.filter_map(|row| track.call(row).map(|call| (call.start_ns, call.depth, row))).collect()
    }
}

/// The rows that a lens selects.
pub(super) struct Sieved<'a>(pub &'a Selected);

impl Sieved<'_> {
    fn marks(&self, track: TrackId) -> Option<&Marks> {
        self.0.calls.get(track.index())
    }

    /// Selected rows whose outermost call has not ended, in order of start.
    fn rest(&self, id: TrackId, track: &Track) -> Vec<(u64, u8, usize)> {
        let rows = self.0.unfinished.get(id.index()).map_or(&[][..], Vec::as_slice);
        let place = |&row: &usize| track.call(row).map(|call| (call.start_ns, call.depth, row));
        let mut rest: Vec<_> = rows.iter().filter_map(place).collect();
        rest.sort_unstable();
        rest
    }

    /// Selected rows of a group, in order of start.
    fn of_group(marks: &Marks, track: &Track, group: Range<usize>) -> Vec<(u64, u8, usize)> {
        let mut rows = Vec::new();
        let mut row = group.start;
        track.for_each(group, |call| {
            if marks.has(row) {
                rows.push((call.start_ns, call.depth, row));
            }
            row += 1;
        });
        rows.sort_unstable();
        rows
    }
}

impl Selection for Sieved<'_> {
    fn len(&mut self, _: &Trace, id: TrackId) -> usize {
        let rest = self.0.unfinished.get(id.index()).map_or(0, Vec::len);
        self.marks(id).map_or(0, Marks::ones) + rest
    }

    fn before(&mut self, trace: &Trace, id: TrackId, ns: u64) -> usize {
        let (Some(track), Some(marks)) = (trace.track(id), self.marks(id)) else { return 0 };
        let place = before(track, ns);
        if place >= marks.len() {
            return marks.ones() + self.rest(id, track).partition_point(|event| event.0 < ns);
        }
        let group = track.group(place);
        let earlier = marks.rank(group.start);
        earlier + Self::of_group(marks, track, group).partition_point(|event| event.0 < ns)
    }

    fn rows(&mut self, trace: &Trace, id: TrackId, places: Range<usize>) -> Vec<(u64, u8, usize)> {
        let mut rows = Vec::new();
        let (Some(track), Some(marks)) = (trace.track(id), self.marks(id)) else { return rows };
        let mut place = places.start;
        while place < places.end.min(marks.ones()) {
            let Some(row) = marks.select(place) else { break };
            let group = track.group(row);
            let first = marks.rank(group.start);
            let of_group = Self::of_group(marks, track, group);
            let (from, upto) = (place - first, (places.end - first).min(of_group.len()));
            rows.extend(of_group.get(from..upto).unwrap_or_default());
            place = (first + of_group.len()).max(place + 1);
        }
        if place < places.end {
            let rest = self.rest(id, track);
            let from = place.saturating_sub(marks.ones());
            rows.extend(rest.into_iter().skip(from).take(places.end - place));
        }
        rows
    }
}

/// No rows.
pub(super) struct NoCalls;

impl Selection for NoCalls {
    fn len(&mut self, _: &Trace, _: TrackId) -> usize {
        0
    }

    fn before(&mut self, _: &Trace, _: TrackId, _: u64) -> usize {
        0
    }

    fn rows(&mut self, _: &Trace, _: TrackId, _: Range<usize>) -> Vec<(u64, u8, usize)> {
        Vec::new()
    }
}

/// Rows of a thread that start before a time. Calls whose outermost call was lost stand in the group of the next one
/// and start before it, where bisection by outermost calls does not see them.
pub(super) fn before(track: &Track, ns: u64) -> usize {
    let count = track.count_before(ns);
    if count >= track.len() {
        return count;
    }
    let group = track.group(count);
    let first = track.call(group.start);
    let outermost = group.end.checked_sub(1).and_then(|row| track.call(row));
    let lost = first.zip(outermost).is_some_and(|(first, outermost)| first.start_ns < outermost.start_ns);
    if group.start != count || !lost {
        return count;
    }
    let mut earlier = 0;
    track.for_each(group, |call| earlier += usize::from(call.start_ns < ns));
    count + earlier
}

/// The calls of a trace that have not ended, in order of start.
pub(super) fn open_calls(trace: &Trace, tree: &Tree) -> Vec<(TrackId, OpenCall)> {
    let mut open = Vec::new();
    for (index, track) in trace.tracks.iter().enumerate() {
        let Ok(id) = u32::try_from(index).map(TrackId) else { break };
        open.extend(tree.still_open(id, &track.in_flight).map(|&call| (id, call)));
    }
    open.sort_by_key(|(track, call)| (call.start_ns, call.depth, *track));
    open
}

/// The order of the selected rows and the open calls.
pub(super) struct Order<'a, S: ?Sized> {
    pub trace: &'a Trace,
    pub selection: &'a mut S,
    /// By start.
    pub open: &'a [(TrackId, OpenCall)],
    pub others: &'a Others,
    /// What a lens selects.
    pub sieve: Option<&'a Selected>,
}

/// The next event of each stream: start, stream, depth, row.
type Heap = BinaryHeap<Reverse<(u64, usize, u8, usize)>>;

/// Where events come from.
#[derive(Clone, Copy)]
enum Source {
    Open,
    Ranges(TrackId),
    Calls(TrackId),
    Lane(LaneId),
}

/// Next of a source's rows.
struct Stream {
    source: Source,
    next: usize,
    fetched: VecDeque<(u64, u8, usize)>,
}

impl<S: Selection + ?Sized> Order<'_, S> {
    /// Events in all.
    pub(super) fn total(&mut self) -> u64 {
        self.sources().map(|source| self.len(source) as u64).sum()
    }

    /// Events that start before a time, ns.
    pub(super) fn before(&mut self, ns: u64) -> u64 {
        self.sources().map(|source| self.before_in(source, ns) as u64).sum()
    }

    /// All sources, in the order in which their events stand that start at the same time.
    fn sources(&self) -> impl Iterator<Item = Source> + use<S> {
        let tracks = u32::try_from(self.trace.tracks.len()).unwrap_or(u32::MAX);
        let lanes = u32::try_from(self.trace.activities.lanes().len()).unwrap_or(u32::MAX);
        let (ranges, calls) = ((0..tracks).map(TrackId), (0..tracks).map(TrackId));
        let threads = ranges.map(Source::Ranges).chain(calls.map(Source::Calls));
        std::iter::once(Source::Open).chain(threads).chain((0..lanes).map(LaneId).map(Source::Lane))
    }

    fn len(&mut self, source: Source) -> usize {
        match source {
            Source::Open => self.open.len(),
            Source::Ranges(track) => self.others.ranges(self.trace, self.sieve, track),
            Source::Calls(track) => self.selection.len(self.trace, track),
            Source::Lane(lane) => self.others.len(lane),
        }
    }

    fn before_in(&mut self, source: Source, ns: u64) -> usize {
        match source {
            Source::Open => self.open.partition_point(|(_, call)| call.start_ns < ns),
            Source::Ranges(track) => self.others.ranges_before(self.trace, self.sieve, track, ns),
            Source::Calls(track) => self.selection.before(self.trace, track, ns),
            Source::Lane(lane) => self.others.before(self.trace, lane, ns),
        }
    }

    fn rows(&mut self, source: Source, places: Range<usize>) -> Vec<(u64, u8, usize)> {
        match source {
            Source::Open => {
                let open = self.open.iter().enumerate().skip(places.start).take(places.len());
                open.map(|(row, (_, call))| (call.start_ns, call.depth, row)).collect()
            }
            Source::Ranges(track) => self.others.range_rows(self.trace, self.sieve, track, places),
            Source::Calls(track) => self.selection.rows(self.trace, track, places),
            Source::Lane(lane) => self.others.rows(self.trace, lane, places),
        }
    }

    /// A span of time in which all events start, ns.
    fn span(&self) -> (u64, u64) {
        // Records without times stand where they were written down, which may be outside.
        let lanes = self.trace.activities.lanes().iter().filter(|lane| !lane.is_empty());
        let lanes = lanes.map(crate::trace::Lane::span);
        let trace = (self.trace.start_ns(), self.trace.end_ns());
        lanes.fold(trace, |all, lane| (all.0.min(lane.0), all.1.max(lane.1)))
    }

    /// The events from number `first` on.
    pub(super) fn window(&mut self, first: u64, count: usize) -> Vec<Event> {
        // The last moment before which at most `first` events start.
        let (mut low, high) = self.span();
        let mut high = high.saturating_add(1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.before(middle) <= first {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut skip = first.saturating_sub(self.before(low));
        let mut streams: Vec<Stream> = Vec::new();
        for source in self.sources() {
            let next = self.before_in(source, low);
            if next < self.len(source) {
                streams.push(Stream { source, next, fetched: VecDeque::new() });
            }
        }
        let mut heap = Heap::new();
        for index in 0..streams.len() {
            self.push(&mut streams, index, &mut heap);
        }
        let mut events = Vec::with_capacity(count);
        while events.len() < count {
            let Some(Reverse((_, index, _, row))) = heap.pop() else { break };
            self.push(&mut streams, index, &mut heap);
            if skip > 0 {
                skip -= 1;
                continue;
            }
            events.extend(match streams.get(index).map(|stream| stream.source) {
                Some(Source::Open) => self.open.get(row).map(|&(track, call)| Event::Open(track, call)),
                Some(Source::Ranges(track)) => Some(Event::Range(track, row)),
                Some(Source::Calls(track)) => Some(Event::Ended(track, row)),
                Some(Source::Lane(lane)) => Some(Event::Record(lane, row)),
                None => None,
            });
        }
        events
    }

    /// Number of an ended call that starts at this time, ns.
    pub(super) fn number_of(&mut self, track: TrackId, row: usize, ns: u64) -> Option<u64> {
        let first = self.before(ns);
        let at = self.window(first, SAME_START).iter().position(|&event| event == Event::Ended(track, row))?;
        Some(first + at as u64)
    }

    /// Puts the next event of a stream on the heap.
    fn push(&mut self, streams: &mut [Stream], index: usize, heap: &mut Heap) {
        let Some(stream) = streams.get_mut(index) else { return };
        if stream.fetched.is_empty() {
            let places = stream.next..stream.next + FETCH;
            stream.fetched.extend(self.rows(stream.source, places));
            stream.next += stream.fetched.len();
        }
        if let Some((ns, depth, row)) = stream.fetched.pop_front() {
            heap.push(Reverse((ns, index, depth, row)));
        }
    }
}
