//! What is known of one cell: the allocation there, what happened, and the kernels that ran meanwhile.

use std::sync::Arc;

use super::kernels;
use super::places::Place;
use super::view::{HeatPoint, Measure, Sums};
use crate::correlate::{Allocation, Allocations};
use crate::lens::Selected;
use crate::memory::heat::Counted;
use crate::session::labels::{Namer, kernel, unified};
use crate::trace::value::size;
use crate::trace::{LaneOf, ProcessId, Trace};

/// Kernels that are named, and in the details.
const KERNELS: usize = 2;
const DETAILED: usize = 6;
/// Records that are named in the details.
const RECORDS: usize = 12;

/// A cell: process, addresses, and time, ns on the trace's axis.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub process: ProcessId,
    pub from: u64,
    pub to: u64,
    pub ns: (u64, u64),
}

/// A place in a line; `None`: all of them.
pub fn label_of(namer: &Namer<'_>, place: Option<&Place>, places: &[Place]) -> String {
    match place {
        None => {
            let bytes = places.iter().fold(0u64, |sum, place| sum.saturating_add(place.to - place.from));
            format!("all {} places  {}", places.len(), size(bytes))
        }
        Some(Place { allocation: Some(one), .. }) => label(namer, one),
        Some(place) => format!("not seen to be allocated  {}  {:#x}", size(place.to - place.from), place.from),
    }
}

fn label(namer: &Namer<'_>, one: &Allocation) -> String {
    format!("{} {}  {}", one.kind.word(), size(one.bytes), namer.site(one.site))
}

/// What is known of a cell.
pub fn of(
    namer: &Namer<'_>,
    allocations: &[Arc<Allocations>],
    selected: Option<&Selected>,
    cell: &Cell,
    sums: Sums,
    details: bool,
) -> HeatPoint {
    let trace = namer.trace;
    let start = trace.start_ns();
    let of = allocations.get(cell.process.index());
    let find = |ns: u64| {
        let of = of?;
        of.find(cell.from, ns).or_else(|| of.find(cell.to - 1, ns)).and_then(|index| of.all().get(index))
    };
    let allocation = find(cell.ns.0).or_else(|| find(cell.ns.1.saturating_sub(1)));
    let kernels = kernels::between(trace, cell.ns);
    let named = |most: usize| -> Vec<(String, u64)> {
        kernels.iter().take(most).map(|&(name, count)| (kernel(trace, name), count)).collect()
    };
    HeatPoint {
        label: allocation.map_or_else(|| "no allocation is known here".to_owned(), |one| label(namer, one)),
        site: allocation.map(|one| one.site),
        at: (cell.process.0, cell.from, cell.to),
        ns: (cell.ns.0.saturating_sub(start), cell.ns.1.saturating_sub(start)),
        happened: happened(&sums),
        sums,
        more_kernels: kernels.len().saturating_sub(KERNELS),
        details: details.then(|| {
            let mut fields = fields(namer, of, allocation, cell, &sums);
            fields.extend(named(DETAILED).into_iter().enumerate().map(|(at, (name, count))| {
                let times = if count > 1 { format!("   {count} times") } else { String::new() };
                (if at == 0 { "meanwhile" } else { "" }.to_owned(), format!("{name}{times}"))
            }));
            if kernels.len() > DETAILED {
                fields.push((String::new(), format!("and {} kernels more", kernels.len() - DETAILED)));
            }
            fields.extend(records(trace, selected, cell));
            fields
        }),
        kernels: named(KERNELS),
    }
}

