//! Programs that start others: every process is recorded into a file of its own, by whichever way it was started, and those
//! that cannot be recorded run as they do without the hook.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    HOOK, UMTUI, calls, faked, files, hooked, lost, outcome, program, programs, recorded, report, report_text, run,
    status,
};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Ways of starting a program with an environment.
const WAYS: [&str; 12] = [
    "execve",
    "execv",
    "execvp",
    "execvpe",
    "execl",
    "execlp",
    "execle",
    "fexecve",
    "execveat",
    "posix_spawn",
    "posix_spawnp",
    "vfork",
];

/// Runs family.c with the hook, and holds that it ended well and nothing was lost; files and calls recorded.
fn family(programs: &Path, folder: &Path, arguments: &[&str]) -> (usize, u64) {
    let output = run(hooked(folder, &faked(programs, "family", arguments)));
    assert_eq!(status(&output), 0, "{arguments:?}: {output:?}");
    // What it says of the child's end.
    let said = outcome(&output).1;
    assert!(!said.contains("status ") || said.contains("status 0"), "{arguments:?}: {said}");
    let report = report(&[folder]);
    assert_eq!(lost(&report), 0, "{arguments:?}");
    (files(folder, "umt").len(), calls(&report, "cuDriverGetVersion"))
}

/// Whether a program can be run at all; says what is skipped if not.
fn there_is(tool: &str, skipped: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: {skipped}: no {tool}");
    }
    found
}

#[test]
fn a_cleared_environment_is_followed_whichever_way_the_child_is_started() {
    let Some(programs) = programs() else { return };
    for way in WAYS {
        let folder = tempfile::tempdir().unwrap();
        if way == "execveat" && !programs_has_execveat(programs) {
            eprintln!("skipped: no execveat in this C library");
            continue;
        }
        assert_eq!(family(programs, folder.path(), &["follow", way, "5"]), (2, 6), "{way}");
    }
}

/// A stated limit: the C library starts the shell of `system` itself, with the environment that the process has.
#[test]
fn what_system_starts_in_a_process_that_cleared_its_own_environment_runs_unrecorded() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(family(programs, folder.path(), &["follow", "system", "3"]), (1, 1));
}

fn programs_has_execveat(programs: &Path) -> bool {
    let output = run(faked(programs, "family", &["start", "execveat", "kept"]));
    outcome(&output).1.contains("status 0")
}

#[test]
fn arguments_and_environment_arrive_as_given_but_for_what_was_cleared() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    for way in WAYS {
        for how in ["cleared", "other", "kept", "removed"] {
            let mut command = faked(programs, "family", &["start", way, how]);
            // Set by the build for this test itself.
            command.env_remove("UMTUI_GUEST");
            let plain = outcome(&run(common::again(&command)));
            if way == "execveat" && !plain.1.contains("status 0") {
                continue;
            }
            let mut command = hooked(folder.path(), &command);
            command
                .env("UMTUI_RUN", "7")
                .env("CUDA_INJECTION64_PATH", "/some/tool.so")
                .env("NVTX_INJECTION64_PATH", HOOK);
            let (status, stdout, stderr) = outcome(&run(command));
            assert_eq!((status, &stderr), (plain.0, &plain.2), "{way} {how}");
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
            let (before, after) = (lines(&plain.1), lines(&stdout));
            let added: Vec<&str> = after.difference(&before).map(String::as_str).collect();
            let gone: Vec<&str> = before.difference(&after).map(String::as_str).collect();
            let out = format!("UMTUI_OUT={}", folder.path().display());
            let (preload, injection) = (format!("LD_PRELOAD={HOOK}"), format!("NVTX_INJECTION64_PATH={HOOK}"));
            let joined = format!("{preload}:libm.so.6");
            // What another tool had been given for is not ours to put back.
            match how {
                "cleared" => {
                    assert_eq!((added, gone), (vec![&*preload, &injection, &out, "UMTUI_RUN=7"], vec![]), "{way}")
                }
                "other" => assert_eq!(
                    (added, gone),
                    (vec![&*joined, &injection, &out, "UMTUI_RUN=7"], vec!["LD_PRELOAD=libm.so.6"]),
                    "{way}"
                ),
                _ => {
                    let mut given = vec!["CUDA_INJECTION64_PATH=/some/tool.so", &injection, &out, "UMTUI_RUN=7"];
                    if how == "kept" {
                        given.insert(1, &preload);
                    }
                    assert_eq!((added, gone), (given, vec![]), "{way} {how}");
                }
            }
        }
    }
    assert!(files(folder.path(), "umt").is_empty());
}

