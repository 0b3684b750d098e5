//! What calls do to graphs with memory, in the order of their clock.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Told;
use crate::correlate::calls::{Found, Record, Records, bare, choose, each};
use crate::correlate::graph_contents::{self, Step, begin_captured, captured_into};
use crate::correlate::nodes::Chosen;
use crate::correlate::usage::Blocks;
use crate::trace::{Api, Argument, Bytes, CallFlags, Layer, NO_DEVICE, ProcessId, Trace, TrackId};

/// Something that a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it counts, clock ticks of the process.
    pub ticks: u64,
    /// When the call began, ns on the trace's axis.
    pub from_ns: u64,
    /// When it returned, ns.
    pub until_ns: u64,
    /// Its thread and row.
    pub by: (TrackId, u32),
    /// What.
    pub what: What,
}

/// What it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Graphs are otherwise than before.
    Graph(Step<Node>),
    /// A graph was launched; when its work was over, ns, if that was recorded.
    Launch { exec: u64, end_ns: Option<u64> },
    /// A call freed memory.
    Freed { address: u64 },
}

/// A node that allocates memory or frees it. The same address may be several nodes' in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// When the call that made it counts, ticks.
    pub ticks: u64,
    /// Its thread and row.
    pub by: (TrackId, u32),
    /// It allocates.
    pub makes: bool,
    /// Address.
    pub address: u64,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Events {
    /// In no order.
    pub list: Vec<Event>,
    /// What calls told of devices' memory for graphs, in order of time.
    pub told: Vec<Told>,
    /// When unused memory was given back, ns, and of which device, in order of time.
    pub trims: Vec<(u64, u8)>,
}

/// What a function does.
#[derive(Clone, Copy)]
enum Does {
    Allocates,
    Frees,
    AddsAllocation,
    AddsFree,
    Graphs(graph_contents::Does),
    Tells,
    Trims,
}

impl Does {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "MallocAsync" | "MallocFromPoolAsync" | "MemAllocAsync" | "MemAllocFromPoolAsync" => Self::Allocates,
            "FreeAsync" | "MemFreeAsync" | "Free" | "MemFree" => Self::Frees,
            "GraphAddMemAllocNode" => Self::AddsAllocation,
            "GraphAddMemFreeNode" => Self::AddsFree,
            "DeviceGetGraphMemAttribute" => Self::Tells,
            "DeviceGraphMemTrim" => Self::Trims,
            _ => Self::Graphs(graph_contents::Does::of(name)?),
        })
    }
}

/// What calls of a process did. `has_nodes`: graphs have memory, and not only what is told of it is wanted.
pub fn events(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>], has_nodes: bool) -> Events {
    let does = |_: &Api, base: &str| {
        Does::of(bare(base)).filter(|does| has_nodes || matches!(does, Does::Tells | Does::Trims))
    };
    let chosen = choose(trace, |api, base| Chosen::of(api, base, does));
    let mut found = Events::default();
    if chosen.iter().all(Option::is_none) {
        return found;
    }
    let bytes = trace.process(process).and_then(|process| files.get(process.file));
    let (mut records, mut blocks) = (Records::of(trace, process, files), Blocks::default());
    // Of the launch inside the one that comes next: its thread, when it began, its correlation id.
    let mut inside: Option<(TrackId, u64, u32)> = None;
    let mut launches: Vec<(usize, u32)> = Vec::new();
    each(trace, process, &chosen, |call: Found<'_, Chosen<Does>>| {
        if call.call.flags.failed() || call.call.flags.entry_only() {
            return;
        }
        let mut correlation = 0;
        let is_drivers = trace.api(call.call.api).is_some_and(|api| api.layer == Layer::Driver);
        let launches_graph = matches!(call.what.always(), Some(Does::Graphs(graph_contents::Does::Launches)));
        if launches_graph && is_drivers {
            let submitted = bytes.and_then(|bytes| blocks.submitted(&**bytes, call.offset));
            correlation = submitted.map_or(0, |submitted| submitted.correlation);
        }
        // Calls inside others say the same again.
        if call.call.depth > 0 {
            if correlation != 0 {
                inside = Some((call.track, call.call.start_ns, correlation));
            }
            return;
        }
        let Some(record) = records.read(&call) else { return };
        let Some(does) = call.what.of_call(&record) else { return };
        let before = found.list.len();
        event(trace, process, &call.with(does), &record, &mut found);
        let is_launch = |event: &Event| matches!(event.what, What::Launch { .. });
        if found.list.get(before).is_some_and(is_launch) {
            let span = call.call.start_ns..=call.call.end_ns();
            let of_inner = inside.take().filter(|(track, at, _)| *track == call.track && span.contains(at));
            launches.push((before, if correlation != 0 { correlation } else { of_inner.map_or(0, |one| one.2) }));
        }
    });
    if has_nodes {
        captures(trace, process, &mut found.list);
        ends(trace, process, &launches, &mut found.list);
    }
    found.told.sort_by_key(|told| told.at_ns);
    found.trims.sort_unstable();
    found
}

