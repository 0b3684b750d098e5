//! Every event of all threads in order of start, without a list of them.
//!
//! A thread's calls can be had in order of start (`Track::in_order`), and how many of them start before a moment is
//! found by bisection. So the event with number `n` is: the last moment before which at most `n` events start, and
//! from there on a merge of the threads. Calls that have not ended stand where they began.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::graph::Tree;
use crate::trace::{OpenCall, Trace, Track, TrackId};

/// Rows fetched of a thread at once.
const FETCH: usize = 32;

/// An event: a call that has ended, by its row, or one that has not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    Ended(TrackId, usize),
    Open(TrackId, OpenCall),
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
pub(super) struct Order<'a, S> {
    pub trace: &'a Trace,
    pub selection: &'a mut S,
    /// By start.
    pub open: &'a [(TrackId, OpenCall)],
}

/// The next event of each stream: start, thread (open calls first), depth, row.
type Heap = BinaryHeap<Reverse<(u64, Option<TrackId>, u8, usize)>>;

/// Next of a thread's rows, or of the open calls.
struct Stream {
    track: Option<TrackId>,
    next: usize,
    fetched: VecDeque<(u64, u8, usize)>,
}

impl<S: Selection> Order<'_, S> {
    /// Events in all.
    pub(super) fn total(&mut self) -> u64 {
        let tracks = self.tracks();
        tracks.map(|track| self.selection.len(self.trace, track) as u64).sum::<u64>() + self.open.len() as u64
    }

    /// Events that start before a time, ns.
    pub(super) fn before(&mut self, ns: u64) -> u64 {
        let open = self.open.partition_point(|(_, call)| call.start_ns < ns) as u64;
        let tracks = self.tracks();
        tracks.map(|track| self.selection.before(self.trace, track, ns) as u64).sum::<u64>() + open
    }

    fn tracks(&self) -> impl Iterator<Item = TrackId> + use<S> {
        (0..u32::try_from(self.trace.tracks.len()).unwrap_or(u32::MAX)).map(TrackId)
    }

    /// The events from number `first` on.
    pub(super) fn window(&mut self, first: u64, count: usize) -> Vec<Event> {
        // The last moment before which at most `first` events start.
        let (mut low, mut high) = (self.trace.start_ns(), self.trace.end_ns().saturating_add(1));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.before(middle) <= first {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut skip = first.saturating_sub(self.before(low));
        let mut streams = self.streams(low);
        let mut heap = Heap::new();
        for index in 0..streams.len() {
            self.push(&mut streams, index, &mut heap);
        }
        let mut events = Vec::with_capacity(count);
        while events.len() < count {
            let Some(Reverse((_, track, _, row))) = heap.pop() else { break };
            let index = track.map_or(0, |track| track.index() + 1);
            self.push(&mut streams, index, &mut heap);
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let open = || self.open.get(row).map(|&(track, call)| Event::Open(track, call));
            events.extend(track.map_or_else(open, |track| Some(Event::Ended(track, row))));
        }
        events
    }

    /// One stream for the open calls and one for each thread, all at `ns`.
    fn streams(&mut self, ns: u64) -> Vec<Stream> {
        let open = self.open.partition_point(|(_, call)| call.start_ns < ns);
        let mut streams = vec![Stream { track: None, next: open, fetched: VecDeque::new() }];
        for track in self.tracks() {
            let next = self.selection.before(self.trace, track, ns);
            streams.push(Stream { track: Some(track), next, fetched: VecDeque::new() });
        }
        streams
    }

    /// Puts the next event of a stream on the heap.
    fn push(&mut self, streams: &mut [Stream], index: usize, heap: &mut Heap) {
        let Some(stream) = streams.get_mut(index) else { return };
        let Some(track) = stream.track else {
            if let Some((_, call)) = self.open.get(stream.next) {
                heap.push(Reverse((call.start_ns, None, call.depth, stream.next)));
                stream.next += 1;
            }
            return;
        };
        if stream.fetched.is_empty() {
            let places = stream.next..stream.next + FETCH;
            stream.fetched.extend(self.selection.rows(self.trace, track, places));
            stream.next += stream.fetched.len();
        }
        if let Some((ns, depth, row)) = stream.fetched.pop_front() {
            heap.push(Reverse((ns, Some(track), depth, row)));
        }
    }
}
