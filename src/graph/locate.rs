//! Which cell a call is counted in, found again from the calls themselves.

use super::cells::{CellId, Cells, Place};
use super::forest::Forest;
use super::stats::Stats;
use super::tree::Tree;
use super::walk::{Outermost, Sink, walk};
use crate::trace::{ApiId, Call, OpenCall, TrackId};

/// Finds cells instead of making them.
struct Finder<'a> {
    cells: &'a Cells,
    found: Vec<Option<CellId>>,
}

impl Sink for Finder<'_> {
    type Node = Option<CellId>;

    fn root(&mut self, place: Place, outermost: Outermost) -> Option<CellId> {
        self.cells.find_root(self.cells.within(place, outermost.start_ns), outermost.api, false)
    }

    fn child(&mut self, parent: Option<CellId>, api: ApiId) -> Option<CellId> {
        parent.and_then(|parent| self.cells.find_child(parent, api, false))
    }

    fn call(&mut self, node: Option<CellId>, index: usize, _: &Call) {
        if let Some(place) = self.found.get_mut(index) {
            *place = node;
        }
    }

    fn own_time(&mut self, _: Option<CellId>, _: u64) {}

    fn merge(&mut self, _: Option<CellId>, _: &Stats) {}
}

impl Cells {
    /// The cell of each of these calls of a thread. They must begin and end with whole groups: outermost calls with
    /// all that is nested in them.
    #[must_use]
    pub fn locate(&self, track: TrackId, calls: &[Call]) -> Vec<Option<CellId>> {
        let mut finder = Finder { cells: self, found: vec![None; calls.len()] };
        walk(&mut finder, track, &mut Vec::new(), calls, &Forest::default());
        finder.found
    }
}

impl Tree {
    /// The cells, among `unfinished`, of a thread's open calls and of its last calls whose outermost call has not
    /// ended.
    #[must_use]
    pub fn locate_unfinished(
        &self,
        unfinished: &Cells,
        track: TrackId,
        open: &[OpenCall],
        calls: &[Call],
    ) -> (Vec<Option<CellId>>, Vec<Option<CellId>>) {
        let mut finder = Finder { cells: unfinished, found: vec![None; calls.len()] };
        let (mut frames, mut opened) = (Vec::new(), Vec::new());
        self.begin_open(&mut finder, track, open, &mut frames, |_, node| opened.push(node));
        walk(&mut finder, track, &mut frames, calls, &Forest::default());
        (opened, finder.found)
    }
}
