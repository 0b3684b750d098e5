//! `umtui -- COMMAND`: run a program and explore it live.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::arguments::{Recording, Run, Screen};
use super::child::Started;
use super::{config, record};
use crate::launch::{self, Program, RunFolder, Streams};
use crate::session::Session;
use crate::session::handle::{Child, Handle};
use crate::ui::{self, Outcome};

/// How long a program is waited for without a word after the screens have gone.
const SILENT: Duration = Duration::from_millis(500);

/// Runs the program and shows it; the result is its status.
///
/// # Errors
/// If the hook, the folder, the program or a terminal cannot be had.
pub fn run(arguments: &Run) -> anyhow::Result<u8> {
    let folder = record::folder(&arguments.recording, launch::program_name(&arguments.command).as_ref())?;
    explore(&folder, &arguments.recording, &arguments.screen, &arguments.command, &[], arguments.stdin)
}

/// Runs a command under the hook with screens.
pub(super) fn explore(
    folder: &RunFolder,
    recording: &Recording,
    screen: &Screen,
    command: &[OsString],
    extra: &[(OsString, OsString)],
    stdin: bool,
) -> anyhow::Result<u8> {
    let setup = config::setup(screen)?;
    // Before the program is started: without a terminal there would be nothing to show it on.
    ui::check_terminal()?;
    let environment = record::environment(folder, recording)?;
    let streams = Streams::Files { stdout: folder.stdout(), stderr: folder.stderr(), stdin };
    let program = Program::start(command, &environment, extra, &streams)?;
    let pid = program.pid();
    let child = Started::new(program, folder, Path::new(launch::program_name(command)), &recording.extent.capture);
    let (answers, received) = mpsc::channel();
    let session = Session::open(
        &[folder.path().to_owned()],
        Some(Box::new(child)),
        Box::new(move |answer| {
            let _ = answers.send(answer);
        }),
    )?;
    let session = Arc::new(session);
    let outcome = ui::run(Box::new(Arc::clone(&session)), received, setup)?;
    match outcome {
        Outcome::Signalled(signal) => return Ok(u8::try_from(128 + signal).unwrap_or(1)),
        Outcome::TerminalLost => return Ok(128 + 1),
        Outcome::Detached => {
            eprintln!("umtui: {pid} runs on, recorded in {}", folder.path().display());
            return Ok(0);
        }
        Outcome::Quit | Outcome::Terminated => {}
    }
    let status = wait(&session, pid);
    // Writes the names of call sites.
    drop(session);
    eprintln!("umtui: recorded in {}", folder.path().display());
    Ok(u8::try_from(status).unwrap_or(1))
}

/// Waits for the program, which has ended or been told to. One that takes its time is left running by Ctrl-c, which
/// has its usual effect by now: it ends us.
fn wait(session: &Session, pid: u32) -> i32 {
    let said_after = Instant::now() + SILENT;
    let mut said = false;
    loop {
        match session.child() {
            Some(Child::Ended { status }) => return status,
            Some(Child::Running { .. }) => std::thread::sleep(Duration::from_millis(10)),
            None => return 0,
        }
        if !said && Instant::now() >= said_after {
            said = true;
            eprintln!("umtui: waiting for {pid} to end; Ctrl-c lets it run on");
        }
    }
}
