//! A picture of unified memory, of what a screen asks for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::canvas::Canvas;
use super::finding::{Finding, Of};
use super::frame::{Frame, NARROWEST_NS, frame, name, neighbours, subject};
use super::generations::Generations;
use super::homes::Where;
use super::kernels::Busy;
use super::packed::Packings;
use super::places::{Place, Places};
use super::view::{HeatCell, HeatColour, HeatLine, HeatMark, HeatPoint, HeatRequest, HeatRows, HeatSubject, Sums};
use super::{Heats, cells, point};
use crate::correlate::Allocations;
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::trace::activity::What;
use crate::trace::{ProcessId, SiteId, Trace};

/// While a trace grows, places are found anew so many times less often than that takes.
const PAUSE: u32 = 3;
/// An answer takes what has come for so long at most: the rest is taken between answers.
const BRIEF: Duration = Duration::from_millis(1);

/// What pictures are made of beside the heats of what a lens selects.
#[derive(Default)]
pub struct State {
    /// The heats of all that was recorded.
    pub heats: Heats,
    busy: Busy,
    homes: Where,
    places: Places,
    generations: Generations,
    packings: Packings,
    /// What these were found from: the heats, the allocations, whether through a lens.
    known: Option<Of>,
    /// They are being found anew.
    finding: Option<Finding>,
    /// Not before they are found anew.
    due: Option<Instant>,
    /// What was drawn last.
    canvas: Canvas,
    /// Code that made the allocation at the cursor's cell.
    site: Option<SiteId>,
    /// The last picture was not complete, and whether it is to show where pages are.
    lacks: Option<bool>,
}

impl State {
    /// Code that made the allocation at the cursor's cell.
    pub fn site(&self) -> Option<SiteId> {
        self.site
    }

    /// Goes on finding the places anew, until `until`, if something has changed and it is time to; whether they are as they must be. `through`: the
    /// heats of what a lens selects; allocations come with what grows when they change.
    fn place(
        &mut self,
        trace: &Trace,
        through: Option<&Heats>,
        (allocations, version): (&[Arc<Allocations>], u64),
        lens: u64,
        until: Instant,
    ) -> bool {
        let heats = through.unwrap_or(&self.heats);
        let known = (heats.version(), version, lens);
        // Of other records nothing that was begun is of use.
        let is_like = |other: &Of| (other.0.1, other.2) == (known.0.1, known.2);
        self.finding.take_if(|finding| !is_like(&finding.of) || finding.has_failed());
        let other_lens = self.known.is_none_or(|known| !is_like(&known));
        let is_due = other_lens || self.due.is_none_or(|due| Instant::now() >= due);
        if self.known != Some(known) && self.finding.is_none() && is_due {
            self.finding = Some(Finding::new(trace, heats, allocations, known));
        }
        if let Some(mut finding) = self.finding.take() {
            if let Some((places, generations)) = finding.go_on(trace, heats, until) {
                self.places = places;
                self.generations.become_those(generations);
                self.packings.are_of(self.generations.version());
                self.known = Some(finding.of);
                self.due =
                    finding.begun.elapsed().checked_mul(PAUSE).and_then(|pause| Instant::now().checked_add(pause));
            } else {
                self.finding = Some(finding);
            }
        }
        self.known == Some(known)
    }

    /// The places.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The allocations that lay in them.
    pub fn generations(&self) -> &Generations {
        &self.generations
    }

    /// The sums of the cells that were made last, the lowest row first.
    pub fn sums(&self) -> &[Sums] {
        self.canvas.sums()
    }
}

impl Model {
    /// Finds places in which something happened until `until`, without a lens. Says how often they have been found.
    pub(in crate::session) fn find_places(&mut self, until: Instant) -> u64 {
        let decided = self.lens_decided();
        let mut state = std::mem::take(&mut self.heat);
        if !self.lensed.is_on()
            && state.heats.update(&self.trace, None, decided, until)
            && self.lives.update(&self.trace, &self.files, until)
        {
            let allocations = (self.lives.all(), self.lives.version());
            state.place(&self.trace, None, allocations, self.lens_number(), until.max(Instant::now() + BRIEF));
        }
        self.heat = state;
        self.heat.generations.version()
    }

    /// The busiest places: number of the process, first address, and what they are called.
    pub(in crate::session) fn place_names(&mut self, most: usize) -> Vec<(u16, u64, String)> {
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let places = &self.heat.places;
        let mut listed: Vec<usize> = (1..=most).map_while(|number| places.numbered(number)).collect();
        listed.sort_unstable();
        let label = |place: &Place| format!("{}  {:#x}", point::label_of(&namer, Some(place), places), place.from);
        let listed = listed.into_iter().filter_map(|at| places.get(at));
        listed.map(|place| (place.process.0, place.from, label(place))).collect()
    }

