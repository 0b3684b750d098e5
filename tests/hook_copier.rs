//! Full chunks are copied to their places by a thread of ours: all is there whatever happens meanwhile.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{LONG, calls, files, hooked, lost, program, programs, report, signal, wait_for};
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use umtui_wire::chunk::{ChunkHeader, HEADER_BYTES, KIND_EVENTS, KIND_WINDOW, STATE_SEALED};
use umtui_wire::header::CHUNK_UNIT;
use zerocopy::FromBytes as _;

const THREADS: u64 = 4;
/// Windows that are handed round, as the hook has it.
const SPARE: usize = 32;

/// What the chunks of a file say of themselves.
fn headers(file: &Path) -> Vec<ChunkHeader> {
    let length = fs::metadata(file).unwrap().len();
    let file = fs::File::open(file).unwrap();
    let mut found = Vec::new();
    for at in (CHUNK_UNIT..length).step_by(CHUNK_UNIT as usize) {
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, at).unwrap();
        let header = ChunkHeader::read_from_bytes(&bytes).unwrap();
        if header.magic == umtui_wire::chunk::MAGIC {
            found.push(header);
        }
    }
    found
}

/// The copier of a process: the folder of its thread.
fn copier(pid: u32) -> Option<PathBuf> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut folders = tasks.filter_map(Result::ok).map(|task| task.path());
    folders.find(|task| fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "umtui copy"))
}

#[test]
fn the_copiers_descriptors_are_none_of_the_programs() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (counters, recording) = (folder.path().join("counters"), folder.path().join("recording"));
    let (mut child, task) = counting(programs, &counters, &recording);
    // Kernels before 5.9 cannot.
    // SAFETY: closes nothing: the first number is behind the last.
    if unsafe { libc::syscall(libc::SYS_close_range, u32::MAX, u32::MAX, 0) } != 0 {
        eprintln!("skipped: this kernel has no close_range");
        signal(child.id(), 9);
        child.wait().unwrap();
        return;
    }
    let listed = |folder: PathBuf| {
        let links = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        links.filter_map(|link| fs::read_link(link.path()).ok()).collect::<Vec<_>>()
    };
    wait_for("its own table", LONG, || listed(task.join("fd")).iter().all(|path| path.starts_with(&recording)));
    let program = format!("/proc/{}", child.id());
    for _ in 0..2000 {
        let copiers = listed(task.join("fd"));
        assert!(copiers.iter().all(|path| path.starts_with(&recording)), "{copiers:?}");
    }
    // The program has what it had: its standard streams at least.
    assert!(listed(Path::new(&program).join("fd")).len() >= 3);
    signal(child.id(), 9);
    child.wait().unwrap();
}

