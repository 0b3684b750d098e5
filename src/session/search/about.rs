//! What a row is about, from what the trace holds, not from how it is shown: a condition that its events fit, and the
//! time from its first event to its last.

use std::time::Instant;

use super::ask::{About, From, SearchAnswer, SearchRequest};
use super::exact::exact;
use super::span::ThingSpan;
use crate::filter::{Condition, TextField};
use crate::graph::{Grouping, NodeKey, RowId, What};
use crate::lens::{cause_word, directions};
use crate::session::model::Model;
use crate::session::order::Event;
use crate::session::view::{EventKinds, View};
use crate::symbols::{Symbols, demangled};
use crate::trace::{ActivityKind, NO_DEVICE, NameId, RangeKind, SiteId, StreamId, StreamKind, Trace, TrackId};
use umtui_wire::activity as wire;

/// Events that are looked at between two looks at the clock.
const PAGE: u64 = 4096;

/// How far the time of a node's events is known.
#[derive(Debug, Default)]
pub(super) struct Abouts {
    /// The question, and of the node's events those that have not been looked at.
    of: Option<(u64, u64)>,
    /// First begin and last end, ns on the trace's axis.
    span: Option<(u64, u64)>,
    thing: ThingSpan,
}

impl Abouts {
    /// Goes on until `until` with what is to be known of the cursor's row.
    pub(super) fn advance(
        &mut self,
        model: &mut Model,
        view: &View,
        request: &SearchRequest,
        until: Instant,
    ) -> SearchAnswer {
        let answer = |about, share| SearchAnswer { id: request.id, about, share, ..SearchAnswer::default() };
        match (view, request.from) {
            (View::Calls(calls), From::Node(Some(key))) => {
                let grouping = calls.grouping;
                let like = node(model, grouping, key);
                let Some(row) = model.in_rows(grouping).and_then(|(windows, ..)| windows.rows.find(key)) else {
                    return answer(Some(About::default()), None);
                };
                match self.span(model, (grouping, key, row), request.id, until) {
                    Ok(span) => answer(Some(About { like, span }), None),
                    Err(share) => answer(None, Some(share)),
                }
            }
            (View::Events(events), From::Row(row)) => {
                let (about, _) = model.in_order(events.kinds, events.node, until, |mut order, context| {
                    let event = order.window(row, 1).pop()?;
                    let start = context.trace.start_ns();
                    let span = ends(context.trace, &event);
                    let span = span.map(|(from, to)| (from.saturating_sub(start), to.saturating_sub(start)));
                    Some(About { like: self::event(context.trace, &event), span })
                });
                answer(Some(about.flatten().unwrap_or_default()), None)
            }
            (_, From::Thing(thing)) => match self.thing.advance(model, (request.id, thing), until) {
                Some(span) => answer(Some(About { like: what(&model.trace, &mut model.symbols, thing), span }), None),
                None => answer(None, Some(self.thing.share(model))),
            },
            _ => answer(Some(About::default()), None),
        }
    }

    /// First begin and last end of what stands behind a node, ns since the trace began; or how far that is known,
    /// thousandths.
    fn span(
        &mut self,
        model: &mut Model,
        (grouping, key, row): (Grouping, NodeKey, RowId),
        id: u64,
        until: Instant,
    ) -> Result<Option<(u64, u64)>, u16> {
        let (start, end) = (model.trace.start_ns(), model.trace.end_ns());
        let mut longest = u64::MAX;
        if let Some((windows, ..)) = model.in_rows(grouping)
            && let Some(row) = windows.rows.get(row)
        {
            if let What::Range(domain, name) = row.what {
                return Ok(ranges(&model.trace, domain, name));
            }
            let sums = row.sums();
            // What the GPU did below it may take longer than any of its calls.
            if sums.running == 0 && row.on_gpu().records == 0 {
                longest = sums.max_ns;
            }
        }
        loop {
            let known = self.of.filter(|(of, _)| *of == id).map(|(_, left)| left);
            let before = if known.is_some() { self.span } else { None };
            let (seen, complete) =
                model.in_order(EventKinds::ALL, Some((grouping, key)), until, |mut order, context| {
                    let total = order.total();
                    let left = known.unwrap_or(total);
                    let first = left.saturating_sub(PAGE);
                    let mut span = before;
                    let mut grow = |events: Vec<Event>| {
                        for (from, to) in events.iter().filter_map(|event| ends(context.trace, event)) {
                            let all = span.unwrap_or((from, to));
                            span = Some((all.0.min(from), all.1.max(to)));
                        }
                    };
                    if known.is_none() {
                        grow(order.window(0, 1));
                    }
                    let count = usize::try_from(left - first).unwrap_or(0);
                    let events = order.window(first, count);
                    let earliest =
                        events.iter().filter_map(|event| ends(context.trace, event)).map(|(from, _)| from).min();
                    grow(events);
                    // What begins so much earlier has ended before.
                    let over = span
                        .zip(earliest)
                        .is_some_and(|((_, last), earliest)| last >= end || earliest.saturating_add(longest) <= last);
                    (span, if over { 0 } else { first }, total)
                });
            let Some((span, left, total)) = seen else { return if complete { Ok(None) } else { Err(0) } };
            if !complete {
                return Err(0);
            }
            if left == 0 {
                self.of = None;
                return Ok(span.map(|(from, to)| (from.saturating_sub(start), to.saturating_sub(start))));
            }
            (self.of, self.span) = (Some((id, left)), span);
            if Instant::now() >= until {
                let done = (total.saturating_sub(left)).saturating_mul(1000).checked_div(total).unwrap_or(0);
                return Err(u16::try_from(done.min(999)).unwrap_or(999));
            }
        }
    }
}

