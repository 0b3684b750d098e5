//! Draws the events screen.
//!
//! ```text
//! every event in order                       summary: which events, followed or not
//!    start      took  where    event         heading
//! 0.000012    1.2 us  main     cudaMalloc(…)  list, and the cursor's event beside it on wide screens
//! ```

use ratatui::layout::Rect;

use super::describe;
use super::layout;
use super::state::{Follow, State};
use crate::session::view::{EventGroup, EventKinds, EventRow, LensStatus, Outcome};
use crate::ui::keys::Context;
use crate::ui::lens;
use crate::ui::text::{format, truncate};
use crate::ui::theme::{Role, devices};
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::{fields, split};

/// Where each column begins and how wide it is; 0 cells: not shown.
struct Columns {
    decimals: u32,
    start: (u16, u16),
    took: (u16, u16),
    thread: (u16, u16),
    call: (u16, u16),
    site: (u16, u16),
}

impl Columns {
    fn of(area: Rect) -> Self {
        let wide = area.width >= 110;
        let start = if wide { 15 } else { 11 };
        let took = format::DURATION_WIDTH + 1;
        let thread = if area.width >= 60 { 12 } else { 0 };
        let site = if wide { 28 } else { 0 };
        let mut x = area.x;
        let mut next = |cells: u16| {
            let column = (x, cells);
            x += if cells > 0 { cells + 1 } else { 0 };
            column
        };
        let (start, took, thread) = (next(start), next(took), next(thread));
        let call = (x, (area.right() - site).saturating_sub(x));
        Self {
            decimals: if wide { 9 } else { 6 },
            start,
            took,
            thread,
            call,
            site: (call.0 + call.1 + 1, site.saturating_sub(1)),
        }
    }
}

/// Draws the screen.
pub fn draw(state: &State, paint: &mut Paint<'_>, area: Rect, through: Option<&LensStatus>) {
    let parts = layout::of(area);
    summary(state, paint, parts.summary);
    let columns = Columns::of(parts.list);
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
        let text = format!("only {} of {:#x}..{:#x}", lens::words::range((begin, end)), from, to.saturating_sub(1));
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
    paint.right(columns.start.0, area.y, columns.start.1, "start", Role::Dim);
    paint.right(columns.took.0, area.y, columns.took.1, "took", Role::Dim);
    paint.text(columns.thread.0, area.y, columns.thread.1, "where", Role::Dim);
    paint.text(columns.call.0, area.y, columns.call.1, "event", Role::Dim);
    paint.text(columns.site.0, area.y, columns.site.1, "from", Role::Dim);
}

fn list(state: &State, paint: &mut Paint<'_>, area: Rect, columns: &Columns) {
    for (y, number) in (area.y..area.bottom()).zip(state.window.first..) {
        let Some(event) = state.row(number) else { continue };
        line(paint, y, event, columns, state.shift);
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

fn line(paint: &mut Paint<'_>, y: u16, event: &EventRow, columns: &Columns, shift: u16) {
    let start = format::seconds(event.start_ns, columns.decimals);
    paint.right(columns.start.0, y, columns.start.1, &start, Role::Dim);
    paint.right(columns.took.0, y, columns.took.1, &took(event), Role::Plain);
    if event.thread_name.is_empty() && event.thread != 0 {
        paint.text(columns.thread.0, y, columns.thread.1, &event.thread.to_string(), Role::Plain);
    } else {
        let (x, cells) = columns.thread;
        let end = paint.name(x, y, cells, &event.thread_name, device(event).map_or(Role::Plain, devices::role));
        paint.mark((x, y), end, &event.thread_name);
    }
    call(paint, y, event, columns.call, shift);
    let end = paint.name(columns.site.0, y, columns.site.1, &event.site, Role::Site);
    paint.mark((columns.site.0, y), end, &event.site);
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
