//! A picture of unified memory, of what a screen asks for.

use std::sync::Arc;
use std::time::Instant;

use super::generations::Generations;
use super::homes::Where;
use super::kernels::Busy;
use super::places::{self, Packed, Place};
use super::view::{
    HeatCell, HeatColour, HeatLine, HeatMark, HeatRequest, HeatRows, HeatRowsAt, HeatSubject, HeatTimeAt, Sums,
};
use super::{Heats, cells, point};
use crate::correlate::Allocations;
use crate::memory::heat::Grid;
use crate::memory::residency::PAGE_BYTES;
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::trace::activity::What;
use crate::trace::{LaneOf, ProcessId, SiteId, Trace};

/// Narrowest column, ns.
pub const NARROWEST_NS: u64 = 1_000;
/// Bits of the smallest row: a page.
pub const SMALLEST: u8 = PAGE_BYTES.ilog2() as u8;
/// While a trace grows, places are found anew so many times less often than that takes.
const PAUSE: u32 = 10;

/// What pictures are made of beside the heats of what a lens selects.
#[derive(Default)]
pub struct State {
    /// The heats of all that was recorded.
    pub heats: Heats,
    busy: Busy,
    homes: Where,
    places: Vec<Place>,
    generations: Generations,
    /// What these were found from: the heats, the allocations, whether through a lens.
    known: Option<((u64, u64), u64, u64)>,
    /// Not before they are found anew.
    due: Option<Instant>,
    /// The picture that was made last, and what it is of.
    drawn: Made,
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

    /// Finds the places anew if something has changed and it is time to; whether they are as they must be. `through`: the
    /// heats of what a lens selects; allocations come with what grows when they change.
    fn place(
        &mut self,
        trace: &Trace,
        through: Option<&Heats>,
        (allocations, version): (&[Arc<Allocations>], u64),
        lens: u64,
    ) -> bool {
        let heats = through.unwrap_or(&self.heats);
        let known = Some((heats.version(), version, lens));
        let other_lens = self.known.is_none_or(|known| known.2 != lens);
        if self.known != known && (other_lens || self.due.is_none_or(|due| Instant::now() >= due)) {
            let begun = Instant::now();
            self.places = places::find(trace, heats, allocations);
            self.generations.find(&self.places, allocations);
            self.known = known;
            self.due = begun.elapsed().checked_mul(PAUSE).and_then(|pause| Instant::now().checked_add(pause));
        }
        self.known == known
    }

    /// The places.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The allocations that lay in them.
    pub fn generations(&self) -> &Generations {
        &self.generations
    }

    /// The sums of the cells that were made last, the lowest row first.
    pub fn sums(&self) -> &[Sums] {
        self.drawn.as_ref().map_or(&[], |(_, sums)| sums)
    }
}

/// The cells that were made last, and what they follow from.
type Made = Option<(Drawn, Vec<Sums>)>;

/// What a picture's cells follow from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Drawn {
    version: (u64, u64),
    lens: u64,
    from_ns: u64,
    column_ns: u64,
    columns: usize,
    rows: Vec<(ProcessId, u64, u64)>,
}

/// What a picture is made of.
#[derive(Clone, Copy)]
struct Known<'a> {
    places: &'a [Place],
    generations: &'a Generations,
    busy: &'a Busy,
    homes: &'a Where,
    /// All that was recorded of pages has been gone through.
    pages_known: bool,
}

/// What is shown: places, packed, and of these the lines and columns.
struct Frame {
    packed: Packed,
    first: u64,
    from_ns: u64,
    column_ns: u64,
    columns: usize,
    /// Stretch's place, process, first address, first after it; the lowest row first.
    rows: Vec<(usize, ProcessId, u64, u64)>,
}

