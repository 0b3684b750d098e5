//! Memory of devices in the report: of graphs, by the driver's answers, by the driver's records.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::{Found, KEPT, Memory, known, since, until};
use crate::correlate::device_memory::Told;
use crate::correlate::graph_memory::RunEnd;
use crate::correlate::{Allocation, AllocationKind};
use crate::report::table::Table;
use crate::report::text::{duration, grouped};
use crate::session::Loaded;
use crate::trace::value::size;

/// Memory of a process's graphs. Times are ns since the trace's first event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphUse {
    /// Process id.
    pub process: u32,
    /// Allocations by launches: each node that allocates, each time.
    pub allocations: u64,
    /// The most bytes in use at a moment.
    pub peak_bytes: u64,
    /// The first such moment.
    pub peak_ns: Option<u64>,
    /// Bytes that nothing had freed in the end.
    pub live_bytes: u64,
    /// Of the allocations, such that were in use until their launch at least: nobody recorded when its work was over.
    pub at_least: u64,
    /// Of the allocations, such that the next launch of their graph freed.
    pub freed_by_next_launch: u64,
    /// Launches of graphs of which nobody saw what they were made of.
    pub unseen_launches: u64,
    /// Calls that gave back what no graph used.
    pub trims: u64,
    /// Bytes that the driver held for graphs, as last told; `None`: no call asked.
    pub reserved_bytes: Option<u64>,
    /// Bytes of these in use, as last told; `None`: no call asked.
    pub used_bytes: Option<u64>,
}

/// What a program was told of a device's memory. Times are ns since the trace's first event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Info {
    /// Process id.
    pub process: u32,
    /// Device that was current.
    pub device: Option<u8>,
    /// How often it asked.
    pub count: u64,
    /// Bytes of the device, as told last.
    pub total_bytes: u64,
    /// Bytes in use by whomever, as told last.
    pub used_bytes: u64,
    /// When that was.
    pub time_ns: u64,
    /// Bytes that this process's calls had in use on the device then.
    pub tracked_bytes: u64,
    /// The most bytes in use that it was told.
    pub most_used_bytes: u64,
    /// When that was.
    pub most_used_ns: u64,
    /// Bytes that this process's calls had in use on the device then.
    pub most_used_tracked_bytes: u64,
    /// What it was told when, in order of time; of more than can be listed the most of each stretch of answers.
    pub over_time: Vec<UsedAt>,
}

/// Bytes of a device that were in use at a moment, ns since the trace's first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct UsedAt {
    pub time_ns: u64,
    pub used_bytes: u64,
}

/// Allocations as the driver recorded them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByDriver {
    /// How many.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Those that no call shows.
    pub unseen_count: u64,
    /// Bytes of those.
    pub unseen_bytes: u64,
    /// Releases without an allocation.
    pub only_released: u64,
    /// Those that no call shows, the largest first.
    pub unseen: Vec<Unseen>,
}

/// An allocation that no call shows. Times are ns since the trace's first event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// Process id.
    pub process: u32,
    /// First address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// `device`, `static` and so on.
    pub kind: &'static str,
    /// Device.
    pub device: Option<u8>,
    /// Name of the variable, if it is one.
    pub name: Option<String>,
    /// When it was made.
    pub made_ns: u64,
    /// When it was released; `None`: no record says so.
    pub freed_ns: Option<u64>,
}

pub(super) fn graphs(loaded: &Loaded, found: &[Found]) -> Vec<GraphUse> {
    let row = |found: &Found| {
        let graphs = &found.graphs;
        if graphs.runs.is_empty() && graphs.told.is_empty() && graphs.trims.is_empty() {
            return None;
        }
        let told = |attribute| graphs.told.iter().rev().find(|told| told.attribute == attribute).map(|told| told.bytes);
        Some(GraphUse {
            process: found.pid,
            allocations: graphs.runs.len() as u64,
            peak_bytes: graphs.peak_bytes,
            peak_ns: (graphs.peak_bytes > 0).then(|| since(loaded, graphs.peak_ns)),
            live_bytes: graphs.live_bytes,
            at_least: graphs.runs.iter().filter(|run| run.at_least).count() as u64,
            freed_by_next_launch: graphs.runs.iter().filter(|run| run.end == RunEnd::NextLaunch).count() as u64,
            unseen_launches: graphs.unseen_launches,
            trims: graphs.trims.len() as u64,
            reserved_bytes: told(2),
            used_bytes: told(0),
        })
    };
    found.iter().filter_map(row).collect()
}

