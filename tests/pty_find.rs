//! The real binary in a pseudo-terminal: search, finder, palette, copying, the editor, and coming back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod common;
#[path = "common/pty.rs"]
mod pty;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use common::UMTUI;
use pty::{Exit, Launch};

/// A finished recording of the demo, made once.
fn recording() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let mut demo = Command::new(UMTUI);
        demo.args(["demo", "training", "--report", "-o"]).arg(folder.path().join("run")).args(["--", "--rounds", "3"]);
        let demo = demo.output().unwrap();
        assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
        folder
    });
    Box::leak(folder.path().join("run").into_boxed_path())
}

fn open(screen: &str) -> Launch {
    Launch::umtui(["open".as_ref(), recording().as_os_str(), "--screen".as_ref(), screen.as_ref()])
}

#[test]
fn what_is_typed_is_found_wherever_it_is() {
    let mut terminal = open("calls").start();
    terminal.wait_for(&["ENDED", "by thread"]);
    terminal.keys("zMgg/");
    terminal.wait_for(&["Enter stays,"]);
    terminal.keys("'cuLaunchKernel");
    terminal.wait_for(&["match 1 of", "folded", "cuLaunchKernel"]);
    // Nothing is left of what was unfolded for it.
    terminal.keys("\x1b");
    terminal.wait("folded again", |text| text.contains("? help") && !text.contains("cuLaunchKernel"));
    terminal.keys("6/memcpyasync\r");
    terminal.wait_for(&["match 1 of", "in thread main", "cudaMemcpyAsync"]);
    terminal.keys("n");
    terminal.wait_for(&["match 2 of"]);
    terminal.keys("/nosuchname");
    terminal.wait_for(&["no match"]);
    terminal.keys("\x03q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn the_finder_and_the_palette_lead_there() {
    let mut terminal = open("overview").start();
    terminal.wait_for(&["ENDED", "time goes to"]);
    terminal.keys("gpforward(");
    // The overview behind shows the same kernel.
    terminal.wait_for(&["1 name ", "kernel     forward(float const*"]);
    terminal.keys("\x0f");
    terminal.wait_for(&["only forward(float const*", "of 9"]);
    terminal.keys(":0\r");
    terminal.wait_for(&["every event in order", "1 of"]);
    terminal.keys(":no such thing\r");
    terminal.wait_for(&["'no' is no command"]);
    // What is offered first is taken for what is half typed.
    terminal.keys(":screen out\r");
    terminal.wait_for(&["output, err: from stderr"]);
    terminal.keys(":screen outside\r");
    terminal.wait_for(&["'outside' is not one of overview"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn a_row_is_copied_through_the_terminal() {
    let mut terminal = open("events").start();
    terminal.wait_for(&["ENDED", "every event in order"]);
    terminal.keys("y");
    terminal.wait_for(&["sent to the terminal's clipboard"]);
    terminal.wait_bytes("the sequence", |bytes| bytes.windows(7).any(|window| window == b"\x1b]52;c;"));
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn the_editor_gets_the_terminal_and_gives_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let (editor, told) = (folder.path().join("vi"), folder.path().join("told"));
    std::fs::write(&editor, format!("#!/bin/sh\necho \"$@\" > {0}\nread key\necho \"$key\" >> {0}\n", told.display()))
        .unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut terminal = open("calls").env("VISUAL", editor.to_str().unwrap()).start();
    terminal.wait_for(&["ENDED", "by thread"]);
    terminal.keys("/'training.rs\r");
    terminal.wait_for(&["match 1 of"]);
    terminal.keys("O");
    terminal
        .wait("the other screen", |_| std::fs::read_to_string(&told).is_ok_and(|told| told.contains("training.rs")));
    // What is typed now is the editor's.
    terminal.keys("q\n");
    terminal.wait_for(&["by thread", "ENDED"]);
    let told = std::fs::read_to_string(&told).unwrap();
    assert!(told.starts_with('+') && told.ends_with("training.rs\nq\n"), "{told}");
    terminal.keys("6");
    terminal.wait_for(&["every event in order"]);
    terminal.keys("q");
    assert_eq!(terminal.exit(), Exit::Status(0));
}

#[test]
fn one_comes_back_to_where_one_was() {
    let state = tempfile::tempdir().unwrap();
    let again = || {
        Launch::umtui(["open".as_ref(), recording().as_os_str()]).env("XDG_STATE_HOME", state.path().to_str().unwrap())
    };
    let mut terminal = again().start();
    terminal.wait_for(&["ENDED", "time goes to"]);
    terminal.keys("2tz1:row 7\r");
    terminal.wait_for(&["7 of"]);
    terminal.keys("m");
    terminal.wait_for(&["marked: ", " s: cuGetProcAddress_v2"]);
    terminal.keys("2q");
    terminal.exits_with(Exit::Status(0));
    let mut terminal = again().start();
    terminal.wait_for(&["ENDED", "by stream"]);
    terminal.keys("'");
    terminal.wait_for(&["marks", " s: cuGetProcAddress_v2"]);
    terminal.keys("\r");
    terminal.wait_for(&["7 of", "every event in order"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}
