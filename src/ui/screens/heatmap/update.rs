//! What the heatmap does with an action.

use ratatui::layout::Size;

use super::state::State;
use crate::session::view::{EventsWithin, HeatColour, HeatMark, HeatRows, HeatRowsAt, HeatSubject, HeatTimeAt};
use crate::ui::effect::{Effect, Popup};
use crate::ui::keys::Action;
use crate::ui::screens::step_of;

/// Bits of the smallest row, a page of 4 KiB, and ns of the narrowest column.
const PAGE: u8 = 12;
const NARROWEST: u64 = 1_000;

/// Obeys an action; there is room for so many cells.
pub fn update(state: &mut State, action: Action, room: Size) -> Effect {
    state.opened = false;
    if !matches!(action, Action::Open | Action::Details) {
        state.generation = None;
    }
    if let Some(lines) = step_of(action, u64::from(room.height)) {
        move_lines(state, lines, room);
        return Effect::None;
    }
    let page = i64::from(room.width / 2).max(1);
    match action {
        Action::Earlier => move_columns(state, -1, room),
        Action::Later => move_columns(state, 1, room),
        Action::EarlierPage => move_columns(state, -page, room),
        Action::LaterPage => move_columns(state, page, room),
        Action::ZoomTimeIn => zoom_time(state, true),
        Action::ZoomTimeOut => zoom_time(state, false),
        Action::ZoomRowsIn => zoom_rows(state, true),
        Action::ZoomRowsOut => zoom_rows(state, false),
        Action::Fit => fit(state),
        Action::ShowAll => {
            let is_whole = state.at == HeatRowsAt::Fit && state.time == HeatTimeAt::Fit;
            (state.at, state.time) = (HeatRowsAt::Fit, HeatTimeAt::Fit);
            if is_whole {
                return Effect::Range(None);
            }
        }
        Action::Colour => {
            let at = HeatColour::ALL.iter().position(|&colour| colour == state.colour).unwrap_or(0);
            state.colour = HeatColour::ALL.get(at + 1).copied().unwrap_or_default();
        }
        Action::NextPlace => go_to(state, |rows| rows.next),
        Action::PreviousPlace => go_to(state, |rows| rows.previous),
        Action::AllPlaces => match state.rows.as_ref().map(|rows| rows.subject) {
            Some(HeatSubject::All) => {
                let here = here(state);
                go_to(state, |_| {
                    here.map_or(HeatSubject::Busiest, |(process, address)| HeatSubject::One(process, address))
                });
            }
            _ => go_to(state, |_| HeatSubject::All),
        },
        Action::SelectRange => {
            state.selecting = if state.selecting.is_some() { None } else { state.cursor_ns() };
        }
        Action::Open if state.selecting.is_some() => {
            let range = state.chosen_range();
            state.selecting = None;
            state.time = HeatTimeAt::Fit;
            return Effect::Range(range.map(Into::into));
        }
        Action::Open => {
            if let Some(point) = state.point() {
                let (process, from, to) = point.at;
                let within = EventsWithin { process, addresses: (from, to), ns: point.ns };
                return Effect::EventsWithin(within, point.label.clone());
            }
        }
        Action::Details => {
            if let Some(text) = state.text() {
                state.opened = true;
                return Effect::Open(Popup::Details { title: text, fields: Vec::new() });
            }
        }
        _ => {}
    }
    Effect::None
}

/// Process and address of the cursor's line.
fn here(state: &State) -> Option<(u16, u64)> {
    let line = state.rows.as_ref()?.lines.get(usize::from(state.cursor.0))?;
    Some(line.at)
}

fn go_to(state: &mut State, subject: impl Fn(&HeatRows) -> HeatSubject) {
    if let Some(rows) = &state.rows {
        (state.subject, state.at) = (subject(rows), HeatRowsAt::Fit);
    }
}

/// Moves the cursor by so many lines down; behind the last one the rows move.
fn move_lines(state: &mut State, lines: i64, room: Size) {
    let Some(rows) = &state.rows else { return };
    let height = i64::from(room.height).min(i64::try_from(rows.lines.len()).unwrap_or(0)).max(1);
    let (bits, first) = match state.at {
        HeatRowsAt::From(bits, first) => (bits, first),
        _ => (rows.bits, rows.first),
    };
    let wanted = i64::from(state.cursor.0).saturating_add(lines);
    let line = wanted.clamp(0, height - 1);
    // Lines are counted from the top, rows from the bottom.
    let below = wanted.saturating_sub(line);
    state.cursor.0 = u16::try_from(line).unwrap_or(0);
    let last = rows.total.saturating_sub(u64::from(room.height));
    let moved = first.saturating_add_signed(below.saturating_neg()).min(last);
    if moved != first {
        state.at = HeatRowsAt::From(bits, moved);
    }
}

