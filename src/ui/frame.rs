//! Draws the whole screen: title, rule, body, popups, hint line.
//!
//! ```text
//! umtui  train.py 4121      LIVE 00:01:42   38.2 k calls/s   lost 0   all time
//! ----------------------------------------------------------------------------
//! body
//! hints, or something to tell the user
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use super::keys::{Action, Key};
use super::lens;
use super::root::{Display, Root, SMALLEST};
use super::text::{format, truncate};
use super::theme::Role;
use super::widgets::paint::Paint;
use super::widgets::popup;
use crate::session::view::{Phase, Status};

/// Draws everything.
pub fn draw(root: &Root, buffer: &mut Buffer) {
    let area = buffer.area;
    buffer.set_style(area, root.theme.base());
    let mut paint = Paint::new(buffer, &root.theme);
    if area.width < SMALLEST.width || area.height < SMALLEST.height {
        too_small(&mut paint, area);
        return;
    }
    paint.keymap = Some(&root.keymap);
    paint.marks = root.marks();
    paint.sought = root.search.pattern(root.current);
    title(root, &mut paint, Rect { height: 1, ..area });
    paint.row_of(area.x, area.y + 1, area.width, root.theme.glyphs.rule, Role::Dim);
    let status = root.status.clone().unwrap_or_default();
    root.screen().draw(&mut paint, root.body(), &status);
    for layer in &root.layers {
        layer.draw(&mut paint, root.body());
    }
    if root.continuations_shown {
        which_key(root, &mut paint);
    }
    let line = Rect { y: area.bottom() - 1, height: 1, ..area };
    if !root.layers.last().is_some_and(|layer| layer.draw_line(&mut paint, line)) {
        hints(root, &mut paint, line);
    }
}

fn too_small(paint: &mut Paint<'_>, area: Rect) {
    let text =
        format!("umtui needs {}x{} cells; these are {}x{}", SMALLEST.width, SMALLEST.height, area.width, area.height);
    for (y, line) in (area.y..area.bottom()).zip(truncate::wrap(&text, usize::from(area.width))) {
        paint.text(area.x, y, area.width, line, Role::Plain);
    }
}

/// A part of the title, and how soon it may go when the line is short: the highest first.
struct Part {
    text: String,
    role: Role,
    goes: u8,
}

fn badge(root: &Root, status: &Status) -> Part {
    let clock = format::clock(status.elapsed_ns);
    let part = |text, role| Part { text, role, goes: 0 };
    if matches!(root.display, Display::Held { .. }) {
        return part(format!("PAUSED {clock}"), Role::BadgeHeld);
    }
    match status.phase {
        Phase::Opening(thousandths) => part(format!("OPENING {} %", thousandths / 10), Role::Badge),
        Phase::Waiting => part("WAITING".to_owned(), Role::Badge),
        Phase::Live => part(format!("LIVE {clock}"), Role::Good),
        Phase::Ended => part(format!("ENDED {clock}"), Role::Badge),
    }
}

fn parts(root: &Root) -> Vec<Part> {
    let Some(status) = &root.status else {
        return vec![Part { text: "OPENING".to_owned(), role: Role::Badge, goes: 0 }];
    };
    let mut parts = vec![badge(root, status)];
    let mut add = |text: String, role, goes| parts.push(Part { text, role, goes });
    match (root.display, status.calls_per_second) {
        (Display::Held { calls }, _) => {
            add(format!("+{} calls since", format::count(status.calls.saturating_sub(calls))), Role::Plain, 3);
        }
        (_, Some(rate)) => add(format!("{} calls/s", format::count(rate)), Role::Plain, 3),
        (_, None) => add(format!("{} calls", format::count(status.calls)), Role::Plain, 3),
    }
    match status.exit {
        Some(0) | None => {}
        Some(code) => add(format!("exit {code}"), Role::Bad, 1),
    }
    match status.lost {
        0 => add("lost 0".to_owned(), Role::Plain, 4),
        lost => add(format!("LOST {}", format::count(lost)), Role::Bad, 1),
    }
    if let Some(bytes) = status.begun {
        add(format!("first {}", format::bytes(bytes)), Role::Warning, 2);
    }
    if status.damage.is_some() {
        add("damaged".to_owned(), Role::Warning, 2);
    }
    lens_parts(root, status, &mut parts);
    parts
}

/// Cells that a filter's text has in the title line.
const FILTER: usize = 28;

