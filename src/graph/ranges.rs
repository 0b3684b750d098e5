//! Which range of its thread a moment lies in, and how often and how long ranges ran, by the names on the way to them.
//!
//! A thread's ranges come in order of start. A range is closed when the next one begins after its end, so that the
//! result does not depend on how much was read at a time.

use rustc_hash::FxHashMap;

use super::stats::Stats;
use crate::trace::activity::TextId;
use crate::trace::{RangeKind, Trace, TrackId};

/// Number of a path of ranges. A parent's is smaller than its children's.
pub type RangeNode = u32;
/// Outside of all ranges.
pub const OUTSIDE: RangeNode = 0;

/// A path of ranges by domain and name.
#[derive(Clone, Debug, Default)]
pub struct RangePath {
    /// The range around it, or [`OUTSIDE`].
    pub parent: RangeNode,
    /// Domain.
    pub domain: TextId,
    /// Name.
    pub name: TextId,
    /// Ranges that have ended, as far as they are counted here.
    ended: Stats,
}

/// All paths, and what was open when.
#[derive(Clone, Debug)]
pub struct RangeIndex {
    paths: Vec<RangePath>,
    ids: FxHashMap<(RangeNode, TextId, TextId), RangeNode>,
    tracks: Vec<OfTrack>,
}

#[derive(Clone, Debug, Default)]
struct OfTrack {
    /// Of each row that has been taken its path; of marks none.
    nodes: Vec<RangeNode>,
    /// From when on which range was the innermost one.
    changes: Vec<(u64, RangeNode)>,
    /// Ranges that are not closed, innermost last.
    open: Vec<Open>,
    /// Ranges without an end that any thread may end.
    started: Vec<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    row: usize,
    node: RangeNode,
    start_ns: u64,
    end_ns: Option<u64>,
}

impl Default for RangeIndex {
    fn default() -> Self {
        Self { paths: vec![RangePath::default()], ids: FxHashMap::default(), tracks: Vec::new() }
    }
}

impl RangeIndex {
    /// Takes what has been read since the last time.
    pub fn update(&mut self, trace: &Trace) {
        self.tracks.resize_with(trace.tracks.len(), OfTrack::default);
        for index in 0..self.tracks.len() {
            let Ok(id) = u32::try_from(index).map(TrackId) else { return };
            let Some(mut of) = self.tracks.get_mut(index).map(std::mem::take) else { return };
            self.take(trace, id, &mut of);
            if let Some(place) = self.tracks.get_mut(index) {
                *place = of;
            }
        }
    }

    fn take(&mut self, trace: &Trace, id: TrackId, of: &mut OfTrack) {
        let ranges = trace.ranges.of(id);
        for open in of.open.iter_mut().chain(&mut of.started) {
            open.end_ns = ranges.get(open.row).and_then(crate::trace::range::Range::end_ns);
        }
        for (row, range) in ranges.iter().enumerate().skip(of.nodes.len()) {
            if range.kind == RangeKind::Mark {
                of.nodes.push(OUTSIDE);
                continue;
            }
            self.close(of, range.start_ns, usize::from(range.level));
            let parent = of.open.last().map_or(OUTSIDE, |open| open.node);
            let node = self.node(parent, trace.ranges.domain(range), range.name);
            of.nodes.push(node);
            let open = Open { row, node, start_ns: range.start_ns, end_ns: range.end_ns() };
            if range.kind == RangeKind::Started {
                of.started.push(open);
            } else {
                of.open.push(open);
                of.changes.push((range.start_ns, node));
            }
        }
        let paths = &mut self.paths;
        of.started.retain(|open| match open.end_ns {
            Some(end) => {
                count(paths, open, end);
                false
            }
            None => true,
        });
    }

    /// Closes what ended before a range began, at `now_ns`. What ended in the same nanosecond did so before if more are
    /// open than the recorder counted around it, `level`.
    fn close(&mut self, of: &mut OfTrack, now_ns: u64, level: usize) {
        loop {
            let ended = of.open.iter().enumerate().filter_map(|(at, open)| Some((open.end_ns?, at)));
            // Of several with one end the innermost goes first.
            let before = |end: u64| end < now_ns || (end == now_ns && of.open.len() > level);
            let next = ended.filter(|&(end, _)| before(end)).min_by_key(|&(end, at)| (end, std::cmp::Reverse(at)));
            let Some((end, at)) = next else { return };
            let open = of.open.remove(at);
            count(&mut self.paths, &open, end);
            of.changes.push((end, of.open.last().map_or(OUTSIDE, |open| open.node)));
        }
    }

