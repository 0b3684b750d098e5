//! `umtui stream`, and `umtui record` into a pipe: recordings sent on while they are made.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use super::arguments::{Recording, Stream};
use super::record;
use crate::forward::{self, Control, Output, PrivateFolder, Summary, Target};
use crate::launch::Streams;
use crate::parse::sniff::{Format, sniff};
use crate::source::FileBytes;

/// Cap on each process's file on its way, unless something else is asked for: what a reader may lag behind, and what a
/// reader that never comes may cost.
const MAX_BYTES: u64 = 256 << 20;

/// Sends a recording that somebody else makes.
///
/// # Errors
/// If it cannot be read, or the pipe not be had.
pub fn run(arguments: &Stream) -> anyhow::Result<u8> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let path = &arguments.path;
    if path.is_file() {
        let name = path.display().to_string();
        let bytes = FileBytes::open(path).with_context(|| name.clone())?;
        if !matches!(sniff(&bytes, &name)?, Format::Native | Format::Nothing) {
            return Err(anyhow!("{name}: only what the hook records can be sent on; `umtui open` shows this as it is"));
        }
    }
    let target = Target::of(&arguments.output).ok_or_else(|| {
        anyhow!("{} is no FIFO; make one with mkfifo, or use - for stdout", arguments.output.display())
    })?;
    let control = Arc::new(Control::new(drain(arguments.draining.drain)));
    let output = Output::new(target, control.clone())?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let handle = signals.handle();
    let told = control.clone();
    let listener = std::thread::spawn(move || {
        for _ in signals.forever() {
            // What is there is still sent; the second time it is not.
            if told.ended().is_some() {
                told.give_up();
            }
            told.end();
        }
    });
    let summary = forward::run(std::slice::from_ref(path), false, true, output, &control);
    handle.close();
    let _ = listener.join();
    tell(summary?, None);
    Ok(0)
}

/// Runs a program and sends what it records into a pipe; the result is its status.
///
/// # Errors
/// If the hook, a private folder, the pipe or the program cannot be had.
pub(super) fn record(
    target: Target,
    recording: &Recording,
    drain_seconds: u32,
    command: &[OsString],
    extra: &[(OsString, OsString)],
) -> anyhow::Result<u8> {
    let control = Arc::new(Control::new(drain(drain_seconds)));
    // Where the stream goes to stdout, nothing else may.
    let streams = if target == Target::Stdout { Streams::StdoutToStderr } else { Streams::Inherited };
    let output = Output::new(target, control.clone())?;
    let folder = PrivateFolder::new()?;
    let environment = record::environment_for(folder.path(), recording, MAX_BYTES)?;
    let mut sender = Some(start(folder.path(), output, &control)?);
    let mut summary = None;
    let status = record::supervise(command, &environment, extra, &streams, Some(&control), || {
        summary = sender.take().and_then(|sender| sender.join().ok());
    });
    if let Some(sender) = sender {
        // The program was not started.
        control.end();
        control.give_up();
        let _ = sender.join();
    }
    let status = status?;
    if let Some(summary) = summary {
        tell(summary?, Some(recording));
    }
    Ok(status)
}

fn start(folder: &Path, output: Output, control: &Arc<Control>) -> anyhow::Result<JoinHandle<anyhow::Result<Summary>>> {
    let (paths, control): (Vec<PathBuf>, _) = (vec![folder.to_owned()], control.clone());
    let body = move || forward::run(&paths, true, false, output, &control).map_err(Into::into);
    std::thread::Builder::new().name("forward".into()).spawn(body).context("cannot start a thread")
}

fn drain(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds))
}

fn tell(summary: Summary, recording: Option<&Recording>) {
    if summary.processes == 0 {
        let (unseen, advice) = recording
            .map_or(("no CUDA call was seen", "`umtui doctor` says what may be in the way"), |recording| {
                (recording.extent.unseen(), recording.extent.advice())
            });
        eprintln!("umtui: {unseen}, nothing was sent; {advice}");
    }
    if summary.unread > 0 {
        eprintln!("umtui: {} events were recorded and read by nobody", summary.unread);
    }
    if summary.unrecorded > 0 {
        eprintln!("umtui: {} events could not be recorded: what waited for a reader took all room", summary.unrecorded);
    }
}
