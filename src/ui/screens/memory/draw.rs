//! Draws the memory screen.
//!
//! ```text
//! allocations  by call site  growth  pools  transfers             37 of 1,204
//! at 0.812 s  384.0 MiB in use   ^ peak 512.0 MiB at 1.234 s: 256 MiB managed from ...
//!    ▂▄█▆▃                                                         the plot, and its time
//! address        allocated by        kind       size    moved   state
//! 0x7f3a40000000 solver.cu:118       managed  64 MiB  1.2 GiB  in use
//! (blank)
//! the cursor's row in full, or a pane beside the list
//! ```

use ratatui::layout::Rect;

use super::state::State;
use super::tab::Tab;
use super::{allocations, blocks, facts, groups, growth, layout, plot, pools, transfers};
use crate::session::view::{AllocationColumn, AllocationRow, AllocationState, GroupColumn, GroupRow, PoolRow, Status};
use crate::ui::keys::Context;
use crate::ui::lens;
use crate::ui::text::format;
use crate::ui::theme::{Role, devices};
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::{columns, fields, split};

/// Draws the screen.
pub fn draw(state: &State, paint: &mut Paint<'_>, area: Rect, status: &Status) {
    let (parts, through) = (layout::of(area, state.has_told()), status.lens.as_ref());
    tabs(state, paint, parts.tabs);
    plot::told(state, paint, parts.told, status.phase);
    plot::draw(state, paint, parts.plot);
    plot::axis(state, paint, parts.axis);
    plot::driver(state, paint, parts.driver);
    devices(state, paint, parts.devices);
    let empty = |paint: &mut Paint<'_>, why: &str| {
        paint.text(parts.list.x, parts.list.y, parts.list.width, why, Role::Dim);
    };
    let why = state.rows.as_ref().and_then(|rows| rows.why_empty.as_deref());
    match (state.known_total(), why) {
        (None, _) => empty(paint, "reading"),
        (Some(_), Some(why)) => empty(paint, why),
        (Some(0), None) if state.rows.as_ref().is_some_and(|rows| rows.partial) => empty(paint, "looking"),
        (Some(0), None) if state.inside().is_some() => {
            empty(paint, "no blocks are known: its beginning alone was given to kernels, copies and sets, if anything");
        }
        (Some(0), None) if state.in_use && state.tab == Tab::Allocations => {
            empty(paint, &paint.fill(Context::Memory, "nothing was in use then; {in-use} lists all allocations"));
        }
        (Some(0), None) if state.tab == Tab::Growth => empty(paint, "nothing was in use then, nor is now"),
        (Some(0), None) if state.tab == Tab::Pools => {
            empty(paint, "no pools: cudaMallocAsync and cudaMemPoolCreate would use some");
        }
        (Some(0), None) if through.is_none() && state.tab == Tab::Transfers => {
            empty(paint, "nothing has moved between the host and a device yet");
        }
        (Some(0), None) => {
            let why = through.map(lens::words::empty).unwrap_or_default();
            empty(paint, &paint.fill(Context::Memory, &why));
        }
        (Some(_), None) if state.inside().is_some() => blocks::draw(state, paint, &parts),
        (Some(_), None) if state.tab == Tab::Allocations => table(state, paint, &parts),
        (Some(_), None) if state.tab == Tab::Groups => summed(state, paint, &parts),
        (Some(_), None) if state.tab == Tab::Growth => grown(state, paint, &parts),
        (Some(_), None) if state.tab == Tab::Pools => pooled(state, paint, &parts),
        (Some(_), None) => moved(state, paint, &parts),
    }
    if let Some(below) = parts.below {
        about(state, paint, below);
    }
    let details = state.details();
    if let Some(pane) = parts.pane.filter(|_| !details.is_empty()) {
        let inside = split::pane(paint, pane, &state.heading());
        fields::draw(paint, inside, &fields::lines(&details, inside.width), 0);
    }
}

