//! What the report says of allocations of which everything is known: pools, use, advice, what the driver told.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{UMTUI, program, programs, report, report_text, run};
use serde_json::{Value, json};
use std::process::Command;

const MIB: u64 = 1 << 20;

/// Some keys of an object.
fn some(object: &Value, keys: &[&str]) -> Value {
    keys.iter().map(|&key| object[key].clone()).collect()
}

#[test]
fn pools_use_advice_and_answers_are_those_of_the_program() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let program = program(programs, "known", &[]);
    let mut command = Command::new(UMTUI);
    command.args(["record", "-o"]).arg(&path).arg("--").arg(program.get_program());
    command.env("LD_LIBRARY_PATH", common::GUEST).env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{output:?}");
    let report = report(&[&path]);
    let memory = &report["memory"];

    let [own, made] = memory["pools"].as_array().unwrap().as_slice() else { panic!("{}", memory["pools"]) };
    let keys = ["origin", "device", "count", "bytes", "peak_bytes", "live_count", "live_bytes", "release_threshold"];
    assert_eq!(some(own, &keys), json!(["default", 0, 2, 2 * MIB, 2 * MIB, 1, MIB, u64::MAX]));
    assert_eq!(some(made, &keys), json!(["created", 0, 1, 3 * MIB, 3 * MIB, 0, 0, null]));
    let keys = ["reserved_bytes", "used_bytes", "used_is_told", "unused_ppm", "trims"];
    assert_eq!(some(own, &keys), json!([2 * MIB, 2 * MIB, true, 0, 0]));
    assert_eq!(some(made, &keys), json!([0, 0, false, null, 1]));
    assert!(own["handle"].is_u64() && own["made_ns"].is_null() && own["call_site"].is_null(), "{own}");
    assert!(made["made_ns"].is_u64() && made["destroyed_ns"].is_u64() && made["call_site"].is_string(), "{made}");

    let uses = &memory["uses"];
    assert_eq!(uses["certain"], json!({"count": 3, "bytes": 3 * MIB}), "{uses}");
    assert_eq!(uses["possible"], json!({"count": 0, "bytes": 0}));
    assert_eq!(uses["unused"], json!({"count": 2, "bytes": 7 * MIB}));
    let list = uses["list"].as_array().unwrap();
    let idle = list.iter().find(|one| one["bytes"] == 4 * MIB).unwrap();
    assert_eq!(some(idle, &["first_use_ns", "last_use", "is_certain", "freed_ns"]), json!([null, null, false, null]));
    let managed = list.iter().find(|one| one["kind"] == "managed").unwrap();
    assert_eq!(some(managed, &["writes", "addresses", "is_certain", "allocator"]), json!([1, 1, true, null]));
    let ns = |key: &str| managed[key].as_u64().unwrap();
    assert!(ns("made_ns") <= ns("first_use_ns") && ns("first_use_ns") <= ns("last_use_ns"), "{managed}");
    assert!(ns("last_use_ns") <= ns("freed_ns") && ns("alignment") >= 4096, "{managed}");

    let keys = ["advice", "place", "bytes"];
    let [first, second] = memory["advice"].as_array().unwrap().as_slice() else { panic!("{}", memory["advice"]) };
    assert_eq!(some(first, &keys), json!(["PreferredLocation", "device 0", MIB / 2]));
    assert_eq!(some(second, &keys), json!(["PreferredLocation", "device 0", MIB / 2]));
    assert!(first["until_ns"].is_u64() && second["until_ns"].is_null(), "{}", memory["advice"]);
    assert_eq!(memory["prefetches"], json!([{"place": "device 0", "count": 1, "bytes": MIB, "batches": 0}]));

    let [info] = memory["info"].as_array().unwrap().as_slice() else { panic!("{}", memory["info"]) };
    // The pool's block that is in use, and what nothing uses; managed memory may be anywhere.
    assert_eq!(some(info, &["count", "device", "tracked_bytes"]), json!([1, 0, 5 * MIB]), "{info}");
    assert!(info["used_bytes"].as_u64().unwrap() >= 5 * MIB, "{info}");
    assert_eq!(memory["by_driver"], Value::Null, "it was not asked for");
    assert_eq!(memory["segments"], json!([]));

    let text = report_text(&[&path]);
    for part in [
        "\nuse of memory ",
        "\nnot seen to be used ",
        "\npool ",
        "\nadvice ",
        "\nprefetched to ",
        "\nasked the driver ",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}
