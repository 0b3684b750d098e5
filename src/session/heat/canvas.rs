//! The cells of pictures, drawn in slices: what is not drawn yet looks as it did in the last picture, drawn out or together.

use std::ops::Range;
use std::time::Instant;

use super::Heats;
use super::stretch::stretched;
use super::view::Sums;
use crate::memory::heat::{Drawing, Grid};
use crate::trace::{ProcessId, Trace};

/// What a picture is of, beside the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of the lens.
    pub lens: u64,
    /// Where the first column begins, ns on the trace's axis.
    pub from_ns: u64,
    /// Width of a column, ns.
    pub column_ns: u64,
    /// Columns.
    pub columns: usize,
    /// Process, first address and first after it; the lowest row first. Rows of a process follow one another.
    pub rows: Vec<(ProcessId, u64, u64)>,
}

/// Which records it is of.
type Version = (u64, u64);

/// All cells of a picture.
#[derive(Debug)]
struct Whole {
    shape: Shape,
    version: Version,
    sums: Vec<Sums>,
}

/// A picture that is being drawn.
#[derive(Debug)]
struct Half {
    shape: Shape,
    version: Version,
    /// Rows of each process, and what is drawn of them.
    parts: Vec<(ProcessId, Range<usize>, Drawing)>,
}

/// What is shown.
#[derive(Debug, Default)]
struct Shown {
    sums: Vec<Sums>,
    /// Of each row how many columns from the left are right to the byte; the others are about right. Empty: all are.
    exact: Vec<usize>,
}

/// The pictures that were drawn last.
#[derive(Debug, Default)]
pub struct Canvas {
    whole: Option<Whole>,
    half: Option<Half>,
    /// Made of both while there is no whole picture of what is wanted.
    shown: Option<Shown>,
}

impl Canvas {
    /// Draws this picture, until `until`; true if it is there, of all records that have been taken.
    pub fn draw(&mut self, trace: &Trace, heats: &Heats, wanted: &Shape, until: Instant) -> bool {
        let version = heats.version();
        let is_it = |shape: &Shape, of: Version| shape == wanted && of.1 == version.1;
        if self.whole.as_ref().is_some_and(|whole| is_it(&whole.shape, whole.version) && whole.version == version) {
            (self.half, self.shown) = (None, None);
            return true;
        }
        // What is under way is finished though there are more records by now: else there would never be any while they come.
        if !self.half.as_ref().is_some_and(|half| is_it(&half.shape, half.version)) {
            self.half = Some(Half::new(trace, heats, wanted));
        }
        self.go_on(trace, heats, until);
        let whole = self.whole.as_ref().filter(|whole| is_it(&whole.shape, whole.version));
        if whole.is_some() {
            self.shown = None;
        } else if let Some(half) = &self.half {
            self.shown = Some(half.shown(heats, self.whole.as_ref()));
        }
        whole.is_some_and(|whole| whole.version == version)
    }

    /// Goes on with what is under way, until `until`; true if nothing is any more.
    pub fn go_on(&mut self, trace: &Trace, heats: &Heats, until: Instant) -> bool {
        // With other records there is nothing to go on with.
        self.half.take_if(|half| half.version.1 != heats.version().1);
        let Some(half) = &mut self.half else { return true };
        let is_done = half.parts.iter_mut().all(|(process, _, drawing)| {
            let found = heats.all(trace).find(|(known, ..)| known == process);
            found.is_none_or(|(_, heat, lane)| drawing.go_on(heat, lane, || Instant::now() < until))
        });
        if is_done {
            self.whole = self.half.take().map(Half::into_whole);
            self.shown = None;
        }
        is_done
    }

    /// The cells, row after row.
    pub fn sums(&self) -> &[Sums] {
        let whole = self.whole.as_ref().map_or(&[][..], |whole| &whole.sums);
        self.shown.as_ref().map_or(whole, |shown| &shown.sums)
    }

    /// Whether a cell is right to the byte; else it is about right.
    pub fn is_exact(&self, row: usize, column: usize) -> bool {
        let exact = self.shown.as_ref().map(|shown| shown.exact.get(row).copied().unwrap_or(0));
        exact.is_none_or(|exact| column < exact)
    }
}

impl Half {
    fn new(trace: &Trace, heats: &Heats, wanted: &Shape) -> Self {
        let mut parts = Vec::new();
        let mut first = 0;
        for rows in wanted.rows.chunk_by(|one, next| one.0 == next.0) {
            let range = first..first + rows.len();
            first = range.end;
            let process = rows.first().map(|row| row.0);
            let found = heats.all(trace).find(|(known, ..)| Some(*known) == process);
            let rows: Vec<(u64, u64)> = rows.iter().map(|&(_, from, to)| (from, to)).collect();
            let Shape { from_ns, column_ns, columns, .. } = *wanted;
            let grid = Grid { from_ns, column_ns, columns, rows: &rows };
            parts.extend(found.map(|(process, heat, _)| (process, range, Drawing::new(heat, grid))));
        }
        Self { shape: wanted.clone(), version: heats.version(), parts }
    }

    fn into_whole(self) -> Whole {
        let columns = self.shape.columns;
        let mut sums = vec![Sums::default(); self.shape.rows.len() * columns];
        for (_, rows, drawing) in self.parts {
            if let Some(place) = sums.get_mut(rows.start * columns..rows.end * columns) {
                place.copy_from_slice(drawing.cells());
            }
        }
        Whole { shape: self.shape, version: self.version, sums }
    }

