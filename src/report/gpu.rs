//! What the GPU did, in a report's numbers. What was not recorded is `None`, never zero.

use std::collections::BTreeMap;

use crate::correlate::{Order, order};
use crate::graph::{Amounts, Gpu, Stats, WorkStream};
use crate::lens::Selected;
use crate::session::{evidence, overhead};
use crate::symbols::demangled;
use crate::trace::activity::{LaneId, What};
use crate::trace::{LaneOf, NO_DEVICE, NameId, ProcessId, StreamId, Trace};
use umtui_wire::activity as wire;

/// What a report says of the GPU. Text is as recorded; times are ns, sizes bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuBlock {
    /// Kernels, the largest total first.
    pub kernels: Option<Vec<Kernel>>,
    /// Copies, the most time first.
    pub copies: Option<Vec<Copied>>,
    /// Memory set.
    pub sets: Option<Amounts>,
    /// Pages that moved.
    pub migrations: Option<Migrations>,
    /// Page faults.
    pub faults: Option<Faults>,
    /// Unified memory by device.
    pub unified: Vec<UnifiedDevice>,
    /// Time that went elsewhere, by kind.
    pub overheads: Option<Vec<Overhead>>,
    /// The devices that were seen.
    pub devices: Vec<Device>,
    /// What evidence is missing, and why.
    pub missing: Vec<Missing>,
    /// The same in lines, for people.
    pub missing_lines: Vec<String>,
    /// What is recorded, in words.
    pub seen: Vec<&'static str>,
    /// Half-width of the error of the GPU's times, ns.
    pub clock_error_ns: Option<u64>,
    /// Whether work and calls stand in the order that must be.
    pub order: Option<Order>,
    /// Records that were lost on their way from the driver; `None`: nobody knows, or nothing was recorded.
    pub dropped: Option<u64>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Kernel {
    /// As its author wrote it.
    pub name: String,
    pub stats: Stats,
}

/// Copies of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Copied {
    /// `h2d` and so on.
    pub kind: &'static str,
    /// One side of them is memory that the operating system may move.
    pub pageable: bool,
    pub amounts: Amounts,
}

/// Pages that moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Migrations {
    pub h2d: Amounts,
    pub d2h: Amounts,
    pub d2d: Amounts,
    pub by_cause: BTreeMap<&'static str, Amounts>,
}

/// Page faults and what belongs to them; what no format but our own tells is `None` in files of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Faults {
    pub cpu: u64,
    pub gpu_groups: u64,
    pub gpu: u64,
    pub thrashing: Option<u64>,
    pub throttling: Option<u64>,
    pub remote_maps: Option<u64>,
}

/// Unified memory of a device, or of none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnifiedDevice {
    /// Host it is in, its number and its name, as far as they are known.
    pub device: Option<u8>,
    /// Its name; empty if it is not known.
    pub name: String,
    /// Sums by `UNIFIED_*`.
    pub sums: BTreeMap<u16, Amounts>,
}

/// Time that went elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// Where to.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// How long, ns.
    pub total_ns: u64,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Device {
    pub process: u32,
    pub device: u16,
    pub name: String,
    pub memory_bytes: u64,
    pub capability: (u32, u32),
    pub multiprocessors: u32,
    /// `0000:07:00`, domain, bus and device.
    pub pci: String,
    pub bits: u64,
}

/// Evidence that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Missing {
    pub process: u32,
    pub what: &'static str,
    /// Since the trace's first event, ns; `None`: nothing was said of it.
    pub since_ns: Option<u64>,
    /// `None`: to the end.
    pub until_ns: Option<u64>,
    pub why: String,
    pub remedy: Option<String>,
}

/// Work of a stream, as the driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Process.
    pub process: ProcessId,
    /// CUPTI's ids of context and stream.
    pub ids: (u32, u32),
    /// Device, if it is known.
    pub device: Option<u8>,
    /// The stream of the calls that submitted it, if they are known.
    pub stream: Option<StreamId>,
    /// Its kernels, copies, sets and graphs.
    pub operations: u64,
    /// Time during which any of them ran, ns.
    pub busy_ns: u64,
}

