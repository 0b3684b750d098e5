//! A picture drawn out or together to another one's cells: about what that will show.

use super::canvas::Shape;
use super::view::{Measure, Sums};
use crate::trace::ProcessId;

/// A part of what there was goes into a cell: of which row or column how much, in parts of [`ONE`].
type Share = (usize, u64);
/// All of it.
const ONE: u64 = 1 << 16;

/// The cells of one picture by those of another. What lies in a cell counts as spread evenly over it.
pub fn stretched(last: &Shape, cells: &[Sums], wanted: &Shape) -> Vec<Sums> {
    let columns = columns(last, wanted);
    let mut drawn = Vec::with_capacity(wanted.rows.len() * wanted.columns);
    for &row in &wanted.rows {
        let rows = rows(last, row);
        for shares in &columns {
            let mut cell = Sums::default();
            for &(row, of_row) in &rows {
                for &(column, of_column) in shares {
                    if let Some(sums) = cells.get(row * last.columns + column).filter(|sums| !sums.is_empty()) {
                        add(&mut cell, sums, of_row * of_column / ONE);
                    }
                }
            }
            drawn.push(cell);
        }
    }
    drawn
}

/// Adds a part of some sums; of what is there at all at least one, or it would seem that there is nothing.
fn add(cell: &mut Sums, sums: &Sums, share: u64) {
    for measure in Measure::ALL {
        let amount = sums.get(measure);
        if amount > 0 {
            let part = u128::from(amount) * u128::from(share) / u128::from(ONE);
            cell.count(measure, u64::try_from(part).unwrap_or(u64::MAX).max(1));
        }
    }
}

/// Of each wanted column the columns that it is made of.
fn columns(last: &Shape, wanted: &Shape) -> Vec<Vec<Share>> {
    let at = |shape: &Shape, column: usize| {
        shape.from_ns.saturating_add(shape.column_ns.saturating_mul(u64::try_from(column).unwrap_or(u64::MAX)))
    };
    let of = |column: usize| {
        let (from, to) = (at(wanted, column), at(wanted, column + 1));
        let inside = |ns: u64| {
            let column = ns.saturating_sub(last.from_ns) / last.column_ns.max(1);
            usize::try_from(column).unwrap_or(usize::MAX).min(last.columns)
        };
        let reached = inside(from)..inside(to.saturating_sub(1)).saturating_add(1).min(last.columns);
        let share = |column: usize| {
            let part = to.min(at(last, column + 1)).saturating_sub(from.max(at(last, column)));
            (part > 0).then(|| (column, share_of(part, last.column_ns)))
        };
        reached.filter_map(share).collect()
    };
    (0..wanted.columns).map(of).collect()
}

/// Rows that a wanted one is made of.
fn rows(last: &Shape, (process, from, to): (ProcessId, u64, u64)) -> Vec<Share> {
    let all = last.rows.iter().enumerate().filter(|(_, row)| row.0 == process && row.1 < to && from < row.2);
    all.map(|(number, row)| (number, share_of(to.min(row.2) - from.max(row.1), row.2 - row.1))).collect()
}

fn share_of(part: u64, all: u64) -> u64 {
    let share = u128::from(part) * u128::from(ONE) / u128::from(all.max(1));
    u64::try_from(share).unwrap_or(ONE).min(ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(from_ns: u64, column_ns: u64, columns: usize, rows: &[(u64, u64)]) -> Shape {
        let rows = rows.iter().map(|&(from, to)| (ProcessId(0), from, to)).collect();
        Shape { lens: 0, from_ns, column_ns, columns, rows }
    }

    fn bytes(all: &[u64]) -> Vec<Sums> {
        let of = |&bytes: &u64| {
            let mut sums = Sums::default();
            sums.count(Measure::ToDevice, bytes);
            sums
        };
        all.iter().map(of).collect()
    }

    fn moved(cells: &[Sums]) -> Vec<u64> {
        cells.iter().map(Sums::moved).collect()
    }

    #[test]
    fn what_is_zoomed_into_is_spread_and_what_is_zoomed_out_of_comes_together() {
        let whole = shape(1000, 100, 4, &[(0, 4096), (4096, 8192)]);
        let cells = bytes(&[800, 0, 40, 0, 0, 160, 0, 3]);
        assert_eq!(moved(&stretched(&whole, &cells, &whole)), [800, 0, 40, 0, 0, 160, 0, 3]);
        let closer = shape(1000, 50, 4, &[(0, 4096), (4096, 8192)]);
        assert_eq!(moved(&stretched(&whole, &cells, &closer)), [400, 400, 0, 0, 0, 0, 80, 80]);
        let further = shape(800, 200, 4, &[(0, 8192)]);
        assert_eq!(moved(&stretched(&whole, &cells, &further)), [0, 960, 43, 0]);
        let half = shape(1050, 100, 2, &[(0, 2048)]);
        assert_eq!(moved(&stretched(&whole, &cells, &half)), [200, 10]);
    }

    #[test]
    fn what_was_panned_to_is_empty_and_the_rest_moves_along() {
        let whole = shape(1000, 100, 4, &[(0, 4096)]);
        let cells = bytes(&[1, 2, 3, 4]);
        assert_eq!(moved(&stretched(&whole, &cells, &shape(1200, 100, 4, &[(0, 4096)]))), [3, 4, 0, 0]);
        assert_eq!(moved(&stretched(&whole, &cells, &shape(700, 100, 4, &[(0, 4096)]))), [0, 0, 0, 1]);
        // Elsewhere nothing is known, nor of another process.
        assert_eq!(moved(&stretched(&whole, &cells, &shape(1000, 100, 4, &[(8192, 9000)]))), [0; 4]);
        let mut other = shape(1000, 100, 4, &[(0, 4096)]);
        other.rows[0].0 = ProcessId(1);
        assert_eq!(moved(&stretched(&whole, &cells, &other)), [0; 4]);
        // However little of it there is, it is not nothing.
        assert_eq!(moved(&stretched(&whole, &cells, &shape(1000, 1, 2, &[(0, 4096)]))), [1, 1]);
        assert_eq!(stretched(&whole, &cells, &shape(u64::MAX - 5, u64::MAX, 2, &[(0, 4096)])).len(), 2);
    }
}
