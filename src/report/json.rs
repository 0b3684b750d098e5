//! The report as JSON, schema 1.

use serde::Serialize;
use std::fmt::Write as _;

use super::allocations::Allocations;
use super::blocks::{Api, LensBlock, Process, Stream, Thread};
use super::collect::Report;
use super::counters::CounterRow;
use super::first_failures::FirstFailure;
use super::gpu_json::{self, GpuKeys};
use super::graphs::Graph;
use super::memory::Memory;
use super::migrated::{ByKernel, Migrated};
use super::ranges::RangeRow;
use super::rises::Rises;
use super::snapshot::SnapshotBlock;
use super::transfers::Transfers;
use crate::session::clocks::FileClock;
use crate::session::left_out::LeftOut;
use crate::session::safe::prints;
use crate::trace::Layer;

/// Version of the layout. Keys may be added to it, none is renamed.
const SCHEMA: u32 = 1;

/// Most places of damage that are named.
const DAMAGE: usize = 100;

#[derive(Serialize)]
struct Root<'a> {
    schema: u32,
    trace: TraceKeys<'a>,
    processes: Vec<ProcessKeys<'a>>,
    apis: Vec<ApiKeys<'a>>,
    threads: Vec<ThreadKeys<'a>>,
    streams: Vec<StreamKeys>,
    #[serde(flatten)]
    gpu: GpuKeys<'a>,
    lens: Option<&'a LensBlock>,
    ranges: Option<&'a [RangeRow]>,
    counters: Option<&'a [CounterRow]>,
    graphs: &'a [Graph],
    migrated: Option<&'a [Migrated]>,
    transfers: Option<&'a Transfers>,
    migrated_by_kernel: Option<&'a [ByKernel]>,
    first_failures: &'a [FirstFailure],
    allocations: Option<&'a Allocations>,
    memory: Option<&'a Memory>,
    rises: Option<&'a Rises>,
    snapshots: &'a [SnapshotBlock],
    findings: [(); 0],
    not_checked: [(); 0],
}

#[derive(Serialize)]
struct TraceKeys<'a> {
    files: &'a [String],
    format: &'static str,
    alignment: Vec<ClockKeys<'a>>,
    processes: usize,
    threads: u64,
    streams: u64,
    devices: u64,
    start_unix_ns: Option<u64>,
    duration_ns: u64,
    calls: u64,
    events: u64,
    lost: u64,
    missed: u64,
    discarded: u64,
    left_out: Vec<LeftOutKeys<'a>>,
    truncated: bool,
    unread: &'a [String],
    damage: &'a [String],
    notes: &'a [String],
    damages: u64,
    hook_ps_per_call: Option<u64>,
    hook_share_ppm: Option<u64>,
    evidence: &'a [String],
}

/// How a file's times came to be those of the first file.
#[derive(Serialize)]
struct ClockKeys<'a> {
    file: &'a str,
    /// `same_clock`, `time_of_day` or `none`.
    by: &'static str,
    offset_ns: i64,
    start_ns: i64,
    uncertainty_ns: Option<u64>,
    same_host: Option<bool>,
}

fn alignment<'a>(files: &'a [String], clock: &FileClock) -> ClockKeys<'a> {
    let FileClock { file, by, offset_ns, start_ns, uncertainty_ns, same_host } = *clock;
    let file = files.get(file).map_or("", String::as_str);
    ClockKeys { file, by, offset_ns, start_ns, uncertainty_ns, same_host }
}

#[derive(Serialize)]
struct LeftOutKeys<'a> {
    filter: Option<&'a str>,
    groups: &'a [&'static str],
    calls: u64,
}

fn left_out(out: &LeftOut) -> LeftOutKeys<'_> {
    let filter = Some(out.filter.as_str()).filter(|filter| !filter.is_empty());
    LeftOutKeys { filter, groups: &out.groups, calls: out.calls }
}

#[derive(Serialize)]
struct ProcessKeys<'a> {
    process: u32,
    parent: u32,
    rank: Option<u32>,
    local_rank: Option<u32>,
    file: &'a str,
    program: &'a str,
    host: &'a str,
    state: &'static str,
    calls: u64,
    lost: u64,
}

#[derive(Serialize)]
struct ApiKeys<'a> {
    name: &'a str,
    layer: &'static str,
    recorded_as: Option<&'a str>,
    calls: u64,
    failed: u64,
    total_ns: u64,
    self_ns: u64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    quantile_error_pct: u8,
}

#[derive(Serialize)]
struct ThreadKeys<'a> {
    process: u32,
    thread: u32,
    name: &'a str,
    calls: u64,
    total_ns: u64,
}

