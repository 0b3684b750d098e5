//! The hook where a sandbox, a limit or a change of place takes away what it needs: the program goes on as it would, what
//! was recorded stays readable and the rest is counted.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    HOOK, calls, faked, files, hooked, layer, lost, number_after, outcome, programs, report, report_text, run,
};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Runs sandbox.c as it is and with the hook; the same must come of it but for the calls that handlers made, and what was
/// recorded or counted must be what was begun. The report, if there is a recording.
fn sandbox(programs: &Path, recording: &Path, what: &str, when: &str, path: &Path) -> Option<serde_json::Value> {
    let arguments = [what, when, "20000", path.to_str().unwrap()];
    let plain = outcome(&run(faked(programs, "sandbox", &arguments)));
    if plain.0 == 77 {
        eprintln!("skipped: {what} is not permitted here");
        return None;
    }
    assert!(plain.0 == 5 && plain.1.contains("20001 succeeded, errno kept 20001"), "{plain:?}");
    let hooked = outcome(&run(hooked(recording, &faked(programs, "sandbox", &arguments))));
    assert_eq!((hooked.0, &hooked.1), (5, &plain.1), "{what} {when}: {}", hooked.2);
    let begun = number_after(&hooked.2, "begun ");
    if files(recording, "umt").iter().all(|file| fs::metadata(file).unwrap().len() < 4096) {
        return None;
    }
    let report = report(&[recording]);
    assert_eq!(
        layer(&report, "driver") + lost(&report),
        begun - 1,
        "{what} {when}: the hook has asked for the version"
    );
    Some(report)
}

#[test]
fn a_sandbox_that_forbids_opening_files_stops_the_recording_only() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    // By an error, and by SIGSYS to a handler that calls CUDA itself: in the midst of the making of a chunk.
    for what in ["openat", "trap"] {
        let early = sandbox(programs, &folder.path().join(format!("{what}-early")), what, "early", folder.path());
        assert_eq!(early, None, "{what}: no file can be made");
        let recording = folder.path().join(format!("{what}-late"));
        let Some(report) = sandbox(programs, &recording, what, "late", folder.path()) else { continue };
        assert!(calls(&report, "cuDriverGetVersion") >= 100 && lost(&report) > 0, "{what}: {report}");
        assert!(report_text(&[&recording]).contains("recording stopped: Operation not permitted"), "{what}");
    }
}

#[test]
fn a_sandbox_that_hides_who_we_are_and_what_is_in_memory_hides_no_function() {
    let Some(programs) = programs() else { return };
    // Before the first call nothing is known of the program's libraries, and where no memory can be read nothing would be.
    for (what, when) in ["pid", "memory"].iter().flat_map(|what| [(what, "early"), (what, "late")]) {
        let recording = tempfile::tempdir().unwrap();
        let Some(report) = sandbox(programs, recording.path(), what, when, recording.path()) else { return };
        assert_eq!(lost(&report), 0, "{what} {when}: {report}");
    }
}

#[test]
fn calls_that_could_not_wait_for_the_file_are_counted() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(report) = sandbox(programs, folder.path(), "slow", "early", folder.path()) else { return };
    assert_eq!(lost(&report), 50, "{report}");
}

#[test]
fn where_no_file_can_be_mapped_shared_the_program_goes_on() {
    let Some(programs) = programs() else { return };
    for when in ["early", "late"] {
        let folder = tempfile::tempdir().unwrap();
        sandbox(programs, folder.path(), "shared", when, folder.path());
    }
}

#[test]
fn without_address_space_the_program_goes_on() {
    let Some(programs) = programs() else { return };
    for when in ["early", "late"] {
        let folder = tempfile::tempdir().unwrap();
        let report = sandbox(programs, folder.path(), "space", when, folder.path());
        assert_eq!(report.is_some(), when == "late");
        if let Some(report) = report {
            // What is mapped already may be enough.
            assert!(calls(&report, "cuDriverGetVersion") >= 100, "{report}");
            let stopped = report_text(&[folder.path()]).contains("recording stopped: Cannot allocate memory");
            assert_eq!(stopped, lost(&report) > 0, "{report}");
        }
    }
}