    /// What is drawn, and beside it what the last picture makes likely.
    fn shown(&self, heats: &Heats, last: Option<&Whole>) -> Shown {
        let columns = self.shape.columns;
        let cells = self.shape.rows.len() * columns;
        let last = last.filter(|last| last.shape.lens == self.shape.lens);
        let mut sums =
            last.map_or_else(|| vec![Sums::default(); cells], |last| stretched(&last.shape, &last.sums, &self.shape));
        let mut exact = vec![0; self.shape.rows.len()];
        for (process, rows, drawing) in &self.parts {
            let done = heats.heat_of(*process).map_or(columns, |heat| drawing.done_columns(heat));
            let lines = drawing.cells().chunks(columns.max(1));
            for (row, line) in rows.clone().zip(lines) {
                let Some(place) = sums.get_mut(row * columns..(row + 1) * columns) else { continue };
                place.iter_mut().zip(line).take(done).for_each(|(place, cell)| *place = *cell);
                if let Some(exact) = exact.get_mut(row) {
                    *exact = done;
                }
            }
        }
        Shown { sums, exact }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::trace::{Activity, ActivityKind, LaneOf};

    const BASE: u64 = 0x7f00_0000_0000;

    /// So many records, 100 ns apart, that bring pages of 2 MiB to the device.
    fn push(trace: &mut Trace, records: std::ops::Range<u64>) {
        for at in records {
            let (value, address) = (4096 * (1 + at % 3), BASE + at * 37 % 512 * 4096);
            let detail = umtui_wire::activity::UNIFIED_TO_DEVICE as u8 | 2 << 4;
            let kind = ActivityKind::Unified;
            let one = Activity { kind, start_ns: at * 100, detail, value, address, ..Activity::default() };
            trace.activities.push(ProcessId(0), LaneOf::Unified, &one, 0);
        }
    }

    fn heats(trace: &Trace) -> Heats {
        let mut heats = Heats::default();
        assert!(heats.update(trace, None, 0, Instant::now() + Duration::from_secs(60)));
        heats
    }

    fn shape(from_ns: u64, column_ns: u64) -> Shape {
        let rows = (0..8).map(|row| (ProcessId(0), BASE + (row << 18), BASE + ((row + 1) << 18))).collect();
        Shape { lens: 0, from_ns, column_ns, columns: 64, rows }
    }

    fn at_once(trace: &Trace, heats: &Heats, wanted: &Shape) -> Vec<Sums> {
        let mut canvas = Canvas::default();
        assert!(canvas.draw(trace, heats, wanted, Instant::now() + Duration::from_secs(60)));
        canvas.sums().to_vec()
    }

    fn moved(sums: &[Sums]) -> u64 {
        sums.iter().map(Sums::moved).sum()
    }

    #[test]
    fn what_is_not_drawn_yet_is_about_right_and_what_is_said_to_be_exact_is() {
        let mut trace = Trace::default();
        push(&mut trace, 0..60_000);
        let heats = heats(&trace);
        let mut canvas = Canvas::default();
        let (whole, closer) = (shape(0, 100_000), shape(1_500_000, 50_000));
        let mut slices = 0;
        while !canvas.draw(&trace, &heats, &whole, Instant::now()) {
            slices += 1;
        }
        assert!(slices > 1 && canvas.sums() == at_once(&trace, &heats, &whole));
        let wanted = at_once(&trace, &heats, &closer);
        let (mut slices, mut exact) = (0, 0);
        while !canvas.draw(&trace, &heats, &closer, Instant::now()) {
            slices += 1;
            // Of the beginning that is spread evenly nothing is lost.
            let difference = moved(canvas.sums()).abs_diff(moved(&wanted));
            assert!(difference < moved(&wanted) / 20, "{difference} of {}", moved(&wanted));
            for (at, cell) in canvas.sums().iter().enumerate() {
                if canvas.is_exact(at / 64, at % 64) {
                    assert_eq!(cell, &wanted[at]);
                    exact += 1;
                }
            }
        }
        assert!(slices > 1 && exact > 0);
        assert_eq!((canvas.sums(), canvas.is_exact(7, 63)), (&wanted[..], true));
        assert!(canvas.draw(&trace, &heats, &closer, Instant::now()), "it is kept");
    }

    #[test]
    fn what_was_begun_is_finished_though_more_has_come() {
        let mut trace = Trace::default();
        push(&mut trace, 0..30_000);
        let mut heats = heats(&trace);
        let (mut canvas, wanted) = (Canvas::default(), shape(0, 100_000));
        let before = at_once(&trace, &heats, &wanted);
        assert!(!canvas.draw(&trace, &heats, &wanted, Instant::now()));
        push(&mut trace, 30_000..60_000);
        assert!(heats.update(&trace, None, 0, Instant::now() + Duration::from_secs(60)));
        while !canvas.go_on(&trace, &heats, Instant::now()) {}
        assert_eq!(canvas.sums(), before);
        // It is not of all, and then it is.
        while !canvas.draw(&trace, &heats, &wanted, Instant::now()) {
            assert!(canvas.is_exact(0, 0) || moved(canvas.sums()) > 0);
        }
        assert_eq!(canvas.sums(), at_once(&trace, &heats, &wanted));
        // Other records are another picture.
        assert!(heats.update(&trace, None, 1, Instant::now() + Duration::from_secs(60)));
        assert!(!canvas.draw(&trace, &heats, &wanted, Instant::now()));
    }
}
