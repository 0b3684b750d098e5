//! `umtui pack`: what was packed is read as what it was packed from.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
#[path = "common/demo.rs"]
mod demo;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::UMTUI;

fn umtui(arguments: &[&str], paths: &[&Path]) -> Output {
    let mut command = Command::new(UMTUI);
    command.args(arguments).args(paths).env_remove("LD_PRELOAD").stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Everything that is printed of recordings: report in both forms, and the text form.
fn printed(paths: &[&Path]) -> Vec<Vec<u8>> {
    [&["report"][..], &["report", "--format", "json"], &["export", "--format", "text", "-o", "-"]]
        .into_iter()
        .map(|arguments| {
            let output = umtui(arguments, paths);
            assert!(output.status.success(), "{arguments:?} {paths:?}: {}", said(&output));
            output.stdout
        })
        .collect()
}

fn pack(paths: &[&Path], out: &Path) {
    let output = umtui(&["pack", "-o", out.to_str().unwrap()], paths);
    assert!(output.status.success() && output.stderr.is_empty(), "{paths:?}: {}", said(&output));
}

/// Imports of one input differ in the boot that is made up for each.
fn same(one: &[Vec<u8>], other: &[Vec<u8>], what: &str) {
    for (one, other) in one.iter().zip(other) {
        let lines = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let boot = |line: &str| {
                let words = line.split(' ').map(|word| if word.starts_with("boot=") { "boot" } else { word });
                words.collect::<Vec<_>>().join(" ")
            };
            text.lines().map(boot).collect::<Vec<_>>()
        };
        let (one, other) = (lines(one), lines(other));
        for (number, (one, other)) in one.iter().zip(&other).enumerate() {
            assert_eq!(one, other, "{what}, line {number}");
        }
        assert_eq!(one.len(), other.len(), "{what}");
    }
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

#[test]
fn every_file_reads_the_same_when_it_is_packed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.umtp");
    for file in fs::read_dir(data()).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "md") {
            continue;
        }
        pack(&[&path], &out);
        same(&printed(&[&path]), &printed(&[&out]), &path.display().to_string());
    }
}

#[test]
fn a_run_becomes_one_small_file_with_its_names() {
    let run = demo::recording();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.umtp");
    pack(&[run], &out);
    same(&printed(&[run]), &printed(&[&out]), "a run");
    let native: u64 = fs::read_dir(run)
        .unwrap()
        .flatten()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "umt"))
        .map(|file| file.metadata().unwrap().len())
        .sum();
    let packed = fs::metadata(&out).unwrap().len();
    assert!(packed * 4 < native, "{packed} of {native}");
    // Packed again it is what it was, and so it is through a pipe and compressed.
    let again = folder.path().join("again.umtp");
    pack(&[&out], &again);
    same(&printed(&[run]), &printed(&[&again]), "packed again");
    let stdout = umtui(&["pack", "-o", "-"], &[run]);
    assert!(stdout.status.success(), "{}", said(&stdout));
    let zipped = folder.path().join("run.umtp.zst");
    fs::write(&zipped, zstd::bulk::compress(&stdout.stdout, 1).unwrap()).unwrap();
    same(&printed(&[run]), &printed(&[&zipped]), "compressed");
}

#[test]
fn several_inputs_of_different_kinds_become_one() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("all.umtp");
    let (native, text) = (data().join("h200-driver.umt"), data().join("h200-step.log"));
    pack(&[&native, &text], &out);
    same(&printed(&[&native, &text]), &printed(&[&out]), "native and text");
    let json = folder.path().join("t.json");
    let events = r#"{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":9},
        {"ph":"X","name":"cudaFree","cat":"cuda_runtime","pid":1,"tid":1,"ts":6,"dur":2,"args":{"correlation":3}},
        {"ph":"C","name":"x","pid":1,"ts":6,"args":{"a":1}},{"ph":"E","name":"none","pid":1,"tid":1,"ts":7}]}"#;
    fs::write(&json, events).unwrap();
    pack(&[&json], &out);
    same(&printed(&[&json]), &printed(&[&out]), "chrome");
    let report = String::from_utf8(umtui(&["report", "--format", "json"], &[&out]).stdout).unwrap();
    assert!(report.contains("\"format\":\"chrome\"") || report.contains("\"format\": \"chrome\""), "{report}");
}

