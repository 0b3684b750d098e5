//! The stand-in's doors for tools. CUPTI: what a client is told is what happened, and trouble comes as asked for. And what is
//! injected into CUDA and NVTX programs.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{GUEST, program, programs, run};
use std::collections::BTreeMap;
use std::process::Command;

/// What cupti.c says with arguments and variables: numbers by name, and lines about failed calls.
fn client(arguments: &[&str], variables: &[(&str, &str)]) -> Option<(BTreeMap<String, u64>, Vec<String>)> {
    let programs = programs()?;
    let mut command = program(programs, "cupti", arguments);
    command.envs(variables.iter().copied()).env("UMTUI_SIM_SPEED", "0");
    let output = run(command);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{:?}\n{text}", output.status);
    let (failed, said): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("failed:"));
    let number = |line: &str| {
        let (name, number) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), number.parse().unwrap())
    };
    Some((said.into_iter().map(number).collect(), failed.into_iter().map(str::to_owned).collect()))
}

/// Holds that all that the driver counted of unified memory was told, to the byte.
fn unified(said: &BTreeMap<String, u64>) {
    for what in ["h2d", "d2h", "d2d", "h2d-rows", "d2h-rows", "cpu-faults", "gpu-groups", "remote-maps"] {
        let truth = said.get(&format!("truth:{what}")).copied().unwrap_or(0);
        assert_eq!(said[&format!("um:{what}")], truth, "{what}: {said:?}");
    }
    assert!(said["truth:h2d"] > 0 && said["truth:d2h"] > 0 && said["truth:cpu-faults"] > 0, "{said:?}");
    assert!(said["truth:gpu-groups"] > 0, "{said:?}");
    assert_eq!(said["um:with-code"], said["truth:cpu-faults"]);
    assert_eq!(said["records:10"], said["truth:kernels"]);
    assert_eq!((said["dropped"], said["backwards"], said["odd"]), (0, 0, 0), "{said:?}");
}

/// Holds that everything that the driver counted was told, to the byte.
fn whole(said: &BTreeMap<String, u64>) {
    unified(said);
    assert!(said["truth:remote-maps"] > 0, "{said:?}");
    assert_eq!(said["records:1"] + said["records:22"], said["truth:copies"]);
    assert_eq!((said["records:2"], said["set-bytes"]), (said["truth:sets"], 1 << 20));
    assert_eq!((said["copy-bytes"], said["peer-bytes"]), (said["truth:copy-bytes"], 1 << 16));
}

#[test]
fn everything_that_happened_is_told_once_and_with_its_call() {
    let Some((said, failed)) = client(&[], &[]) else { return };
    assert!(failed.is_empty(), "{failed:?}");
    whole(&said);
    assert_eq!((said["version"], said["early-configure"], said["early-enable"]), (130_000, 13, 13));
    assert_eq!((said["odd-kind"], said["subscribe"], said["second-subscribe"]), (21, 0, 39));
    assert_eq!((said["launch-id"], said["unknown-id"]), (307, 1));
    assert_eq!((said["entered"], said["uncorrelated"], said["unknown"]), (said["left"], 0, 0), "{said:?}");
    // Nine launches, and a graph of two kernels twice.
    assert_eq!((said["named-launches"], said["records:10"], said["nodes"], said["in-graphs"]), (9, 11, 4, 4));
    assert_eq!((said["async-copies"], said["contexts"]), (1, 2));
    // Three events, three waits of a stream and three of the host for them, five for a stream, one for the context.
    assert_eq!((said["records:36"], said["records:38"], said["context-waits"]), (3, 12, 1));
    // Six allocations, six releases but the one of the other device.
    assert_eq!(said["records:49"], 11);
    assert!(said["records:17"] >= 1);
    assert_eq!((said["epoch"], said["in-time"], said["um:h2d-rows-to-0"]), (1, 1, said["um:h2d-rows"]));
    assert_eq!((said["child"], said["after-unsubscribe"], said["unsubscribe-again"]), (0, 0, 1));
}

#[test]
fn nothing_is_lost_among_threads_while_another_flushes() {
    let Some((said, failed)) = client(&["busy", "4", "buffer", "2048"], &[]) else { return };
    assert!(failed.is_empty(), "{failed:?}");
    unified(&said);
    assert_eq!((said["records:10"], said["named-launches"], said["uncorrelated"]), (80, 80, 0), "{said:?}");
    assert_eq!(said["entered"], said["left"]);
}

