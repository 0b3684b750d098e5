//! The numbers of a report.

use std::collections::BTreeMap;

use super::allocations::{self, Allocations};
use super::blocks::{Api, Failure, LensBlock, Process, Stream, Thread, TraceBlock};
use super::counters::{self, CounterRow};
use super::first_failures::{self, FirstFailure};
use super::gpu::{GpuBlock, Work, work};
use super::graphs::{self, Graph};
use super::memory::{self, Memory};
use super::migrated::{self, Moves};
use super::ranges::{self, RangeRow};
use super::rises::{self, Rises};
use super::snapshot::SnapshotBlock;
use super::told;
use super::transfers::{self, Transfers};
use crate::graph::{Cells, Gpu, QUANTILE_ERROR_PCT};
use crate::lens::Selected;
use crate::memory::transfers::LinkOptions;
use crate::session::left_out::left_out;
use crate::session::{Loaded, Member, clocks, cost, of_file};
use crate::trace::{LaneOf, NO_DEVICE, ProcessId, State, StreamId, StreamKind, Trace, TrackId};

/// What a report says. Text is as recorded; times are ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The trace as a whole.
    pub trace: TraceBlock,
    /// The lens in force; `None`: everything counts.
    pub lens: Option<LensBlock>,
    /// Its processes, each after the one that started it.
    pub processes: Vec<Process>,
    /// Its functions, the largest total first.
    pub apis: Vec<Api>,
    /// Its threads, by process and thread id.
    pub threads: Vec<Thread>,
    /// Its streams, by process, device and handle.
    pub streams: Vec<Stream>,
    /// What the GPU did.
    pub gpu: GpuBlock,
    /// The program's ranges, enclosing ones first.
    pub ranges: Option<Vec<RangeRow>>,
    /// Series of counters; `None`: there are none.
    pub counters: Option<Vec<CounterRow>>,
    /// Graphs that were made ready or launched.
    pub graphs: Vec<Graph>,
    /// What was allocated; `None`: the arguments of calls are not recorded.
    pub allocations: Option<Allocations>,
    /// What is known of memory beside that; `None` if no arguments of calls were recorded.
    pub memory: Option<Memory>,
    /// What moved between the host and devices; `None`: not recorded.
    pub transfers: Option<Transfers>,
    /// Who moves pages; `None`: not recorded.
    pub migrated: Option<Moves>,
    /// Who holds more memory with each step; `None`: no range repeats, or the arguments of calls are not recorded.
    pub rises: Option<Rises>,
    /// What was in use at the moments that were asked for ([`super::snapshots`]).
    pub snapshots: Vec<SnapshotBlock>,
    /// Functions of which calls failed, the most failures first.
    pub failures: Vec<Failure>,
    /// The first of each process, and the first error that stays of each device.
    pub first_failures: Vec<FirstFailure>,
    /// Files that could not be read at all, a line each.
    pub unreadable: Vec<String>,
    /// What else is to be known of the files.
    pub notes: Vec<String>,
    /// Places that could not be read, a line each, as far as they are kept.
    pub damage: Vec<String>,
    /// Places that could not be read.
    pub damages: u64,
}

impl Report {
    /// Collects the numbers.
    #[must_use]
    pub fn of(loaded: &mut Loaded) -> Self {
        Self::with(loaded, &LinkOptions::default())
    }

    /// Likewise, with what is asked of devices and links.
    #[must_use]
    pub fn with(loaded: &mut Loaded, links: &LinkOptions) -> Self {
        let apis: Vec<Api> = loaded
            .functions()
            .into_iter()
            .filter_map(|(id, stats)| {
                let api = loaded.trace().api(id)?;
                let original = &api.signature.original;
                Some(Api {
                    name: loaded.trace().names.get(api.name).to_owned(),
                    layer: api.layer,
                    recorded_as: (!original.is_empty()).then(|| original.clone()),
                    stats,
                })
            })
            .collect();
        let failures = loaded.failures();
        let first_failures = first_failures::of(loaded);
        let found = loaded.allocations();
        let (account, unread) = allocations::account(loaded, &found);
        let allocations = allocations::of(loaded, &account, unread);
        let memory = memory::of(loaded, &found);
        let migrated = migrated::of(loaded, &found);
        let transfers = transfers::of(loaded, &found, links);
        let rises = allocations.as_ref().and_then(|_| rises::of(loaded, &account));
        let unfinished = loaded.unfinished();
        let files = loaded.bytes();
        let unreadable = loaded.unreadable();
        let trace = loaded.trace();
        let cells = [loaded.cells(), &unfinished];
        let (all, selected) = ([loaded.tree().cells(), &unfinished], loaded.selected());
        let failures = failures
            .into_iter()
            .filter_map(|failure| {
                let name = trace.api_name(failure.api);
                let layer = trace.api(failure.api)?.layer;
                let all = apis.iter().find(|api| api.name == name && api.layer == layer);
                let calls = all.map_or(failure.failed, |api| api.stats.sums.count);
                Some(Failure { name: name.to_owned(), calls, failed: failure.failed, error: failure.error })
            })
            .collect();
        Self {
            processes: processes(loaded),
            threads: threads(trace, cells, selected),
            streams: streams(trace, cells, loaded.all_gpu(), selected),
            trace: TraceBlock {
                format: loaded.format(),
                truncated: truncated(loaded) || !unreadable.is_empty(),
                costs: cost::words(cost::cost(trace), cost::of_driver(loaded.all_gpu())),
                ..block(trace, all)
            },
            gpu: told::with(GpuBlock::of(trace, loaded.gpu()), trace, selected.is_some()),
            ranges: ranges::of(trace, selected),
            counters: counters::of(trace, &files, selected),
            lens: LensBlock::of(loaded),
            graphs: graphs::of(loaded),
            allocations,
            memory,
            migrated,
            transfers,
            rises,
            snapshots: Vec::new(),
            apis,
            failures,
            first_failures,
            unreadable,
            damage: loaded.damage(),
            notes: loaded.notes(),
            damages: trace.damages(),
        }
    }