#[test]
fn a_program_that_cannot_be_started_fails_as_it_did() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    for how in ["cleared", "kept", "other"] {
        let command = faked(programs, "family", &["start", "missing", how]);
        let plain = outcome(&run(common::again(&command)));
        assert!(plain.1.starts_with("-1 2\n-1 13\n2\n"), "{plain:?}");
        assert_eq!(outcome(&run(hooked(folder.path(), &command))), plain, "{how}");
    }
    // Without a recorder nothing is put back.
    let mut command = faked(programs, "family", &["start", "execl", "cleared"]);
    let plain = outcome(&run(common::again(&command)));
    command.env("LD_PRELOAD", HOOK);
    assert_eq!(outcome(&run(command)), plain);
}

#[test]
fn a_shell_and_env_that_clear_the_environment_are_followed() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let leaf = programs.join("family");
    let mut command = Command::new("env");
    command.args(["-i", "sh", "-c", "\"$0\" leaf 3; exec env -i \"$0\" leaf 4"]).arg(&leaf);
    let output = run(recorded(folder.path(), &command));
    assert_eq!(status(&output), 0, "{output:?}");
    let report = report(&[folder.path()]);
    assert_eq!((calls(&report, "cuDriverGetVersion"), files(folder.path(), "umt").len()), (7, 2));
}

#[test]
fn python_children_with_an_environment_of_their_own_are_followed() {
    let Some(programs) = programs() else { return };
    if !there_is("python3", "children of Python") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "import subprocess, sys, os, multiprocessing as mp
leaf = [sys.argv[1], 'leaf', '3']
def work():
    return subprocess.call(leaf, env={})
if __name__ == '__main__':
    bad = subprocess.call(leaf, env={}) + subprocess.call(leaf, env={'A': 'b'}, close_fds=False)
    bad += os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(leaf[0], leaf, {}), 0)[1])
    for how in ('fork', 'spawn', 'forkserver'):
        child = mp.get_context(how).Process(target=work)
        child.start()
        child.join()
        bad += child.exitcode
    os.environ.clear()
    bad += subprocess.call(leaf)
    sys.exit(bad)
";
    let path = folder.path().join("script.py");
    fs::write(&path, script).unwrap();
    let recording = folder.path().join("recording");
    let mut command = Command::new("python3");
    command.arg(&path).arg(programs.join("family")).env_remove("LD_PRELOAD");
    let output = run(recorded(&recording, &command));
    assert_eq!(status(&output), 0, "{output:?}");
    let report = report(&[&recording]);
    assert_eq!((calls(&report, "cuDriverGetVersion"), files(&recording, "umt").len()), (21, 7));
}

#[test]
fn fork_raw_clone_and_children_that_share_memory_are_recorded() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    // Children that share their parent's memory are its threads to us: they write into its file.
    assert_eq!(family(programs, folder.path(), &["raw", "50"]), (3, 2 + 2 * 50 + 3));
}

#[test]
fn a_fork_while_other_threads_roll_chunks_records_both_sides() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let children = 60;
    let output = run(hooked(folder.path(), &faked(programs, "family", &["rolls", &children.to_string()])));
    assert_eq!(status(&output), 0, "{output:?}");
    let begun: u64 = outcome(&output).1.trim().parse().unwrap();
    let report = report(&[folder.path()]);
    assert_eq!(lost(&report), 0);
    assert_eq!(calls(&report, "cuDriverGetVersion"), begun + 100 * children as u64);
    assert_eq!(files(folder.path(), "umt").len(), 1 + children);
    // One fork meets a chunk's end or not; with so many chunks for so few forks, some do.
    let chunks = files(folder.path(), "umt").iter().map(|file| fs::metadata(file).unwrap().len()).max().unwrap() >> 20;
    assert!(chunks as usize > children / 2, "{chunks} chunks, {children} forks");
}

#[test]
fn an_exec_chain_leaves_a_file_for_each_program_of_one_process() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let output = run(hooked(folder.path(), &faked(programs, "family", &["chain", "12"])));
    let pid = outcome(&output).1.trim().to_owned();
    let names: BTreeSet<String> =
        names(folder.path()).into_iter().map(|name| name.split_once('-').unwrap().1.into()).collect();
    let expected = (1..=12).map(|n| if n == 1 { format!("{pid}.umt") } else { format!("{pid}-{n}.umt") });
    assert_eq!(names, expected.collect());
    let report = report(&[folder.path()]);
    assert_eq!((calls(&report, "cuDriverGetVersion"), lost(&report)), (120, 0));
}

