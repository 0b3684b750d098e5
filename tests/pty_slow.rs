//! The real binary in a pseudo-terminal on a recording that takes its time: opening, lens and search say how far they
//! are, the keys go on working meanwhile, and Esc ends what was asked for.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/pty.rs"]
mod pty;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use pty::{Exit, Launch};
use umtui::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use umtui::trace::Layer;

/// Large enough to be seen at work, however quick the machine.
const CALLS: u64 = 3_000_000;

fn recording(folder: &Path) -> PathBuf {
    let path = folder.join("large.umt");
    let out = BufWriter::new(File::create(&path).unwrap());
    let mut writer = NativeWriter::new(out, FileInfo::default(), 1 << 20);
    let get = writer.api(Layer::Runtime, "cudaGetDevice(device:*dev@28)").unwrap();
    let set = writer.api(Layer::Runtime, "cudaSetDevice(device:dev@28)").unwrap();
    for number in 0..CALLS {
        let thread = 1 + (number % 4) as u32;
        let api = if number % 3 == 0 { set } else { get };
        let call = CallRecord { api, start: number * 100, duration: 50, ..CallRecord::default() };
        writer.call(thread, &call).unwrap();
    }
    writer.finish(true).unwrap();
    path
}

#[test]
fn slow_work_on_screen_says_how_far_it_is_and_ends_with_esc() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let mut terminal = Launch::umtui(["open", path.to_str().unwrap(), "--screen", "calls"]).start();
    // What has been read is shown, and the keys work.
    terminal.wait_for(&["OPENING", " %", "by thread", "cudaGetDevice"]);
    terminal.keys("6");
    terminal.wait_for(&["OPENING", "every event in order"]);
    terminal.keys("2");
    terminal.wait_for(&["ENDED", "by thread", "3.0 M calls"]);

    // A lens for which each record has to be read again.
    terminal.keys("&result:0 dur<1us");
    terminal.wait_for(&["+ shown", "% looked at"]);
    terminal.keys("\x1b");
    terminal.wait_for(&["all time", "? help"]);
    terminal.wait("nothing is looked at any more", |text| !text.contains("looked at"));

    // Kept, it is still looked through while another screen is shown, and given up by an undo.
    terminal.keys("&result:1\r6");
    terminal.wait_for(&["% looked at", "every event in order"]);
    terminal.keys("\x7f");
    terminal.wait_for(&["all time"]);

    // A search among what a lens has not let through yet has to wait for it.
    terminal.keys("&result:1\r/");
    terminal.keys("getdev");
    terminal.wait_for(&["searching", "% looked at"]);
    terminal.keys("\x1b");
    terminal.wait("no longer searched", |text| !text.contains("searching"));
    terminal.keys("\x7fq");
    terminal.exits_with(Exit::Status(0));
}

/// Calls that make memory and release it again, each of the same few addresses many times.
fn recording_of_memory(folder: &Path) -> PathBuf {
    let path = folder.join("memory.umt");
    let out = BufWriter::new(File::create(&path).unwrap());
    let mut writer = NativeWriter::new(out, FileInfo::default(), 1 << 20);
    let make = writer.api(Layer::Runtime, "cudaMalloc(ptr:*ptr@28 bytes:size@36)").unwrap();
    let release = writer.api(Layer::Runtime, "cudaFree(ptr:ptr@28)").unwrap();
    for number in 0..CALLS / 2 {
        let thread = 1 + (number / 2 % 4) as u32;
        let address = 0x7000_0000_0000 + number / 2 % 10_000 * 4096;
        let api = if number % 2 == 0 { make } else { release };
        let arguments = [address.to_le_bytes(), 4096u64.to_le_bytes()].concat();
        let call = CallRecord { api, start: number * 100, duration: 50, arguments, ..CallRecord::default() };
        writer.call(thread, &call).unwrap();
    }
    writer.finish(true).unwrap();
    path
}

#[test]
fn a_slow_filter_by_allocation_says_how_far_it_is_and_ends_with_esc() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording_of_memory(folder.path());
    let mut terminal = Launch::umtui(["open", path.to_str().unwrap(), "--screen", "calls"]).start();
    terminal.wait_for(&["ENDED", "by thread", "1.5 M calls"]);
    // First the allocations are found, then each is asked, then each call.
    terminal.keys("&allocation:cudaMalloc");
    terminal.wait_for(&["% looked at"]);
    // Keys are answered meanwhile.
    terminal.keys("x");
    terminal.wait_for(&["allocation:cudaMallocx"]);
    terminal.keys("\x1b");
    terminal.wait_for(&["all time", "? help"]);
    terminal.wait("nothing is looked at any more", |text| !text.contains("looked at"));
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}
