//! Rows of the events screen.

use std::sync::Arc;

use super::gpu_events::Context;
use super::labels::{Namer, thread};
use super::order::{Event, Order, Selection};
use super::safe::safe;
use super::view::{EventGroup, EventRow, EventsAt, EventsRequest, EventsRows, Outcome};
use crate::correlate::nodes::MEM_ALLOC;
use crate::trace::raw::RawCall;
use crate::trace::value::print;
use crate::trace::{Api, Bytes, Call, CallFlags, OpenCall, Style, Trace, Track, TrackId, Value};
use umtui_wire::table::{Access, FUNCTIONS, Op, named, registers_are_alike};

/// Longest text of arguments, characters; a name in them can be of any length.
const ARGUMENTS_MAX: usize = 2000;
/// Registers of an open call that are recorded.
const REGISTERS: u8 = 3;

/// The rows asked for.
pub(super) fn rows<S: Selection + ?Sized>(
    mut order: Order<'_, S>,
    context: &Context<'_, '_>,
    request: EventsRequest,
) -> EventsRows {
    let total = order.total();
    let last = total.saturating_sub(request.rows as u64);
    let found = match request.at {
        EventsAt::Call(track, row) => number_of(&mut order, TrackId(track), row),
        EventsAt::Number(row) => total.checked_sub(1).map(|last| row.min(last)),
        EventsAt::Time(ns) => {
            Some(order.before(order.trace.start_ns().saturating_add(ns)).min(total.saturating_sub(1)))
        }
        EventsAt::Row(_) | EventsAt::End | EventsAt::Address(_) => None,
    };
    let first = match request.at {
        EventsAt::Call(..) | EventsAt::Number(_) | EventsAt::Address(_) => {
            found.unwrap_or(0).saturating_sub(request.rows as u64 / 2)
        }
        EventsAt::Row(row) => row,
        EventsAt::Time(_) => found.unwrap_or(0),
        EventsAt::End => last,
    };
    let first = first.min(last);
    let events = order.window(first, request.rows);
    let trace = order.trace;
    let (files, namer) = (context.files, context.namer);
    let details = request.details.and_then(|number| {
        let at = usize::try_from(number.checked_sub(first)?).ok()?;
        match *events.get(at)? {
            Event::Record(lane, row) => Some((number, context.details(lane, row))),
            Event::Range(track, row) => Some((number, context.range_details(track, row))),
            _ => None,
        }
    });
    let rows = events.into_iter().filter_map(|event| match event {
        Event::Ended(track, row) => ended(trace, files, namer, track, row),
        Event::Open(track, call) => open(trace, namer, track, &call),
        Event::Range(track, row) => context.range(track, row),
        Event::Record(lane, row) => context.record(lane, row),
    });
    EventsRows { total, first, rows: rows.collect(), found, details }
}

/// Where an event happened, in a few words.
pub(super) fn place_of(context: &Context<'_, '_>, event: &Event) -> String {
    let trace = context.trace;
    match event {
        Event::Ended(track, _) | Event::Open(track, _) | Event::Range(track, _) => {
            format!("in thread {}", thread(trace, *track))
        }
        Event::Record(lane, row) => {
            let record = context.record(*lane, *row).map(|row| row.thread_name).unwrap_or_default();
            if record.is_empty() { record } else { format!("on {record}") }
        }
    }
}

/// Number of a call among the events.
fn number_of<S: Selection + ?Sized>(order: &mut Order<'_, S>, track: TrackId, row: u64) -> Option<u64> {
    let row = usize::try_from(row).ok()?;
    let call = order.trace.track(track)?.call(row)?;
    order.number_of(track, row, call.start_ns)
}

fn ended(
    trace: &Trace,
    files: &[Option<Arc<dyn Bytes>>],
    namer: &Namer<'_>,
    id: TrackId,
    row: usize,
) -> Option<EventRow> {
    let track = trace.track(id)?;
    let call = track.call(row)?;
    let api = trace.api(call.api)?;
    let raw = read(files, track, row);
    let (mut arguments, result) = match &raw {
        Some(raw) => (raw.text(trace, track.process, api, Style::Short), raw.result(api)),
        None if api.signature.arguments.is_empty() => Default::default(),
        None => ("no longer in the file".to_owned(), String::new()),
    };
    let is_memory_node = is_memory_node(api, raw.as_ref());
    arguments.push_str(graph_words(trace.names.get(api.name), call.flags, is_memory_node));
    Some(EventRow {
        duration_ns: (!call.flags.entry_only()).then_some(call.duration_ns),
        arguments: safe(&cut(arguments)).into_owned(),
        result: safe(&result).into_owned(),
        outcome: outcome(&call),
        ..event(trace, namer, id, track, &Begun::of(&call))
    })
}

