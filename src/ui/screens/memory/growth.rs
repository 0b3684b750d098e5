//! The columns of what has grown: titles, widths, which ones fit, and what stands in them.

use crate::session::view::{GrowthGrouping, GrowthRow, HeldThen};
use crate::ui::text::format;
use crate::ui::widgets::columns;

/// A column right of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Largest size of those that are summed up.
    Class,
    /// Bytes before.
    Before,
    /// Bytes after.
    After,
    /// Growth in bytes.
    Bytes,
    /// Growth in allocations.
    Count,
    /// What became of it.
    Verdict,
}

/// Columns from left to right.
pub const ORDER: [Column; 6] =
    [Column::Class, Column::Before, Column::After, Column::Bytes, Column::Count, Column::Verdict];

/// The same, the most telling first.
const TELLING: [Column; 6] =
    [Column::Bytes, Column::Count, Column::Class, Column::After, Column::Verdict, Column::Before];

/// Cells that the name gets before a further column is shown.
const NAME_FIRST: u16 = 22;

/// A column's title.
pub fn title(column: Column) -> &'static str {
    match column {
        Column::Class => "size up to",
        Column::Before => "before",
        Column::After => "after",
        Column::Bytes => "growth",
        Column::Count => "count",
        Column::Verdict => "",
    }
}

/// Cells of a column, with the space before it.
pub fn width(column: Column) -> u16 {
    match column {
        Column::Verdict => 8,
        Column::Count => format::COUNT_WIDTH + 3,
        _ => format::BYTES_WIDTH + 2,
    }
}

/// The columns to show right of the name in so many cells, from left to right.
pub fn visible(cells: u16) -> Vec<Column> {
    columns::visible(&ORDER, &TELLING, cells.saturating_sub(NAME_FIRST.min(cells / 3)), width)
}

/// What it is summed up by, in words.
pub fn by(grouping: GrowthGrouping) -> &'static str {
    match grouping {
        GrowthGrouping::Site => "by call site and size",
        GrowthGrouping::Range => "by address",
    }
}

/// The other one.
pub fn next(grouping: GrowthGrouping) -> GrowthGrouping {
    match grouping {
        GrowthGrouping::Site => GrowthGrouping::Range,
        GrowthGrouping::Range => GrowthGrouping::Site,
    }
}

/// Bytes; of none whose size is recorded `-`.
pub fn held(held: HeldThen) -> String {
    held.bytes.map_or_else(|| "-".to_owned(), format::bytes)
}

/// With its sign.
fn signed(number: i64, of: fn(u64) -> String) -> String {
    let sign = match number {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", of(number.unsigned_abs()))
}

/// What stands in a column.
pub fn value(column: Column, row: &GrowthRow) -> String {
    match column {
        Column::Class => row.class.clone(),
        Column::Before => held(row.before),
        Column::After => held(row.after),
        Column::Bytes => row.bytes.map_or_else(|| "-".to_owned(), |bytes| signed(bytes, format::bytes)),
        Column::Count => signed(row.count, format::count),
        Column::Verdict => row.verdict.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_has_a_sign_and_fits_its_column() {
        assert_eq!(signed(i64::MIN, format::bytes), "-8.0 EiB");
        assert_eq!(signed(0, format::count), "0");
        assert_eq!(signed(1_023 << 10, format::bytes), "+1023.0 KiB");
        assert!("+1023.9 KiB".len() < usize::from(width(Column::Bytes)));
        assert_eq!(visible(80), [Column::Class, Column::After, Column::Bytes, Column::Count, Column::Verdict]);
    }
}
