//! Rows of what is seen through a lens.

use std::ops::Range;
use std::sync::PoisonError;
use std::time::Instant;

use super::gpu_events::Context;
use super::labels::{Known, Namer};
use super::matches::{Behind, Filtered, Matches, Unfinished, whole_rows};
use super::model::{Derived, Model, SLICE};
use super::order::{NoCalls, Order, Selection, Sieved, open_calls};
use super::others::{CellKey, Others};
use super::sifting::{Ground, Sifting, words_of};
use super::view::{EventGroup, EventKinds, LensStatus};
use crate::graph::{
    CellId, Cells, Gpu, Grouping, NodeKey, RangeIndex, RangeWork, Rows, Tree, Windows, Work, WorkStream,
};
use crate::lens::{Block, Lens, Marks, Selected, TimeRange, bit};
use crate::trace::activity::LaneId;
use crate::trace::{ApiId, Lane, OpenCall, Trace, Track, TrackId};
use rustc_hash::FxHashSet;

/// The lens in force, and what is derived of what it selects.
#[derive(Default)]
pub(super) struct Lensed {
    lens: Lens,
    /// Tells lenses apart, one after the other.
    number: u64,
    sifting: Option<Sifting>,
    /// Why the lens cannot be used.
    error: Option<String>,
    /// State of trace and names that has been looked at.
    at: Option<(u64, u64)>,
    views: Vec<Derived>,
    /// How often everything had been looked at anew when these were made.
    restarts: u64,
    matches: Option<(Grouping, NodeKey, u64, Matches)>,
    others: Others,
    /// What was decided when `others` was begun.
    decided: u64,
    /// What the heatmap shows of it.
    pub(super) heats: super::heat::Heats,
    /// What the GPU did by range, and what was decided when that was begun.
    by_range: (RangeWork, u64),
    /// That lacks some of what had been decided.
    lacks_ranges: bool,
}

impl Lensed {
    /// The lens.
    pub(super) const fn lens(&self) -> &Lens {
        &self.lens
    }

    /// Whether rows by range, if they have been asked for, are of all that had been decided then.
    pub(super) const fn has_all_ranges(&self) -> bool {
        !self.lacks_ranges
    }

    /// Goes on with these, until `until`, if they lack any.
    pub(super) fn work_on_ranges(&mut self, trace: &Trace, until: Instant) {
        let Some(sifting) = self.sifting.as_ref().filter(|_| self.lacks_ranges) else { return };
        let spans = sifting.spans().read().unwrap_or_else(PoisonError::into_inner);
        self.lacks_ranges = !count_by_range(&mut self.by_range, (sifting, &*spans), trace, until);
    }

    /// Whether a lens is in force.
    pub(super) const fn is_on(&self) -> bool {
        self.sifting.is_some()
    }

    /// What it selects; `None` without one.
    pub(super) fn selected(&self) -> Option<&Selected> {
        self.sifting.as_ref().map(|sifting| &sifting.selected)
    }

    /// What the GPU did of that.
    pub(super) fn gpu(&self) -> Option<&Gpu> {
        self.sifting.as_ref().map(|sifting| &sifting.gpu)
    }
}

impl Model {
    /// Looks through this lens from now on.
    pub(super) fn set_lens(&mut self, lens: &Lens) {
        if self.lensed.lens == *lens {
            return;
        }
        self.launches = None;
        let number = self.lensed.number + 1;
        let fresh = Lensed { lens: lens.clone(), number, ..Lensed::default() };
        let before = std::mem::replace(&mut self.lensed, fresh);
        let known = self.kept.exchange(before, lens);
        if lens.is_clear() {
            return;
        }
        if let Some(known) = known {
            self.lensed = Lensed { number, ..known };
            return;
        }
        match Sifting::new(lens) {
            Ok(sifting) => self.lensed.sifting = Some(sifting),
            Err(error) => self.lensed.error = Some(error.to_string()),
        }
    }

