//! Tries it out: a small program that uses the driver (`umtui probe`) is recorded, and the recording read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Line, Verdict};
use crate::forward::PrivateFolder;
use crate::launch::{self, Environment, Gpu, Program, RunOptions, Streams};
use crate::session::safe::safe;
use crate::session::{Loaded, evidence};
use crate::trace::activity::{Statement, What};
use crate::trace::{ActivityKind, Layer, ProcessId, Trace, results};
use umtui_wire::activity as wire;

/// How long the trial may take.
const LIMIT: Duration = Duration::from_secs(20);
/// How long a program that was killed is waited for: one that hangs in the driver may stay.
const KILLED: Duration = Duration::from_secs(2);
/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Trial {
    /// What `umtui probe` said, by step.
    pub said: Said,
    /// How it ended, if it did not end well.
    pub trouble: Option<String>,
    /// Evidence, and devices' names, of the recording.
    pub lines: Vec<Line>,
    /// Version of the driver as CUDA counts it, 13000.
    pub driver_version: Option<u32>,
}

/// Lines of `umtui probe`.
#[derive(Debug, Default)]
pub(super) struct Said(BTreeMap<String, Vec<String>>);

impl Said {
    pub fn of(text: &str) -> Self {
        let mut steps: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (step, what) in text.lines().filter_map(|line| line.split_once('\t')) {
            steps.entry(step.to_owned()).or_default().push(what.to_owned());
        }
        Self(steps)
    }

    /// All lines of a step.
    pub fn all(&self, step: &str) -> &[String] {
        self.0.get(step).map_or(&[], Vec::as_slice)
    }

    /// The first line of a step.
    pub fn first(&self, step: &str) -> Option<&str> {
        self.all(step).first().map(String::as_str)
    }

    /// Devices, if the driver came so far.
    pub fn devices(&self) -> Option<u32> {
        self.first("count")?.strip_prefix("ok\t")?.parse().ok()
    }

    /// The first step that failed, in words; steps that only some devices can do are none.
    pub fn failed(&self) -> Option<String> {
        const STEPS: [(&str, &str); 11] = [
            ("init", "cuInit"),
            ("count", "cuDeviceGetCount"),
            ("context", "a context on device 0"),
            ("managed", "cuMemAllocManaged"),
            ("prefetch", "cuMemPrefetchAsync"),
            ("wait", "cuCtxSynchronize after the prefetch"),
            ("memory", "cuMemAlloc"),
            ("copy", "cuMemcpyHtoD"),
            ("synchronize", "cuCtxSynchronize"),
            ("free", "cuMemFree"),
            ("release", "cuDevicePrimaryCtxRelease"),
        ];
        let mut failures = STEPS.iter().flat_map(|&(step, words)| self.all(step).iter().map(move |what| (words, what)));
        failures.find(|(_, what)| *what != "ok" && !what.starts_with("ok\t")).map(|(words, what)| {
            let why =
                what.parse().map_or_else(|_| safe(what).into_owned(), |status| results::text(Layer::Driver, status));
            format!("{words}: {why}")
        })
    }
}

/// Runs it under the hook with everything that can be recorded.
pub(super) fn run() -> anyhow::Result<Trial> {
    let folder = PrivateFolder::new()?;
    // Text that is no recording, beside the recording.
    let (stdout, stderr) = (folder.path().join("stdout.txt"), folder.path().join("stderr.txt"));
    let hook = launch::hook()?;
    let gpu = Gpu { on: true, faults: true, memory: true, waits: true, whole_graphs: false };
    let environment = Environment::new(&hook, folder.path(), &RunOptions { gpu, ..RunOptions::default() })?;
    let program = std::env::current_exe()?;
    if let Some(why) = launch::why_silent(&program) {
        anyhow::bail!("{why}");
    }
    let command: [OsString; 2] = [program.into(), "probe".into()];
    let streams = Streams::Files { stdout: stdout.clone(), stderr: stderr.clone(), stdin: false };
    let ended = wait(&mut Program::start(&command, &environment, &[], &streams)?);
    let read =
        |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let said = Said::of(&read(&stdout));
    let trouble = match ended {
        Some(0) => None,
        status => {
            let words = match status {
                None => format!("did not end within {} s and was killed", LIMIT.as_secs()),
                Some(signal @ 129..) => format!("was ended by signal {}", signal - 128),
                Some(status) => format!("ended with status {status}"),
            };
            let last = read(&stderr).lines().last().map_or_else(String::new, |line| format!(": {}", safe(line)));
            Some(format!("the trial {words}{last}"))
        }
    };
    let mut trial = Trial { trouble, ..Trial::default() };
    if let Ok(mut loaded) = Loaded::load_all(&[folder.path().to_owned()]) {
        (trial.lines, trial.driver_version) = of_recording(&mut loaded, &said);
    }
    trial.said = said;
    Ok(trial)
}

/// Its status; `None` if it had to be killed.
fn wait(program: &mut Program) -> Option<i32> {
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        if let Some(status) = program.poll() {
            return Some(status);
        }
        std::thread::sleep(PAUSE);
    }
    program.signal(libc::SIGKILL);
    let end = Instant::now() + KILLED;
    while program.poll().is_none() && Instant::now() < end {
        std::thread::sleep(PAUSE);
    }
    None
}

