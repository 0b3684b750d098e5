//! Draws the calls screen.
//!
//! ```text
//! by thread                    total v   self  count     heading
//! v 4121 python                 ...                      list
//! (blank)
//! cudaMalloc  10.0 k  min ...                            below: the cursor's row, or a pane beside the list
//! ```

use ratatui::layout::Rect;

use super::columns::{self, Numbers};
use super::facts;
use super::layout;
use super::state::State;
use crate::session::view::{CallRow, Column, Grouping, LensStatus, NodeKind};
use crate::ui::keys::Context;
use crate::ui::lens;
use crate::ui::marks::SIGN;
use crate::ui::text::{format, truncate};
use crate::ui::theme::{Role, devices};
use crate::ui::thresholds;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::{fields, split};

/// Before the name of what the GPU did.
const GPU_MARK: &str = "* ";

/// Draws the screen.
pub fn draw(state: &State, paint: &mut Paint<'_>, area: Rect, through: Option<&LensStatus>) {
    let parts = layout::of(area);
    let shown = columns::visible(&state.chosen, parts.list.width);
    heading(state, paint, parts.heading, &shown);
    match &state.rows {
        None => empty(paint, parts.list, "reading"),
        Some(rows) if rows.total == 0 && through.is_some() => {
            let why = through.map(lens::words::empty).unwrap_or_default();
            empty(paint, parts.list, &paint.fill(Context::Calls, &why));
        }
        Some(rows) if rows.total == 0 => {
            empty(paint, parts.list, "no calls yet: they appear here as the program makes them")
        }
        Some(_) => list(state, paint, parts.list, &shown),
    }
    if let Some(row) = state.current() {
        if let Some(below) = parts.below {
            details_below(state, paint, below, row);
        }
        if let Some(pane) = parts.pane {
            let inside = split::pane(paint, pane, &row.label);
            let facts = facts::facts(state, row);
            fields::draw(paint, inside, &fields::lines(&facts, inside.width), 0);
        }
    }
}

fn empty(paint: &mut Paint<'_>, area: Rect, why: &str) {
    paint.text(area.x, area.y, area.width, why, Role::Dim);
}

/// A grouping in words.
fn group_name(grouping: Grouping) -> &'static str {
    match grouping {
        Grouping::Thread => "by thread",
        Grouping::Stream => "by stream",
        Grouping::Device => "by device",
        Grouping::Range => "by range",
        Grouping::CallSite => "by call site",
        Grouping::Flat => "by function",
        Grouping::Inverted => "by function, up to its callers",
    }
}

fn heading(state: &State, paint: &mut Paint<'_>, area: Rect, shown: &[Column]) {
    let (sort, largest_first) = state.sort;
    let mark = if largest_first { " v" } else { " ^" };
    let mut x = area.right();
    for &column in shown.iter().rev() {
        let cells = columns::width(column);
        x -= cells;
        let mark = if column == sort { mark } else { "" };
        let title = format!("{}{mark}", columns::title(column));
        let role = if column == sort { Role::Strong } else { Role::Dim };
        paint.right(x, area.y, cells, &title, role);
    }
    let mark = if sort == Column::Name { mark } else { "" };
    let name = format!("{}{mark}", group_name(state.grouping));
    paint.text(area.x, area.y, x - area.x, &name, if mark.is_empty() { Role::Dim } else { Role::Strong });
}

fn list(state: &State, paint: &mut Paint<'_>, area: Rect, shown: &[Column]) {
    for (y, number) in (area.y..area.bottom()).zip(state.window.first..) {
        let Some(row) = state.row(number) else { continue };
        let line = Rect { y, height: 1, ..area };
        call(paint, line, row, shown, state);
        if number == state.window.cursor {
            paint.lay_over(line, Role::Cursor);
        }
    }
}

