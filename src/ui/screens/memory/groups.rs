//! The columns of the table of groups: titles, widths, which ones fit, and what stands in them.

use crate::session::view::{GroupColumn, GroupRow, MemoryGrouping};
use crate::ui::text::format;
use crate::ui::widgets::columns;

/// Columns right of the name, from left to right.
pub const ORDER: [GroupColumn; 7] = [
    GroupColumn::Count,
    GroupColumn::Bytes,
    GroupColumn::Peak,
    GroupColumn::Then,
    GroupColumn::LiveCount,
    GroupColumn::Live,
    GroupColumn::Temporary,
];

/// The same, the most telling first.
const TELLING: [GroupColumn; 7] = [
    GroupColumn::Peak,
    GroupColumn::Live,
    GroupColumn::Count,
    GroupColumn::Bytes,
    GroupColumn::Then,
    GroupColumn::LiveCount,
    GroupColumn::Temporary,
];

/// Cells that the name gets before a further column is shown.
const NAME_FIRST: u16 = 24;

/// A column's title.
pub fn title(column: GroupColumn) -> &'static str {
    match column {
        GroupColumn::Name => "name",
        GroupColumn::Count => "count",
        GroupColumn::Bytes => "allocated",
        GroupColumn::Peak => "peak",
        GroupColumn::Then => "in use then",
        GroupColumn::LiveCount => "not freed",
        GroupColumn::Live => "not freed, in",
        GroupColumn::Temporary => "temporary",
    }
}

/// Cells of a column, with the space before it.
pub fn width(column: GroupColumn) -> u16 {
    match column {
        GroupColumn::Name => 0,
        GroupColumn::Count => format::COUNT_WIDTH + 2,
        GroupColumn::LiveCount => 12,
        GroupColumn::Then => 14,
        GroupColumn::Live => 16,
        GroupColumn::Temporary => 12,
        _ => format::BYTES_WIDTH + 2,
    }
}

/// The columns to show right of the name in so many cells, from left to right.
pub fn visible(cells: u16) -> Vec<GroupColumn> {
    columns::visible(&ORDER, &TELLING, cells.saturating_sub(NAME_FIRST.min(cells / 3)), width)
}

/// Columns to sort by, from left to right.
pub fn sortable(cells: u16) -> Vec<GroupColumn> {
    std::iter::once(GroupColumn::Name).chain(visible(cells)).collect()
}

/// What they are summed up by, in words.
pub fn by(grouping: MemoryGrouping) -> &'static str {
    match grouping {
        MemoryGrouping::Site => "by call site",
        MemoryGrouping::Kind => "by kind",
        MemoryGrouping::Device => "by device",
    }
}

/// The next one.
pub fn next(grouping: MemoryGrouping) -> MemoryGrouping {
    match grouping {
        MemoryGrouping::Site => MemoryGrouping::Kind,
        MemoryGrouping::Kind => MemoryGrouping::Device,
        MemoryGrouping::Device => MemoryGrouping::Site,
    }
}

/// What stands in a column.
pub fn value(column: GroupColumn, row: &GroupRow) -> String {
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), format::bytes);
    match column {
        GroupColumn::Name => row.name.clone(),
        GroupColumn::Count => format::count(row.count),
        GroupColumn::Bytes => bytes(row.bytes),
        GroupColumn::Peak => bytes(row.peak),
        GroupColumn::Then => bytes(row.then),
        GroupColumn::LiveCount => format::count(row.live_count),
        GroupColumn::Live => bytes(row.live),
        GroupColumn::Temporary => match row.temporary {
            (0, _) => "-".to_owned(),
            (count, _) => format::count(count),
        },
    }
}
