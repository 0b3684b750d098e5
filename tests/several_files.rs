//! Several files at once: kept apart, and put where their times of day say that they were.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::UMTUI;
use serde_json::Value;

fn umtui(arguments: &[&str], paths: &[&Path]) -> Output {
    let mut command = Command::new(UMTUI);
    command.args(arguments).args(paths).env_remove("LD_PRELOAD").stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(paths: &[&Path]) -> Value {
    serde_json::from_slice(&umtui(&["report", "--format", "json"], paths).stdout).unwrap()
}

/// What Kineto writes of one call of process 7, `ts` microseconds after its base, ns since 1970.
fn kineto(folder: &Path, name: &str, base: Option<u64>, ts: u64, rank: u32) -> PathBuf {
    let base = base.map_or_else(String::new, |base| format!("\"baseTimeNanoseconds\": {base},"));
    let path = folder.join(name);
    let text = format!(
        r#"{{"schemaVersion": 1, {base} "distributedInfo": {{"rank": {rank}}}, "traceEvents": [
        {{"ph":"X","cat":"cuda_runtime","name":"call_of_{rank}","pid":7,"tid":7,"ts":{ts},"dur":10,"args":{{"correlation":1}}}}]}}"#
    );
    fs::write(&path, text).unwrap();
    path
}

const BASE: u64 = 1_727_743_122_000_000_000;

#[test]
fn files_lie_where_their_times_of_day_say_also_before_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = kineto(folder.path(), "r0.json", Some(BASE), 100, 0);
    for (base, ts) in
        [(BASE - 5_000_000_000, 40), (BASE + 7_000_000_001, 90), (BASE, 100), (BASE - 86_400_000_000_000, 0)]
    {
        let second = kineto(folder.path(), "r1.json", Some(base), ts, 1);
        let report = json(&[&first, &second]);
        let (a, b) = (i128::from(BASE + 100_000), i128::from(base + ts * 1000));
        let alignment = report["trace"]["alignment"].as_array().unwrap();
        let start = |at: usize| i128::from(alignment[at]["start_ns"].as_i64().unwrap());
        assert_eq!((start(0), start(1)), (a - a.min(b), b - a.min(b)), "{base}");
        let offset = i128::from(base) - i128::from(BASE);
        assert_eq!(i128::from(alignment[1]["offset_ns"].as_i64().unwrap()), offset);
        assert_eq!((&alignment[0]["by"], &alignment[1]["by"]), (&"same_clock".into(), &"time_of_day".into()));
        assert_eq!((&alignment[1]["uncertainty_ns"], &alignment[1]["same_host"]), (&0.into(), &Value::Null));
        assert_eq!(i128::from(report["trace"]["duration_ns"].as_u64().unwrap()), (a - b).abs() + 10_000);
        assert_eq!(i128::from(report["trace"]["start_unix_ns"].as_u64().unwrap()), a.min(b));
        // Equal numbers are two processes, of their files and ranks.
        let processes = report["processes"].as_array().unwrap();
        assert_eq!(processes.len(), 2);
        for (number, process) in processes.iter().enumerate() {
            assert_eq!((&process["process"], &process["rank"]), (&7.into(), &number.into()));
            assert!(process["file"].as_str().unwrap().ends_with(&format!("r{number}.json")));
        }
        let printed = text(&umtui(&["report"], &[&first, &second]));
        assert!(printed.contains("1 file aligned by time of day, to within 0 ns"), "{printed}");
        assert!(printed.contains(" rank 1 in r1.json"), "{printed}");
    }
}

#[test]
fn what_is_packed_together_and_what_is_written_as_text_stays_aligned() {
    let folder = tempfile::tempdir().unwrap();
    let first = kineto(folder.path(), "r0.json", Some(BASE), 100, 0);
    let second = kineto(folder.path(), "r1.json", Some(BASE - 3_000_000_000), 40, 1);
    let (packed, log) = (folder.path().join("both.umtp"), folder.path().join("both.log"));
    umtui(&["pack", "-o", packed.to_str().unwrap()], &[&first, &second]);
    let of = |paths: &[&Path]| json(paths)["trace"]["alignment"].clone();
    assert_eq!(of(&[&first, &second]), of(&[&packed]));
    umtui(&["export", "--format", "text", "-o", log.to_str().unwrap()], &[&packed]);
    let starts = |paths: &[&Path]| {
        let list = of(paths);
        let mut starts: Vec<_> = list.as_array().unwrap().iter().map(|one| one["start_ns"].as_i64().unwrap()).collect();
        // A text has its processes in another order.
        starts.sort_unstable();
        starts
    };
    assert_eq!(starts(&[&packed]), starts(&[&log]));
    // Packed each for itself, and opened together.
    let alone = folder.path().join("second.umtp");
    umtui(&["pack", "-o", alone.to_str().unwrap()], &[&second]);
    assert_eq!(starts(&[&first, &second]), starts(&[&first, &alone]));
}

#[test]
fn a_file_without_a_time_of_day_begins_with_the_first_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let timed = kineto(folder.path(), "timed.json", Some(BASE), 100, 0);
    let other = kineto(folder.path(), "other.json", Some(BASE + 1_000_000), 100, 1);
    let bare = kineto(folder.path(), "bare.json", None, 900, 2);
    for paths in [[&timed, &other, &bare], [&bare, &timed, &other], [&timed, &bare, &other]] {
        let paths: Vec<&Path> = paths.iter().map(|path| path.as_path()).collect();
        let report = json(&paths);
        let alignment = report["trace"]["alignment"].as_array().unwrap();
        let of = |name: &str| alignment.iter().find(|one| one["file"].as_str().unwrap().ends_with(name)).unwrap();
        assert_eq!((&of("bare.json")["by"], &of("bare.json")["uncertainty_ns"]), (&"none".into(), &Value::Null));
        let start = |name: &str| of(name)["start_ns"].as_i64().unwrap();
        assert_eq!(start("other.json") - start("timed.json"), 1_000_000);
        assert_eq!(start("bare.json"), alignment[0]["start_ns"].as_i64().unwrap());
        let printed = text(&umtui(&["report"], &paths));
        assert!(
            printed.contains("not aligned: ") && printed.contains("bare.json, which knows no time of day"),
            "{printed}"
        );
    }
    assert!(!text(&umtui(&["report"], &[&bare])).contains("aligned"));
}
