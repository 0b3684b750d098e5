//! The hook where something is missing or odd: it does no harm, records what it can and counts what it cannot.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::event::events;
use common::{
    HOOK, UMTUI, calls, failed, faked, files, hooked, layer, lost, outcome, program, programs, recorded, report,
    report_text, run, status,
};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes of a chunk, the unit in which files grow.
const UNIT: u64 = 64 * 1024;

/// Runs limits.c as it is and with the hook; the same must come of it, and what it has made is returned.
fn limits(programs: &Path, recording: &Path, arguments: &[&str]) -> Option<serde_json::Value> {
    let plain = outcome(&run(faked(programs, "limits", arguments)));
    assert!(plain.0 == 5 && plain.1.contains("20000 succeeded, errno kept 20000, untouched 1"), "{plain:?}");
    let outcome = outcome(&run(hooked(recording, &faked(programs, "limits", arguments))));
    assert_eq!(outcome, plain, "{arguments:?}");
    (!files(recording, "umt").is_empty()).then(|| report(&[recording]))
}

/// Holds that of the calls some were recorded, and the others counted.
fn whole(report: &serde_json::Value, made: u64) -> u64 {
    let recorded = layer(report, "driver");
    assert_eq!(recorded + lost(report), made, "{report}");
    recorded
}

#[test]
fn errno_is_kept_over_every_call() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    // limits.c sets it before each of its calls and looks after it: the first, through several chunks, by either clock.
    for when in ["early", "late"] {
        let recording = folder.path().join(when);
        let report = limits(programs, &recording, &["none", when, "20000"]).unwrap();
        assert_eq!(whole(&report, if when == "late" { 20_100 } else { 20_000 }), layer(&report, "driver"));
        assert_eq!(lost(&report), 0);
    }
    // What the driver itself leaves in errno stays as well.
    let recording = folder.path().join("errors");
    let hooked = outcome(&run(hooked(&recording, &program(programs, "errors", &[]))));
    assert_eq!(hooked, outcome(&run(program(programs, "errors", &[]))));
    assert!(hooked.1.contains("errno 42"), "{}", hooked.1);
}

#[test]
fn the_other_clock_counts_the_same() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = outcome(&run(program(programs, "threads", &["4", "3000"])));
    let counts = ["ticks", "monotonic"].map(|clock| {
        let recording = folder.path().join(clock);
        let mut command = hooked(&recording, &program(programs, "threads", &["4", "3000"]));
        command.env("UMTUI_CLOCK", clock);
        assert_eq!(outcome(&run(command)), plain, "{clock}");
        let report = report(&[&recording]);
        assert_eq!((lost(&report), failed(&report)), (0, 0), "{clock}");
        // Times are those of the same second on either clock.
        let ns = report["trace"]["duration_ns"].as_u64().unwrap();
        assert!((100_000..60_000_000_000).contains(&ns), "{clock}: {ns}");
        let mut counts = common::counts(&report, "driver");
        counts.extend(common::counts(&report, "runtime"));
        counts
    });
    assert_eq!(counts[0], counts[1]);
    assert_eq!(counts[0]["cudaGetDevice"], 12_000);
    // It has a trampoline of its own: structures, stack arguments, unknown functions, deep nesting through that one.
    for (name, arguments, fake) in [
        ("structs", vec![], false),
        ("linked_driver", vec![], false),
        ("onesite", vec![], true),
        ("floats", vec![], true),
        ("leaving", vec!["deep", "40"], true),
        ("leaving", vec!["cancel", "5"], true),
    ] {
        let command = if fake { faked(programs, name, &arguments) } else { program(programs, name, &arguments) };
        let recording = folder.path().join(format!("{name}{}", arguments.concat()));
        let mut slow = hooked(&recording, &command);
        slow.env("UMTUI_CLOCK", "monotonic");
        assert_eq!(outcome(&run(slow)), outcome(&run(command)), "{name} {arguments:?}");
        assert_eq!(lost(&report(&[&recording])), 0, "{name} {arguments:?}");
    }
}