/// Begin and end of an event, ns on the trace's axis: of a moment its begin; a running call has lasted until now.
fn ends(trace: &Trace, event: &Event) -> Option<(u64, u64)> {
    match *event {
        Event::Ended(track, row) => trace.track(track)?.call(row).map(|call| (call.start_ns, call.end_ns())),
        Event::Open(_, call) => Some((call.start_ns, trace.end_ns().max(call.start_ns))),
        Event::Range(track, row) => {
            let range = trace.ranges.of(track).get(row)?;
            Some((range.start_ns, range.end_ns().unwrap_or(range.start_ns)))
        }
        Event::Record(lane, row) => {
            let activity = trace.activities.lane(lane)?.get(row)?;
            activity.timed.then(|| (activity.start_ns, activity.end_ns()))
        }
    }
}

/// From the first begin to the last end of the ranges of a name, ns since the trace began; of one that is open still to
/// the end of the trace.
fn ranges(trace: &Trace, domain: NameId, name: NameId) -> Option<(u64, u64)> {
    let mut span: Option<(u64, u64)> = None;
    let tracks = (0..trace.tracks.len()).filter_map(|id| u32::try_from(id).ok()).map(TrackId);
    for range in tracks.flat_map(|track| trace.ranges.of(track)) {
        let is_it = trace.activities.name(range.name) == name
            && trace.activities.name(trace.ranges.domain(range)) == domain
            && range.kind != RangeKind::Mark;
        if is_it {
            let (from, to) = (range.start_ns, range.end_ns().unwrap_or(trace.end_ns()));
            let all = span.unwrap_or((from, to));
            span = Some((all.0.min(from), all.1.max(to)));
        }
    }
    let start = trace.start_ns();
    span.map(|(from, to)| (from.saturating_sub(start), to.saturating_sub(start)))
}

fn text(field: TextField, text: &str) -> Condition {
    Condition::Text(field, exact(text))
}

fn kind(word: &str) -> Condition {
    text(TextField::Kind, word)
}

/// What has none of these.
fn without(field: TextField) -> Condition {
    Condition::Not(Box::new(Condition::Text(field, crate::filter::Pattern::Glob("*".to_owned()))))
}

/// What the events of a row of the calls are like; `None` if no filter can say it.
fn node(model: &mut Model, grouping: Grouping, key: NodeKey) -> Option<Condition> {
    let (windows, ..) = model.in_rows(grouping)?;
    let row = windows.rows.find(key)?;
    let what = windows.rows.get(row)?.what;
    let function = windows.path(row).first().and_then(|row| windows.rows.get(*row)).map(|row| row.what);
    let own = self::what(&model.trace, &mut model.symbols, what)?;
    let (Grouping::Inverted, Some(function)) = (grouping, function) else { return Some(own) };
    // Below a function stands who called it.
    let function = self::what(&model.trace, &mut model.symbols, function)?;
    let caller = match what {
        What::Call(_) => Condition::ChildrenOf(Box::new(own)),
        What::Site(_) => Condition::Any(vec![own.clone(), Condition::ChildrenOf(Box::new(own))]),
        _ => own,
    };
    Some(Condition::All(vec![function, caller]))
}

