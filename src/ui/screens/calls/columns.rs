//! The columns of the calls screen: titles, widths, which ones fit, and what stands in them.

use crate::session::view::{CallRow, Column};
use crate::ui::text::format;
use crate::ui::widgets::columns;

/// Which columns the user wants beside the name.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Chosen {
    /// As many as fit, the most telling first.
    #[default]
    Automatic,
    /// These in this order, as far as they fit.
    Only(Vec<Column>),
}

/// What the time columns show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Numbers {
    /// Durations.
    #[default]
    Times,
    /// Shares of all calls' total.
    Shares,
}

/// Columns beside the name, as they stand from left to right.
pub const ORDER: [Column; 10] = [
    Column::Total,
    Column::SelfTime,
    Column::Share,
    Column::Count,
    Column::Failed,
    Column::Min,
    Column::Average,
    Column::P50,
    Column::P99,
    Column::Max,
];

/// The same, the most telling first.
const TELLING: [Column; 10] = [
    Column::Total,
    Column::SelfTime,
    Column::Count,
    Column::Failed,
    Column::P99,
    Column::Max,
    Column::P50,
    Column::Average,
    Column::Min,
    Column::Share,
];

/// Cells that the name gets before a further column is shown (or a third of them all, if that is more), and before
/// a chosen one is left out.
const NAME_FIRST: u16 = 36;
const NAME_LEAST: u16 = 18;

/// A column's title.
pub fn title(column: Column) -> &'static str {
    match column {
        Column::Name => "name",
        Column::Total => "total",
        Column::SelfTime => "self",
        Column::Count => "count",
        Column::Failed => "failed",
        Column::Min => "min",
        Column::Average => "average",
        Column::P50 => "p50",
        Column::P99 => "p99",
        Column::Max => "max",
        Column::Share => "share",
    }
}

/// Cells of a column, with the space before it.
pub fn width(column: Column) -> u16 {
    match column {
        Column::Name => 0,
        Column::Count | Column::Failed => format::COUNT_WIDTH + 2,
        Column::Share => format::SHARE_WIDTH + 2,
        _ => format::DURATION_WIDTH + 2,
    }
}

/// The columns to show beside the name in so many cells, from left to right.
pub fn visible(chosen: &Chosen, cells: u16) -> Vec<Column> {
    let (candidates, least) = match chosen {
        // On a narrow screen total and self matter more than the end of a name.
        Chosen::Automatic => (TELLING.to_vec(), NAME_FIRST.max(cells / 3).min((cells / 2).max(NAME_LEAST))),
        Chosen::Only(wanted) => (TELLING.into_iter().filter(|c| wanted.contains(c)).collect(), NAME_LEAST),
    };
    let fitting = columns::fitting(candidates, cells.saturating_sub(least), width);
    let order = match chosen {
        Chosen::Automatic => ORDER.as_slice(),
        Chosen::Only(wanted) => wanted,
    };
    let mut shown = Vec::with_capacity(fitting.len());
    order.iter().for_each(|column| {
        if fitting.contains(column) && !shown.contains(column) {
            shown.push(*column)
        }
    });
    shown
}

/// Columns to sort by: the name and what is shown beside it.
pub fn sortable(chosen: &Chosen, cells: u16) -> Vec<Column> {
    std::iter::once(Column::Name).chain(visible(chosen, cells)).collect()
}

fn optional(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), format::duration)
}

/// Self time as a share of all calls' total, from the row's own total and share.
fn self_share(row: &CallRow) -> u64 {
    let scaled = u128::from(row.self_ns) * u128::from(row.share);
    u64::try_from(scaled.checked_div(u128::from(row.total_ns)).unwrap_or(0)).unwrap_or(0)
}

/// Mean duration of the calls that have ended.
fn average(row: &CallRow) -> Option<u64> {
    row.max_ns?;
    row.total_ns.checked_div(row.count.saturating_sub(row.running))
}

/// Whether it has calls or records none of which took time.
fn has_no_times(row: &CallRow) -> bool {
    row.count + row.running == 0 || (row.kind.is_gpu() && row.max_ns.is_none())
}

/// What stands in a column.
pub fn value(column: Column, row: &CallRow, numbers: Numbers) -> String {
    match (column, numbers) {
        (Column::Name, _) => row.label.clone(),
        // A row that only has something below it, or moments: nothing was measured.
        (Column::Total | Column::SelfTime | Column::Share, _) if has_no_times(row) => String::new(),
        (Column::Count, _) if row.count + row.running == 0 => String::new(),
        (Column::Total, Numbers::Times) => format::duration(row.total_ns),
        (Column::SelfTime, Numbers::Times) => format::duration(row.self_ns),
        (Column::Total, Numbers::Shares) | (Column::Share, _) => format::share(u64::from(row.share)),
        (Column::SelfTime, Numbers::Shares) => format::share(self_share(row)),
        (Column::Count, _) => format::count(row.count),
        (Column::Failed, _) if row.failed == 0 => String::new(),
        (Column::Failed, _) => format::count(row.failed),
        (Column::Min, _) => optional(row.min_ns),
        (Column::Average, _) => optional(average(row)),
        (Column::P50, _) => optional(row.p50_ns),
        (Column::P99, _) => optional(row.p99_ns),
        (Column::Max, _) => optional(row.max_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_screens_gain_columns_and_lose_none() {
        use Column::{Count, Failed, SelfTime, Total};
        assert_eq!(visible(&Chosen::Automatic, 40), [Total, SelfTime]);
        assert_eq!(visible(&Chosen::Automatic, 80), [Total, SelfTime, Count, Failed]);
        assert_eq!(visible(&Chosen::Automatic, 30), [Total]);
        let mut before = Vec::new();
        for cells in 30..260 {
            let now = visible(&Chosen::Automatic, cells);
            assert!(before.iter().all(|column| now.contains(column)), "{cells}");
            before = now;
        }
        assert_eq!(before, ORDER);
    }

    #[test]
    fn chosen_columns_stand_as_they_are_chosen_and_give_way_to_the_name() {
        let chosen = Chosen::Only(vec![Column::Max, Column::Total]);
        assert_eq!(visible(&chosen, 80), [Column::Max, Column::Total]);
        assert_eq!(visible(&chosen, 30), [Column::Total]);
    }
}
