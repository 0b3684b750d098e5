//! What the hook records of the GPU by CUPTI, and what it says where it records nothing.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/gpu.rs"]
mod gpu;
#[path = "common/raw.rs"]
mod raw;

use common::{GUEST, UMTUI, outcome, program, programs, run};
use gpu::{Recorded, Said, Totals, all, only};
use std::path::Path;
use std::process::Command;
use umtui::trace::ActivityKind;
use umtui_wire::activity::*;

const MIB: u64 = 1 << 20;
/// What the stand-in says of itself.
const VERSION: u32 = 130_000;
const SPIN: [Option<u32>; 5] =
    [Some(WHY_RECORDED), Some(WHY_RECORDED), Some(WHY_NOT_ASKED), Some(WHY_RECORDED), Some(WHY_NOT_ASKED)];

/// `umtui record` of a program with options and variables: what it printed, and the recordings.
fn recorded(command: &Command, options: &[&str], variables: &[(&str, &str)]) -> (String, Vec<Recorded>) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut wrapped = Command::new(UMTUI);
    wrapped.arg("record").arg("-o").arg(&out).args(options).arg("--").arg(command.get_program());
    wrapped.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped.env_remove("UMTUI_CUPTI").env_remove("CUDA_HOME").env_remove("CUDA_PATH");
    wrapped.envs(variables.iter().copied());
    let (status, stdout, stderr) = outcome(&run(wrapped));
    assert_eq!((status, stderr.as_str()), (0, ""), "{command:?}: {stdout}");
    (stdout, all(&out))
}

/// `gpu HOW NUMBER`, recorded: what it printed, and its recording.
fn gpu(how: &[&str], options: &[&str], variables: &[(&str, &str)]) -> Option<(String, Recorded)> {
    let (stdout, mut all) = recorded(&program(programs()?, "gpu", how), options, variables);
    assert_eq!(all.len(), 1, "{how:?}");
    Some((stdout, all.remove(0)))
}

/// `umtui demo WHAT`, recorded.
fn demo(what: &str, arguments: &[&str]) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = Command::new(UMTUI);
    command.args(["demo", "-o"]).arg(&out).arg(what).arg("--").args(arguments);
    let output = run(command);
    assert!(output.status.success(), "{output:?}");
    only(&out)
}

const LAUNCHES: [&str; 1] = ["cuLaunchKernel"];
const COPIES: [&str; 1] = ["cuMemcpy"];
const SETS: [&str; 1] = ["cuMemset"];

/// Everything is there once, and each piece of work knows its call.
fn whole(recorded: &Recorded) {
    recorded.check_submits(ActivityKind::Kernel, &LAUNCHES);
    recorded.check_submits(ActivityKind::Copy, &COPIES);
    recorded.check_submits(ActivityKind::Set, &SETS);
    recorded.check_clocks();
    assert_eq!((recorded.dropped(), recorded.file.lost), (0, 0));
}

#[test]
fn a_demo_that_bounces_pages_is_recorded_to_the_byte() {
    let recorded = demo("pingpong", &["--rounds", "5"]);
    let totals = recorded.totals();
    assert_eq!((totals.kernels, totals.h2d, totals.d2h), (5, 5 * 64 * MIB, 5 * 64 * MIB));
    whole(&recorded);
    assert_eq!(recorded.whys(), SPIN);
    // Each kernel has ended when the call that waits for it returns.
    let kernels = recorded.rows(ActivityKind::Kernel);
    let track = &recorded.trace.tracks[0];
    let error = recorded.trace.activities.of(track.process).unwrap().clock_error_ns.unwrap();
    let calls = (0..track.len()).filter_map(|row| track.call(row));
    let waits: Vec<_> = calls.filter(|call| recorded.trace.api_name(call.api) == "cuCtxSynchronize").collect();
    assert_eq!((kernels.len(), waits.len()), (5, 5));
    for ((_, kernel), wait) in kernels.iter().zip(&waits) {
        assert!(kernel.end_ns() <= wait.end_ns() + error, "{kernel:?} {wait:?} {error}");
        assert_eq!(recorded.trace.names.get(recorded.trace.activities.kernel_name(kernel)), "_Z5scalePfm");
        let (call, name) = recorded.call_of(kernel.correlation).unwrap();
        assert!(name.starts_with("cuLaunchKernel") && call.end_ns() <= wait.start_ns);
    }
    assert!(error < 1_000_000, "{error}");
    let device = &recorded.trace.activities.of(track.process).unwrap().devices[&0];
    assert!(device.multiprocessors > 0 && device.memory_bytes > 0);
}

