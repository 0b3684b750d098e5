//! What a filter leaves out of a recording, what it never does, and how that is said.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{UMTUI, calls, files, lost, program, programs, report, report_text, run};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use umtui_wire::filter::is_kept;

/// The filter as people of this tool write it.
const XML: &str = "<filter><include><api>cudaMallocManaged</api><api>cudaMemcpy*</api><api>cudaMemGetInfo</api></include>\
                   <exclude><thread>memory_monitor</thread><stream>default</stream></exclude>\
                   <threshold><duration>1us</duration></threshold></filter>";

fn demo(folder: &Path, options: &[&str]) -> serde_json::Value {
    let mut command = Command::new(UMTUI);
    command.args(["demo", "training", "--no-gpu", "-o"]).arg(folder).args(options);
    command.args(["--report", "--", "--rounds", "20"]).env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    report(&[folder])
}

fn record(folder: &Path, filter: &str, program: &Command) -> Output {
    let mut command = Command::new(UMTUI);
    command.args(["record", "--filter", filter, "-o"]).arg(folder).arg("--").arg(program.get_program());
    command.args(program.get_args()).env_remove("LD_PRELOAD");
    for (name, value) in program.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    run(command)
}

/// Calls and shortest duration by function.
fn apis(report: &serde_json::Value) -> BTreeMap<String, (u64, u64)> {
    let row = |row: &serde_json::Value| {
        let number = |key: &str| row[key].as_u64().unwrap_or(0);
        (row["name"].as_str().unwrap().to_owned(), (number("calls"), number("min_ns")))
    };
    report["apis"].as_array().unwrap().iter().map(row).collect()
}

fn left_out(report: &serde_json::Value) -> (&str, u64) {
    let out = &report["trace"]["left_out"][0];
    (out["filter"].as_str().unwrap_or(""), out["calls"].as_u64().unwrap_or(0))
}

#[test]
fn memory_streams_and_order_are_as_without_a_filter() {
    let folder = tempfile::tempdir().unwrap();
    let xml = folder.path().join("f.xml");
    std::fs::write(&xml, XML).unwrap();
    let (plain, filtered) = (folder.path().join("plain"), folder.path().join("filtered"));
    let (all, some) = (demo(&plain, &[]), demo(&filtered, &["--filter", xml.to_str().unwrap()]));
    assert_eq!((lost(&all), lost(&some)), (0, 0));
    let (before, after) = (apis(&all), apis(&some));
    for (name, (calls, _)) in &before {
        // How often the monitor looks depends on how long it lasts.
        let asks = name.contains("Query") || name.contains("Get");
        if is_kept(name.as_bytes()) && !asks {
            assert_eq!(after.get(name).map(|(calls, _)| calls), Some(calls), "{name}");
        }
    }
    assert!(before.contains_key("cudaMemGetInfo") && !after.contains_key("cudaMemGetInfo"), "{after:?}");
    assert!(before.contains_key("cudaLaunchKernel") && !after.contains_key("cudaLaunchKernel"), "{after:?}");
    for (name, (_, least)) in after.iter().filter(|(name, _)| name.starts_with("cudaMemcpy")) {
        assert!(*least >= 1000, "{name} {least}");
    }
    let written =
        "api:cudaMallocManaged,cudaMemGetInfo,cudaMemcpy* duration>=1us -thread:memory_monitor -stream:default";
    let (filter, count) = left_out(&some);
    assert_eq!(filter, written);
    assert!(count > 0);
    assert_eq!(all["trace"]["left_out"], serde_json::json!([]));
    let text = report_text(&[&filtered]);
    let line = format!("calls that do not fit {written} (--filter); {count} were made and left out");
    assert!(text.contains(&line), "{text}");
}

#[test]
fn what_is_left_out_is_counted_to_the_call() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (plain, long) = (folder.path().join("plain"), folder.path().join("long"));
    let linked = program(programs, "linked", &[]);
    let ends = record(&plain, "everything", &linked);
    let same = record(&long, "dur>=1h", &linked);
    assert_eq!((ends.status.code(), &ends.stdout), (same.status.code(), &same.stdout));
    let (all, some) = (report(&[&plain]), report(&[&long]));
    let total = |report: &serde_json::Value| report["trace"]["calls"].as_u64().unwrap();
    assert_eq!(left_out(&all), ("everything", 0));
    assert_eq!(total(&all), total(&some) + left_out(&some).1);
    assert!(left_out(&some).1 > 10);
    let (before, after) = (apis(&all), apis(&some));
    for (name, (calls, _)) in &before {
        let left = after.get(name).map_or(0, |(calls, _)| *calls);
        let expected = if is_kept(name.as_bytes()) { *calls } else { left };
        assert_eq!(left, expected, "{name}");
    }
    assert!(before.keys().any(|name| !after.contains_key(name)));
}

#[test]
fn functions_are_left_out_before_they_are_called() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let layer = folder.path().join("layer");
    assert!(record(&layer, "layer:driver -api:cuLaunch*", &program(programs, "linked", &[])).status.success());
    let report = report(&[&layer]);
    assert_eq!(left_out(&report).1, 0);
    for name in apis(&report).keys() {
        assert!(is_kept(name.as_bytes()) || !name.starts_with("cuda") && !name.starts_with("cuLaunch"), "{name}");
    }
    assert!(calls(&report, "cudaMalloc") > 0);
}

#[test]
fn what_the_hook_cannot_know_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (filter, said) in [
        ("cause:coherence", "record cannot filter by cause: leave it to open or report"),
        ("migrations-only", "record cannot filter by kind:migration, only calls are filtered"),
        ("dur>=5", "filter, column 6: expected a duration"),
    ] {
        let output = record(&folder.path().join("x"), filter, &Command::new("true"));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(said), "{text}");
    }
    assert!(files(folder.path(), "umt").is_empty());
}
