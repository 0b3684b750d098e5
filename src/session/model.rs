//! What has been read and what is derived from it; makes rows of both.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::gpu_events::Context;
use super::kept::Kept;
use super::labels::{Known, Namer};
use super::lensed::Lensed;
use super::matches::{Filtered, Matches};
use super::memory::Books;
use super::memory::lives::Lives;
use super::order::{All, NoCalls, Order, Selection, open_calls};
use super::others::{CellKey, Others};
use super::view::{CallsRequest, CallsRows, EventGroup, EventKinds, EventsAt, EventsRequest, EventsRows, Launches};
use super::{calls, events};
use crate::correlate::{Failed, Failures};
use crate::graph::{Cells, Gpu, Grouping, NodeKey, RangeWork, Rows, Tree, What, Windows, Work, WorkCell, WorkStream};
use crate::symbols::Symbols;
use crate::trace::{Bytes, Lane, Trace};
use rustc_hash::FxHashSet;

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
    others: Others,
    pub(super) launches: Option<KnownLaunches>,
    /// Made when rows by range are first asked for.
    ranged: Option<Ranged>,
    /// The allocations, when somebody has asked for them.
    pub(super) lives: Lives,
    /// What the heatmap is made of.
    pub(super) heat: super::heat::State,
    /// What is seen through a lens.
    pub(super) lensed: Lensed,
    /// What was seen before.
    pub(super) kept: Kept,
    /// What is known of memory.
    pub(super) books: Books,
}

/// What rows by range are made of.
struct Ranged {
    tree: Tree,
    work: RangeWork,
    /// They are of all that had been read.
    complete: bool,
}

/// Calls of which rows by range are made at once.
pub(super) const FEW: u64 = 400_000;
/// Rows by range are made on for so long at each answer.
pub(super) const SLICE: Duration = Duration::from_millis(4);

impl Default for Ranged {
    fn default() -> Self {
        Self { tree: Tree::by_range(), work: RangeWork::default(), complete: false }
    }
}

impl Ranged {
    /// Takes what has been read, until `until`.
    fn advance(&mut self, trace: &Trace, until: Instant) {
        // What is soon done is done at once.
        let few = trace.calls() <= FEW;
        let go_on = &mut || few || Instant::now() < until;
        self.complete = self.tree.update_while(trace, go_on);
        if let Some(ranges) = self.tree.ranges().filter(|_| self.complete) {
            let all = |_, lane: &Lane| lane.len();
            self.complete = self.work.update_some(trace, &ranges, all, |_, _| true, go_on);
        }
    }
}

/// Launches of a kernel as they were looked at last.
pub(super) struct KnownLaunches {
    node: (Grouping, NodeKey),
    /// Records that there were, and what a lens had decided.
    state: (u64, u64),
    at: Instant,
    cost: Duration,
    launches: Launches,
}

/// The rows of a grouping, and the state of the trace they are of.
pub(super) struct Derived {
    pub windows: Windows,
    pub epoch: Option<u64>,
    /// Which call sites were one when they were made.
    pub merged: u64,
}

impl Derived {
    /// Of rows that have nothing in them yet.
    pub(super) fn new(rows: Rows) -> Self {
        Self { windows: Windows::new(rows), epoch: None, merged: 0 }
    }

    /// Begins anew with the rows that `make` gives if other call sites are one now; whether that is so.
    pub(super) fn is_of_other_sites(&mut self, merged: u64, make: impl FnOnce() -> Rows) -> bool {
        let changed = self.merged != merged && self.windows.rows.grouping().has_sites();
        if changed {
            *self = Self { merged, ..Self::new(make()) };
        }
        changed
    }
}

