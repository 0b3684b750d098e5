//! The real binary in a pseudo-terminal: what it does with the program it started, and what of it is seen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod common;
#[path = "common/pty.rs"]
mod pty;

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{UMTUI, programs, wait_for};
use pty::{Exit, Launch, Leftover, Terminal, contents};

/// Folder of a recording that is gone after the test.
struct Run(tempfile::TempDir);

impl Run {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("run")
    }

    fn stdout(&self) -> PathBuf {
        self.path().join("stdout.txt")
    }

    /// `umtui -o RUN OPTIONS -- COMMAND`.
    fn umtui(&self, options: &[&str], command: &[&str]) -> Launch {
        let run = self.path();
        let words = ["-o", run.to_str().unwrap()].into_iter().chain(options.iter().copied());
        Launch::umtui(words.chain(["--"]).chain(command.iter().copied()))
    }

    fn events(&self) -> u64 {
        common::report(&[&self.path()])["trace"]["events"].as_u64().unwrap()
    }
}

/// A shell script that keeps running for longer than any test, and says when it has begun.
fn waiting(script: &str) -> String {
    format!("{script}; echo ready; i=0; while [ $i -lt 1200 ]; do sleep 0.05; i=$((i+1)); done")
}

/// The process that the quit dialog asks about.
fn ask_to_quit(terminal: &mut Terminal) -> u32 {
    terminal.keys("q");
    let dialog = terminal.wait_for(&["still runs", "d  detach", "t  terminate", "s  stay"]);
    pty::number_after(&dialog, "Process ")
}

