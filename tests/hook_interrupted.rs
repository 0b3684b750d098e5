//! Calls where the program, or the hook, is in the midst of something: signal handlers that call or jump, exceptions, an
//! allocator that calls, threads that begin together or end.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::event::events;
use common::{calls, failed, faked, files, hooked, layer, lost, number_after, outcome, programs, report, run};
use std::fs;

/// Bytes of a chunk, the unit in which files grow.
const UNIT: u64 = 64 * 1024;

#[test]
fn a_handlers_first_call_may_interrupt_the_allocator_and_the_loader() {
    let Some(programs) = programs() else { return };
    // Each is a process of its own; their handlers come at different moments.
    for (mode, children) in [("malloc", 100), ("local", 100), ("dlopen", 60)] {
        let folder = tempfile::tempdir().unwrap();
        let command = faked(programs, "inside", &[mode, &children.to_string()]);
        let (status, stdout, stderr) = outcome(&run(hooked(folder.path(), &command)));
        assert_eq!((status, stdout), (0, format!("{children} of {children} ended\n")), "{mode}: {stderr}");
        assert_eq!(files(folder.path(), "umt").len(), children, "{mode}");
        let report = report(&[folder.path()]);
        assert_eq!((calls(&report, "cuDriverGetVersion"), lost(&report)), (children as u64, 0), "{mode}");
    }
}

#[test]
fn a_first_call_does_not_wait_for_somebody_who_is_inside_the_loader() {
    let Some(programs) = programs() else { return };
    for when in ["callback", "fork", "constructor", "close"] {
        for from in ["own", "needed", "bare"] {
            let folder = tempfile::tempdir().unwrap();
            let command = faked(programs, "held", &[when, from]);
            let (status, stdout, stderr) = outcome(&run(hooked(folder.path(), &command)));
            assert_eq!((status, stdout.as_str()), (0, "made\n"), "{when} {from}: {stderr}");
            let report = report(&[folder.path()]);
            assert_eq!((calls(&report, "cuDriverGetVersion"), lost(&report)), (1, 0), "{when} {from}");
        }
    }
}

#[test]
fn threads_may_make_the_first_calls_together() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let children = 150;
    let command = faked(programs, "together", &[&children.to_string()]);
    let (status, stdout, stderr) = outcome(&run(hooked(folder.path(), &command)));
    assert_eq!((status, stdout), (0, format!("{children} of {children} ended\n")), "{stderr}");
    let report = report(&[folder.path()]);
    assert_eq!((layer(&report, "driver"), lost(&report)), (children * 8 * 80, 0));
    assert_eq!(calls(&report, "cuEventQuery"), children * 8 * 20);
}

#[test]
fn a_handler_that_jumps_out_of_the_hook_costs_at_most_that_call() {
    let Some(programs) = programs() else { return };
    for stack in [None, Some("alternate")] {
        let jumps = 1500u64;
        let folder = tempfile::tempdir().unwrap();
        let count = jumps.to_string();
        let arguments: Vec<&str> = [count.as_str()].into_iter().chain(stack).collect();
        let output = run(hooked(folder.path(), &faked(programs, "jumps", &arguments)));
        let (status, stdout, _) = outcome(&output);
        assert_eq!((status, number_after(&stdout, "jumped ")), (0, jumps), "{output:?}");
        let begun = number_after(&stdout, "begun ");
        let report = report(&[folder.path()]);
        assert_eq!(report["trace"]["truncated"], false);
        assert_eq!(calls(&report, "cuCtxSynchronize"), 1000, "{stack:?}: all that came after the jumps");
        let found = layer(&report, "driver") - 1000 + lost(&report);
        // A call that was left may not have begun in the driver yet, or be written down as left although it had returned.
        assert!((begun..=begun + jumps).contains(&found), "{stack:?}: begun {begun}, recorded and lost {found}");
        assert!(lost(&report) <= jumps, "{stack:?}: {} lost", lost(&report));
    }
}

