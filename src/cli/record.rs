//! `umtui record`: run a program under the hook, without a screen.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Context as _;

use super::arguments::{Record, Recording};
use crate::launch::{self, Environment, Program, RunFolder, Streams};

/// Runs the program with its streams as they are; the result is its status.
///
/// # Errors
/// If the hook, the folder or the program cannot be had.
pub fn run(arguments: &Record) -> anyhow::Result<u8> {
    let folder = folder(&arguments.recording, launch::program_name(&arguments.command).as_ref())?;
    if let Some(why) = launch::why_silent(Path::new(launch::program_name(&arguments.command))) {
        eprintln!("umtui: nothing will be recorded: {why}");
    }
    let status = run_in(&folder, &arguments.recording, &arguments.command, &[], &Streams::Inherited)?;
    finish(&folder);
    Ok(status)
}

/// The folder that was asked for, or one for the program.
pub(super) fn folder(recording: &Recording, program: &Path) -> anyhow::Result<RunFolder> {
    match &recording.output {
        Some(path) => Ok(RunFolder::at(path)?),
        None => Ok(RunFolder::for_program(program.as_os_str())?),
    }
}

/// The environment that was asked for.
pub(super) fn environment(folder: &RunFolder, recording: &Recording) -> anyhow::Result<Environment> {
    let options = recording.extent.options();
    let hook = launch::hook().context("the hook cannot be unpacked")?;
    Ok(Environment::new(&hook, folder.path(), &options)?)
}

/// Runs a command to its end. Signals from the terminal reach it directly, since it shares our process group;
/// the others are passed on. Either way it is the program that decides, and we wait for it.
pub(super) fn run_in(
    folder: &RunFolder,
    recording: &Recording,
    command: &[OsString],
    extra: &[(OsString, OsString)],
    streams: &Streams,
) -> anyhow::Result<u8> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    let environment = environment(folder, recording)?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2])?;
    let mut program = Program::start(command, &environment, extra, streams)?;
    let pid = program.pid();
    let handle = signals.handle();
    let passer = std::thread::spawn(move || {
        for signal in signals.forever() {
            if !matches!(signal, SIGINT | SIGQUIT) {
                launch::signal(pid, signal);
            }
        }
    });
    let status = program.wait();
    handle.close();
    let _ = passer.join();
    Ok(u8::try_from(status).unwrap_or(1))
}

/// Looks up call-site names while the program's files are as they were, and says where the recording is.
pub(super) fn finish(folder: &RunFolder) {
    match super::symbolize::write(folder.path()) {
        Ok(true) => {}
        Ok(false) => {
            eprintln!("umtui: no CUDA call was seen, nothing is recorded; `umtui doctor` says what may be in the way");
            return;
        }
        Err(error) => eprintln!("umtui: call sites keep their addresses: {error:#}"),
    }
    eprintln!("umtui: recorded in {}", folder.path().display());
}
