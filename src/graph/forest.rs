//! Nested calls of a call that runs for long, folded so that memory does not grow with their number.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::cells::Place;
use super::stats::Stats;
use super::walk::{Frame, Outermost, Sink, duration, leave};
use crate::trace::{ApiId, Call, TrackId};

/// Finished calls whose callers have not ended, merged by path.
///
/// Where a caller was lost in the middle of what is merged here, its children can no longer be told from
/// those of the next caller; they all count as made by the program then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forest {
    nodes: Vec<Node>,
    index: FxHashMap<Key, usize>,
}

#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    place: Place,
    /// Of a root, the earliest start.
    outermost: Outermost,
    stats: Stats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Root(Place, ApiId, u8),
    Child(usize, ApiId),
}

impl Forest {
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Gives everything to `sink`, below the calls in `frames`, which all ended (or will end) later.
    pub(crate) fn give<S: Sink>(&self, sink: &mut S, track: TrackId, frames: &mut Vec<Frame<S::Node>>) {
        let mut roots: Vec<usize> = (0..self.nodes.len()).filter(|&at| self.parent(at).is_none()).collect();
        // The deeper a call without a caller, the later it ended.
        roots
            .sort_by_key(|&at| Reverse(self.nodes.get(at).map(|node| (node.outermost.depth, node.outermost.start_ns))));
        let mut given: Vec<Option<S::Node>> = vec![None; self.nodes.len()];
        for at in roots {
            let Some(node) = self.nodes.get(at) else { continue };
            leave(sink, frames, node.outermost.depth, node.outermost.start_ns);
            let to = match frames.last_mut() {
                Some(caller) => {
                    caller.left_ns = caller.left_ns.map(|left| left.saturating_sub(node.stats.sums.total_ns));
                    sink.child(caller.node, node.outermost.api)
                }
                None => sink.root(Place { track, ..node.place }, node.outermost),
            };
            sink.merge(to, &node.stats);
            if let Some(slot) = given.get_mut(at) {
                *slot = Some(to);
            }
        }
        for (at, node) in self.nodes.iter().enumerate() {
            let parent = node.parent.and_then(|parent| given.get(parent).copied().flatten());
            if let Some(parent) = parent {
                let to = sink.child(parent, node.outermost.api);
                sink.merge(to, &node.stats);
                if let Some(slot) = given.get_mut(at) {
                    *slot = Some(to);
                }
            }
        }
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.nodes.get(at).and_then(|node| node.parent)
    }

    fn entry(&mut self, key: Key, parent: Option<usize>, place: Place, outermost: Outermost) -> usize {
        let next = self.nodes.len();
        let at = *self.index.entry(key).or_insert(next);
        if at == next {
            self.nodes.push(Node { parent, place, outermost, stats: Stats::default() });
        }
        at
    }
}

impl Sink for Forest {
    type Node = usize;

    fn root(&mut self, place: Place, outermost: Outermost) -> usize {
        let at = self.entry(Key::Root(place, outermost.api, outermost.depth), None, place, outermost);
        if let Some(node) = self.nodes.get_mut(at) {
            node.outermost.start_ns = node.outermost.start_ns.min(outermost.start_ns);
        }
        at
    }

    fn child(&mut self, parent: usize, api: ApiId) -> usize {
        let Some((place, above)) = self.nodes.get(parent).map(|node| (node.place, node.outermost)) else {
            return parent;
        };
        self.entry(Key::Child(parent, api), Some(parent), place, Outermost { api, ..above })
    }

    fn call(&mut self, node: usize, _: usize, call: &Call) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.stats.add_call(duration(call), call.flags.failed());
        }
    }

    fn own_time(&mut self, node: usize, ns: u64) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.stats.sums.self_ns = node.stats.sums.self_ns.saturating_add(ns);
        }
    }

    fn merge(&mut self, node: usize, stats: &Stats) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.stats.merge(stats);
        }
    }
}
