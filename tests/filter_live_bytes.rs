//! Whatever a filter leaves out of a recording, the bytes that are allocated at each moment are as without one.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use common::{UMTUI, run};

/// The filter as people of this tool write it.
const XML: &str = "<filter><include><api>cudaMallocManaged</api></include><exclude><thread>memory_monitor</thread>\
                   <stream>default</stream></exclude><threshold><duration>100us</duration></threshold></filter>";

fn record(demo: &str, folder: &Path, filter: Option<&str>) {
    let mut command = Command::new(UMTUI);
    command.args(["demo", demo, "--report", "-o"]).arg(folder);
    command.args(filter.iter().flat_map(|filter| ["--filter", filter]));
    command.args(["--", "--rounds", "3"]).env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Bytes that are allocated after each call of the program that allocated or released memory.
fn live(folder: &Path) -> Vec<(String, u64)> {
    let text = common::text(folder);
    let mut calls: Vec<(&str, &str)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && line.contains(") = 0 ") && line.contains(" d0 @"))
    {
        let mut words = line.splitn(4, ' ');
        let (time, call) = (words.next().unwrap(), words.nth(2).unwrap());
        calls.push((time, call));
    }
    calls.sort_by_key(|(time, _)| time.split_once('.').map(|(s, ns)| (s.parse::<u64>().ok(), ns.to_owned())));
    let field = |call: &str, name: &str| {
        let (_, rest) = call.split_once(&format!("{name}="))?;
        Some(rest.split([' ', ')']).next().unwrap_or_default().to_owned())
    };
    let mut held: BTreeMap<String, u64> = BTreeMap::new();
    let mut out = Vec::new();
    for (_, call) in calls {
        let name = call.split('(').next().unwrap_or_default();
        let Some(pointer) = field(call, "ptr") else { continue };
        if name.contains("Free") {
            held.remove(&pointer);
        } else if name.contains("Alloc") || name.contains("Malloc") {
            held.insert(pointer, field(call, "bytes").unwrap().parse().unwrap());
        } else {
            continue;
        }
        out.push((name.to_owned(), held.values().sum()));
    }
    out
}

#[test]
fn live_bytes_of_a_filtered_recording_are_those_of_one_without() {
    let folder = tempfile::tempdir().unwrap();
    for demo in ["pingpong", "prefetch", "training"] {
        let path = folder.path().join(demo);
        record(demo, &path, None);
        let expected = live(&path);
        let peak = expected.iter().map(|(_, bytes)| *bytes).max();
        assert!(peak > Some(0), "{demo}: {expected:?}");
        for (number, filter) in
            [XML, "nothing", "dur>=1h", "-thread:*", "api:cudaLaunchKernel", "layer:driver -api:cu*Alloc*"]
                .iter()
                .enumerate()
        {
            let path = folder.path().join(format!("{demo}{number}"));
            record(demo, &path, Some(filter));
            assert_eq!(live(&path), expected, "{demo} {filter}");
            let report = common::report(&[&path]);
            assert_eq!(common::lost(&report), 0);
        }
    }
}