    fn node(&mut self, parent: RangeNode, domain: TextId, name: TextId) -> RangeNode {
        if let Some(&known) = self.ids.get(&(parent, domain, name)) {
            return known;
        }
        let Ok(node) = RangeNode::try_from(self.paths.len()) else { return OUTSIDE };
        self.paths.push(RangePath { parent, domain, name, ended: Stats::default() });
        self.ids.insert((parent, domain, name), node);
        node
    }

    /// The innermost range of a thread at a moment, ns.
    #[must_use]
    pub fn at(&self, track: TrackId, ns: u64) -> RangeNode {
        self.at_until(track, ns).0
    }

    /// Likewise, and the first moment, ns, from which on it may be another one.
    #[must_use]
    pub fn at_until(&self, track: TrackId, ns: u64) -> (RangeNode, u64) {
        let later = ns.saturating_add(1);
        let Some(of) = self.tracks.get(track.index()) else { return (OUTSIDE, later) };
        let next = of.changes.partition_point(|&(from, _)| from <= ns);
        if let Some(&(until, _)) = of.changes.get(next) {
            let before = next.checked_sub(1).and_then(|at| of.changes.get(at));
            return (before.map_or(OUTSIDE, |change| change.1), until);
        }
        let open = of.open.iter().rev().find(|open| open.end_ns.is_none_or(|end| end > ns));
        (open.map_or(OUTSIDE, |open| open.node), later)
    }

    /// The path of a thread's range by its row; [`OUTSIDE`] for marks.
    #[must_use]
    pub fn node_of(&self, track: TrackId, row: usize) -> RangeNode {
        let nodes = self.tracks.get(track.index()).map_or(&[][..], |of| &of.nodes);
        nodes.get(row).copied().unwrap_or(OUTSIDE)
    }

    /// Paths, [`OUTSIDE`] included.
    #[must_use]
    pub fn paths(&self) -> usize {
        self.paths.len()
    }

    /// A path.
    #[must_use]
    pub fn path(&self, node: RangeNode) -> Option<&RangePath> {
        self.paths.get(node as usize)
    }

    /// The paths from the outermost to this one, itself included; none for [`OUTSIDE`].
    #[must_use]
    pub fn way(&self, mut node: RangeNode) -> Vec<&RangePath> {
        let mut way = Vec::new();
        while node != OUTSIDE
            && let Some(path) = self.path(node)
        {
            way.push(path);
            node = path.parent;
        }
        way.reverse();
        way
    }

    /// Statistics by path, [`OUTSIDE`] first: of ranges that have ended durations; those that have not are running.
    #[must_use]
    pub fn stats(&self) -> Vec<Stats> {
        let mut all: Vec<Stats> = self.paths.iter().map(|path| path.ended.clone()).collect();
        for open in self.tracks.iter().flat_map(|of| of.open.iter().chain(&of.started)) {
            let Some(stats) = all.get_mut(open.node as usize) else { continue };
            match open.end_ns {
                Some(end) => stats.add_call(Some(end.saturating_sub(open.start_ns)), false),
                None => stats.sums.running += 1,
            }
        }
        all
    }
}

impl RangeIndex {
    /// Likewise of those ranges only that are wanted, by thread and row.
    #[must_use]
    pub fn stats_of(&self, trace: &Trace, wanted: impl Fn(TrackId, usize) -> bool) -> Vec<Stats> {
        let mut all = vec![Stats::default(); self.paths.len()];
        for (id, of) in (0..).map(TrackId).zip(&self.tracks) {
            let rows = trace.ranges.of(id).iter().zip(&of.nodes).enumerate();
            for (_, (range, &node)) in rows.filter(|&(row, (_, &node))| node != OUTSIDE && wanted(id, row)) {
                let Some(stats) = all.get_mut(node as usize) else { continue };
                match range.end_ns() {
                    Some(end) => stats.add_call(Some(end.saturating_sub(range.start_ns)), false),
                    None => stats.sums.running += 1,
                }
            }
        }
        all
    }
}

fn count(paths: &mut [RangePath], open: &Open, end_ns: u64) {
    if let Some(path) = paths.get_mut(open.node as usize) {
        path.ended.add_call(Some(end_ns.saturating_sub(open.start_ns)), false);
    }
}
