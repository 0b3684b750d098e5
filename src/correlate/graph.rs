//! Graphs: what was captured, made ready and launched, and what each launch did.
//!
//! All work of a launch carries the correlation id of the launching call, which names the instantiated graph; so CUPTI's
//! own numbers of graphs are found through it, and not the other way round.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::trace::activity::{TextId, What, raw};
use crate::trace::{
    Activity, ActivityKind, Api, Argument, Bytes, CallFlags, Capture, Lane, Location, NameId, ProcessId, Trace, TrackId,
};
use rustc_hash::FxHashMap;
use umtui_wire::activity as wire;

use super::calls::{Found, Records, bare, choose, each};

/// An instantiated graph of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Process.
    pub process: ProcessId,
    /// Handle of the instantiated graph.
    pub exec: u64,
    /// Handle of the graph that it was made of; `None` if that was not seen.
    pub graph: Option<u64>,
    /// Calls of the program that were captured into that graph; `None` if it was not made by a capture that was seen.
    pub captured_calls: Option<u64>,
    /// Launches, those that failed left out.
    pub launches: u64,
    /// What the launches did; `None`: not recorded.
    pub work: Option<Work>,
}

/// What launches did. Times are ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Launches of which something was recorded.
    pub launches: u64,
    /// Kernels, copies and sets of the launch that had the most; `None`: graphs were recorded as a whole.
    pub nodes: Option<u64>,
    /// From the first start to the last end of each launch's work, summed up.
    pub total_ns: u64,
    /// Median of that.
    pub p50_ns: Option<u64>,
    /// That of the first launch.
    pub first_ns: Option<u64>,
    /// Median of all later ones.
    pub later_p50_ns: Option<u64>,
    /// CUPTI's number of the graph, of the newest launch for which it was found.
    pub cupti_graph: Option<u32>,
    /// Its kernels by name: how many ran, and how long in all.
    pub kernels: BTreeMap<NameId, (u64, u64)>,
}

/// All instantiated graphs that were seen, by process and in order of time. `files` are those of the trace.
#[must_use]
pub fn graphs(trace: &Trace, files: &[Arc<dyn Bytes>]) -> Vec<Graph> {
    let processes = (0..u16::MAX).map(ProcessId).take(trace.processes.len());
    processes.flat_map(|process| of_process(trace, process, files)).collect()
}

/// What a function does to graphs, with its arguments.
enum Use {
    /// It makes a graph ready: the result, and what of.
    Instantiate(Argument, Argument),
    /// It launches one.
    Launch(Argument),
    /// It makes a graph, or destroys one: whatever had the handle is over.
    Other(Argument),
}

impl Use {
    fn of(api: &Api, base: &str) -> Option<Self> {
        let argument = |role| api.signature.role(role).cloned();
        match bare(base) {
            "GraphLaunch" => argument("exec").map(Self::Launch),
            "GraphCreate" | "GraphDestroy" => argument("graph").map(Self::Other),
            name if name.starts_with("GraphInstantiate") => {
                argument("exec").zip(argument("graph")).map(|(exec, graph)| Self::Instantiate(exec, graph))
            }
            _ => None,
        }
    }
}

/// An instantiation.
struct Made {
    /// When the call that made it began, ns.
    at_ns: u64,
    exec: u64,
    graph: u64,
    /// The same moment, ticks.
    ticks: u64,
}

/// A launching call of the program.
#[derive(Clone, Copy)]
struct Launch {
    track: TrackId,
    row: usize,
    start_ns: u64,
    exec: u64,
    /// Its graph in the list.
    graph: usize,
}

/// What a launch did.
#[derive(Clone, Copy)]
struct Done {
    graph: usize,
    launched_ns: u64,
    start_ns: u64,
    end_ns: u64,
    nodes: u64,
    whole: bool,
}