#[test]
fn without_a_folder_the_hook_does_nothing() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (name, arguments) in [
        ("linked", vec![]),
        ("two_majors", vec![]),
        ("two_majors", vec!["local"]),
        ("static_cudart", vec![]),
        ("getproc", vec![]),
    ] {
        let mut command = program(programs, name, &arguments);
        command.current_dir(folder.path());
        let plain = outcome(&run(common::again(&command)));
        command.env("LD_PRELOAD", HOOK).current_dir(folder.path());
        assert_eq!(outcome(&run(common::again(&command))), plain, "{name}");
        command.env("UMTUI_OUT", "").env("UMTUI_MAX_BYTES", "x");
        assert_eq!(outcome(&run(command)), plain, "{name} with an empty folder");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_program_without_cuda_calls_leaves_no_file() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    for command in [program(programs, "nothing", &[]), Command::new("true")] {
        let output = run(hooked(folder.path(), &command));
        assert_eq!(outcome(&output), outcome(&run(command)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    let recording = folder.path().join("recording");
    let output = run(recorded(&recording, &program(programs, "nothing", &[])));
    assert_eq!((status(&output), files(&recording, "umt").len()), (0, 0));
}

#[test]
fn a_folder_that_cannot_be_written_or_is_not_there_stops_nothing() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = outcome(&run(program(programs, "linked", &[])));
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let long = "x".repeat(5000);
    for place in [
        folder.path().join("nowhere"),
        file.clone(),
        "/proc/self".into(),
        "/sys".into(),
        long.into(),
        "relative".into(),
    ] {
        let mut command = program(programs, "linked", &[]);
        command.env("LD_PRELOAD", HOOK).env("UMTUI_OUT", &place).current_dir(folder.path());
        assert_eq!(outcome(&run(command)), plain, "{}", place.display());
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");
    // Root may write into any folder; others are stopped by its mode.
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
    let mut command = program(programs, "linked", &[]);
    command.env("LD_PRELOAD", HOOK).env("UMTUI_OUT", &closed);
    assert_eq!(outcome(&run(command)), plain);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["closed", "file"]);
}

#[test]
fn a_folder_that_vanishes_ends_the_recording_only() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let arguments = ["vanish", "late", "20000", recording.to_str().unwrap()];
    fs::create_dir(&recording).unwrap();
    assert_eq!(limits(programs, &recording, &arguments), None);
    assert!(!recording.exists());
}

#[test]
fn limits_on_files_and_descriptors_send_no_signal() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (what, when, expected) in [
        ("fsize", "early", Some("File too large")),
        ("fsize", "late", Some("File too large")),
        ("nofile", "early", None),
        ("nofile", "late", Some("Too many open files")),
    ] {
        let recording = folder.path().join(format!("{what}-{when}"));
        let report = limits(programs, &recording, &[what, when, "20000"]);
        assert_eq!(report.is_some(), expected.is_some(), "{what} {when}");
        let (Some(report), Some(expected)) = (report, expected) else { continue };
        let recorded = whole(&report, if when == "late" { 20_100 } else { 20_000 });
        assert!(lost(&report) > 0 && (when == "early" || recorded >= 100), "{what} {when}: {recorded}");
        let text = report_text(&[&recording]);
        assert!(text.contains(&format!("recording stopped: {expected}")), "{what} {when}: {text}");
    }
    // Where nothing at all may be written, by either way of recording: there is no file, or not more than there was.
    let plain = outcome(&run(faked(programs, "limits", &["empty", "early", "20000"])));
    for (when, place) in ["early", "late"].iter().flat_map(|when| [(when, "mapped"), (when, "written")]) {
        let recording = folder.path().join(format!("empty-{when}-{place}"));
        let mut command = hooked(&recording, &faked(programs, "limits", &["empty", when, "20000"]));
        command.env("UMTUI_PLACE", place);
        assert_eq!(status(&run(command)), plain.0, "{when} {place}");
        assert_eq!(files(&recording, "umt").is_empty(), *when == "early", "{when} {place}");
    }
}

#[test]
fn a_program_that_closes_all_descriptors_keeps_its_own_files() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    for when in ["early", "late"] {
        let recording = folder.path().join(when);
        let report = limits(programs, &recording, &["close", when, "20000"]).unwrap();
        assert_eq!(whole(&report, if when == "late" { 20_100 } else { 20_000 }), layer(&report, "driver"), "{when}");
    }
}

