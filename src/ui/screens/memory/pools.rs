//! The columns of the table of pools: titles, widths, which ones fit, and what stands in them.

use crate::session::view::PoolRow;
use crate::ui::text::format;
use crate::ui::widgets::columns;

/// A column right of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Allocations.
    Count,
    /// The most bytes in use.
    Peak,
    /// Bytes in use at the end.
    Used,
    /// Bytes of the device that it held.
    Reserved,
    /// Share of that which was not in use.
    Unused,
    /// Bytes that it keeps.
    Keeps,
}

/// Columns from left to right.
pub const ORDER: [Column; 6] =
    [Column::Count, Column::Peak, Column::Used, Column::Reserved, Column::Unused, Column::Keeps];

/// The same, the most telling first.
const TELLING: [Column; 6] =
    [Column::Peak, Column::Used, Column::Reserved, Column::Unused, Column::Keeps, Column::Count];

/// Cells that the name gets before a further column is shown.
const NAME_FIRST: u16 = 18;

/// A column's title.
pub fn title(column: Column) -> &'static str {
    match column {
        Column::Count => "count",
        Column::Peak => "peak",
        Column::Used => "in use",
        Column::Reserved => "reserved",
        Column::Unused => "not used",
        Column::Keeps => "keeps",
    }
}

/// Cells of a column, with the space before it.
pub fn width(column: Column) -> u16 {
    match column {
        Column::Count => format::COUNT_WIDTH + 2,
        Column::Unused => 10,
        _ => format::BYTES_WIDTH + 2,
    }
}

/// The columns to show right of the name in so many cells, from left to right.
pub fn visible(cells: u16) -> Vec<Column> {
    columns::visible(&ORDER, &TELLING, cells.saturating_sub(NAME_FIRST.min(cells / 3)), width)
}

/// What stands in a column.
pub fn value(column: Column, row: &PoolRow) -> String {
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), format::bytes);
    match column {
        Column::Count => format::count(row.count),
        Column::Peak => format::bytes(row.peak),
        Column::Used => format::bytes(row.used),
        Column::Reserved => bytes(row.reserved),
        Column::Unused => row.unused.map_or_else(|| "-".to_owned(), |share| format::share(u64::from(share))),
        Column::Keeps => match row.keeps {
            Some(u64::MAX) => "all".to_owned(),
            keeps => bytes(keeps),
        },
    }
}