/// What a thing's events are like; `None` if no filter can say it.
pub(super) fn what(trace: &Trace, symbols: &mut Symbols, what: What) -> Option<Condition> {
    Some(match what {
        What::Process(id) => text(TextField::Process, &trace.process(id)?.pid.to_string()),
        What::Thread(id) => thread(trace, id)?,
        What::Stream(StreamId::OTHER) | What::Ids(_, wire::NONE, wire::NONE) => return None,
        What::Stream(id) => match trace.streams.get(id) {
            None => without(TextField::Stream),
            Some(stream) if stream.kind == StreamKind::Created => {
                text(TextField::Stream, &format!("stream {:#x}", stream.handle))
            }
            Some(_) => text(TextField::Stream, "default"),
        },
        What::Ids(_, context, stream) => text(TextField::Stream, &format!("stream #{stream} of context #{context}")),
        What::Device(_, NO_DEVICE) => without(TextField::Device),
        What::Device(_, ordinal) => text(TextField::Device, &ordinal.to_string()),
        What::Site(id) => site(trace, symbols, id)?,
        What::Call(id) => call(trace.api_name(id))?,
        What::Range(_, name) => range(trace.names.get(name))?,
        What::Outside => without(TextField::Range),
        What::Kernel(name) => kernel(trace.names.get(name)),
        What::Copy(direction, pageable) => copy(direction, pageable),
        What::Set => kind("set"),
        What::Graph => kind("graph"),
        What::Unified(counter, flags) => unified(counter, flags)?,
    })
}

/// `main` reads better than its number, where there is but one.
fn thread(trace: &Trace, id: TrackId) -> Option<Condition> {
    let track = trace.track(id)?;
    let is_main = trace.process(track.process).is_some_and(|process| process.pid == track.thread);
    Some(match is_main && trace.processes.len() == 1 {
        true => text(TextField::Thread, "main"),
        false => text(TextField::Thread, &track.thread.to_string()),
    })
}

fn site(trace: &Trace, symbols: &mut Symbols, id: SiteId) -> Option<Condition> {
    let label = symbols.label(trace, id);
    (!label.is_empty()).then(|| text(TextField::Site, &label))
}

/// Calls of a function; `None` if it has no name.
pub(crate) fn call(name: &str) -> Option<Condition> {
    (!name.is_empty()).then(|| text(TextField::Api, name))
}

fn range(name: &str) -> Option<Condition> {
    (!name.is_empty()).then(|| text(TextField::Range, name))
}

/// Work of a kernel, by its name as it was recorded.
pub(crate) fn kernel(name: &str) -> Condition {
    match name {
        "" => Condition::All(vec![kind("kernel"), without(TextField::Kernel)]),
        name => text(TextField::Kernel, &demangled(name)),
    }
}

fn copy(direction: u8, pageable: bool) -> Condition {
    let direction = directions(direction).first().copied();
    let words = std::iter::once("copy").chain(direction).chain(pageable.then_some("pageable"));
    Condition::All(words.map(kind).collect())
}

fn unified(counter: u16, flags: u8) -> Option<Condition> {
    let pages =
        |direction| Condition::All(vec![kind("migration"), kind(direction), text(TextField::Cause, cause_word(flags))]);
    Some(match counter {
        wire::UNIFIED_TO_DEVICE => pages("h2d"),
        wire::UNIFIED_TO_HOST => pages("d2h"),
        wire::UNIFIED_BETWEEN_DEVICES => pages("d2d"),
        wire::UNIFIED_CPU_FAULT => kind("cpu-fault"),
        wire::UNIFIED_GPU_FAULT => kind("gpu-fault"),
        wire::UNIFIED_THRASHING => kind("thrashing"),
        wire::UNIFIED_THROTTLING => kind("throttling"),
        wire::UNIFIED_REMOTE_MAP => kind("remote-map"),
        _ => return None,
    })
}

/// What an event is like; `None` if no filter can say it.
fn event(trace: &Trace, event: &Event) -> Option<Condition> {
    match *event {
        Event::Ended(track, row) => call(trace.api_name(trace.track(track)?.call(row)?.api)),
        Event::Open(_, open) => call(trace.api_name(open.api)),
        Event::Range(track, row) => {
            let found = trace.ranges.of(track).get(row)?;
            let word = if found.kind == RangeKind::Mark { "mark" } else { "range" };
            range(trace.names.get(trace.activities.name(found.name))).or_else(|| Some(kind(word)))
        }
        Event::Record(lane, row) => {
            let activity = trace.activities.lane(lane)?.get(row)?;
            Some(match activity.kind {
                ActivityKind::Kernel => kernel(trace.names.get(trace.activities.kernel_name(&activity))),
                ActivityKind::Copy => {
                    let (direction, pageable) = activity.copy();
                    copy(direction, pageable)
                }
                ActivityKind::Set => kind("set"),
                ActivityKind::Graph => kind("graph"),
                ActivityKind::Wait => kind("wait"),
                ActivityKind::Event => kind("event"),
                ActivityKind::Overhead => kind("overhead"),
                ActivityKind::Memory => kind("allocation"),
                ActivityKind::Unified => {
                    let (counter, flags) = activity.unified();
                    return unified(counter, flags);
                }
            })
        }
    }
}
