//! Other tracers round the same call: uftrace and LTTng-UST.

use super::{Bench, Under, time};
use std::cell::RefCell;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// uftrace, which writes 16 bytes at a call's entry and at its exit.
pub struct Uftrace {
    /// Calls that the last recording held, and how many were made.
    last: RefCell<Vec<(&'static str, u64, u64)>>,
}

impl Uftrace {
    /// It, if it is installed.
    pub fn find() -> Result<Self, String> {
        match Command::new("uftrace").arg("--version").output() {
            Ok(output) if output.status.success() => Ok(Self { last: RefCell::default() }),
            _ => Err("uftrace is not installed".to_owned()),
        }
    }

    /// Nanoseconds a call of a loop under `uftrace record`.
    pub fn time(&self, bench: &Bench, program: &'static str, calls: u64) -> f64 {
        let folder = tempfile::tempdir_in(bench.disk.path()).unwrap();
        let data = folder.path().join("data");
        let (looped, _) = bench.command(program, &["pointee", &calls.to_string()], Under::Nothing);
        let mut command = Command::new("uftrace");
        // Built with -pg, only what is measured was; else it has to be told to take a program without.
        let mode = if program == "loop_pg" { "--no-libcall" } else { "--force" };
        // Buffers large enough to lose nothing.
        command.args(["record", mode, "-b", "8m", "-d"]).arg(&data);
        command.arg(looped.get_program()).args(looped.get_args()).env_remove("LD_PRELOAD");
        let time = time(command).spent;
        let mut last = self.last.borrow_mut();
        if !last.iter().any(|&(known, ..)| known == program) {
            // 1,000 calls before the five loops.
            last.push((program, recorded(&data), 5 * calls + 1000));
        }
        time
    }

    /// What the recordings held.
    pub fn recorded(&self) -> String {
        let last = self.last.borrow();
        let said = last.iter().map(|(program, held, made)| format!("{program} {held} of {made} calls"));
        format!("uftrace recorded: {}", said.collect::<Vec<_>>().join(", "))
    }
}

/// Calls of the measured function in a recording, as uftrace's report counts them.
fn recorded(data: &Path) -> u64 {
    let mut command = Command::new("uftrace");
    let output = command.args(["report", "-f", "call", "-d"]).arg(data).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.trim_end().ends_with("cuDriverGetVersion"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// LTTng-UST with a session daemon of its own, as another user if we are root, since root's would be the system's.
pub struct Lttng {
    daemon: Child,
    home: tempfile::TempDir,
    user: Option<u32>,
    library: std::path::PathBuf,
}

/// The user that owns nothing.
const NOBODY: u32 = 65534;

impl Lttng {
    /// Starts the daemon and a session that writes to disk.
    pub fn start(programs: &Path) -> Result<Self, String> {
        let library = programs.join("lttng.so");
        if !library.exists() {
            return Err("liblttng-ust-dev is not installed".to_owned());
        }
        if Command::new("lttng").arg("--version").output().is_err() {
            return Err("lttng-tools is not installed".to_owned());
        }
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        // SAFETY: no memory is touched.
        let user = (unsafe { libc::geteuid() } == 0).then_some(NOBODY);
        let given = std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755))
            .and_then(|()| std::os::unix::fs::chown(home.path(), user, user));
        given.map_err(|error| error.to_string())?;
        // The programs and all folders above them have to be open to that user.
        for name in ["lttng.so", "loop", "libcuda.so.1"] {
            std::fs::copy(programs.join(name), home.path().join(name)).map_err(|error| error.to_string())?;
        }
        let library = home.path().join("lttng.so");
        let mut command = Command::new("lttng-sessiond");
        command.args(["--no-kernel", "--quiet"]).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = settle(&mut command, &home, user).spawn().map_err(|error| format!("lttng-sessiond: {error}"))?;
        let started = Self { daemon, home, user, library };
        started.wait()?;
        let trace = started.home.path().join("trace");
        started.lttng(&["create", "umtui-bench", "--output", &trace.display().to_string()])?;
        started.lttng(&["enable-channel", "-u", "c", "--subbuf-size=8M", "--num-subbuf=8"])?;
        started.lttng(&["enable-event", "-u", "-c", "c", "umtui_bench:*"])?;
        started.lttng(&["start"])?;
        Ok(started)
    }

    fn wait(&self) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            if self.lttng(&["list"]).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("lttng-sessiond does not answer".to_owned())
    }

    fn lttng(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("lttng");
        // Never start another daemon.
        command.arg("--no-sessiond").args(arguments);
        let output = settle(&mut command, &self.home, self.user).output().map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(format!("lttng {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
    }

    /// Nanoseconds a call of the loop with two events round it.
    pub fn time(&self, _bench: &Bench, calls: u64) -> f64 {
        let mut command = Command::new(self.home.path().join("loop"));
        command.args(["pointee", &calls.to_string()]).env("LD_PRELOAD", &self.library);
        command.env("LD_LIBRARY_PATH", self.home.path()).env("LTTNG_UST_REGISTER_TIMEOUT", "-1");
        settle(&mut command, &self.home, self.user);
        time(command).spent
    }

    /// Whether events were dropped.
    pub fn recorded(&self) -> String {
        let _ = self.lttng(&["stop"]);
        let said = self.lttng(&["list", "umtui-bench"]).unwrap_or_default();
        let dropped = said.lines().find(|line| line.contains("iscarded")).unwrap_or("discarded events not told").trim();
        format!("LTTng: {dropped}")
    }
}

impl Drop for Lttng {
    fn drop(&mut self) {
        let _ = self.lttng(&["destroy", "umtui-bench"]);
        super::common::signal(self.daemon.id(), libc::SIGTERM);
        let _ = self.daemon.wait();
    }
}

/// Makes a command part of the private session.
fn settle<'a>(command: &'a mut Command, home: &tempfile::TempDir, user: Option<u32>) -> &'a mut Command {
    command.env("LTTNG_HOME", home.path()).env("HOME", home.path()).current_dir(home.path()).stdin(Stdio::null());
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command
}
