//! Draws the overview.
//!
//! ```text
//! hook   3 processes: ...          facts: what is seen, what is not and why
//! worst  ...                       news: the worst thing so far, what runs now, why it is quiet
//! calls  38.2 k/s  ▁▂▅▇  3.9 M     history
//! time goes to     total   self    functions by time
//! ```
//!
//! Blocks follow one another with a blank line between them where there is room.

use ratatui::layout::Rect;

use super::facts::{Fact, count, facts, news, standing};
use super::state::State;
use crate::session::view::{Overview, Phase, ProcessRow, Status};
use crate::ui::keys::Context;
use crate::ui::lens;
use crate::ui::marks::{Marks, SIGN};
use crate::ui::text::{format, truncate};
use crate::ui::theme::{Role, devices};
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::{spark, split};

/// Cells of the words at the left.
pub const LABEL: u16 = 7;
/// Bodies lower than this have no blank lines, and one line for each kind of fact.
const LOWEST_AIRY: u16 = 16;
/// Lines that the lists should have at least.
const LISTS: u16 = 6;

/// Generations that are indented further than the one before.
const DEEPEST: u16 = 4;

/// Draws the screen.
pub fn draw(state: &State, paint: &mut Paint<'_>, area: Rect, status: &Status) {
    let Some(rows) = &state.rows else {
        paint.text(area.x, area.y, area.width, "reading", Role::Dim);
        return;
    };
    let (left, pane) = split::beside(area);
    // The lists are what one looks for: all else gives way to them.
    let densities = if left.height >= LOWEST_AIRY { &[(true, 1), (false, 1), (false, 0)][..] } else { &[(false, 0)] };
    let marks = u16::from(!marked(paint.marks, rows, status, 1).is_empty());
    let lists =
        |&(airy, gap): &(bool, u16)| left.height.saturating_sub(above(rows, status, left.width, airy, gap) + marks);
    let (airy, gap) = densities.iter().find(|density| lists(density) >= LISTS).copied().unwrap_or((false, 0));
    let mut y = left.y;
    for block in [facts(rows, status, left.width, airy), news(rows, airy)] {
        let before = y;
        for fact in block {
            y = draw_fact(paint, left, y, &fact, airy);
        }
        y += if y > before { gap } else { 0 };
    }
    if !rows.calls_history.is_empty() {
        y = histories(paint, Rect { y, height: left.bottom().saturating_sub(y), ..left }, rows, status) + gap;
    }
    let lists = Rect { y, height: left.bottom().saturating_sub(y), ..left };
    if let Some(lens) = status.lens.as_ref().filter(|_| rows.top.is_empty() && rows.kernels.is_empty()) {
        let why = paint.fill(Context::Overview, &lens::words::empty(lens));
        paint.text(lists.x, lists.y, lists.width, &why, Role::Dim);
    }
    let below = kernels_height(rows, lists.height);
    let functions = functions_height(rows).min(lists.height - below);
    let cursor = state.cursor;
    let shown = top(paint, Rect { height: functions, ..lists }, rows, cursor);
    let apart = lists.height >= LOWEST_APART;
    let cursor = cursor.and_then(|at| at.checked_sub(shown));
    let more = kernels(paint, Rect { y: lists.y + functions, height: below, ..lists }, apart, rows, cursor);
    state.shown.set((shown, more));
    if let Some(pane) = pane {
        let heading = match standing(rows) {
            None => count(rows.process_count),
            Some(words) => format!("{}, {words}", count(rows.process_count)),
        };
        let inside = split::pane(paint, pane, &heading);
        processes(paint, inside, rows);
    }
}

/// Lines of everything above the lists.
fn above(rows: &Overview, status: &Status, width: u16, airy: bool, gap: u16) -> u16 {
    let room = usize::from(width.saturating_sub(LABEL));
    let limit = if airy { 2 } else { 1 };
    let block = |facts: Vec<Fact>| {
        let lines: usize = facts.iter().map(|fact| truncate::wrap(&fact.text, room).len().min(limit)).sum();
        lines as u16 + if lines > 0 { gap } else { 0 }
    };
    let bars = if rows.calls_history.is_empty() { 0 } else { 1 + rows.moved.len() as u16 + gap };
    block(facts(rows, status, width, airy)) + block(news(rows, airy)) + bars
}

