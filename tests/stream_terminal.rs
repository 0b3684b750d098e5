//! A stream on standard input, explored live: keys then come from the terminal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
#[path = "common/pty.rs"]
mod pty;
#[path = "common/stream.rs"]
mod stream;

use common::UMTUI;
use pty::{Exit, Launch, Leftover};

fn shell(script: &str) -> Launch {
    Launch::program("sh", ["-c", script]).env("UMTUI", UMTUI)
}

#[test]
fn a_stream_is_explored_while_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let exit = folder.path().join("exit");
    let script = format!(
        "{{ \"$UMTUI\" demo stress -o - -- --threads 2 --rate 20000 --seconds 4 2>{0}/told; echo $? >{0}/exit; }} | \
         \"$UMTUI\" open -",
        folder.path().display()
    );
    let metrics = folder.path().join("metrics");
    let script = script.replace("| \"$UMTUI\" open", &format!("| UMTUI_METRICS={} \"$UMTUI\" open", metrics.display()));
    let mut terminal = shell(&script).size(120, 30).start();
    let screen = terminal.wait_for(&["LIVE", "time goes to", "cudaGetDevice"]);
    let _program = Leftover(pty::number_after(&screen, "umtui-demo "));
    // The keyboard is the terminal, though standard input is the stream.
    terminal.keys("2");
    terminal.wait_for(&["LIVE", "by thread"]);
    terminal.keys("1");
    let screen = terminal.wait_for(&["ENDED", "umtui-demo"]);
    assert!(!screen.contains("LOST") && !screen.contains("could not be read"), "{screen}");
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
    assert_eq!(std::fs::read_to_string(exit).unwrap().trim(), "0");
    // A call is in the session within 200 ms of its end: three quarters of them, since the machine may be busy.
    let lines = std::fs::read_to_string(metrics).unwrap();
    let lags = lines.lines().filter_map(|line| line.strip_prefix("session ")?.split_once(' '));
    let lags: Vec<(i64, u64)> = lags.map(|(ms, calls)| (ms.parse().unwrap(), calls.parse().unwrap())).collect();
    let all: u64 = lags.iter().map(|(_, calls)| calls).sum();
    let soon: u64 = lags.iter().filter(|(ms, _)| *ms < 200).map(|(_, calls)| calls).sum();
    eprintln!("{soon} of {all} calls within 200 ms");
    assert!(all > 80_000 && soon * 4 > all * 3, "{lags:?}");
}

#[test]
fn a_stream_that_is_cut_is_not_live_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = stream::Fifo::new(folder.path(), "fifo");
    let mut terminal = Launch::umtui(["open", fifo.path().to_str().unwrap()]).size(120, 30).start();
    let mut recorder = stream::stress_command(fifo.path(), &[], &["--rate", "1000", "--seconds", "30"])
        .env("XDG_RUNTIME_DIR", folder.path())
        .spawn()
        .unwrap();
    let screen = terminal.wait_for(&["LIVE", "cudaGetDevice"]);
    let program = Leftover(pty::number_after(&screen, "umtui-demo "));
    common::signal(recorder.id(), 9);
    recorder.wait().unwrap();
    let screen = terminal.wait_for(&["ENDED", "without its end"]);
    assert!(!screen.contains("LIVE"), "{screen}");
    drop(program);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn leaving_the_screens_leaves_the_program_alone() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = stream::Fifo::new(folder.path(), "fifo");
    let mut terminal = Launch::umtui(["open", fifo.path().to_str().unwrap()]).start();
    let arguments = ["--calls", "30000", "--rate", "10000", "--seconds", "3"];
    let recorder = stream::stress(fifo.path(), &["--drain", "0"], &arguments);
    terminal.wait_for(&["LIVE", "cudaGetDevice"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
    let output = recorder.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("stress threads 1 calls 30000"));
}
