//! Filters that have a name select what it says, on what the demo records.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::path::Path;
use std::process::Command;

fn umtui(arguments: &[&str], path: &Path) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_umtui"));
    command.args(&arguments[..2]).arg(path).args(&arguments[2..]).env_remove("LD_PRELOAD");
    let output = command.env("XDG_CONFIG_HOME", "/nowhere").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn demo(name: &str, folder: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_umtui"));
    command.args(["demo", name, "--report", "-o"]).arg(folder).args(["--", "--rounds", "10"]).env_remove("LD_PRELOAD");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn filtered(filter: &str, folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&umtui(&["report", "--format=json", "--filter", filter], folder)).unwrap()
}

/// Functions of which calls are there.
fn apis(report: &serde_json::Value) -> Vec<String> {
    let rows = report["apis"].as_array().unwrap().iter();
    rows.filter(|row| row["calls"] != 0).map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn presets_select_what_their_names_say() {
    let folder = tempfile::tempdir().unwrap();
    let (training, pingpong) = (folder.path().join("training"), folder.path().join("pingpong"));
    demo("training", &training);
    demo("pingpong", &pingpong);
    let has = |name: &str, pieces: &[&str]| pieces.iter().any(|piece| name.contains(piece));

    let some = apis(&filtered("launches", &training));
    assert!(!some.is_empty() && some.iter().all(|name| name.contains("Launch")), "{some:?}");
    let some = apis(&filtered("allocations", &training));
    let about = ["Malloc", "Free", "Host", "MemAlloc", "Mem", "Array"];
    assert!(some.iter().any(|name| name.contains("Malloc")), "{some:?}");
    assert!(some.iter().all(|name| has(name, &about) && !has(name, &["Memcpy", "Memset", "GetInfo"])), "{some:?}");
    let some = apis(&filtered("sync-storms", &training));
    let waits = ["Synchronize", "WaitEvent", "Query", "WaitValue"];
    assert!(!some.is_empty() && some.iter().all(|name| has(name, &waits)), "{some:?}");
    let slow = filtered("slow-calls", &training);
    for row in slow["apis"].as_array().unwrap().iter().filter(|row| row["calls"] != 0) {
        assert!(row["min_ns"].as_u64().unwrap() >= 1_000_000, "{row}");
    }
    for row in filtered("errors", &training)["apis"].as_array().unwrap() {
        assert_eq!(row["calls"], row["failed"], "{row}");
    }
    filtered("one-stream", &training);

    let managed = filtered("unified-memory", &pingpong);
    let some = apis(&managed);
    assert!(
        some.contains(&"cudaMallocManaged".to_owned()) && !some.iter().any(|name| name.contains("Launch")),
        "{some:?}"
    );
    assert!(managed["migrations"]["h2d"]["count"].as_u64().unwrap() > 0);
    let moved = filtered("migrations-only", &pingpong);
    assert!(apis(&moved).is_empty(), "{:?}", apis(&moved));
    assert_eq!(moved["migrations"]["h2d"], managed["migrations"]["h2d"]);
}
