//! The source line that a row is about: its own, or that of the call site above it.

use std::time::Instant;

use super::ask::From;
use crate::graph::{Grouping, NodeKey, What};
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::session::order::Event;
use crate::session::view::View;
use crate::trace::SiteId;

/// File and line from 1, or why they are not known.
pub(super) fn source(model: &mut Model, view: &View, from: From, until: Instant) -> Result<(String, u32), String> {
    let site = match (view, from) {
        (View::Calls(calls), From::Node(Some(key))) => return of_node(model, calls.grouping, key),
        (View::Events(events), From::Row(row)) => {
            let (site, _) = model.in_order(events.kinds, events.node, until, |mut order, context| {
                let event = order.window(row, 1).pop()?;
                site_of(context.trace, &event)
            });
            site.flatten().ok_or("of this event it is not known which code is behind it")?
        }
        (View::Heatmap(_), _) => model.heat.site().ok_or("no call was seen that allocated the memory here")?,
        (View::Memory(memory), From::Row(row)) => model
            .memory_site(memory, row)
            .ok_or("this row is not about one place in code: go to an allocation, or sum up by call site")?,
        _ => return Err("there is no row about code here: go to the calls or the events".to_owned()),
    };
    of_site(model, site)
}

/// Likewise of a row of the calls.
pub(in crate::session) fn of_node(
    model: &mut Model,
    grouping: Grouping,
    key: NodeKey,
) -> Result<(String, u32), String> {
    let (windows, ..) = model.in_rows(grouping).ok_or("there are no rows")?;
    let row = windows.rows.find(key).ok_or("this row is no longer there")?;
    let rows = windows.path(row).into_iter().chain([row]);
    let mut sites = rows.filter_map(|row| match windows.rows.get(row)?.what {
        What::Site(site) => Some(site),
        _ => None,
    });
    let why = "this row is not about one place in code: go to a call site, or to a row below one";
    let site = sites.next_back().ok_or(why)?;
    of_site(model, site)
}

fn of_site(model: &mut Model, site: SiteId) -> Result<(String, u32), String> {
    let trace = &model.trace;
    match model.symbols.get(trace, site) {
        Some(symbol) if !symbol.file.is_empty() => Ok((symbol.file.clone(), symbol.line.max(1))),
        _ => {
            let name = Namer::new(trace, &mut model.symbols).site(site);
            Err(format!("{name} has no source line: build with -g (nvcc -lineinfo), or run umtui symbolize"))
        }
    }
}

fn site_of(trace: &crate::trace::Trace, event: &Event) -> Option<SiteId> {
    match *event {
        Event::Ended(track, row) => trace.track(track)?.call(row).map(|call| call.site),
        Event::Open(_, call) => Some(call.site),
        Event::Record(lane, row) => {
            let lane = trace.activities.lane(lane)?;
            let correlation = lane.get(row)?.correlation;
            let (track, row, _) = crate::correlate::submitting_call(trace, lane.process, correlation)?;
            let track = trace.track(track)?;
            let outermost = track.group(row).end.checked_sub(1)?;
            track.call(outermost).map(|call| call.site)
        }
        Event::Range(..) => None,
    }
}
