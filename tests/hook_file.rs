//! The file as it is written: read while it grows, capped, and where it cannot be mapped.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{calls, faked, files, hooked, layer, lost, outcome, programs, report, run};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use umtui::parse::NativeReader;
use umtui::source::FileBytes;
use umtui::trace::Trace;

/// Waits for something to be there.
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let mut found = None;
    common::wait_for("the file", Duration::from_secs(30), || {
        found = look();
        found.is_some()
    });
    found.unwrap()
}

/// What a reader has found that looked all the time while a program ran: calls, lost, made room for newer ones, damage.
fn watched(command: &mut Command, folder: &Path) -> (u64, u64, u64, usize) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let path = wait_for(|| files(folder, "umt").pop());
    let mut trace = Trace::default();
    let mut reader = wait_for(|| {
        trace = Trace::default();
        NativeReader::open(Arc::new(FileBytes::open(&path).ok()?), "x", &mut trace).ok()
    });
    loop {
        let over = child.try_wait().unwrap().is_some();
        while reader.poll(&mut trace, 100_000).unwrap().more {}
        if over {
            break;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    let process = &trace.processes[0];
    (trace.events(), process.lost, process.discarded, trace.damage.len())
}

#[test]
fn a_file_read_while_it_grows_has_every_call_once() {
    let Some(programs) = programs() else { return };
    for (place, program, arguments, made) in [
        ("mapped", "loop", ["400000", "none"], 400_000),
        ("written", "loop", ["400000", "none"], 400_000),
        ("mapped", "threads", ["8", "20000"], 0),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let command = if program == "loop" {
            faked(programs, program, &arguments)
        } else {
            common::program(programs, program, &arguments)
        };
        let mut hooked = hooked(folder.path(), &command);
        hooked.env("UMTUI_PLACE", place);
        let (events, lost, discarded, damage) = watched(&mut hooked, folder.path());
        assert_eq!((lost, discarded, damage), (0, 0, 0), "{place} {program}");
        let whole = report(&[folder.path()]);
        assert_eq!(events, whole["trace"]["events"], "{place} {program}");
        // Beside the calls there is what the GPU did.
        assert!(events >= layer(&whole, "driver") + layer(&whole, "runtime"), "{place} {program}");
        assert!(made == 0 || events == made, "{place} {program}: {events}");
    }
}

#[test]
fn with_a_cap_what_a_reader_missed_is_counted() {
    let Some(programs) = programs() else { return };
    for place in ["mapped", "written"] {
        let folder = tempfile::tempdir().unwrap();
        let mut hooked = hooked(folder.path(), &faked(programs, "loop", &["400000", "none"]));
        hooked.env("UMTUI_PLACE", place).env("UMTUI_MAX_BYTES", (1 << 20).to_string());
        let (events, lost, discarded, damage) = watched(&mut hooked, folder.path());
        assert_eq!((events + discarded, lost, damage), (400_000, 0, 0), "{place}: {events} read");
        // Who comes later finds the newest.
        let later = report(&[folder.path()]);
        let kept = layer(&later, "driver");
        assert_eq!(kept + later["trace"]["discarded"].as_u64().unwrap(), 400_000, "{place}");
        assert!((5_000..30_000).contains(&kept), "{place}: {kept}");
        assert!(std::fs::metadata(&files(folder.path(), "umt")[0]).unwrap().len() <= 1 << 20);
    }
}

#[test]
fn with_a_cap_many_threads_keep_their_newest_calls() {
    let Some(programs) = programs() else { return };
    for bytes in [1 << 20, 4 << 20] {
        let folder = tempfile::tempdir().unwrap();
        let command = common::program(programs, "threads", &["12", "20000"]);
        let mut hooked = hooked(folder.path(), &command);
        hooked.env("UMTUI_MAX_BYTES", bytes.to_string());
        assert_eq!(outcome(&run(hooked)), outcome(&run(command)));
        let capped = report(&[folder.path()]);
        let all = tempfile::tempdir().unwrap();
        run(common::hooked(all.path(), &common::program(programs, "threads", &["12", "20000"])));
        let all = report(&[all.path()]);
        let events = |report: &serde_json::Value| layer(report, "driver") + layer(report, "runtime");
        let gone = capped["trace"]["discarded"].as_u64().unwrap() + lost(&capped);
        assert_eq!(events(&capped) + gone, events(&all), "{bytes}: {}", capped["trace"]);
        assert!(gone > 0, "{bytes}");
        // The smaller one has no room for twelve threads at once.
        assert!(lost(&capped) == 0 || bytes == 1 << 20, "{bytes}: {}", capped["trace"]);
    }
}

#[test]
fn where_it_is_written_by_calls_the_end_and_a_kill_leave_a_good_file() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let command = common::program(programs, "threads", &["4", "3000"]);
    let mut written = hooked(folder.path(), &command);
    written.env("UMTUI_PLACE", "written");
    assert_eq!(outcome(&run(written)), outcome(&run(command)));
    let report_written = report(&[folder.path()]);
    assert_eq!(calls(&report_written, "cudaGetDevice"), 12_000);
    assert_eq!((lost(&report_written), &report_written["trace"]["truncated"]), (0, &false.into()));
    // Killed: what had been written is whole.
    let folder = tempfile::tempdir().unwrap();
    let mut killed = hooked(folder.path(), &faked(programs, "loop", &["1000000000", "none"]));
    let mut child = killed.env("UMTUI_PLACE", "written").spawn().unwrap();
    wait_for(|| {
        files(folder.path(), "umt")
            .first()
            .filter(|path| path.metadata().is_ok_and(|data| data.len() > 2 << 20))
            .cloned()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let found = report(&[folder.path()]);
    let whole = found["trace"]["damages"] == 0 && found["trace"]["unread"] == serde_json::json!([]);
    assert!(layer(&found, "driver") > 20_000 && whole, "{found}");
    // What had not is missing, and that is said.
    assert_eq!((&found["trace"]["truncated"], lost(&found)), (&true.into(), 0));
    let text = common::report_text(&[folder.path()]);
    let said = ["what its file had not got by then is missing and not counted", ", none known to be lost"];
    assert!(said.iter().all(|words| text.contains(words)), "{text}");
}

#[test]
fn where_it_is_written_who_ends_without_a_word_loses_nothing() {
    let Some(programs) = programs() else { return };
    for (how, calls_made) in
        [("_exit", "100"), ("quick_exit", "100"), ("exec", "100"), ("_exit", "5000"), ("exec", "1")]
    {
        let command = faked(programs, "sudden", &[how, calls_made]);
        let plain = outcome(&run(common::again(&command)));
        assert!(plain.0 == 5 && plain.1.contains("child 7"), "{plain:?}");
        for place in ["mapped", "written"] {
            let folder = tempfile::tempdir().unwrap();
            let mut hooked = hooked(folder.path(), &command);
            hooked.env("UMTUI_PLACE", place);
            assert_eq!(outcome(&run(hooked)), plain, "{how} {place}");
            let report = report(&[folder.path()]);
            let made = calls_made.parse::<u64>().unwrap() * 2;
            assert_eq!((layer(&report, "driver"), lost(&report)), (made, 0), "{how} {calls_made} {place}");
            assert_eq!(report["trace"]["truncated"], false, "{how} {calls_made} {place}");
        }
    }
    // And calls from destructors that run after ours.
    let folder = tempfile::tempdir().unwrap();
    let command = common::program(programs, "exit_order", &[]);
    let mut hooked = hooked(folder.path(), &command);
    hooked.env("UMTUI_PLACE", "written");
    assert_eq!(outcome(&run(hooked)), outcome(&run(command)));
    let report = report(&[folder.path()]);
    assert_eq!((calls(&report, "cudaMalloc"), calls(&report, "cudaFree"), lost(&report)), (4, 4, 0));
}

#[test]
fn where_it_is_written_desks_in_the_place_of_old_calls_are_clean() {
    let Some(programs) = programs() else { return };
    // The second chunk of desks comes when the file is as long as it may be.
    let command = faked(programs, "begins", &["crowd", "300000", "70"]);
    for place in ["mapped", "written"] {
        let folder = tempfile::tempdir().unwrap();
        let mut hooked = hooked(folder.path(), &command);
        hooked.env("UMTUI_PLACE", place).env("UMTUI_MAX_BYTES", (12 << 20).to_string());
        assert_eq!(outcome(&run(hooked)).0, 0, "{place}");
        let report = report(&[folder.path()]);
        let discarded = report["trace"]["discarded"].as_u64().unwrap();
        assert!(discarded > 0, "{place}");
        assert_eq!((layer(&report, "driver") + discarded, lost(&report)), (300_140, 0), "{place}");
        assert_eq!(report["trace"]["threads"], 71, "{place}");
    }
}

#[test]
fn calls_of_threads_that_no_desk_is_left_for_are_counted_once() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut hooked = hooked(folder.path(), &faked(programs, "begins", &["crowd", "0", "200"]));
    hooked.env("UMTUI_MAX_BYTES", (1 << 20).to_string());
    assert_eq!(outcome(&run(hooked)).0, 0);
    let report = report(&[folder.path()]);
    assert_eq!(layer(&report, "driver") + lost(&report), 400);
    assert!(lost(&report) > 300);
}