impl Frame {
    /// The last moment of each column, ns on the trace's axis.
    fn moments(&self) -> Vec<u64> {
        let end = |column: usize| {
            let columns = self.column_ns.saturating_mul(column as u64 + 1);
            self.from_ns.saturating_add(columns).saturating_sub(1)
        };
        (0..self.columns).map(end).collect()
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
            state.place(&self.trace, None, (self.lives.all(), self.lives.version()), self.lens_number());
        }
        self.heat = state;
        self.heat.generations.version()
    }

    /// The busiest places: number of the process, first address, and what they are called.
    pub(in crate::session) fn place_names(&mut self, most: usize) -> Vec<(u16, u64, String)> {
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let places = &self.heat.places;
        let listed = places.iter().filter(|place| place.number <= most);
        let label = |place: &Place| format!("{}  {:#x}", point::label_of(&namer, Some(place), places), place.from);
        listed.map(|place| (place.process.0, place.from, label(place))).collect()
    }

    /// A picture of unified memory, and whether it is of all that was read: work stops at `until`.
    pub(in crate::session) fn heatmap(&mut self, request: &HeatRequest, until: Instant) -> (HeatRows, bool) {
        let mut state = std::mem::take(&mut self.heat);
        let mut lens_heats = std::mem::take(&mut self.lensed.heats);
        let (lens, decided) = (self.lens_number(), self.lens_decided());
        let heats = if self.lensed.is_on() { &mut lens_heats } else { &mut state.heats };
        let mut complete = heats.update(&self.trace, self.lensed.selected(), decided, until);
        complete &= state.busy.update(&self.trace, until);
        complete &= self.lives.update(&self.trace, &self.files, until);
        let through = self.lensed.is_on().then_some(&lens_heats);
        complete &= state.place(&self.trace, through, (self.lives.all(), self.lives.version()), lens);
        let heats = through.unwrap_or(&state.heats);
        let mut pages_known = true;
        let wants_pages = request.colour == HeatColour::Residency || request.details;
        if wants_pages {
            let allocations = (self.lives.all(), self.lives.version());
            pages_known = state.homes.update(&self.trace, &self.files, allocations, until);
            complete &= pages_known;
        }
        let known = Known {
            places: &state.places,
            generations: &state.generations,
            busy: &state.busy,
            homes: &state.homes,
            pages_known,
        };
        let rows = self.picture(request, heats, &known, &mut state.drawn, lens);
        state.site = rows.point.as_ref().and_then(|point| point.site);
        state.lacks = (!complete).then_some(wants_pages);
        self.lensed.heats = lens_heats;
        self.heat = state;
        (rows, complete)
    }

    /// Goes on between two answers with what the last picture lacked, until `until`.
    pub(in crate::session) fn go_on_with_heat(&mut self, until: Instant) {
        let Some(wants_pages) = self.heat.lacks else { return };
        let decided = self.lens_decided();
        let heats = if self.lensed.is_on() { &mut self.lensed.heats } else { &mut self.heat.heats };
        let mut heats = std::mem::take(heats);
        let mut complete = heats.update(&self.trace, self.lensed.selected(), decided, until);
        *(if self.lensed.is_on() { &mut self.lensed.heats } else { &mut self.heat.heats }) = heats;
        complete &= self.heat.busy.update(&self.trace, until);
        if wants_pages && complete {
            let allocations = (self.lives.all(), self.lives.version());
            self.heat.homes.update(&self.trace, &self.files, allocations, until);
        }
    }

    /// Whoever asked for a picture does so no longer.
    pub(in crate::session) const fn drop_heat(&mut self) {
        self.heat.lacks = None;
    }

    fn picture(
        &mut self,
        request: &HeatRequest,
        heats: &Heats,
        known: &Known<'_>,
        drawn: &mut Made,
        lens: u64,
    ) -> HeatRows {
        let &Known { places, generations, busy, homes, .. } = known;
        let has_faults = self.trace.activities.recorded(What::Faults);
        let Some(subject) = subject(places, generations, request.subject) else {
            let why_empty = Some(self.why_empty());
            return HeatRows { why_empty, subject: request.subject, has_faults, ..HeatRows::default() };
        };
        let shown: Vec<(usize, Place)> = match subject {
            None => places.iter().copied().enumerate().collect(),
            Some(at) => places.get(at).map(|&place| (at, place)).into_iter().collect(),
        };
        let span = self.heat_span(heats);
        let (frame, found) = frame(request, &shown, span);
        let sums = sums(&self.trace, heats, &frame, drawn, lens);
        let amounts = cells::amounts(&sums, frame.columns, request.colour);
        let scale = cells::scale(&amounts);
        let all = if request.colour == HeatColour::Residency {
            let rows = frame.rows.iter().map(|&(_, process, from, to)| (process, from, to));
            homes.cells(rows, &frame.moments())
        } else {
            cells::cells(&sums, &amounts, scale, request.colour)
        };
        let start = self.trace.start_ns();
        let kernels = if busy.is_empty() {
            Vec::new()
        } else {
            busy.shares(&self.trace, frame.from_ns, frame.column_ns, frame.columns)
        };
        let (next, previous) = neighbours(places, subject);
        let number = subject.and_then(|at| places.get(at)).map_or(0, |place| place.number);
        let mut rows = HeatRows {
            why_empty: None,
            label: String::new(),
            subject: subject.map_or(HeatSubject::All, |at| name(places, at)),
            number,
            places: places.len(),
            next,
            previous,
            bits: frame.packed.bits,
            first: frame.first,
            total: frame.packed.total,
            found,
            found_cell: self.found_cell(request.subject, known, &frame, &sums),
            from_ns: frame.from_ns.saturating_sub(start),
            column_ns: frame.column_ns,
            span: (span.0.saturating_sub(start), span.1.saturating_sub(start)),
            lines: lines(&frame, places, &all),
            moves: moves(&sums, frame.columns),
            kernels,
            scale,
            has_faults,
            point: None,
        };
        let namer = Namer::new(&self.trace, &mut self.symbols);
        rows.label = point::label_of(&namer, subject.and_then(|at| places.get(at)), places);
        let (line, column) = (usize::from(request.cursor.0), usize::from(request.cursor.1));
        let row = frame.rows.len().checked_sub(line + 1).and_then(|row| Some((row, frame.rows.get(row)?)));
        if let Some((row, &(place, process, from, to))) = row.filter(|_| column < frame.columns) {
            let begin = frame.from_ns.saturating_add(frame.column_ns.saturating_mul(column as u64));
            let cell = point::Cell { process, from, to, ns: (begin, begin.saturating_add(frame.column_ns)) };
            let sums = sums.get(row * frame.columns + column).copied().unwrap_or_default();
            let selected = self.lensed.selected();
            let details = request.details.then_some((homes, known.pages_known));
            let meant = request.generation.and_then(|row| generations.get(row)).filter(|one| one.0 == place);
            let meant = meant.and_then(|(_, index)| index);
            let asked = point::Asked { cell, sums, details, meant, place: (place, places.get(place)) };
            rows.point = Some(point::of(&namer, (self.lives.all(), generations), selected, &asked));
        }
        rows
    }

    /// The cell in which an allocation that a search has found begins to show: where something happened to it first, or where
    /// it was made.
    fn found_cell(&self, wanted: HeatSubject, known: &Known<'_>, frame: &Frame, sums: &[Sums]) -> Option<(u16, u16)> {
        let HeatSubject::Found(row) = wanted else { return None };
        let (place, index) = known.generations.get(row)?;
        let process = known.places.get(place)?.process;
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

    /// Why there is nothing to show, and what would fill it.
    fn why_empty(&self) -> String {
        let activities = &self.trace.activities;
        let any = activities.lanes().iter().any(|lane| lane.of == LaneOf::Unified && !lane.is_empty());
        if self.lensed.is_on() && any {
            return "nothing of unified memory is let through".to_owned();
        }
        if !activities.recorded(What::Migrations) {
            let missing = crate::session::evidence::missing(&self.trace);
            let why = missing.into_iter().find(|one| one.what == What::Migrations);
            return why.map_or_else(
                || "no migrations of pages are recorded yet: they appear here as the program runs".to_owned(),
                |one| match one.remedy {
                    Some(remedy) => format!("migrations of pages are not recorded: {}; {remedy}", one.why),
                    None => format!("migrations of pages are not recorded: {}", one.why),
                },
            );
        }
        let managed = self.lives.all().iter().flat_map(|of| of.all());
        let managed = managed.filter(|one| one.kind == crate::correlate::AllocationKind::Managed).count();
        let faults = if activities.recorded(What::Faults) {
            "none of its pages has moved or was missed"
        } else {
            "none of its pages has moved; page faults are not recorded: start with --um-faults"
        };
        match managed {
            0 => "no unified memory: nothing was allocated with cudaMallocManaged, and no page has moved".to_owned(),
            1 => format!("one allocation of unified memory, and {faults}"),
            more => format!("{more} allocations of unified memory, and {faults}"),
        }
    }
}

