//! The blocks inside an allocation: columns, which ones fit, what stands in them, and a block in words.

use ratatui::layout::Rect;

use super::layout::Layout;
use super::state::State;
use crate::session::view::{AllocationId, BlockRow, BlocksRows, KnownBy};
use crate::ui::text::format;
use crate::ui::theme::Role;
use crate::ui::widgets::columns;
use crate::ui::widgets::list::Window;
use crate::ui::widgets::paint::Paint;

/// The allocation whose blocks are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Which one it is.
    pub of: AllocationId,
    /// What it is called.
    pub name: String,
    /// Which blocks are on the screen.
    pub window: Window,
}

/// A column right of the call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Bytes, if they are known.
    Size,
    /// Bytes to the next block.
    Room,
    /// How often it was given.
    Uses,
    /// When it was used first.
    From,
    /// How long it was in use.
    Life,
    /// Whether it was in use at the moment that is looked at.
    Then,
}

/// Columns from left to right.
const ORDER: [Column; 6] = [Column::Size, Column::Room, Column::Uses, Column::From, Column::Life, Column::Then];

/// The same, the most telling first.
const TELLING: [Column; 6] = [Column::Size, Column::Room, Column::Life, Column::Then, Column::Uses, Column::From];

/// Cells of an offset, with the space behind it.
const OFFSET: u16 = 13;
/// Cells that the call site gets before a further column is shown.
const SITE_FIRST: u16 = 20;

fn title(column: Column) -> &'static str {
    match column {
        Column::Size => "size",
        Column::Room => "next in",
        Column::Uses => "uses",
        Column::From => "first",
        Column::Life => "for",
        Column::Then => "then",
    }
}

fn width(column: Column) -> u16 {
    match column {
        // Room for the sign of what it has at least.
        Column::Size => format::BYTES_WIDTH + 3,
        Column::Room => format::BYTES_WIDTH + 2,
        Column::Uses => format::COUNT_WIDTH + 2,
        Column::From => 13,
        Column::Life => format::DURATION_WIDTH + 2,
        Column::Then => 7,
    }
}

fn visible(cells: u16) -> Vec<Column> {
    columns::visible(&ORDER, &TELLING, cells.saturating_sub(OFFSET + SITE_FIRST.min(cells / 3)), width)
}

/// Without tenths where there are none.
fn short(bytes: u64) -> String {
    format::bytes(bytes).replace(".0 ", " ")
}

fn offset(row: &BlockRow) -> String {
    format!("+{}", short(row.offset))
}

/// What it is called.
pub fn name(row: &BlockRow) -> String {
    format!("{}  {:#x}", offset(row), row.address)
}

fn value(column: Column, row: &BlockRow) -> String {
    let dash = || "-".to_owned();
    match column {
        Column::Size => row.bytes.map_or_else(dash, |bytes| match row.known_by {
            KnownBy::Allocator => format::bytes(bytes),
            // It may be larger.
            KnownBy::Copies | KnownBy::Kernels => format!(">{}", format::bytes(bytes)),
        }),
        Column::Room => row.room.map_or_else(dash, format::bytes),
        Column::Uses => row.uses.map_or_else(dash, |uses| format::count(u64::from(uses))),
        Column::From => format::seconds(row.from_ns, 6),
        Column::Life => row.until_ns.map_or_else(dash, |until| format::duration(until.saturating_sub(row.from_ns))),
        Column::Then => if row.then { "in use" } else { "" }.to_owned(),
    }
}