/// The filter, the range of time, and how much they hide.
fn lens_parts(root: &Root, status: &Status, parts: &mut Vec<Part>) {
    let mut add = |text: String, role, goes| parts.push(Part { text, role, goes });
    let look = root.lenses.seen();
    if look.off {
        return add("lens off".to_owned(), Role::Warning, 2);
    }
    if let Some(filter) = &look.filter {
        let text = crate::session::safe::safe(&filter.text).into_owned();
        let text = truncate::end(&text, FILTER, root.theme.glyphs.ellipsis).into_owned();
        add(format!("& {text}"), Role::Strong, 2);
    }
    match &look.range {
        Some(range) => add(
            truncate::end(&lens::words::when(range), FILTER, root.theme.glyphs.ellipsis).into_owned(),
            Role::Strong,
            2,
        ),
        None if status.lens.is_none() => add("all time".to_owned(), Role::Dim, 5),
        None => {}
    }
    if let Some(lens) = &status.lens {
        add(lens::words::counts(lens), Role::Warning, 1);
    }
}

fn title(root: &Root, paint: &mut Paint<'_>, line: Rect) {
    const GAP: usize = 3;
    const NAME_LEAST: usize = 12;
    const NAME_SHORTEST: usize = 8;
    let mut parts = parts(root);
    let width = |parts: &[Part]| parts.iter().map(|part| truncate::width(&part.text) + GAP).sum::<usize>();
    let (mut program, mut least) = ("umtui  ", NAME_LEAST);
    while width(&parts) + program.len() + least > usize::from(line.width) {
        let Some(goes) = (0..parts.len()).filter(|&i| parts[i].goes > 0).max_by_key(|&i| parts[i].goes) else { break };
        if parts[goes].goes == 1 && !program.is_empty() {
            // That calls were lost, or the program failed, is worth more than who says so.
            (program, least) = ("", NAME_SHORTEST);
        } else {
            parts.remove(goes);
        }
    }
    let mut x = line.right().saturating_sub(u16::try_from(width(&parts)).unwrap_or(line.width)).max(line.x);
    let name = root.status.as_ref().map_or("", |status| status.name.as_str());
    let at = paint.text(line.x, line.y, x - line.x, program, Role::Dim);
    paint.name(at, line.y, x.saturating_sub(at), name, Role::Strong);
    for part in &parts {
        x = paint.text(x + GAP as u16, line.y, line.right().saturating_sub(x + GAP as u16), &part.text, part.role);
    }
}

/// A hint such as "o fold": key and word.
fn hint_texts(root: &Root) -> Vec<(String, &'static str)> {
    let rows = root.keymap.rows(root.context());
    let hints = rows.filter(|row| !row.entry.hint.is_empty() && row.entry.action != Action::Go(root.current));
    hints.filter_map(|row| Some((row.keys.into_iter().next()?, row.entry.hint))).collect()
}

fn hints(root: &Root, paint: &mut Paint<'_>, line: Rect) {
    if let Some(notice) = &root.notice {
        paint.text(line.x, line.y, line.width, notice, Role::Strong);
        return;
    }
    let mut hints = hint_texts(root);
    let last = hints.pop();
    let cells = |(key, word): &(String, &str)| (truncate::width(key) + word.len() + 3) as u16;
    let mut room = line.width.saturating_sub(last.as_ref().map_or(0, cells));
    let fitting = hints.into_iter().take_while(|hint| {
        let left = room.checked_sub(cells(hint));
        room = left.unwrap_or(room);
        left.is_some()
    });
    let mut x = line.x;
    for (key, word) in fitting.collect::<Vec<_>>().into_iter().chain(last) {
        let room = line.right().saturating_sub(x);
        x = paint.pieces(
            x,
            line.y,
            room,
            &[(&key, Role::Strong), (" ", Role::Plain), (word, Role::Dim), ("  ", Role::Plain)],
        );
    }
}

/// What may follow the keys pressed so far.
fn which_key(root: &Root, paint: &mut Paint<'_>) {
    let body = root.body();
    let next = root.keymap.continuations(root.context(), &root.prefix);
    let widest = next.iter().map(|(key, doc)| truncate::width(&key.to_string()) + doc.len() + 2).max().unwrap_or(0);
    let size = Size::new(u16::try_from(widest + 4).unwrap_or(u16::MAX).min(body.width), next.len() as u16 + 2);
    let height = size.height.min(body.height);
    let place = Rect::new(body.right() - size.width, body.bottom() - height, size.width, height);
    let inside = popup::frame(paint, place, &Key::spell(&root.prefix));
    for (y, (key, doc)) in (inside.y..inside.bottom()).zip(&next) {
        paint.pieces(
            inside.x,
            y,
            inside.width,
            &[(&key.to_string(), Role::Strong), ("  ", Role::Plain), (doc, Role::Plain)],
        );
    }
}