    /// Half-width of the error of percentiles, per cent.
    pub const QUANTILE_ERROR_PCT: u8 = QUANTILE_ERROR_PCT;
}

fn block(trace: &Trace, cells: [&Cells; 2]) -> TraceBlock {
    let mut devices: Vec<_> = cells
        .iter()
        .flat_map(|cells| cells.iter())
        .filter(|(_, cell)| cell.place.device != NO_DEVICE)
        .map(|(_, cell)| {
            let process = trace.track(cell.place.track).and_then(|track| trace.process(track.process));
            (process.map(|process| process.host), cell.place.device)
        })
        .collect();
    devices.extend(worked_on(trace));
    devices.sort_unstable();
    devices.dedup();
    let first = trace.processes.first();
    let start_ns = trace.start_ns();
    TraceBlock {
        files: trace.files.clone(),
        format: "native",
        threads: (0u32..).map(TrackId).zip(&trace.tracks).filter(|(id, track)| is_shown(trace, *id, track)).count()
            as u64,
        streams: trace.streams.len() as u64 + imported_streams(trace),
        devices: devices.len() as u64,
        start_unix_ns: first.filter(|process| process.start.realtime_ns != 0).map(|process| {
            let since = i128::from(start_ns) - i128::from(process.start_ns);
            u64::try_from(i128::from(process.start.realtime_ns) + since).unwrap_or(0)
        }),
        duration_ns: trace.end_ns().saturating_sub(start_ns),
        calls: trace.calls(),
        events: trace.listed(),
        lost: trace.lost(),
        missed: trace.missed(),
        discarded: trace.processes.iter().fold(0, |sum: u64, process| sum.saturating_add(process.discarded)),
        left_out: left_out(trace),
        truncated: false,
        costs: None,
        clocks: clocks::clocks(trace),
        clocks_line: clocks::line(trace, super::text::duration),
        cost: crate::session::cost::cost(trace).map(|cost| (cost.per_call_ps, cost.share_ppm)),
        evidence: trace.evidence.levels().map(|level| format!("E{level}")).collect(),
    }
}

/// Streams of which only work is known, since the calls of an import do not name theirs.
fn imported_streams(trace: &Trace) -> u64 {
    if !trace.streams.is_empty() {
        return 0;
    }
    let on_stream = |lane: &&crate::trace::activity::Lane| {
        matches!(lane.of, LaneOf::Stream { stream, .. } if stream != umtui_wire::activity::NONE) && !lane.is_empty()
    };
    trace.activities.lanes().iter().filter(on_stream).count() as u64
}

/// Devices on which anything is recorded to have run, with their hosts.
fn worked_on(trace: &Trace) -> Vec<(Option<crate::trace::NameId>, u8)> {
    let mut devices = Vec::new();
    for lane in trace.activities.lanes() {
        let mut seen = [false; NO_DEVICE as usize];
        lane.for_each(0, |_, activity| {
            if let Some(seen) = seen.get_mut(usize::from(activity.device)) {
                *seen = true;
            }
        });
        let host = trace.process(lane.process).map(|process| process.host);
        devices.extend((0..NO_DEVICE).zip(seen).filter(|(_, seen)| *seen).map(|(device, _)| (host, device)));
    }
    devices
}

/// Whether a thread does anything of its own: the recorder's thread that collects what the GPU did does not.
fn is_shown(trace: &Trace, id: TrackId, track: &crate::trace::Track) -> bool {
    let ranges = || !trace.ranges.of(id).is_empty() && !counters::are_alone(trace, id, track);
    !track.is_empty() || !track.in_flight.is_empty() || track.lost > 0 || ranges()
}

/// Whether anything is known to be missing.
fn truncated(loaded: &Loaded) -> bool {
    let trace = loaded.trace();
    let cut = |(id, process): (ProcessId, &crate::trace::Process)| {
        let stopped = matches!(process.state, State::Full | State::Failed(_));
        stopped || process.discarded > 0 || process.lacks_its_end(loaded.is_alive(id))
    };
    !trace.damage.is_empty() || (0..u16::MAX).map(ProcessId).zip(&trace.processes).any(cut)
}