fn tabs(state: &State, paint: &mut Paint<'_>, line: Rect) {
    let total = state.total();
    let row = if total > 0 { state.window().cursor + 1 } else { 0 };
    let partial = match state.rows.as_ref().filter(|rows| rows.partial).map(|rows| rows.moved_share) {
        Some(Some(share)) => format!(", moves counted: {} %", share / 10),
        Some(None) => ", still counting".to_owned(),
        None => String::new(),
    };
    let place = format!("{} of {}{partial}", format::grouped(row), format::grouped(total));
    let cells = u16::try_from(place.len()).unwrap_or(0).min(line.width);
    paint.right(line.x, line.y, line.width, &place, Role::Dim);
    let end = line.right().saturating_sub(cells + 1);
    let mut x = line.x;
    let title_of = |tab: Tab| if tab == Tab::Groups { groups::by(state.by) } else { tab.title() };
    let all = Tab::ALL.iter().map(|&tab| title_of(tab).len() + 3).sum::<usize>();
    // Where there is no room for all, the one that is shown must be told; and which allocation one is inside.
    let fits = state.inside().is_none() && all <= usize::from(end.saturating_sub(line.x));
    for tab in Tab::ALL.into_iter().filter(|&tab| fits || tab == state.tab) {
        let title = title_of(tab);
        let (text, role) = match tab == state.tab {
            true => (format!("[{title}]"), Role::Strong),
            false => (format!(" {title} "), Role::Dim),
        };
        x = paint.text(x, line.y, end.saturating_sub(x), &text, role);
        x = (x + 1).min(end);
    }
    let only = state.only.as_ref().filter(|_| state.tab == Tab::Allocations).map(|(_, name)| ("only ", name));
    let scope = state.inside().map(|inside| ("blocks of ", &inside.name)).or(only);
    if let Some((word, name)) = scope {
        let way_back = paint.fill(Context::Memory, "  {back}: all");
        let room = end.saturating_sub(x);
        let at = paint.text(x, line.y, room, word, Role::Dim);
        let room = end.saturating_sub(at + way_back.len() as u16).max(room / 2);
        let at = paint.name(at, line.y, room.min(end.saturating_sub(at)), name, Role::Site);
        paint.text(at, line.y, end.saturating_sub(at), &way_back, Role::Dim);
    }
}

/// What the driver says of devices, as many as there is room for.
fn devices(state: &State, paint: &mut Paint<'_>, area: Rect) {
    let devices = state.rows.as_ref().map_or(&[][..], |rows| &rows.devices);
    for (y, (name, text)) in (area.y..area.bottom()).zip(devices) {
        paint.pieces(area.x, y, area.width, &[(name, Role::Plain), ("   ", Role::Plain), (text, Role::Dim)]);
    }
}

/// A column's title with a sign if rows are sorted by it.
fn titled<T: PartialEq>(title: &str, column: T, (sort, largest_first): &(T, bool)) -> (String, Role) {
    match (column == *sort, largest_first) {
        (false, _) => (title.to_owned(), Role::Dim),
        (true, true) => (format!("{title} v"), Role::Strong),
        (true, false) => (format!("{title} ^"), Role::Strong),
    }
}

fn table(state: &State, paint: &mut Paint<'_>, parts: &layout::Layout) {
    let columns = allocations::visible(parts.list.width);
    let address = allocations::address(parts.list.width);
    let heading = parts.heading;
    let x = columns::from_right(&columns, heading.right(), allocations::width, |column, x, cells| {
        let (title, role) = titled(allocations::title(column), column, &state.sort);
        if allocations::is_text(column) {
            paint.text(x, heading.y, cells, &title, role);
        } else {
            paint.right(x, heading.y, cells, &title, role);
        }
    });
    let (title, role) = titled(allocations::title(AllocationColumn::Site), AllocationColumn::Site, &state.sort);
    paint.text(heading.x + address, heading.y, x.saturating_sub(heading.x + address), &title, role);
    let (title, role) = titled(allocations::title(AllocationColumn::Address), AllocationColumn::Address, &state.sort);
    paint.text(heading.x, heading.y, address.saturating_sub(1), &title, role);
    for (y, number) in (parts.list.y..parts.list.bottom()).zip(state.allocations.first..) {
        let Some(row) = state.allocation_at(number) else { continue };
        let line = Rect { y, height: 1, ..parts.list };
        allocation(paint, line, row, &columns);
        if number == state.allocations.cursor {
            paint.lay_over(line, Role::Cursor);
        }
    }
}