#[test]
fn a_program_that_changes_its_folder_records_on() {
    let Some(programs) = programs() else { return };
    for when in ["early", "late"] {
        let folder = tempfile::tempdir().unwrap();
        let report = sandbox(programs, folder.path(), "chdir", when, folder.path()).unwrap();
        assert_eq!((lost(&report), &report["trace"]["truncated"]), (0, &false.into()));
    }
}

#[test]
fn a_program_that_changes_its_root_keeps_what_was_recorded() {
    let Some(programs) = programs() else { return };
    let jail = tempfile::tempdir().unwrap();
    for when in ["early", "late"] {
        let folder = tempfile::tempdir().unwrap();
        let report = sandbox(programs, folder.path(), "chroot", when, jail.path());
        if let Some(report) = report {
            assert!(when == "late" && calls(&report, "cuDriverGetVersion") >= 100, "{when}: {report}");
        }
        assert_eq!(fs::read_dir(jail.path()).unwrap().count(), 0, "nothing is made in the new root");
    }
}

#[test]
fn files_that_are_removed_or_replaced_are_left_alone() {
    let Some(programs) = programs() else { return };
    for (what, left) in [("unlink", 0), ("replace", 1)] {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(sandbox(programs, folder.path(), what, "late", folder.path()), None);
        let files = files(folder.path(), "umt");
        assert_eq!(files.len(), left, "{what}");
        // Somebody else's file under the same name.
        assert!(files.iter().all(|file| fs::read(file).unwrap() == b"mine"), "{what}");
    }
}

#[test]
fn a_file_system_that_is_read_only_stops_nothing() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs none "$1" && mount -o remount,ro "$1" || exit 99
        out=$1; shift
        UMTUI_OUT=$out LD_PRELOAD=$HOOK "$@""#;
    let inner = faked(programs, "limits", &["none", "late", "3000"]);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh"]).arg(folder.path()).arg(inner.get_program()).args(inner.get_args());
    command.env("HOOK", HOOK).env("LD_LIBRARY_PATH", programs.join("fake")).env_remove("LD_PRELOAD");
    let Ok(output) = command.output() else {
        eprintln!("skipped: no unshare");
        return;
    };
    let outcome = outcome(&output);
    if outcome.0 == 99 || outcome.0 == 1 {
        eprintln!("skipped: a file system cannot be mounted: {}", outcome.2);
        return;
    }
    assert_eq!(outcome, (5, "100 before, 3000 succeeded, errno kept 3000, untouched 1\n".into(), String::new()));
}

#[test]
fn without_spare_static_thread_storage_it_is_loaded_all_the_same() {
    let Some(programs) = programs() else { return };
    for tunable in ["glibc.rtld.optional_static_tls=0", "glibc.rtld.optional_static_tls=0:glibc.rtld.nns=1"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = hooked(folder.path(), &faked(programs, "leaving", &["stack", "8"]));
        command.env("GLIBC_TUNABLES", tunable);
        let (status, stdout, stderr) = outcome(&run(command));
        assert_eq!((status, stderr.as_str()), (0, ""), "{tunable}");
        let report = report(&[folder.path()]);
        assert_eq!((layer(&report, "driver"), lost(&report)), (number_after(&stdout, "begun "), 0), "{tunable}");
    }
}

#[test]
fn a_folder_whose_name_preloading_cannot_say_is_not_chosen_for_the_hook() {
    // LD_PRELOAD is split at spaces and colons.
    let Some(programs) = programs() else { return };
    for name in ["with space", "with:colon"] {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join(name);
        fs::create_dir(&odd).unwrap();
        fs::set_permissions(&odd, fs::Permissions::from_mode(0o700)).unwrap();
        let recording = odd.join("recording");
        let mut command = common::recorded(&recording, &faked(programs, "loop", &["100"]));
        command.env("UMTUI_CACHE", &odd).env("XDG_CACHE_HOME", &odd);
        let output = run(command);
        assert_eq!(outcome(&output), (0, String::new(), String::new()), "{name}");
        assert_eq!(calls(&report(&[&recording]), "cuDriverGetVersion"), 100, "{name}: recorded into such a folder");
        let entries: Vec<_> = fs::read_dir(&odd).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(entries, ["recording"], "{name}: the hook lies elsewhere");
    }
}