fn processes(loaded: &Loaded) -> Vec<Process> {
    let trace = loaded.trace();
    let calls = loaded.calls_by_process();
    let mut numbers: BTreeMap<u32, usize> = BTreeMap::new();
    trace.processes.iter().for_each(|process| *numbers.entry(process.pid).or_default() += 1);
    let row = |member: Member| {
        let process = trace.process(member.id)?;
        let several = numbers.get(&process.pid).is_some_and(|&count| count > 1);
        let alive = loaded.is_alive(member.id);
        Some(Process {
            pid: process.pid,
            parent_pid: process.parent_pid,
            depth: member.depth,
            rank: process.rank,
            local_rank: process.local_rank,
            state: match process.state {
                _ if member.went_on => "became",
                State::Full | State::Failed(_) => "stopped",
                _ if alive => "running",
                State::Ended => "ended",
                State::Killed | State::Recording => "gone",
            },
            file: process.file,
            of_file: if several { of_file(trace, process).map(str::to_owned) } else { None },
            program: trace.names.get(process.program).to_owned(),
            host: trace.names.get(process.host).to_owned(),
            calls: calls.get(member.id.index()).copied().unwrap_or(0),
            lost: process.lost,
            alive,
            trouble: if member.went_on { None } else { loaded.trouble(member.id) },
        })
    };
    loaded.family().into_iter().filter_map(row).collect()
}

fn threads(trace: &Trace, cells: [&Cells; 2], selected: Option<&Selected>) -> Vec<Thread> {
    let mut totals: BTreeMap<TrackId, u64> = BTreeMap::new();
    for (_, cell) in cells.iter().flat_map(|cells| cells.iter()).filter(|(_, cell)| !cell.inner) {
        let total = totals.entry(cell.place.track).or_default();
        *total = total.saturating_add(cell.stats.sums.total_ns);
    }
    let mut list: Vec<Thread> = (0u32..)
        .map(TrackId)
        .zip(&trace.tracks)
        .filter(|(id, track)| is_shown(trace, *id, track))
        .map(|(id, track)| Thread {
            process: trace.process(track.process).map_or(0, |process| process.pid),
            thread: track.thread,
            name: trace.names.get(track.name).to_owned(),
            calls: selected.map_or(track.len(), |selected| selected.calls_of(id)) as u64,
            total_ns: totals.get(&id).copied().unwrap_or(0),
        })
        .filter(|thread| selected.is_none() || thread.calls > 0 || thread.total_ns > 0)
        .collect();
    list.sort_by_key(|thread| (thread.process, thread.thread));
    list
}

fn streams(trace: &Trace, cells: [&Cells; 2], gpu: &Gpu, selected: Option<&Selected>) -> Vec<Stream> {
    let mut operations: BTreeMap<StreamId, u64> = BTreeMap::new();
    for (_, cell) in cells.iter().flat_map(|cells| cells.iter()).filter(|(_, cell)| !cell.inner) {
        *operations.entry(cell.place.stream).or_default() += cell.stats.sums.count;
    }
    let kind = |kind| match kind {
        StreamKind::Default => 0,
        StreamKind::PerThread => 1,
        StreamKind::Created => 2,
    };
    let mut list: Vec<_> = (0..StreamId::OTHER.0).map(StreamId).zip(trace.streams.all()).collect();
    list.sort_by_key(|(_, stream)| {
        (stream.process, stream.device, kind(stream.kind), stream.handle, stream.generation, stream.track)
    });
    let mut works: BTreeMap<Option<StreamId>, Vec<Work>> = BTreeMap::new();
    work(trace, gpu, selected).into_iter().for_each(|work| works.entry(work.stream).or_default().push(work));
    let mut rows = Vec::new();
    for (id, stream) in list {
        // After a stream has been destroyed, CUPTI gives its successor another id.
        let own = works.remove(&Some(id)).unwrap_or_default();
        let device = own.iter().find_map(|work| work.device);
        rows.push(Stream {
            process: trace.process(stream.process).map_or(0, |process| process.pid),
            device: Some(stream.device).filter(|&device| device != NO_DEVICE).or(device),
            stream: Some(stream.handle),
            operations: operations.get(&id).copied().unwrap_or(0),
            ids: own.first().map(|work| work.ids),
            // Where nothing is known to have run in it, that may be because nobody knows in which stream it ran.
            busy_ns: match own.len() {
                0 => None,
                _ => Some(own.iter().fold(0u64, |sum, work| sum.saturating_add(work.busy_ns))),
            },
        });
    }
    rows.extend(works.into_values().flatten().map(|work| Stream {
        process: trace.process(work.process).map_or(0, |process| process.pid),
        device: work.device,
        stream: None,
        operations: work.operations,
        ids: Some(work.ids),
        busy_ns: Some(work.busy_ns),
    }));
    rows
}