#[derive(Serialize)]
struct StreamKeys {
    process: u32,
    device: Option<u8>,
    context: Option<u32>,
    stream: Option<u64>,
    cupti_stream: Option<u32>,
    operations: u64,
    busy_ns: Option<u64>,
}

/// The report as one JSON object of schema 1, ended by a newline. What was not recorded is null.
#[must_use]
pub fn json(report: &Report) -> String {
    let block = &report.trace;
    let root = Root {
        schema: SCHEMA,
        trace: TraceKeys {
            files: &block.files,
            format: block.format,
            alignment: block.clocks.iter().map(|clock| alignment(&block.files, clock)).collect(),
            processes: report.processes.len(),
            threads: block.threads,
            streams: block.streams,
            devices: block.devices,
            start_unix_ns: block.start_unix_ns,
            duration_ns: block.duration_ns,
            calls: block.calls,
            events: block.events,
            lost: block.lost,
            missed: block.missed,
            discarded: block.discarded,
            left_out: block.left_out.iter().map(left_out).collect(),
            truncated: block.truncated,
            unread: &report.unreadable,
            damage: report.damage.get(..DAMAGE).unwrap_or(&report.damage),
            notes: &report.notes,
            damages: report.damages,
            hook_ps_per_call: block.cost.map(|(per_call, _)| per_call),
            hook_share_ppm: block.cost.map(|(_, share)| share),
            evidence: &block.evidence,
        },
        processes: report.processes.iter().map(|one| process(report, one)).collect(),
        apis: report.apis.iter().map(api).collect(),
        threads: report.threads.iter().map(thread).collect(),
        streams: report.streams.iter().map(stream).collect(),
        gpu: gpu_json::keys(&report.gpu),
        lens: report.lens.as_ref(),
        ranges: report.ranges.as_deref(),
        counters: report.counters.as_deref(),
        graphs: &report.graphs,
        transfers: report.transfers.as_ref(),
        migrated: report.migrated.as_ref().map(|moves| moves.allocations.as_slice()),
        migrated_by_kernel: report.migrated.as_ref().and_then(|moves| moves.kernels.as_deref()),
        first_failures: &report.first_failures,
        allocations: report.allocations.as_ref(),
        memory: report.memory.as_ref(),
        rises: report.rises.as_ref(),
        snapshots: &report.snapshots,
        findings: [],
        not_checked: [],
    };
    // Plain structures of text and integers can always be written.
    let mut text = serde_json::to_string_pretty(&root).map(|text| printable(&text)).unwrap_or_default();
    text.push('\n');
    text
}

fn process<'a>(report: &'a Report, process: &'a Process) -> ProcessKeys<'a> {
    ProcessKeys {
        process: process.pid,
        parent: process.parent_pid,
        rank: process.rank,
        local_rank: process.local_rank,
        file: report.trace.files.get(process.file).map_or("", String::as_str),
        program: &process.program,
        host: &process.host,
        state: process.state,
        calls: process.calls,
        lost: process.lost,
    }
}

fn api(api: &Api) -> ApiKeys<'_> {
    let sums = &api.stats.sums;
    let extremes = sums.extremes();
    ApiKeys {
        name: &api.name,
        layer: match api.layer {
            Layer::Runtime => "runtime",
            Layer::Driver => "driver",
        },
        recorded_as: api.recorded_as.as_deref(),
        calls: sums.count,
        failed: sums.failed,
        total_ns: sums.total_ns,
        self_ns: sums.self_ns,
        min_ns: extremes.map(|extremes| extremes.0),
        max_ns: extremes.map(|extremes| extremes.1),
        p50_ns: api.stats.quantile(50),
        p99_ns: api.stats.quantile(99),
        quantile_error_pct: Report::QUANTILE_ERROR_PCT,
    }
}

fn thread(thread: &Thread) -> ThreadKeys<'_> {
    ThreadKeys {
        process: thread.process,
        thread: thread.thread,
        name: &thread.name,
        calls: thread.calls,
        total_ns: thread.total_ns,
    }
}

fn stream(stream: &Stream) -> StreamKeys {
    StreamKeys {
        process: stream.process,
        device: stream.device,
        context: stream.ids.map(|ids| ids.0),
        stream: stream.stream,
        cupti_stream: stream.ids.map(|ids| ids.1),
        operations: stream.operations,
        busy_ns: stream.busy_ns,
    }
}

/// JSON is read on terminals, too: what would act there is written as an escape. Outside strings there is nothing of
/// the kind but line ends.
#[must_use]
pub fn printable(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut units = [0; 2];
    for character in json.chars() {
        if character == '\n' || prints(character) {
            out.push(character);
        } else {
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}