#[test]
fn a_demo_with_streams_and_threads_is_recorded_whole() {
    let recorded = demo("training", &["--rounds", "20"]);
    whole(&recorded);
    let kernels = recorded.rows(ActivityKind::Kernel);
    // Three layers forward, backward and of the optimizer; the loss now and then.
    assert!(kernels.len() >= 20 * 9, "{}", kernels.len());
    let streams: std::collections::BTreeSet<_> = kernels.iter().map(|(lane, _)| format!("{lane:?}")).collect();
    assert!(streams.len() >= 2, "{streams:?}");
    let totals = recorded.totals();
    assert!(totals.copies >= 20 && totals.sets >= 3 && totals.copy_bytes > 0, "{totals:?}");
    assert_eq!((totals.h2d, totals.d2h), (0, 0));
}

#[test]
fn the_ways_to_cuda_make_no_difference() {
    let Some(programs) = programs() else { return };
    for name in ["static_cudart", "linked"] {
        let (_, mut all) = recorded(&program(programs, name, &[]), &[], &[]);
        let recorded = all.remove(0);
        whole(&recorded);
        assert_eq!(recorded.whys(), SPIN, "{name}");
        assert!(recorded.totals().kernels > 0, "{name}");
    }
    for name in ["dlopen_local", "dlopen_global", "getproc"] {
        let (_, all) = recorded(&program(programs, name, &[]), &[], &[]);
        assert_eq!(all[0].whys(), SPIN, "{name}");
    }
    let Some((stdout, recorded)) = gpu(&["rounds", "10"], &[], &[]) else { return };
    whole(&recorded);
    assert_eq!(recorded.totals(), Totals::counted(&stdout));
}

#[test]
fn many_threads_that_launch_are_told_apart() {
    let Some((stdout, recorded)) = gpu(&["threads", "64"], &[], &[]) else { return };
    whole(&recorded);
    assert_eq!(recorded.totals(), Totals::counted(&stdout));
    // The grid says which thread it was.
    let mut grids = std::collections::BTreeMap::<u32, std::collections::BTreeSet<u32>>::new();
    for record in recorded.file.of(KIND_KERNEL) {
        let process = recorded.trace.tracks[0].process;
        let submits = &recorded.trace.activities.of(process).unwrap().submits;
        let [grid, ..] = record.layout::<Kernel>().grid;
        grids.entry(grid).or_default().insert(submits.find(record.head.b).unwrap().track.0);
    }
    assert_eq!(grids.len(), 64);
    assert!(grids.values().all(|threads| threads.len() == 1), "{grids:?}");
}

#[test]
fn what_was_asked_for_is_recorded_and_what_was_not_is_said() {
    let how = ["rounds", "4"];
    let Some((stdout, plain)) = gpu(&how, &[], &[]) else { return };
    let counted = Totals::counted(&stdout);
    assert_eq!(plain.totals(), counted);
    assert_eq!(
        (plain.unified(UNIFIED_CPU_FAULT), plain.unified(UNIFIED_GPU_FAULT), plain.count(KIND_MEMORY)),
        (0, 0, 0)
    );
    let said = plain.said(EVIDENCE_ACTIVITY).unwrap();
    assert!(said.detail.ends_with("/libcupti.so.13"), "{said:?}");
    assert_eq!((said.result, said.driver, said.library), (0, 13_000, VERSION));

    let (stdout, faults) = gpu(&how, &["--um-faults"], &[]).unwrap();
    assert_eq!(faults.totals(), Totals::counted(&stdout));
    let line = stdout.lines().last().unwrap();
    assert_eq!(faults.unified(UNIFIED_CPU_FAULT) as u64, common::number_after(line, "faults "));
    assert!(faults.unified(UNIFIED_GPU_FAULT) > 0);
    assert_eq!(faults.said(EVIDENCE_FAULTS).unwrap().why, WHY_RECORDED);

    let (_, memory) = gpu(&how, &["--gpu-memory"], &[]).unwrap();
    assert_eq!(memory.said(EVIDENCE_MEMORY).unwrap().why, WHY_RECORDED);
    let told: Vec<Memory> = memory.file.of(KIND_MEMORY).map(raw::Record::layout).collect();
    assert!(told.iter().any(|memory| (memory.operation, memory.kind, memory.bytes) == (1, 5, 4 * MIB)));
    assert!(told.iter().any(|memory| (memory.operation, memory.kind, memory.bytes) == (1, 3, MIB)));

    let (stdout, none) = gpu(&how, &["--no-gpu"], &[]).unwrap();
    assert_eq!(none.whys(), [Some(WHY_NOT_ASKED); 5]);
    assert_eq!(none.said(EVIDENCE_POINTERS).unwrap().why, WHY_RECORDED, "they come with the calls");
    assert_eq!(none.totals(), Totals::default());
    assert_eq!(Totals::counted(&stdout), counted, "the program does the same");
    assert!(!none.trace.activities.of(none.trace.tracks[0].process).unwrap().devices.is_empty(), "devices are told");
}