/// The place that is meant; `Some(None)`: all. `None`: there is none.
fn subject(places: &[Place], generations: &Generations, wanted: HeatSubject) -> Option<Option<usize>> {
    let busiest = || places.iter().position(|place| place.number == 1).map(Some);
    match wanted {
        HeatSubject::All if !places.is_empty() => Some(None),
        HeatSubject::One(process, address) => {
            let holds = |place: &Place| place.process.0 == process && place.from <= address && address < place.to;
            places.iter().position(holds).map(Some).or_else(busiest)
        }
        HeatSubject::Found(row) => {
            generations.get(row).map(|(place, _)| place).filter(|&at| at < places.len()).map(Some).or_else(busiest)
        }
        HeatSubject::Holding(address) => {
            let holds = |place: &Place| place.from <= address && address < place.to;
            places.iter().position(holds).map(Some).or_else(busiest)
        }
        _ => busiest(),
    }
}

fn name(places: &[Place], at: usize) -> HeatSubject {
    places.get(at).map_or(HeatSubject::All, |place| HeatSubject::One(place.process.0, place.from))
}

/// The next busy one after a place, and the one before.
fn neighbours(places: &[Place], subject: Option<usize>) -> (HeatSubject, HeatSubject) {
    let number = subject.and_then(|at| places.get(at)).map_or(0, |place| place.number);
    let of = |number: usize| {
        let at = places.iter().position(|place| place.number == number);
        at.map_or(HeatSubject::All, |at| name(places, at))
    };
    // Behind the last one come all together.
    (of(if number >= places.len() { 0 } else { number + 1 }), of(number.checked_sub(1).unwrap_or(places.len())))
}