fn of_process(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>]) -> Vec<Graph> {
    let chosen = choose(trace, Use::of);
    if chosen.iter().all(Option::is_none) {
        return Vec::new();
    }
    let (mut made, mut launches, mut gone) = (Vec::new(), Vec::new(), FxHashMap::<u64, Vec<u64>>::default());
    let mut records = Records::of(trace, process, files);
    each(trace, process, &chosen, |found: Found<'_, Use>| {
        // Calls inside others say the same again.
        if found.call.depth > 0 || found.call.flags.failed() {
            return;
        }
        let Some(record) = records.read(&found) else { return };
        match found.what {
            Use::Instantiate(exec, graph) => {
                if let Some((exec, graph)) = record.number(exec).zip(record.number(graph)) {
                    made.push(Made { at_ns: found.call.start_ns, exec, graph, ticks: record.start_ticks() });
                }
            }
            // A launch on a stream that is captured puts the graph into another one.
            Use::Launch(_) if found.call.flags.has(CallFlags::CAPTURED) => {}
            Use::Launch(exec) => {
                if let Some(exec) = record.number(exec) {
                    let (track, row, start_ns) = (found.track, found.row, found.call.start_ns);
                    launches.push(Launch { track, row, start_ns, exec, graph: 0 });
                }
            }
            Use::Other(graph) => {
                if let Some(graph) = record.number(graph) {
                    gone.entry(graph).or_default().push(record.start_ticks());
                }
            }
        }
    });
    made.sort_by_key(|made| made.at_ns);
    let mut captures: FxHashMap<u64, Vec<Capture>> = FxHashMap::default();
    for capture in trace.streams.captures.of(process) {
        if let Some(graph) = capture.graph {
            captures.entry(graph).or_default().push(*capture);
        }
    }
    captures.values_mut().for_each(|list| list.sort_by_key(|capture| capture.until));
    gone.values_mut().for_each(|list| list.sort_unstable());
    let mut list: Vec<Graph> = made
        .iter()
        .map(|made| Graph {
            process,
            exec: made.exec,
            graph: Some(made.graph),
            captured_calls: captured(captures.get(&made.graph), made, gone.get(&made.graph)),
            launches: 0,
            work: None,
        })
        .collect();
    assign(process, &made, &mut launches, &mut list);
    if trace.activities.recorded(What::Activity) {
        work(trace, process, &launches, &mut list, files);
    }
    list
}

/// Calls that were captured into a graph before it was made ready, if nothing else had its handle since. Both lists are of
/// that handle and in order of time.
fn captured(captures: Option<&Vec<Capture>>, made: &Made, gone: Option<&Vec<u64>>) -> Option<u64> {
    let captures = captures?;
    let before = captures.partition_point(|capture| capture.until <= made.ticks);
    let capture = captures.get(before.checked_sub(1)?)?;
    let over = gone.and_then(|gone| gone.get(gone.partition_point(|&at| at <= capture.until)));
    over.is_none_or(|&at| at >= made.ticks).then_some(capture.calls)
}

/// Says of each launch which instantiation it launches: the newest with its handle. Those that were not seen are added.
fn assign(process: ProcessId, made: &[Made], launches: &mut [Launch], list: &mut Vec<Graph>) {
    let mut by_handle: FxHashMap<u64, Vec<(u64, usize)>> = FxHashMap::default();
    for (index, made) in made.iter().enumerate() {
        by_handle.entry(made.exec).or_default().push((made.at_ns, index));
    }
    for launch in launches {
        let lives = by_handle.entry(launch.exec).or_default();
        let at = lives.partition_point(|&(since, _)| since <= launch.start_ns);
        launch.graph = match at.checked_sub(1).and_then(|at| lives.get(at)) {
            Some(&(_, index)) => index,
            None => {
                let (exec, index) = (launch.exec, list.len());
                list.push(Graph { process, exec, graph: None, captured_calls: None, launches: 0, work: None });
                lives.insert(0, (0, index));
                index
            }
        };
        if let Some(graph) = list.get_mut(launch.graph) {
            graph.launches = graph.launches.saturating_add(1);
        }
    }
}

