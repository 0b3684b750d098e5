//! Traces recorded on a real GPU read as they did then; see tests/data/README.md.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

fn report(name: &str) -> serde_json::Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let output =
        Command::new(env!("CARGO_BIN_EXE_umtui")).args(["report", "--format", "json"]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn api<'a>(report: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    report["apis"].as_array().unwrap().iter().find(|api| api["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn the_driver_program_made_the_calls_its_source_says() {
    let report = report("h200-driver.umt");
    for (name, calls, failed) in [
        ("cuInit", 1, 0),
        ("cuLaunchKernel", 7, 0),
        ("cuMemAllocManaged", 1, 0),
        ("cuMemAlloc_v2", 2, 1),
        ("cuMemFree_v2", 2, 0),
        ("cuModuleGetFunction", 1, 0),
        ("cuModuleUnload", 1, 0),
        ("cuCtxSynchronize", 1, 0),
    ] {
        assert_eq!(api(&report, name)["calls"], calls, "{name}");
        assert_eq!(api(&report, name)["failed"], failed, "{name}");
        assert_eq!(api(&report, name)["layer"], "driver");
    }
    assert_eq!(report["trace"]["events"], 20);
    assert_eq!(report["trace"]["lost"], 0);
    assert_eq!(report["trace"]["threads"], 1);
    // What was cut off after the last record was only reserved.
    assert_eq!(report["trace"]["truncated"], false);
    assert!(report["kernels"].is_null() && report["migrations"].is_null(), "what was not recorded is not zero");
}

#[test]
fn managed_memory_is_seen_by_runtime_and_driver_name() {
    for (file, runtime) in [("h200-managed-shared.log", true), ("h200-managed-static.log", false)] {
        let report = report(file);
        for (name, calls) in
            [("cuMemAllocManaged", 1), ("cuLaunchKernel", 10), ("cuMemPrefetchAsync_v2", 5), ("cuMemAdvise_v2", 2)]
        {
            assert_eq!(api(&report, name)["calls"], calls, "{file}: {name}");
        }
        let names: Vec<&str> =
            report["apis"].as_array().unwrap().iter().filter_map(|api| api["name"].as_str()).collect();
        assert_eq!(names.contains(&"__cudaLaunchKernel"), runtime, "{file}");
        if runtime {
            for (name, calls) in [("__cudaLaunchKernel", 10), ("cudaMemPrefetchAsync", 5), ("cudaMemAdvise", 2)] {
                assert_eq!(api(&report, name)["calls"], calls, "{file}: {name}");
            }
            // Nested under the runtime call that made it, a driver call is no time of the runtime's own.
            let launch = api(&report, "__cudaLaunchKernel");
            assert!(launch["self_ns"].as_u64() < launch["total_ns"].as_u64());
        }
        assert_eq!(report["trace"]["lost"], 0);
        assert_eq!(report["trace"]["truncated"], false);
    }
}

#[test]
fn an_array_that_bounces_moved_to_the_byte() {
    let report = report("h200-bounce.log");
    // One round by faults and one with a prefetch, of 1 MiB.
    const MIB: u64 = 1 << 20;
    let migrations = &report["migrations"];
    assert_eq!((&migrations["h2d"]["bytes"], &migrations["d2h"]["bytes"]), (&(2 * MIB).into(), &(2 * MIB).into()));
    assert_eq!(migrations["d2d"]["count"], 0);
    assert_eq!(migrations["by_cause"]["user"]["bytes"], MIB);
    let faults = &report["faults"];
    assert_eq!((&faults["cpu"], &faults["gpu"], &faults["gpu_groups"]), (&15.into(), &3.into(), &21.into()));
    assert_eq!(report["kernels"][0]["name"], "scale(float*, unsigned long)");
    assert_eq!(report["kernels"][0]["launches"], 2);
    let order = &report["gpu_order"];
    assert_eq!(
        (&order["work"], &order["joined"], &order["early"], &order["late"]),
        (&2.into(), &2.into(), &0.into(), &0.into())
    );
    let moved = &report["migrated"][0];
    assert_eq!(
        (&moved["bytes"], &moved["kind"], &moved["h2d_bytes"]),
        (&MIB.into(), &"managed".into(), &(2 * MIB).into())
    );
    assert_eq!(report["devices"][0]["name"], "NVIDIA H200");
    assert_eq!(report["gpu_clock_error_ns"], 24);
    let missing = report["evidence_missing"].as_array().unwrap();
    assert!(missing.iter().all(|one| one["why"] == "not asked for"), "{missing:?}");
}

#[test]
fn training_steps_have_their_kernels_under_their_ranges() {
    let report = report("h200-step.log");
    let ranges: Vec<_> = report["ranges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|range| {
            let number = |key: &str| range[key].as_u64().unwrap();
            (range["name"].as_str().unwrap(), number("count"), number("kernels"), number("kernels_by_time"))
        })
        .collect();
    // PyTorch launches those of backward in a thread of its own, which has no ranges.
    assert_eq!(ranges, [("step", 2, 16, 8), ("forward", 2, 4, 0), ("backward", 2, 10, 8)]);
    assert!(report["faults"].is_null(), "what was not asked for is not zero");
    assert_eq!(report["gpu_order"]["early"], 0);
}
