//! The real binary in a pseudo-terminal: the terminal is given back, however umtui ends, and the program is let live.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod common;
#[path = "common/pty.rs"]
mod pty;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::UMTUI;
use pty::{Exit, Launch, Leftover, Terminal};

/// A demo that makes calls for longer than any test takes, in umtui; with its recording, and the demo itself.
fn live(launch: impl FnOnce(&[&str]) -> Launch) -> (Terminal, tempfile::TempDir, Leftover) {
    let folder = tempfile::tempdir().unwrap();
    let run = run(&folder);
    let run = run.to_str().unwrap();
    let arguments = ["demo", "stress", "-o", run, "--", "--threads", "2", "--rate", "5000", "--seconds", "120"];
    let terminal = launch(&arguments).start();
    let screen = terminal.wait_for(&["LIVE", "time goes to", "cudaGetDevice"]);
    let pid = pty::number_after(&screen, "umtui-demo ");
    (terminal, folder, Leftover(pid))
}

fn umtui(arguments: &[&str]) -> Launch {
    Launch::umtui(arguments)
}

fn run(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("run")
}

/// Waits until a recording has grown.
fn grows(run: &Path) {
    let events = || common::report(&[run])["trace"]["events"].as_u64().unwrap();
    let before = events();
    common::wait_for("a growing recording", pty::DEADLINE, || events() > before);
}

fn lives_on(demo: &Leftover, folder: &tempfile::TempDir) {
    assert!(pty::runs(demo.0), "the program died with umtui");
    grows(&run(folder));
}

#[test]
fn a_signal_gives_the_terminal_back_and_lets_the_program_run_on() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
        let (mut terminal, folder, demo) = live(umtui);
        terminal.signal(signal);
        terminal.exits_with(Exit::Status(128 + signal));
        lives_on(&demo, &folder);
    }
}

/// The terminal goes away, and umtui must be gone soon, without having worked hard until then.
fn vanishes(launch: impl FnOnce(&[&str]) -> Launch) {
    let (mut terminal, folder, demo) = live(launch);
    let worked = pty::processor_seconds(terminal.pid()).unwrap();
    let mut working = worked;
    terminal.hang_up();
    let gone = Instant::now();
    let exit = loop {
        if let Some(exit) = terminal.ended() {
            break exit;
        }
        working = pty::processor_seconds(terminal.pid()).unwrap_or(working);
        assert!(gone.elapsed() < Duration::from_secs(20), "still there");
        std::thread::sleep(Duration::from_millis(10));
    };
    eprintln!("gone after {:?}, {:.2} s of processor time", gone.elapsed(), working - worked);
    assert!(gone.elapsed() < Duration::from_secs(2), "{:?}", gone.elapsed());
    // A thread that spins takes all the time there is.
    assert!(working - worked < 0.3, "{} s", working - worked);
    // The signal may come when a write has noticed already and nobody listens any more: a shell sees no difference.
    assert!([Exit::Status(129), Exit::Signal(libc::SIGHUP)].contains(&exit), "{exit:?}");
    lives_on(&demo, &folder);
}

#[test]
fn a_vanished_terminal_ends_it() {
    vanishes(umtui);
}

#[test]
fn a_vanished_terminal_ends_it_where_hangups_are_ignored() {
    vanishes(|arguments| {
        let ignoring = ["-c", "trap '' HUP; exec \"$@\"", "sh", UMTUI];
        Launch::program("sh", ignoring.iter().chain(arguments))
    });
}

#[test]
fn a_vanished_terminal_ends_it_where_no_signal_tells() {
    vanishes(|arguments| Launch::umtui(arguments).uncontrolled());
}

#[test]
fn a_vanished_terminal_ends_it_while_it_waits_to_write() {
    let (mut terminal, folder, demo) = live(|arguments| Launch::umtui(arguments).uncontrolled().size(200, 50));
    // Nobody reads any more: the terminal's buffer fills up until a write waits.
    terminal.stop_reading();
    let blocked = |pid: u32| {
        let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
        // write is number 1 on x86-64 and 64 on AArch64.
        call.starts_with(if cfg!(target_arch = "x86_64") { "1 " } else { "64 " })
    };
    let until = Instant::now() + Duration::from_secs(10);
    while !blocked(terminal.pid()) && Instant::now() < until {
        // Whatever does not fit the terminal's input queue is not typed.
        terminal.try_keys("269\x0c");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(blocked(terminal.pid()), "a terminal that nobody reads never fills up");
    let gone = Instant::now();
    terminal.hang_up();
    assert_eq!(terminal.exit(), Exit::Status(129));
    assert!(gone.elapsed() < Duration::from_secs(2), "{:?}", gone.elapsed());
    lives_on(&demo, &folder);
}

#[test]
fn it_stops_and_goes_on_and_the_program_is_not_stopped() {
    let (mut terminal, folder, demo) = live(umtui);
    terminal.keys("2");
    terminal.wait_for(&["by thread", "umtui-demo"]);
    let stopped = |pid: u32| pty::stat(pid).is_some_and(|fields| fields[0] == "T");
    for round in 1..=3 {
        match round {
            1 => terminal.keys("\x1a"),
            2 => terminal.signal(libc::SIGTSTP),
            // Nothing can be given back then; what matters is that it comes back.
            _ => terminal.signal(libc::SIGSTOP),
        }
        common::wait_for("a stop", pty::DEADLINE, || stopped(terminal.pid()));
        if round < 3 {
            terminal.wait_restored();
            common::wait_for("the old screen", pty::DEADLINE, || terminal.count(pty::LEAVE) == round);
            common::wait_for("the old cursor", pty::DEADLINE, || !terminal.alternate() && !terminal.cursor_hidden());
        }
        grows(&run(&folder));
        assert!(pty::runs(demo.0) && !stopped(demo.0));
        let before = terminal.written();
        terminal.signal(libc::SIGCONT);
        // The whole screen, not what has changed since.
        terminal.wait_bytes("a full repaint", |bytes| {
            let new = String::from_utf8_lossy(&bytes[before..]).into_owned();
            new.contains("\x1b[?1049h") && new.contains("by thread") && new.contains("umtui")
        });
        terminal.wait_for(&["by thread", "umtui-demo", "LIVE"]);
        assert!(terminal.alternate() && terminal.cursor_hidden() && !terminal.restored(), "round {round}");
        let new = terminal.bytes().split_off(before);
        assert!(!new.windows(4).any(|bytes| bytes == b"\x1b[6n"), "asks where the cursor is");
    }
    terminal.keys("1");
    terminal.wait_for(&["time goes to"]);
    terminal.keys("qt");
    assert_eq!(terminal.exit(), Exit::Status(128 + libc::SIGINT));
    assert!(terminal.restored() && !terminal.alternate() && !terminal.cursor_hidden());
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the switch to fail is not in a release build")]
fn a_panic_is_reported_on_a_terminal_that_was_given_back() {
    let (mut terminal, folder, demo) = live(|arguments| Launch::umtui(arguments).env("UMTUI_PANIC", "1"));
    terminal.keys("\x1b[24~");
    terminal.exits_with(Exit::Status(101));
    let bytes = terminal.bytes();
    let at = |text: &[u8]| bytes.windows(text.len()).position(|window| window == text);
    assert!(at(pty::LEAVE) < at(b"asked to fail"), "{}", terminal.text());
    assert!(terminal.text().contains("panicked at src/ui/event_loop.rs"), "{}", terminal.text());
    lives_on(&demo, &folder);
}
