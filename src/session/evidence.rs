//! Which evidence is missing, since when, why, and what to do: in sentences for people.

use super::left_out;
use super::safe::safe;
use crate::trace::activity::{Statement, What};
use crate::trace::{ProcessId, Trace};
use umtui_wire::activity as wire;

/// Evidence that was not recorded for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Process.
    pub process: ProcessId,
    /// What is missing.
    pub what: What,
    /// Since when, ns on the trace's axis; `None`: from the beginning, and nothing was said of it.
    pub since_ns: Option<u64>,
    /// Until when; `None`: to the end.
    pub until_ns: Option<u64>,
    /// Why. Safe for the terminal.
    pub why: String,
    /// What to do, if anything.
    pub remedy: Option<String>,
}

/// Kinds whose absence is told even where nothing was said of them.
const EXPECTED: [What; 3] = [What::Activity, What::Migrations, What::Faults];

/// All that is missing, by process and time.
#[must_use]
pub fn missing(trace: &Trace) -> Vec<Missing> {
    let mut list = Vec::new();
    for process in (0..u16::MAX).map(ProcessId).take(trace.processes.len()) {
        let of = trace.activities.of(process);
        for what in What::ALL {
            let statements = of.map_or(&[][..], |of| of.evidence.all()).iter().filter(|one| one.what == what);
            let mut open: Option<(Statement, Missing)> = None;
            let mut said = false;
            for statement in statements {
                said = true;
                let repeated = |known: &Statement| {
                    (known.why, known.detail, known.result) == (statement.why, statement.detail, statement.result)
                };
                if open.as_ref().is_some_and(|(known, _)| repeated(known)) {
                    continue;
                }
                list.extend(open.take().map(|(_, missing)| Missing { until_ns: Some(statement.since_ns), ..missing }));
                if !statement.recorded() {
                    let detail = safe(trace.names.get(trace.activities.name(statement.detail))).into_owned();
                    let (why, remedy) = reason(what, statement.why, statement.result, &detail);
                    let since_ns = Some(statement.since_ns);
                    open = Some((*statement, Missing { process, what, since_ns, until_ns: None, why, remedy }));
                }
            }
            list.extend(open.map(|(_, missing)| missing));
            let seen = of.is_some_and(|of| of.evidence.ever(what));
            if !said && !seen && EXPECTED.contains(&what) {
                let why = "not recorded: an older umtui made this, or its beginning is missing";
                list.push(Missing { process, what, since_ns: None, until_ns: None, why: why.to_owned(), remedy: None });
            }
        }
    }
    list
}

/// Kinds that are only there on request: who did not ask for them does not miss them.
const EXTRAS: [What; 2] = [What::Memory, What::Waits];

/// Likewise as lines: kinds that are missing for the same reason in one, the reason and what to do after a colon. What
/// nobody asked for comes last; extras that nobody asked for are not named.
#[must_use]
pub fn lines(trace: &Trace) -> Vec<String> {
    let mut groups: Vec<(Missing, Vec<What>, Vec<ProcessId>)> = Vec::new();
    for one in missing(trace) {
        // Of what came later the overview does not speak.
        if one.until_ns.is_some() || EXTRAS.contains(&one.what) && one.why == NOT_ASKED {
            continue;
        }
        let same = |(known, ..): &&mut (Missing, Vec<What>, Vec<ProcessId>)| {
            (&known.why, &known.remedy) == (&one.why, &one.remedy)
        };
        match groups.iter_mut().find(same) {
            Some((_, whats, processes)) => {
                whats.push(one.what);
                processes.push(one.process);
            }
            None => groups.push((one.clone(), vec![one.what], vec![one.process])),
        }
    }
    let mut lines: Vec<(bool, String)> = Vec::new();
    for (missing, mut whats, mut processes) in groups {
        whats.sort_unstable();
        whats.dedup();
        processes.sort_unstable();
        processes.dedup();
        let whats: Vec<&str> = whats.into_iter().map(What::words).collect();
        let of = match (processes.len(), trace.processes.len()) {
            (some, all) if some == all => String::new(),
            (1, _) => processes
                .first()
                .and_then(|&id| trace.process(id))
                .map_or_else(String::new, |process| format!(" of {}", process.pid)),
            (some, _) => format!(" of {some} processes"),
        };
        let late = missing.since_ns.map_or(0, |ns| ns.saturating_sub(trace.start_ns()));
        let since = if late >= 1_000_000_000 {
            format!(" since {}.{} s", late / 1_000_000_000, late / 100_000_000 % 10)
        } else {
            String::new()
        };
        let remedy = missing.remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
        let not_asked = missing.why == NOT_ASKED;
        lines.push((not_asked, format!("{}{of}{since}: {}{remedy}", whats.join(", "), missing.why)));
    }
    lines.sort_by_key(|(not_asked, _)| *not_asked);
    lines.into_iter().map(|(_, line)| line).chain(left_out::lines(trace)).collect()
}