/// A line of a thread's status.
fn status(task: &Path, what: &str) -> String {
    let text = fs::read_to_string(task.join("status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':'));
    line.unwrap_or_default().trim().to_owned()
}

/// A program whose threads count their calls for ever, once it has a copier; and that one's folder.
fn counting(programs: &Path, counters: &Path, recording: &Path) -> (Child, PathBuf) {
    let arguments = [counters.to_str().unwrap(), &THREADS.to_string(), "0"];
    let child = hooked(recording, &program(programs, "counter", &arguments)).stdout(Stdio::null()).spawn().unwrap();
    wait_for("the copier", LONG, || copier(child.id()).is_some());
    let task = copier(child.id()).unwrap();
    (child, task)
}

fn counted(counters: &Path) -> u64 {
    let bytes = fs::read(counters).unwrap();
    bytes.chunks_exact(64).map(|line| u64::from_le_bytes(line[..8].try_into().unwrap())).sum()
}

#[test]
fn chunks_are_copied_by_a_thread_that_takes_no_signals_and_nothing_is_lost() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (counters, recording) = (folder.path().join("counters"), folder.path().join("recording"));
    let (mut child, task) = counting(programs, &counters, &recording);
    // All but SIGKILL and SIGSTOP, which cannot be held, and the two that the C library keeps for itself.
    let held = u64::from_str_radix(&status(&task, "SigBlk"), 16).unwrap();
    assert_eq!(held | 1 << 8 | 1 << 18 | 3 << 31, u64::MAX, "{held:x}");
    let slept = || status(&task, "voluntary_ctxt_switches").parse::<u64>().unwrap_or(0);
    wait_for("the copier at work", LONG, || slept() > 20);
    signal(child.id(), 9);
    child.wait().unwrap();
    let report = report(&[&recording]);
    let (done, found) = (counted(&counters), calls(&report, "cudaGetDevice"));
    assert!(done <= found && found <= done + THREADS, "{done} done, {found} recorded");
    assert_eq!((lost(&report), &report["trace"]["truncated"]), (0, &false.into()));
    let headers = headers(&files(&recording, "umt")[0]);
    let windows = headers.iter().filter(|header| header.kind == KIND_WINDOW).count();
    // One each for the threads, the first one and the collector besides.
    assert!(windows <= SPARE + THREADS as usize + 2, "{windows} windows");
    assert!(windows > THREADS as usize + 2, "none was handed round");
    let open = headers.iter().filter(|header| header.kind == KIND_EVENTS && header.state != STATE_SEALED).count();
    assert!(open <= windows, "{open} chunks are open, and there are {windows} windows");
}

#[test]
fn under_a_cap_old_chunks_make_room_and_every_call_is_there_or_counted() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (counters, recording) = (folder.path().join("counters"), folder.path().join("recording"));
    const CALLS: u64 = 800_000;
    let command = program(programs, "counter", &[counters.to_str().unwrap(), "4", &CALLS.to_string()]);
    // The least with which there is a copier.
    let output = hooked(&recording, &command).env("UMTUI_MAX_BYTES", (64 << 20).to_string()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report = report(&[&recording]);
    let discarded = report["trace"]["discarded"].as_u64().unwrap();
    assert!(discarded > 0, "the cap was reached");
    assert_eq!(lost(&report), 0);
    assert_eq!(counted(&counters), 4 * CALLS);
    // Calls of the runtime's own start are among those that made room.
    let all = report["trace"]["calls"].as_u64().unwrap() + discarded;
    let others = all - 4 * CALLS;
    assert!(others < 1000, "{all} calls are there or counted");
    assert!(fs::metadata(&files(&recording, "umt")[0]).unwrap().len() <= 64 << 20);
}

#[test]
fn children_of_fork_leave_alone_what_their_parent_hands_round() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let output = hooked(&recording, &program(programs, "handed", &["12", "5000"])).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let parent: u64 = said.rsplit(' ').next().and_then(|number| number.trim().parse().ok()).unwrap();
    assert!(output.status.success() && said.starts_with("children 12 bad 0 "), "{output:?}");
    let mut found = Vec::new();
    for file in files(&recording, "umt") {
        let report = report(&[&file]);
        assert_eq!((lost(&report), &report["trace"]["truncated"]), (0, &false.into()), "{}", file.display());
        found.push(calls(&report, "cudaGetDevice"));
    }
    found.sort_unstable();
    let mut want = vec![5000; 12];
    want.push(parent);
    want.sort_unstable();
    assert_eq!(found, want);
}

#[test]
fn a_process_that_ends_in_order_has_no_thread_of_ours_any_more() {
    let Some(programs) = programs() else { return };
    for (round, gpu) in ["1", "0"].into_iter().cycle().take(40).enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = hooked(folder.path(), &program(programs, "ends", &[]));
        command.env("UMTUI_GPU", gpu);
        let (status, stdout, stderr) = common::outcome(&common::run(command));
        // The stand-in has threads of its own, which go on.
        assert!(status == 0 && stdout.ends_with("that is all\n") && stderr.is_empty(), "{round} {gpu}: {stderr}");
        assert!(!stdout.contains("umtui"), "{round} {gpu}: {stdout}");
        assert!(calls(&report(&[folder.path()]), "cudaMalloc") > 0, "{round} {gpu}");
    }
}
