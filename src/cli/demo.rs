//! `umtui demo`: a workload on the stand-in CUDA, recorded as any program is.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::Context as _;

use super::arguments::{Demo, Report, ReportFormat, Seen};
use super::{record, report, run, stream};
use crate::forward::Target;
use crate::launch::{self, Streams};

/// Seconds that a reader of a stream is waited for at the end.
const DRAIN: u32 = 5;

/// A workload.
struct Scenario {
    name: &'static str,
    what: &'static str,
    /// Arguments that make it last about a minute, for watching; without them it takes a moment.
    to_watch: &'static [&'static str],
}

const SCENARIOS: [Scenario; 7] = [
    Scenario {
        name: "pingpong",
        what: "64 MiB managed, written by kernels and read by the CPU in turn: pages bounce",
        to_watch: &["--rounds", "2000"],
    },
    Scenario {
        name: "prefetch",
        what: "the same with a prefetch to the device before each kernel",
        to_watch: &["--rounds", "2000"],
    },
    Scenario {
        name: "training",
        what: "three streams, pools, pinned copies, a monitoring thread: nothing is wrong with it",
        to_watch: &["--rounds", "6000"],
    },
    Scenario {
        name: "leak",
        what: "a training loop that keeps 200,000 bytes of each step, from one call site",
        to_watch: &["--rounds", "6000"],
    },
    Scenario {
        name: "use-after-free",
        what: "memory freed on one stream while a kernel on another reads it, and handed out again",
        to_watch: &["--rounds", "7000"],
    },
    Scenario {
        name: "multi-gpu",
        what: "two devices: copies with and without peer access and through the host, shared managed memory",
        to_watch: &["--rounds", "10000"],
    },
    Scenario {
        name: "stress",
        what: "as many cheap calls as asked for: -- --calls N --threads N --rate N --seconds N",
        to_watch: &["--threads", "4", "--rate", "100000", "--seconds", "60"],
    },
];

/// Runs a workload, then shows it or prints its report.
///
/// # Errors
/// If the workload is unknown, or cannot be unpacked or run.
pub fn run(arguments: &Demo) -> anyhow::Result<u8> {
    if arguments.list {
        for Scenario { name, what, .. } in SCENARIOS {
            println!("{name:<15} {what}");
        }
        return Ok(0);
    }
    let names = SCENARIOS.map(|scenario| scenario.name).join(", ");
    let wanted = SCENARIOS.into_iter().find(|scenario| scenario.name == arguments.scenario);
    let scenario =
        wanted.with_context(|| format!("no workload is called {}; there are {names}", arguments.scenario))?;
    let demo = launch::demo().context("the stand-in CUDA cannot be unpacked")?;
    let mut command: Vec<OsString> = vec![demo.program.into_os_string(), arguments.scenario.clone().into()];
    command.extend(arguments.arguments.iter().cloned());
    let extra = [("LD_LIBRARY_PATH".into(), library_path(&demo.libraries)?)];
    let target = arguments.recording.output.as_deref().and_then(Target::of).filter(|_| !arguments.report);
    if let Some(target) = target {
        return stream::record(target, &arguments.recording, DRAIN, &command, &extra);
    }
    let folder = record::folder(&arguments.recording, Path::new(&arguments.scenario))?;
    if !arguments.report && std::io::stdout().is_terminal() {
        if arguments.arguments.is_empty() {
            command.extend(scenario.to_watch.iter().map(OsString::from));
        }
        return run::explore(&folder, &arguments.recording, &arguments.screen, &command, &extra, false);
    }
    let status = record::run_in(&folder, &arguments.recording, &command, &extra, &Streams::StdoutToStderr)?;
    record::finish(&folder, &arguments.recording);
    if status == 0 || arguments.format == ReportFormat::Text {
        report::run(&Report {
            paths: vec![folder.path().to_owned()],
            format: arguments.format,
            heatmap: None,
            width: 80,
            height: 24,
            snapshot: Vec::new(),
            seen: Seen::default(),
            links: super::links::Links::default(),
        })?;
    }
    Ok(status)
}

/// The stand-in before whatever is there; libraries must not be looked for in the folder that the user is in.
fn library_path(libraries: &Path) -> anyhow::Result<OsString> {
    let others = std::env::var_os("LD_LIBRARY_PATH").filter(|path| !path.is_empty());
    let folders = others.iter().flat_map(std::env::split_paths);
    Ok(std::env::join_paths(std::iter::once(libraries.to_owned()).chain(folders))?)
}