#[test]
fn a_full_disk_kills_nobody() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    // The smallest is full from the start.
    for (kilobytes, place) in [4, 32, 300, 700].iter().flat_map(|size| [(size, "mapped"), (size, "written")]) {
        let (small, kept) = (folder.path().join("small"), folder.path().join(format!("kept{kilobytes}{place}")));
        fs::create_dir_all(&small).unwrap();
        fs::create_dir_all(&kept).unwrap();
        // In a mount namespace of its own, which ends with the shell.
        let script = r#"mount -t tmpfs -o size="$1"k none "$2" || exit 99
            [ "$1" != 4 ] || head -c 4096 /dev/zero >"$2/filler"
            out=$2 kept=$3; shift 3
            UMTUI_OUT=$out LD_PRELOAD=$HOOK "$@"; status=$?
            cp "$out"/*.umt "$kept" 2>/dev/null; exit $status"#;
        let inner = faked(programs, "limits", &["none", "late", "20000"]);
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script, "sh", &kilobytes.to_string()]).arg(&small).arg(&kept);
        command.arg(inner.get_program()).args(inner.get_args());
        command.env("HOOK", HOOK).env("LD_LIBRARY_PATH", programs.join("fake")).env_remove("LD_PRELOAD");
        command.env("UMTUI_PLACE", place);
        let Ok(output) = command.output() else {
            eprintln!("skipped: no unshare");
            return;
        };
        let outcome = outcome(&output);
        if outcome.0 == 99 || outcome.0 == 1 {
            eprintln!("skipped: a small file system cannot be mounted: {}", outcome.2);
            return;
        }
        assert_eq!(
            (outcome.0, outcome.1.as_str()),
            (5, "100 before, 20000 succeeded, errno kept 20000, untouched 1\n"),
            "{kilobytes} KiB {place}"
        );
        let recorded = files(&kept, "umt");
        if *kilobytes == 4 {
            assert!(recorded.is_empty(), "an empty file is left behind: {recorded:?}");
            continue;
        }
        let report = report(&[&kept]);
        whole(&report, 20_100);
        assert!(lost(&report) > 0);
        assert!(report_text(&[&kept]).contains("recording stopped: No space left on device"));
    }
}

#[test]
fn at_its_size_cap_the_newest_are_kept_and_the_others_counted() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let command = faked(programs, "limits", &["none", "late", "20000"]);
    let plain = outcome(&run(common::again(&command)));
    for (size, bytes) in [("1M", 1 << 20), ("1200K", 1200 * 1024)] {
        let recording = folder.path().join(size);
        let mut record = Command::new(UMTUI);
        record.args(["record", "--max-size", size, "-o"]).arg(&recording).arg("--").arg(command.get_program());
        record.args(command.get_args()).env("LD_LIBRARY_PATH", programs.join("fake")).env_remove("LD_PRELOAD");
        assert_eq!(outcome(&run(record)), plain, "{size}");
        let file = &files(&recording, "umt")[0];
        assert!(fs::metadata(file).unwrap().len() <= bytes, "{size}: {:?}", fs::metadata(file));
        let report = report(&[&recording]);
        let discarded = report["trace"]["discarded"].as_u64().unwrap();
        assert_eq!((layer(&report, "driver") + discarded, lost(&report)), (20_100, 0), "{size}");
        assert!(discarded > 1000 && report["trace"]["truncated"] == true, "{size}: {discarded}");
        let text = report_text(&[&recording]);
        assert!(text.contains("--max-size") && text.contains("older ones not kept"), "{size}: {text}");
    }
}

#[test]
fn a_fork_among_busy_threads_records_both_sides() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let children = 10;
    let output = run(hooked(folder.path(), &faked(programs, "leaving", &["fork", &children.to_string()])));
    let (status, stdout, stderr) = outcome(&output);
    assert_eq!((status, stdout.as_str()), (0, "fork: cleaned 0, begun 0\n"));
    // The parent's threads go on for as long as it takes; the children make a hundred calls each.
    let begun: u64 = stderr.strip_prefix("begun ").unwrap().trim().parse().unwrap();
    let all = files(folder.path(), "umt");
    assert_eq!(all.len(), 1 + children);
    let report = report(&[folder.path()]);
    assert_eq!(lost(&report), 0);
    assert_eq!(calls(&report, "cuDriverGetVersion"), begun + 100 * children as u64);
}

#[test]
fn ten_thousand_short_threads_use_as_much_disk_as_what_they_recorded() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let threads = 10_000;
    let report = leaving(programs, folder.path(), "short", threads);
    assert_eq!(calls(&report, "cuDriverGetVersion"), threads * 5 + 2);
    assert_eq!(report["trace"]["threads"], threads + 1);
    // A name, a clock reading and five calls each, of 48 bytes; the windows and chunks of the eight that live at once, and what all
    // processes have.
    let bytes = fs::metadata(&files(folder.path(), "umt")[0]).unwrap().len();
    assert!(bytes <= threads * 7 * 48 + 24 * UNIT, "{bytes}");
}

/// Processor time of a command that is run to its end, s.
#[allow(clippy::zombie_processes, reason = "wait4 waits for it, and tells its times")]
fn processor_time(mut command: Command) -> f64 {
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let mut status = 0;
    // SAFETY: our own child, which nobody else waits for; both places are ours.
    let waited = unsafe { libc::wait4(child.id().cast_signed(), &mut status, 0, usage.as_mut_ptr()) };
    assert!(waited > 0 && status == 0, "{command:?}");
    // SAFETY: filled by the call, and zeroed before.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

#[test]
fn short_threads_cost_little_more_than_without_the_hook() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = faked(programs, "leaving", &["short", "4000"]);
    // One after the other, since the machine is busier at one time than at another.
    let mut ratios: Vec<f64> = (0..9)
        .map(|round| {
            let mut recording = hooked(&folder.path().join(round.to_string()), &program);
            recording.env("UMTUI_TICKS_PER_SECOND", "2000000000");
            let plain = processor_time(common::again(&program));
            processor_time(recording) / plain
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("processor time with the hook over that without: {ratios:.2?}");
    // Five calls a thread; 1.1 is aimed at, and held on a quiet machine.
    assert!(ratios[4] < 1.5, "{ratios:.2?}");
}

/// Runs leaving.c as it is and with the hook; the same must come of it, and nothing may be lost.
fn leaving(programs: &Path, recording: &Path, mode: &str, count: u64) -> serde_json::Value {
    let arguments = [mode, &count.to_string()];
    let plain = outcome(&run(faked(programs, "leaving", &arguments)));
    assert_eq!(plain.0, 0, "{mode}: {plain:?}");
    assert_eq!(outcome(&run(hooked(recording, &faked(programs, "leaving", &arguments)))), plain, "{mode}");
    let report = report(&[recording]);
    let begun: u64 = plain.1.trim().rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!((layer(&report, "driver"), lost(&report)), (begun, 0), "{mode}");
    assert_eq!(report["trace"]["truncated"], false, "{mode}");
    report
}

#[test]
fn threads_cancelled_or_exited_inside_a_call_unwind_and_hand_on_what_they_had() {
    let Some(programs) = programs() else { return };
    for mode in ["cancel", "exit"] {
        let folder = tempfile::tempdir().unwrap();
        let report = leaving(programs, folder.path(), mode, 30);
        // Each thread asks before the call it is left in, and once more while it is unwound.
        assert_eq!((calls(&report, "cuCtxSynchronize"), calls(&report, "cuDriverGetVersion")), (30, 62), "{mode}");
        let bytes = fs::metadata(&files(folder.path(), "umt")[0]).unwrap().len();
        assert!(bytes <= 8 * UNIT, "{mode}: {bytes}");
        let events = events(folder.path());
        let left = events.iter().filter(|event| event.api == "cuCtxSynchronize");
        assert!(left.clone().count() == 30 && left.clone().all(|event| event.rest.contains("entry")), "{mode}");
        assert!(events.iter().all(|event| !event.unfinished));
    }
}

#[test]
fn destructors_of_threads_may_call() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = leaving(programs, folder.path(), "key", 20);
    assert_eq!(calls(&report, "cuDriverGetVersion"), 20 * 5 + 2);
}

#[test]
fn calls_nested_deeper_than_the_desk_are_recorded_when_they_return() {
    let Some(programs) = programs() else { return };
    for depth in [14, 15, 16, 40, 300] {
        let folder = tempfile::tempdir().unwrap();
        let report = leaving(programs, folder.path(), "deep", depth);
        assert_eq!(calls(&report, "cuCtxSynchronize"), 3 * depth);
        let events = events(folder.path());
        let deepest = events.iter().map(|event| u64::from(event.depth)).max().unwrap();
        assert_eq!(deepest, depth.min(255));
        // Depth zero is reached again after each of the three.
        let outermost = events.iter().filter(|event| event.api == "cuCtxSynchronize" && event.depth == 0);
        assert_eq!(outermost.count(), 3);
    }
}

#[test]
fn stacks_of_sixteen_kilobytes_are_enough() {
    let Some(programs) = programs() else { return };
    for (mode, count) in [("stack", 20), ("first", 1)] {
        let folder = tempfile::tempdir().unwrap();
        leaving(programs, folder.path(), mode, count);
    }
}

#[test]
fn calls_in_a_signal_handler_are_recorded_or_counted() {
    let Some(programs) = programs() else { return };
    for mode in ["late", "alternate", "new", "early"] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(hooked(folder.path(), &faked(programs, "sigalrm", &[mode, "400"])));
        let (status, stdout, _) = outcome(&output);
        assert_eq!(status, 0, "{mode}: {output:?}");
        let numbers: Vec<u64> = stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [by_main, by_handler, made] = numbers[..] else { panic!("{stdout}") };
        // The hook itself has asked for the driver's version.
        let made = made - 1;
        let report = report(&[folder.path()]);
        let found = layer(&report, "driver") + lost(&report);
        // While the file itself is being made there is nowhere to count what a handler calls.
        let uncounted = if mode == "early" { by_handler } else { 0 };
        assert!(found <= made && found + uncounted >= made, "{mode}: made {made}, recorded and lost {found}");
        assert_eq!(calls(&report, "cuInit"), by_main, "{mode}: only handlers may lose");
        assert_eq!((failed(&report), &report["trace"]["truncated"]), (0, &false.into()), "{mode}");
    }
}
