//! Who moves pages, on the stand-in: bytes that moved are told by the allocation that they belong to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{UMTUI, report, report_text, run};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn demo(folder: &Path, options: &[&str]) -> Value {
    let mut command = Command::new(UMTUI);
    command.args(["demo", "pingpong", "-o"]).arg(folder).args(options).args(["--report", "--", "--rounds", "3"]);
    command.env("UMTUI_SIM_SPEED", "0").env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{output:?}");
    report(&[folder])
}

#[test]
fn the_array_that_bounces_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let report = demo(&path, &["--um-faults"]);
    let [array] = report["migrated"].as_array().unwrap().as_slice() else { panic!("{}", report["migrated"]) };
    assert_eq!((&array["kind"], &array["bytes"]), (&"managed".into(), &(64u64 << 20).into()), "{array}");
    assert_eq!(array["h2d_bytes"], report["migrations"]["h2d"]["bytes"]);
    assert_eq!(array["d2h_bytes"], report["migrations"]["d2h"]["bytes"]);
    assert!(array["call_site"].as_str().unwrap().contains("pingpong"), "{array}");
    assert_eq!(array["joined_by"], "address and time");
    let faults = &report["faults"];
    assert_eq!(array["faults"].as_u64(), Some(faults["cpu"].as_u64().unwrap() + faults["gpu"].as_u64().unwrap()));
    let text = report_text(&[&path]);
    assert!(text.contains("\nwho moves pages ") && text.contains("\njoined by address and time"), "{text}");
}

#[test]
fn what_was_not_recorded_is_null() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(demo(&folder.path().join("all"), &["--no-gpu"])["migrated"], Value::Null);
    let report = demo(&folder.path().join("moves"), &[]);
    assert_eq!(report["migrated"][0]["faults"], Value::Null);
}
