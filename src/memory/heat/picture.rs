//! Any rectangle of a heat, in cells; drawn at once or in slices.

use std::sync::Arc;

use super::build::{FAN, Heat, Node, Piece, ROWS};
use super::{Counted, Sums};
use crate::trace::Lane;

/// The cells of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    /// Where the first column begins, ns on the trace's axis.
    pub from_ns: u64,
    /// Width of a column, ns; not zero.
    pub column_ns: u64,
    /// Columns.
    pub columns: usize,
    /// Of each row the first address and the first after it; in order and apart.
    pub rows: &'a [(u64, u64)],
}

impl Grid<'_> {
    /// Column that a moment is in.
    fn column(&self, ns: u64) -> Option<usize> {
        let column = ns.checked_sub(self.from_ns)? / self.column_ns.max(1);
        usize::try_from(column).ok().filter(|&column| column < self.columns)
    }

    /// Whether a span of time, ns, has something in any column; the other way round it has nothing.
    fn reaches(&self, (first, last): (u64, u64)) -> bool {
        let length = (self.columns as u64).saturating_mul(self.column_ns.max(1));
        first <= last && last >= self.from_ns && first.saturating_sub(self.from_ns) < length
    }

    /// Rows that may have something of these addresses in them.
    fn rows_in(&self, from: u64, to: u64) -> std::ops::Range<usize> {
        let first = self.rows.partition_point(|row| row.1 <= from);
        let rest = self.rows.get(first..).unwrap_or_default();
        first..first + rest.partition_point(|row| row.0 < to)
    }
}

/// A part of a row.
#[derive(Clone, Copy, Debug)]
struct Part {
    row: usize,
    from: u64,
    to: u64,
}

/// A node that is still to be drawn; if all of it lies in a column, which that is, and the parts of rows that are wanted.
#[derive(Clone, Debug)]
struct Pending {
    level: usize,
    at: usize,
    within: Option<(usize, Arc<[Part]>)>,
}

/// Nodes drawn between two looks at the time: a few microseconds each.
const AT_ONCE: usize = 16;
/// Parts of rows that a node is drawn in at once, and such as take as long as a node.
const PARTS: usize = 2048;
const PARTS_OF_NODE: usize = 64;

/// A picture while it is drawn, about from left to right. What comes after it was begun is not in it.
#[derive(Clone, Debug)]
pub struct Drawing {
    from_ns: u64,
    column_ns: u64,
    columns: usize,
    rows: Vec<(u64, u64)>,
    cells: Vec<Sums>,
    /// The next one is the last.
    pending: Vec<Pending>,
}

impl Heat {
    /// The sums of all cells, row after row. A record counts in the column in which it begins, and its bytes in the rows
    /// that they lie in. `lane` is that which the rows were taken from.
    #[must_use]
    pub fn picture(&self, lane: &Lane, grid: Grid<'_>) -> Vec<Sums> {
        let mut drawing = Drawing::new(self, grid);
        drawing.go_on(self, lane, || true);
        drawing.into_cells()
    }
}

impl Drawing {
    /// Nothing of a picture but what is in no piece yet.
    #[must_use]
    pub fn new(heat: &Heat, grid: Grid<'_>) -> Self {
        let cells = vec![Sums::default(); grid.columns.saturating_mul(grid.rows.len())];
        let mut pending: Vec<Pending> = if cells.is_empty() {
            Vec::new()
        } else {
            heat.tops().map(|(level, at)| Pending::new(level, at)).collect()
        };
        pending.reverse();
        let Grid { from_ns, column_ns, columns, .. } = grid;
        let mut drawing = Self { from_ns, column_ns, columns, rows: grid.rows.to_vec(), cells, pending };
        for (counted, _, start_ns) in &heat.open {
            drawing.record(counted, *start_ns);
        }
        drawing
    }

    /// Goes on as long as `more` says so, which is asked now and then; true when it is done. `heat` and `lane` are those that
    /// it was begun with; the heat may have grown.
    pub fn go_on(&mut self, heat: &Heat, lane: &Lane, mut more: impl FnMut() -> bool) -> bool {
        loop {
            let mut drawn = 0;
            while drawn < AT_ONCE {
                let Some(pending) = self.pending.pop() else { return true };
                drawn += 1;
                match pending.within {
                    None => self.node(heat, lane, pending.level, pending.at),
                    Some((column, parts)) => {
                        drawn += parts.len() / PARTS_OF_NODE;
                        self.sum(heat, lane, (pending.level, pending.at), column, &parts);
                    }
                }
            }
            if !self.pending.is_empty() && !more() {
                return false;
            }
        }
    }

    /// Whether all of it is drawn.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// How many columns from the left have all that is in them.
    #[must_use]
    pub fn done_columns(&self, heat: &Heat) -> usize {
        let grid = self.grid();
        let nodes = self.pending.iter().filter_map(|pending| heat.node(pending.level, pending.at));
        let ahead = nodes.filter(|node| grid.reaches(node.span));
        let first = ahead.map(|node| grid.column(node.span.0).unwrap_or(0)).min();
        first.unwrap_or(self.columns)
    }

