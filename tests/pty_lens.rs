//! The real binary in a pseudo-terminal: a filter is typed and its count seen, kept, undone; a range is chosen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod common;
#[path = "common/pty.rs"]
mod pty;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::UMTUI;
use pty::{Exit, Launch};

fn recording(folder: &Path) -> PathBuf {
    let run = folder.join("run");
    let mut demo = Command::new(UMTUI);
    demo.args(["demo", "pingpong", "--report", "-o"]).arg(&run);
    let demo = demo.output().unwrap();
    assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    run
}

#[test]
fn a_filters_file_is_read_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (run, file) = (recording(folder.path()), folder.path().join("f.expr"));
    std::fs::write(&file, "api:cudaMallocManaged").unwrap();
    let words = ["open".as_ref(), run.as_os_str(), "--screen".as_ref(), "calls".as_ref()];
    let mut terminal = Launch::umtui(words.into_iter().chain(["--filter".as_ref(), file.as_os_str()])).start();
    terminal.wait_for(&["ENDED", "& api:cudaMallocManaged", "hidden"]);
    std::fs::write(&file, "api:cudaLaunchKernel").unwrap();
    terminal.wait_for(&["& api:cudaLaunchKernel", "read again"]);
    std::fs::write(&file, "kernal:x").unwrap();
    terminal.wait_for(&["did you mean kernel?"]);
    terminal.wait_for(&["& api:cudaLaunchKernel"]);
    // One that is gone is mentioned; the filter stays, and a new file of that name counts.
    std::fs::remove_file(&file).unwrap();
    terminal.wait_for(&["is gone", "& api:cudaLaunchKernel"]);
    std::fs::write(&file, "api:cudaMallocManaged").unwrap();
    terminal.wait_for(&["& api:cudaMallocManaged", "read again"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn a_filter_that_is_given_by_its_name_is_read_again_when_its_file_changes() {
    let folder = tempfile::tempdir().unwrap();
    let run = recording(folder.path());
    // A preset at first: the user's own of that name comes later, and with it the folder.
    let words = ["open".as_ref(), run.as_os_str(), "--screen".as_ref(), "calls".as_ref(), "--filter".as_ref()];
    let launch = Launch::umtui(words.into_iter().chain(["launches".as_ref()]));
    let mut terminal = launch.env("XDG_CONFIG_HOME", folder.path().to_str().unwrap()).start();
    terminal.wait_for(&["ENDED", "& launches", "hidden", "cudaLaunchKernel"]);
    let filters = folder.path().join("umtui/filters");
    std::fs::create_dir_all(&filters).unwrap();
    std::fs::write(filters.join("launches.expr"), "api:cudaMallocManaged").unwrap();
    terminal.wait_for(&["& launches", "launches has changed and was read again", "cudaMallocManaged"]);
    std::fs::write(filters.join("launches.expr"), "kernal:x").unwrap();
    terminal.wait_for(&["launches.expr:1:1"]);
    std::fs::remove_file(filters.join("launches.expr")).unwrap();
    terminal.wait_for(&["launches has changed and was read again", "cudaLaunchKernel"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn a_filter_is_typed_seen_kept_and_undone() {
    let folder = tempfile::tempdir().unwrap();
    let run = recording(folder.path());
    let open = Launch::umtui(["open".as_ref(), run.as_os_str(), "--screen".as_ref(), "calls".as_ref()]);
    let mut terminal = open.start();
    terminal.wait_for(&["ENDED", "by thread", "cudaLaunchKernel", "all time"]);

    // While it is typed the screen shows what it lets through.
    terminal.keys("&api:cudaMallocManaged");
    terminal.wait_for(&["1 shown", "& api:cudaMallocManaged"]);
    terminal.wait("only that", |text| !text.contains("cudaLaunchKernel"));
    terminal.keys(" kernal:x");
    terminal.wait_for(&["column", "did you mean kernel?"]);
    // Esc goes back to what was.
    terminal.keys("\x1b");
    terminal.wait_for(&["cudaLaunchKernel", "all time"]);

    terminal.keys("&api:cudaLaunchKernel\r");
    terminal.wait("kept", |text| text.contains("? help") && !text.contains("cudaMallocManaged"));
    terminal.keys("!");
    terminal.wait_for(&["& -api:cudaLaunchKernel", "cudaMallocManaged"]);
    terminal.keys("\\");
    terminal.wait_for(&["lens off"]);
    terminal.keys("\x7f\x7f");
    terminal.wait_for(&["undone", "& api:cudaLaunchKernel"]);
    terminal.keys("\x7f");
    terminal.wait_for(&["all time", "cudaMallocManaged"]);

    terminal.keys("&api:nothing\r");
    terminal.wait_for(&["the lens hides all", "Backspace undoes"]);
    terminal.keys(":clear\r6:range 1ns..2ns\r");
    terminal.wait_for(&["1ns..2ns"]);
    terminal.keys("0");
    terminal.wait_for(&["all time", "every event in order", "1 of"]);
    terminal.keys("vjj\r");
    terminal.wait_for(&["hidden", ".."]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}
