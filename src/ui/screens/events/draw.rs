//! Draws the events screen.
//!
//! ```text
//! every event in order                       summary: which events, followed or not
//!    start      took  where    event         heading
//! 0.000012    1.2 us  main     cudaMalloc(…)  list, and the cursor's event beside it on wide screens
//! ```

use ratatui::layout::Rect;

use super::columns::{Column, Columns};
use super::describe;
use super::layout;
use super::state::{Follow, State};
use crate::session::view::{EventGroup, EventKinds, EventRow, LensStatus, Outcome};
use crate::ui::keys::Context;
use crate::ui::lens;
use crate::ui::marks::SIGN;
use crate::ui::text::{format, truncate};
use crate::ui::theme::{Role, devices};
use crate::ui::thresholds;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::{fields, split};

/// Draws the screen.
pub fn draw(state: &State, paint: &mut Paint<'_>, area: Rect, through: Option<&LensStatus>) {
    let parts = layout::of(area);
    summary(state, paint, parts.summary);
    let columns = Columns::of(&state.chosen, parts.list);
    heading(paint, parts.heading, &columns);
    match &state.rows {
        None => empty(paint, parts.list, "reading"),
        Some(rows) if rows.total == 0 && through.is_some() => {
            let why = through.map(lens::words::empty).unwrap_or_default();
            empty(paint, parts.list, &paint.fill(Context::Events, &why));
        }
        Some(rows) if rows.total == 0 && (state.kinds != EventKinds::ALL || state.scope.is_some()) => {
            empty(paint, parts.list, &paint.fill(Context::Events, "no such events; {kinds} chooses the kinds"))
        }
        Some(rows) if rows.total == 0 => {
            empty(paint, parts.list, "no events yet: they appear here as the program runs")
        }
        Some(_) => list(state, paint, parts.list, &columns),
    }
    if let (Some(pane), Some(event)) = (parts.pane, state.current()) {
        let inside = split::pane(paint, pane, &event.name);
        let facts = describe::fields(event, state.more());
        fields::draw(paint, inside, &fields::lines(&facts, inside.width), 0);
    }
}

fn empty(paint: &mut Paint<'_>, area: Rect, why: &str) {
    paint.text(area.x, area.y, area.width, why, Role::Dim);
}

fn summary(state: &State, paint: &mut Paint<'_>, area: Rect) {
    let total = state.total();
    let row = if total > 0 { state.window.cursor + 1 } else { 0 };
    let place = match state.follow {
        Follow::On => "FOLLOWING".to_owned(),
        Follow::Off => format!("{} of {}", format::grouped(row), format::grouped(total)),
    };
    let cells = u16::try_from(place.len()).unwrap_or(0).min(area.width);
    paint.right(area.x, area.y, area.width, &place, if state.follow == Follow::On { Role::Strong } else { Role::Dim });
    let room = area.width.saturating_sub(cells + 1);
    if let Some(range) = state.chosen_range() {
        let keys = paint.fill(Context::Events, "{open} looks at it, {back} leaves");
        let text = format!("time {}   {keys}", lens::words::range(range));
        paint.text(area.x, area.y, room, &text, Role::Strong);
        return;
    }
    if let Some(within) = state.kinds.within() {
        let ((from, to), (begin, end)) = (within.addresses, within.ns);
        let way_back = paint.fill(Context::Events, "   {all-events}: all");
        let addresses = format!("{from:#x}..{:#x}", to.saturating_sub(1));
        let time = lens::words::range((begin, end));
        let text = match state.memory.as_str() {
            "" => format!("only {time} of {addresses}"),
            // When it was the rows say.
            memory if area.width < 120 => format!("only {memory}"),
            memory => format!("only {time} of {addresses}, {memory}"),
        };
        let name =
            paint.name(area.x, area.y, room.saturating_sub(way_back.len() as u16).max(room / 2), &text, Role::Strong);
        paint.text(name, area.y, (area.x + room).saturating_sub(name), &way_back, Role::Dim);
        return;
    }
    match &state.scope {
        None => {
            let text = format!("{} in order", kinds_name(state.kinds));
            paint.text(area.x, area.y, room, &text, Role::Dim);
        }
        Some(scope) => {
            let kinds = match state.kinds {
                EventKinds::ALL => String::new(),
                kinds => format!(", {}", kinds_name(kinds)),
            };
            let text = format!("only {}{kinds}", scope.label);
            let way_back = paint.fill(Context::Events, "   {all-events}: all");
            let name = paint.name(
                area.x,
                area.y,
                room.saturating_sub(way_back.len() as u16).max(room / 2),
                &text,
                Role::Strong,
            );
            paint.text(name, area.y, (area.x + room).saturating_sub(name), &way_back, Role::Dim);
        }
    }
}

