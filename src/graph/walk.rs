//! Finding the callers of calls that are recorded when they end.
//!
//! A thread's calls come in the order in which they end, so children stand before their parent, and a call at
//! depth `d` owns the deeper ones since the last call at depth `d` or less. Read backwards, the order is that
//! of a tree whose children are visited last to first: the caller of each is found with one stack. A call is
//! never put under one that began after it: that happens when its own caller was lost.

use super::cells::Place;
use super::forest::Forest;
use super::ranges::OUTSIDE;
use super::stats::Stats;
use crate::trace::{ApiId, Call, TrackId};

/// What is known of an outermost call besides its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outermost {
    /// Function.
    pub api: ApiId,
    /// As recorded: not 0 if its callers are not known.
    pub depth: u8,
    /// Start, ns.
    pub start_ns: u64,
}

/// Takes what the walk finds.
pub(crate) trait Sink {
    /// Stands for a path.
    type Node: Copy;
    /// The path of an outermost call.
    fn root(&mut self, place: Place, outermost: Outermost) -> Self::Node;
    /// The path of a nested call.
    fn child(&mut self, parent: Self::Node, api: ApiId) -> Self::Node;
    /// A call, number `index` of those given to the walk, belongs to this path.
    fn call(&mut self, node: Self::Node, index: usize, call: &Call);
    /// The time, ns, that a call of this path spent outside nested calls.
    fn own_time(&mut self, node: Self::Node, ns: u64);
    /// Many calls, own times included, belong to this path.
    fn merge(&mut self, node: Self::Node, stats: &Stats);
}

/// A call whose nested calls are being visited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<N> {
    /// Its path.
    pub node: N,
    /// Start, ns.
    pub start_ns: u64,
    /// Nesting.
    pub depth: u8,
    /// Its duration less the nested calls seen so far, ns; `None` for a call that has not ended.
    pub left_ns: Option<u64>,
}

/// Gives `sink` the calls in `ended` (by end) and the older ones in `forest`. `frames` holds the calls around
/// them that have not ended, outermost first; it comes back empty.
pub(crate) fn walk<S: Sink>(
    sink: &mut S,
    track: TrackId,
    frames: &mut Vec<Frame<S::Node>>,
    ended: &[Call],
    forest: &Forest,
) {
    for (index, call) in ended.iter().enumerate().rev() {
        leave(sink, frames, call.depth, call.start_ns);
        let duration_ns = duration(call);
        let node = match frames.last_mut() {
            Some(caller) => {
                caller.left_ns = caller.left_ns.map(|left| left.saturating_sub(duration_ns.unwrap_or(0)));
                sink.child(caller.node, call.api)
            }
            None => sink.root(place(track, call), outermost(call)),
        };
        sink.call(node, index, call);
        // Of a call without an end nobody knows what it called.
        if let Some(left_ns) = duration_ns {
            frames.push(Frame { node, start_ns: call.start_ns, depth: call.depth, left_ns: Some(left_ns) });
        }
    }
    forest.give(sink, track, frames);
    leave(sink, frames, 0, 0);
}

/// Ends the visit of all calls that cannot be around one of this depth and start.
pub(crate) fn leave<S: Sink>(sink: &mut S, frames: &mut Vec<Frame<S::Node>>, depth: u8, start_ns: u64) {
    while let Some(top) = frames.last() {
        if top.depth < depth && top.start_ns <= start_ns {
            break;
        }
        if let Some(ns) = top.left_ns.filter(|&ns| ns > 0) {
            sink.own_time(top.node, ns);
        }
        frames.pop();
    }
}

/// The place of an outermost call.
pub(crate) fn place(track: TrackId, call: &Call) -> Place {
    Place { track, site: call.site, stream: call.stream, device: call.device, range: OUTSIDE }
}

/// The rest of what is known of an outermost call.
pub(crate) fn outermost(call: &Call) -> Outermost {
    Outermost { api: call.api, depth: call.depth, start_ns: call.start_ns }
}

/// Duration of a call, ns; `None` if only its entry was seen.
#[inline]
pub(crate) fn duration(call: &Call) -> Option<u64> {
    (!call.flags.entry_only()).then_some(call.duration_ns)
}
