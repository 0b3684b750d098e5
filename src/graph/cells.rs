//! The finest cells: one for each thread, stream, device, call site and path of calls.
//!
//! Every grouping of the calls screen is a fold of these. Stream and device are those of the outermost call,
//! so that a call and what it calls stay together.

use std::sync::{Arc, PoisonError, RwLock};

use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::FxHashMap;

use super::ranges::{RangeIndex, RangeNode};
use super::stats::Stats;
use super::walk::{Outermost, Sink, duration};
use crate::trace::{ApiId, Call, SiteId, StreamId, TrackId};

/// Number of a cell. A parent's is smaller than its children's.
pub type CellId = NodeIndex<u32>;

/// Where the outermost call of a path was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Thread.
    pub track: TrackId,
    /// The code that called.
    pub site: SiteId,
    /// Stream argument of the call.
    pub stream: StreamId,
    /// Current device.
    pub device: u8,
    /// The range around it, where ranges are told apart.
    pub range: RangeNode,
}

/// A path of calls at a place, and what is known of the calls at its end.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Where the path begins.
    pub place: Place,
    /// The cell of the calling call; `None` for calls made by the program.
    pub parent: Option<CellId>,
    /// The function at the end of the path.
    pub api: ApiId,
    /// Whether the same function stands elsewhere on the path already: its time is counted there.
    pub nested_in_itself: bool,
    /// Its calls are not counted: it only leads to others.
    pub hidden: bool,
    /// A path whose calls are counted leads to it.
    pub inner: bool,
    /// Its calls.
    pub stats: Stats,
}

/// All cells, and the calling relation between them.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    graph: DiGraph<Cell, (), u32>,
    roots: FxHashMap<(u64, u64, RangeNode), CellId>,
    children: FxHashMap<u64, CellId>,
    /// For each cell the generation in which it last changed.
    stamps: Vec<u32>,
    generation: u32,
    /// Tells ranges apart.
    pub(super) ranges: Option<Arc<RwLock<RangeIndex>>>,
    /// The range that was found last: of which thread, from when until before when, ns.
    last_range: Option<(TrackId, u64, u64, RangeNode)>,
}

impl Cells {
    /// Cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.graph.node_count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A cell.
    #[must_use]
    pub fn get(&self, id: CellId) -> Option<&Cell> {
        self.graph.node_weight(id)
    }

    /// Cells that changed after `generation`, parents before children.
    pub fn changed_since(&self, generation: u32) -> impl Iterator<Item = (CellId, &Cell)> {
        let stamps = self.stamps.iter().zip(0u32..);
        stamps
            .filter(move |&(&stamp, _)| stamp > generation)
            .filter_map(|(_, index)| self.get(CellId::from(index)).map(|cell| (CellId::from(index), cell)))
    }

    /// All cells, parents before children.
    pub fn iter(&self) -> impl Iterator<Item = (CellId, &Cell)> {
        self.graph.node_indices().zip(self.graph.node_weights())
    }

    /// The graph itself: an edge leads from the calling path to the called.
    #[must_use]
    pub fn graph(&self) -> &DiGraph<Cell, (), u32> {
        &self.graph
    }

    /// Number of the current state; changes are stamped with it.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Begins a new state: what changes from here on is told apart from what changed before.
    pub(super) fn next_generation(&mut self) {
        self.generation += 1;
    }

    /// A place with its range, where these are told apart.
    #[inline]
    pub(super) fn within(&self, place: Place, start_ns: u64) -> Place {
        match &self.ranges {
            None => place,
            Some(ranges) => {
                let range = ranges.read().unwrap_or_else(PoisonError::into_inner).at(place.track, start_ns);
                Place { range, ..place }
            }
        }
    }

    /// Likewise, quicker where the range is that of the last call.
    #[inline]
    fn within_near(&mut self, place: Place, start_ns: u64) -> Place {
        let Some(ranges) = &self.ranges else { return place };
        let known = self
            .last_range
            .filter(|&(track, from, until, _)| track == place.track && from <= start_ns && start_ns < until);
        let range = known.map_or_else(
            || {
                let (range, until) =
                    ranges.read().unwrap_or_else(PoisonError::into_inner).at_until(place.track, start_ns);
                self.last_range = Some((place.track, start_ns, until, range));
                range
            },
            |known| known.3,
        );
        Place { range, ..place }
    }

