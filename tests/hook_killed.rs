//! Processes that end without saying so: nothing that had returned is missing, and the call in which they ended is there.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::event::{events, of};
use common::{
    LONG, calls, files, hooked, layer, lost, outcome, program, programs, recorded, report, report_text, run, signal,
    status, sum, wait_for,
};
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use umtui::report::Report;
use umtui::session::Loaded;

const KILLED: &str = "killed, crashed or _exit";

/// The numbers that the threads of counter.c leave: what each has completed.
fn completed(file: &Path) -> Vec<u64> {
    let bytes = fs::read(file).unwrap_or_default();
    bytes.chunks_exact(64).map(|line| u64::from_le_bytes(line[..8].try_into().unwrap())).collect()
}

/// Kills counter.c with this many threads at a random moment, and holds the recording against its own count; how many calls
/// were under way.
fn kill_once(programs: &Path, folder: &Path, threads: u64, moment: Duration) -> usize {
    let (counters, recording) = (folder.join("counters"), folder.join("recording"));
    let command = program(programs, "counter", &[counters.to_str().unwrap(), &threads.to_string(), "0"]);
    let mut child = hooked(&recording, &command).stdout(Stdio::null()).spawn().unwrap();
    wait_for("all threads calling", LONG, || {
        let done = completed(&counters);
        done.len() == 64 && done.iter().take(threads as usize).all(|&calls| calls > 0)
    });
    let start = Instant::now();
    while start.elapsed() < moment {
        std::hint::spin_loop();
    }
    signal(child.id(), 9);
    child.wait().unwrap();
    let done: u64 = completed(&counters).iter().sum();
    // Read in this process, and once.
    let mut loaded = Loaded::load_all(std::slice::from_ref(&recording)).unwrap();
    let open: Vec<String> = {
        let trace = loaded.trace();
        let outermost = trace.tracks.iter().filter_map(|track| track.in_flight.first());
        outermost.map(|call| trace.api_name(call.api).to_owned()).collect()
    };
    let counted = Report::of(&mut loaded);
    let (text, report) = (umtui::report::text(&counted), umtui::report::json(&counted));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let found = calls(&report, "cudaGetDevice");
    // A thread has at most one call open, or one that has returned and that it has not counted yet.
    assert!(
        done <= found && found + open.len() as u64 <= done + threads,
        "{threads} threads after {moment:?}: {done} done, {found} recorded, {} open",
        open.len()
    );
    assert!(open.iter().all(|name| name == "cudaGetDevice"), "{open:?}");
    assert_eq!(
        (lost(&report), &report["trace"]["truncated"]),
        (0, &false.into()),
        "{threads} threads after {moment:?}: {text}"
    );
    // The first call sets the device; none is marked as failed that did not fail.
    assert_eq!((calls(&report, "cudaSetDevice"), common::failed(&report)), (1, 0));
    assert!(text.contains(KILLED) && text.contains("none lost") && !text.contains("damage"), "{text}");
    open.len()
}

/// Kills in all, by the threads that the program has.
const KILLS: [(u64, u64); 3] = [(1, 80), (8, 80), (64, 40)];

#[test]
fn what_returned_before_two_hundred_sigkills_is_recorded() {
    let Some(programs) = programs() else { return };
    let kills: Vec<u64> = KILLS.iter().flat_map(|&(threads, kills)| (0..kills).map(move |_| threads)).collect();
    assert_eq!(kills.len(), 200);
    let (next, open) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Two at a time: while one recording is read, another program is killed.
    std::thread::scope(|scope| {
        for worker in 0..2u64 {
            let (kills, next, open) = (&kills, &next, &open);
            scope.spawn(move || {
                let mut random = RandomState::new().build_hasher();
                while let Some(&threads) = kills.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let folder = tempfile::tempdir().unwrap();
                    random.write_u64(worker);
                    let moment = Duration::from_micros(random.finish() % 6_000);
                    open.fetch_add(kill_once(programs, folder.path(), threads, moment), Ordering::Relaxed);
                }
            });
        }
    });
    println!("{} calls under way in 200 processes", open.load(Ordering::Relaxed));
    assert!(open.load(Ordering::Relaxed) > 3, "calls that were under way are shown");
}