#[test]
fn work_is_recorded_whichever_calls_are() {
    for group in ["event", "memory", "launch"] {
        let Some((stdout, recorded)) = gpu(&["rounds", "2"], &["--only", group], &[]) else { return };
        assert_eq!(recorded.totals(), Totals::counted(&stdout), "{group}");
        assert_eq!(recorded.said(EVIDENCE_ACTIVITY).unwrap().why, WHY_RECORDED, "{group}");
    }
    let Some((stdout, recorded)) = gpu(&["rounds", "2"], &["--no-args"], &[]) else { return };
    assert_eq!(recorded.totals(), Totals::counted(&stdout));
    whole(&recorded);
    assert!(recorded.file.of(KIND_SUBMIT).all(|record| record.head.a == 0), "no pointers");
    assert_eq!(recorded.said(EVIDENCE_POINTERS).unwrap().why, WHY_NOT_ASKED);
}

#[test]
fn whether_pointers_of_kernels_are_recorded_is_said() {
    let pointers = |recorded: &Recorded| recorded.said(EVIDENCE_POINTERS).unwrap().why;
    let Some((_, plain)) = gpu(&["rounds", "2"], &[], &[]) else { return };
    assert_eq!(pointers(&plain), WHY_RECORDED);
    let (_, memory) = gpu(&["rounds", "2"], &["--only", "memory"], &[]).unwrap();
    assert_eq!(pointers(&memory), WHY_NOT_ASKED, "launches are not recorded");
    // A driver that cannot be asked.
    let programs = programs().unwrap();
    let (_, all) = recorded(&common::faked(programs, "together", &["1"]), &[], &[]);
    assert_eq!(pointers(&all[0]), WHY_UNUSABLE_LIBRARY);
}

#[test]
fn graphs_are_recorded_by_their_nodes_or_whole() {
    let Some(programs) = programs() else { return };
    // The program uses CUPTI too, but has none here.
    let run = |options: &[&str]| {
        let (_, mut all) = recorded(&program(programs, "gpu", &["graph", "3"]), options, &[]);
        all.remove(0)
    };
    let nodes = run(&[]);
    let in_graph = nodes.file.of(KIND_KERNEL).map(|record| record.layout::<Kernel>());
    assert_eq!((in_graph.filter(|kernel| kernel.node != 0).count(), nodes.count(KIND_GRAPH)), (6, 0));
    let whole = run(&["--whole-graphs"]);
    let in_graph = whole.file.of(KIND_KERNEL).map(|record| record.layout::<Kernel>());
    assert_eq!((in_graph.filter(|kernel| kernel.node != 0).count(), whole.count(KIND_GRAPH)), (0, 3));
    for record in whole.file.of(KIND_GRAPH) {
        assert_eq!(whole.call_of(record.head.b).unwrap().1, "cuGraphLaunch");
    }
}

/// What was said of each kind, but for faults and memory, which were not asked for.
fn refused(fail: &str) -> Option<(Recorded, [Said; 3])> {
    let (stdout, recorded) = gpu(&["rounds"], &[], &[("UMSIM_CUPTI_FAIL", fail)])?;
    assert_eq!(Totals::counted(&stdout).kernels, 1, "{fail}");
    let said = [EVIDENCE_ACTIVITY, EVIDENCE_MIGRATIONS, EVIDENCE_CORRELATION].map(|what| recorded.said(what).unwrap());
    Some((recorded, said))
}