#[test]
fn a_child_of_a_handlers_fork_that_goes_on_leaves_its_parents_file_alone() {
    let Some(programs) = programs() else { return };
    for (clock, place) in [("ticks", "mapped"), ("monotonic", "mapped"), ("ticks", "written")] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = hooked(folder.path(), &faked(programs, "snapshot", &["120"]));
        command.env("UMTUI_CLOCK", clock).env("UMTUI_PLACE", place);
        let (status, stdout, stderr) = outcome(&run(command));
        assert_eq!(status, 5, "{stdout} {stderr}");
        assert!(stdout.starts_with("120 forks, 0 ended badly"), "{stdout}");
        // The parent has made by far the most calls.
        let all = files(folder.path(), "umt");
        let reports = all.iter().map(|file| report(&[file]));
        let parent = reports.max_by_key(|report| layer(report, "driver")).unwrap();
        let begun = number_after(&stdout, "begun ");
        assert_eq!((layer(&parent, "driver"), lost(&parent)), (begun, 0), "{clock} {place}");
        assert_eq!(parent["trace"]["truncated"], false, "{clock} {place}");
    }
}

#[test]
fn exceptions_cross_calls_and_the_depth_recovers() {
    let Some(programs) = programs() else { return };
    if !programs.join("throws").exists() {
        eprintln!("skipped: no C++ compiler (c++)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let plain = outcome(&run(faked(programs, "throws", &[])));
    assert_eq!((plain.0, plain.1.as_str()), (0, "caught 20, alive 0, begun 480\n"), "{plain:?}");
    for clock in ["ticks", "monotonic"] {
        let recording = folder.path().join(clock);
        let mut command = hooked(&recording, &faked(programs, "throws", &[]));
        command.env("UMTUI_CLOCK", clock);
        assert_eq!(outcome(&run(command)), plain, "{clock}");
        let report = report(&[&recording]);
        // 1 + 2 + ... + 20 calls were left, and 20 made in peace. Destructors on the way out call as well; threads end with
        // a call in a destructor. Of calls beyond the fifteenth within each other nothing is known until they return.
        let (waits, asks) = (calls(&report, "cuCtxSynchronize"), calls(&report, "cuDriverGetVersion"));
        assert_eq!((waits, asks, lost(&report)), (230 - 15, 250, 15), "{clock}");
        let events = events(&recording);
        let left = events.iter().filter(|event| event.rest.contains("entry")).count();
        assert_eq!(left, 210 - 15, "{clock}");
        let deepest = events.iter().map(|event| event.depth).max();
        assert_eq!(deepest, Some(20), "{clock}: the innermost destructor's call");
        let peaceful = events.iter().filter(|event| event.api == "cuCtxSynchronize" && !event.rest.contains("entry"));
        assert!(peaceful.clone().count() == 20 && peaceful.clone().all(|event| event.depth == 0), "{clock}");
        assert!(events.iter().all(|event| !event.unfinished));
    }
}

#[test]
fn an_allocator_may_call_cuda_in_the_midst_of_what_the_hook_asks_for() {
    let Some(programs) = programs() else { return };
    let allocator = programs.join("libmalloc.so");
    for (index, order) in ["before", "after"].into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let command = faked(programs, "allocates", &["2000"]);
        let mut command = hooked(folder.path(), &command);
        let (hook, allocator) = (common::HOOK, allocator.display());
        let preload = if index == 0 { format!("{allocator}:{hook}") } else { format!("{hook}:{allocator}") };
        command.env("LD_PRELOAD", preload).env("MALLOC_CALLS", "1");
        let (status, stdout, stderr) = outcome(&run(command));
        assert_eq!((status, stdout.as_str()), (4, ""), "{order}: {stderr}");
        let begun = number_after(&stderr, "begun ");
        assert!(begun > 1500, "{order}: the allocator calls: {begun}");
        let report = report(&[folder.path()]);
        assert_eq!(calls(&report, "cuCtxSynchronize"), 1000, "{order}");
        assert_eq!((layer(&report, "driver") + lost(&report), failed(&report)), (begun, 0), "{order}");
    }
}

#[test]
fn threads_that_call_to_the_last_leave_their_chunks_to_others() {
    let Some(programs) = programs() else { return };
    // Each calls in its thread-specific value's destructor for as often as the C library goes round them.
    let folder = tempfile::tempdir().unwrap();
    let threads = 300;
    let output = run(hooked(folder.path(), &faked(programs, "leaving", &["key", &threads.to_string()])));
    assert_eq!(outcome(&output).0, 0, "{output:?}");
    let report = report(&[folder.path()]);
    assert_eq!((calls(&report, "cuDriverGetVersion"), lost(&report)), (threads * 5 + 2, 0));
    assert_eq!(report["trace"]["threads"], threads + 1);
    let bytes = fs::metadata(&files(folder.path(), "umt")[0]).unwrap().len();
    assert!(bytes <= 12 * UNIT, "{bytes}");
}
