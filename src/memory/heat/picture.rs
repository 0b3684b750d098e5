//! Any rectangle of a heat, in cells.

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

struct Drawing<'a> {
    heat: &'a Heat,
    lane: &'a Lane,
    grid: Grid<'a>,
    cells: Vec<Sums>,
}

impl Heat {
    /// The sums of all cells, row after row. A record counts in the column in which it begins, and its bytes in the rows
    /// that they lie in. `lane` is that which the rows were taken from.
    #[must_use]
    pub fn picture(&self, lane: &Lane, grid: Grid<'_>) -> Vec<Sums> {
        let cells = vec![Sums::default(); grid.columns.saturating_mul(grid.rows.len())];
        let mut drawing = Drawing { heat: self, lane, grid, cells };
        if drawing.cells.is_empty() {
            return drawing.cells;
        }
        for (level, at) in self.tops() {
            drawing.node(level, at);
        }
        for (counted, _, start_ns) in &self.open {
            drawing.record(counted, *start_ns);
        }
        drawing.cells
    }
}

impl<'a> Drawing<'a> {
    fn node_at(&self, level: usize, at: usize) -> Option<&'a Node> {
        self.heat.levels.get(level)?.get(at)
    }

    fn node(&mut self, level: usize, at: usize) {
        let Some(node) = self.node_at(level, at) else { return };
        let (first, last) = node.span;
        let end = (self.grid.columns as u64).saturating_mul(self.grid.column_ns.max(1));
        if first > last || last < self.grid.from_ns || first - first.min(self.grid.from_ns) >= end {
            return;
        }
        let Some((low, high)) = node.profile.bounds() else { return };
        let rows = self.grid.rows_in(low, high);
        if rows.is_empty() {
            return;
        }
        let column = self.grid.column(first);
        if let Some(column) = column.filter(|_| column == self.grid.column(last)) {
            let all = self.grid.rows.iter().enumerate().skip(rows.start).take(rows.len());
            let parts: Vec<Part> = all.map(|(row, &(from, to))| Part { row, from, to }).collect();
            self.sum(level, at, column, &parts);
        } else if level > 0 {
            (at * FAN..(at + 1) * FAN).for_each(|below| self.node(level - 1, below));
        } else if let Some(piece) = self.heat.pieces.get(at) {
            let (lane, first, marks) = (self.lane, piece.first, piece.marks());
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

    /// Adds a node that lies in one column: its bins, and what its children know of the parts of bins.
    fn sum(&mut self, level: usize, at: usize, column: usize, parts: &[Part]) {
        let Some(node) = self.node_at(level, at) else { return };
        let (mut rest, mut bin) = (Vec::new(), 0);
        for part in parts {
            let left = |from, to| rest.push(Part { row: part.row, from, to });
            if let Some(sums) = node.profile.sum(&mut bin, part.from, part.to, left)
                && let Some(cell) = self.cells.get_mut(part.row * self.grid.columns + column)
            {
                cell.add(&sums);
            }
        }
        if rest.is_empty() {
            return;
        }
        if level > 0 {
            (at * FAN..(at + 1) * FAN).for_each(|below| self.sum(level - 1, below, column, &rest));
        } else if let Some(piece) = self.heat.pieces.get(at) {
            self.search(piece, column, &rest);
        }
    }

    /// Adds what a piece's records have in parts of bins.
    fn search(&mut self, piece: &Piece, column: usize, parts: &[Part]) {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
        for &inner in piece.near(first.from, last.to) {
            let activity = self.lane.get(piece.first + usize::from(inner));
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
        let Some(column) = self.grid.column(start_ns) else { return };
        for row in self.grid.rows_in(counted.from, counted.to) {
            if let Some(&(from, to)) = self.grid.rows.get(row) {
                self.count(row, column, counted, (from, to));
            }
        }
    }

    fn count(&mut self, row: usize, column: usize, counted: &Counted, (from, to): (u64, u64)) {
        if let Some(cell) = self.cells.get_mut(row * self.grid.columns + column) {
            cell.count(counted.measure, counted.within(from, to));
        }
    }
}