    /// The cell of an outermost call, if there is one.
    #[must_use]
    pub fn find_root(&self, place: Place, api: ApiId, hidden: bool) -> Option<CellId> {
        self.roots.get(&root_key(place, api, hidden)).copied()
    }

    /// The cell of a nested call, if there is one.
    #[must_use]
    pub fn find_child(&self, parent: CellId, api: ApiId, hidden: bool) -> Option<CellId> {
        self.children.get(&child_key(parent, api, hidden)).copied()
    }

    /// Notes a call that has begun and not ended.
    pub(super) fn add_running(&mut self, id: CellId) {
        if let Some(stats) = self.change(id) {
            stats.sums.running += 1;
        }
    }

    /// A call that has no nested ones.
    #[inline]
    pub(super) fn whole_call(&mut self, id: CellId, duration_ns: Option<u64>, failed: bool) {
        if let Some(stats) = self.change(id) {
            stats.add_call(duration_ns, failed);
            stats.sums.self_ns = stats.sums.self_ns.saturating_add(duration_ns.unwrap_or(0));
        }
    }

    #[inline]
    pub(super) fn change(&mut self, id: CellId) -> Option<&mut Stats> {
        if let Some(stamp) = self.stamps.get_mut(id.index()) {
            *stamp = self.generation;
        }
        self.graph.node_weight_mut(id).map(|cell| &mut cell.stats)
    }

    /// The cell of an outermost call; those whose calls are not counted are others.
    #[inline]
    pub(super) fn root_of(&mut self, place: Place, outermost: Outermost, hidden: bool) -> CellId {
        let place = self.within_near(place, outermost.start_ns);
        let key = root_key(place, outermost.api, hidden);
        if let Some(&id) = self.roots.get(&key) {
            return id;
        }
        let id = self.make(place, None, outermost.api, hidden);
        self.roots.insert(key, id);
        id
    }

    /// The cell of a nested call, likewise.
    #[inline]
    pub(super) fn child_of(&mut self, parent: CellId, api: ApiId, hidden: bool) -> CellId {
        let key = child_key(parent, api, hidden);
        if let Some(&id) = self.children.get(&key) {
            return id;
        }
        let Some(place) = self.get(parent).map(|cell| cell.place) else { return parent };
        let id = self.make(place, Some(parent), api, hidden);
        self.children.insert(key, id);
        id
    }

    fn make(&mut self, place: Place, parent: Option<CellId>, api: ApiId, hidden: bool) -> CellId {
        let (mut nested_in_itself, mut inner) = (false, false);
        let mut above = parent;
        while let Some(cell) = above.and_then(|id| self.get(id)) {
            nested_in_itself |= cell.api == api && !cell.hidden;
            inner |= !cell.hidden;
            above = cell.parent;
        }
        let stats = Stats::default();
        let id = self.graph.add_node(Cell { place, parent, api, nested_in_itself, hidden, inner, stats });
        self.stamps.push(self.generation);
        if let Some(parent) = parent {
            self.graph.add_edge(parent, id, ());
        }
        id
    }
}

impl Sink for Cells {
    type Node = CellId;

    #[inline]
    fn root(&mut self, place: Place, outermost: Outermost) -> CellId {
        self.root_of(place, outermost, false)
    }

    #[inline]
    fn child(&mut self, parent: CellId, api: ApiId) -> CellId {
        self.child_of(parent, api, false)
    }

    #[inline]
    fn call(&mut self, node: CellId, _: usize, call: &Call) {
        if let Some(stats) = self.change(node) {
            stats.add_call(duration(call), call.flags.failed());
        }
    }

    #[inline]
    fn own_time(&mut self, node: CellId, ns: u64) {
        if let Some(stats) = self.change(node) {
            stats.sums.self_ns = stats.sums.self_ns.saturating_add(ns);
        }
    }

    fn merge(&mut self, node: CellId, other: &Stats) {
        if let Some(stats) = self.change(node) {
            stats.merge(other);
        }
    }
}

#[inline]
fn root_key(place: Place, api: ApiId, hidden: bool) -> (u64, u64, RangeNode) {
    let who = (place.track.index() as u64) << 32 | place.site.index() as u64;
    let what = (place.stream.index() as u64) << 32 | u64::from(place.device) << 16 | api.index() as u64;
    (who, what | u64::from(hidden) << 63, place.range)
}

#[inline]
fn child_key(parent: CellId, api: ApiId, hidden: bool) -> u64 {
    u64::from(hidden) << 63 | (parent.index() as u64) << 16 | api.index() as u64
}
