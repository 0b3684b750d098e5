//! Which kernels may be to blame for an error that a later call returned: what was launched on the device and had not
//! ended by then. What a stream does is done in order, so the first of each stream's is the likeliest.

use std::collections::BTreeMap;

use crate::trace::activity::What;
use crate::trace::{
    Api, Argument, Bytes, CallFlags, LaneOf, NO_DEVICE, NameId, ProcessId, SiteId, StreamId, Trace, TrackId,
};

use super::calls::{Found, Records, bare, choose, each};
use super::failure::Failed;
use super::submitting_call;

/// Launches that are kept of each stream.
const KEPT: usize = 4;
/// Launches that are told in all.
const TOLD: usize = 8;

/// Work that was under way when a call failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suspects {
    /// By records of what the GPU did; else by calls alone, of launches that nobody had waited for.
    pub by_records: bool,
    /// The likeliest first: the first of each stream, then the others, in order of time.
    pub launches: Vec<Suspect>,
}

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Name of its kernel; `None`: not known, or a whole graph.
    pub kernel: Option<NameId>,
    /// Stream.
    pub stream: StreamId,
    /// When it was launched, ns on the trace's axis.
    pub launched_ns: u64,
    /// Thread.
    pub track: TrackId,
    /// Row of the call there.
    pub row: usize,
    /// Code that launched it.
    pub site: SiteId,
}

/// What a function does to work.
enum Use {
    Launch,
    /// It waits for all work of the device.
    All,
    /// For a stream's.
    Stream,
    /// It asks whether a stream's has ended.
    Query,
}

impl Use {
    fn of(_: &Api, base: &str) -> Option<Self> {
        match bare(base) {
            "DeviceSynchronize" | "CtxSynchronize" | "ThreadSynchronize" => Some(Self::All),
            "StreamSynchronize" => Some(Self::Stream),
            "StreamQuery" => Some(Self::Query),
            name if is_launch(name) => Some(Self::Launch),
            _ => None,
        }
    }
}

/// Whether a bare name is that of a function that launches kernels.
pub(super) fn is_launch(bare: &str) -> bool {
    let rest = bare.strip_prefix("__cuda").unwrap_or(bare);
    rest.starts_with("LaunchKernel") || rest.starts_with("LaunchCooperativeKernel") || rest == "GraphLaunch"
}

/// Up to when launches are known to have ended: by stream, and of all streams.
#[derive(Default)]
struct Ended {
    /// A launching call that ended no later has ended its work.
    streams: BTreeMap<StreamId, u64>,
    all: u64,
}

impl Ended {
    fn stream(&mut self, stream: StreamId, until: u64) {
        let known = self.streams.entry(stream).or_default();
        *known = until.max(*known);
    }

    fn until(&self, stream: StreamId) -> u64 {
        self.streams.get(&stream).copied().unwrap_or(0).max(self.all)
    }
}

