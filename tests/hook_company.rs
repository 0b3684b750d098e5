//! Unusual ways to CUDA, and other tools in the same process.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{GUEST, HOOK, again, calls, faked, hooked, lost, outcome, program, programs, report, run};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a command as it is and with the hook; the same must come of it. What it printed, and the report.
fn same(command: &Command) -> (String, serde_json::Value) {
    let folder = tempfile::tempdir().unwrap();
    let plain = outcome(&run(again(command)));
    assert_eq!((plain.0, plain.2.as_str()), (0, ""), "{command:?}");
    assert_eq!(outcome(&run(hooked(folder.path(), command))), plain, "{command:?}");
    let report = report(&[folder.path()]);
    assert_eq!((lost(&report), &report["trace"]["truncated"]), (0, &false.into()), "{command:?}");
    (plain.1, report)
}

fn driver(programs: &Path) -> String {
    programs.join("fake/libcuda.so.1").display().to_string()
}

#[test]
fn functions_looked_up_by_version_are_seen() {
    let Some(programs) = programs() else { return };
    let (stdout, report) = same(&program(programs, "ways", &["versioned"]));
    assert!(stdout.starts_with("0 ") && stdout.contains("otherwise versioned 0, 1"), "{stdout}");
    assert_eq!(calls(&report, "cudaGetDevice"), 1);
}

#[test]
fn entry_points_are_seen_under_the_name_that_was_chosen() {
    let Some(programs) = programs() else { return };
    let (stdout, report) = same(&program(programs, "ways", &["entry"]));
    assert!(stdout.starts_with("0 0 ") && stdout.ends_with("0 0 \n"), "every call succeeds: {stdout}");
    assert_eq!(calls(&report, "cuDriverGetVersion"), 1);
    let exactly = |name: &str| {
        let apis = report["apis"].as_array().unwrap();
        apis.iter().find(|api| api["name"] == name).map_or(0, |api| api["calls"].as_u64().unwrap())
    };
    // By version and flags the driver chooses among forms of a name.
    assert_eq!((exactly("cuMemcpyHtoD_v2"), exactly("cuMemcpyHtoD_v2_ptds")), (1, 2));
}

#[test]
fn the_driver_by_its_absolute_path_and_two_copies_of_it_are_seen() {
    let Some(programs) = programs() else { return };
    let (stdout, report) = same(&faked(programs, "ways", &["absolute", &driver(programs)]));
    assert_eq!((stdout.as_str(), calls(&report, "cuDriverGetVersion")), ("0 0 0 version 13000 begun 3\n", 3));
    let copy = tempfile::tempdir().unwrap();
    let second = copy.path().join("libcuda.so.1");
    fs::copy(driver(programs), &second).unwrap();
    let (stdout, report) = same(&faked(programs, "ways", &["copies", &driver(programs), second.to_str().unwrap()]));
    // Each call reaches the copy that it was meant for.
    let begun = stdout.lines().filter_map(|line| line.split_once("begun ")).map(|(_, begun)| begun);
    assert_eq!(begun.collect::<Vec<_>>(), ["3", "3", "6"], "{stdout}");
    assert!(stdout.contains("two 1"), "{stdout}");
    assert_eq!(calls(&report, "cuDriverGetVersion"), 9);
}

#[test]
fn a_namespace_of_its_own_does_as_it_did() {
    let Some(programs) = programs() else { return };
    let command = faked(programs, "ways", &["namespace", &driver(programs)]);
    let folder = tempfile::tempdir().unwrap();
    let plain = outcome(&run(again(&command)));
    assert_eq!(plain.1, "0 0 0 version 13000 begun 3\n", "{plain:?}");
    assert_eq!(outcome(&run(hooked(folder.path(), &command))), plain);
}

