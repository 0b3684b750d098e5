//! What a recorded call costs, in instructions, which do not depend on how busy the machine is.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{HOOK, programs, run};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Instructions that recording may add: 95 were measured for a call without arguments, 103 where a number is read
/// through a pointer; its share of moving on to the next chunk is in that.
const RECORDED: [(&str, &str, f64); 2] =
    [("none", "cuCtxSynchronize", 105.0), ("pointee", "cuDriverGetVersion", 112.0)];
/// Instructions that the hook may add to a call when it does not record; 15 were measured: the stub, and the look whether
/// the call site is known.
const DISABLED: f64 = 25.0;
/// Instructions that a range may take, its push and its pop together: 425 were measured with a registered name in a domain,
/// 430 with a plain one of 15 letters, of which the program itself takes some 30.
const RANGES: [(&str, f64); 2] = [("registered", 460.0), ("ascii", 460.0)];
/// Calls of the shorter and the longer run.
const CALLS: [u64; 2] = [2_000, 22_000];

#[derive(Clone, Copy, Debug)]
enum Hook {
    Absent,
    Disabled,
    Recording,
}

/// Instructions a call, from the difference of two runs.
fn instructions(programs: &Path, folder: &Path, kind: &str, hook: Hook) -> f64 {
    let total = |calls: u64| {
        let out = folder.join(format!("{kind}{hook:?}{calls}"));
        let mut command = counted(&common::faked(programs, "loop", &[&calls.to_string(), kind]), &out);
        if !matches!(hook, Hook::Absent) {
            command.env("LD_PRELOAD", HOOK);
        }
        if matches!(hook, Hook::Recording) {
            let recording = folder.join(format!("{kind}{calls}"));
            fs::create_dir(&recording).unwrap();
            command.env("UMTUI_OUT", recording);
        }
        count(command, &out)
    };
    each(total)
}

/// A program under the counter of instructions.
fn counted(program: &Command, out: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["-q", "--tool=callgrind"]).arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(program.get_program()).args(program.get_args());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    for name in ["LD_PRELOAD", "UMTUI_OUT"] {
        command.env_remove(name);
    }
    // The emulated processor does not say that its counter is invariant.
    command.env("UMTUI_CLOCK", "ticks").env("UMTUI_TICKS_PER_SECOND", "2000000000");
    command
}

/// How many instructions it took.
fn count(command: Command, out: &Path) -> u64 {
    let output = run(command);
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(out).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    line.unwrap().trim().parse().unwrap()
}

/// Instructions of one, given those of so many.
fn each(total: impl Fn(u64) -> u64) -> f64 {
    let [short, long] = CALLS.map(total);
    (long - short) as f64 / (CALLS[1] - CALLS[0]) as f64
}

#[test]
fn a_recorded_range_stays_cheap() {
    let Some(programs) = programs() else { return };
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: no valgrind");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pair = |kind: &str| {
        each(|times| {
            let out = folder.path().join(format!("{kind}{times}"));
            let recording = folder.path().join(format!("{kind}{times}.recording"));
            fs::create_dir(&recording).unwrap();
            let mut command = counted(&common::program(programs, "ranges", &["loop", &times.to_string(), kind]), &out);
            command.env("LD_PRELOAD", HOOK).env("UMTUI_OUT", &recording).env("NVTX_INJECTION64_PATH", HOOK);
            let counted = count(command, &out);
            let written = fs::metadata(&common::files(&recording, "umt")[0]).unwrap().len();
            assert!(kind == "none" || written > 96 * times, "they were recorded: {written}");
            counted
        })
    };
    let empty = pair("none");
    for (kind, most) in RANGES {
        let pair = pair(kind) - empty;
        println!("{kind}: {pair:.1} instructions a range");
        assert!(pair <= most, "{kind}: a range takes {pair:.1}");
    }
}

#[test]
fn a_recorded_call_and_an_unrecorded_one_stay_cheap() {
    let Some(programs) = programs() else { return };
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: no valgrind");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (kind, name, most) in RECORDED {
        let [absent, disabled, recording] = [Hook::Absent, Hook::Disabled, Hook::Recording]
            .map(|hook| instructions(programs, folder.path(), kind, hook));
        let report = common::report(&[&folder.path().join(format!("{kind}{}", CALLS[1]))]);
        assert_eq!(common::calls(&report, name), CALLS[1], "they were recorded");
        let (disabled, recording) = (disabled - absent, recording - absent);
        println!(
            "{kind}: {absent:.1} instructions a call, +{disabled:.1} with the hook disabled, +{recording:.1} recording"
        );
        assert!(recording <= most, "{kind}: recording adds {recording:.1}");
        assert!(disabled <= DISABLED, "{kind}: the disabled hook adds {disabled:.1}");
    }
}

/// Processor time of one call, ps: what scale.c says.
fn call_time(programs: &Path, threads: u32, recording: Option<&Path>) -> f64 {
    let program = common::faked(programs, "scale", &[&threads.to_string(), "200000"]);
    let mut command = recording.map_or_else(|| common::again(&program), |folder| common::hooked(folder, &program));
    command.env("UMTUI_TICKS_PER_SECOND", "2000000000");
    let output = run(command);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap()
}

/// How many times as many calls two threads record as one, against the program without the hook in the same round: two
/// processors may be one core, or be busy with something else. In processor time, since there may be one for both.
fn speedups(programs: &Path) -> Vec<f64> {
    let round = |_| {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = [1, 2].map(|threads| {
            let hooked = call_time(programs, threads, Some(&folder.path().join(threads.to_string())));
            hooked / call_time(programs, threads, None)
        });
        2.0 * one / two
    };
    let mut speedups: Vec<f64> = (0..9).map(round).collect();
    speedups.sort_by(f64::total_cmp);
    println!("two threads record {speedups:.2?} times as many calls as one");
    speedups
}

#[test]
fn two_threads_record_as_fast_as_one() {
    let Some(programs) = programs() else { return };
    // Rounds are disturbed whatever we do; threads that wrote to one cache line would be below 1 in all of them.
    assert!((0..4).any(|_| speedups(programs)[6] > 1.7), "two threads hold each other up");
}