/// What is recorded, or was for a time, in words.
#[must_use]
pub fn seen(trace: &Trace) -> Vec<&'static str> {
    What::ALL.into_iter().filter(|&what| trace.activities.recorded(what)).map(What::words).collect()
}

const NOT_ASKED: &str = "not asked for";

/// Why something is not recorded, by `WHY_*`, and what to do. `detail` is safe for the terminal, or empty.
#[must_use]
pub fn reason(what: What, why: u32, result: u32, detail: &str) -> (String, Option<String>) {
    let other = if detail.is_empty() { "another tool" } else { detail };
    let named = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    let kind = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
    let (why, remedy): (String, &str) = match why {
        wire::WHY_NOT_ASKED => (
            NOT_ASKED.to_owned(),
            match what {
                What::Faults => "start with --um-faults (slows faulting code by up to 70 %)",
                What::Activity | What::Migrations | What::Correlation => "start without --no-gpu",
                What::Ranges => "start without --no-nvtx",
                What::Memory => "start with --gpu-memory (about 1.5 us for each)",
                What::Waits => "start with --gpu-waits (about 0.3 us for each call of any kind)",
                What::Pointers => "start without --no-args, and with launches among what is recorded",
            },
        ),
        wire::WHY_NO_LIBRARY => (
            "there is no libcupti here".to_owned(),
            "install CUPTI of the CUDA toolkit, or add its folder to LD_LIBRARY_PATH",
        ),
        wire::WHY_UNUSABLE_LIBRARY if what == What::Pointers => {
            ("this driver does not tell of the parameters of kernels".to_owned(), "use a driver of CUDA 12.4 or newer")
        }
        wire::WHY_UNUSABLE_LIBRARY => (
            format!("the libcupti that was found lacks functions{named}"),
            "put that of a newer CUDA toolkit first in LD_LIBRARY_PATH",
        ),
        wire::WHY_REFUSED => return refused(result, other),
        wire::WHY_TAKEN => {
            (format!("CUPTI is taken by {other}"), "run without it: only one tool at a time can use CUPTI")
        }
        wire::WHY_STEPPED_ASIDE => (
            format!("{other} began to use CUPTI, and umtui stepped aside"),
            "run without it to see both before and after",
        ),
        wire::WHY_FORKED => (
            "the process was forked from one that had begun to use the GPU".to_owned(),
            "start workers afresh (in Python: multiprocessing's method \"spawn\")",
        ),
        wire::WHY_NO_THREAD => (
            "no thread could be started to collect it".to_owned(),
            "raise the limit on threads (ulimit -u, pids of the container)",
        ),
        wire::WHY_NO_DEVICE => ("there is no device".to_owned(), "look at nvidia-smi and CUDA_VISIBLE_DEVICES"),
        wire::WHY_VARIABLE_TAKEN => {
            (format!("the variable that would load it belongs to another tool{named}"), "run with the variable unset")
        }
        wire::WHY_NOT_IN_FORMAT => (format!("not recorded: this format{kind} never has it"), ""),
        wire::WHY_NOT_IN_INPUT => (format!("not recorded: there is none in this file{kind}"), ""),
        other => (format!("reason {other}, which this version does not know"), "open it with a newer umtui"),
    };
    (why, Some(remedy).filter(|remedy| !remedy.is_empty()).map(str::to_owned))
}