    /// A picture of unified memory, and whether it is of all that was read: work stops at `until`.
    pub(in crate::session) fn heatmap(&mut self, request: &HeatRequest, until: Instant) -> (HeatRows, bool) {
        let mut state = std::mem::take(&mut self.heat);
        let mut lens_heats = std::mem::take(&mut self.lensed.heats);
        let (lens, decided) = (self.lens_number(), self.lens_decided());
        let brief = until.min(Instant::now() + BRIEF);
        let heats = if self.lensed.is_on() { &mut lens_heats } else { &mut state.heats };
        let mut complete = heats.update(&self.trace, self.lensed.selected(), decided, brief);
        complete &= state.busy.update(&self.trace, brief);
        complete &= self.lives.update(&self.trace, &self.files, brief);
        let through = self.lensed.is_on().then_some(&lens_heats);
        complete &= state.place(&self.trace, through, (self.lives.all(), self.lives.version()), lens, brief);
        let wants_pages = request.colour == HeatColour::Residency || request.details;
        if wants_pages {
            let allocations = (self.lives.all(), self.lives.version());
            complete &= state.homes.update(&self.trace, &self.files, allocations, brief);
        }
        let mut rows = self.picture(request, &mut state, through, (lens, until));
        complete &= !rows.partial;
        rows.partial = !complete;
        state.site = rows.point.as_ref().and_then(|point| point.site);
        state.lacks = (!complete).then_some(wants_pages);
        self.lensed.heats = lens_heats;
        self.heat = state;
        (rows, complete)
    }

    /// Goes on between two answers with what the last picture lacked, until `until`; true if that has become complete.
    pub(in crate::session) fn go_on_with_heat(&mut self, until: Instant) -> bool {
        let Some(wants_pages) = self.heat.lacks else { return false };
        let decided = self.lens_decided();
        let mut state = std::mem::take(&mut self.heat);
        let mut lens_heats = std::mem::take(&mut self.lensed.heats);
        let heats = if self.lensed.is_on() { &mut lens_heats } else { &mut state.heats };
        // What is wanted now before what may be wanted next.
        let mut complete = state.canvas.go_on(&self.trace, heats, until);
        complete &= heats.update(&self.trace, self.lensed.selected(), decided, until);
        complete &= state.busy.update(&self.trace, until);
        let through = self.lensed.is_on().then_some(&lens_heats);
        let lens = self.lens_number();
        complete &= state.place(&self.trace, through, (self.lives.all(), self.lives.version()), lens, until);
        if wants_pages && complete {
            let allocations = (self.lives.all(), self.lives.version());
            complete &= state.homes.update(&self.trace, &self.files, allocations, until);
        }
        self.lensed.heats = lens_heats;
        self.heat = state;
        complete
    }

    /// Whoever asked for a picture does so no longer.
    pub(in crate::session) const fn drop_heat(&mut self) {
        self.heat.lacks = None;
    }

    fn picture(
        &mut self,
        request: &HeatRequest,
        state: &mut State,
        through: Option<&Heats>,
        (lens, until): (u64, Instant),
    ) -> HeatRows {
        let heats = through.unwrap_or(&state.heats);
        let has_faults = self.trace.activities.recorded(What::Faults);
        let places = &state.places;
        let Some(subject) = subject(places, &state.generations, request.subject) else {
            let looks = state.finding.is_some() || state.known.is_none();
            let why_empty = Some(if looks { "looking".to_owned() } else { self.why_no_heat() });
            return HeatRows { why_empty, subject: request.subject, has_faults, ..HeatRows::default() };
        };
        let shown = subject.map_or(0..places.len(), |at| at..at + 1);
        let span = self.heat_span(heats);
        let frame = frame(request, (places, &mut state.packings), &shown, span);
        let is_drawn = state.canvas.draw(&self.trace, heats, &frame.shape(lens), until);
        let sums = state.canvas.sums();
        let amounts = cells::amounts(sums, frame.columns, request.colour);
        let scale = cells::scale(&amounts);
        let all = if request.colour == HeatColour::Residency {
            let rows = frame.rows.iter().map(|&(_, process, from, to)| (process, from, to));
            state.homes.cells(rows, &frame.moments())
        } else {
            cells::cells(sums, &amounts, scale, request.colour)
        };
        let start = self.trace.start_ns();
        let kernels = if state.busy.is_empty() {
            Vec::new()
        } else {
            state.busy.shares(&self.trace, frame.from_ns, frame.column_ns, frame.columns)
        };
        let (next, previous) = neighbours(places, subject);
        let place = subject.and_then(|at| places.get(at));
        let mut rows = HeatRows {
            why_empty: None,
            label: String::new(),
            subject: subject.map_or(HeatSubject::All, |at| name(places, at)),
            number: place.map_or(0, |place| place.number),
            places: places.len(),
            next,
            previous,
            bits: frame.packed.bits,
            first: frame.first,
            total: frame.packed.total,
            found: frame.found,
            found_cell: self.found_cell(request.subject, state, &frame, sums),
            from_ns: frame.from_ns.saturating_sub(start),
            column_ns: frame.column_ns,
            span: (span.0.saturating_sub(start), span.1.saturating_sub(start)),
            lines: lines(&frame, places, &all),
            moves: moves(sums, frame.columns),
            kernels,
            scale,
            has_faults,
            point: None,
            partial: !is_drawn,
        };
        rows.label = point::label_of(&Namer::new(&self.trace, &mut self.symbols), place, places);
        rows.point = self.point(request, state, &frame);
        rows
    }

