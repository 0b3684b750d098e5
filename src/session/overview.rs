//! The overview.

use std::time::Duration;

use super::calls::thousandths;
use super::evidence;
use super::failures::commonest_error;
use super::family::{Member, Standing, family};
use super::labels::{program, thread};
use super::model::Model;
use super::order::{All, Selection as _, Sieved};
use super::safe::safe;
use super::sampler::{Address, Reading};
use super::search;
use super::view::{Overview, ProcessRow, TopRow};
use crate::graph::{Function, What, functions};
use crate::lens::Selected;
use crate::trace::{ApiId, Layer, Process, ProcessId, State, Trace, TrackId};

/// Steps of the history of a live trace, and their length.
const LIVE_STEPS: u64 = 60;
const LIVE_STEP_NS: u64 = 1_000_000_000;
/// Most steps of the history of a finished one.
const STEPS: u64 = 120;
/// Rows of the body that the lists do not get.
const OTHER_ROWS: usize = 12;
/// Smallest share, thousandths, of a nested function that is listed.
const NESTED_SHARE: u16 = 5;
/// What is said of a process whose file is gone.
const REMOVED: &str = "its file has been removed; what was read of it stays";
/// After so long without a call the overview says why that may be.
const SILENCE: Duration = Duration::from_secs(3);

/// What the overview must know that is not in the trace.
pub(super) struct Surroundings<'a> {
    /// Whether a process is known to run.
    pub is_alive: &'a dyn Fn(ProcessId) -> bool,
    /// Whether a process's file has been removed while it is shown.
    pub is_removed: &'a dyn Fn(ProcessId) -> bool,
    /// Whether anything may still come.
    pub live: bool,
    /// Now on the trace's axis, ns.
    pub now_ns: u64,
    /// How long nothing has come.
    pub silent: Duration,
    /// Why nothing may ever come from the child.
    pub why_silent: Option<String>,
    /// Where the recording is written.
    pub recording: Option<String>,
    /// How devices fare just now.
    pub readings: Vec<(Address, Reading)>,
}

impl Model {
    /// The overview for a body of so many rows and columns.
    pub(super) fn overview(&mut self, rows: u16, columns: u16, around: &Surroundings<'_>) -> Overview {
        let list = usize::from(rows).saturating_sub(OTHER_ROWS).max(3);
        let unfinished = self.seen_unfinished();
        let functions = functions([self.seen_cells(), &unfinished], &self.trace);
        let all_ns = functions.iter().fold(0u64, |sum, function| sum.saturating_add(function.sums.total_ns));
        let (top, rest) = top(&self.trace, &functions, all_ns, list);
        let steps = Steps::new(&self.trace, columns, around);
        let calls_history = history(&self.trace, self.selected(), &steps);
        let (kernels, more_kernels) = self.top_kernels(list);
        let failing = self.failing();
        let failed = match self.selected() {
            Some(_) => failing.iter().fold(0u64, |sum, (_, failed)| sum.saturating_add(*failed)),
            None => self.tree.failed().saturating_sub(self.mishaps.handled_count()),
        };
        let worst_failure = failing.first().map(|&(api, _)| self.failure(api));
        let family = family(&self.trace);
        Overview {
            process_count: self.trace.processes.len(),
            processes: processes(&self.trace, &family, list, around),
            standing: standing(&self.trace, &family, around),
            sees: sees(&self.trace),
            not: not(&self.trace),
            clocks: super::clocks::line(&self.trace, super::gpu_details::duration),
            costs: super::cost::words(super::cost::cost(&self.trace), super::cost::of_driver(&self.gpu)),
            calls_history,
            history_step_ns: steps.step_ns,
            devices: self.devices(&around.readings),
            moved: self.moved(&steps, around.live),
            kernels,
            more_kernels,
            top,
            rest,
            failed,
            worst_failure,
            sticky_failure: self.sticky_line(),
            running: self.running(around),
            silence: self.silence(around),
            recording: around.recording.clone(),
        }
    }