    /// Looks for what the lens selects, until `until`; true when everything that has been read has been looked at.
    pub(super) fn sift(&mut self, until: Instant) -> bool {
        let Some(sifting) = &mut self.lensed.sifting else { return true };
        let now = Some((self.trace.epoch(), self.symbols.version()));
        if sifting.is_complete() && self.lensed.at == now {
            return true;
        }
        self.lensed.at = now;
        if sifting.needs_allocations() {
            self.lives.update(&self.trace, &self.files, until);
        }
        let places = if sifting.needs_streams() { self.gpu.work.places(&self.trace) } else { Vec::new() };
        let streams: Vec<WorkStream> = places.into_iter().map(|place| place.stream).collect();
        let allocations = self.lives.allocated();
        let (trace, files, tree) = (&self.trace, &self.files, &self.tree);
        let ground = Ground { trace, files, tree, streams: &streams, allocations };
        sifting.advance(ground, &mut self.symbols, until)
    }

    /// Whether everything has been looked at that was asked for.
    pub(super) fn is_sifted(&self) -> bool {
        self.lensed.sifting.as_ref().is_none_or(Sifting::is_complete)
    }

    /// How the lens stands; `None` without one.
    pub(super) fn lens_status(&self) -> Option<LensStatus> {
        if let Some(error) = &self.lensed.error {
            return Some(LensStatus { error: Some(error.clone()), ..LensStatus::default() });
        }
        let sifting = self.lensed.sifting.as_ref()?;
        let counts = sifting.counts(&self.trace);
        Some(LensStatus {
            shown: counts.shown,
            hidden: counts.hidden,
            cut: counts.cut,
            partial: !sifting.is_complete(),
            done: sifting.done(&self.trace),
            error: None,
            steps: sifting.steps(&self.trace),
        })
    }

    /// The time that is looked at, ns.
    pub(super) fn span_ns(&self) -> u64 {
        let all = self.trace.end_ns().saturating_sub(self.trace.start_ns());
        let Some(sifting) = &self.lensed.sifting else { return all };
        match &self.lensed.lens.range {
            None => all,
            Some(TimeRange::Time(from, to)) => (*to).min(all).saturating_sub(*from),
            Some(TimeRange::Steps(_)) => {
                let steps = sifting.steps(&self.trace).and_then(|steps| steps.ns);
                steps.map_or(all, |(from, to)| to.saturating_sub(from).min(all))
            }
        }
    }

    /// The rows of a grouping as they are seen now.
    pub(super) fn lensed_view(&mut self, grouping: Grouping) -> Option<&mut Windows> {
        let by_range = grouping == Grouping::Range;
        if grouping.has_sites() {
            self.symbols.ask_all(&self.trace);
        }
        if by_range {
            self.lensed.sifting.as_mut()?.want_ranged(&self.trace);
        }
        let lensed = &mut self.lensed;
        let sifting = lensed.sifting.as_ref()?;
        // The cells of before are no more.
        if lensed.restarts != sifting.restarts {
            lensed.restarts = sifting.restarts;
            lensed.views.clear();
        }
        let known = lensed.views.iter().position(|view| view.windows.rows.grouping() == grouping);
        let at = known.unwrap_or_else(|| {
            lensed.views.push(Derived::new(Rows::sifted(grouping)));
            lensed.views.len() - 1
        });
        let view = lensed.views.get_mut(at)?;
        if view.is_of_other_sites(self.symbols.merged(), || Rows::sifted(grouping)) {
            lensed.matches = None;
        }
        if view.epoch == Some(sifting.version) {
            return Some(&mut view.windows);
        }
        if view.windows.rows.is_provisional() {
            view.windows = Windows::new(Rows::sifted(grouping));
        }
        let trace = &self.trace;
        let known = Known(trace, &self.symbols);
        let rows = &mut view.windows.rows;
        rows.refresh(sifting.cells(by_range), sifting.unfinished_cells(by_range), &known);
        match grouping {
            Grouping::Stream | Grouping::Device => {
                let places = self.gpu.work.places(trace);
                rows.refresh_work(&sifting.gpu.work, &places, |text| trace.activities.name(text), &known);
            }
            Grouping::Range => {
                let spans = sifting.spans().read().unwrap_or_else(PoisonError::into_inner);
                let until = Instant::now() + SLICE;
                let by_range = &mut lensed.by_range;
                lensed.lacks_ranges = !count_by_range(by_range, (sifting, &*spans), trace, until);
                let stats = spans.stats_of(trace, |track, row| sifting.selected.range(track, row));
                rows.refresh_some_ranges(&spans, stats, lensed.by_range.0.work(), &known);
            }
            _ => {}
        }
        view.epoch = Some(sifting.version).filter(|_| !(by_range && lensed.lacks_ranges));
        Some(&mut view.windows)
    }