#[test]
fn weak_references_become_functions_that_say_they_are_not_there() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = outcome(&run(program(programs, "weak", &[])));
    assert_eq!(plain, (0, "cuInit absent, cudaGetDevice absent\n".into(), String::new()));
    // The stated limit: a program without CUDA that asks by a weak reference is told that there is some; its calls fail.
    let hooked = outcome(&run(hooked(folder.path(), &program(programs, "weak", &[]))));
    assert_eq!(hooked, (0, "cuInit 500, cudaGetDevice 500\n".into(), String::new()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn closing_us_takes_nothing_away() {
    let Some(programs) = programs() else { return };
    let (stdout, report) = same(&faked(programs, "ways", &["close", HOOK]));
    assert!(stdout.ends_with("begun 12\n"), "{stdout}");
    assert_eq!(calls(&report, "cuDriverGetVersion"), 12);
}

#[test]
fn no_descriptor_is_kept_that_a_program_could_hand_on() {
    let Some(programs) = programs() else { return };
    let (stdout, report) = same(&faked(programs, "ways", &["descriptors"]));
    assert!(stdout.ends_with("more descriptors 0\n"), "{stdout}");
    assert_eq!(calls(&report, "cuDriverGetVersion"), 3);
}

/// Runs a command with the hook before or after another library that is preloaded.
fn beside(command: &Command, library: &Path, hook_first: bool, folder: &Path) -> (i32, String, String) {
    let library = library.display();
    let preload = if hook_first { format!("{HOOK}:{library}") } else { format!("{library}:{HOOK}") };
    let mut command = hooked(folder, command);
    command.env("LD_PRELOAD", preload);
    outcome(&run(command))
}

#[test]
fn a_tracer_that_takes_dlsym_is_called_as_often_as_without_us() {
    let Some(programs) = programs() else { return };
    let tracer = programs.join("libtracer.so");
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let mut command = faked(programs, "ways", &["absolute", &driver(programs)]);
    command.env("SECOND_OUT", &told);
    let mut alone = again(&command);
    alone.env("LD_PRELOAD", &tracer);
    let plain = outcome(&run(alone));
    assert_eq!((plain.0, fs::read_to_string(&told).unwrap().as_str()), (0, "3\n"), "{plain:?}");
    for hook_first in [true, false] {
        fs::remove_file(&told).unwrap();
        let recording = folder.path().join(hook_first.to_string());
        assert_eq!(beside(&command, &tracer, hook_first, &recording), plain, "hook first {hook_first}");
        assert_eq!(fs::read_to_string(&told).unwrap(), "3\n", "hook first {hook_first}");
        assert_eq!(calls(&report(&[&recording]), "cuDriverGetVersion"), 3, "hook first {hook_first}");
    }
}

#[test]
fn another_allocator_is_no_hindrance() {
    let Some(programs) = programs() else { return };
    let allocator = programs.join("libmalloc.so");
    for (command, name, expected) in [
        (program(programs, "linked", &[]), "cudaMalloc", 1),
        (program(programs, "two_majors", &["local"]), "cudaSetDevice", 3),
        (faked(programs, "leaving", &["short", "64"]), "cuDriverGetVersion", 64 * 5 + 2),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let plain = outcome(&run(again(&command)));
        for hook_first in [true, false] {
            let recording = folder.path().join(hook_first.to_string());
            assert_eq!(beside(&command, &allocator, hook_first, &recording), plain, "{name} hook first {hook_first}");
            let report = report(&[&recording]);
            assert_eq!((calls(&report, name), lost(&report)), (expected, 0), "hook first {hook_first}");
        }
    }
}

#[test]
fn variables_of_other_tools_stay_as_they_were() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    // CUDA and NVTX load what these name; ours is not among them.
    let variables = [("CUDA_INJECTION64_PATH", GUEST), ("NVTX_INJECTION64_PATH", "/nowhere"), ("ASAN_OPTIONS", "x=1")];
    let mut shell = program(programs, "linked", &[]);
    shell = {
        let mut inner = Command::new("sh");
        inner.args(["-c", r#"echo "$CUDA_INJECTION64_PATH $NVTX_INJECTION64_PATH $ASAN_OPTIONS"; exec "$0""#]);
        inner.arg(shell.get_program());
        for (name, value) in shell.get_envs() {
            if let Some(value) = value {
                inner.env(name, value);
            }
        }
        inner.env_remove("LD_PRELOAD").env_remove("UMTUI_OUT").envs(variables);
        inner
    };
    let plain = outcome(&run(again(&shell)));
    assert!(plain.1.starts_with(&format!("{GUEST} /nowhere x=1\n")), "{plain:?}");
    let recording = folder.path().join("recording");
    let launched = outcome(&run(common::recorded(&recording, &shell)));
    // Only what a sanitizer needs to hear is added to its own.
    assert_eq!(launched.1.replacen("x=1:verify_asan_link_order=0", "x=1", 1), plain.1);
    assert_eq!((launched.0, launched.2), (plain.0, plain.2));
    assert_eq!(calls(&report(&[&recording]), "cudaMalloc"), 1);
}