#[test]
fn what_cupti_refuses_is_said_with_its_answer() {
    for (fail, why, result) in [
        ("subscribe:39", WHY_TAKEN, 39),
        ("subscribe:7", WHY_REFUSED, 7),
        ("version:15", WHY_REFUSED, 15),
        ("register:1", WHY_REFUSED, 1),
        ("enable10:35", WHY_REFUSED, 35),
        ("enable:999", WHY_REFUSED, 999),
    ] {
        let Some((recorded, said)) = refused(fail) else { return };
        for said in &said {
            assert_eq!((said.why, said.result), (why, result), "{fail}");
        }
        assert_eq!(recorded.totals(), Totals::default(), "{fail}");
        assert!(!recorded.trace.activities.recorded(umtui::trace::activity::What::Activity), "{fail}");
    }
    for (fail, result) in [("um:30", 30), ("um:31", 31), ("enable25:21", 21)] {
        let Some((recorded, [activity, migrations, correlation])) = refused(fail) else { return };
        assert_eq!((activity.why, correlation.why), (WHY_RECORDED, WHY_RECORDED), "{fail}");
        assert_eq!((migrations.why, migrations.result), (WHY_REFUSED, result), "{fail}");
        assert_eq!((recorded.totals().h2d, recorded.totals().kernels), (0, 1), "{fail}");
    }
    // Callbacks or their names: work is recorded, and nobody says that its calls are known.
    for fail in ["callback:5", "name:1"] {
        let Some((recorded, [activity, _, correlation])) = refused(fail) else { return };
        assert_eq!((activity.why, correlation.why), (WHY_RECORDED, WHY_REFUSED), "{fail}");
        assert_eq!(recorded.totals().kernels, 1, "{fail}");
    }
    // What is not as important does no harm.
    for fail in ["enable1:9,enable22:9", "enable38:9", "enable36:21", "enable17:9", "disable:9", "unsubscribe:9"] {
        let Some((recorded, said)) = refused(fail) else { return };
        assert!(said.iter().all(|said| said.why == WHY_RECORDED), "{fail}");
        assert_eq!(recorded.totals().kernels, 1, "{fail}");
    }
    let Some((recorded, said)) = refused("timestamp:9") else { return };
    assert_eq!((said[0].why, recorded.count(KIND_GPU_CLOCK)), (WHY_RECORDED, 0));
    let Some((recorded, _)) = refused("dropped:9") else { return };
    assert_eq!((recorded.totals().kernels, recorded.count(KIND_DROPPED)), (1, 0));
}

#[test]
fn a_refused_kind_of_counter_leaves_the_others() {
    // Of three counters the stand-in knows all; a refusal of copies is told apart from one of kernels.
    let Some((_, recorded)) = gpu(&["rounds"], &["--um-faults"], &[("UMSIM_CUPTI_FAIL", "um:30")]) else { return };
    let [migrations, faults] = [EVIDENCE_MIGRATIONS, EVIDENCE_FAULTS].map(|what| recorded.said(what).unwrap());
    assert_eq!((migrations.why, migrations.result), (WHY_REFUSED, 30));
    assert_eq!((faults.why, faults.result), (WHY_REFUSED, 30));
}