impl GpuBlock {
    /// Collects the numbers.
    #[must_use]
    pub fn of(trace: &Trace, gpu: &Gpu) -> Self {
        let recorded = |what| trace.activities.recorded(what);
        let activity = recorded(What::Activity);
        let processes = || (0..u16::MAX).map(ProcessId).take(trace.processes.len());
        let known = || processes().filter_map(|id| trace.activities.of(id));
        let kernel =
            |(name, stats): (NameId, Stats)| Kernel { name: demangled(trace.names.get(name)).into_owned(), stats };
        Self {
            kernels: activity.then(|| gpu.kernels(trace).into_iter().map(kernel).collect()),
            copies: activity.then(|| copies(gpu)),
            sets: activity.then_some(gpu.sets),
            migrations: recorded(What::Migrations).then(|| migrations(gpu)),
            faults: recorded(What::Faults).then(|| faults(trace, gpu)),
            unified: unified(trace, gpu),
            overheads: activity.then(|| overheads(gpu)),
            devices: processes().flat_map(|id| devices(trace, id)).collect(),
            missing: missing(trace),
            missing_lines: evidence::lines(trace),
            seen: evidence::seen(trace),
            clock_error_ns: known().filter_map(|of| of.clock_error_ns).max(),
            order: activity.then(|| order(trace)),
            dropped: if !(activity || recorded(What::Migrations)) || known().any(|of| of.dropped_unknown) {
                None
            } else {
                Some(known().fold(0u64, |sum, of| sum.saturating_add(of.dropped)))
            },
        }
    }
}

/// Which stream's work each lane holds; of a lens what it selects. `gpu` is that of all work.
#[must_use]
pub fn work(trace: &Trace, gpu: &Gpu, selected: Option<&Selected>) -> Vec<Work> {
    let mut list = Vec::new();
    for ((id, lane), place) in (0..).map(LaneId).zip(trace.activities.lanes()).zip(gpu.work.places(trace)) {
        let wanted = |row: usize| selected.is_none_or(|selected| selected.record(id, row));
        let LaneOf::Stream { context, stream } = lane.of else { continue };
        let (mut operations, mut device) = (0, None);
        lane.for_each(0, |row, activity| {
            if !wanted(row) {
                return;
            }
            operations += u64::from(activity.kind.is_work());
            device = device.or(Some(activity.device).filter(|&device| device != NO_DEVICE));
        });
        list.push(Work {
            process: lane.process,
            ids: (context, stream),
            device,
            stream: match place.stream {
                WorkStream::Known(stream) => Some(stream),
                WorkStream::Ids(..) | WorkStream::None => None,
            },
            operations,
            busy_ns: lane.busy_ns_of(wanted),
        });
    }
    list
}

fn copies(gpu: &Gpu) -> Vec<Copied> {
    let mut list: Vec<Copied> = Vec::new();
    for (&(kind, pageable), amounts) in &gpu.copies {
        let kind = copy_kind(kind);
        match list.iter_mut().find(|copied| (copied.kind, copied.pageable) == (kind, pageable)) {
            Some(known) => known.amounts.add(amounts),
            None => list.push(Copied { kind, pageable, amounts: *amounts }),
        }
    }
    list.sort_by_key(|copied| (std::cmp::Reverse(copied.amounts.total_ns), copied.kind, copied.pageable));
    list
}

/// `CUpti_ActivityMemcpyKind`.
const fn copy_kind(kind: u8) -> &'static str {
    match kind {
        1 => "h2d",
        2 => "d2h",
        3 => "h2a",
        4 => "a2h",
        5 => "a2a",
        6 => "a2d",
        7 => "d2a",
        8 => "d2d",
        9 => "h2h",
        10 => "p2p",
        _ => "other",
    }
}

