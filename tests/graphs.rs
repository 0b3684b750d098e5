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

/// Records `nodes WAY SEED`; what the program says of its memory, and the folder with the recording.
fn built(programs: &Path, way: u32, seed: u64) -> (Vec<u64>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let program = program(programs, "nodes", &[]);
    let mut command = Command::new(UMTUI);
    command.args(["record", "-o"]).arg(folder.path().join("run")).arg("--").arg(program.get_program());
    command.args([way.to_string(), seed.to_string()]).env("LD_LIBRARY_PATH", common::GUEST).env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    (said.split_whitespace().map(|number| number.parse().unwrap()).collect(), folder)
}

/// What a report says of memory and its use, times and the process left out.
fn memory_of(report: &Value) -> (Value, Value, Vec<String>) {
    let kinds = report["allocations"]["by_kind"].as_array().unwrap();
    let graphs = kinds.iter().find(|one| one["kind"] == "graph").cloned().unwrap_or_default();
    let mut launched = report["memory"]["graphs"][0].clone();
    let told: Vec<String> =
        launched.as_object().unwrap().keys().filter(|key| key.ends_with("_ns") || *key == "process").cloned().collect();
    told.iter().for_each(|key| drop(launched.as_object_mut().unwrap().remove(key)));
    let list = report["memory"]["uses"]["list"].as_array().unwrap();
    let keys = [
        "bytes",
        "kind",
        "kernels",
        "graphs",
        "graph_launches",
        "reads",
        "writes",
        "last_use",
        "last_use_may_be_later",
    ];
    let mut uses: Vec<String> =
        list.iter().map(|one| keys.map(|key| format!("{key}={} ", one[key])).concat()).collect();
    uses.sort_unstable();
    (graphs, launched, uses)
}

#[test]
fn a_graph_built_of_nodes_of_any_type_has_the_memory_and_the_uses_of_one_built_by_type() {
    let Some(programs) = programs() else { return };
    for seed in [1, 2, 3] {
        let (said, folder) = built(programs, 0, seed);
        let [made, bytes, freed] = said[..] else { panic!("{said:?}") };
        assert!(made > 3 && freed > 0, "{said:?}");
        let wanted = memory_of(&report(&[&folder.path().join("run")]));
        assert_eq!((&wanted.0["count"], &wanted.0["bytes"]), (&made.into(), &bytes.into()), "{}", wanted.0);
        assert_eq!(wanted.1["allocations"], made, "{}", wanted.1);
        for way in [1, 2, 3] {
            let (said_now, folder) = built(programs, way, seed);
            let path = folder.path().join("run");
            assert_eq!(said_now, said);
            assert_eq!(memory_of(&report(&[&path])), wanted, "way {way}, seed {seed}");
        }
    }
}

#[test]
fn a_node_is_shown_with_what_there_is_of_its_type_alone() {
    let Some(programs) = programs() else { return };
    let (said, folder) = built(programs, 1, 1);
    let path = folder.path().join("run");
    let text = text(&path);
    let of_type = |name: &str| {
        let word = format!(" type={name}");
        let lines = text.lines().filter(|line| line.contains("GraphAddNode") && line.contains("type="));
        let fits = |line: &&str| {
            line.split(['(', ')'])
                .nth(1)
                .is_some_and(|inside| inside.contains(&format!("{word} ")) || inside.ends_with(&word))
        };
        let roles = |line: &str| {
            let inside = line.split(['(', ')']).nth(1).unwrap();
            let (_, own) = inside.split_once(&word).unwrap();
            own.split_whitespace().map(|pair| pair.split('=').next().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        let mut found: Vec<String> = lines.filter(fits).map(roles).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    // The runtime's, and the driver's inside it.
    assert_eq!(of_type("MemAlloc"), ["location bytes ptr"], "{text}");
    assert_eq!(of_type("MemFree"), ["ptr"], "{text}");
    assert_eq!(of_type("Empty"), [""], "{text}");
    assert_eq!(of_type("Host"), ["callback"], "{text}");
    assert_eq!(of_type("Graph"), ["child"], "{text}");
    assert_eq!(of_type("Memset"), ["dst pitch value element width height"], "{text}");
    // A filter knows the kind of memory that a node of any type is about.
    let mut filtered = Command::new(UMTUI);
    filtered.args(["report", "--format", "json", "--filter", "kind:graph"]).arg(&path);
    let filtered: Value = serde_json::from_slice(&run(filtered).stdout).unwrap();
    assert_eq!(common::calls(&filtered, "cudaGraphAddNode"), said[0], "{}", filtered["apis"]);
    // The text reads back as what it was made of.
    let log = folder.path().join("trace.log");
    std::fs::write(&log, &text).unwrap();
    let nodes = |text: &str| {
        let lines = text.lines().filter(|line| line.contains("GraphAddNode(") && !line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(nodes(&common::text(&log)), nodes(&text));
    let (one, other) = (memory_of(&report(&[&path])), memory_of(&report(&[&log])));
    assert_eq!((one.0, one.2), (other.0, other.2));
}
