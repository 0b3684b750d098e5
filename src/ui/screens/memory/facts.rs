//! A row in full, as names and values, from what the row itself says.

use super::{allocations, groups, growth};
use crate::session::view::{AllocationColumn, AllocationRow, GroupColumn, GroupRow, GrowthRow, HeldThen};
use crate::ui::text::format;

/// An allocation.
pub fn of_allocation(row: &AllocationRow) -> Vec<(String, String)> {
    let fields = allocations::ORDER.map(|column| (column, allocations::value(column, row)));
    let known = fields.into_iter().filter(|(_, value)| value != "-");
    let known = known.map(|(column, value)| (allocations::title(column).to_owned(), value));
    std::iter::once(("from".to_owned(), row.site.clone())).chain(known).collect()
}

/// What allocations sum up to.
pub fn of_group(row: &GroupRow) -> Vec<(String, String)> {
    let counted = if row.counted { None } else { Some("no: it adds nothing to the memory in use".to_owned()) };
    let temporary = |column| match (column, row.temporary) {
        (GroupColumn::Temporary, (count, bytes)) if count > 0 => {
            format!("{}, {} in all", format::grouped(count), format::bytes(bytes))
        }
        _ => groups::value(column, row),
    };
    let fields = groups::ORDER.map(|column| (groups::title(column).to_owned(), temporary(column)));
    fields.into_iter().chain(counted.map(|text| ("counted".to_owned(), text))).collect()
}

/// What has grown.
pub fn of_growth(row: &GrowthRow) -> Vec<(String, String)> {
    let allocations = |held: HeldThen| format!("{} in {} allocations", growth::held(held), format::grouped(held.count));
    let field = |name: &str, value: String| (name.to_owned(), value);
    let mut fields = vec![
        field("before", allocations(row.before)),
        field("after", allocations(row.after)),
        field("growth", growth::value(growth::Column::Bytes, row)),
        field("", growth::value(growth::Column::Count, row) + " allocations"),
        field("so it is", row.verdict.to_owned()),
    ];
    if !row.class.is_empty() {
        fields.insert(0, field("sizes", format!("up to {}, above half of that", row.class)));
    }
    fields
}

/// An allocation in two lines.
pub fn lines(row: &AllocationRow) -> [String; 2] {
    let moved = match (row.moved, row.faults) {
        (Some(moved), faults) => {
            let back = row.moved_back.filter(|&back| back > 0);
            let back = back.map_or(String::new(), |back| format!(", {} of it back", format::bytes(back)));
            let faults = faults.map_or(String::new(), |faults| format!(", {faults} faults"));
            format!("   moved {}{back}{faults}", format::bytes(moved))
        }
        (None, _) => String::new(),
    };
    let device = row.device.map_or(String::new(), |device| format!(" on GPU {device}"));
    let state = match row.until_ns {
        Some(until) => format!("freed at {} s", format::seconds(until, 6)),
        None => allocations::state(row).to_owned(),
    };
    let made = format::seconds(row.from_ns, 6);
    let size = allocations::value(AllocationColumn::Size, row);
    [
        format!("{}  {size} {}{device}, in {}", allocations::place_of(row), row.kind.word(), row.thread),
        format!("made at {made} s, {state} after {}{moved}", format::duration(allocations::lifetime_ns(row))),
    ]
}