/// Bytes that calls of a process had in use on a device at a moment, ns.
fn tracked(found: &Found, device: u8, at_ns: u64) -> u64 {
    let lies_there = |one: &&Allocation| {
        let of_device = matches!(
            one.kind,
            AllocationKind::Device | AllocationKind::Pool | AllocationKind::Physical | AllocationKind::Array
        );
        of_device && one.device == device && one.made_ns <= at_ns && at_ns < one.freed_ns
    };
    found.allocations.all().iter().filter(lies_there).fold(0, |sum, one| one.bytes.saturating_add(sum))
}

pub(super) fn info(loaded: &Loaded, found: &[Found]) -> Vec<Info> {
    let mut list = Vec::new();
    for found in found {
        let mut devices: BTreeMap<u8, Vec<&Told>> = BTreeMap::new();
        found.told.iter().for_each(|told| devices.entry(told.device).or_default().push(told));
        for (device, told) in devices {
            let (Some(last), Some(most)) = (told.last(), told.iter().rev().max_by_key(|told| told.used())) else {
                continue;
            };
            list.push(Info {
                process: found.pid,
                device: known(device),
                count: told.len() as u64,
                total_bytes: last.total,
                used_bytes: last.used(),
                time_ns: since(loaded, last.at_ns),
                tracked_bytes: tracked(found, device, last.at_ns),
                most_used_bytes: most.used(),
                most_used_ns: since(loaded, most.at_ns),
                most_used_tracked_bytes: tracked(found, device, most.at_ns),
                over_time: over_time(loaded, &told),
            });
        }
    }
    list
}

/// At most [`KEPT`] of them.
fn over_time(loaded: &Loaded, told: &[&Told]) -> Vec<UsedAt> {
    let stretches = told.chunks(told.len().div_ceil(KEPT).max(1));
    let most = stretches.filter_map(|some| some.iter().max_by_key(|one| one.used()));
    most.map(|one| UsedAt { time_ns: since(loaded, one.at_ns), used_bytes: one.used() }).collect()
}

pub(super) fn by_driver(loaded: &Loaded, found: &[Found]) -> Option<ByDriver> {
    let mut sums: Option<ByDriver> = None;
    let trace = loaded.trace();
    for (found, of) in found.iter().filter_map(|found| Some((found, found.by_driver.as_ref()?))) {
        let sums = sums.get_or_insert_default();
        sums.count += of.count;
        sums.bytes = sums.bytes.saturating_add(of.bytes);
        sums.only_released += of.only_released;
        for one in &of.unseen {
            sums.unseen_count += 1;
            sums.unseen_bytes = sums.unseen_bytes.saturating_add(one.bytes);
            sums.unseen.push(Unseen {
                process: found.pid,
                address: one.address,
                bytes: one.bytes,
                kind: one.kind_word(),
                device: known(one.device),
                name: Some(trace.names.get(one.name).to_owned()).filter(|name| !name.is_empty()),
                made_ns: since(loaded, one.made_ns),
                freed_ns: until(loaded, one.freed_ns),
            });
        }
    }
    if let Some(sums) = &mut sums {
        sums.unseen.sort_by_key(|one| (std::cmp::Reverse(one.bytes), one.process, one.made_ns));
        sums.unseen.truncate(KEPT);
    }
    sums
}

/// What there is of it.
pub(super) fn write(memory: &Memory, out: &mut String) {
    for one in memory.graphs.iter().filter(|one| one.allocations > 0) {
        let _ = writeln!(
            out,
            "\ngraphs of process {} allocated {} times, {} at most at a time, {} not freed",
            one.process,
            grouped(one.allocations),
            size(one.peak_bytes),
            size(one.live_bytes),
        );
        for (number, what) in [
            (one.at_least, "of these until their launch at least: when its work was over is not recorded"),
            (one.unseen_launches, "launches of graphs that nobody saw made: what they allocate is not known"),
        ] {
            if number > 0 {
                let _ = writeln!(out, "{} {what}", grouped(number));
            }
        }
    }
    if !memory.info.is_empty() {
        out.push('\n');
        let headings =
            ["asked the driver", "process", "times", "of", "most in use", "by calls", "at", "last", "by calls"];
        let mut table = Table::new(&headings);
        for one in &memory.info {
            table.row(vec![
                one.device.map_or_else(|| "device not known".to_owned(), |device| format!("device {device}")),
                one.process.to_string(),
                grouped(one.count),
                size(one.total_bytes),
                size(one.most_used_bytes),
                size(one.most_used_tracked_bytes),
                duration(one.most_used_ns),
                size(one.used_bytes),
                size(one.tracked_bytes),
            ]);
        }
        table.write(out);
    }
    if let Some(all) = memory.by_driver.as_ref().filter(|all| all.unseen_count > 0) {
        let _ = writeln!(
            out,
            "\nby the driver's records {} allocations, {}; of these no call shows {}, {}",
            grouped(all.count),
            size(all.bytes),
            grouped(all.unseen_count),
            size(all.unseen_bytes),
        );
    }
}