#[test]
fn the_exit_status_is_the_programs() {
    for (script, status) in [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -15 $$", 143)]
    {
        let run = Run::new();
        let mut terminal = run.umtui(&[], &["sh", "-c", script]).start();
        let ended = terminal.wait_for(&["ENDED"]);
        assert_eq!(ended.contains("exit "), status != 0, "{ended}");
        if status != 0 {
            assert!(ended.contains(&format!("exit {status} ")), "{ended}");
        }
        terminal.keys("q");
        terminal.exits_with(Exit::Status(status));
        assert!(terminal.text().contains("umtui: recorded in"), "{}", terminal.text());
    }
}

#[test]
fn a_crash_is_shown_with_its_status_and_every_call() {
    let Some(folder) = programs() else { return };
    let run = Run::new();
    let mut terminal = run.umtui(&[], &[folder.join("die").to_str().unwrap(), "segv"]).start();
    terminal.wait_for(&["ENDED", "exit 139", "stop", "killed, crashed or _exit", "cudaGetDevice", "1.2 k calls"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(139));
    assert_eq!(common::calls(&common::report(&[&run.path()]), "cudaGetDevice"), 1000);
}

#[test]
fn quitting_asks_and_detaching_lets_it_be_recorded_on() {
    let run = Run::new();
    let path = run.path();
    let demo = ["demo", "stress", "-o", path.to_str().unwrap(), "--", "--rate", "5000", "--seconds", "120"];
    let mut terminal = Launch::umtui(demo).start();
    terminal.wait_for(&["LIVE", "time goes to", "cudaGetDevice"]);
    let demo = Leftover(ask_to_quit(&mut terminal));
    terminal.keys("s");
    terminal.wait("no dialog", |text| !text.contains("still runs") && text.contains("LIVE"));
    assert_eq!(ask_to_quit(&mut terminal), demo.0);
    terminal.keys("\x1b");
    terminal.wait("no dialog", |text| !text.contains("still runs") && text.contains("LIVE"));
    assert!(pty::runs(demo.0));
    ask_to_quit(&mut terminal);
    terminal.keys("d");
    terminal.exits_with(Exit::Status(0));
    let parting = format!("umtui: {} runs on, recorded in", demo.0);
    assert!(terminal.text().contains(&parting), "{}", terminal.text());
    let before = run.events();
    wait_for("a growing recording", pty::DEADLINE, || run.events() > before);
    assert!(pty::runs(demo.0));
    // Whoever opens it sees it live; when it has ended, what the program counted is in it.
    let mut second = Launch::umtui(["open", path.to_str().unwrap()]).start();
    second.wait_for(&["LIVE", "calls/s", "cudaGetDevice"]);
    pty::send(demo.0, libc::SIGTERM);
    second.wait_for(&["ENDED"]);
    second.keys("q");
    second.exits_with(Exit::Status(0));
}

#[test]
fn quitting_may_end_the_program() {
    let run = Run::new();
    let mut terminal = run.umtui(&[], &["sh", "-c", &waiting("trap 'exit 5' INT")]).start();
    wait_for("the program", pty::DEADLINE, || contents(&run.stdout()).contains("ready"));
    let program = Leftover(ask_to_quit(&mut terminal));
    terminal.keys("t");
    terminal.exits_with(Exit::Status(5));
    assert!(!pty::runs(program.0));
}

#[test]
fn a_program_that_will_not_end_is_waited_for_and_ctrl_c_lets_it_go() {
    let run = Run::new();
    let mut terminal = run.umtui(&[], &["sh", "-c", &waiting("trap '' INT TERM")]).start();
    wait_for("the program", pty::DEADLINE, || contents(&run.stdout()).contains("ready"));
    let program = Leftover(ask_to_quit(&mut terminal));
    terminal.keys("t");
    terminal.wait_for(&[&format!("umtui: waiting for {} to end", program.0), "Ctrl-c"]);
    assert!(terminal.restored() && !terminal.alternate());
    terminal.keys("\x03");
    assert_eq!(terminal.exit(), Exit::Signal(libc::SIGINT));
    assert!(pty::runs(program.0));
}

#[test]
fn ctrl_c_goes_to_the_program_and_the_second_time_ends_both() {
    let run = Run::new();
    let mut terminal = run.umtui(&[], &["sh", "-c", &waiting("trap 'echo interrupted' INT")]).start();
    wait_for("the program", pty::DEADLINE, || contents(&run.stdout()).contains("ready"));
    terminal.wait_for(&["LIVE"]);
    terminal.keys("\x03");
    let notice = terminal.wait_for(&["interrupted process", "Ctrl-c again terminates it and quits"]);
    let program = Leftover(pty::number_after(&notice, "interrupted process "));
    wait_for("what the program does then", pty::DEADLINE, || contents(&run.stdout()).contains("interrupted"));
    assert!(pty::runs(program.0) && terminal.ended().is_none());
    terminal.keys("\x03");
    terminal.exits_with(Exit::Status(128 + libc::SIGTERM));
    // Without a program it just leaves.
    // Where nothing was recorded, a process is waited for.
    let mut terminal = Launch::umtui(["open", run.path().to_str().unwrap()]).start();
    terminal.wait_for(&["WAITING"]);
    terminal.keys("\x03");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn what_the_program_prints_is_on_its_screen_and_nowhere_else() {
    let run = Run::new();
    let script = "printf 'to stdout \\033[31mred\\033[2J\\n'; echo to stderr >&2; read line; echo \"read <$line>\"";
    let mut terminal = run.umtui(&["--screen", "output"], &["sh", "-c", script]).start();
    terminal.wait_for(&["to stdout", "to stderr", "read <>", "err", "ENDED"]);
    terminal.keys("1");
    let overview = terminal.wait_for(&["hook"]);
    assert!(!overview.contains("to stdout"), "{overview}");
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
    let after = terminal.text();
    assert!(!after.contains("to stdout") && !after.contains("to stderr"), "{after}");
    assert_eq!((terminal.count(b"\x1b[31m"), terminal.count(b"\x1b[2Jx")), (0, 0));
    assert!(contents(&run.stdout()).starts_with("to stdout \x1b[31mred"));
    assert_eq!(contents(&run.path().join("stderr.txt")), "to stderr\n");
}

/// How long after the program went into a call that call is on the screen, or `None` if it was not in time.
fn seen_after(screen: &str, limit: Duration) -> Option<Duration> {
    let folder = programs()?;
    let run = Run::new();
    let die = folder.join("die");
    let mut terminal = run.umtui(&["--screen", screen], &[die.to_str().unwrap(), "blocked", "20"]).start();
    // Of a list of events its end.
    terminal.keys(if screen == "events" { "F" } else { "" });
    // It says so just before.
    wait_for("the program", pty::DEADLINE, || contents(&run.stdout()).contains("about to: blocked"));
    let called = Instant::now();
    // Calls before it may be seen running as well.
    let names = ["cudaDeviceSynchronize", "cudaLaunchHostFunc", "cuCtxSynchronize", "cuLaunchHostFunc"];
    let named = |line: &str| names.iter().any(|name| line.contains(name));
    let text = terminal.wait("the call that has not ended", |text| match screen {
        "overview" => text.lines().any(|line| line.starts_with("now ") && line.contains("for ") && named(line)),
        "calls" => text.contains("1 running now") || text.contains("running"),
        _ => text.lines().any(|line| line.contains("running") && named(line)),
    });
    let seen = called.elapsed();
    eprintln!("{screen}: a call that blocks is seen after {seen:?}");
    let _program = Leftover(pty::number_after(&text, "die "));
    (seen <= limit).then_some(seen)
}

#[test]
fn a_call_that_blocks_is_seen_at_once() {
    if programs().is_none() {
        return;
    }
    for screen in ["overview", "calls", "events"] {
        // The machine may be busy: it must be able to.
        let seen = (0..4).find_map(|_| seen_after(screen, Duration::from_millis(300)));
        assert!(seen.is_some(), "on {screen} a call that blocks is seen later than after 300 ms");
    }
}

#[test]
fn a_program_without_calls_is_explained() {
    let run = Run::new();
    let mut terminal = run.umtui(&[], &["sleep", "60"]).start();
    let before = terminal.wait_for(&["LIVE", "in no process yet"]);
    assert!(terminal.started.elapsed() > Duration::from_secs(3) || !before.contains("quiet"), "{before}");
    terminal.wait_for(&["quiet", "no CUDA call yet after 3 s", "LD_PRELOAD"]);
    assert!(terminal.started.elapsed() >= Duration::from_secs(3));
    let _program = Leftover(ask_to_quit(&mut terminal));
    terminal.keys("t");
    terminal.exits_with(Exit::Status(128 + libc::SIGINT));
}

#[test]
fn what_cannot_be_started_is_one_line() {
    for (command, status, why) in [
        (vec!["/no/such/program"], 2, "umtui: /no/such/program cannot be started: No such file or directory"),
        (vec!["no-such-program"], 2, "umtui: no-such-program cannot be started: No such file or directory"),
        (vec!["/"], 2, "umtui: / cannot be started: Permission denied"),
    ] {
        let run = Run::new();
        let mut terminal = run.umtui(&[], &command).size(200, 24).start();
        assert_eq!(terminal.exit(), Exit::Status(status));
        assert!(terminal.text().starts_with(why), "{}", terminal.text());
        assert_eq!(terminal.text().trim_end().lines().count(), 1, "{}", terminal.text());
        assert_eq!(terminal.count(pty::ENTER), 0);
        assert!(terminal.restored());
    }
    let mut terminal = Launch::umtui(["open", "/no/such/recording"]).size(200, 24).start();
    assert_eq!(terminal.exit(), Exit::Status(2));
    assert!(terminal.text().starts_with("umtui: /no/such/recording"), "{}", terminal.text());
    assert_eq!((terminal.text().trim_end().lines().count(), terminal.count(pty::ENTER)), (1, 0));
}

/// Runs umtui where there is no terminal at all.
fn nowhere(arguments: &[&str]) -> Output {
    let mut command = Command::new(UMTUI);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: setsid is async-signal-safe and touches no memory.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
    command.output().unwrap()
}

#[test]
fn without_a_terminal_it_is_one_line_and_nothing_is_started() {
    let run = Run::new();
    let mark = run.0.path().join("started");
    let path = run.path();
    for arguments in [
        vec!["-o", path.to_str().unwrap(), "--", "touch", mark.to_str().unwrap()],
        vec!["open", run.0.path().to_str().unwrap()],
    ] {
        let output = nowhere(&arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{error}");
        assert!(error.starts_with("umtui: no terminal") && error.contains("umtui record"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert!(!mark.exists());
}

#[test]
fn record_leaves_the_terminal_and_ctrl_c_to_the_program() {
    let run = Run::new();
    let path = run.path();
    let script = waiting("trap 'echo interrupted; exit 7' INT; test -t 0 && test -t 1 && echo has the terminal");
    let words = ["record", "-o", path.to_str().unwrap(), "--", "sh", "-c", &script];
    let mut terminal = Launch::umtui(words).start();
    terminal.wait_for(&["has the terminal", "ready"]);
    terminal.keys("\x03");
    assert_eq!(terminal.exit(), Exit::Status(7));
    let text = terminal.text();
    assert!(text.contains("interrupted") && text.contains("umtui: no CUDA call was seen"), "{text}");
    assert_eq!(terminal.count(pty::ENTER), 0);
    // A program that dies of it, and signals to umtui itself.
    for (signal, keys) in [(libc::SIGINT, Some("\x03")), (libc::SIGQUIT, Some("\x1c")), (libc::SIGTERM, None)] {
        let run = Run::new();
        let path = run.path();
        let mut terminal =
            Launch::umtui(["record", "-o", path.to_str().unwrap(), "--", "sh", "-c", &waiting(":")]).start();
        terminal.wait_for(&["ready"]);
        match keys {
            Some(keys) => terminal.keys(keys),
            None => terminal.signal(signal),
        }
        assert_eq!(terminal.exit(), Exit::Status(128 + signal), "{}", terminal.text());
    }
}

#[test]
fn the_program_reads_the_terminal_only_if_it_may() {
    let run = Run::new();
    let path = run.path();
    let script = format!("printf 'a\\nb\\n' | {UMTUI} -o {} --stdin --screen output -- cat", path.display());
    let mut terminal = Launch::program("sh", ["-c", &script]).start();
    terminal.wait_for(&["ENDED", "2 lines"]);
    terminal.keys("q");
    assert_eq!(terminal.exit(), Exit::Status(0));
    assert_eq!(contents(&run.stdout()), "a\nb\n");
}
