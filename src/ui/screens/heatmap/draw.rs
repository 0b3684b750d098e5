//! Draws the heatmap.
//!
//! ```text
//! managed 64 MiB  solver.cu:118   1 of 3   row 4 MiB   column 5.6 ms   by bytes      summary
//! +60 MiB   |  ▒▒▓██▓▒    ▒▒▓██▓▒                                                    labels, cells
//! moves     |  >>>><<<<   >>>><<<<                                                   what moved in each column
//! kernels   |  ====       ====                                                       when kernels ran
//!            2.000                                                       2.400       axis
//! ```

use ratatui::layout::Rect;

use super::state::State;
use super::{layout, look};
use crate::session::view::{
    HEAT_HOMES, HEAT_LEGEND, HeatColour, HeatMark, HeatRows, HeatSubject, LensStatus, heat_letter, heat_shades,
};
use crate::ui::keys::Context;
use crate::ui::lens;
use crate::ui::marks::SIGN;
use crate::ui::text::{format, truncate};
use crate::ui::theme::{Charset, Role};
use crate::ui::widgets::paint::Paint;

/// Draws the screen.
pub fn draw(state: &State, paint: &mut Paint<'_>, area: Rect, through: Option<&LensStatus>) {
    let parts = layout::of(area);
    let Some(rows) = &state.rows else {
        paint.text(area.x, area.y, area.width, "reading", Role::Dim);
        return;
    };
    if let Some(why) = &rows.why_empty {
        let why = match through {
            Some(status) if status.error.is_none() => {
                let hidden = paint.fill(Context::Heatmap, "{lens-undo} undoes, {lens-off} shows all");
                let done =
                    if status.partial { format!(" so far; {} % looked at", status.done / 10) } else { String::new() };
                format!("{why}{done}: {hidden}")
            }
            _ => why.clone(),
        };
        wrapped(paint, area, &why);
        return;
    }
    summary(state, rows, paint, parts.summary);
    labels(rows, paint, parts.labels);
    cells(state, rows, paint, parts.cells);
    strips(rows, paint, &parts);
    legend(rows, state.colour, paint, parts.legend);
    point(state, paint, parts.point);
}