fn event(trace: &Trace, process: ProcessId, call: &Found<'_, Does>, record: &Record<'_>, found: &mut Events) {
    let Some(api) = trace.api(call.call.api) else { return };
    let argument = |role: &str| -> Option<&Argument> { api.signature.role(role) };
    let number = |role| record.named(&api.signature, role).filter(|&value| value != 0);
    let captured = call.call.flags.has(CallFlags::CAPTURED);
    // The graph that a captured call becomes part of: it has its handle when the capture ends.
    let capture = || captured_into(trace, (process, call.track), api, record);
    let ticks = record.start_ticks();
    let by = (call.track, u32::try_from(call.row).unwrap_or(u32::MAX));
    let node = |graph, makes, address| What::Graph(Step::Node { graph, node: Node { ticks, by, makes, address } });
    let made = match call.what {
        Does::Allocates | Does::Frees if captured => capture()
            .zip(number("ptr"))
            .map(|((graph, until), address)| (until, node(graph, matches!(call.what, Does::Allocates), address))),
        Does::Allocates => None,
        Does::Frees => number("ptr").map(|address| (ticks, What::Freed { address })),
        Does::AddsAllocation => {
            number("graph").zip(number("ptr")).map(|(graph, address)| (ticks, node(graph, true, address)))
        }
        Does::AddsFree => {
            number("graph").zip(number("ptr")).map(|(graph, address)| (ticks, node(graph, false, address)))
        }
        Does::Graphs(graph_contents::Does::Launches) if !captured => {
            number("exec").map(|exec| (ticks, What::Launch { exec, end_ns: None }))
        }
        Does::Graphs(does) => {
            let into = if captured { capture() } else { None };
            does.step(api, record, into).map(|(ticks, step)| (ticks, What::Graph(step)))
        }
        Does::Tells => {
            if let (Some(attribute), Some(bytes)) = (
                argument("attribute").and_then(|one| record.number(one)),
                argument("value").and_then(|one| record.number(one)),
            ) {
                let attribute = u32::try_from(attribute).unwrap_or(u32::MAX);
                found.told.push(Told {
                    at_ns: call.call.end_ns(),
                    device: device(call, record, api),
                    attribute,
                    bytes,
                });
            }
            None
        }
        Does::Trims => {
            found.trims.push((call.call.end_ns(), device(call, record, api)));
            None
        }
    };
    if let Some((ticks, what)) = made {
        let (from_ns, until_ns) = (call.call.start_ns, call.call.end_ns());
        found.list.push(Event { ticks, from_ns, until_ns, by, what });
    }
}

fn device(call: &Found<'_, Does>, record: &Record<'_>, api: &Api) -> u8 {
    let named = api.signature.role("device").and_then(|one| record.number(one));
    named.map_or(call.call.device, |device| u8::try_from(device).unwrap_or(NO_DEVICE))
}

/// What captures begin.
fn captures(trace: &Trace, process: ProcessId, list: &mut Vec<Event>) {
    let steps = list.iter().filter_map(|event| match event.what {
        What::Graph(step) => Some((event.ticks, step)),
        _ => None,
    });
    let begins = begin_captured(trace, process, steps);
    let by = (TrackId(0), 0);
    list.extend(begins.into_iter().map(|(ticks, step)| Event {
        ticks,
        from_ns: 0,
        until_ns: 0,
        by,
        what: What::Graph(step),
    }));
}

/// When the work of launches was over.
fn ends(trace: &Trace, process: ProcessId, launches: &[(usize, u32)], list: &mut [Event]) {
    let mut over: FxHashMap<u32, u64> =
        launches.iter().filter(|launch| launch.1 != 0).map(|&(_, correlation)| (correlation, 0)).collect();
    if over.is_empty() {
        return;
    }
    for lane in trace.activities.lanes().iter().filter(|lane| lane.process == process) {
        lane.for_each(0, |_, activity| {
            if activity.kind.is_work()
                && activity.timed
                && let Some(end) = over.get_mut(&activity.correlation)
            {
                *end = activity.end_ns().max(*end);
            }
        });
    }
    for &(index, correlation) in launches {
        let Some(Event { what: What::Launch { end_ns, .. }, .. }) = list.get_mut(index) else { continue };
        *end_ns = over.get(&correlation).copied().filter(|&end| end != 0);
    }
}
