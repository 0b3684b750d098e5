//! Reports and exports of a large recording on a terminal: how far they are, and Ctrl-C.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/pty.rs"]
mod pty;

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use pty::{Exit, Launch};
use umtui::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use umtui::trace::Layer;

/// Large enough to be seen at work, however quick the machine.
const CALLS: u64 = 2_000_000;

fn recording(folder: &Path) -> PathBuf {
    let path = folder.join("large.umt");
    let out = BufWriter::new(File::create(&path).unwrap());
    let mut writer = NativeWriter::new(out, FileInfo::default(), 1 << 20);
    let api = writer.api(Layer::Runtime, "cudaGetDevice(device:*dev@28)").unwrap();
    for number in 0..CALLS {
        let thread = 1 + (number % 4) as u32;
        let call = CallRecord { api, start: number * 100, duration: 50, ..CallRecord::default() };
        writer.call(thread, &call).unwrap();
    }
    writer.finish(true).unwrap();
    path
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn long_work_says_how_far_it_is_and_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let text = path.to_str().unwrap();
    let out = folder.path().join("out.log");

    let mut terminal = Launch::umtui(["report", text]).start();
    terminal.wait_for(&["umtui: reading", "%", "Ctrl-C cancels"]);
    terminal.keys("\x03");
    assert_eq!(terminal.exit(), Exit::Status(130));
    assert!(!terminal.text().contains("umtui: reading"), "{}", terminal.text());

    // While it writes: nothing is left behind, and what was there stays.
    fs::write(&out, "before").unwrap();
    let mut terminal = Launch::umtui(["export", text, "--format", "text", "-o", out.to_str().unwrap()]).start();
    terminal.wait_for(&["umtui: writing", "Ctrl-C cancels"]);
    assert_eq!(names(folder.path()).len(), 3);
    terminal.keys("\x03");
    assert_eq!(terminal.exit(), Exit::Status(130));
    assert_eq!(names(folder.path()), ["large.umt", "out.log"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "before");

    // A dumb terminal cannot erase.
    let mut terminal = Launch::umtui(["report", text, "--format", "json"]).env("TERM", "dumb").start();
    assert_eq!(terminal.exit(), Exit::Status(0));
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("Ctrl-C"));

    // No terminal: nothing is said.
    let done = Command::new(common::UMTUI).args(["report", text]).output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty() && !done.stdout.is_empty());
}
