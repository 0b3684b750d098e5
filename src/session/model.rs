//! What has been read and what is derived from it; makes rows of both.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use super::labels::Namer;
use super::matches::{Filtered, Matches};
use super::order::{All, Order, open_calls};
use super::view::{CallsRequest, CallsRows, EventsRequest, EventsRows};
use super::{calls, events};
use crate::correlate::{Failed, Failures};
use crate::graph::{Cells, Gpu, Grouping, NodeKey, Rows, Tree, Windows};
use crate::symbols::Symbols;
use crate::trace::{Bytes, Trace};

/// A trace and everything derived from it.
#[derive(Default)]
pub(super) struct Model {
    pub trace: Trace,
    pub tree: Tree,
    pub gpu: Gpu,
    /// What has failed.
    pub mishaps: Failures,
    /// The first error that stays, and the line about it.
    pub(super) sticky: Option<(Failed, String)>,
    pub symbols: Symbols,
    /// Where the raw records of each file lie.
    pub files: Vec<Option<Arc<dyn Bytes>>>,
    views: Vec<Derived>,
    matches: Option<(Grouping, NodeKey, Matches)>,
}

/// The rows of a grouping, and the state of the trace they are of.
struct Derived {
    windows: Windows,
    epoch: Option<u64>,
}

impl Model {
    /// Takes into the tree what was read.
    pub(super) fn update(&mut self) {
        self.tree.update(&self.trace);
        self.gpu.update(&self.trace);
        self.mishaps.update(&self.trace, &self.files);
    }

    /// What is under way.
    pub(super) fn unfinished(&self) -> Cells {
        let in_flight =
            |track: crate::trace::TrackId| self.trace.track(track).map_or(&[][..], |track| track.in_flight.as_slice());
        self.tree.unfinished(in_flight, self.trace.tracks.len())
    }

    /// The rows of a grouping as they are now.
    pub(super) fn view(&mut self, grouping: Grouping) -> Option<&mut Windows> {
        let known = self.views.iter().position(|view| view.windows.rows.grouping() == grouping);
        let at = known.unwrap_or_else(|| {
            self.views.push(Derived { windows: Windows::new(Rows::new(grouping)), epoch: None });
            self.views.len() - 1
        });
        let epoch = Some(self.trace.epoch());
        if self.views.get(at).is_some_and(|view| view.epoch != epoch) {
            let unfinished = self.unfinished();
            let view = self.views.get_mut(at)?;
            view.windows.rows.refresh(self.tree.cells(), unfinished, &self.trace);
            view.epoch = epoch;
        }
        self.views.get_mut(at).map(|view| &mut view.windows)
    }

    /// The rows of a grouping as they were made last, and the cells they are of.
    pub(super) fn view_and_cells(&self, grouping: Grouping) -> Option<(&Windows, &Cells)> {
        let view = self.views.iter().find(|view| view.windows.rows.grouping() == grouping)?;
        Some((&view.windows, self.tree.cells()))
    }

    /// Rows of the calls screen.
    pub(super) fn calls(&mut self, request: &CallsRequest) -> CallsRows {
        if self.view(request.grouping).is_none() {
            return CallsRows::default();
        }
        let namer = Namer {
            trace: &self.trace,
            symbols: RefCell::new(&mut self.symbols),
            threads_alone: request.grouping == Grouping::Inverted,
        };
        let view = self.views.iter_mut().find(|view| view.windows.rows.grouping() == request.grouping);
        view.map(|view| calls::rows(&mut view.windows, self.tree.cells(), &namer, request)).unwrap_or_default()
    }

    /// Rows of the events screen, and whether all events have been looked at by `until`.
    pub(super) fn events(&mut self, request: EventsRequest, until: Instant) -> (EventsRows, bool) {
        let Some((grouping, key)) = request.node else {
            let open = open_calls(&self.trace, &self.tree);
            let namer = Namer { trace: &self.trace, symbols: RefCell::new(&mut self.symbols), threads_alone: false };
            let order = Order { trace: &self.trace, selection: &mut All, open: &open };
            return (events::rows(order, &self.files, &namer, request), true);
        };
        self.view(grouping);
        if self.matches.as_ref().is_none_or(|(of, node, _)| (*of, *node) != (grouping, key)) {
            self.matches = Some((grouping, key, Matches::default()));
        }
        let rows = self.views.iter().map(|view| &view.windows.rows).find(|rows| rows.grouping() == grouping);
        let row = rows.and_then(|rows| rows.find(key).map(|row| (rows, row)));
        let (Some((rows, row)), Some((_, _, matches))) = (row, self.matches.as_mut()) else {
            return (EventsRows::default(), true);
        };
        let complete = matches.update(&self.trace, &self.tree, rows, row, until);
        let open = matches.open().to_vec();
        let namer = Namer { trace: &self.trace, symbols: RefCell::new(&mut self.symbols), threads_alone: false };
        let mut filtered = Filtered { matches, tree: &self.tree };
        let order = Order { trace: &self.trace, selection: &mut filtered, open: &open };
        (events::rows(order, &self.files, &namer, request), complete)
    }
}
