//! Programs under a sanitizer or under valgrind: they find what they did without the hook, and nothing that it has done.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{HOOK, again, faked, hooked, layer, lost, number_after, outcome, programs, recorded, report, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The kinds, and what compiled programs need of each.
const SANITIZERS: [&str; 4] = ["address", "thread", "leak", "undefined"];

/// A program of tests/c built with a sanitizer, or `None` and a message.
fn built(programs: &Path, sanitizer: &str, name: &str) -> Option<PathBuf> {
    let out = programs.join(format!("{name}-{sanitizer}"));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let mut command = Command::new("cc");
    command.args(["-g", "-O1", "-std=gnu11", "-fexceptions"]).arg(format!("-fsanitize={sanitizer}"));
    command.arg("-o").arg(&out).arg(sources.join(format!("{name}.c")));
    command.arg("-L").arg(programs.join("fake")).args(["-l:libcuda.so.1", "-lpthread", "-ldl"]);
    let compiled = command.output().unwrap();
    if !compiled.status.success() {
        let why = String::from_utf8_lossy(&compiled.stderr).into_owned();
        assert!(why.contains("cannot find"), "{why}");
        eprintln!("skipped: no library for -fsanitize={sanitizer}");
        return None;
    }
    Some(out)
}

/// It, finding the driver of libfake.c. ThreadSanitizer needs its usual addresses.
fn sanitized(programs: &Path, program: &Path, arguments: &[&str]) -> Command {
    let mut command = if program.to_string_lossy().ends_with("-thread") {
        let mut command = Command::new("setarch");
        command.args(["-R"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.args(arguments).env("LD_LIBRARY_PATH", programs.join("fake"));
    for name in ["LD_PRELOAD", "UMTUI_OUT", "ASAN_OPTIONS"] {
        command.env_remove(name);
    }
    command
}

/// Path of the sanitizer's own library, as the program finds it.
fn runtime(program: &Path, sanitizer: &str) -> Option<String> {
    let short = match sanitizer {
        "address" => "libasan",
        "thread" => "libtsan",
        "leak" => "liblsan",
        _ => "libubsan",
    };
    let listed = Command::new("ldd").arg(program).output().ok()?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let line = text.lines().find(|line| line.trim_start().starts_with(short))?;
    line.split(" => ").nth(1)?.split(' ').next().map(str::to_owned)
}

#[test]
fn sanitized_programs_run_clean_in_either_order_of_loading() {
    let Some(programs) = programs() else { return };
    for sanitizer in SANITIZERS {
        for (name, arguments) in [("leaving", ["short", "64"]), ("leaving", ["key", "16"]), ("allocates", ["500", ""])]
        {
            let Some(program) = built(programs, sanitizer, name) else { continue };
            let command = sanitized(programs, &program, &arguments);
            let plain = outcome(&run(again(&command)));
            assert!([0, 4].contains(&plain.0), "{sanitizer} {arguments:?}: {plain:?}");
            let folder = tempfile::tempdir().unwrap();
            // By our launcher, which comes before the sanitizer; and with the sanitizer preloaded before the hook.
            let launched = folder.path().join("launched");
            let by_launcher = outcome(&run(recorded(&launched, &command)));
            assert_eq!(by_launcher, plain, "{sanitizer} {arguments:?}");
            let after = folder.path().join("after");
            let mut command = hooked(&after, &command);
            if let Some(library) = runtime(&program, sanitizer) {
                command.env("LD_PRELOAD", format!("{library}:{HOOK}"));
            }
            assert_eq!(outcome(&run(command)), plain, "{sanitizer} {arguments:?} first");
            let begun = number_after(&format!("{}{}", plain.1, plain.2), "begun ");
            for recording in [&launched, &after] {
                let report = report(&[recording]);
                assert_eq!((layer(&report, "driver"), lost(&report)), (begun, 0), "{sanitizer} {arguments:?}");
            }
        }
    }
}

#[test]
fn sanitizers_find_under_the_hook_what_they_find_without() {
    let Some(programs) = programs() else { return };
    for (sanitizer, mistake, says) in [
        ("address", "heap", "heap-use-after-free"),
        ("address", "stack", "stack-buffer-overflow"),
        ("address", "leak", "1234 byte(s) leaked"),
        ("leak", "leak", "1234 byte(s) leaked"),
        ("thread", "race", "data race"),
    ] {
        let Some(program) = built(programs, sanitizer, "wrong") else { continue };
        let command = sanitized(programs, &program, &[mistake]);
        let plain = outcome(&run(again(&command)));
        if plain.0 == 0 || !plain.2.contains(says) {
            // Leaks are not looked for where the process may not be traced, as in some containers.
            eprintln!("skipped: {sanitizer} does not find a {mistake} here");
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let under = outcome(&run(recorded(folder.path(), &command)));
        assert_eq!(under.0, plain.0, "{sanitizer} {mistake}: {}", under.2);
        let summary = |text: &str| text.lines().filter(|line| line.starts_with("SUMMARY")).count();
        assert!(under.2.contains(says) && summary(&under.2) == summary(&plain.2), "{sanitizer} {mistake}: {}", under.2);
    }
}

fn has_valgrind() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let has = Command::new("valgrind").arg("--version").output().is_ok();
        if !has {
            eprintln!("skipped: no valgrind");
        }
        has
    })
}

/// Runs a program under memcheck with the hook, and holds that it found nothing and that all was recorded.
fn memcheck(programs: &Path, name: &str, arguments: &[&str], clock: &str) {
    let folder = tempfile::tempdir().unwrap();
    let program = faked(programs, name, arguments);
    let mut inner = Command::new("valgrind");
    inner.args([
        "-q",
        "--error-exitcode=99",
        "--num-callers=30",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
    ]);
    inner.arg(program.get_program()).args(program.get_args());
    inner.env("LD_LIBRARY_PATH", programs.join("fake"));
    let plain = outcome(&run(again(&inner)));
    let mut command = hooked(folder.path(), &inner);
    // The emulated processor does not say that its counter is invariant.
    command.env("UMTUI_CLOCK", clock).env("UMTUI_TICKS_PER_SECOND", "2000000000");
    let (status, stdout, stderr) = outcome(&run(command));
    assert_eq!(status, plain.0, "{name} {arguments:?} {clock}: {stderr}");
    assert!(!stderr.contains("=="), "{name} {arguments:?} {clock}: {stderr}");
    let report = report(&[folder.path()]);
    assert_eq!(report["trace"]["truncated"], false);
    let text = format!("{stdout}{stderr}");
    if text.contains("begun ") {
        let begun = number_after(&text, "begun ");
        let made = begun - common::asked_by_hook(&report);
        assert_eq!(layer(&report, "driver") + lost(&report), made, "{name} {arguments:?} {clock}");
    }
}

#[test]
fn memcheck_finds_nothing_in_the_trampolines() {
    let Some(programs) = programs() else { return };
    if !has_valgrind() {
        return;
    }
    // Stack arguments and unknown functions; several chunks of a pointer read; nesting, also beyond the desk.
    for (name, arguments) in
        [("onesite", &[][..]), ("sandbox", &["none", "late", "3000"]), ("leaving", &["deep", "40"])]
    {
        for clock in ["ticks", "monotonic"] {
            memcheck(programs, name, arguments, clock);
        }
    }
}

#[test]
fn memcheck_finds_nothing_where_threads_and_handlers_call() {
    let Some(programs) = programs() else { return };
    if !has_valgrind() {
        return;
    }
    for (name, arguments) in [
        ("leaving", ["key", "4"]),
        ("leaving", ["short", "16"]),
        ("leaving", ["cancel", "4"]),
        ("sigalrm", ["late", "20"]),
        ("allocates", ["200", ""]),
    ] {
        memcheck(programs, name, &arguments, "ticks");
    }
}
