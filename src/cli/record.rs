//! `umtui record`: run a program under the hook, without a screen.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;

use super::arguments::{Record, Recording};
use super::stream;
use crate::forward::{Control, Target};
use crate::launch::{self, Environment, Program, RunFolder, Streams};

/// Cap on each process's file, unless something else is asked for.
pub(super) const MAX_BYTES: u64 = 4 << 30;

/// Runs the program with its streams as they are; the result is its status.
///
/// # Errors
/// If the hook, the folder or the program cannot be had.
pub fn run(arguments: &Record) -> anyhow::Result<u8> {
    warn(&arguments.command);
    if let Some(target) = arguments.recording.output.as_deref().and_then(Target::of) {
        let drain = arguments.draining.drain;
        return stream::record(target, &arguments.recording, drain, &arguments.command, &[]);
    }
    let folder = folder(&arguments.recording, launch::program_name(&arguments.command).as_ref())?;
    let status = run_in(&folder, &arguments.recording, &arguments.command, &[], &Streams::Inherited)?;
    finish(&folder, &arguments.recording);
    Ok(status)
}

fn warn(command: &[OsString]) {
    if let Some(why) = launch::why_silent(Path::new(launch::program_name(command))) {
        eprintln!("umtui: nothing will be recorded: {why}");
    }
}

/// The folder that was asked for, or one for the program.
pub(super) fn folder(recording: &Recording, program: &Path) -> anyhow::Result<RunFolder> {
    match &recording.output {
        Some(path) if Target::of(path).is_some() => {
            anyhow::bail!("{} is no folder; only `umtui record` writes into a pipe", path.display())
        }
        Some(path) => Ok(RunFolder::at(path)?),
        None => Ok(RunFolder::for_program(program.as_os_str())?),
    }
}

/// The environment that was asked for.
pub(super) fn environment(folder: &RunFolder, recording: &Recording) -> anyhow::Result<Environment> {
    environment_for(folder.path(), recording, MAX_BYTES)
}

/// The environment for a folder, with the cap on each process's file that holds if nothing was said.
pub(super) fn environment_for(folder: &Path, recording: &Recording, max_bytes: u64) -> anyhow::Result<Environment> {
    let hook = launch::hook().context("the hook cannot be unpacked")?;
    Ok(Environment::new(&hook, folder, &recording.extent.options(max_bytes))?)
}

/// Runs a command to its end.
pub(super) fn run_in(
    folder: &RunFolder,
    recording: &Recording,
    command: &[OsString],
    extra: &[(OsString, OsString)],
    streams: &Streams,
) -> anyhow::Result<u8> {
    supervise(command, &environment(folder, recording)?, extra, streams, None, || {})
}

/// Runs a command to its end, then does what is left to do. Signals from the terminal reach the program directly, since
/// it shares our process group; the others are passed on. Either way it is the program that decides, and we wait for
/// it. After its end a signal ends our waiting for readers.
pub(super) fn supervise(
    command: &[OsString],
    environment: &Environment,
    extra: &[(OsString, OsString)],
    streams: &Streams,
    control: Option<&Arc<Control>>,
    after: impl FnOnce(),
) -> anyhow::Result<u8> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2])?;
    let mut program = Program::start(command, environment, extra, streams)?;
    let pid = program.pid();
    let handle = signals.handle();
    let control = control.cloned();
    let told = control.clone();
    let passer = std::thread::spawn(move || {
        for signal in signals.forever() {
            match &told {
                Some(control) if control.ended().is_some() => control.give_up(),
                _ if !matches!(signal, SIGINT | SIGQUIT) => launch::signal(pid, signal),
                _ => {}
            }
        }
    });
    let status = program.wait();
    if let Some(control) = control {
        control.end();
    }
    after();
    handle.close();
    let _ = passer.join();
    Ok(u8::try_from(status).unwrap_or(1))
}

/// Looks up call-site names while the program's files are as they were, and says where the recording is.
pub(super) fn finish(folder: &RunFolder, recording: &Recording) {
    if !folder.path().is_dir() {
        eprintln!("umtui: {} was moved or removed while it was recorded into", folder.path().display());
        return;
    }
    match super::symbolize::write(folder.path()) {
        Ok(true) => {}
        Ok(false) => {
            eprintln!("umtui: {}, nothing is recorded; {}", recording.extent.unseen(), recording.extent.advice());
            return;
        }
        Err(error) => eprintln!("umtui: call sites keep their addresses: {error:#}"),
    }
    eprintln!("umtui: recorded in {}", folder.path().display());
}