/// Moves the cursor by so many columns; behind the last one the time moves.
fn move_columns(state: &mut State, columns: i64, room: Size) {
    let Some(rows) = &state.rows else { return };
    let (from, width) = time(state, rows);
    let wanted = i64::from(state.cursor.1).saturating_add(columns);
    let column = wanted.clamp(0, i64::from(room.width.max(1)) - 1);
    let beyond = wanted - column;
    state.cursor.1 = u16::try_from(column).unwrap_or(0);
    if beyond != 0 {
        let by = i64::try_from(width).unwrap_or(i64::MAX).saturating_mul(beyond);
        let last = rows.span.1.saturating_sub(width.saturating_mul(u64::from(room.width))).max(rows.span.0);
        let moved = from.saturating_add_signed(by).clamp(rows.span.0, last);
        if moved != from {
            state.time = HeatTimeAt::From(moved, width);
        }
    }
}

fn time(state: &State, rows: &HeatRows) -> (u64, u64) {
    match state.time {
        HeatTimeAt::From(from, width) => (from, width),
        HeatTimeAt::Fit => (rows.from_ns, rows.column_ns),
    }
}

/// Makes columns half or twice as wide; the moment in the middle of the cursor's stays where it is.
fn zoom_time(state: &mut State, closer: bool) {
    let Some(rows) = &state.rows else { return };
    let (from, width) = time(state, rows);
    let fresh = if closer { (width / 2).max(NARROWEST) } else { width.saturating_mul(2) };
    let column = u64::from(state.cursor.1);
    let middle = |width: u64| width.saturating_mul(column).saturating_add(width / 2);
    let from = from.saturating_add(middle(width)).saturating_sub(middle(fresh));
    state.time = HeatTimeAt::From(from, fresh);
}

/// Makes rows half or twice as large; the address in the middle of the cursor's stays where it is.
fn zoom_rows(state: &mut State, closer: bool) {
    let Some(rows) = &state.rows else { return };
    let Some(line) = rows.lines.get(usize::from(state.cursor.0)) else { return };
    let bits = if closer { rows.bits.saturating_sub(1).max(PAGE) } else { rows.bits.saturating_add(1) };
    let middle = line.at.1 + (line.to.saturating_sub(line.at.1)) / 2;
    state.at = HeatRowsAt::Around(bits, (line.at.0, middle), state.cursor.0);
}

/// Zooms to where something happened.
fn fit(state: &mut State) {
    let Some(rows) = &state.rows else { return };
    let used = |mark: &HeatMark| *mark != HeatMark::Nothing;
    let (Some(first), Some(last)) = (rows.moves.iter().position(used), rows.moves.iter().rposition(used)) else {
        return;
    };
    let (first, last) = (first as u64, last as u64);
    let columns = (rows.moves.len() as u64).max(1);
    let width = rows.column_ns.saturating_mul(last + 1 - first).div_ceil(columns).max(NARROWEST);
    state.time = HeatTimeAt::From(rows.from_ns.saturating_add(rows.column_ns.saturating_mul(first)), width);
    let busy = |line: &crate::session::view::HeatLine| line.cells.iter().any(|cell| used(&cell.mark));
    let (Some(top), Some(bottom)) = (rows.lines.iter().position(busy), rows.lines.iter().rposition(busy)) else {
        return;
    };
    let (lines, busy) = (rows.lines.len().max(1), bottom + 1 - top);
    let closer = u8::try_from((lines / busy.max(1)).max(1).ilog2()).unwrap_or(0);
    if let Some(line) = rows.lines.get(bottom).filter(|_| closer > 0) {
        let bits = rows.bits.saturating_sub(closer).max(PAGE);
        let lowest = u16::try_from(lines - 1).unwrap_or(0);
        state.at = HeatRowsAt::Around(bits, line.at, lowest);
    }
}

#[cfg(test)]
mod tests;
