//! `umtui demo`: a workload on the stand-in CUDA, recorded as any program is.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::Context as _;

use super::arguments::{Demo, Report, ReportFormat};
use super::{record, report, run};
use crate::launch;

/// Workloads and what each is for.
const SCENARIOS: [(&str, &str); 4] = [
    ("pingpong", "64 MiB managed, written by kernels and read by the CPU in turn: pages bounce"),
    ("prefetch", "the same with a prefetch to the device before each kernel"),
    ("training", "three streams, pools, pinned copies, a monitoring thread: nothing is wrong with it"),
    ("stress", "as many cheap calls as asked for: -- --calls N --threads N --rate N --seconds N"),
];

/// Runs a workload, then shows it or prints its report.
///
/// # Errors
/// If the workload is unknown, or cannot be unpacked or run.
pub fn run(arguments: &Demo) -> anyhow::Result<u8> {
    if arguments.list {
        for (name, what) in SCENARIOS {
            println!("{name:<10} {what}");
        }
        return Ok(0);
    }
    let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.0).collect();
    anyhow::ensure!(
        names.contains(&arguments.scenario.as_str()),
        "no workload is called {}; there are {}",
        arguments.scenario,
        names.join(", ")
    );
    let demo = launch::demo().context("the stand-in CUDA cannot be unpacked")?;
    let mut command: Vec<OsString> = vec![demo.program.into_os_string(), arguments.scenario.clone().into()];
    command.extend(arguments.arguments.iter().cloned());
    let extra = [("LD_LIBRARY_PATH".into(), library_path(&demo.libraries)?)];
    let folder = record::folder(&arguments.recording, Path::new(&arguments.scenario))?;
    if !arguments.report && std::io::stdout().is_terminal() {
        return run::explore(&folder, &arguments.recording, &arguments.screen, &command, &extra, false);
    }
    let status = record::run_in(&folder, &arguments.recording, &command, &extra)?;
    record::finish(&folder);
    if status == 0 || arguments.format == ReportFormat::Text {
        report::run(&Report { paths: vec![folder.path().to_owned()], format: arguments.format })?;
    }
    Ok(status)
}

/// The stand-in before whatever is there; libraries must not be looked for in the folder that the user is in.
fn library_path(libraries: &Path) -> anyhow::Result<OsString> {
    let others = std::env::var_os("LD_LIBRARY_PATH").filter(|path| !path.is_empty());
    let folders = others.iter().flat_map(std::env::split_paths);
    Ok(std::env::join_paths(std::iter::once(libraries.to_owned()).chain(folders))?)
}
