//! What is known of one cell: the allocation there, what happened, and the kernels that ran meanwhile.

use std::fmt::Write as _;
use std::sync::Arc;

use super::generations::{Generations, in_cell, number_of};
use super::homes::Where;
use super::places::{Place, Places};
use super::view::{HeatPoint, Measure, Sums};
use super::{kernels, page};
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

/// What is wanted to be known of a cell.
pub struct Asked<'a> {
    pub cell: Cell,
    /// What happened there; `None`: it is being counted.
    pub sums: Option<Sums>,
    /// All that is known is wanted: where pages are, and whether all that was recorded of them has been gone through.
    pub details: Option<(&'a Where, bool)>,
    /// The allocation that is meant where several lay there, by its index.
    pub meant: Option<usize>,
    /// The place, and its number among all.
    pub place: (usize, Option<&'a Place>),
}

/// A place in a line; `None`: all of them.
pub fn label_of(namer: &Namer<'_>, place: Option<&Place>, places: &Places) -> String {
    match place {
        None => format!("all {} places  {}", places.len(), size(places.bytes())),
        Some(Place { allocation: Some(one), held, .. }) if held.1 - held.0 > 1 => {
            format!("{}  {} in turn", label(namer, one), held.1 - held.0)
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
    (allocations, generations): (&[Arc<Allocations>], &Generations),
    selected: Option<&Selected>,
    asked: &Asked<'_>,
) -> HeatPoint {
    let (trace, cell) = (namer.trace, &asked.cell);
    let start = trace.start_ns();
    let of = allocations.get(cell.process.index()).map(|of| &**of);
    let here = of.map_or_else(Vec::new, |of| here(of, asked));
    let index = asked.meant.filter(|meant| here.contains(meant)).or_else(|| here.first().copied());
    let found = of.zip(index).and_then(|(of, index)| Some((of, index, of.all().get(index)?)));
    let kernels = kernels::between(trace, cell.ns);
    let named = |most: usize| -> Vec<(String, u64)> {
        kernels.iter().take(most).map(|&(name, count)| (kernel(trace, name), count)).collect()
    };
    HeatPoint {
        label: found.map_or_else(
            || "no allocation is known here".to_owned(),
            |(of, index, one)| {
                let mut text = label(namer, one);
                let (number, count) = number_of(of, index);
                if count > 1 {
                    let _ = write!(text, "  {number} of {count} here in turn");
                }
                if here.len() > 1 {
                    let _ = write!(text, ", {} in this cell", here.len());
                }
                text
            },
        ),
        site: found.map(|(.., one)| one.site),
        generation: generations.row_of(asked.place.0, index).or_else(|| generations.row_of(asked.place.0, None)),
        at: (cell.process.0, cell.from, cell.to),
        ns: (cell.ns.0.saturating_sub(start), cell.ns.1.saturating_sub(start)),
        happened: happened(asked.sums.as_ref()),
        sums: asked.sums,
        more_kernels: kernels.len().saturating_sub(KERNELS),
        more_details: asked.details.is_some_and(|(_, complete)| !complete),
        details: asked.details.map(|(homes, complete)| {
            let mut fields = fields(namer, found, here.len(), asked);
            fields.extend(page::fields(trace, cell, of, (homes, complete)));
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

/// The allocations that lay in a cell, by address and in order of time; of kinds that have no pages of their own the one that
/// is there at its begin or end.
fn here(of: &Allocations, asked: &Asked<'_>) -> Vec<usize> {
    let cell = &asked.cell;
    let held = asked.place.1.map_or((0, 0), |place| place.held);
    let found = in_cell(of.all(), held, cell);
    if !found.is_empty() {
        return found;
    }
    let find = |ns: u64| of.find(cell.from, ns).or_else(|| of.find(cell.to - 1, ns));
    find(cell.ns.0).or_else(|| find(cell.ns.1.saturating_sub(1))).into_iter().collect()
}

/// What happened, as names and values.
fn happened(sums: Option<&Sums>) -> Vec<(&'static str, String)> {
    let Some(sums) = sums else { return vec![("being counted", String::new())] };
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
    found: Option<(&Allocations, usize, &Allocation)>,
    in_cell: usize,
    asked: &Asked<'_>,
) -> Vec<(String, String)> {
    let field = |name: &str, value: String| (name.to_owned(), value);
    let (trace, cell) = (namer.trace, &asked.cell);
    let seconds = |ns: u64| moment(trace, ns);
    let mut fields = vec![
        field("addresses", format!("{:#x} to {:#x}   ({})", cell.from, cell.to - 1, size(cell.to - cell.from))),
        field("time", format!("{} to {}", seconds(cell.ns.0), seconds(cell.ns.1))),
    ];
    match found {
        None => fields.push(field("allocation", "none is known here: a managed variable, or the system's".to_owned())),
        Some((of, index, one)) => {
            fields.push(field("allocation", format!("{} {} at {:#x}", one.kind.word(), size(one.bytes), one.address)));
            fields.push(field("from", namer.site(one.site)));
            let ends = if one.has_ended() { seconds(one.freed_ns) } else { "the end".to_owned() };
            fields.push(field("lives", format!("{} to {ends}", seconds(one.made_ns))));
            let (number, count) = number_of(of, index);
            if count > 1 {
                fields.push(field("address", format!("allocation {number} of {count} that lay here in turn")));
            }
            if in_cell > 1 {
                fields.push(field("", format!("{in_cell} allocations lay in this cell: fewer in a narrower one")));
            }
        }
    }
    let process = trace.process(cell.process).filter(|_| trace.processes.len() > 1);
    fields.extend(process.map(|process| field("process", process.pid.to_string())));
    fields.push(field("", String::new()));
    let happened = happened(asked.sums.as_ref());
    if happened.is_empty() {
        fields.push(field("happened", "nothing".to_owned()));
    }
    fields.extend(happened.into_iter().map(|(name, value)| field(name, value)));
    fields
}

/// A moment of the trace's axis, ns, since it began.
pub fn moment(trace: &Trace, ns: u64) -> String {
    let ns = ns.saturating_sub(trace.start_ns());
    format!("{}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
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