    /// The work that the rows of a grouping are made of.
    fn lensed_work(&self, grouping: Grouping) -> Option<&Work> {
        match grouping {
            Grouping::Range => Some(self.lensed.by_range.0.work()),
            _ => self.lensed.gpu().map(|gpu| &gpu.work),
        }
    }

    /// The rows of a grouping as they were made last, and the cells they are of.
    pub(super) fn lensed_view_and_cells(&self, grouping: Grouping) -> Option<(&Windows, &Cells)> {
        let view = self.lensed.views.iter().find(|view| view.windows.rows.grouping() == grouping)?;
        Some((&view.windows, self.lensed.sifting.as_ref()?.cells(grouping == Grouping::Range)))
    }

    /// As [`Model::in_rows`], of what the lens selects.
    pub(super) fn lensed_in_rows(&mut self, grouping: Grouping) -> Option<(&mut Windows, (&Cells, &Work), Namer<'_>)> {
        self.lensed_view(grouping)?;
        let mut namer = Namer::new(&self.trace, &mut self.symbols);
        namer.threads_alone = grouping == Grouping::Inverted;
        let lensed = &mut self.lensed;
        let view = lensed.views.iter_mut().find(|view| view.windows.rows.grouping() == grouping);
        let (Some(view), Some(sifting)) = (view, &lensed.sifting) else { return None };
        let work = if grouping == Grouping::Range { lensed.by_range.0.work() } else { &sifting.gpu.work };
        Some((&mut view.windows, (sifting.cells(grouping == Grouping::Range), work), namer))
    }

    /// As [`Model::in_order`], of what the lens selects.
    pub(super) fn lensed_in_order<R>(
        &mut self,
        kinds: EventKinds,
        node: Option<(Grouping, NodeKey)>,
        until: Instant,
        each: impl FnOnce(Order<'_, dyn Selection + '_>, &Context<'_, '_>) -> R,
    ) -> (Option<R>, bool) {
        let streams: Vec<WorkStream> =
            self.gpu.work.places(&self.trace).into_iter().map(|place| place.stream).collect();
        let has_calls = kinds.has(EventGroup::Calls);
        if let Some((grouping, _)) = node {
            self.lensed_view(grouping);
        }
        let cells = node.map(|(grouping, key)| self.lensed_cells_behind(grouping, key));
        let lensed = &mut self.lensed;
        let Some(sifting) = &lensed.sifting else { return (None, true) };
        if lensed.decided != sifting.decided || !lensed.others.is_of(kinds, cells.as_ref()) {
            lensed.decided = sifting.decided;
            lensed.others = Others::new(kinds, cells);
        }
        let trace = &self.trace;
        let mut complete = lensed.others.update(trace, Some(&sifting.selected), until) && sifting.is_complete();
        let (others, sieve) = (&lensed.others, Some(&sifting.selected));
        let namer = Namer::new(trace, &mut self.symbols);
        let context = Context { trace, files: &self.files, namer: &namer, streams: &streams };
        if !has_calls {
            let order = Order { trace, selection: &mut NoCalls as &mut dyn Selection, open: &[], others, sieve };
            return (Some(each(order, &context)), complete);
        }
        let Some((grouping, key)) = node else {
            let open = open_of(sifting, trace, &self.tree);
            let mut selection = Sieved(&sifting.selected);
            let order = Order { trace, selection: &mut selection as &mut dyn Selection, open: &open, others, sieve };
            return (Some(each(order, &context)), complete);
        };
        let view = lensed.views.iter().find(|view| view.windows.rows.grouping() == grouping);
        let row = view.and_then(|view| Some((&view.windows.rows, view.windows.rows.find(key)?)));
        let Some((rows, row)) = row else { return (None, complete) };
        let same = |(of, node, restarts, _): &(Grouping, NodeKey, u64, Matches)| {
            (*of, *node, *restarts) == (grouping, key, sifting.restarts)
        };
        if !lensed.matches.as_ref().is_some_and(same) {
            lensed.matches = Some((grouping, key, sifting.restarts, Matches::default()));
        }
        let Some((.., matches)) = &mut lensed.matches else { return (None, complete) };
        let behind = Sifted { sifting, tree: &self.tree, by_range: grouping == Grouping::Range };
        complete &= matches.update(trace, &behind, rows, row, until);
        let open = matches.open().to_vec();
        let mut filtered = Filtered { matches, behind: &behind };
        let order = Order { trace, selection: &mut filtered as &mut dyn Selection, open: &open, others, sieve };
        (Some(each(order, &context)), complete)
    }