fn allocation(paint: &mut Paint<'_>, line: Rect, row: &AllocationRow, columns: &[AllocationColumn]) {
    let x = columns::from_right(columns, line.right(), allocations::width, |column, x, cells| {
        let value = allocations::value(column, row);
        let role = match (column, row.state) {
            (AllocationColumn::State, AllocationState::Leaked) => Role::Bad,
            (AllocationColumn::State, AllocationState::InUse | AllocationState::Temporary) => Role::Plain,
            (AllocationColumn::State, _) => Role::Dim,
            _ if value == "-" => Role::Dim,
            (AllocationColumn::Device, _) => row.device.map_or(Role::Plain, |device| devices::role(device.into())),
            _ => Role::Plain,
        };
        if allocations::is_text(column) {
            let end = paint.text(x, line.y, cells, &value, role);
            if column == AllocationColumn::Kind {
                paint.mark((x, line.y), end, &value);
            }
        } else {
            paint.right(x, line.y, cells, &value, role);
        }
    });
    let address = allocations::address(line.width);
    let text = allocations::value(AllocationColumn::Address, row);
    let end = paint.text(line.x, line.y, address.saturating_sub(1), &text, Role::Plain);
    paint.mark((line.x, line.y), end, &text);
    let from = line.x + address;
    let end = paint.name(from, line.y, x.saturating_sub(from), &row.site, Role::Site);
    paint.mark((from, line.y), end, &row.site);
}

fn summed(state: &State, paint: &mut Paint<'_>, parts: &layout::Layout) {
    let columns = groups::visible(parts.list.width);
    let heading = parts.heading;
    let x = columns::from_right(&columns, heading.right(), groups::width, |column, x, cells| {
        let (title, role) = titled(groups::title(column), column, &state.groups_sort);
        paint.right(x, heading.y, cells, &title, role);
    });
    let (title, role) = titled(groups::by(state.by), GroupColumn::Name, &state.groups_sort);
    paint.text(heading.x, heading.y, x.saturating_sub(heading.x), &title, role);
    for (y, number) in (parts.list.y..parts.list.bottom()).zip(state.groups.first..) {
        let Some(row) = state.group_at(number) else { continue };
        let line = Rect { y, height: 1, ..parts.list };
        group(paint, line, row, &columns);
        if number == state.groups.cursor {
            paint.lay_over(line, Role::Cursor);
        }
    }
}

fn group(paint: &mut Paint<'_>, line: Rect, row: &GroupRow, columns: &[GroupColumn]) {
    let x = columns::from_right(columns, line.right(), groups::width, |column, x, cells| {
        let value = groups::value(column, row);
        let role = if value == "-" { Role::Dim } else { Role::Plain };
        paint.right(x, line.y, cells, &value, role);
    });
    let role = devices::of_label(&row.name).map_or(Role::Site, devices::role);
    let end = paint.name(line.x, line.y, x.saturating_sub(line.x), &row.name, role);
    paint.mark((line.x, line.y), end, &row.name);
}

fn grown(state: &State, paint: &mut Paint<'_>, parts: &layout::Layout) {
    let columns = growth::visible(parts.list.width);
    let heading = parts.heading;
    let x = columns::from_right(&columns, heading.right(), growth::width, |column, x, cells| {
        paint.right(x, heading.y, cells, growth::title(column), Role::Dim);
    });
    paint.text(heading.x, heading.y, x.saturating_sub(heading.x), &compared(state), Role::Dim);
    for (y, number) in (parts.list.y..parts.list.bottom()).zip(state.growth.first..) {
        let Some(row) = state.grown_at(number) else { continue };
        let line = Rect { y, height: 1, ..parts.list };
        let x = columns::from_right(&columns, line.right(), growth::width, |column, x, cells| {
            let role = match (column, row.bytes) {
                (growth::Column::Bytes, Some(1..)) => Role::Warning,
                (growth::Column::Bytes, Some(..=-1)) => Role::Good,
                _ => Role::Plain,
            };
            let value = growth::value(column, row);
            if column == growth::Column::Verdict {
                paint.text(x, y, cells, &value, Role::Dim);
            } else {
                paint.right(x, y, cells, &value, role);
            }
        });
        let end = paint.name(line.x, y, x.saturating_sub(line.x), &row.name, Role::Site);
        paint.mark((line.x, y), end, &row.name);
        if number == state.growth.cursor {
            paint.lay_over(line, Role::Cursor);
        }
    }
}

