//! Pages of the demo's workloads: how many moved, went back, were met in which order, and while what ran, to the page.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{UMTUI, report, report_text, run};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const MIB: u64 = 1 << 20;
/// Pages of the array of 64 MiB.
const PAGES: u64 = 16384;

fn recorded(folder: &Path, workload: &str, options: &[&str], rounds: u64) -> Value {
    let mut command = Command::new(UMTUI);
    command.args(["demo", workload, "--report", "-o"]).arg(folder).args(options);
    command.args(["--", "--rounds", &rounds.to_string()]).env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    report(&[folder])
}

fn only(report: &Value) -> &Value {
    let [one] = report["migrated"].as_array().unwrap().as_slice() else { panic!("{}", report["migrated"]) };
    one
}

#[test]
fn pages_that_bounce_are_told_one_by_one() {
    let (folder, rounds) = (tempfile::tempdir().unwrap(), 7);
    let report = recorded(folder.path(), "pingpong", &["--um-faults"], rounds);
    let one = only(&report);
    let of = |key: &str| one[key].as_u64().unwrap_or_else(|| panic!("{key}: {one}"));
    assert_eq!(of("alternations"), (2 * rounds - 1) * PAGES);
    assert_eq!(of("most_alternations"), 2 * rounds - 1);
    assert_eq!((of("moved_once_bytes"), of("moved_pct")), (64 * MIB, 2 * rounds * 100));
    assert_eq!((of("needless_bytes"), of("evicted_bytes"), of("prefetched_bytes")), (0, 0, 0));
    // The CPU took all of them back before it released them.
    assert_eq!(one["last_pages"], json!({ "host": PAGES, "device": 0, "several": 0, "unknown": 0 }));
    // Six faults for each 2 MiB, once to write it all, and once each round.
    assert_eq!(of("cpu_faults"), (rounds + 1) * 6 * 32);
    assert_eq!(of("faults"), of("cpu_faults") + of("gpu_faults"));
    // The stand-in's device faults three times for each 2 MiB, at places that it makes up: they are in no order.
    for (order, kind) in [("cpu_pattern", "sequential"), ("gpu_pattern", "random")] {
        assert_eq!(one[order], json!({ "kind": kind, "stride_bytes": null }), "{order}");
    }
    let text = report_text(&[folder.path()]);
    assert!(text.contains("the CPU meets it in sequence"), "{text}");
}

#[test]
fn what_moved_while_a_kernel_ran_is_told_by_its_name() {
    let (folder, rounds) = (tempfile::tempdir().unwrap(), 3);
    let report = recorded(folder.path(), "pingpong", &[], rounds);
    let kernels = report["migrated_by_kernel"].as_array().unwrap();
    let sum = |key: &str, named: bool| -> u64 {
        let wanted = kernels.iter().filter(|one| one["kernel"].is_null() != named);
        wanted.map(|one| one[key].as_u64().unwrap()).sum()
    };
    assert_eq!((sum("h2d_bytes", true), sum("d2h_bytes", true)), (rounds * 64 * MIB, 0), "{kernels:?}");
    assert_eq!((sum("h2d_bytes", false), sum("d2h_bytes", false)), (0, rounds * 64 * MIB), "{kernels:?}");
    assert!(kernels.iter().any(|one| one["kernel"].as_str().is_some_and(|name| name.starts_with("scale("))));
    assert!(report_text(&[folder.path()]).contains("\nmoved while "));
    // Faults were not asked for.
    let one = only(&report);
    for key in ["faults", "cpu_faults", "gpu_faults", "cpu_pattern", "gpu_pattern"] {
        assert!(one[key].is_null(), "{key}: {one}");
    }
}

#[test]
fn what_is_prefetched_is_told_apart() {
    let (folder, rounds) = (tempfile::tempdir().unwrap(), 4);
    let report = recorded(folder.path(), "prefetch", &[], rounds);
    let one = only(&report);
    let of = |key: &str| one[key].as_u64().unwrap_or_else(|| panic!("{key}: {one}"));
    assert_eq!((of("h2d_bytes"), of("prefetched_bytes")), (rounds * 64 * MIB, rounds * 64 * MIB));
    // A kernel has used all of it before it went back.
    assert_eq!((of("alternations"), of("needless_bytes")), ((2 * rounds - 1) * PAGES, 0));
    assert_eq!(one["last_pages"]["host"], PAGES);
}

#[test]
fn without_records_of_the_gpu_nothing_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let report = recorded(folder.path(), "pingpong", &["--no-gpu"], 1);
    assert_eq!((&report["migrated"], &report["migrated_by_kernel"]), (&Value::Null, &Value::Null));
}

/// One round by faults and one with a prefetch, of 1 MiB, as an H200 has recorded it.
#[test]
fn what_a_real_device_recorded_comes_out_to_the_page() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-bounce.log");
    let report = report(&[&path]);
    let one = only(&report);
    let of = |key: &str| one[key].as_u64().unwrap_or_else(|| panic!("{key}: {one}"));
    assert_eq!((of("alternations"), of("most_alternations")), (3 * 256, 3));
    // Two pages came to where they were: CUPTI has lost the record of their way back (docs/limits.md).
    assert_eq!((of("moved_once_bytes"), of("moved_pct"), of("contradicted_bytes")), (MIB, 400, 8192));
    assert_eq!((of("prefetched_bytes"), of("needless_bytes"), of("evicted_bytes")), (MIB, 0, 0));
    assert_eq!(one["last_pages"], json!({ "host": 256, "device": 0, "several": 0, "unknown": 0 }));
    assert_eq!((of("cpu_faults"), of("gpu_faults")), (15, 3));
    assert_eq!(one["gpu_pattern"]["kind"], "undecided");
}

/// Blocks of 2 MiB prefetched to the device or back, 64 KiB of one once more, the rest written by the CPU alone: pages are
/// where `cudaMemRangeGetAttribute` said in that run, and where nothing was prefetched there is no record of them.
#[test]
fn pages_are_where_the_driver_said_that_it_put_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-places.log");
    let report = report(&[&path]);
    let one = only(&report);
    assert_eq!(one["last_pages"], json!({ "device": 4112, "host": 2032, "several": 0, "unknown": 2048 }));
    assert_eq!((&one["prefetched_bytes"], &one["faults"]), (&json!(33_619_968), &Value::Null));
}