    /// What the GPU did at a node of the calls tree and below it.
    fn lensed_cells_behind(&self, grouping: Grouping, key: NodeKey) -> FxHashSet<CellKey> {
        let view = self.lensed_view_and_cells(grouping).filter(|_| grouping != Grouping::Range);
        let (Some((view, _)), Some(work)) = (view, self.lensed_work(grouping)) else { return FxHashSet::default() };
        let cells = view.rows.find(key).map(|row| view.rows.work_cells(row)).unwrap_or_default();
        let cells = cells.into_iter().filter_map(|id| work.cells().get(id as usize));
        cells.map(|cell| (cell.lane, cell.device, cell.of)).collect()
    }

    /// What the GPU did, of a lens what it selects.
    pub(super) fn seen_gpu(&self) -> &Gpu {
        self.lensed.gpu().unwrap_or(&self.gpu)
    }

    /// The cells of calls whose outermost call has ended, of a lens those of what it selects.
    pub(super) fn seen_cells(&self) -> &Cells {
        self.lensed.sifting.as_ref().map_or_else(|| self.tree.cells(), |sifting| sifting.cells(false))
    }

    /// Likewise of what is under way.
    pub(super) fn seen_unfinished(&self) -> Cells {
        self.lensed.sifting.as_ref().map_or_else(|| self.unfinished(), |sifting| sifting.unfinished_cells(false))
    }

    /// The rows of a grouping, of a lens those of what it selects.
    pub(super) fn seen_view(&mut self, grouping: Grouping) -> Option<&mut Windows> {
        if self.lensed.is_on() { self.lensed_view(grouping) } else { self.view(grouping) }
    }

    /// Likewise as they were made last, and their cells.
    pub(super) fn seen_view_and_cells(&self, grouping: Grouping) -> Option<(&Windows, &Cells)> {
        if self.lensed.is_on() { self.lensed_view_and_cells(grouping) } else { self.view_and_cells(grouping) }
    }

    /// What a lens selects; `None` without one.
    pub(super) fn selected(&self) -> Option<&Selected> {
        self.lensed.selected()
    }

    /// Grows with what a lens has decided.
    pub(super) fn decided(&self) -> u64 {
        self.lensed.sifting.as_ref().map_or(0, |sifting| sifting.version)
    }

    /// Which lens is in force; zero: none.
    pub(super) fn lens_number(&self) -> u64 {
        if self.lensed.is_on() { self.lensed.number } else { 0 }
    }

    /// Grows when records are decided otherwise.
    pub(super) fn lens_decided(&self) -> u64 {
        self.lensed.sifting.as_ref().map_or(0, |sifting| sifting.decided)
    }

