//! What a program may do while the hook records the GPU, and how it may end.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/gpu.rs"]
mod gpu;
#[path = "common/raw.rs"]
mod raw;

use common::{GUEST, files, hooked, outcome, program, programs, run};
use gpu::{Recorded, Totals, all, only};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use umtui::trace::ActivityKind;
use umtui_wire::activity::*;

/// The program with the hook, as `umtui record` sets it up.
fn command(folder: &Path, name: &str, how: &[&str]) -> Option<Command> {
    let mut command = hooked(folder, &program(programs()?, name, how));
    for name in ["UMTUI_CUPTI", "CUDA_HOME", "CUDA_PATH", "UMTUI_CAPTURE", "UMTUI_PLACE"] {
        command.env_remove(name);
    }
    Some(command)
}

/// Status, what was printed, the recordings, and how long it took.
fn ran(name: &str, how: &[&str], variables: &[(&str, &str)]) -> Option<(i32, String, Vec<Recorded>, Duration)> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path(), name, how)?;
    command.envs(variables.iter().copied());
    let start = Instant::now();
    let (status, stdout, stderr) = outcome(&run(command));
    assert_eq!(stderr, "", "{how:?}");
    Some((status, stdout, all(folder.path()), start.elapsed()))
}

/// Of `gpu HOW`, which has one process.
fn gpu(how: &[&str], variables: &[(&str, &str)]) -> Option<(i32, String, Recorded)> {
    let (status, stdout, mut all, _) = ran("gpu", how, variables)?;
    assert_eq!(all.len(), 1, "{how:?}");
    Some((status, stdout, all.remove(0)))
}

#[test]
fn what_is_older_than_a_second_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut command) = command(folder.path(), "gpu", &["for-ever"]) else { return };
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let start = Instant::now();
    let mut seen: Vec<Vec<u64>> = Vec::new();
    for line in lines {
        seen.push(line.unwrap().split(' ').map(|word| word.parse().unwrap()).collect());
        if start.elapsed() > Duration::from_millis(2500) {
            break;
        }
    }
    common::signal(child.id(), 9);
    child.wait().unwrap();
    let newest = seen.last().unwrap()[0];
    let old = seen.iter().rfind(|line| line[0] + 1_000_000_000 < newest).expect("more than a second");
    let recorded = only(folder.path());
    let totals = recorded.totals();
    let found = [totals.kernels, totals.h2d, totals.copy_bytes];
    assert!(found.iter().zip(&old[1..]).all(|(found, old)| found >= old), "{found:?} {old:?}");
    recorded.check_clocks();
    // It is said up to when it is complete.
    let of = recorded.trace.activities.of(recorded.trace.tracks[0].process).unwrap();
    let last = recorded.rows(ActivityKind::Kernel).iter().map(|(_, row)| row.end_ns()).max().unwrap();
    assert!(of.complete_ns.unwrap() + 500_000_000 > last);
}

#[test]
fn however_a_program_ends_its_work_is_there() {
    for (how, status) in
        [("rounds", 0), ("_exit", 3), ("quick", 4), ("thread", 5), ("exec", 0), ("exec-fails", 0), ("forks", 0)]
    {
        let Some((found, stdout, recorded)) = gpu(&[how, "3"], &[]) else { return };
        assert_eq!(found, status, "{how}");
        assert_eq!(recorded.totals(), Totals::counted(&stdout), "{how}");
        recorded.check_clocks();
    }
    let Some((status, _, recorded)) = gpu(&["abort"], &[]) else { return };
    assert_eq!(status, 134);
    assert_eq!(recorded.said(EVIDENCE_ACTIVITY).unwrap().why, WHY_RECORDED);
}

#[test]
fn a_program_that_ends_while_work_runs_is_not_kept() {
    let Some((status, stdout, all, took)) = ran("gpu", &["in-flight"], &[]) else { return };
    assert_eq!(status, 0);
    assert!(took < Duration::from_secs(10), "{took:?}");
    let totals = Totals::counted(&stdout);
    // One of the two that came after it was counted has ended.
    assert_eq!(all[0].totals(), Totals { kernels: totals.kernels + 1, ..totals });
}