/// Draws a fact, on two lines if it is long and there is room; returns the line after it.
fn draw_fact(paint: &mut Paint<'_>, area: Rect, y: u16, fact: &Fact, airy: bool) -> u16 {
    let room = area.width.saturating_sub(LABEL);
    let lines = truncate::wrap(&fact.text, usize::from(room));
    let limit = if airy { 2 } else { 1 };
    let fits = lines.len() <= limit;
    for (i, line) in lines.iter().take(limit).enumerate() {
        let line_y = y + i as u16;
        if line_y >= area.bottom() {
            break;
        }
        if i == 0 {
            let role = devices::of_label(&fact.label).map_or(Role::Dim, devices::role);
            paint.text(area.x, line_y, LABEL - 1, &fact.label, role);
        }
        // The last line takes what is left of the text, so that the cut shows.
        let rest =
            if !fits && i + 1 == limit { fact.text.get(offset(&fact.text, line)..).unwrap_or(line) } else { line };
        paint.text(area.x + LABEL, line_y, room, rest, fact.role);
    }
    y + lines.len().min(limit) as u16
}

/// Where a piece of a text begins in it.
fn offset(text: &str, piece: &str) -> usize {
    (piece.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

/// Bars of calls, and of pages that moved, one below the other; the line after them.
fn histories(paint: &mut Paint<'_>, at: Rect, rows: &Overview, status: &Status) -> u16 {
    let narrow = at.width < 60;
    let mut lines: Vec<Bars<'_>> = Vec::new();
    for moved in &rows.moved {
        let label = match (moved.to_device, narrow) {
            (true, false) => "host > device",
            (false, false) => "device > host",
            (true, true) => "to GPU",
            (false, true) => "to CPU",
        };
        let rate = moved.per_second.map_or_else(String::new, |bytes| format!("{}/s", format::bytes(bytes)));
        lines.push(Bars {
            label,
            rate,
            history: &moved.history,
            total: format::bytes(moved.bytes),
            note: moved.causes.join(", "),
        });
    }
    let rate = status.calls_per_second.map_or(String::new(), |rate| format!("{}/s", format::count(rate)));
    lines.push(Bars {
        label: "calls",
        rate,
        history: &rows.calls_history,
        total: format::count(status.calls),
        note: span(rows, status),
    });
    // All bars are as long, so that what is below one another is of the same time.
    let longest = |of: fn(&Bars<'_>) -> usize| lines.iter().map(of).max().unwrap_or(0) as u16;
    let label = longest(|bars| bars.label.len()) + 2;
    let rate = longest(|bars| bars.rate.len());
    let total = longest(|bars| bars.total.len()).max(format::COUNT_WIDTH) + 1;
    let note = if narrow { 0 } else { longest(|bars| bars.note.len()) + 2 };
    let rate = if rate > 0 { rate.max(format::COUNT_WIDTH + 2) } else { 0 };
    let gap = if rate > 0 { 2 } else { 0 };
    let room = at.width.saturating_sub(label + rate + gap + total + note).min(120);
    for (y, bars) in (at.y..at.bottom()).zip(&lines) {
        paint.text(at.x, y, label, bars.label, Role::Dim);
        paint.right(at.x + label, y, rate, &bars.rate, Role::Strong);
        let x = at.x + label + rate + gap;
        let bar = spark::line(bars.history, usize::from(room), &paint.theme.glyphs);
        let x = paint.text(x, y, room, &bar, Role::Accent);
        paint.right(x, y, total, &bars.total, Role::Strong);
        paint.right(x + total, y, note, &bars.note, Role::Dim);
    }
    let y = at.y.saturating_add(lines.len() as u16).min(at.bottom());
    let bars = u16::try_from(rows.calls_history.len()).unwrap_or(u16::MAX).min(room);
    let marked = marked(paint.marks, rows, status, bars);
    if marked.is_empty() || y >= at.bottom() {
        return y;
    }
    paint.text(at.x, y, label, "marks", Role::Dim);
    for cell in marked {
        paint.text(at.x + label + rate + gap + cell, y, 1, SIGN, Role::Strong);
    }
    y + 1
}

/// The cells in which marked events began, of bars of so many.
fn marked(marks: Marks<'_>, rows: &Overview, status: &Status, cells: u16) -> Vec<u16> {
    let shown = rows.history_step_ns.saturating_mul(rows.calls_history.len() as u64);
    let from = if status.phase == Phase::Live { status.elapsed_ns.saturating_sub(shown) } else { 0 };
    marks.cells(from, from.saturating_add(shown), cells)
}

/// A history and the numbers beside it.
struct Bars<'a> {
    label: &'static str,
    rate: String,
    history: &'a [u32],
    total: String,
    note: String,
}

fn span(rows: &Overview, status: &Status) -> String {
    let ns = rows.history_step_ns.saturating_mul(rows.calls_history.len() as u64);
    match status.phase {
        Phase::Live => format!("last {}", format::duration(ns)),
        _ => format!("in {}", format::duration(ns)),
    }
}

/// Draws the functions; returns how many there is room for.
fn top(paint: &mut Paint<'_>, area: Rect, rows: &Overview, cursor: Option<usize>) -> usize {
    if area.height < 2 || rows.top.is_empty() {
        return 0;
    }
    let columns: &[(&str, u16)] = match area.width {
        0..50 => &[("total", 9)],
        50..70 => &[("total", 9), ("self", 9)],
        _ => &[("total", 9), ("self", 9), ("time", 11), ("calls", 10)],
    };
    let numbers: u16 = columns.iter().map(|(_, cells)| cells).sum();
    // Beyond this a number is too far from its name to be read along the line.
    let name = area.width.saturating_sub(numbers).min(56);
    paint.text(area.x, area.y, name, "time goes to", Role::Dim);
    let mut x = area.x + name;
    for (title, cells) in columns {
        paint.right(x, area.y, *cells, title, Role::Dim);
        x += cells;
    }
    let (rest, rest_share) = rows.rest;
    let room = usize::from(area.height - 1);
    let shown = if rows.top.len() + usize::from(rest > 0) > room { room.saturating_sub(1) } else { rows.top.len() };
    for (y, (at, row)) in (area.y + 1..area.bottom()).zip(rows.top.iter().take(shown).enumerate()) {
        let indent = (row.depth * 2).min(name / 2);
        let role = if row.depth > 0 { Role::Driver } else { Role::Plain };
        let end = paint.name(area.x + indent, y, (name - indent).saturating_sub(1), &row.name, role);
        paint.mark((area.x + indent, y), end, &row.name);
        let values = [
            format::share(u64::from(row.total_share)),
            format::share(u64::from(row.self_share)),
            format::duration(row.total_ns),
            format::count(row.count),
        ];
        let mut x = area.x + name;
        for ((_, cells), value) in columns.iter().zip(&values) {
            paint.right(x, y, *cells, value, Role::Plain);
            x += cells;
        }
        if cursor == Some(at) {
            paint.lay_over(Rect { y, height: 1, ..area }, Role::Cursor);
        }
    }
    // Functions that did not fit here join those that were not sent.
    let hidden = &rows.top[shown..];
    let more = rest + hidden.len();
    if more > 0 {
        let y = area.y + 1 + shown as u16;
        let hidden_share: u64 = hidden.iter().filter(|row| row.depth == 0).map(|row| u64::from(row.total_share)).sum();
        paint.text(area.x, y, name, &format!("[{more} more]"), Role::Dim);
        let share = format::share(u64::from(rest_share) + hidden_share);
        paint.right(area.x + name, y, 9, &share, Role::Dim);
    }
    shown
}

fn functions_height(rows: &Overview) -> u16 {
    1 + rows.top.len() as u16 + u16::from(rows.rest.0 > 0)
}

/// Lists lower than this stand close together.
const LOWEST_APART: u16 = 10;

/// Lines for kernels below the functions, the blank one before them included: at most half where there is too little.
fn kernels_height(rows: &Overview, height: u16) -> u16 {
    let apart = u16::from(height >= LOWEST_APART);
    let wanted = apart + 1 + rows.kernels.len() as u16 + u16::from(rows.more_kernels > 0);
    let room = wanted.min(height.saturating_sub(functions_height(rows)).max(height / 2));
    if rows.kernels.is_empty() || room < apart + 2 { 0 } else { room }
}

/// Draws the kernels; returns how many there is room for.
fn kernels(paint: &mut Paint<'_>, area: Rect, apart: bool, rows: &Overview, cursor: Option<usize>) -> usize {
    if area.height < 2 {
        return 0;
    }
    let columns: &[(&str, u16)] = match area.width {
        0..50 => &[("total", 9)],
        _ => &[("total", 9), ("", 9), ("time", 11), ("runs", 10)],
    };
    let numbers: u16 = columns.iter().map(|(_, cells)| cells).sum();
    let name = area.width.saturating_sub(numbers).min(56);
    let head = area.y + u16::from(apart);
    paint.text(area.x, head, name, "kernels", Role::Dim);
    let mut x = area.x + name;
    for (title, cells) in columns {
        paint.right(x, head, *cells, title, Role::Dim);
        x += cells;
    }
    let room = usize::from(area.bottom().saturating_sub(head + 1));
    let shown =
        if rows.kernels.len() + usize::from(rows.more_kernels > 0) > room { room - 1 } else { rows.kernels.len() };
    for (y, (at, row)) in (head + 1..area.bottom()).zip(rows.kernels.iter().take(shown).enumerate()) {
        let end = paint.name(area.x, y, name.saturating_sub(1), &row.name, Role::Plain);
        paint.mark((area.x, y), end, &row.name);
        let values = [
            format::share(u64::from(row.total_share)),
            String::new(),
            format::duration(row.total_ns),
            format::count(row.count),
        ];
        let mut x = area.x + name;
        for ((_, cells), value) in columns.iter().zip(&values) {
            paint.right(x, y, *cells, value, Role::Plain);
            x += cells;
        }
        if cursor == Some(at) {
            paint.lay_over(Rect { y, height: 1, ..area }, Role::Cursor);
        }
    }
    let more = rows.more_kernels + rows.kernels.len() - shown;
    if more > 0 {
        paint.text(area.x, head + 1 + shown as u16, name, &format!("[{more} more]"), Role::Dim);
    }
    shown
}

fn processes(paint: &mut Paint<'_>, area: Rect, rows: &Overview) {
    let lost = area.right().saturating_sub(9);
    let calls = lost.saturating_sub(9);
    paint.text(area.x, area.y, 8, "pid", Role::Dim);
    paint.text(area.x + 8, area.y, calls.saturating_sub(area.x + 8), "program on host", Role::Dim);
    paint.right(calls, area.y, 9, "calls", Role::Dim);
    paint.right(lost, area.y, 9, "lost", Role::Dim);
    for (y, process) in (area.y + 1..area.bottom()).zip(&rows.processes) {
        paint.text(area.x, y, 7, &process.pid.to_string(), Role::Plain);
        let indent = process.depth.min(DEEPEST) * 2;
        let role = if process.alive { Role::Plain } else { Role::Dim };
        let room = calls.saturating_sub(area.x + 9 + indent);
        let end = paint.name(area.x + 8 + indent, y, room, &process_name(process), role);
        paint.mark((area.x + 8 + indent, y), end, &process.program);
        paint.right(calls, y, 9, &format::count(process.calls), Role::Plain);
        let role = if process.lost > 0 { Role::Bad } else { Role::Plain };
        paint.right(lost, y, 9, &format::count(process.lost), role);
    }
    let hidden = rows.process_count.saturating_sub(rows.processes.len());
    let y = area.y + 1 + rows.processes.len() as u16;
    if hidden > 0 && y < area.bottom() {
        paint.text(area.x, y, area.width, &format!("[{hidden} more]"), Role::Dim);
    }
}

fn process_name(process: &ProcessRow) -> String {
    let ended = match (&process.trouble, process.alive) {
        _ if process.removed => ", file removed",
        _ if process.went_on => "",
        (_, true) => "",
        (None, false) => ", ended",
        (Some(_), false) if process.in_order => ", ended",
        (Some(_), false) => ", gone",
    };
    let became = if process.became { "became " } else { "" };
    match process.host.as_str() {
        // Children are where their parents are.
        host if host.is_empty() || process.depth > 0 => format!("{became}{}{ended}", process.program),
        host => format!("{} on {host}{ended}", process.program),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_whose_older_calls_made_room_has_ended_like_any_other() {
        let ended = ProcessRow {
            program: "solver".into(),
            host: "gpu03".into(),
            in_order: true,
            trouble: Some("9 older calls made room for newer ones".into()),
            ..ProcessRow::default()
        };
        assert_eq!(process_name(&ended), "solver on gpu03, ended");
        assert_eq!(process_name(&ProcessRow { in_order: false, ..ended }), "solver on gpu03, gone");
        assert_eq!((count(1), count(1200)), ("1 process".to_owned(), "1,200 processes".to_owned()));
    }
}