/// Sums up what the launches did.
fn work(trace: &Trace, process: ProcessId, launches: &[Launch], list: &mut [Graph], files: &[Arc<dyn Bytes>]) {
    let Some(of) = trace.activities.of(process) else { return };
    // By thread and row, as they were found: thread by thread, in order of rows.
    let launch_of = |track: TrackId, row: usize| {
        // Of a runtime call it may be the driver's call inside that is known to have submitted: it ended before.
        let at = launches.partition_point(|launch| (launch.track, launch.row) < (track, row));
        let launch = launches.get(at).filter(|launch| launch.track == track)?;
        let is_inside = || trace.track(track).is_some_and(|track| track.group(row).contains(&launch.row));
        (launch.row == row || is_inside()).then_some(launch)
    };
    let is_launch = choose(trace, |_, base| (bare(base) == "GraphLaunch").then_some(()));
    let mut done: FxHashMap<u32, Done> = FxHashMap::default();
    for submit in of.submits.iter() {
        let row = submit.row as usize;
        let Some(call) = trace.track(submit.track).and_then(|track| track.call(row)) else { continue };
        if is_launch.get(call.api.index()).is_none_or(Option::is_none) {
            continue;
        }
        if let Some(launch) = launch_of(submit.track, row) {
            done.entry(submit.correlation).or_insert(Done {
                graph: launch.graph,
                launched_ns: launch.start_ns,
                start_ns: u64::MAX,
                end_ns: 0,
                nodes: 0,
                whole: false,
            });
        }
    }
    if done.is_empty() {
        return;
    }
    let mut kernels: FxHashMap<(usize, TextId), (u64, u64)> = FxHashMap::default();
    let mut newest: FxHashMap<usize, (u64, u32)> = FxHashMap::default();
    for lane in trace.activities.lanes().iter().filter(|lane| lane.process == process) {
        let mut asked: FxHashMap<usize, u32> = FxHashMap::default();
        lane.for_each(0, |row, activity| {
            if !activity.kind.is_work() {
                return;
            }
            let Some(done) = done.get_mut(&activity.correlation) else { return };
            done.start_ns = done.start_ns.min(activity.start_ns);
            done.end_ns = done.end_ns.max(activity.end_ns());
            done.nodes += 1;
            done.whole |= activity.kind == ActivityKind::Graph;
            if activity.kind == ActivityKind::Kernel {
                let sums = kernels.entry((done.graph, activity.text())).or_default();
                *sums = (sums.0.saturating_add(1), sums.1.saturating_add(activity.duration_ns));
            }
            // One row of each graph and stream is enough to know CUPTI's number.
            let number =
                asked.entry(done.graph).or_insert_with(|| number(trace, lane, row, &activity, files).unwrap_or(0));
            if *number != 0 && newest.get(&done.graph).is_none_or(|known| known.0 <= done.launched_ns) {
                newest.insert(done.graph, (done.launched_ns, *number));
            }
        });
    }
    sum_up(done.into_values(), list);
    for ((graph, text), (count, total_ns)) in kernels {
        if let Some(work) = list.get_mut(graph).and_then(|graph| graph.work.as_mut()) {
            let sums = work.kernels.entry(trace.activities.name(text)).or_default();
            *sums = (sums.0.saturating_add(count), sums.1.saturating_add(total_ns));
        }
    }
    for (graph, (_, number)) in newest {
        if let Some(work) = list.get_mut(graph).and_then(|graph| graph.work.as_mut()) {
            work.cupti_graph = Some(number);
        }
    }
}

fn sum_up(done: impl Iterator<Item = Done>, list: &mut [Graph]) {
    let mut by_graph: FxHashMap<usize, Vec<Done>> = FxHashMap::default();
    for done in done.filter(|done| done.nodes > 0) {
        by_graph.entry(done.graph).or_default().push(done);
    }
    for (index, mut launches) in by_graph {
        let Some(graph) = list.get_mut(index) else { continue };
        launches.sort_by_key(|done| done.launched_ns);
        let spans: Vec<u64> = launches.iter().map(|done| done.end_ns.saturating_sub(done.start_ns)).collect();
        let whole = launches.iter().any(|done| done.whole);
        graph.work = Some(Work {
            launches: launches.len() as u64,
            nodes: launches.iter().map(|done| done.nodes).max().filter(|_| !whole),
            total_ns: spans.iter().fold(0, |sum, span| sum.saturating_add(*span)),
            p50_ns: median(&spans),
            first_ns: spans.first().copied(),
            later_p50_ns: median(spans.get(1..).unwrap_or(&[])),
            cupti_graph: None,
            kernels: BTreeMap::new(),
        });
    }
}

/// The middle one; of an even number the lower of the two.
fn median(spans: &[u64]) -> Option<u64> {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

/// CUPTI's number of the graph that a piece of work belongs to.
fn number(trace: &Trace, lane: &Lane, row: usize, activity: &Activity, files: &[Arc<dyn Bytes>]) -> Option<u32> {
    let file = trace.process(lane.process)?.file;
    let place: Location = trace.activities.location(lane, row, file)?;
    let bytes = files.get(file)?;
    let number = match activity.kind {
        ActivityKind::Graph => u32::try_from(activity.value).ok()?,
        ActivityKind::Kernel => raw::read::<wire::Kernel>(bytes, place).ok()?.graph,
        ActivityKind::Copy => raw::read::<wire::Copied>(bytes, place).ok()?.graph,
        ActivityKind::Set => raw::read::<wire::Set>(bytes, place).ok()?.graph,
        _ => return None,
    };
    Some(number).filter(|&number| number != 0)
}