    /// A function that failed, with its commonest error.
    fn failure(&self, api: ApiId) -> String {
        let name = safe(self.trace.api_name(api));
        match commonest_error(&self.trace, &self.files, self.selected(), api) {
            Some(error) => format!("{name} ({})", safe(&error)),
            None => name.into_owned(),
        }
    }

    /// The longest call that has not ended.
    fn running(&self, around: &Surroundings<'_>) -> Option<(String, String, u64)> {
        let open = self.seen_open();
        let (track, call) = open.first()?;
        let name = safe(self.trace.api_name(call.api)).into_owned();
        let several = self.trace.processes.len() > 1;
        let pid = self.trace.track(*track).and_then(|track| self.trace.process(track.process)).map(|one| one.pid);
        let thread = match pid {
            Some(pid) if several => format!("{} of {pid}", thread(&self.trace, *track)),
            _ => thread(&self.trace, *track),
        };
        Some((name, thread, around.now_ns.saturating_sub(call.start_ns)))
    }

    /// Why nothing is to be seen.
    fn silence(&self, around: &Surroundings<'_>) -> Option<String> {
        if !around.live || around.silent < SILENCE {
            return None;
        }
        let seconds = around.silent.as_secs();
        if self.trace.processes.is_empty() {
            let why = around.why_silent.as_deref().map(|why| safe(why).into_owned());
            let why = why.unwrap_or_else(|| {
                "the program has not come to its first CUDA call, or is static, setuid or clears LD_PRELOAD".to_owned()
            });
            return Some(format!("no CUDA call yet after {seconds} s: {why}"));
        }
        let running = self.trace.tracks.iter().map(|track| track.in_flight.len()).sum::<usize>();
        Some(if self.trace.calls() == 0 && running == 0 {
            format!("the hook is loaded, but no CUDA call has come for {seconds} s")
        } else if running > 0 {
            format!("no call has ended for {seconds} s; {running} still running")
        } else {
            format!("no call for {seconds} s: the program does something else, or waits")
        })
    }
}

/// Calls of each process.
pub(crate) fn calls_by_process(trace: &Trace) -> Vec<u64> {
    let mut calls = vec![0u64; trace.processes.len()];
    for track in &trace.tracks {
        if let Some(sum) = calls.get_mut(track.process.index()) {
            *sum = sum.saturating_add(track.len() as u64);
        }
    }
    calls
}

/// The busiest processes in the order of their family.
fn processes(trace: &Trace, family: &[Member], rows: usize, around: &Surroundings<'_>) -> Vec<ProcessRow> {
    let calls = calls_by_process(trace);
    let of = |id: ProcessId| calls.get(id.index()).copied().unwrap_or(0);
    let mut family = family.to_vec();
    if family.len() > rows {
        // With all that they started, so that nobody is shown without those above.
        let mut weights = vec![(false, 0u64); calls.len()];
        let mut above: Vec<(u16, ProcessId)> = Vec::new();
        for member in &family {
            above.retain(|&(depth, _)| depth < member.depth);
            above.push((member.depth, member.id));
            let alive = (around.is_alive)(member.id);
            for (_, id) in &above {
                if let Some((any_alive, sum)) = weights.get_mut(id.index()) {
                    *any_alive |= alive;
                    *sum = sum.saturating_add(of(member.id));
                }
            }
        }
        let weight = |id: &ProcessId| std::cmp::Reverse(weights.get(id.index()).copied().unwrap_or_default());
        let mut busiest: Vec<ProcessId> = family.iter().map(|member| member.id).collect();
        // Of equals the one that comes first in the family, which is the one above.
        busiest.sort_by_key(weight);
        busiest.truncate(rows);
        busiest.sort_unstable();
        family.retain(|member| busiest.binary_search(&member.id).is_ok());
    }
    // Depths are counted among those that are left.
    let mut above: Vec<u16> = Vec::new();
    let row = |member: Member| {
        above.retain(|&depth| depth < member.depth);
        let depth = u16::try_from(above.len()).unwrap_or(u16::MAX);
        above.push(member.depth);
        let process = trace.process(member.id)?;
        let alive = (around.is_alive)(member.id);
        let removed = (around.is_removed)(member.id);
        Some(ProcessRow {
            pid: process.pid,
            program: program(trace, process),
            depth,
            became: member.became && depth > 0,
            went_on: member.went_on,
            in_order: process.state == State::Ended,
            removed,
            host: safe(trace.names.get(process.host)).into_owned(),
            calls: of(member.id),
            lost: process.lost,
            alive,
            trouble: match (removed, member.went_on) {
                (true, _) => Some(REMOVED.to_owned()),
                (_, true) => None,
                _ => trouble(process, alive),
            },
        })
    };
    family.into_iter().filter_map(row).collect()
}