fn call(paint: &mut Paint<'_>, line: Rect, row: &CallRow, shown: &[Column], state: &State) {
    let marked = !facts::marked(state, row).is_empty();
    let mut x = line.right();
    for (at, &column) in shown.iter().enumerate().rev() {
        let cells = columns::width(column);
        x -= cells;
        let value = columns::value(column, row, state.numbers);
        // The first one has the mark, for which there is a cell.
        let (value, role) = match column {
            _ if at == 0 && marked => (format!("{}{value}", thresholds::MARK), Role::Warning),
            Column::Failed => (value, Role::Bad),
            _ => (value, Role::Plain),
        };
        paint.right(x + 1, line.y, cells - 1, &value, role);
    }
    if !shown.is_empty() && paint.marks.has_node(state.grouping, row.key) {
        paint.text(x, line.y, 1, SIGN, Role::Strong);
    }
    let marker = match row.open {
        Some(true) => "v ",
        Some(false) => "> ",
        None if row.kind.is_gpu() => GPU_MARK,
        None => "  ",
    };
    let device = Some(&row.label).filter(|_| row.kind == NodeKind::Device).and_then(|label| devices::of_label(label));
    // However deep the row, half of the cells are left to its name.
    let indent = row.depth.saturating_mul(2).min((x - line.x) / 2);
    let at = paint.text(line.x + indent, line.y, x.saturating_sub(line.x + indent), marker, Role::Dim);
    let room = x.saturating_sub(at);
    let note = note(row);
    let cells = u16::try_from(note.len()).unwrap_or(u16::MAX);
    let fits = usize::from(room).checked_sub(note.len()).is_some_and(|cells| truncate::fits(&row.label, cells));
    let role = device.map_or_else(|| role_of(row.kind), devices::role);
    let end = paint.name(at, line.y, room, &row.label, role);
    paint.mark((at, line.y), end, &row.label);
    if fits {
        paint.text(end, line.y, cells, &note, if row.kind.is_gpu() { Role::Dim } else { Role::Gpu });
    }
}

/// What stands behind a name where there is room: bytes, or what the GPU did below.
fn note(row: &CallRow) -> String {
    let work = row.gpu.work_ns.map(|ns| format!("GPU {}", format::duration(ns)));
    let bytes = row.gpu.bytes.map(|bytes| match row.kind.is_gpu() {
        true => format::bytes(bytes),
        false => format!("moved {}", format::bytes(bytes)),
    });
    match (work, bytes) {
        (Some(work), Some(bytes)) => format!("  {work}, {bytes}"),
        (Some(text), None) | (None, Some(text)) => format!("  {text}"),
        (None, None) => String::new(),
    }
}

fn role_of(kind: NodeKind) -> Role {
    match kind {
        NodeKind::Process | NodeKind::Thread | NodeKind::Stream | NodeKind::Device => Role::Strong,
        NodeKind::Site => Role::Site,
        NodeKind::Range => Role::Accent,
        NodeKind::Runtime => Role::Runtime,
        NodeKind::Driver => Role::Driver,
        kind if kind.is_gpu() => Role::Gpu,
        _ => Role::Plain,
    }
}

/// Two lines about the cursor's row.
fn details_below(state: &State, paint: &mut Paint<'_>, area: Rect, row: &CallRow) {
    let error = facts::error(state);
    let count = format::count(row.count);
    let value = |column| columns::value(column, row, Numbers::Times);
    let numbers = format!(
        "  {count}  min {}  p50 {}  p99 {}  max {}",
        value(Column::Min),
        value(Column::P50),
        value(Column::P99),
        value(Column::Max)
    );
    let cells = u16::try_from(numbers.len()).unwrap_or(u16::MAX);
    let label =
        paint.name(area.x, area.y, area.width.saturating_sub(cells).max(area.width / 5), &row.label, Role::Strong);
    paint.text(label, area.y, area.right() - label, &numbers, Role::Plain);
    let mut more = format!("{} of {}", format::share(u64::from(row.share)), facts::whole(row.kind));
    if columns::value(Column::Share, row, Numbers::Times).is_empty() {
        more.clear();
    }
    for (name, value) in facts::on_gpu(row) {
        let gap = if more.is_empty() { "" } else { "   " };
        more.push_str(&format!("{gap}{name} {value}"));
    }
    let moved = state.launches().and_then(facts::moved_meanwhile);
    let room_for_error = moved.is_none();
    more = moved.unwrap_or(more);
    for (name, why) in facts::marked(state, row) {
        let gap = if more.is_empty() { "" } else { "   " };
        more.push_str(&format!("{gap}{} {name}: {why}", thresholds::MARK));
    }
    if row.failed > 0 {
        more.push_str(&format!("   {} failed", format::count(row.failed)));
    }
    if row.running > 0 {
        more.push_str(&format!("   {} running now", format::count(row.running)));
    }
    if row.p50_ns.is_some() && error > 0 && room_for_error {
        more.push_str(&format!("   p50 and p99 within {error} %"));
    }
    paint.text(area.x, area.y + 1, area.width, &more, Role::Dim);
}