#[test]
fn a_program_without_cuda_has_nothing_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = command(folder.path(), "gpu", &["nothing"]) else { return };
    let (status, stdout, _) = outcome(&run(command));
    assert_eq!((status, stdout.as_str()), (0, "at all: umtui 0 others 1\n"));
    assert_eq!(files(folder.path(), "umt").len(), 0);
}

#[test]
fn the_one_thread_of_ours_takes_no_signals() {
    let Some((_, stdout, _)) = gpu(&["tasks"], &[]) else { return };
    let lines: Vec<&str> = stdout.lines().take(3).collect();
    assert_eq!(lines[..2], ["before: umtui 0 others 1", "after: umtui blocks 1"]);
    assert!(lines[2].starts_with("after: umtui 1 others "), "{stdout}");
}

#[test]
fn the_driver_may_be_initialised_in_any_way() {
    for how in ["small", "default-small", "handler", "at-once", "later"] {
        let Some((status, stdout, recorded)) = gpu(&[how, "2"], &[]) else { return };
        assert_eq!((status, recorded.totals()), (0, Totals::counted(&stdout)), "{how}");
        assert_eq!(recorded.said(EVIDENCE_ACTIVITY).unwrap().why, WHY_RECORDED, "{how}");
    }
    let Some((_, stdout, recorded)) = gpu(&["only-wrong"], &[]) else { return };
    assert_eq!((stdout.as_str(), recorded.whys()), ("cuInit 1\n", [None; 5]), "nothing is known yet");
}

#[test]
fn where_there_can_be_no_thread_that_is_said() {
    let Some((status, stdout, recorded)) = gpu(&["no-thread"], &[]) else { return };
    assert_eq!((status, stdout.as_str()), (0, "cuInit 0\n"));
    assert_eq!(recorded.whys(), [Some(WHY_NO_THREAD); 5]);
    let said: Vec<u32> = recorded.file.of(KIND_EVIDENCE).map(|record| record.head.b).collect();
    assert!(!said.contains(&WHY_RECORDED) || recorded.said(EVIDENCE_RANGES).is_some(), "{said:?}");
    assert!(!recorded.trace.activities.recorded(umtui::trace::activity::What::Activity));
}

#[test]
fn errno_and_results_are_those_of_the_program() {
    let Some((status, stdout, _)) = gpu(&["errno"], &[]) else { return };
    assert!(stdout.starts_with("errno 77\nerrno kept\n"), "{stdout}");
    assert_eq!(status, 0);
}

#[test]
fn a_child_records_if_it_was_forked_before_the_gpu_was_used() {
    let Some((status, stdout, all, _)) = ran("gpu", &["fork-before", "2"], &[]) else { return };
    assert_eq!((status, all.len()), (0, 2), "{stdout}");
    for recorded in &all {
        assert_eq!(recorded.totals(), Totals::counted(&stdout), "both do the same");
        assert_eq!(recorded.said(EVIDENCE_ACTIVITY).unwrap().why, WHY_RECORDED);
    }
    let Some((status, stdout, all, _)) = ran("gpu", &["fork-after", "2"], &[]) else { return };
    assert_eq!((status, all.len()), (0, 2), "{stdout}");
    let forked = all.iter().filter(|one| one.said(EVIDENCE_ACTIVITY).unwrap().why == WHY_FORKED);
    let forked: Vec<&Recorded> = forked.collect();
    assert_eq!(forked.len(), 1);
    assert_eq!(forked[0].totals(), Totals::default());
    let parent = all.iter().find(|one| one.said(EVIDENCE_ACTIVITY).unwrap().why == WHY_RECORDED).unwrap();
    assert_eq!(parent.totals(), Totals::counted(&stdout));
}

#[test]
fn of_a_file_with_a_cap_the_newest_chunks_stand_alone() {
    let launches = 40_000;
    let how = ["launches", &launches.to_string()];
    let Some((_, _, recorded)) = gpu(&how, &[("UMTUI_MAX_BYTES", "1048576")]) else { return };
    let kernels = recorded.file.of(KIND_KERNEL).count() as u64;
    assert!(kernels > 1000 && kernels < launches, "{kernels}");
    recorded.check_clocks();
    // What was said at the beginning is said again.
    assert_eq!(recorded.said(EVIDENCE_ACTIVITY).unwrap().why, WHY_RECORDED);
    assert!(recorded.trace.activities.of(recorded.trace.tracks[0].process).unwrap().clock_error_ns.is_some());
}