/// The launches that a failure may come from. `bytes` are those of the process's file.
#[must_use]
pub fn suspects(trace: &Trace, bytes: Option<&dyn Bytes>, failed: &Failed) -> Suspects {
    let process = failed.process;
    let chosen = choose(trace, Use::of);
    let same_device =
        |device: u8| device == failed.call.device || device == NO_DEVICE || failed.call.device == NO_DEVICE;
    let mut ended = Ended::default();
    let mut records = Records::new(bytes);
    each(trace, process, &chosen, |found: Found<'_, Use>| {
        let call = &found.call;
        let is_over = call.end_ns() <= failed.call.start_ns && !call.flags.failed() && !call.flags.entry_only();
        if !is_over || !same_device(call.device) || call.depth > 0 {
            return;
        }
        match found.what {
            Use::All => ended.all = ended.all.max(call.start_ns),
            Use::Stream => ended.stream(call.stream, call.start_ns),
            // One that was answered "not yet" is no failure either: only its record tells.
            Use::Query if call.start_ns > ended.until(call.stream) => {
                if records.read(&found).is_some_and(|record| record.status() == 0) {
                    ended.stream(call.stream, call.start_ns);
                }
            }
            Use::Query => {}
            Use::Launch => {}
        }
    });
    let by_records = by_records(trace, failed, &mut ended);
    let mut launches: BTreeMap<StreamId, Vec<Suspect>> = BTreeMap::new();
    each(trace, process, &chosen, |found: Found<'_, Use>| {
        let call = &found.call;
        let is_launch = matches!(found.what, Use::Launch) && call.depth == 0;
        let done = call.flags.failed() || call.flags.has(CallFlags::CAPTURED);
        if !is_launch || done || !same_device(call.device) || call.start_ns >= failed.call.end_ns() {
            return;
        }
        if call.end_ns() <= ended.until(call.stream) {
            return;
        }
        let list = launches.entry(call.stream).or_default();
        let at = list.partition_point(|known| known.launched_ns <= call.start_ns);
        if at < KEPT {
            let (launched_ns, site, stream) = (call.start_ns, call.site, call.stream);
            list.insert(at, Suspect { kernel: None, stream, launched_ns, track: found.track, row: found.row, site });
            list.truncate(KEPT);
        }
    });
    let mut ranked: Vec<(usize, Suspect)> =
        launches.into_values().flat_map(|list| list.into_iter().enumerate()).collect();
    ranked.sort_by_key(|(rank, suspect)| ((*rank > 0), suspect.launched_ns));
    let named = ranked
        .into_iter()
        .take(TOLD)
        .map(|(_, suspect)| Suspect { kernel: kernel(trace, bytes, process, suspect.track, suspect.row), ..suspect });
    Suspects { by_records, launches: named.collect() }
}

/// Takes what is known to have ended by records. The newest kernel of a stream with a record may be the one that failed:
/// only what came before it has ended. Whether there are such records.
fn by_records(trace: &Trace, failed: &Failed, ended: &mut Ended) -> bool {
    let process = failed.process;
    let is_there = trace
        .activities
        .of(process)
        .is_some_and(|of| of.evidence.ever(What::Activity) && of.evidence.ever(What::Correlation));
    if !is_there {
        return false;
    }
    for lane in trace.activities.lanes().iter().filter(|lane| lane.process == process) {
        if !matches!(lane.of, LaneOf::Stream { .. }) {
            continue;
        }
        let mut newest: Option<(u64, u32)> = None;
        lane.for_each(0, |_, activity| {
            let is_over = activity.kind.is_work() && activity.end_ns() <= failed.call.start_ns;
            if is_over && newest.is_none_or(|(start, _)| start <= activity.start_ns) {
                newest = Some((activity.start_ns, activity.correlation));
            }
        });
        if let Some((.., call)) = newest.and_then(|(_, correlation)| submitting_call(trace, process, correlation)) {
            ended.stream(call.stream, call.start_ns.saturating_sub(1));
        }
    }
    true
}

/// The kernel of a launching call, or of the one inside it.
pub(super) fn kernel(
    trace: &Trace,
    bytes: Option<&dyn Bytes>,
    process: ProcessId,
    id: TrackId,
    row: usize,
) -> Option<NameId> {
    let track = trace.track(id)?;
    let mut records = Records::new(bytes);
    let first = track.group(row).start.max(row.saturating_sub(16));
    (first..=row).rev().find_map(|row| {
        let (chunk, inner) = track.chunk_of(row)?;
        let call = chunk.call(inner)?;
        let api = trace.api(call.api)?;
        let function: &Argument =
            api.signature.arguments.iter().find(|argument| Some(argument.at) == api.semantics.function_at)?;
        let found = Found { track: id, row, call, what: &(), offset: chunk.offset(inner)? };
        let handle = records.read(&found)?.number(function)?;
        trace.kernels.get(&(process, handle)).copied()
    })
}
