//! CUDA graphs on the stand-in: what is captured is not executed, and what launches do is tied to them.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{UMTUI, program, programs, report, report_text, run, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Records `graphs N` with these options.
fn recorded(folder: &Path, programs: &Path, options: &[&str]) {
    let program = program(programs, "graphs", &["5"]);
    let mut command = Command::new(UMTUI);
    command.args(["record", "-o"]).arg(folder).args(options).arg("--").arg(program.get_program()).arg("5");
    command.env("LD_LIBRARY_PATH", common::GUEST).env_remove("LD_PRELOAD");
    let output = run(command);
    assert_eq!(output.stdout, b"wait 1\nend 1\n", "{output:?}");
}

fn graphs(report: &Value) -> &[Value] {
    report["graphs"].as_array().unwrap()
}

#[test]
fn a_captured_graph_is_told_with_its_launches_and_nodes() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    recorded(&path, programs, &[]);
    let report = report(&[&path]);
    let [captured, built] = graphs(&report) else { panic!("{}", report["graphs"]) };
    assert_eq!((&captured["captured_calls"], &captured["launches"]), (&10.into(), &5.into()), "{captured}");
    // A copy and three kernels; what is not work is no node here.
    assert_eq!(captured["nodes"], 4, "{captured}");
    let kernels = captured["kernels"].as_array().unwrap();
    let count = |name: &str| kernels.iter().find(|kernel| kernel["name"] == name).unwrap()["launches"].as_u64();
    assert_eq!(
        (count("scale(float*, unsigned long)"), count("spin(unsigned long)")),
        (Some(10), Some(5)),
        "{captured}"
    );
    let ns = |key: &str| captured[key].as_u64().unwrap();
    assert!(ns("p50_ns") >= 20_000 && ns("total_ns") >= 5 * 20_000 && ns("first_ns") >= 20_000, "{captured}");
    assert!(ns("later_p50_ns") <= ns("total_ns") && ns("cupti_graph") > 0, "{captured}");
    assert_eq!((&built["captured_calls"], &built["launches"], &built["nodes"]), (&Value::Null, &1.into(), &2.into()));
    // What graphs were given is used when they are launched: by what was captured, and by nodes that were added.
    let used = |bytes: u64, kind: &str| {
        let list = report["memory"]["uses"]["list"].as_array().unwrap();
        let one = list.iter().find(|one| one["bytes"] == bytes && one["kind"] == kind).unwrap();
        let may_be_later = one["last_use_may_be_later"].as_bool();
        (one["kernels"].as_u64(), one["graph_launches"].as_u64(), may_be_later, one["last_use"].clone())
    };
    assert_eq!(used(4096, "device"), (Some(3), Some(6), Some(false), "kernel".into()));
    assert_eq!(used(4096, "pinned"), (Some(0), Some(5), Some(false), "graph".into()));
    assert_eq!(used(8192, "device"), (Some(0), Some(1), Some(false), "graph".into()));
    let words = report_text(&[&path]);
    assert!(words.lines().any(|line| line.starts_with("graph ") && line.contains("captured")));
    // Each launch allocates 4 KiB, and frees it.
    let memory = &report["memory"]["graphs"][0];
    let of = |key: &str| memory[key].as_u64();
    assert_eq!((of("allocations"), of("peak_bytes"), of("live_bytes")), (Some(5), Some(4096), Some(0)), "{memory}");
    assert_eq!((of("at_least"), of("unseen_launches")), (Some(0), Some(0)), "{memory}");
    assert!(words.contains(" allocated 5 times, 4 KiB at most at a time, 0 B not freed\n"), "{words}");
    // Each capture's calls, and no other, are flagged; so are the driver's calls inside.
    let text = text(&path);
    let flagged = |name: &str| {
        let lines = text.lines().filter(|line| line.contains(&format!(" {name}(")));
        let is_captured = |line: &&str| line.split_whitespace().any(|word| word == "captured");
        (lines.clone().filter(is_captured).count(), lines.count())
    };
    assert_eq!(flagged("cudaLaunchKernel"), (4, 7), "{text}");
    assert_eq!(flagged("cudaMemcpyAsync"), (1, 1));
    assert_eq!(flagged("cudaMallocAsync"), (1, 1));
    assert_eq!(flagged("cudaStreamWaitEvent"), (2, 3));
    assert_eq!(flagged("cudaGraphLaunch"), (0, 6));
    assert_eq!(flagged("cudaStreamEndCapture"), (0, 2));
    let submits = text.lines().filter(|line| line.contains("cuLaunchKernel") && line.contains("captured")).count();
    assert_eq!(submits, 4, "{text}");
    // Work without a call, or calls without work: neither.
    assert_eq!(report["gpu_order"]["work"], report["gpu_order"]["joined"], "{}", report["gpu_order"]);
}

#[test]
fn as_a_whole_a_graph_has_times_and_no_nodes() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    recorded(&path, programs, &["--whole-graphs"]);
    let report = report(&[&path]);
    let captured = &graphs(&report)[0];
    assert_eq!((&captured["captured_calls"], &captured["launches"]), (&10.into(), &5.into()), "{captured}");
    assert_eq!((&captured["nodes"], &captured["kernels"]), (&Value::Null, &Value::Null), "{captured}");
    assert!(captured["p50_ns"].as_u64().unwrap() >= 20_000 && captured["cupti_graph"].as_u64().unwrap() > 0);
}

#[test]
fn without_the_gpus_side_launches_are_counted_and_times_are_null() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    recorded(&path, programs, &["--no-gpu"]);
    let report = report(&[&path]);
    let captured = &graphs(&report)[0];
    assert_eq!((&captured["captured_calls"], &captured["launches"]), (&10.into(), &5.into()), "{captured}");
    // When their work was over nobody knows.
    assert_eq!(report["memory"]["graphs"][0]["at_least"], 5, "{}", report["memory"]["graphs"]);
    for key in ["nodes", "total_ns", "p50_ns", "first_ns", "kernels", "cupti_graph"] {
        assert_eq!(captured[key], Value::Null, "{key}");
    }
}