/// `CUptiResult`.
fn refused(result: u32, other: &str) -> (String, Option<String>) {
    let (why, remedy) = match result {
        8 => ("CUPTI has no memory left", "leave some of the host's and the device's memory free"),
        13 | 15 => ("CUPTI was not ready: the driver had not been initialised", "tell us: this should not be"),
        14 => (
            "this libcupti does not fit the driver",
            "use that of the CUDA toolkit that came with the driver, or an older one",
        ),
        26 => ("the hardware is in use by another profiler", "run without it"),
        27 => ("this device or driver does not support it", ""),
        28 => ("this system does not support tracing of unified memory", ""),
        29 => ("this device does not support tracing of unified memory", ""),
        30 => (
            "the GPUs cannot reach each other's memory, which tracing of unified memory needs (IOMMU, PCIe ACS)",
            "make one of them visible by CUDA_VISIBLE_DEVICES",
        ),
        31 => ("tracing of unified memory is not possible under MPS", "run without the MPS daemon"),
        33 => ("not possible on a virtual GPU of this kind", "run on the bare machine or with the GPU passed through"),
        34 => (
            "the program's CUDA is newer than this libcupti",
            "put that of a newer CUDA toolkit first in LD_LIBRARY_PATH",
        ),
        35 => (
            "not allowed for this user",
            "ask for NVreg_RestrictProfilingToAdminUsers=0 in the driver's options, or run as root",
        ),
        36 | 38 => ("the older profiling interface is in use or not supported here", ""),
        39 => {
            let why = format!(
                "CUPTI is taken by {other}: nsys, ncu, cuda-gdb, compute-sanitizer and other profilers use it alone"
            );
            return (why, Some("run without it: only one tool at a time can use CUPTI".to_owned()));
        }
        40 => (
            "not allowed on this virtual GPU",
            "ask for profiling to be enabled for it (vGPU plugin: enable_profiling)",
        ),
        41 => ("not possible while confidential computing is on", "run on a machine without it"),
        42 => ("not possible on a mining card", ""),
        43 => ("not possible on a part of a GPU (MIG)", "run on a whole GPU"),
        44 => ("not possible with SLI", "switch SLI off"),
        45 => ("not possible under WSL with this driver", "use a newer driver, or run on Linux"),
        other => return (format!("CUPTI refused with its result {other}"), None),
    };
    (why.to_owned(), Some(remedy).filter(|remedy| !remedy.is_empty()).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Process;
    use crate::trace::activity::TextId;

    fn trace(said: &[(u64, What, u32, u32)]) -> Trace {
        let mut trace = Trace::default();
        let process = trace.add_process(Process { pid: 7, start_ns: 5, ..Process::default() }).unwrap();
        for &(since_ns, what, why, result) in said {
            let (driver_version, library_version) = (0, 0);
            let statement =
                Statement { since_ns, what, why, detail: TextId(0), result, driver_version, library_version };
            trace.activities.of_mut(process).evidence.add(statement);
        }
        trace
    }

    #[test]
    fn what_is_missing_for_one_reason_is_one_line() {
        let refused = wire::WHY_REFUSED;
        let trace = trace(&[
            (5, What::Activity, refused, 35),
            (5, What::Migrations, refused, 35),
            (9, What::Migrations, refused, 35),
            (5, What::Faults, wire::WHY_NOT_ASKED, 0),
        ]);
        let lines = lines(&trace);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].starts_with("kernels and copies, migrations: not allowed for this user; ask for NVreg_"),
            "{}",
            lines[0]
        );
        assert!(lines[1].starts_with("page faults: not asked for; start with --um-faults"), "{}", lines[1]);
        assert!(seen(&trace).is_empty());
    }

    #[test]
    fn a_gap_has_an_end_and_silence_is_told() {
        let trace = trace(&[
            (5, What::Activity, wire::WHY_RECORDED, 0),
            (20, What::Activity, wire::WHY_STEPPED_ASIDE, 0),
            (30, What::Activity, wire::WHY_RECORDED, 0),
            (6, What::Migrations, wire::WHY_RECORDED, 0),
        ]);
        let missing = missing(&trace);
        assert_eq!((missing[0].since_ns, missing[0].until_ns), (Some(20), Some(30)));
        assert_eq!((missing[1].what, missing[1].since_ns), (What::Faults, None));
        assert_eq!(missing.len(), 2);
        assert_eq!(seen(&trace), ["kernels and copies", "migrations"]);
        assert_eq!(lines(&trace).len(), 1);
    }

    #[test]
    fn a_driver_that_lacks_functions_is_not_taken_for_a_libcupti() {
        let trace = trace(&[
            (5, What::Activity, wire::WHY_UNUSABLE_LIBRARY, 0),
            (5, What::Migrations, wire::WHY_RECORDED, 0),
            (5, What::Faults, wire::WHY_RECORDED, 0),
            (5, What::Pointers, wire::WHY_UNUSABLE_LIBRARY, 0),
        ]);
        let lines = lines(&trace);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].starts_with("pointers of kernels: this driver does not tell"), "{lines:?}");
    }

    #[test]
    fn every_reason_is_a_sentence() {
        for why in 1..14 {
            for result in 0..50 {
                let (why, _) = reason(What::Activity, why, result, "");
                assert!(!why.is_empty() && !why.ends_with('.') && !why.contains('\n'));
            }
        }
    }
}