impl Model {
    /// Forgets the trace and everything derived from it; names of places remain.
    pub(super) fn begin_anew(&mut self) {
        let mut symbols = std::mem::take(&mut self.symbols);
        symbols.forget_sites();
        *self = Self { symbols, ..Self::default() };
    }

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
            self.views.push(Derived::new(Rows::new(grouping)));
            self.views.len() - 1
        });
        if grouping.has_sites() {
            self.symbols.ask_all(&self.trace);
        }
        let (epoch, merged) = (Some(self.trace.epoch()), self.symbols.merged());
        if let Some(view) = self.views.get_mut(at)
            && view.is_of_other_sites(merged, || Rows::new(grouping))
        {
            // What was found behind a node may lack what is merged with it now.
            self.matches = None;
        }
        if self.views.get(at).is_some_and(|view| view.epoch != epoch) {
            self.refresh(at, grouping);
        }
        self.views.get_mut(at).map(|view| &mut view.windows)
    }

    /// Makes the rows of a view anew.
    fn refresh(&mut self, at: usize, grouping: Grouping) {
        if grouping == Grouping::Range {
            let ranged = self.ranged.get_or_insert_with(Ranged::default);
            ranged.advance(&self.trace, Instant::now() + SLICE);
        }
        let trace = &self.trace;
        let in_flight =
            |track: crate::trace::TrackId| trace.track(track).map_or(&[][..], |track| track.in_flight.as_slice());
        let tree =
            self.ranged.as_ref().filter(|_| grouping == Grouping::Range).map_or(&self.tree, |ranged| &ranged.tree);
        let unfinished = tree.unfinished(in_flight, trace.tracks.len());
        let Some(view) = self.views.get_mut(at) else { return };
        if view.windows.rows.is_provisional() {
            view.windows = Windows::new(Rows::new(grouping));
        }
        let known = Known(trace, &self.symbols);
        let rows = &mut view.windows.rows;
        rows.refresh(tree.cells(), unfinished, &known);
        match (grouping, &self.ranged) {
            (Grouping::Stream | Grouping::Device, _) => {
                let work = &self.gpu.work;
                rows.refresh_work(work, &work.places(trace), |text| trace.activities.name(text), &known);
            }
            (Grouping::Range, Some(ranged)) => {
                if let Some(ranges) = ranged.tree.ranges() {
                    rows.refresh_ranges(&ranges, ranged.work.work(), &known);
                }
            }
            _ => {}
        }
        let lacks = grouping == Grouping::Range && self.ranged.as_ref().is_some_and(|ranged| !ranged.complete);
        let epoch = Some(self.trace.epoch()).filter(|_| !lacks);
        if let Some(view) = self.views.get_mut(at) {
            view.epoch = epoch;
        }
    }

    /// Another answer is wanted: what the last one lacked is looked for no longer.
    pub(super) const fn drop_wishes(&mut self) {
        self.lives.drop_wish();
        self.drop_heat();
        self.drop_memory();
    }

    /// Where the raw records of each file lie; of a file that is gone there are none.
    pub(super) fn all_files(&self) -> Vec<Arc<dyn Bytes>> {
        let none: Arc<dyn Bytes> = Arc::new(Vec::new());
        self.files.iter().map(|file| file.clone().unwrap_or_else(|| none.clone())).collect()
    }

    /// Goes on with what the last answer lacked, until `until`: the lens, allocations, rows by range. True if a picture has
    /// become whole meanwhile.
    pub(super) fn work(&mut self, until: Instant) -> bool {
        self.sift(until);
        if self.lives.goes_on() {
            self.lives.update(&self.trace, &self.files, until);
        }
        let drawn = self.go_on_with_heat(until);
        self.go_on_with_memory(until);
        match &mut self.ranged {
            _ if self.lensed.is_on() => self.lensed.work_on_ranges(&self.trace, until),
            Some(ranged) if !ranged.complete => ranged.advance(&self.trace, until),
            _ => {}
        }
        drawn
    }

    /// Whether rows by range, if they have been asked for, are of all that had been read then.
    pub(super) fn has_all_ranges(&self) -> bool {
        match &self.ranged {
            _ if self.lensed.is_on() => self.lensed.has_all_ranges(),
            ranged => ranged.as_ref().is_none_or(|ranged| ranged.complete),
        }
    }

    /// The tree and the work that the rows of a grouping are made of.
    fn sources(&self, grouping: Grouping) -> (&Tree, &Work) {
        match &self.ranged {
            Some(ranged) if grouping == Grouping::Range => (&ranged.tree, ranged.work.work()),
            _ => (&self.tree, &self.gpu.work),
        }
    }

    /// The rows of a grouping as they were made last, and the cells they are of.
    pub(super) fn view_and_cells(&self, grouping: Grouping) -> Option<(&Windows, &Cells)> {
        let view = self.views.iter().find(|view| view.windows.rows.grouping() == grouping)?;
        Some((&view.windows, self.sources(grouping).0.cells()))
    }

    /// Rows of the calls screen.
    pub(super) fn calls(&mut self, request: &CallsRequest) -> CallsRows {
        let span_ns = self.span_ns();
        let Some((windows, cells, namer)) = self.in_rows(request.grouping) else { return CallsRows::default() };
        let mut rows = calls::rows(windows, cells, &namer, request);
        rows.span_ns = span_ns;
        if let Some(key) = request.cursor {
            rows.source =
                super::search::source_of(self, request.grouping, key).ok().map(|(file, line)| (key, file, line));
            rows.launches = self.launches(request.grouping, key).map(|launches| (key, launches));
        }
        rows
    }

    /// Whether what rows by range are made of has been made.
    pub(super) fn has_ranges(&self) -> bool {
        self.ranged.as_ref().is_some_and(|ranged| ranged.complete)
    }

    /// The rows of a grouping as they are now, what they are made of, and what they are called.
    pub(super) fn in_rows(&mut self, grouping: Grouping) -> Option<(&mut Windows, (&Cells, &Work), Namer<'_>)> {
        if self.lensed.is_on() {
            return self.lensed_in_rows(grouping);
        }
        self.in_all_rows(grouping)
    }

    /// Likewise, whatever a lens hides.
    pub(super) fn in_all_rows(&mut self, grouping: Grouping) -> Option<(&mut Windows, (&Cells, &Work), Namer<'_>)> {
        self.view(grouping)?;
        let mut namer = Namer::new(&self.trace, &mut self.symbols);
        namer.threads_alone = grouping == Grouping::Inverted;
        let view = self.views.iter_mut().find(|view| view.windows.rows.grouping() == grouping)?;
        let cells = match &self.ranged {
            Some(ranged) if grouping == Grouping::Range => (ranged.tree.cells(), ranged.work.work()),
            _ => (self.tree.cells(), &self.gpu.work),
        };
        Some((&mut view.windows, cells, namer))
    }

    /// What is known of the launches at a node, if it is a kernel's.
    fn launches(&mut self, grouping: Grouping, key: NodeKey) -> Option<Launches> {
        let rows = &self.seen_view_and_cells(grouping)?.0.rows;
        let row = rows.find(key)?;
        // By range, cells are of no lane.
        if grouping == Grouping::Range || !matches!(rows.get(row)?.what, What::Kernel(_)) {
            return None;
        }
        let (node, state) = ((grouping, key), (self.trace.activities.records(), self.decided()));
        if let Some(known) = self.launches.as_ref().filter(|known| known.node == node) {
            // Looking at very many again and again must not hold up what is read.
            if known.state == state || known.at.elapsed() < known.cost * 20 {
                return Some(known.launches.clone());
            }
        }
        let at = Instant::now();
        let cells = rows.work_cells(row);
        let cells =
            cells.into_iter().filter_map(|id| self.lensed.gpu().unwrap_or(&self.gpu).work.cells().get(id as usize));
        let cells: Vec<&WorkCell> = cells.collect();
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let context = Context { trace: &self.trace, files: &self.files, namer: &namer, streams: &[] };
        let launches = context.launches(&cells, self.lensed.selected());
        self.launches = Some(KnownLaunches { node, state, at, cost: at.elapsed(), launches: launches.clone() });
        Some(launches)
    }

    /// Rows of the events screen, and whether all events have been looked at by `until`.
    pub(super) fn events(&mut self, request: EventsRequest, until: Instant) -> (EventsRows, bool) {
        let at = match request.at {
            EventsAt::Address(address) => self.allocating(address, until).unwrap_or(request.at),
            at => at,
        };
        let request = EventsRequest { at, ..request };
        let rows =
            |order: Order<'_, dyn Selection + '_>, context: &Context<'_, '_>| events::rows(order, context, request);
        let (rows, complete) = self.in_order(request.kinds, request.node, until, rows);
        (rows.unwrap_or_default(), complete)
    }

    /// The newest call that allocated memory with this address in it.
    fn allocating(&mut self, address: u64, until: Instant) -> Option<EventsAt> {
        self.lives.update(&self.trace, &self.files, until);
        let newest = self.lives.all().iter().filter_map(|all| {
            let holding = all.all().iter().filter(|one| one.address <= address && address < one.end());
            holding.max_by_key(|one| one.from_ns).map(|one| (one.from_ns, one.track, one.row))
        });
        newest.max_by_key(|found| found.0).map(|(_, track, row)| EventsAt::Call(track.0, row as u64))
    }

    /// Does something with the events of some kinds behind a node (or all) in their order; nothing if there is no such
    /// node. Says whether all events have been looked at by `until`.
    pub(super) fn in_order<R>(
        &mut self,
        kinds: EventKinds,
        node: Option<(Grouping, NodeKey)>,
        until: Instant,
        each: impl FnOnce(Order<'_, dyn Selection + '_>, &Context<'_, '_>) -> R,
    ) -> (Option<R>, bool) {
        if self.lensed.is_on() {
            return self.lensed_in_order(kinds, node, until, each);
        }
        let streams: Vec<WorkStream> =
            self.gpu.work.places(&self.trace).into_iter().map(|place| place.stream).collect();
        let has_calls = kinds.has(EventGroup::Calls);
        let Some((grouping, key)) = node else {
            let complete = self.look_for_others(kinds, None, until);
            let namer = Namer::new(&self.trace, &mut self.symbols);
            let (trace, others) = (&self.trace, &self.others);
            let context = Context { trace, files: &self.files, namer: &namer, streams: &streams };
            let open = if has_calls { open_calls(trace, &self.tree) } else { Vec::new() };
            let selection: &mut dyn Selection = if has_calls { &mut All } else { &mut NoCalls };
            let order = Order { trace, selection, open: &open, others, sieve: None };
            return (Some(each(order, &context)), complete);
        };
        self.view(grouping);
        if self.matches.as_ref().is_none_or(|(of, node, _)| (*of, *node) != (grouping, key)) {
            self.matches = Some((grouping, key, Matches::default()));
        }
        let cells = self.cells_behind(grouping, key);
        let mut complete = self.look_for_others(kinds, Some(cells), until);
        let rows = self.views.iter().map(|view| &view.windows.rows).find(|rows| rows.grouping() == grouping);
        let row = rows.and_then(|rows| rows.find(key).map(|row| (rows, row)));
        let (Some((rows, row)), Some((_, _, matches))) = (row, self.matches.as_mut()) else {
            return (None, true);
        };
        let (trace, others) = (&self.trace, &self.others);
        if !has_calls {
            let namer = Namer::new(trace, &mut self.symbols);
            let context = Context { trace, files: &self.files, namer: &namer, streams: &streams };
            let order = Order { trace, selection: &mut NoCalls as &mut dyn Selection, open: &[], others, sieve: None };
            return (Some(each(order, &context)), complete);
        }
        let tree = match &self.ranged {
            Some(ranged) if grouping == Grouping::Range => &ranged.tree,
            _ => &self.tree,
        };
        complete &= matches.update(trace, tree, rows, row, until);
        let open = matches.open().to_vec();
        let namer = Namer::new(trace, &mut self.symbols);
        let context = Context { trace, files: &self.files, namer: &namer, streams: &streams };
        let mut filtered = Filtered { matches, behind: tree };
        let order = Order { trace, selection: &mut filtered as &mut dyn Selection, open: &open, others, sieve: None };
        (Some(each(order, &context)), complete)
    }

    /// What the GPU did at a node of the calls tree and below it.
    fn cells_behind(&self, grouping: Grouping, key: NodeKey) -> FxHashSet<CellKey> {
        let view = self.view_and_cells(grouping).filter(|_| grouping != Grouping::Range);
        let Some((view, _)) = view else { return FxHashSet::default() };
        let cells = view.rows.find(key).map(|row| view.rows.work_cells(row)).unwrap_or_default();
        let cells = cells.into_iter().filter_map(|id| self.gpu.work.cells().get(id as usize));
        cells.map(|cell| (cell.lane, cell.device, cell.of)).collect()
    }

    /// Looks for the events that are no calls; true when all have been looked at.
    fn look_for_others(&mut self, kinds: EventKinds, cells: Option<FxHashSet<CellKey>>, until: Instant) -> bool {
        if !self.others.is_of(kinds, cells.as_ref()) {
            self.others = Others::new(kinds, cells);
        }
        self.others.update(&self.trace, None, until)
    }
}