/// A folder with the stand-in but for its CUPTI.
fn without_cupti() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libcuda.so.1", "libcudart.so.12", "libcudart.so.13"] {
        std::os::unix::fs::symlink(Path::new(GUEST).join(name), folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn which_library_is_used_and_what_it_lacks_is_said() {
    let Some(programs) = programs() else { return };
    let without = without_cupti();
    let path = without.path().to_str().unwrap();
    let run = |cupti: Option<&Path>| {
        let variables = [("LD_LIBRARY_PATH", path)];
        let named = cupti.map(|cupti| ("UMTUI_CUPTI", cupti.to_str().unwrap()));
        let variables: Vec<_> = variables.into_iter().chain(named).collect();
        gpu(&["rounds"], &[], &variables).unwrap().1
    };
    let none = run(None);
    assert_eq!(none.whys(), [Some(WHY_NO_LIBRARY); 5]);
    assert_eq!(none.said(EVIDENCE_ACTIVITY).unwrap().driver, 13_000);
    let real = Path::new(GUEST).join("libcupti.so.13");
    let named = run(Some(&real));
    assert_eq!(
        (named.said(EVIDENCE_ACTIVITY).unwrap().detail, named.totals().kernels),
        (real.display().to_string(), 1)
    );
    let lacking = run(Some(&programs.join("cupti-lacks/libcupti.so.13")));
    assert_eq!(lacking.whys(), [Some(WHY_UNUSABLE_LIBRARY); 5]);
    assert_eq!(lacking.said(EVIDENCE_MIGRATIONS).unwrap().detail, "cuptiGetTimestamp");
    assert_eq!(run(Some(Path::new("/nonexistent/libcupti.so.13"))).whys(), [Some(WHY_NO_LIBRARY); 5]);
    assert_eq!(run(Some(Path::new("/etc/hostname"))).whys(), [Some(WHY_NO_LIBRARY); 5]);
}

#[test]
fn an_old_library_is_not_believed_which_call_submitted_what() {
    let Some((stdout, old)) = gpu(&["rounds", "3"], &[], &[("UMSIM_CUPTI_VERSION", "18")]) else { return };
    assert_eq!(old.totals(), Totals::counted(&stdout), "its records are shorter");
    let said = old.said(EVIDENCE_CORRELATION).unwrap();
    assert_eq!((said.why, said.driver, said.library), (WHY_UNUSABLE_LIBRARY, 13_000, 18));
    assert!(old.file.of(KIND_SUBMIT).all(|record| record.head.b == 0), "no id");
    assert_eq!(old.said(EVIDENCE_ACTIVITY).unwrap().why, WHY_RECORDED);
    old.check_clocks();
    let (_, newer) = gpu(&["rounds", "3"], &[], &[("UMSIM_CUPTI_VERSION", "28")]).unwrap();
    assert_eq!(newer.said(EVIDENCE_CORRELATION).unwrap().why, WHY_RECORDED);
    whole(&newer);
}

#[test]
fn without_a_device_there_is_nothing_to_record() {
    let Some(programs) = programs() else { return };
    let command = program(programs, "gpu", &["only-init"]);
    let (stdout, all) = recorded(&command, &[], &[("UMTUI_SIM_DEVICES", "0")]);
    // The driver without a device says so, or is initialised and has none.
    let expected = if stdout == "cuInit 0\n" { [Some(WHY_NO_DEVICE); 5] } else { [None; 5] };
    assert_eq!(all[0].whys(), expected, "{stdout}");
}

#[test]
fn garbage_among_the_records_does_no_harm() {
    for garbage in ["1", "2"] {
        let Some((stdout, recorded)) = gpu(&["rounds", "20"], &["--um-faults"], &[("UMSIM_CUPTI_GARBAGE", garbage)])
        else {
            return;
        };
        let (totals, counted) = (recorded.totals(), Totals::counted(&stdout));
        let missing = |of: fn(&Totals) -> u64| of(&counted).saturating_sub(of(&totals));
        // Known kinds with all bits set come as records too.
        for of in [|t: &Totals| t.kernels, |t: &Totals| t.copies, |t: &Totals| t.sets] {
            assert_eq!(missing(of), 0, "{garbage}: {totals:?} {counted:?}");
        }
        if garbage == "1" {
            assert_eq!(totals, counted);
            recorded.check_clocks();
        }
    }
}

#[test]
fn what_lies_outside_of_the_recorded_parts_is_left_out() {
    for rounds in ["3", "400"] {
        let Some((_, recorded)) = gpu(&["paused", rounds], &["--capture", "profiler"], &[]) else { return };
        let rounds: usize = rounds.parse().unwrap();
        let kernels: Vec<u32> = recorded.file.of(KIND_KERNEL).map(|record| record.layout::<Kernel>().grid[0]).collect();
        let count = |grid: u32| kernels.iter().filter(|&&other| other == grid).count();
        assert_eq!((count(8), count(9), count(10)), (rounds, 0, 0), "those inside, before and after");
        let copies: Vec<u64> = recorded.file.of(KIND_COPY).map(|record| record.layout::<Copied>().bytes).collect();
        assert_eq!(copies, vec![100; rounds]);
        assert_eq!(recorded.whys(), SPIN, "it begins with the recording");
        recorded.check_submits(ActivityKind::Kernel, &LAUNCHES);
    }
}

#[test]
fn a_part_that_begins_in_the_middle_has_its_first_kernel() {
    let Some((_, recorded)) = gpu(&["paused", "1"], &["--capture", "profiler"], &[]) else { return };
    assert_eq!(recorded.totals().kernels, 1);
    whole(&recorded);
}