#[test]
fn damage_is_named_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.umtp");
    pack(&[&data().join("h200-bounce.log")], &out);
    let good = fs::read(&out).unwrap();
    let mut bad = good.clone();
    let middle = good.len() / 2;
    bad[middle..middle + 8].fill(0x5a);
    fs::write(&out, &bad).unwrap();
    let report = umtui(&["report", "--format", "json"], &[&out]);
    assert!(report.status.success(), "{}", said(&report));
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["trace"]["truncated"], true);
    let damage = report["trace"]["damage"].to_string();
    assert!(damage.contains("a.umtp: the block at byte"), "{damage}");
    fs::write(&out, &good[..good.len() - 10]).unwrap();
    let report = umtui(&["report"], &[&out]);
    let text = String::from_utf8_lossy(&report.stdout);
    assert!(report.status.success() && text.contains("its end is missing or damaged"), "{text}");
}

/// What is missing is still named where a damaged file was packed again.
#[test]
fn damage_is_packed_too() {
    let folder = tempfile::tempdir().unwrap();
    let (first, again) = (folder.path().join("a.umtp"), folder.path().join("b.umtp"));
    pack(&[&data().join("h200-bounce.log")], &first);
    let mut bytes = fs::read(&first).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8].fill(0x5a);
    fs::write(&first, &bytes).unwrap();
    let output = umtui(&["pack", "-o", again.to_str().unwrap()], &[&first]);
    assert!(output.status.success());
    assert_eq!(said(&output).matches("a.umtp: the block at byte").count(), 1, "{}", said(&output));
    let (one, other) = (printed(&[&first]), printed(&[&again]));
    // Damage is told in the order in which it was met.
    let text = |bytes: &[u8]| {
        let mut lines: Vec<_> = String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert!(text(&one[2]) == text(&other[2]));
    let report = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    let (mut one, mut other) = (report(&one[1]), report(&other[1]));
    let damage = |report: &mut serde_json::Value| {
        let lines = report["trace"]["damage"].take();
        let mut lines: Vec<_> =
            lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect();
        lines.sort();
        lines
    };
    let lines = damage(&mut one);
    assert_eq!(lines, damage(&mut other));
    assert!(lines.iter().any(|line| line.contains("a.umtp: the block at byte")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("line ")), "{lines:?}");
    assert_eq!(one, other);
    // A line of a text stays one.
    let text = folder.path().join("a.log");
    let lines = fs::read_to_string(data().join("h200-bounce.log")).unwrap().replacen('\n', "\nnonsense\n", 1);
    fs::write(&text, lines).unwrap();
    pack(&[&text], &first);
    pack(&[&first], &again);
    let said = printed(&[&text]);
    assert!(String::from_utf8_lossy(&said[0]).contains("a.log: line "), "{}", String::from_utf8_lossy(&said[0]));
    same(&said[..2], &printed(&[&first])[..2], "a bad line");
    same(&said[..2], &printed(&[&again])[..2], "a bad line, packed again");
}

#[test]
fn what_cannot_be_packed_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (out, inside) = (folder.path().join("a.umtp"), folder.path().join("run"));
    fs::create_dir(&inside).unwrap();
    for (path, to) in [(&inside, &out), (&folder.path().join("none"), &out), (&inside, &inside.join("x.umtp"))] {
        let output = umtui(&["pack", "-o", to.to_str().unwrap()], &[path]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    }
    assert!(!out.exists() && fs::read_dir(&inside).unwrap().next().is_none());
    fs::write(inside.join("a.txt"), "nothing").unwrap();
    let output = umtui(&["pack", "-o", out.to_str().unwrap()], &[&inside.join("a.txt")]);
    assert!(said(&output).contains("which is no trace that umtui reads"), "{}", said(&output));
}
