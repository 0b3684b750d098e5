//! The program that is started: its streams, its process group, its end.
#![allow(unsafe_code, reason = "setsid between fork and exec, and signals to the child")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::{env, io};

use super::environment::Environment;

/// What becomes of the program's standard streams.
#[derive(Clone, Debug)]
pub enum Streams {
    /// Left as ours.
    Inherited,
    /// Left as ours, but stdout goes where our stderr goes: ours is for what we print ourselves.
    StdoutToStderr,
    /// Output into files; stdin is `/dev/null` unless asked for. The program gets a session of its own, so that
    /// a lost terminal does not end it.
    Files {
        /// For its stdout.
        stdout: PathBuf,
        /// For its stderr.
        stderr: PathBuf,
        /// Whether our stdin becomes its.
        stdin: bool,
    },
}

/// The program could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{program} cannot be started: {error}")]
pub struct ProgramError {
    /// As it was named.
    pub program: String,
    /// Why.
    pub error: io::Error,
}

/// A program that was started.
#[derive(Debug)]
pub struct Program {
    child: Child,
    ended: Option<i32>,
    asked: u32,
}

impl Program {
    /// Starts a command under the hook. `extra` variables are set as well.
    ///
    /// # Errors
    /// If it cannot be started, or its output files cannot be made.
    pub fn start(
        command: &[OsString],
        environment: &Environment,
        extra: &[(OsString, OsString)],
        streams: &Streams,
    ) -> Result<Self, ProgramError> {
        let program = command.first().cloned().unwrap_or_default();
        let failed = |error| ProgramError { program: program.to_string_lossy().into_owned(), error };
        let mut starter = Command::new(&program);
        starter.args(command.iter().skip(1));
        starter.envs(environment.variables(|name| env::var_os(name)));
        starter.envs(extra.iter().map(|(name, value)| (name, value)));
        if matches!(streams, Streams::StdoutToStderr) {
            starter.stdout(io::stderr().as_fd().try_clone_to_owned().map_err(failed)?);
        }
        if let Streams::Files { stdout, stderr, stdin } = streams {
            starter.stdout(File::create(stdout).map_err(failed)?);
            starter.stderr(File::create(stderr).map_err(failed)?);
            if !stdin {
                starter.stdin(Stdio::null());
            }
            // SAFETY: setsid is async-signal-safe and touches no memory.
            unsafe {
                starter.pre_exec(|| {
                    libc::setsid();
                    Ok(())
                });
            }
        }
        let child = starter.spawn().map_err(failed)?;
        Ok(Self { child, ended: None, asked: 0 })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its status once it has ended, as a shell counts it: 128 + n for signal n.
    pub fn poll(&mut self) -> Option<i32> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten().map(status);
        }
        self.ended
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> i32 {
        loop {
            if let Some(ended) = self.ended {
                return ended;
            }
            match self.child.wait() {
                Ok(ended) => self.ended = Some(status(ended)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.ended = Some(1),
            }
        }
    }

    /// Sends it a signal, if it has not ended.
    pub fn signal(&mut self, signal: i32) {
        if self.poll().is_none() {
            // SAFETY: the child has not been waited for, so its pid is still its own.
            unsafe { libc::kill(self.child.id().cast_signed(), signal) };
        }
    }

    /// Asks it to end: SIGINT first, then SIGTERM, then SIGKILL.
    pub fn terminate(&mut self) {
        let signal = [libc::SIGINT, libc::SIGTERM].get(self.asked as usize).copied().unwrap_or(libc::SIGKILL);
        self.asked += 1;
        self.signal(signal);
    }
}

fn status(ended: ExitStatus) -> i32 {
    ended.code().unwrap_or_else(|| 128 + ended.signal().unwrap_or(0))
}

/// The command's program, for messages and folder names.
#[must_use]
pub fn program_name(command: &[OsString]) -> &OsStr {
    command.first().map_or(OsStr::new(""), |program| program.as_os_str())
}

/// Sends a signal to a program that is known to be our child and not yet waited for.
pub fn signal(pid: u32, signal: i32) {
    // SAFETY: a signal to a process id; at worst there is none of that id.
    unsafe { libc::kill(pid.cast_signed(), signal) };
}
