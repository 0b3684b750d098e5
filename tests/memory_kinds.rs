//! Memory of the kinds that the demo's workloads do not make, through the recorder: pools, registered memory, physical memory
//! mapped twice, memory of another process, a device that is reset.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{UMTUI, program, programs, report, run};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// What the program says that it made: kind, count, bytes, how many of them are left, and their bytes.
type Said = (String, [u64; 4]);

fn recorded(programs: &Path, arguments: &[&str]) -> (Vec<Said>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let program = program(programs, "kinds", &[]);
    let mut command = Command::new(UMTUI);
    command.args(["record", "-o"]).arg(&path).arg("--").arg(program.get_program()).args(arguments);
    command.env("LD_LIBRARY_PATH", common::GUEST).env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let said = said.lines().map(|line| {
        let (kind, numbers) = line.split_once(' ').unwrap();
        let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        (kind.to_owned(), numbers.try_into().unwrap())
    });
    (said.collect(), report(&[&path]))
}

/// What the report says of a kind.
fn kind(report: &Value, kind: &str) -> [u64; 4] {
    let kinds = report["allocations"]["by_kind"].as_array().unwrap();
    let found = kinds.iter().find(|one| one["kind"] == kind).unwrap_or_else(|| panic!("no {kind}: {kinds:?}"));
    ["count", "bytes", "live_count", "live_bytes"].map(|key| found[key].as_u64().unwrap_or(u64::MAX))
}

#[test]
fn each_kind_has_the_bytes_that_were_asked_for_and_what_was_not_released() {
    let Some(programs) = programs() else { return };
    let (said, report) = recorded(programs, &[]);
    assert_eq!(said.len(), 6);
    for (name, numbers) in &said {
        assert_eq!(kind(&report, name), *numbers, "{name}");
    }
    assert_eq!(report["allocations"]["unsized_count"], 0);
}

#[test]
fn a_reset_leaves_nothing_of_a_device_and_what_the_host_has() {
    let Some(programs) = programs() else { return };
    let (said, report) = recorded(programs, &["reset"]);
    for (name, [count, bytes, ..]) in &said {
        let [seen_count, seen_bytes, left, _] = kind(&report, name);
        assert_eq!((seen_count, seen_bytes), (*count, *bytes), "{name}");
        // The other process did not reset anything.
        assert_eq!(left, u64::from(name == "shared"), "{name}");
    }
}