fn names(folder: &Path) -> Vec<String> {
    files(folder, "umt").iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn a_pid_that_comes_round_again_overwrites_nothing() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    // The shell's number becomes the program's.
    let script = "echo precious >\"$UMTUI_OUT/$1-$$.umt\"; echo $$; exec \"$0\" leaf 5";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(programs.join("family")).arg(&host);
    let output = run(hooked(folder.path(), &command));
    let pid = outcome(&output).1.trim().to_owned();
    assert_eq!(fs::read_to_string(folder.path().join(format!("{host}-{pid}.umt"))).unwrap(), "precious\n");
    let second = folder.path().join(format!("{host}-{pid}-2.umt"));
    assert_eq!(calls(&report(&[&second]), "cuDriverGetVersion"), 5);
    // And with a kernel that gives one number twice.
    let again = folder.path().join("again");
    let script =
        "for i in 1 2 3; do echo 299 >/proc/sys/kernel/ns_last_pid || exit 99; \"$0\" leaf \"$i\" & wait $!; done";
    let mut command = Command::new("unshare");
    command.args(["-pf", "--mount-proc", "sh", "-c", script]).arg(programs.join("family"));
    let output = run(hooked(&again, &command));
    if status(&output) != 0 {
        eprintln!("skipped: no number can be asked for: {}", outcome(&output).2);
        return;
    }
    assert_eq!(names(&again), [format!("{host}-300-2.umt"), format!("{host}-300-3.umt"), format!("{host}-300.umt")]);
    assert_eq!(calls(&report(&[&again]), "cuDriverGetVersion"), 1 + 2 + 3);
}

#[test]
fn a_daemon_that_has_left_its_family_is_recorded() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let output = run(hooked(folder.path(), &faked(programs, "family", &["daemon", "40"])));
    assert_eq!(status(&output), 0, "{output:?}");
    assert_eq!(calls(&report(&[folder.path()]), "cuDriverGetVersion"), 40);
}

#[test]
fn a_pool_of_workers_is_recorded_and_outlives_one_that_is_killed() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    // Four workers, of which one was made anew; each task is a call of its worker and one of the parent.
    assert_eq!(family(programs, folder.path(), &["pool", "4", "200"]), (6, 400));
    let text = report_text(&[folder.path()]);
    assert_eq!(text.matches("ended without its exit handlers").count(), 1, "{text}");
    let report = report(&[folder.path()]);
    let processes = report["processes"].as_array().unwrap();
    let parent = &processes[0]["process"];
    assert!(processes[1..].iter().all(|process| process["parent"] == *parent), "{processes:?}");
    let gone: Vec<_> = processes.iter().filter(|process| process["state"] == "gone").collect();
    // It was killed after its share of the first half.
    assert!(gone.len() == 1 && gone[0]["calls"] == 25, "{gone:?}");
}

#[test]
fn the_ranks_of_a_launcher_are_recorded_and_one_that_is_started_again() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    // The launcher itself makes no call.
    assert_eq!(family(programs, folder.path(), &["ranks", "4"]), (5, 50));
    let report = report(&[folder.path()]);
    let numbers = |key: &str| {
        let processes = report["processes"].as_array().unwrap();
        let mut numbers: Vec<u64> = processes.iter().map(|process| process[key].as_u64().unwrap()).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!((numbers("rank"), numbers("local_rank")), (vec![8, 9, 9, 10, 11], vec![0, 1, 1, 2, 3]));
    assert!(report_text(&[folder.path()]).contains("family rank 9 on"));
}

#[test]
fn children_of_a_server_that_forks_on_request_are_recorded() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(family(programs, folder.path(), &["server", "20"]), (20, 200));
}

#[test]
fn static_musl_and_32_bit_children_run_unharmed() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (kind, why) in [("static", "statically linked"), ("musl", "built with musl"), ("32", "another architecture")] {
        let name = format!("stranger-{kind}");
        if !programs.join(&name).exists() {
            eprintln!("skipped: no compiler for {name}");
            continue;
        }
        let command = program(programs, &name, &[]);
        let plain = outcome(&run(common::again(&command)));
        assert_eq!(plain.0, 3, "{kind}: {plain:?}");
        let (status, stdout, stderr) = outcome(&run(hooked(folder.path(), &command)));
        assert_eq!((status, &stdout), (plain.0, &plain.1), "{kind}: {stderr}");
        // The 64-bit loader's message for a 32-bit program is the system's own; nobody else says anything.
        let strange = stderr.lines().filter(|line| kind != "32" || !line.contains("wrong ELF class"));
        assert_eq!(strange.collect::<Vec<_>>(), Vec::<&str>::new(), "{kind}");
        let output = run(recorded(&folder.path().join(kind), &command));
        assert_eq!(outcome(&output).0, plain.0, "{kind}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("nothing will be recorded") && said.contains(why), "{kind}: {said}");
    }
    assert!(files(folder.path(), "umt").is_empty());
}