fn open(trace: &Trace, namer: &Namer<'_>, id: TrackId, call: &OpenCall) -> Option<EventRow> {
    let track = trace.track(id)?;
    let arguments = trace.api(call.api).map(|api| registers(trace, api, call)).unwrap_or_default();
    let begun = Begun { start_ns: call.start_ns, depth: call.depth, api: call.api, site: call.site };
    Some(EventRow { arguments: safe(&arguments).into_owned(), ..event(trace, namer, id, track, &begun) })
}

/// What a call and an open call have in common.
struct Begun {
    start_ns: u64,
    depth: u8,
    api: crate::trace::ApiId,
    site: crate::trace::SiteId,
}

impl Begun {
    const fn of(call: &Call) -> Self {
        Self { start_ns: call.start_ns, depth: call.depth, api: call.api, site: call.site }
    }
}

/// The row of a call of which only the beginning is known.
fn event(trace: &Trace, namer: &Namer<'_>, id: TrackId, track: &Track, begun: &Begun) -> EventRow {
    EventRow {
        group: EventGroup::Calls,
        start_ns: begun.start_ns.saturating_sub(trace.start_ns()),
        duration_ns: None,
        pid: trace.process(track.process).map_or(0, |process| process.pid),
        thread: track.thread,
        thread_name: thread(trace, id),
        depth: begun.depth,
        name: safe(trace.api_name(begun.api)).into_owned(),
        arguments: String::new(),
        result: String::new(),
        recorded_as: trace.api(begun.api).map_or_else(String::new, |api| safe(&api.signature.original).into_owned()),
        site: namer.site(begun.site),
        outcome: Outcome::Running,
        launched_by: None,
    }
}

/// Whether a call gave a graph a node, of whatever type it is, that allocates memory.
fn is_memory_node(api: &Api, raw: Option<&RawCall>) -> bool {
    let node_type = || raw.and_then(|raw| raw.argument(api, "type"));
    api.signature.has_conditions() && node_type() == Some(Value::Number(MEM_ALLOC))
}

/// What becomes of a call that is recorded into a graph: it is not done now.
fn graph_words(name: &str, flags: CallFlags, is_memory_node: bool) -> &'static str {
    let memory = ["MallocAsync", "MallocFromPoolAsync", "MemAllocAsync", "MemAllocFromPoolAsync", "AddMemAllocNode"];
    let is_memory = memory.iter().any(|part| name.contains(part)) || (is_memory_node && name.contains("AddNode"));
    match (flags.has(CallFlags::CAPTURED), is_memory && !flags.failed()) {
        (true, true) => " captured: memory of the graph",
        (true, false) => " captured",
        (false, true) if name.contains("Graph") => " memory of the graph",
        (false, _) => "",
    }
}

fn outcome(call: &Call) -> Outcome {
    if call.flags.entry_only() {
        Outcome::EntryOnly
    } else if call.flags.failed() {
        Outcome::Failed
    } else {
        Outcome::Done
    }
}

/// The raw record of a row.
pub(super) fn read(files: &[Option<Arc<dyn Bytes>>], track: &Track, row: usize) -> Option<RawCall> {
    let location = track.location(row)?;
    let bytes = files.get(location.file as usize)?.as_ref()?;
    RawCall::read(&**bytes, location).ok()
}

/// Arguments of an open call, as far as its registers tell.
fn registers(trace: &Trace, api: &Api, call: &OpenCall) -> String {
    let name = trace.names.get(api.name);
    let signature = api.signature.to_string();
    // The recording may come from another machine than this one.
    let functions =
        named(name.as_bytes()).filter(|&index| registers_are_alike(index)).filter_map(|index| FUNCTIONS.get(index));
    let Some(function) = functions.into_iter().find(|function| function.signature.ends_with(&signature)) else {
        return String::new();
    };
    let mut out = String::new();
    for argument in &api.signature.arguments {
        let by_value = |op: &&Op| {
            op.at == argument.at && op.word < REGISTERS && matches!(op.access, Access::Value4 | Access::Value8)
        };
        let Some(op) = function.ops.iter().find(by_value).filter(|_| argument.kind.bytes() <= 8) else { continue };
        let Some(&word) = call.registers.get(usize::from(op.word)) else { continue };
        let value = if op.access == Access::Value4 { word & u64::from(u32::MAX) } else { word };
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&argument.role);
        out.push('=');
        out.push_str(&print(argument.kind, Value::Number(value), Style::Short, name, &argument.role));
    }
    out
}

fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(ARGUMENTS_MAX) {
        text.truncate(at);
        text.push_str("..");
    }
    text
}