/// Which kinds these are.
fn kinds_name(kinds: EventKinds) -> String {
    let shown: Vec<EventGroup> = EventGroup::ALL.into_iter().filter(|&group| kinds.has(group)).collect();
    match shown.as_slice() {
        _ if kinds == EventKinds::ALL => "every event".to_owned(),
        [] => "no kind of event".to_owned(),
        [one] => describe::group_name(*one).to_owned(),
        [_, _] | [_, _, _] => {
            let names: Vec<&str> = shown.iter().map(|&group| describe::group_name(group)).collect();
            names.join("; ")
        }
        many => format!("{} of {} kinds of events", many.len(), EventGroup::ALL.len()),
    }
}

fn heading(paint: &mut Paint<'_>, area: Rect, columns: &Columns) {
    for &(column, x, cells) in &columns.placed {
        if column.is_right() {
            paint.right(x, area.y, cells, column.title(), Role::Dim);
        } else {
            paint.text(x, area.y, cells, column.title(), Role::Dim);
        }
    }
}

fn list(state: &State, paint: &mut Paint<'_>, area: Rect, columns: &Columns) {
    for (y, number) in (area.y..area.bottom()).zip(state.window.first..) {
        let Some(event) = state.row(number) else { continue };
        line(paint, y, event, columns, state);
        let chosen = state
            .selecting
            .is_some_and(|(from, _)| (from.min(state.window.cursor)..=from.max(state.window.cursor)).contains(&number));
        if chosen || number == state.window.cursor {
            paint.lay_over(Rect { y, height: 1, ..area }, Role::Cursor);
        }
    }
}

fn took(event: &EventRow) -> String {
    match (event.duration_ns, event.outcome) {
        (Some(ns), _) => format::duration(ns),
        (None, Outcome::Running) => "running".to_owned(),
        (None, _) => "-".to_owned(),
    }
}

fn line(paint: &mut Paint<'_>, y: u16, event: &EventRow, columns: &Columns, state: &State) {
    if let Some(x) = columns.gap().filter(|_| paint.marks.has_event(event)) {
        paint.text(x, y, 1, SIGN, Role::Strong);
    }
    for &(column, x, cells) in &columns.placed {
        match column {
            Column::Start => {
                paint.right(x, y, cells, &format::seconds(event.start_ns, columns.decimals), Role::Dim);
            }
            Column::End => {
                let end = event.duration_ns.map(|ns| event.start_ns.saturating_add(ns));
                let end = end.map_or_else(|| "-".to_owned(), |end| format::seconds(end, columns.decimals));
                paint.right(x, y, cells, &end, Role::Dim);
            }
            Column::Took if is_slow(event, state) => {
                paint.right(x, y, cells, &format!("{}{}", thresholds::MARK, took(event)), Role::Warning);
            }
            Column::Took => paint.right(x, y, cells, &took(event), Role::Plain),
            Column::Process => paint.right(x, y, cells, &event.pid.to_string(), Role::Plain),
            Column::Where => place(paint, y, event, (x, cells)),
            Column::Kind => drop(paint.text(x, y, cells, describe::kind_word(event.group), Role::Dim)),
            Column::Event => call(paint, y, event, (x, cells), state.shift),
            Column::From => {
                let end = paint.name(x, y, cells, &event.site, Role::Site);
                paint.mark((x, y), end, &event.site);
            }
        }
    }
}

