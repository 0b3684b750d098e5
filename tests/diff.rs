//! `umtui diff` on recordings of the demo's workloads, whose memory is known to the byte.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{UMTUI, run};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

const MIB: u64 = 1 << 20;

fn record(folder: &Path, name: &str, arguments: &[&str]) -> String {
    let path = folder.join(name);
    let mut command = Command::new(UMTUI);
    command.args(["demo", "--report", "-o"]).arg(&path).args(arguments).env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path.to_str().unwrap().to_owned()
}

fn diff(arguments: &[&str]) -> Output {
    Command::new(UMTUI).arg("diff").args(arguments).env_remove("LD_PRELOAD").output().unwrap()
}

fn told(arguments: &[&str]) -> Value {
    let output = diff(&[arguments, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn error(arguments: &[&str]) -> String {
    let output = diff(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    text
}

#[test]
fn two_recordings_are_compared_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let few = record(folder.path(), "few", &["pingpong", "--", "--rounds", "3"]);
    let many = record(folder.path(), "many", &["pingpong", "--", "--rounds", "5"]);
    let value = told(&[&few, &many]);
    let memory = &value["memory"];
    assert_eq!(memory[0]["bytes"], json!({"before": 64 * MIB, "after": 64 * MIB, "growth": 0}));
    assert_eq!((&memory[0]["after"]["asked"], &memory[1]["after"]["asked"]), (&json!("peak"), &json!("end")));
    assert_eq!(memory[1]["count"], json!({"before": 0, "after": 0, "growth": 0}));
    let row = &memory[0]["by_size"][0];
    assert_eq!((&row["size_class_bytes"], &row["became"]), (&json!(64 * MIB), &json!("same")));
    assert!(row["call_site"].as_str().unwrap().contains("pingpong.rs:"), "{row}");
    assert!(memory[0]["by_address"].is_null() && memory[0]["new"].is_null());
    // Each round goes there and back.
    let moved = json!({"before": 3 * 128 * MIB, "after": 5 * 128 * MIB, "growth": 2 * 128 * MIB});
    assert_eq!(value["totals"]["moved_bytes"], moved);
    assert_eq!(value["migrated"][0]["bytes"], moved);
    assert_eq!(value["migrated"][0]["call_site"], row["call_site"]);
    assert_eq!(value["totals"]["faults"], json!({"before": null, "after": null, "growth": null}));
    let launches = value["kernels"].as_array().unwrap().iter().map(|one| &one["count"]).collect::<Vec<_>>();
    assert_eq!(launches, [&json!({"before": 3, "after": 5, "growth": 2})]);
    assert!(value["regression"].is_null());

    let status = |arguments: &[&str]| diff(&[&[few.as_str(), many.as_str()], arguments].concat()).status.code();
    assert_eq!(status(&["--fail-on-regression"]), Some(0));
    assert_eq!(status(&["--fail-on-regression", "--regression-of", "moved"]), Some(1));
    assert_eq!(status(&["--fail-on-regression=66%", "--regression-of", "memory,moved"]), Some(1));
    assert_eq!(status(&["--fail-on-regression=67%", "--regression-of", "memory,moved"]), Some(0));
    assert_eq!(status(&["--fail-on-regression=255MiB", "--regression-of=moved"]), Some(1));
    assert_eq!(status(&["--fail-on-regression=256MiB", "--regression-of=moved"]), Some(0));
    assert!(error(&[&few, &many, "--fail-on-regression", "--regression-of", "faults"]).contains("page faults"));
    let itself = told(&[&few, &few]);
    for list in ["apis", "kernels", "migrated"] {
        let rows = itself[list].as_array().unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            assert!(row["count"]["growth"] == 0 || row["bytes"]["growth"] == 0, "{list}: {row}");
        }
    }
}

#[test]
fn two_moments_of_a_recording_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "run", &["training", "--", "--rounds", "4"]);
    // Between two steps only what the model holds is in use; within one there is what the layers have made.
    let value = told(&[&path, "--from", "step:1", "--to", "step:forward#3"]);
    let memory = &value["memory"][0];
    assert_eq!(memory["bytes"]["growth"], json!(3 * MIB));
    assert_eq!(memory["count"]["growth"], 3);
    assert_eq!(memory["by_kind"][0]["kind"], "pool");
    let rows = memory["by_size"].as_array().unwrap();
    assert_eq!((&rows[0]["became"], &rows[0]["count"]["growth"]), (&json!("new"), &json!(3)));
    assert!(rows[1..].iter().all(|row| row["became"] == "same"), "{rows:?}");
    let (new, gone) = (memory["new"].as_array().unwrap(), memory["gone"].as_array().unwrap());
    assert_eq!((new.len(), gone.len()), (3, 0));
    assert!(new.iter().all(|one| one["bytes"] == json!(MIB) && one["released_ns"].is_u64()), "{new:?}");
    let parts = memory["by_address"].as_array().unwrap();
    let grown: u64 = parts.iter().map(|one| one["bytes"]["growth"].as_u64().unwrap()).sum();
    assert_eq!(grown, 3 * MIB);
    assert!(value["totals"].is_null() && value["apis"].is_null());
    // The same memory at the end of each step: no leak.
    let steady = ["--from", "step:1", "--to", "step:4", "--fail-on-regression"];
    let output = diff(&[&[path.as_str()], &steady[..]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("memory in use at step:4: no regression, it has not grown\n"), "{text}");
    let within = diff(&[&path, "--from", "step:1", "--to", "step:forward#3", "--fail-on-regression"]);
    assert_eq!(within.status.code(), Some(1));
    // All is released in the end.
    let value = told(&[&path, "--from", "peak"]);
    let memory = &value["memory"][0];
    assert_eq!((&memory["after"]["asked"], &memory["bytes"]["after"]), (&json!("end"), &json!(0)));
    assert_eq!(memory["by_call_site"].as_array().unwrap().iter().filter(|one| one["became"] != "gone").count(), 0);
    // Through a filter.
    let value = told(&[&path, "--from", "step:1", "--to", "step:forward#3", "--filter", "api:cudaMallocHost"]);
    assert_eq!(value["memory"][0]["bytes"]["growth"], 0);
    assert_eq!(value["memory"][0]["by_kind"].as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_compared_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "run", &["training", "--no-args", "--", "--rounds", "2"]);
    assert!(error(&[&path]).contains("say --from"));
    assert!(error(&[&path, "--from", "step:9"]).contains("no such moment as step:9: there are 2 of the range step"));
    assert!(error(&[&path, "--from", "saved"]).contains("there are 0 marks that are named saved"));
    assert!(error(&[&path, "--from", "1.5"]).contains("is no time"));
    assert!(error(&[&path, "--from", "0", "--fail-on-regression=5parts"]).contains("a share, such as 5%"));
    assert!(error(&[&path, "--from", "0", "--fail-on-regression", "--regression-of=time"]).contains("name both"));
    assert!(error(&[&path, "/nowhere"]).contains("/nowhere"));
    // Without arguments nobody knows what was in use.
    let value = told(&[&path, "--from", "step:1"]);
    assert_eq!(value["memory"][0]["bytes"], json!({"before": null, "after": null, "growth": null}));
    assert!(value["memory"][0]["by_call_site"].is_null());
    assert!(error(&[&path, "--from", "step:1", "--fail-on-regression"]).contains("cannot tell: memory in use"));
}

#[test]
fn the_report_says_what_was_in_use_at_moments() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "run", &["training", "--", "--rounds", "4"]);
    let report = |arguments: &[&str]| {
        let mut command = Command::new(UMTUI);
        command.arg("report").arg(&path).args(arguments).env_remove("LD_PRELOAD");
        run(command)
    };
    let asked = ["--snapshot", "step:2", "--snapshot", "peak", "--snapshot", "end"];
    let output = report(&[&asked[..], &["--format", "json"]].concat());
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let snapshots = value["snapshots"].as_array().unwrap();
    let bytes: Vec<Option<u64>> = snapshots.iter().map(|one| one["in_use"]["bytes"].as_u64()).collect();
    let all = &value["allocations"];
    assert_eq!(bytes[1..], [all["peak_bytes"].as_u64(), Some(0)]);
    assert_eq!((&snapshots[0]["by"], &snapshots[1]["time_ns"]), (&json!("step"), &all["peak_ns"]));
    let step = &snapshots[0]["in_use"];
    // Weights and batches, and what the loss is copied to: nothing of a step outlives it.
    let kinds = step["by_kind"].as_array().unwrap();
    assert_eq!(kinds.iter().map(|one| one["kind"].as_str().unwrap()).collect::<Vec<_>>(), ["device", "pinned"]);
    for list in ["by_kind", "by_device", "by_call_site", "by_size"] {
        let sum = |key: &str| step[list].as_array().unwrap().iter().map(|one| one[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!((Some(sum("bytes")), Some(sum("count"))), (bytes[0], step["count"].as_u64()), "{list}");
    }
    assert_eq!(step["allocations"].as_array().unwrap().len() as u64, step["count"].as_u64().unwrap());
    assert_eq!((&value["rises"]["steps"], &value["rises"]["call_sites"]), (&json!(4), &json!([])));
    let text = String::from_utf8(report(&asked).stdout).unwrap();
    assert!(text.contains("\nin use at step:2 of step, at ") && text.contains("\nin use at the end, at "), "{text}");
    let output = report(&["--snapshot", "step:9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no such moment as step:9"));
}

#[test]
fn a_leak_is_found_by_moments_by_recordings_and_by_steps() {
    const STEP: u64 = 200_000;
    let folder = tempfile::tempdir().unwrap();
    let short = record(folder.path(), "short", &["leak", "--", "--rounds", "4"]);
    let long = record(folder.path(), "long", &["leak", "--", "--rounds", "9"]);
    // Two moments of one.
    let value = told(&[&long, "--from", "step:2", "--to", "step:7"]);
    let memory = &value["memory"][0];
    assert_eq!((&memory["bytes"]["growth"], &memory["count"]["growth"]), (&json!(5 * STEP), &json!(5)));
    let grown: Vec<&Value> =
        memory["by_size"].as_array().unwrap().iter().filter(|one| one["became"] != "same").collect();
    assert_eq!(grown.len(), 1, "{memory}");
    assert_eq!((&grown[0]["size_class_bytes"], &grown[0]["became"]), (&json!(262_144), &json!("grown")));
    assert_eq!(grown[0]["count"], json!({"before": 2, "after": 7, "growth": 5}));
    let new = memory["new"].as_array().unwrap();
    assert_eq!(new.len(), 5);
    assert!(new.iter().all(|one| one["bytes"] == STEP && one["released_ns"].is_null()), "{new:?}");
    // Two recordings.
    let value = told(&[&short, &long]);
    let growth = |at: usize| &value["memory"][at]["bytes"]["growth"];
    assert_eq!((growth(0), growth(1)), (&json!(5 * STEP), &json!(5 * STEP)));
    assert_eq!(value["memory"][1]["by_call_site"].as_array().unwrap().len(), 1);
    let value = told(&[&short, &long, "--from", "step:3"]);
    assert_eq!(value["memory"].as_array().unwrap().len(), 1);
    assert_eq!(value["memory"][0]["bytes"]["growth"], 0);
    let status = |arguments: &[&str]| diff(arguments).status.code();
    assert_eq!(status(&[&short, &long, "--fail-on-regression"]), Some(1));
    assert_eq!(status(&[&short, &long, "--fail-on-regression=1000000"]), Some(0));
    assert_eq!(status(&[&short, &long, "--fail-on-regression=999999"]), Some(1));
    // By steps.
    let mut command = Command::new(UMTUI);
    command.args(["report", &long, "--format", "json"]);
    let value: Value = serde_json::from_slice(&run(command).stdout).unwrap();
    let rises = &value["rises"];
    assert_eq!((&rises["steps"], rises["call_sites"].as_array().unwrap().len()), (&json!(9), 1));
    let rise = &rises["call_sites"][0];
    assert_eq!((&rise["least_bytes"], &rise["most_bytes"]), (&json!(STEP), &json!(STEP)));
    assert_eq!(rise["after_bytes"].as_u64().unwrap() - rise["before_bytes"].as_u64().unwrap(), 9 * STEP);
}