fn of_recording(loaded: &mut Loaded, said: &Said) -> (Vec<Line>, Option<u32>) {
    let trace = loaded.trace();
    let mut lines = vec![Line::new(Verdict::Fine, "calls", format!("recorded: {} in the trial", trace.calls()))];
    let process = ProcessId(0);
    let statements = trace.activities.of(process).map(|of| &of.evidence);
    let newest = |what| statements.and_then(|statements| statements.newest(what)).copied();
    let version = What::ALL.into_iter().filter_map(newest).map(|one| one.driver_version).find(|&version| version > 0);
    let has_device = said.devices().is_some_and(|count| count > 0);
    if let Some(line) = newest(What::Activity).and_then(|statement| library(trace, &statement, said)) {
        lines.push(line);
    }
    let kinds = [What::Activity, What::Migrations, What::Faults, What::Correlation, What::Memory];
    for what in kinds {
        let (subject, how) = subject(what);
        let line = match newest(what) {
            Some(statement) if statement.recorded() => {
                let seen = seen(trace, what);
                Line::new(Verdict::Fine, subject, format!("{how}; {seen}"))
            }
            Some(statement) => {
                let detail = safe(trace.names.get(trace.activities.name(statement.detail))).into_owned();
                let (why, remedy) = evidence::reason(what, statement.why, statement.result, &detail);
                let verdict = if has_device { Verdict::Missing } else { Verdict::Note };
                Line::new(verdict, subject, why).with(remedy)
            }
            None => Line::new(Verdict::Note, subject, "not tried: the driver was not initialised"),
        };
        lines.push(line);
    }
    lines.push(match (has_device, said.first("parameters")) {
        (true, Some("ok")) => {
            Line::new(Verdict::Fine, "pointers", "of kernels are recorded where the driver knows their parameters")
        }
        (true, _) => {
            Line::new(Verdict::Missing, "pointers", "of kernels: this driver does not tell of their parameters")
                .with(Some("use a driver of CUDA 12.4 or newer".to_owned()))
        }
        (false, _) => Line::new(Verdict::Note, "pointers", "of kernels: not tried, there is no device"),
    });
    lines.push(match newest(What::Ranges).filter(|one| one.why == wire::WHY_VARIABLE_TAKEN) {
        Some(statement) => {
            let detail = safe(trace.names.get(trace.activities.name(statement.detail))).into_owned();
            let (why, remedy) = evidence::reason(What::Ranges, statement.why, statement.result, &detail);
            Line::new(Verdict::Missing, "ranges", why).with(remedy)
        }
        None => Line::new(Verdict::Fine, "ranges", "of programs with NVTX in them are recorded"),
    });
    (lines, version)
}

/// Which libcupti it was.
fn library(trace: &Trace, statement: &Statement, said: &Said) -> Option<Line> {
    let name = trace.names.get(trace.activities.name(statement.detail));
    let path = safe(said.first("cupti").unwrap_or(name)).into_owned();
    if !statement.recorded() || path.is_empty() {
        return None;
    }
    Some(Line::new(Verdict::Fine, "CUPTI", format!("{path}, API version {}", statement.library_version)))
}

/// A short name, and how it is had.
const fn subject(what: What) -> (&'static str, &'static str) {
    match what {
        What::Activity => ("kernels", "and copies are recorded"),
        What::Migrations => ("migrations", "are recorded"),
        What::Faults => ("faults", "are recorded with --um-faults"),
        What::Correlation => ("joins", "which call submitted what is recorded"),
        What::Memory => ("allocations", "by the driver are recorded with --gpu-memory"),
        What::Waits => ("waits", "and events by the driver are recorded with --gpu-waits"),
        What::Pointers => ("pointers", "of kernels are recorded"),
        What::Ranges => ("ranges", "are recorded"),
    }
}

/// What came in the trial. No kernel is launched in it.
fn seen(trace: &Trace, what: What) -> String {
    let mut count = 0u64;
    let moves = [wire::UNIFIED_TO_DEVICE, wire::UNIFIED_TO_HOST, wire::UNIFIED_BETWEEN_DEVICES];
    for lane in trace.activities.lanes() {
        lane.for_each(0, |_, activity| {
            let moved = moves.contains(&activity.unified().0);
            count += u64::from(match (what, activity.kind) {
                (What::Activity, ActivityKind::Copy) | (What::Memory, ActivityKind::Memory) => true,
                (What::Migrations, ActivityKind::Unified) => moved,
                (What::Faults, ActivityKind::Unified) => !moved,
                _ => false,
            });
        });
    }
    let joined = || {
        let of = trace.activities.of(ProcessId(0)).map_or(0, |of| of.submits.len());
        format!("{of} calls in the trial")
    };
    match (what, count) {
        (What::Correlation, _) => joined(),
        (_, 0) => "none came in the trial".to_owned(),
        (What::Activity, count) => format!("{count} copied in the trial"),
        (_, count) => format!("{count} in the trial"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_first_is_named() {
        let said =
            Said::of("library\tok\t/l/libcuda.so.1\ninit\tok\ncount\tok\t2\nmanaged\t801\nfree\tok\nfree\t700\n");
        assert_eq!(said.devices(), Some(2));
        assert_eq!(said.failed().unwrap(), "cuMemAllocManaged: CUDA_ERROR_NOT_SUPPORTED");
        assert_eq!(Said::of("init\tok\ncount\tok\t0\n").failed(), None);
        assert!(!Said::of("init\t\u{1b}[31m\n").failed().unwrap().contains('\u{1b}'));
        assert_eq!(Said::of("nonsense").devices(), None);
    }
}