    /// What is known of the cursor's cell.
    fn point(&mut self, request: &HeatRequest, state: &State, frame: &Frame) -> Option<HeatPoint> {
        let (line, column) = (usize::from(request.cursor.0), usize::from(request.cursor.1));
        let row = frame.rows.len().checked_sub(line + 1)?;
        let &(place, process, from, to) = frame.rows.get(row).filter(|_| column < frame.columns)?;
        let begin = frame.from_ns.saturating_add(frame.column_ns.saturating_mul(column as u64));
        let cell = point::Cell { process, from, to, ns: (begin, begin.saturating_add(frame.column_ns)) };
        let sums = state.canvas.sums().get(row * frame.columns + column).copied().unwrap_or_default();
        let sums = state.canvas.is_exact(row, column).then_some(sums);
        let details = request.details.then(|| (&state.homes, state.homes.is_complete()));
        let generations = &state.generations;
        let meant = request.generation.and_then(|row| generations.get(row)).filter(|one| one.0 == place);
        let meant = meant.and_then(|(_, index)| index);
        let asked = point::Asked { cell, sums, details, meant, place: (place, state.places.get(place)) };
        let namer = Namer::new(&self.trace, &mut self.symbols);
        Some(point::of(&namer, (self.lives.all(), generations), self.lensed.selected(), &asked))
    }

    /// The cell in which an allocation that a search has found begins to show: where something happened to it first, or where
    /// it was made.
    fn found_cell(&self, wanted: HeatSubject, state: &State, frame: &Frame, sums: &[Sums]) -> Option<(u16, u16)> {
        let HeatSubject::Found(row) = wanted else { return None };
        let (place, index) = state.generations.get(row)?;
        let process = state.places.get(place)?.process;
        let one = self.lives.all().get(process.index())?.all().get(index?)?;
        let column_of = |ns: u64| usize::try_from(ns.saturating_sub(frame.from_ns) / frame.column_ns.max(1));
        let last = frame.columns.saturating_sub(1);
        let (made, gone) = (column_of(one.made_ns).unwrap_or(last).min(last), column_of(one.until_ns).unwrap_or(last));
        let inside = |row: &&(usize, (usize, ProcessId, u64, u64))| row.1.2 < one.end() && one.address < row.1.3;
        let rows: Vec<usize> =
            frame.rows.iter().copied().enumerate().filter(|row| inside(&row)).map(|row| row.0).collect();
        let is_busy = |&(row, column): &(usize, usize)| {
            sums.get(row * frame.columns + column).is_some_and(|sums| !sums.is_empty())
        };
        let cells = (made..=gone.min(last)).flat_map(|column| rows.iter().map(move |&row| (row, column)));
        let (row, column) = cells.into_iter().find(is_busy).or_else(|| Some((*rows.first()?, made)))?;
        // Lines are counted from the top, rows from the bottom.
        let line = frame.rows.len().checked_sub(row + 1)?;
        Some((u16::try_from(line).ok()?, u16::try_from(column).ok()?))
    }

    /// What there is to see: the range of time that is looked at, else from the first to the last that happened, and all
    /// kernels; ns on the trace's axis.
    fn heat_span(&self, heats: &Heats) -> (u64, u64) {
        let of = heats.all(&self.trace).filter_map(|(_, heat, _)| heat.span());
        let all = of.fold((u64::MAX, 0), |all, one| (all.0.min(one.0), all.1.max(one.1)));
        if all.0 > all.1 {
            return (self.trace.start_ns(), self.trace.end_ns().max(self.trace.start_ns() + 1));
        }
        // Some room at both sides, so that nothing stands at the edge.
        let room = ((all.1 - all.0) / 64).max(NARROWEST_NS);
        (all.0.saturating_sub(room).max(self.trace.start_ns()), all.1.saturating_add(room))
    }
}

fn lines(frame: &Frame, places: &Places, cells: &[HeatCell]) -> Vec<HeatLine> {
    let mut lines: Vec<HeatLine> = Vec::with_capacity(frame.rows.len());
    for (&(place, process, from, to), cells) in frame.rows.iter().zip(cells.chunks(frame.columns)) {
        let known = places.get(place);
        let base = known.map_or(from, |place| place.from);
        lines.push(HeatLine {
            at: (process.0, from),
            to,
            place: known.filter(|_| from == base).map(|place| place.number),
            offset: from - base.min(from),
            cells: cells.to_vec(),
        });
    }
    lines.reverse();
    lines
}

/// What moved in each column, over all rows.
fn moves(sums: &[Sums], columns: usize) -> Vec<HeatMark> {
    let mut all = vec![Sums::default(); columns];
    for row in sums.chunks(columns.max(1)) {
        all.iter_mut().zip(row).for_each(|(sum, cell)| sum.add(cell));
    }
    all.iter().map(cells::mark).collect()
}