    /// Does something as if there were no lens.
    pub(super) fn without_lens<R>(&mut self, each: impl FnOnce(&mut Self) -> R) -> R {
        let sifting = self.lensed.sifting.take();
        let done = each(self);
        self.lensed.sifting = sifting;
        done
    }

    /// Calls that have not ended, in order of start, of a lens those that it selects.
    pub(super) fn seen_open(&self) -> Vec<(TrackId, OpenCall)> {
        match &self.lensed.sifting {
            Some(sifting) => open_of(sifting, &self.trace, &self.tree),
            None => open_calls(&self.trace, &self.tree),
        }
    }

    /// Failed calls of a function that are nobody's failure.
    pub(super) fn handled_of(&self, api: ApiId) -> u64 {
        match &self.lensed.sifting {
            Some(sifting) => sifting.handled.get(&api).copied().unwrap_or(0),
            None => self.mishaps.handled_of(api),
        }
    }
}

/// Selected calls that have not ended, in order of start.
fn open_of(sifting: &Sifting, trace: &Trace, tree: &Tree) -> Vec<(TrackId, OpenCall)> {
    let mut open: Vec<(TrackId, OpenCall)> = Vec::new();
    for (block, words) in sifting.unfinished() {
        let Some(track) = trace.track(block.track) else { continue };
        // They stand behind those that have ended, innermost first.
        let calls = tree.still_open(block.track, &track.in_flight).copied().collect::<Vec<_>>();
        let calls = (block.ended..block.len()).zip(calls.into_iter().rev());
        open.extend(calls.filter(|&(at, _)| bit(words, at)).map(|(_, call)| (block.track, call)));
    }
    open.sort_by_key(|(track, call)| (call.start_ns, call.depth, *track));
    open
}

/// Counts by range what the GPU did of what is selected, until `until`; true when all that has been decided is counted.
fn count_by_range(
    (work, decided): &mut (RangeWork, u64),
    (sifting, spans): (&Sifting, &RangeIndex),
    trace: &Trace,
    until: Instant,
) -> bool {
    if *decided != sifting.decided {
        (*work, *decided) = (RangeWork::default(), sifting.decided);
    }
    let selected = &sifting.selected;
    let limit = |id: LaneId, _: &Lane| selected.records.get(id.0 as usize).map_or(0, Marks::len);
    let wanted = |id, row| selected.record(id, row);
    work.update_some(trace, spans, limit, wanted, &mut || Instant::now() < until)
}

/// Finds the cells of what a lens selects.
struct Sifted<'a> {
    sifting: &'a Sifting,
    tree: &'a Tree,
    by_range: bool,
}

impl Behind for Sifted<'_> {
    fn cells(&self) -> &Cells {
        self.sifting.cells(self.by_range)
    }

    fn ready(&self, id: TrackId, _: &Track) -> usize {
        self.sifting.selected.calls.get(id.index()).map_or(0, Marks::len)
    }

    fn locate(&self, id: TrackId, track: &Track, rows: Range<usize>) -> Vec<Option<CellId>> {
        let Some(marks) = self.sifting.selected.calls.get(id.index()) else { return vec![None; rows.len()] };
        if marks.rank(rows.start) == marks.rank(rows.end) {
            return vec![None; rows.len()];
        }
        let mut block = Block::default();
        block.read(id, track, rows.clone());
        self.cells().locate_sifted(&block, &words_of(marks, rows.start, rows.len()))
    }

    fn unfinished(&self, rows: &Rows, id: TrackId, track: &Track, whole: usize) -> Unfinished {
        let nothing = || (Vec::new(), vec![None; track.len() - whole]);
        let Some((block, words)) = self.sifting.unfinished().find(|(block, _)| block.track == id) else {
            return nothing();
        };
        if block.first_row != whole_rows(track) || block.ended != track.len() - whole {
            return nothing();
        }
        let mut cells = rows.unfinished().locate_sifted(block, words);
        let open_cells = cells.split_off(block.ended);
        let open = self.tree.still_open(id, &track.in_flight).copied().collect::<Vec<_>>();
        (open.into_iter().rev().zip(open_cells).collect(), cells)
    }
}