/// Draws the list.
pub fn draw(state: &State, paint: &mut Paint<'_>, parts: &Layout) {
    let columns = visible(parts.list.width);
    let heading = parts.heading;
    let x = columns::from_right(&columns, heading.right(), width, |column, x, cells| {
        paint.right(x, heading.y, cells, title(column), Role::Dim);
    });
    paint.text(heading.x, heading.y, OFFSET, "block", Role::Dim);
    let site = heading.x + OFFSET;
    paint.text(site, heading.y, x.saturating_sub(site), "used first by", Role::Dim);
    for (y, number) in (parts.list.y..parts.list.bottom()).zip(state.window().first..) {
        let Some(row) = state.block_at(number) else { continue };
        let line = Rect { y, height: 1, ..parts.list };
        let x = columns::from_right(&columns, line.right(), width, |column, x, cells| {
            let value = value(column, row);
            let role = if value == "-" || column == Column::Then { Role::Dim } else { Role::Plain };
            paint.right(x, y, cells, &value, role);
        });
        paint.text(line.x, y, OFFSET - 1, &offset(row), Role::Plain);
        let from = line.x + OFFSET;
        let end = paint.name(from, y, x.saturating_sub(from), &row.site, Role::Site);
        paint.mark((from, y), end, &row.site);
        if number == state.window().cursor {
            paint.lay_over(line, Role::Cursor);
        }
    }
}

/// What is free in the allocation, in words.
fn free(rows: &BlocksRows) -> Option<String> {
    let (free, largest) = rows.free?;
    let broken = rows.broken_up().filter(|&share| share > 0);
    let broken = broken.map_or(String::new(), |share| format!(", {} broken up", format::share(u64::from(share))));
    Some(match free {
        0 => "nothing free".to_owned(),
        _ => format!("{} free, largest piece {}{broken}", short(free), short(largest)),
    })
}

fn then(rows: &BlocksRows) -> String {
    let bytes = rows.then.bytes.map_or(String::new(), |bytes| format!(", {}", short(bytes)));
    let free = free(rows).map_or(String::new(), |free| format!("; {free}"));
    format!("{} in use then{bytes}{free}", format::grouped(rows.then.count))
}

/// Two lines about a block.
pub fn lines(row: &BlockRow, rows: &BlocksRows) -> [String; 2] {
    let by = if row.site.is_empty() { String::new() } else { format!("   {}", row.site) };
    [format!("{}   {}{by}", name(row), value(Column::Size, row)), then(rows)]
}

/// A block as text, parts of it with tabs between them.
pub fn text(row: &BlockRow) -> String {
    let values = ORDER.map(|column| format!("{} {}", title(column), value(column, row)));
    format!("{}\t{}\t{}", name(row), row.site, values.join("\t"))
}

/// All that is known of a block.
pub fn facts(row: &BlockRow, rows: &BlocksRows) -> Vec<(String, String)> {
    let field = |name: &str, value: String| (name.to_owned(), value);
    let size = match (row.bytes, row.known_by) {
        (None, _) => "not known: no copy or set named it".to_owned(),
        (Some(bytes), KnownBy::Allocator) => format!("{bytes} bytes"),
        (Some(bytes), _) => format!("at least {bytes} bytes: a copy or set named as many"),
    };
    let mut fields = vec![
        field("address", format!("{:#x}, {} bytes behind the beginning", row.address, format::grouped(row.offset))),
        field("size", size),
    ];
    fields.extend(row.room.map(|room| field("next", format!("{} further on", format::bytes(room)))));
    let known = match row.known_by {
        KnownBy::Allocator => "its allocator told of it",
        KnownBy::Copies => "copies or sets used it",
        KnownBy::Kernels => "kernels or graphs were given it, and may have used it",
    };
    fields.push(field("known by", known.to_owned()));
    if !row.site.is_empty() {
        fields.push(field("from", row.site.clone()));
    }
    let told = row.known_by == KnownBy::Allocator;
    fields.push(field(if told { "made" } else { "first use" }, format!("{} s", format::seconds(row.from_ns, 9))));
    let until = row.until_ns.map_or_else(|| "not yet".to_owned(), |ns| format!("{} s", format::seconds(ns, 9)));
    fields.push(field(if told { "released" } else { "last use" }, until));
    fields.extend(row.uses.map(|uses| field("given", format!("{} times", format::grouped(u64::from(uses))))));
    fields.push(field("", String::new()));
    fields.push(field("blocks", format!("{}, {}", format::grouped(rows.total), then(rows))));
    if rows.cut {
        fields.push(field("", "there were more addresses than are told apart".to_owned()));
    }
    if !told {
        fields.push(field("", "no call says where a block begins or ends, or when it came back".to_owned()));
    }
    fields
}
