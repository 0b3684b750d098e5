//! How much of a run is recorded: parts of it, groups of functions, calls without their arguments.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{UMTUI, calls, counts, files, layer, lost, outcome, program, programs, report, run, text};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Records a program with options.
fn record(folder: &Path, options: &[&str], program: &Command) -> Command {
    let mut command = Command::new(UMTUI);
    command.arg("record").args(options).arg("-o").arg(folder).arg("--").arg(program.get_program());
    command.args(program.get_args()).env_remove("LD_PRELOAD");
    for (name, value) in program.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
}

/// The same must come of it as without us but for what umtui itself says.
fn recorded(programs: &Path, folder: &Path, options: &[&str], name: &str, arguments: &[&str]) -> serde_json::Value {
    let plain = outcome(&run(program(programs, name, arguments)));
    let hooked = outcome(&run(record(folder, options, &program(programs, name, arguments))));
    assert_eq!((hooked.0, &hooked.1), (plain.0, &plain.1), "{options:?} {name} {arguments:?}: {}", hooked.2);
    report(&[folder])
}

#[test]
fn only_what_lies_between_start_and_stop_is_recorded() {
    let Some(programs) = programs() else { return };
    for (capture, how, stops) in [
        ("profiler", "profiler", 3),
        ("profiler", "driver", 3),
        ("nvtx:step", "start", 0),
        ("nvtx:st*", "start", 0),
        ("nvtx:step@lib", "domain", 0),
        ("nvtx:step", "domain", 0),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let report = recorded(programs, folder.path(), &["--capture", capture], "part", &[how]);
        assert_eq!((calls(&report, "cudaGetDevice"), lost(&report)), (60, 0), "{capture} {how}");
        let driver = if how == "driver" { "cuProfilerStop" } else { "cudaProfilerStop" };
        assert_eq!(calls(&report, driver), stops, "{capture} {how}");
        assert_eq!(files(folder.path(), "umt").len(), 1);
    }
    // NVTX tells how deep a range lies; without a tool it says nothing.
    let folder = tempfile::tempdir().unwrap();
    let output = run(record(folder.path(), &["--capture", "nvtx:step"], &program(programs, "part", &["push"])));
    assert_eq!(outcome(&output).1, "90 good, levels 3\n");
    assert_eq!(calls(&report(&[folder.path()]), "cudaGetDevice"), 60);
    // The signal would end the program if nobody took it.
    let folder = tempfile::tempdir().unwrap();
    let output = run(record(folder.path(), &["--capture", "signal:USR2"], &program(programs, "part", &["signal"])));
    assert_eq!((outcome(&output).0, outcome(&output).1.as_str()), (0, "90 good, levels 0\n"));
    assert_eq!(calls(&report(&[folder.path()]), "cudaGetDevice"), 60);
}

#[test]
fn what_never_starts_leaves_no_file() {
    let Some(programs) = programs() else { return };
    for (capture, how) in [("profiler", "start"), ("nvtx:other", "push"), ("nvtx:step@other", "domain")] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(record(folder.path(), &["--capture", capture], &program(programs, "part", &[how])));
        assert_eq!(outcome(&output).0, 0, "{capture}");
        assert!(files(folder.path(), "umt").is_empty(), "{capture}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("no CUDA call was seen while --capture was on"), "{told}");
    }
}

#[test]
fn a_child_has_no_ranges_of_other_threads() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = recorded(programs, folder.path(), &["--capture", "nvtx:step"], "part", &["fork"]);
    assert_eq!((calls(&report, "cudaGetDevice"), lost(&report)), (20, 0));
    assert_eq!(files(folder.path(), "umt").len(), 1);
}

#[test]
fn another_listener_to_ranges_is_named() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = record(folder.path(), &["--capture", "nvtx:step"], &program(programs, "part", &["push"]));
    command.env("NVTX_INJECTION64_PATH", "/tool.so");
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("NVTX_INJECTION64_PATH is /tool.so") && said.lines().count() == 1, "{said}");
}

#[test]
fn only_the_groups_that_were_asked_for_are_recorded() {
    let Some(programs) = programs() else { return };
    let everything = tempfile::tempdir().unwrap();
    let all = recorded(programs, everything.path(), &[], "linked", &[]);
    for (groups, keep) in [
        ("memory", vec!["memory"]),
        ("copy,launch", vec!["copy", "launch"]),
        ("sync", vec!["sync"]),
        ("event,stream,device", vec!["event", "stream", "device"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let some = recorded(programs, folder.path(), &["--only", groups], "linked", &[]);
        for layer in ["runtime", "driver"] {
            let expected: BTreeMap<_, _> = counts(&all, layer)
                .into_iter()
                .filter(|(name, _)| {
                    let group = umtui_wire::group::of(name.as_bytes());
                    let named = umtui_wire::group::GROUPS.iter().find(|(one, _)| *one == group).unwrap().1;
                    // Functions that hand out others are always looked at, and the first of all; and with launches, what ends a kernel's name.
                    let unloads = ["cuModuleUnload", "cuLibraryUnload"].contains(&name.as_str());
                    keep.contains(&named)
                        || name.contains("ProcAddress")
                        || name.contains("EntryPoint")
                        || name == "cuInit"
                        || unloads && keep.contains(&"launch")
                })
                .collect();
            assert_eq!(counts(&some, layer), expected, "{groups} {layer}");
        }
        assert_eq!(lost(&some), 0);
    }
    assert!(layer(&all, "runtime") > 10);
}

#[test]
fn calls_without_arguments_say_so() {
    let Some(programs) = programs() else { return };
    for name in ["linked", "linked_driver", "structs", "static_cudart"] {
        let [with, without] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let with = recorded(programs, with.path(), &[], name, &[]);
        let plain = recorded(programs, without.path(), &["--no-args"], name, &[]);
        for layer in ["runtime", "driver"] {
            assert_eq!(counts(&with, layer), counts(&plain, layer), "{name}");
        }
        let text = text(without.path());
        let events: Vec<_> =
            text.lines().filter(|line| line.contains("cudaMalloc") || line.contains("cuMemAlloc")).collect();
        assert!(events.iter().all(|line| !line.contains("bytes=") && !line.contains("ptr=0x")), "{name}: {events:?}");
    }
}

#[test]
fn wrong_options_are_explained_in_one_line() {
    for (options, expected) in [
        (["--capture", "sometimes"], "nvtx:RANGE"),
        (["--capture", "nvtx:@domain"], "nvtx:RANGE"),
        (["--capture", "signal:KILL"], "USR1"),
        (["--drain", "soon"], "a number of seconds"),
        (["--only", "memories"], "memory, launch"),
        (["--max-size", "100K"], "at least 1M"),
    ] {
        let output = Command::new(UMTUI).arg("record").args(options).args(["--", "true"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && stderr.contains(expected), "{options:?}: {stderr}");
    }
}