fn standing(trace: &Trace, family: &[Member], around: &Surroundings<'_>) -> Standing {
    let mut standing = Standing::default();
    for member in family {
        if let Some(process) = trace.process(member.id) {
            standing.count(process.state, (around.is_alive)(member.id), member.went_on);
        }
    }
    standing
}

/// Why the recording of a process is not what it could be.
pub(crate) fn trouble(process: &Process, alive: bool) -> Option<String> {
    let gone = (process.discarded > 0).then(|| {
        let (calls, size) = (process.discarded, crate::trace::value::size(process.max_bytes));
        format!("{calls} older calls made room for newer ones, the file is capped at {size} (--max-size)")
    });
    let late = (process.missed > 0).then(|| format!("joined late: {} events before that are not here", process.missed));
    match (late, stopped(process, alive).or(gone)) {
        (Some(late), Some(other)) => Some(format!("{late}; {other}")),
        (late, other) => late.or(other),
    }
}

/// Why a recording ended before its process, if it did.
fn stopped(process: &Process, alive: bool) -> Option<String> {
    let with_unwritten = |why: &str| match process.lacks_its_end(alive) {
        true => format!("{why}; what its file had not got by then is missing and not counted"),
        false => why.to_owned(),
    };
    match process.state {
        State::Ended => None,
        State::Recording if alive && process.paused => Some("nothing is recorded at the moment (--capture)".to_owned()),
        State::Recording if alive => None,
        State::Recording => Some(with_unwritten("its end was not recorded")),
        State::Killed => Some(with_unwritten("ended without its exit handlers: killed, crashed or _exit")),
        State::Full => {
            let size = crate::trace::value::size(process.max_bytes);
            Some(format!("recording stopped at the size cap of {size} (--max-size)"))
        }
        State::Failed(errno) => {
            let error = i32::try_from(errno).map(std::io::Error::from_raw_os_error);
            let why = error.map_or_else(|_| format!("error {errno}"), |error| error.to_string());
            Some(format!("recording stopped: {why}"))
        }
    }
}

fn has_layer(trace: &Trace, layer: Layer) -> bool {
    let of_layer = |api: ApiId| trace.api(api).is_some_and(|api| api.layer == layer);
    trace.tracks.iter().flat_map(|track| track.chunks()).any(|chunk| chunk.summary().apis().any(of_layer))
}

fn sees(trace: &Trace) -> Vec<String> {
    let sited = || trace.sites.all().iter().any(|site| site.address != 0);
    let calls = match trace.imported > 0 && trace.imported == trace.files.len() {
        false => "calls with times, arguments, results and call sites",
        true if sited() => "calls with times and call sites",
        true => "calls with times",
    };
    let calls = trace.evidence.has(1).then(|| calls.to_owned());
    calls.into_iter().chain(evidence::seen(trace).into_iter().map(str::to_owned)).collect()
}

fn not(trace: &Trace) -> Vec<String> {
    let mut not = evidence::lines(trace);
    if has_layer(trace, Layer::Driver) && !has_layer(trace, Layer::Runtime) {
        not.push(
            "runtime calls: none came; with a static cudart (nvcc's default) only driver calls are seen".to_owned(),
        );
    }
    not
}

