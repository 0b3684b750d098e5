//! The columns of the table of allocations: titles, widths, which ones fit, and what stands in them.

use crate::session::view::{AllocationColumn, AllocationRow, AllocationState};
use crate::ui::text::format;
use crate::ui::widgets::columns;

/// Columns right of the call site, from left to right.
pub const ORDER: [AllocationColumn; 10] = [
    AllocationColumn::Thread,
    AllocationColumn::Kind,
    AllocationColumn::Device,
    AllocationColumn::Size,
    AllocationColumn::Moved,
    AllocationColumn::MovedBack,
    AllocationColumn::Faults,
    AllocationColumn::Made,
    AllocationColumn::Lifetime,
    AllocationColumn::State,
];

/// The same, the most telling first.
const TELLING: [AllocationColumn; 10] = [
    AllocationColumn::Size,
    AllocationColumn::Kind,
    AllocationColumn::State,
    AllocationColumn::Moved,
    AllocationColumn::Lifetime,
    AllocationColumn::Faults,
    AllocationColumn::Device,
    AllocationColumn::Made,
    AllocationColumn::MovedBack,
    AllocationColumn::Thread,
];

/// Cells of an address, with the space behind it.
pub const ADDRESS: u16 = 15;
/// Cells that the call site gets before a further column is shown.
const SITE_FIRST: u16 = 20;
/// Lists narrower than this show no address.
const NARROW: u16 = 60;

/// A column's title.
pub fn title(column: AllocationColumn) -> &'static str {
    match column {
        AllocationColumn::Address => "address",
        AllocationColumn::Size => "size",
        AllocationColumn::Kind => "kind",
        AllocationColumn::Device => "GPU",
        AllocationColumn::Site => "allocated by",
        AllocationColumn::Thread => "thread",
        AllocationColumn::Made => "made",
        AllocationColumn::Lifetime => "lifetime",
        AllocationColumn::Moved => "moved",
        AllocationColumn::MovedBack => "moved back",
        AllocationColumn::Faults => "faults",
        AllocationColumn::State => "state",
    }
}

/// Cells of a column, with the space before it.
pub fn width(column: AllocationColumn) -> u16 {
    match column {
        AllocationColumn::Address => ADDRESS,
        AllocationColumn::Site => 0,
        AllocationColumn::Size | AllocationColumn::Moved | AllocationColumn::MovedBack => format::BYTES_WIDTH + 2,
        AllocationColumn::Kind => 11,
        AllocationColumn::Device => 6,
        AllocationColumn::Thread => 16,
        AllocationColumn::Made => 13,
        AllocationColumn::Lifetime => format::DURATION_WIDTH + 2,
        AllocationColumn::Faults => format::COUNT_WIDTH + 2,
        AllocationColumn::State => 10,
    }
}

/// Whether a column holds words, not numbers.
pub const fn is_text(column: AllocationColumn) -> bool {
    matches!(column, AllocationColumn::Kind | AllocationColumn::Thread | AllocationColumn::State)
}

/// The columns to show right of the call site in so many cells, from left to right.
pub fn visible(cells: u16) -> Vec<AllocationColumn> {
    columns::visible(&ORDER, &TELLING, cells.saturating_sub(address(cells) + SITE_FIRST.min(cells / 3)), width)
}

/// Cells of the address in a list of so many.
pub const fn address(cells: u16) -> u16 {
    if cells < NARROW { 0 } else { ADDRESS }
}

/// Columns to sort by, from left to right.
pub fn sortable(cells: u16) -> Vec<AllocationColumn> {
    [AllocationColumn::Address, AllocationColumn::Site].into_iter().chain(visible(cells)).collect()
}

/// How it stands, in a word.
pub fn state(row: &AllocationRow) -> &'static str {
    match row.state {
        AllocationState::Leaked => "leaked",
        AllocationState::Cached => "cached",
        AllocationState::InUse => "in use",
        AllocationState::Gone => "gone",
        AllocationState::Freed => "freed",
        AllocationState::Temporary => "temporary",
    }
}

/// Its address; of what has none its kind.
pub fn place_of(row: &AllocationRow) -> String {
    row.address.map_or_else(|| row.kind.word().to_owned(), |address| format!("{address:#x}"))
}

/// How long it was there, or has been, ns.
pub fn lifetime_ns(row: &AllocationRow) -> u64 {
    row.until_ns.unwrap_or(row.seen_ns).saturating_sub(row.from_ns)
}

/// What stands in a column.
pub fn value(column: AllocationColumn, row: &AllocationRow) -> String {
    let optional = |number: Option<u64>, of: fn(u64) -> String| number.map_or_else(|| "-".to_owned(), of);
    match column {
        AllocationColumn::Address => row.address.map_or_else(|| "-".to_owned(), |address| format!("{address:#x}")),
        AllocationColumn::Size => optional(row.bytes, format::bytes),
        AllocationColumn::Kind => row.kind.word().to_owned(),
        AllocationColumn::Device => optional(row.device.map(u64::from), |device| device.to_string()),
        AllocationColumn::Site => row.site.clone(),
        AllocationColumn::Thread => row.thread.clone(),
        AllocationColumn::Made => format::seconds(row.from_ns, 6),
        AllocationColumn::Lifetime => format::duration(lifetime_ns(row)),
        AllocationColumn::Moved => optional(row.moved, format::bytes),
        AllocationColumn::MovedBack => optional(row.moved_back, format::bytes),
        AllocationColumn::Faults => optional(row.faults, format::count),
        AllocationColumn::State => state(row).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_screens_gain_columns_and_lose_none() {
        use AllocationColumn::{Kind, Moved, Size, State};
        assert_eq!(visible(80), [Kind, Size, Moved, State]);
        let mut before = Vec::new();
        for cells in 40..260 {
            let now = visible(cells);
            assert!(before.iter().all(|column| now.contains(column)) || cells == NARROW, "{cells}");
            before = now;
        }
        assert_eq!(before, ORDER);
    }
}