/// Whether it took so long that it is marked: ranges last as long as what is in them.
fn is_slow(event: &EventRow, state: &State) -> bool {
    event.group != EventGroup::Ranges && state.thresholds.is_slow(event.duration_ns)
}

fn place(paint: &mut Paint<'_>, y: u16, event: &EventRow, (x, cells): (u16, u16)) {
    if event.thread_name.is_empty() && event.thread != 0 {
        paint.text(x, y, cells, &event.thread.to_string(), Role::Plain);
    } else {
        let end = paint.name(x, y, cells, &event.thread_name, device(event).map_or(Role::Plain, devices::role));
        paint.mark((x, y), end, &event.thread_name);
    }
}

/// The device that something of the GPU is of.
fn device(event: &EventRow) -> Option<u16> {
    let is_work = !matches!(event.group, EventGroup::Calls | EventGroup::Ranges);
    devices::of_label(&event.thread_name).filter(|_| is_work)
}

/// `name(arguments) = result`; of a result little is cut off, of the arguments much.
fn call(paint: &mut Paint<'_>, y: u16, event: &EventRow, (x, cells): (u16, u16), shift: u16) {
    let failed = event.outcome == Outcome::Failed;
    let result = if event.result.is_empty() { String::new() } else { format!(" = {}", event.result) };
    let result_cells = u16::try_from(truncate::width(&result)).unwrap_or(cells).min(cells * 2 / 3);
    let indent = "  ".repeat(usize::from(event.depth.min(16)));
    let text = match event.group {
        EventGroup::Calls => format!("{indent}{}({})", event.name, event.arguments),
        EventGroup::Ranges => format!("{indent}{}", event.name),
        _ => {
            let mark = device(event).map_or("*", devices::mark);
            let whole = format!("{mark} {}  {}", event.name, event.arguments);
            // Where there is no room, grid and block say more than the types of a kernel's parameters.
            let fits = truncate::fits(&whole, usize::from(cells));
            if fits { whole } else { format!("{mark} {}  {}", without_parameters(&event.name), event.arguments) }
        }
    };
    let shifted: String = text.chars().skip(usize::from(shift)).collect();
    let role = match (event.group, event.depth) {
        _ if failed => Role::Bad,
        (EventGroup::Ranges, _) => Role::Accent,
        (EventGroup::Calls, 0) => Role::Plain,
        (EventGroup::Calls, _) => Role::Driver,
        _ => device(event).map_or(Role::Gpu, devices::role),
    };
    let end = paint.text(x, y, cells - result_cells, &shifted, role);
    // Of what follows the name nothing was searched.
    let before = match event.group {
        EventGroup::Calls | EventGroup::Ranges => indent.len(),
        _ => 2,
    };
    let name = truncate::width(event.name.as_str()) + before;
    let name_end = u16::try_from(name.saturating_sub(usize::from(shift))).unwrap_or(u16::MAX);
    paint.mark((x, y), end.min(x.saturating_add(name_end)), &event.name);
    paint.text(end, y, result_cells, &result, role);
}

/// A function's name without its parameters and what it returns.
fn without_parameters(name: &str) -> &str {
    let (mut depth, mut from) = (0u32, 0);
    for (at, char) in name.char_indices() {
        match char {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            // `void f<int>(int)`; what stands between other words belongs to no function.
            ' ' if depth == 0 && name.get(..at) == Some("void") => from = at + 1,
            '(' if depth == 0 && at > from && name.ends_with(')') => return name.get(from..at).unwrap_or(name),
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::without_parameters;

    #[test]
    fn parameters_are_left_out_where_there_are_some() {
        for (whole, short) in [
            ("forward(float const*, int)", "forward"),
            ("void a::b<(int)3, float>(float)", "a::b<(int)3, float>"),
            ("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"),
            ("pages host > device, fault", "pages host > device, fault"),
            ("(odd)", "(odd)"),
        ] {
            assert_eq!(without_parameters(whole), short);
        }
    }
}