/// What happened, as names and values.
fn happened(sums: &Sums) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    for (measure, name) in [
        (Measure::ToDevice, "to GPU"),
        (Measure::ToHost, "to CPU"),
        (Measure::Between, "GPU to GPU"),
        (Measure::PrefetchedToDevice, "prefetched to GPU"),
        (Measure::PrefetchedToHost, "prefetched to CPU"),
        (Measure::Evicted, "evicted"),
        (Measure::Faults, "faults"),
        (Measure::RemoteMaps, "mapped from afar"),
        (Measure::Thrashing, "thrashing"),
    ] {
        match sums.get(measure) {
            0 => {}
            amount if measure.is_bytes() => list.push((name, size(amount))),
            amount => list.push((name, amount.to_string())),
        }
    }
    list
}

fn fields(
    namer: &Namer<'_>,
    of: Option<&Arc<Allocations>>,
    allocation: Option<&Allocation>,
    cell: &Cell,
    sums: &Sums,
) -> Vec<(String, String)> {
    let field = |name: &str, value: String| (name.to_owned(), value);
    let trace = namer.trace;
    let seconds = |ns: u64| {
        let ns = ns.saturating_sub(trace.start_ns());
        format!("{}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
    };
    let mut fields = vec![
        field("addresses", format!("{:#x} to {:#x}   ({})", cell.from, cell.to - 1, size(cell.to - cell.from))),
        field("time", format!("{} to {}", seconds(cell.ns.0), seconds(cell.ns.1))),
    ];
    match allocation {
        None => fields.push(field("allocation", "none is known here: a managed variable, or the system's".to_owned())),
        Some(one) => {
            fields.push(field("allocation", format!("{} {} at {:#x}", one.kind.word(), size(one.bytes), one.address)));
            fields.push(field("from", namer.site(one.site)));
            let ends = if one.has_ended() { seconds(one.freed_ns) } else { "the end".to_owned() };
            fields.push(field("lives", format!("{} to {ends}", seconds(one.made_ns))));
            let all = of.map_or(&[][..], |of| of.all());
            let at = all.iter().position(|other| other == one);
            if let Some(before) = at.and_then(|at| of.map(|of| of.generation(at))).filter(|&before| before > 0) {
                fields.push(field("before", format!("{before} allocations lay at the same address before it")));
            }
        }
    }
    let process = trace.process(cell.process).filter(|_| trace.processes.len() > 1);
    fields.extend(process.map(|process| field("process", process.pid.to_string())));
    fields.push(field("", String::new()));
    let happened = happened(sums);
    if happened.is_empty() {
        fields.push(field("happened", "nothing".to_owned()));
    }
    fields.extend(happened.into_iter().map(|(name, value)| field(name, value)));
    fields
}

/// The first records in a cell, in order of rows.
fn records(trace: &Trace, selected: Option<&Selected>, cell: &Cell) -> Vec<(String, String)> {
    let found = trace.activities.find(cell.process, LaneOf::Unified);
    let Some((id, lane)) = found.and_then(|id| Some((id, trace.activities.lane(id)?))) else { return Vec::new() };
    let (mut list, mut more) = (Vec::new(), 0u64);
    lane.overlapping((cell.ns.0, cell.ns.1.saturating_sub(1)), |row, activity| {
        let begins = (cell.ns.0..cell.ns.1).contains(&activity.start_ns);
        let counted = Counted::of(&activity).filter(|counted| counted.within(cell.from, cell.to) > 0);
        let (Some(counted), true) = (counted, begins) else { return };
        if selected.is_some_and(|selected| !selected.record(id, row)) {
            return;
        }
        if list.len() >= RECORDS {
            more += 1;
            return;
        }
        let (counter, flags) = activity.unified();
        let ns = activity.start_ns.saturating_sub(trace.start_ns());
        let bytes = if counted.measure.is_bytes() { format!(", {}", size(activity.value)) } else { String::new() };
        let text = format!("{}{bytes} at {:#x}", unified(counter, flags), activity.address);
        list.push((format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000), text));
    });
    if !list.is_empty() {
        list.insert(0, (String::new(), String::new()));
    }
    if more > 0 {
        list.push((String::new(), format!("and {more} records more")));
    }
    list
}