/// A text over several lines.
fn wrapped(paint: &mut Paint<'_>, area: Rect, text: &str) {
    let (mut line, mut y) = (String::new(), area.y);
    for word in text.split(' ') {
        if !line.is_empty() && truncate::width(&line) + 1 + truncate::width(word) > usize::from(area.width) {
            paint.text(area.x, y, area.width, &line, Role::Dim);
            line.clear();
            y += 1;
        }
        if y >= area.bottom() {
            return;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    paint.text(area.x, y, area.width, &line, Role::Dim);
}

fn summary(state: &State, rows: &HeatRows, paint: &mut Paint<'_>, area: Rect) {
    if let Some(range) = state.chosen_range() {
        let keys = paint.fill(Context::Heatmap, "{open} looks at it, {back} leaves");
        let text = format!("time {}   {keys}", lens::words::range(range));
        paint.text(area.x, area.y, area.width, &text, Role::Strong);
        return;
    }
    let number = match rows.number {
        0 => String::new(),
        number => format!("{number} of {}   ", rows.places),
    };
    let (row, column) = (size(1 << rows.bits.min(63)), format::duration(rows.column_ns));
    let partial = if rows.partial { "still counting   " } else { "" };
    let how = match area.width {
        ..60 => format!("{row} {column} {}", state.colour.word()),
        ..100 if rows.partial => format!("{partial}row {row}   column {column}   by {}", state.colour.word()),
        _ => format!("{partial}{number}row {row}   column {column}   by {}", state.colour.word()),
    };
    let cells = u16::try_from(how.len()).unwrap_or(u16::MAX).min(area.width);
    paint.right(area.x, area.y, area.width, &how, Role::Dim);
    paint.name(area.x, area.y, area.width.saturating_sub(cells + 2), &rows.label, Role::Strong);
}

/// Without tenths where there are none.
fn size(bytes: u64) -> String {
    format::bytes(bytes).replace(".0 ", " ")
}

fn labels(rows: &HeatRows, paint: &mut Paint<'_>, area: Rect) {
    let divider = paint.theme.glyphs.divider;
    let cells = area.width.saturating_sub(2);
    for (y, line) in (area.y..area.bottom()).zip(&rows.lines) {
        let text = match (rows.subject, line.place) {
            (HeatSubject::All, Some(place)) => format!("#{place}"),
            _ => format!("+{}", size(line.offset)),
        };
        paint.text(area.x, y, cells, &text, Role::Dim);
        paint.text(area.x + area.width - 1, y, 1, divider, Role::Dim);
    }
}

fn cells(state: &State, rows: &HeatRows, paint: &mut Paint<'_>, area: Rect) {
    let unicode = paint.theme.glyphs.charset == Charset::Unicode;
    for (y, line) in (area.y..area.bottom()).zip(&rows.lines) {
        // Neighbours that look alike are drawn at once.
        let mut run = (area.x, String::new(), Role::Plain);
        let all = line.cells.iter().take(usize::from(area.width)).map(|&cell| look::cell(cell, state.colour, unicode));
        for (x, (glyph, role)) in (area.x..).zip(all) {
            if role != run.2 {
                let (from, text, before) = std::mem::replace(&mut run, (x, String::new(), role));
                paint.text(from, y, x - from, &text, before);
            }
            run.1.push_str(glyph);
        }
        paint.text(run.0, y, area.right().saturating_sub(run.0), &run.1, run.2);
    }
    let column = |ns: u64| {
        let column = ns.checked_sub(rows.from_ns)? / rows.column_ns.max(1);
        u16::try_from(column).ok().filter(|&column| column < area.width)
    };
    if let Some((from, to)) = state.chosen_range() {
        let (from, to) = (column(from).unwrap_or(0), column(to.saturating_sub(1)).unwrap_or(area.width - 1));
        paint.lay_over(Rect { x: area.x + from, width: (to + 1).saturating_sub(from), ..area }, Role::Cursor);
        return;
    }
    let (line, column) = state.cursor;
    if line < area.height && column < area.width {
        paint.lay_over(Rect::new(area.x + column, area.y + line, 1, 1), Role::Cursor);
    }
}

fn strips(rows: &HeatRows, paint: &mut Paint<'_>, parts: &layout::Layout) {
    let (x, width) = (parts.cells.x, parts.cells.width);
    let labels = parts.labels;
    let label = |paint: &mut Paint<'_>, y: u16, text: &str| {
        paint.text(labels.x, y, labels.width.saturating_sub(2), text, Role::Dim);
        let divider = paint.theme.glyphs.divider;
        paint.text(labels.x + labels.width - 1, y, 1, divider, Role::Dim);
    };
    label(paint, parts.moves.y, "moves");
    for (x, &mark) in (x..x + width).zip(&rows.moves).filter(|(_, mark)| **mark != HeatMark::Nothing) {
        paint.text(x, parts.moves.y, 1, heat_letter(mark), look::role(mark));
    }
    label(paint, parts.kernels.y, "kernels");
    if rows.kernels.is_empty() {
        paint.text(x, parts.kernels.y, width, "none recorded", Role::Dim);
    }
    for (x, &share) in (x..x + width).zip(&rows.kernels).filter(|(_, share)| **share > 0) {
        paint.text(x, parts.kernels.y, 1, if share >= 500 { "=" } else { "-" }, Role::Gpu);
    }
    let end = rows.from_ns.saturating_add(rows.column_ns.saturating_mul(u64::from(width)));
    let decimals = match rows.column_ns {
        ..20_000 => 6,
        20_000..2_000_000 => 4,
        _ => 3,
    };
    let time = |ns| format!("{} s", format::seconds(ns, decimals));
    let from = time(rows.from_ns);
    let after = paint.text(x, parts.axis.y, width, &from, Role::Dim);
    let to = time(end);
    if usize::from((x + width).saturating_sub(after)) > to.len() {
        paint.right(after, parts.axis.y, (x + width).saturating_sub(after), &to, Role::Dim);
    }
    for cell in paint.marks.cells(rows.from_ns, end, width) {
        paint.text(x + cell, parts.axis.y, 1, SIGN, Role::Strong);
    }
}

fn legend(rows: &HeatRows, colour: HeatColour, paint: &mut Paint<'_>, area: Rect) {
    if area.height == 0 {
        return;
    }
    if colour == HeatColour::Residency {
        let mut at = paint.text(area.x, area.y, area.width, "legend  ", Role::Dim);
        for (mark, text) in HEAT_HOMES {
            at = paint.text(at, area.y, area.right().saturating_sub(at), heat_letter(mark), look::role(mark));
            at = paint.text(at + 1, area.y, area.right().saturating_sub(at + 1), text, Role::Dim) + 2;
        }
        paint.text(at, area.y, area.right().saturating_sub(at), "blank: not known", Role::Dim);
        return;
    }
    let of = |amount: u64| match colour {
        HeatColour::Faults => amount.to_string(),
        _ => size(amount),
    };
    let [second, third, fourth] = rows.scale;
    let texts = [
        format!("below {}  ", of(second)),
        format!("{}  ", of(second)),
        format!("{}  ", of(third)),
        format!("{}+", of(fourth)),
    ];
    let [moved, ahead] = heat_shades(paint.theme.glyphs.charset == Charset::Unicode);
    let shade = if colour == HeatColour::Faults { HeatMark::Missed } else { HeatMark::ToDevice };
    let mut at = paint.text(area.x, area.y, area.width, "legend  ", Role::Dim);
    // Where all amounts are small some shades are of none.
    let used = [second > 1, third > second, fourth > third, true];
    for (((moved, ahead), text), _) in moved.iter().zip(ahead).zip(&texts).zip(used).filter(|(_, used)| *used) {
        at = paint.text(at, area.y, area.right().saturating_sub(at), moved, look::role(shade));
        if colour != HeatColour::Faults {
            at = paint.text(at, area.y, area.right().saturating_sub(at), ahead, look::role(HeatMark::AheadToDevice));
        }
        at = paint.text(at, area.y, area.right().saturating_sub(at), &format!(" {text}"), Role::Dim);
    }
    let (mut at, y) = if area.height > 1 { (area.x + 8, area.y + 1) } else { (at + 3, area.y) };
    for (mark, text) in HEAT_LEGEND {
        // Faults that were not recorded have no sign.
        if mark == HeatMark::Missed && !rows.has_faults {
            continue;
        }
        if usize::from(area.right().saturating_sub(at)) < text.len() + 2 {
            break;
        }
        at = paint.text(at, y, 1, heat_letter(mark), look::role(mark));
        at = paint.text(at + 1, y, area.right().saturating_sub(at + 1), text, Role::Dim) + 2;
    }
}

fn point(state: &State, paint: &mut Paint<'_>, area: Rect) {
    let (Some(text), Some(point), true) = (state.text(), state.point(), area.height > 0) else { return };
    paint.text(area.x, area.y, area.width, &text, Role::Plain);
    if area.height > 1 {
        let mut during = match point.kernels.as_slice() {
            [] => String::new(),
            kernels => {
                let names: Vec<String> = kernels
                    .iter()
                    .map(|(name, count)| if *count > 1 { format!("{name} x{count}") } else { name.clone() })
                    .collect();
                format!("during {}", names.join(", "))
            }
        };
        if point.more_kernels > 0 {
            during.push_str(&format!(" and {} more", point.more_kernels));
        }
        let after = paint.name(area.x, area.y + 1, area.width, &point.label, Role::Site);
        let room = area.right().saturating_sub(after + 3);
        paint.name(after + 3, area.y + 1, room, &during, Role::Gpu);
    }
}