/// `CUpti_ActivityUnifiedMemoryMigrationCause`.
#[must_use]
pub const fn cause(flags: u8) -> &'static str {
    match flags {
        1 => "user",
        2 => "coherence",
        3 => "prefetch",
        4 => "eviction",
        5 => "access_counters",
        _ => "unknown",
    }
}

fn migrations(gpu: &Gpu) -> Migrations {
    let of = |counter| gpu.unified(|key| key.counter == counter);
    let mut by_cause: BTreeMap<&'static str, Amounts> = BTreeMap::new();
    let moves = [wire::UNIFIED_TO_DEVICE, wire::UNIFIED_TO_HOST, wire::UNIFIED_BETWEEN_DEVICES];
    for (key, amounts) in gpu.unified.iter().filter(|(key, _)| moves.contains(&key.counter)) {
        by_cause.entry(cause(key.flags)).or_default().add(amounts);
    }
    let [h2d, d2h, d2d] = moves.map(of);
    Migrations { h2d, d2h, d2d, by_cause }
}

fn faults(trace: &Trace, gpu: &Gpu) -> Faults {
    let of = |counter| gpu.unified(|key| key.counter == counter);
    let ours = trace.imported < trace.files.len();
    let told = |counter| Some(of(counter).count).filter(|&count| ours || count > 0);
    let groups = of(wire::UNIFIED_GPU_FAULT);
    Faults {
        cpu: of(wire::UNIFIED_CPU_FAULT).count,
        gpu_groups: groups.amount,
        gpu: groups.count,
        thrashing: told(wire::UNIFIED_THRASHING),
        throttling: told(wire::UNIFIED_THROTTLING),
        remote_maps: told(wire::UNIFIED_REMOTE_MAP),
    }
}

fn unified(trace: &Trace, gpu: &Gpu) -> Vec<UnifiedDevice> {
    let mut list: BTreeMap<(NameId, u8), UnifiedDevice> = BTreeMap::new();
    for (key, amounts) in &gpu.unified {
        let host = trace.process(key.process).map_or(NameId::NONE, |process| process.host);
        let of = list.entry((host, key.device)).or_insert_with(|| {
            let known = trace.activities.of(key.process).and_then(|of| of.devices.get(&u16::from(key.device)));
            UnifiedDevice {
                device: Some(key.device).filter(|&device| device != NO_DEVICE),
                name: known.map_or_else(String::new, |device| trace.names.get(device.name).to_owned()),
                sums: BTreeMap::new(),
            }
        });
        of.sums.entry(key.counter).or_default().add(amounts);
    }
    list.into_values().collect()
}

fn overheads(gpu: &Gpu) -> Vec<Overhead> {
    let row = |(&number, amounts): (&u64, &Amounts)| Overhead {
        kind: overhead(number),
        count: amounts.count,
        total_ns: amounts.total_ns,
    };
    gpu.overheads.iter().map(row).collect()
}

fn devices(trace: &Trace, id: ProcessId) -> Vec<Device> {
    let (Some(process), Some(of)) = (trace.process(id), trace.activities.of(id)) else { return Vec::new() };
    let row = |(&number, device): (&u16, &crate::trace::activity::Device)| Device {
        process: process.pid,
        device: number,
        name: trace.names.get(device.name).to_owned(),
        memory_bytes: device.memory_bytes,
        capability: device.capability,
        multiprocessors: device.multiprocessors,
        pci: format!("{:04x}:{:02x}:{:02x}", device.pci.0, device.pci.1, device.pci.2),
        bits: device.bits,
    };
    of.devices.iter().map(row).collect()
}

fn missing(trace: &Trace) -> Vec<Missing> {
    let start = trace.start_ns();
    let row = |one: evidence::Missing| Missing {
        process: trace.process(one.process).map_or(0, |process| process.pid),
        what: one.what.words(),
        since_ns: one.since_ns.map(|ns| ns.saturating_sub(start)),
        until_ns: one.until_ns.map(|ns| ns.saturating_sub(start)),
        why: one.why,
        remedy: one.remedy,
    };
    evidence::missing(trace).into_iter().map(row).collect()
}