#[test]
fn programs_with_rights_of_their_own_run_as_ever_and_are_named() {
    let Some(programs) = programs() else { return };
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        eprintln!("skipped: only root can make such programs");
        return;
    }
    const NOBODY: u32 = 65534;
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(folder.path(), 0o755);
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
    let as_nobody = |command: &mut Command| {
        command.uid(NOBODY).gid(NOBODY).env("UMTUI_CACHE", own.join("cache")).current_dir("/");
    };
    let mut version = Command::new(UMTUI);
    version.arg("--version");
    as_nobody(&mut version);
    if !version.output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: others may not run {UMTUI}");
        return;
    }
    for (kind, said) in
        [("setuid", "is setuid"), ("setgid", "is setgid"), ("capable", "has file capabilities"), ("plain", "")]
    {
        let copy = folder.path().join(kind);
        fs::copy(programs.join("stranger"), &copy).unwrap();
        open(
            &copy,
            if kind == "setuid" {
                0o4755
            } else if kind == "setgid" {
                0o2755
            } else {
                0o755
            },
        );
        let setcap = || Command::new("setcap").arg("cap_net_raw+ep").arg(&copy).output();
        if kind == "capable" && !setcap().is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: file capabilities: no setcap, or none on this file system");
            continue;
        }
        let mut command = Command::new(&copy);
        command.env_remove("LD_PRELOAD").env_remove("UMTUI_OUT");
        let mut plain = common::again(&command);
        as_nobody(&mut plain);
        let plain = outcome(&run(plain));
        if plain.1.contains("secure 0") == (kind != "plain") {
            eprintln!("skipped: {kind}: this file system grants no rights");
            continue;
        }
        let mut hooked = recorded(&own.join(kind), &command);
        as_nobody(&mut hooked);
        let output = run(hooked);
        assert_eq!(outcome(&output), plain, "{kind}");
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(messages.contains("nothing will be recorded"), kind != "plain", "{kind}: {messages}");
        assert!(messages.contains(said), "{kind}: {messages}");
    }
    // For root the same bits grant nothing new: such a program is recorded.
    let copy = folder.path().join("leaf");
    fs::copy(programs.join("family"), &copy).unwrap();
    open(&copy, 0o4755);
    let mut command = Command::new(&copy);
    command.args(["leaf", "3"]).env("LD_LIBRARY_PATH", programs.join("fake")).env_remove("LD_PRELOAD");
    let output = run(recorded(&folder.path().join("root"), &command));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(status(&output) == 0 && !said.contains("nothing will be recorded"), "{said}");
    assert_eq!(calls(&report(&[&folder.path().join("root")]), "cuDriverGetVersion"), 3);
}

/// Page faults that recording may add to a child of fork that makes calls.
const MOST_FAULTS: u64 = 36;

#[test]
fn hundreds_of_forks_take_little_disk_and_lose_nothing() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let children = 300;
    let plain = run(faked(programs, "family", &["forks", &children.to_string(), "20"]));
    let recording = folder.path().join("recording");
    let hooked = run(recorded(&recording, &faked(programs, "family", &["forks", &children.to_string(), "20"])));
    let [plain, hooked] = [plain, hooked].map(|output| {
        let numbers: Vec<u64> = outcome(&output).1.split_whitespace().map(|word| word.parse().unwrap()).collect();
        (numbers[0] / children as u64, numbers[1] / children as u64)
    });
    let files = files(&recording, "umt");
    assert_eq!(files.len(), 1 + children);
    let report = report(&[&recording]);
    assert_eq!((calls(&report, "cuDriverGetVersion"), lost(&report)), (1 + 20 * children as u64, 0));
    let bytes: u64 = files.iter().map(|file| fs::metadata(file).unwrap().blocks() * 512).sum();
    let each = bytes / files.len() as u64;
    eprintln!(
        "{} us and {} page faults a child without, {} and {} with; {} KiB on disk each",
        plain.0,
        plain.1,
        hooked.0,
        hooked.1,
        each / 1024
    );
    // A page for the header and for desks, two for definitions and for events; the file system's own, too.
    assert!(each <= 48 * 1024, "{each} bytes on disk a process");
    // Most of what a short child pays for; counted, so that a busy machine does not matter.
    assert!(hooked.1 <= plain.1 + MOST_FAULTS, "{} page faults a child, {} without", hooked.1, plain.1);
}

#[test]
fn a_fork_while_another_thread_begins_records_both_sides() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let command = common::faked(programs, "begins", &["30"]);
    let plain = outcome(&run(common::again(&command)));
    assert_eq!((plain.0, plain.1.as_str()), (0, "600 good\n"));
    let mut hooked = common::hooked(folder.path(), &command);
    // To choose this clock takes 2 ms where the recorder has not said how fast it is.
    hooked.env("UMTUI_CLOCK", "ticks").env_remove("UMTUI_TICKS_PER_SECOND");
    assert_eq!(outcome(&run(hooked)), plain);
    let report = report(&[folder.path()]);
    let counted = (calls(&report, "cuDriverGetVersion"), calls(&report, "cuCtxSynchronize"), lost(&report));
    assert_eq!(counted, (30, 600, 0));
}