#[test]
fn small_buffers_come_full_from_another_thread() {
    let Some((said, failed)) = client(&["buffer", "1024"], &[]) else { return };
    assert!(failed.is_empty(), "{failed:?}");
    whole(&said);
    assert!(said["buffers"] > 20 && said["by-others"] > 0, "{said:?}");
    let (said, _) = client(&["limit", "3"], &[]).unwrap();
    whole(&said);
    assert!(said["buffers"] > 100, "{said:?}");
}

#[test]
fn records_without_a_buffer_are_counted() {
    let Some((all, _)) = client(&[], &[]) else { return };
    let (said, _) = client(&["none", "7"], &[]).unwrap();
    assert_eq!(said["dropped"], 7, "{said:?}");
    let records = |said: &BTreeMap<String, u64>| -> u64 {
        said.iter().filter(|row| row.0.starts_with("records:") && row.0 != "records:17").map(|row| row.1).sum()
    };
    assert!((records(&all) - 7..=records(&all)).contains(&records(&said)), "{all:?} {said:?}");
    // A buffer in which no record fits is as good as none.
    let (said, _) = client(&["buffer", "16"], &[]).unwrap();
    assert!(said["dropped"] >= records(&all) && said["buffers"] == 0, "{said:?}");
}

#[test]
fn graphs_are_told_as_a_whole_where_asked_for() {
    let Some((said, failed)) = client(&["graphs"], &[]) else { return };
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!((said["records:51"], said["records:10"], said["nodes"], said["uncorrelated"]), (2, 7, 0, 0), "{said:?}");
}

#[test]
fn an_older_version_has_shorter_records() {
    let Some((said, failed)) = client(&[], &[("UMSIM_CUPTI_VERSION", "18")]) else { return };
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(said["version"], 18);
    whole(&said);
    assert_eq!(said["uncorrelated"], 0);
}

#[test]
fn calls_fail_as_asked_for() {
    let rules = "subscribe:39,enable10:35,um:31";
    let Some((said, _)) = client(&[], &[("UMSIM_CUPTI_FAIL", rules)]) else { return };
    assert_eq!((said["subscribe"], said["configure"], said["enable:10"], said["enable:1"]), (39, 31, 35, 0));
    assert!(!said.contains_key("records:10") && !said.contains_key("records:25"), "{said:?}");
    assert!(said["records:1"] > 0 && said["entered"] == 0);
}

#[test]
fn rubbish_among_the_records_is_stepped_over() {
    let Some((said, failed)) = client(&["buffer", "4096"], &[("UMSIM_CUPTI_GARBAGE", "1")]) else { return };
    assert!(failed.is_empty(), "{failed:?}");
    whole(&said);
    assert!(said["unknown"] > 20, "{said:?}");
    let (worse, _) = client(&[], &[("UMSIM_CUPTI_GARBAGE", "2")]).unwrap();
    assert!(worse["records:25"] > said["records:25"], "{worse:?}");
}

/// What the demo's training says with these variables naming the tool.
fn trained(variables: &[&str]) -> Option<String> {
    let tool = programs()?.join("libinjected.so");
    let mut command = Command::new(format!("{GUEST}/umtui-demo"));
    command.args(["training", "--rounds", "2"]).env("LD_LIBRARY_PATH", GUEST);
    for variable in ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"] {
        command.env_remove(variable);
    }
    command.envs(variables.iter().map(|variable| (variable, &tool)));
    let output = run(command);
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn what_is_injected_is_called_inside_the_first_init() {
    let Some(said) = trained(&["CUDA_INJECTION64_PATH"]) else { return };
    // The driver is not ready yet; kernels can be asked for, unified memory cannot.
    assert_eq!(said.matches("injected").count(), 1, "{said}");
    assert!(said.starts_with("injected count 3 init 0 kernels 0 unified 13\n"), "{said}");
}

#[test]
fn the_demo_tells_its_ranges_to_a_tool() {
    let Some(said) = trained(&["NVTX_INJECTION64_PATH"]) else { return };
    let step = |number| {
        let parts: String = ["forward", "backward", "optimizer"].map(|part| format!("  push {part}\n  pop\n")).concat();
        format!("push step version 3 bytes 48 color ff76b900 payload 1:{number}\n{parts}pop\n")
    };
    let ranges = format!("ranges core 16 core2 1 other 0\n{}{}training steps 2", step(0), step(1));
    assert!(said.starts_with(&ranges), "{said}");
    assert!(trained(&[]).unwrap().starts_with("training steps 2"));
}