fn moved(state: &State, paint: &mut Paint<'_>, parts: &layout::Layout) {
    transfers::heading(paint, parts.heading);
    for (y, number) in (parts.list.y..parts.list.bottom()).zip(state.transfers.first..) {
        let Some(row) = state.transfer_at(number) else { continue };
        let line = Rect { y, height: 1, ..parts.list };
        transfers::row(paint, line, row, state.links.markers);
        if number == state.transfers.cursor {
            paint.lay_over(line, Role::Cursor);
        }
    }
}

fn pooled(state: &State, paint: &mut Paint<'_>, parts: &layout::Layout) {
    let columns = pools::visible(parts.list.width);
    let heading = parts.heading;
    let x = columns::from_right(&columns, heading.right(), pools::width, |column, x, cells| {
        paint.right(x, heading.y, cells, pools::title(column), Role::Dim);
    });
    paint.text(heading.x, heading.y, x.saturating_sub(heading.x), "pool", Role::Dim);
    for (y, number) in (parts.list.y..parts.list.bottom()).zip(state.pools.first..) {
        let Some(row) = state.pool_at(number) else { continue };
        let line = Rect { y, height: 1, ..parts.list };
        let x = columns::from_right(&columns, line.right(), pools::width, |column, x, cells| {
            let value = pools::value(column, row);
            let role = if value == "-" { Role::Dim } else { Role::Plain };
            paint.right(x, y, cells, &value, role);
        });
        let end = paint.name(line.x, y, x.saturating_sub(line.x), &row.name, Role::Plain);
        paint.mark((line.x, y), end, &row.name);
        if number == state.pools.cursor {
            paint.lay_over(line, Role::Cursor);
        }
    }
}

/// Two lines about a pool.
fn about_pool(row: &PoolRow) -> [String; 2] {
    let handle = row.handle.as_ref().map_or(String::new(), |handle| format!("  {handle}"));
    let value = |column| format!("{} {}", pools::title(column), pools::value(column, row));
    let asked = match row.reserved {
        Some(_) => [pools::Column::Reserved, pools::Column::Unused].map(value).join("   "),
        None => "what it holds of the device is not known: no call asked".to_owned(),
    };
    [format!("{}{handle}", row.name), format!("{}   {asked}", value(pools::Column::Count))]
}

/// Which moments are compared, in words.
fn compared(state: &State) -> String {
    let since = match (state.since, state.plot()) {
        (Some(since), Some(plot)) => format!("since {}", plot::when(plot, since)),
        _ => "since the beginning".to_owned(),
    };
    format!("{since}, {}", growth::by(state.growth_by))
}

/// Two lines about the cursor's row.
fn about(state: &State, paint: &mut Paint<'_>, area: Rect) {
    let lines = match (state.allocation(), state.group(), state.growth_rows()) {
        (Some(row), ..) => facts::lines(row),
        (None, None, Some(rows)) => {
            let told = paint.fill(Context::Memory, "{compare-from} compares from the moment that is looked at on");
            let words = |held: crate::session::view::HeldThen| {
                format!("{} in {} allocations", growth::held(held), format::grouped(held.count))
            };
            [format!("before {}   after {}", words(rows.before), words(rows.after)), told]
        }
        (None, Some(row), _) => {
            let note = if row.counted { "" } else { "   not counted: it adds nothing to the memory in use" };
            let value = |column| format!("{} {}", groups::title(column), groups::value(column, row));
            let values = [GroupColumn::Count, GroupColumn::Bytes, GroupColumn::Peak].map(value).join("   ");
            [row.name.clone(), format!("{values}{note}")]
        }
        (None, None, None) => match (state.pool(), state.transfer()) {
            (Some(row), _) => about_pool(row),
            (None, Some(row)) => transfers::lines(row),
            (None, None) => match state.block().zip(state.block_rows()) {
                Some((row, rows)) => blocks::lines(row, rows),
                None => return,
            },
        },
    };
    paint.name(area.x, area.y, area.width, &lines[0], Role::Strong);
    paint.text(area.x, area.y + 1, area.width, &lines[1], Role::Dim);
}
