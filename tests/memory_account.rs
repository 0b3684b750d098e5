//! What the report says of memory, of the demo's workloads: what they allocate is known to the byte.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{UMTUI, report, report_text, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

const MIB: u64 = 1 << 20;

fn recorded(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(UMTUI);
    command.args(["demo", "--report", "-o"]).arg(folder.path()).args(arguments).env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    report(&[folder.path()])
}

/// Count, bytes and peak of a kind.
fn kind(report: &Value, kind: &str) -> Option<(u64, u64, u64)> {
    let kinds = report["allocations"]["by_kind"].as_array().unwrap();
    let found = kinds.iter().find(|one| one["kind"] == kind)?;
    Some((found["count"].as_u64()?, found["bytes"].as_u64()?, found["peak_bytes"].as_u64()?))
}

#[test]
fn pages_that_bounce_are_counted_to_the_byte() {
    let rounds = 7;
    let report = recorded(&["pingpong", "--", "--rounds", &rounds.to_string()]);
    assert_eq!(kind(&report, "managed"), Some((1, 64 * MIB, 64 * MIB)));
    let all = &report["allocations"];
    assert_eq!((all["live_count"].as_u64(), all["live_bytes"].as_u64()), (Some(0), Some(0)));
    assert_eq!((all["failed"].as_u64(), all["unread_calls"].as_u64()), (Some(0), Some(0)));
    let moved = report["migrated"].as_array().unwrap();
    assert_eq!(moved.len(), 1);
    let of = |key: &str| moved[0][key].as_u64().unwrap();
    assert_eq!((of("h2d_bytes"), of("d2h_bytes")), (rounds * 64 * MIB, rounds * 64 * MIB));
    assert_eq!((of("moved_once_bytes"), of("contradicted_bytes")), (64 * MIB, 0));
    // All but the first way there goes back to where the way before had come from.
    assert_eq!(of("returned_bytes"), (2 * rounds - 1) * 64 * MIB);
}

#[test]
fn what_is_not_recorded_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(UMTUI);
    command.args(["demo", "pingpong", "--no-args", "--report", "-o"]).arg(folder.path());
    command.args(["--", "--rounds", "2"]).env_remove("LD_PRELOAD");
    assert!(run(command).status.success());
    assert_eq!(report(&[folder.path()])["allocations"], Value::Null);
    let text = report_text(&[folder.path()]);
    assert!(text.contains("\nmemory: not known, the arguments of calls are not recorded\n"), "{text}");
}

#[test]
fn each_line_of_the_program_is_one_row_and_rows_add_up() {
    let report = recorded(&["training", "--", "--rounds", "4"]);
    let all = &report["allocations"];
    let sites = all["by_call_site"].as_array().unwrap();
    let names: BTreeSet<&str> = sites.iter().map(|one| one["call_site"].as_str().unwrap()).collect();
    assert_eq!(names.len(), sites.len(), "{names:?}");
    let sum = |list: &str, key: &str| -> u64 {
        let rows = all[list].as_array().unwrap().iter().filter(|one| one["counted"] != false);
        rows.map(|one| one[key].as_u64().unwrap()).sum()
    };
    for list in ["by_kind", "by_call_site", "by_device"] {
        assert_eq!(Some(sum(list, "count")), all["count"].as_u64(), "{list}");
        assert_eq!(Some(sum(list, "bytes")), all["bytes"].as_u64(), "{list}");
    }
    assert_eq!(Some(sum("at_peak", "bytes")), all["peak_bytes"].as_u64());
    let (pool, device) = (kind(&report, "pool").unwrap(), kind(&report, "device").unwrap());
    assert!(pool.0 >= 4 && pool.1 == pool.0 * MIB, "{pool:?}");
    assert_eq!(device.1, device.2, "all of it is there at once: {device:?}");
}