    /// The sums of all cells as far as they are drawn, row after row.
    #[must_use]
    pub fn cells(&self) -> &[Sums] {
        &self.cells
    }

    /// Likewise.
    #[must_use]
    pub fn into_cells(self) -> Vec<Sums> {
        self.cells
    }

    fn grid(&self) -> Grid<'_> {
        Grid { from_ns: self.from_ns, column_ns: self.column_ns, columns: self.columns, rows: &self.rows }
    }

    /// Puts the nodes below one where they are next, the first of them before the others.
    fn put_below(&mut self, level: usize, at: usize, within: Option<&(usize, Arc<[Part]>)>) {
        let below = (at * FAN..(at + 1) * FAN).rev();
        self.pending.extend(below.map(|at| Pending { level: level - 1, at, within: within.cloned() }));
    }

    fn node(&mut self, heat: &Heat, lane: &Lane, level: usize, at: usize) {
        let Some(node) = heat.node(level, at) else { return };
        let grid = self.grid();
        let Some((low, high)) = node.profile.bounds().filter(|_| grid.reaches(node.span)) else { return };
        let rows = grid.rows_in(low, high);
        if rows.is_empty() {
            return;
        }
        let (first, last) = node.span;
        let column = grid.column(first);
        if let Some(column) = column.filter(|_| column == grid.column(last)) {
            let all = grid.rows.iter().enumerate().skip(rows.start).take(rows.len());
            let parts: Vec<Part> = all.map(|(row, &(from, to))| Part { row, from, to }).collect();
            if parts.len() <= PARTS {
                self.sum(heat, lane, (level, at), column, &parts);
                return;
            }
            let chunks = parts.chunks(PARTS).rev();
            self.pending.extend(chunks.map(|parts| Pending { level, at, within: Some((column, parts.into())) }));
        } else if level > 0 {
            self.put_below(level, at, None);
        } else if let Some(piece) = heat.pieces.get(at) {
            let (first, marks) = (piece.first, piece.marks());
            lane.for_each_in(first..first + ROWS, |row, activity| {
                let at = row - first;
                if marks.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
                    && let Some(counted) = Counted::of(&activity)
                {
                    self.record(&counted, activity.start_ns);
                }
            });
        }
    }

    /// Adds a node that lies in one column: its bins; of the parts of bins those below it know more.
    fn sum(&mut self, heat: &Heat, lane: &Lane, (level, at): (usize, usize), column: usize, parts: &[Part]) {
        let Some(node) = heat.node(level, at) else { return };
        let (mut rest, mut bin) = (Vec::new(), 0);
        for part in parts {
            let left = |from, to| rest.push(Part { row: part.row, from, to });
            if let Some(sums) = node.profile.sum(&mut bin, part.from, part.to, left)
                && let Some(cell) = self.cells.get_mut(part.row * self.columns + column)
            {
                cell.add(&sums);
            }
        }
        if rest.is_empty() {
            return;
        }
        if level > 0 {
            self.put_below(level, at, Some(&(column, rest.into())));
        } else if let Some(piece) = heat.pieces.get(at) {
            self.search(lane, piece, column, &rest);
        }
    }

    /// Adds what a piece's records have in parts of bins.
    fn search(&mut self, lane: &Lane, piece: &Piece, column: usize, parts: &[Part]) {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
        for &inner in piece.near(first.from, last.to) {
            let activity = lane.get(piece.first + usize::from(inner));
            let Some(counted) = activity.and_then(|one| Counted::of(&one)) else { continue };
            let begin = parts.partition_point(|part| part.to <= counted.from);
            let inside = parts.get(begin..).unwrap_or_default().iter().take_while(|part| part.from < counted.to);
            for part in inside {
                self.count(part.row, column, &counted, (part.from, part.to));
            }
        }
    }

    /// Adds one record.
    fn record(&mut self, counted: &Counted, start_ns: u64) {
        let grid = self.grid();
        let Some(column) = grid.column(start_ns) else { return };
        for row in grid.rows_in(counted.from, counted.to) {
            if let Some(&range) = self.rows.get(row) {
                self.count(row, column, counted, range);
            }
        }
    }

    fn count(&mut self, row: usize, column: usize, counted: &Counted, (from, to): (u64, u64)) {
        if let Some(cell) = self.cells.get_mut(row * self.columns + column) {
            cell.count(counted.measure, counted.within(from, to));
        }
    }
}

impl Pending {
    const fn new(level: usize, at: usize) -> Self {
        Self { level, at, within: None }
    }
}

impl Heat {
    fn node(&self, level: usize, at: usize) -> Option<&Node> {
        self.levels.get(level)?.get(at)
    }
}
