//! `umtui doctor`, which tries out what can be recorded: on the stand-in, where CUPTI refuses, and with nothing at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::process::{Command, Stdio};

use common::{GUEST, UMTUI};

/// What it says with these variables, and its status.
fn doctor(variables: &[(&str, &str)]) -> (String, i32) {
    let mut command = Command::new(UMTUI);
    command.arg("doctor").stdin(Stdio::null());
    for name in ["LD_PRELOAD", "UMTUI_OUT", "LD_LIBRARY_PATH", "NVTX_INJECTION64_PATH", "CUDA_HOME"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    let output = common::run(command);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    assert!(!text.chars().any(|char| char.is_control() && char != '\n'), "{text:?}");
    (text, common::status(&output))
}

/// The first line with this mark and subject.
fn line<'a>(text: &'a str, mark: &str, subject: &str) -> &'a str {
    let start = format!("{mark:<4}  {subject:<11} ");
    text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("no {start:?} in\n{text}"))
}

#[test]
fn on_the_stand_in_all_evidence_comes() {
    let (text, status) = doctor(&[("LD_LIBRARY_PATH", GUEST), ("UMTUI_SIM_SPEED", "0")]);
    assert_eq!(status, 0, "{text}");
    assert!(line(&text, "ok", "libcuda").contains("/libcuda.so.1, for CUDA up to 13.0"), "{text}");
    assert!(line(&text, "ok", "CUPTI").contains("/libcupti.so.13, API version 130000"), "{text}");
    assert!(line(&text, "ok", "trial").contains("on device 0"), "{text}");
    assert!(line(&text, "ok", "device").contains("page by page"), "{text}");
    assert!(line(&text, "ok", "kernels").contains("1 copied in the trial"), "{text}");
    for subject in ["migrations", "faults", "joins", "allocations"] {
        let said = line(&text, "ok", subject);
        assert!(said.contains("in the trial") && !said.contains("none came"), "{subject}: {said}\n{text}");
    }
    assert!(!text.contains("\nno  "), "{text}");
}

#[test]
fn what_cupti_refuses_has_a_reason_and_a_remedy() {
    let with = |rules| doctor(&[("LD_LIBRARY_PATH", GUEST), ("UMTUI_SIM_SPEED", "0"), ("UMSIM_CUPTI_FAIL", rules)]);
    let (text, status) = with("enable10:35");
    assert_eq!(status, 0, "{text}");
    assert!(line(&text, "no", "kernels").contains("not allowed for this user"), "{text}");
    assert!(text.contains("-> ask for NVreg_RestrictProfilingToAdminUsers=0"), "{text}");
    let (text, _) = with("um:31");
    line(&text, "ok", "kernels");
    assert!(line(&text, "no", "migrations").contains("under MPS"), "{text}");
    assert!(line(&text, "no", "faults").contains("under MPS"), "{text}");
    let (text, _) = with("subscribe:39");
    assert!(line(&text, "no", "kernels").contains("CUPTI is taken"), "{text}");
}

#[test]
fn other_tools_are_named() {
    let tool = ("NVTX_INJECTION64_PATH", "/opt/tool.so");
    let (text, status) = doctor(&[("LD_LIBRARY_PATH", GUEST), ("UMTUI_SIM_SPEED", "0"), tool]);
    assert_eq!(status, 0, "{text}");
    assert!(line(&text, "no", "ranges").contains("/opt/tool.so"), "{text}");
    assert!(line(&text, "note", "injection").contains("/opt/tool.so"), "{text}");
}

#[test]
fn without_a_device_nothing_is_a_failure() {
    let (text, status) = doctor(&[("LD_LIBRARY_PATH", GUEST), ("UMTUI_SIM_DEVICES", "0")]);
    assert_eq!(status, 0, "{text}");
    line(&text, "ok", "libcuda");
    assert!(!text.contains("\nno  "), "{text}");
}

#[test]
fn with_nothing_at_all_it_says_so() {
    if std::path::Path::new("/proc/driver/nvidia/version").exists() {
        eprintln!("skipped: there is a driver here");
        return;
    }
    let (text, status) = doctor(&[]);
    assert_eq!(status, 0, "{text}");
    assert!(line(&text, "note", "libcuda").contains("cannot be loaded"), "{text}");
    line(&text, "note", "driver");
    assert!(!text.contains("\nno  "), "{text}");
}

#[test]
fn the_trial_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let variables = [("LD_LIBRARY_PATH", GUEST), ("UMTUI_SIM_SPEED", "0"), ("TMPDIR", path), ("XDG_RUNTIME_DIR", path)];
    doctor(&variables);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