fn frame(request: &HeatRequest, shown: &[(usize, Place)], span: (u64, u64)) -> (Frame, Option<u16>) {
    let lines = u64::from(request.lines.max(1));
    let fits = Packed::fitting(shown, lines);
    let packed = |bits: u8| {
        let bits = bits.clamp(SMALLEST, fits.bits);
        if bits == fits.bits { fits.clone() } else { Packed::of(shown, bits) }
    };
    let (packed, first, around) = match request.at {
        HeatRowsAt::Fit => (fits.clone(), 0, None),
        HeatRowsAt::From(bits, first) => (packed(bits), first, None),
        HeatRowsAt::Around(bits, (process, address), line) => {
            let packed = packed(bits);
            let row = packed.row_of(ProcessId(process), address);
            // Lines are counted from the top, rows from the bottom.
            let below = lines.saturating_sub(u64::from(line) + 1);
            (packed, row.saturating_sub(below), Some(row))
        }
    };
    let first = first.min(packed.total.saturating_sub(lines));
    let count = lines.min(packed.total - first);
    let found = around.and_then(|row| u16::try_from((first + count).checked_sub(row + 1)?).ok());
    let rows = (first..first + count).filter_map(|row| packed.row(row));
    let rows = rows.map(|(stretch, from, to)| (stretch.place, stretch.process, from, to)).collect();
    let columns = u64::from(request.columns.max(1));
    let widest = (span.1 - span.0).div_ceil(columns).max(NARROWEST_NS);
    let (from_ns, column_ns) = match request.time {
        HeatTimeAt::Fit => (span.0, widest),
        HeatTimeAt::From(from, width) => {
            let width = width.clamp(NARROWEST_NS, widest);
            let last = span.1.saturating_sub(width.saturating_mul(columns));
            (from.clamp(span.0, last.max(span.0)), width)
        }
    };
    (Frame { packed, first, from_ns, column_ns, columns: usize::from(request.columns.max(1)), rows }, found)
}

/// The sums of all cells, the lowest row first.
fn sums(trace: &Trace, heats: &Heats, frame: &Frame, drawn: &mut Made, lens: u64) -> Vec<Sums> {
    let wanted = Drawn {
        version: heats.version(),
        lens,
        from_ns: frame.from_ns,
        column_ns: frame.column_ns,
        columns: frame.columns,
        rows: frame.rows.iter().map(|&(_, process, from, to)| (process, from, to)).collect(),
    };
    if let Some((_, sums)) = drawn.as_ref().filter(|(known, _)| *known == wanted) {
        return sums.clone();
    }
    let mut all = vec![Sums::default(); frame.rows.len() * frame.columns];
    for (process, heat, lane) in heats.all(trace) {
        // Rows of a process follow one another.
        let first = wanted.rows.iter().position(|row| row.0 == process);
        let Some(first) = first else { continue };
        let rows = wanted.rows.iter().skip(first).take_while(|row| row.0 == process);
        let rows: Vec<(u64, u64)> = rows.map(|&(_, from, to)| (from, to)).collect();
        let grid = Grid { from_ns: frame.from_ns, column_ns: frame.column_ns, columns: frame.columns, rows: &rows };
        let cells = heat.picture(lane, grid);
        let place = all.get_mut(first * frame.columns..).unwrap_or_default();
        place.iter_mut().zip(cells).for_each(|(place, cell)| *place = cell);
    }
    *drawn = Some((wanted, all.clone()));
    all
}

fn lines(frame: &Frame, places: &[Place], cells: &[HeatCell]) -> Vec<HeatLine> {
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