/// Functions by total with what they call, and how many are left with which share.
fn top(trace: &Trace, functions: &[Function], all_ns: u64, rows: usize) -> (Vec<TopRow>, (usize, u16)) {
    let row = |depth, api, sums: &crate::graph::Sums| TopRow {
        depth,
        name: safe(trace.api_name(api)).into_owned(),
        what: Some(What::Call(api)),
        like: search::like_call(trace.api_name(api)),
        total_ns: sums.total_ns,
        total_share: thousandths(sums.total_ns, all_ns),
        self_share: thousandths(sums.self_ns, all_ns),
        count: sums.count,
    };
    let mut list = Vec::new();
    let mut shown = 0;
    for function in functions {
        if list.len() >= rows {
            break;
        }
        shown += 1;
        list.push(row(0, function.api, &function.sums));
        // What hardly counts would only push down what does.
        let counts = |sums: &crate::graph::Sums| thousandths(sums.total_ns, all_ns) >= NESTED_SHARE;
        let nested = function.nested.iter().filter(|(_, sums)| counts(sums)).take(rows - list.len());
        list.extend(nested.map(|(api, sums)| row(1, *api, sums)));
    }
    let rest = functions.get(shown..).unwrap_or(&[]);
    let rest_ns = rest.iter().fold(0u64, |sum, function| sum.saturating_add(function.sums.total_ns));
    (list, (rest.len(), thousandths(rest_ns, all_ns)))
}

/// The steps of a history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    /// When the first one begins, ns on the trace's axis.
    from: u64,
    count: u64,
    /// Length of each, ns; not zero.
    pub step_ns: u64,
}

impl Steps {
    /// Of the last minute while live, of the whole trace at its end.
    fn new(trace: &Trace, columns: u16, around: &Surroundings<'_>) -> Self {
        if around.live {
            let from = around.now_ns.saturating_sub(LIVE_STEPS * LIVE_STEP_NS).max(trace.start_ns());
            let count = around.now_ns.saturating_sub(from).div_ceil(LIVE_STEP_NS).clamp(1, LIVE_STEPS);
            Self { from: around.now_ns.saturating_sub(count * LIVE_STEP_NS), count, step_ns: LIVE_STEP_NS }
        } else {
            let from = trace.start_ns();
            let count = u64::from(columns).clamp(1, STEPS);
            let step_ns = trace.end_ns().saturating_sub(from).saturating_add(1).div_ceil(count).max(1);
            Self { from, count, step_ns }
        }
    }

    /// Beginnings of the steps and the end of the last one, ns on the trace's axis.
    fn marks(&self) -> impl Iterator<Item = u64> + '_ {
        (0..=self.count).map(|step| self.from.saturating_add(step.saturating_mul(self.step_ns)))
    }

    /// Beginning and end of each, ns on the trace's axis.
    pub fn spans(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.marks().zip(self.marks().skip(1))
    }
}

/// Calls a second, step by step.
fn history(trace: &Trace, selected: Option<&Selected>, steps: &Steps) -> Vec<u32> {
    let before = |ns: u64| {
        let of = |id: TrackId| match selected {
            Some(selected) => Sieved(selected).before(trace, id, ns),
            None => All.before(trace, id, ns),
        };
        (0..).map(TrackId).take(trace.tracks.len()).map(|id| of(id) as u64).sum::<u64>()
    };
    let marks: Vec<u64> = steps.marks().map(before).collect();
    let rates = marks.windows(2).map(|pair| {
        let calls = pair.get(1).copied().unwrap_or(0).saturating_sub(pair.first().copied().unwrap_or(0));
        let rate = u128::from(calls) * 1_000_000_000 / u128::from(steps.step_ns);
        u32::try_from(rate).unwrap_or(u32::MAX)
    });
    rates.collect()
}