#[test]
fn on_a_full_disk_events_are_lost_and_counted() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (small, kept) = (folder.path().join("small"), folder.path().join("kept"));
    std::fs::create_dir_all(&small).unwrap();
    std::fs::create_dir_all(&kept).unwrap();
    // In a mount namespace of its own, which ends with the shell.
    let script = r#"mount -t tmpfs -o size=1200k none "$1" || exit 99
        out=$1 kept=$2; shift 2
        UMTUI_OUT=$out LD_PRELOAD=$HOOK "$@"; status=$?
        cp "$out"/*.umt "$kept"; exit $status"#;
    let inner = program(programs, "gpu", &["launches", "20000"]);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh"]).arg(&small).arg(&kept);
    command.arg(inner.get_program()).args(inner.get_args()).env("LD_LIBRARY_PATH", GUEST);
    command.env("HOOK", common::HOOK).env_remove("LD_PRELOAD").env_remove("UMTUI_CUPTI");
    let Ok(output) = command.output() else {
        eprintln!("skipped: no unshare");
        return;
    };
    let (status, stdout, stderr) = outcome(&output);
    if status == 99 || status == 1 {
        eprintln!("skipped: a small file system cannot be mounted: {stderr}");
        return;
    }
    assert_eq!((status, stderr.as_str(), Totals::counted(&stdout).kernels), (0, "", 20_000));
    let recorded = only(&kept);
    let lost = recorded.trace.lost() + recorded.dropped();
    let there = recorded.trace.calls() + recorded.count(KIND_KERNEL) as u64;
    assert!(lost > 10_000 && there + lost >= 40_000, "{there} {lost}");
    recorded.check_clocks();
}

#[test]
fn where_the_file_is_written_all_is_there_too() {
    let Some((_, stdout, recorded)) = gpu(&["launches", "20000"], &[("UMTUI_PLACE", "written")]) else { return };
    assert_eq!(recorded.totals(), Totals::counted(&stdout));
    recorded.check_submits(ActivityKind::Kernel, &["cuLaunchKernel"]);
    recorded.check_clocks();
}

/// A library of libcupti_part.c.
fn part(name: &str) -> Option<String> {
    Some(programs()?.join(format!("cupti-{name}/libcupti.so.12")).to_str().unwrap().to_owned())
}

#[test]
fn a_cupti_that_hangs_puts_the_end_off_by_two_seconds_at_most() {
    let Some(hangs) = part("hangs") else { return };
    for (how, status, limit) in [("rounds", 0, 2), ("_exit", 3, 1), ("exec", 0, 1)] {
        let (plain, ..) = (Instant::now(), run(program(programs().unwrap(), "gpu", &[how])));
        let without = plain.elapsed();
        let (found, stdout, all, took) = ran("gpu", &[how], &[("UMTUI_CUPTI", &hangs)]).unwrap();
        assert_eq!((found, Totals::counted(&stdout).kernels), (status, 1), "{how}");
        assert!(took < without + Duration::from_millis(limit * 1000 + 1500), "{how}: {took:?}");
        assert!(all[0].trace.calls() > 5, "{how}");
    }
}

#[test]
fn a_collector_that_does_not_keep_up_makes_nobody_wait() {
    let Some(slow) = part("slow") else { return };
    let how = ["launches", "90000"];
    let start = Instant::now();
    run(program(programs().unwrap(), "gpu", &how));
    let without = start.elapsed();
    let (status, stdout, all, took) = ran("gpu", &how, &[("UMTUI_CUPTI", &slow)]).unwrap();
    assert_eq!((status, Totals::counted(&stdout).kernels), (0, 90_000));
    assert!(took < 3 * without + Duration::from_secs(5), "{took:?} {without:?}");
    let recorded = &all[0];
    // On a busy machine the program may be so slow itself that the collector keeps up.
    let kernels = recorded.totals().kernels;
    assert!(recorded.dropped() > 0 || kernels == 90_000, "what found no room is counted: {kernels}");
    assert!(kernels + recorded.dropped() <= 90_000);
}

/// `profiled WHEN PATH` without the hook and with it: what it says, and its recording.
fn profiled(arguments: &[&str], variables: &[(&str, &str)]) -> Option<(String, Recorded)> {
    let (status, plain, _) = outcome(&run(program(programs()?, "profiled", arguments)));
    assert_eq!(status, 0, "{plain}");
    let (status, stdout, mut all, _) = ran("profiled", arguments, variables)?;
    assert_eq!((status, &stdout), (0, &plain), "{arguments:?}: it sees no difference");
    Some((stdout, all.remove(0)))
}

#[test]
fn who_used_cupti_before_us_keeps_it() {
    let Some((stdout, recorded)) = profiled(&["early"], &[]) else { return };
    assert!(stdout.ends_with("kernels 5 unknown 0\n"), "{stdout}");
    assert_eq!(recorded.whys(), [Some(WHY_TAKEN); 5]);
    assert_eq!(recorded.totals(), Totals::default());
}

#[test]
fn who_comes_after_us_gets_it() {
    for when in ["late", "twice"] {
        let Some((stdout, recorded)) = profiled(&[when], &[]) else { return };
        assert!(stdout.contains("kernels 5 unknown 0\n"), "{stdout}");
        assert_eq!(recorded.whys(), [Some(WHY_STEPPED_ASIDE); 5], "{when}");
        assert_eq!(recorded.totals().kernels, 3, "what was before is there");
        let activity = recorded.file.of(KIND_EVIDENCE).filter(|record| record.head.a == EVIDENCE_ACTIVITY);
        assert_eq!(activity.map(|record| record.head.b).collect::<Vec<_>>(), [WHY_RECORDED, WHY_STEPPED_ASIDE]);
    }
    let Some((stdout, recorded)) = profiled(&["threads"], &[]) else { return };
    assert!(stdout.ends_with("subscribed 1\n"), "{stdout}");
    assert_eq!(recorded.whys(), [Some(WHY_STEPPED_ASIDE); 5]);
}

#[test]
fn who_has_a_library_of_its_own_is_led_to_that_one() {
    // As another copy of CUPTI, which the loader takes for another library.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("libcupti.so.12");
    std::fs::copy(Path::new(GUEST).join("libcupti.so.13"), &copy).unwrap();
    let Some((_, recorded)) = profiled(&["late", copy.to_str().unwrap()], &[]) else { return };
    assert_eq!(recorded.whys(), [Some(WHY_STEPPED_ASIDE); 5]);
    assert_eq!(recorded.totals().kernels, 3);
}

/// What cupti.c prints, without what depends on when things happen.
fn told(arguments: &[&str], hooked: bool) -> Option<(String, Option<Recorded>)> {
    let (status, stdout, recorded) = if hooked {
        let (status, stdout, mut all, _) = ran("cupti", arguments, &[("UMTUI_SIM_SPEED", "0")])?;
        // Its child has a file too.
        all.sort_by_key(|one| std::cmp::Reverse(one.trace.calls()));
        (status, stdout, Some(all.remove(0)))
    } else {
        let mut command = program(programs()?, "cupti", arguments);
        command.env("UMTUI_SIM_SPEED", "0");
        let (status, stdout, _) = outcome(&run(command));
        (status, stdout, None)
    };
    assert_eq!(status, 0, "{stdout}");
    // And but for callbacks: whoever asks for those of all calls has those of the hook's own questions too.
    let of_time = ["buffers ", "by-others ", "records:17 ", "after-unsubscribe ", "entered ", "left ", "odd "];
    let lines = stdout.lines().filter(|line| !of_time.iter().any(|beginning| line.starts_with(beginning)));
    Some((lines.collect::<Vec<_>>().join("\n"), recorded))
}

#[test]
fn a_whole_client_of_cupti_sees_no_difference() {
    for arguments in [&[][..], &["late"], &["graphs"], &["late", "graphs"]] {
        let Some((plain, _)) = told(arguments, false) else { return };
        let (hooked, recorded) = told(arguments, true).unwrap();
        assert_eq!(hooked, plain, "{arguments:?}");
        let why = if arguments.contains(&"late") { WHY_STEPPED_ASIDE } else { WHY_TAKEN };
        assert_eq!(recorded.unwrap().whys(), [Some(why); 5], "{arguments:?}");
    }
}