#[test]
fn the_call_in_which_a_process_was_killed_is_in_flight_with_its_start() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let recording = folder.path().join("recording");
    let command = program(programs, "die", &["blocked", "600"]);
    let mut child = hooked(&recording, &command).stdout(fs::File::create(&out).unwrap()).spawn().unwrap();
    wait_for("the blocking call", LONG, || fs::read_to_string(&out).unwrap().contains("cudaLaunchHostFunc"));
    // While it lives it is seen to run, and so is the call.
    wait_for("the open call", LONG, || {
        let report = report(&[&recording]);
        let apis = report["apis"].as_array().unwrap();
        apis.iter().any(|api| api["name"] == "cudaDeviceSynchronize")
    });
    let alive = report_text(&[&recording]);
    assert!(alive.contains("still running") && !alive.contains(KILLED), "{alive}");
    signal(child.id(), 9);
    child.wait().unwrap();
    let report = report(&[&recording]);
    assert_eq!((calls(&report, "cudaGetDevice"), lost(&report)), (1000, 0));
    assert_eq!(sum(&report, "cudaDeviceSynchronize", "failed"), 0);
    let text = report_text(&[&recording]);
    assert!(text.contains(KILLED) && text.contains("cudaDeviceSynchronize"), "{text}");
    let events = events(&recording);
    let open: Vec<_> = events.iter().filter(|event| event.unfinished).collect();
    let names: Vec<(&str, u32)> = open.iter().map(|event| (event.api.as_str(), event.depth)).collect();
    assert_eq!(names, [("cudaDeviceSynchronize", 0), ("cuCtxSynchronize", 1)]);
    // In order of start they are the last, after the call that submitted what they wait for.
    assert!(
        events.iter().rposition(|event| event.api == "cuLaunchHostFunc")
            < events.iter().position(|event| event.unfinished)
    );
    assert!(open[0].rest.contains("die+0x"), "{open:?}");
}

#[test]
fn crashes_and_sudden_exits_keep_their_status_and_all_calls() {
    let Some(programs) = programs() else { return };
    for (how, expected, ends_in_order) in [
        ("segv", 139, false),
        ("abort", 134, false),
        ("_exit", 7, false),
        ("quick_exit", 8, false),
        ("kill9", 137, false),
        ("usage", 2, true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("recording");
        let command = program(programs, "die", &[how]);
        let hooked = run(recorded(&recording, &command));
        assert_eq!(outcome(&hooked), outcome(&run(command)), "{how}");
        assert_eq!(status(&hooked), expected, "{how}");
        let report = report(&[&recording]);
        assert_eq!(
            (calls(&report, "cudaGetDevice"), calls(&report, "cudaMalloc"), lost(&report)),
            (1000, 1, 0),
            "{how}"
        );
        assert_eq!(report["trace"]["truncated"], false, "{how}");
        assert_eq!(report_text(&[&recording]).contains(KILLED), !ends_in_order, "{how}");
        assert!(!of(&events(&recording), "cudaMalloc").iter().any(|event| event.unfinished));
    }
}

#[test]
fn exec_of_itself_and_of_others_begins_a_second_file_under_the_same_pid() {
    let Some(programs) = programs() else { return };
    for (how, calls_made, driver_only) in [("self", 200, 0), ("other", 100, 1), ("cleared", 200, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("recording");
        let command = program(programs, "exec", &[how]);
        let hooked = run(recorded(&recording, &command));
        assert_eq!(outcome(&hooked), outcome(&run(command)), "{how}");
        let stdout = outcome(&hooked).1;
        assert!(how == "other" || stdout.contains("pid same 1"), "{stdout}");
        let report = report(&[&recording]);
        assert_eq!((calls(&report, "cudaGetDevice"), lost(&report)), (calls_made, 0), "{how}");
        assert_eq!(calls(&report, "cuModuleUnload"), driver_only, "{how}");
        assert_eq!(files(&recording, "umt").len(), 2, "{how}");
        assert_eq!(report["trace"]["processes"], 2, "{how}");
        let pids: std::collections::BTreeSet<u64> =
            report["threads"].as_array().unwrap().iter().map(|thread| thread["process"].as_u64().unwrap()).collect();
        assert_eq!(pids.len(), 1, "{how}");
        assert!(layer(&report, "driver") > 0);
    }
}
