//! The command line as a user meets it: help, errors in one line, exit codes, bad files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn umtui(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_umtui")).args(arguments).env_remove("LD_PRELOAD").output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn one_line(output: &Output) -> String {
    let text = stderr(output);
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    assert!(text.starts_with("umtui: "), "{text}");
    assert!(!text.chars().any(|char| char.is_control() && char != '\n'), "{text:?}");
    text
}

#[test]
fn help_man_and_completions_are_printed() {
    for arguments in [&["--help"][..], &["record", "--help"], &["man"], &["completions", "bash"], &["demo", "--list"]] {
        let output = umtui(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.len() > 100, "{arguments:?}");
    }
    let alone = umtui(&[]);
    assert_eq!((alone.status.code(), alone.stdout.iter().filter(|byte| **byte == b'\n').count()), (Some(2), 10));
    assert!(String::from_utf8_lossy(&umtui(&["--version"]).stdout).starts_with("umtui "));
}

#[test]
fn usage_errors_end_with_two() {
    for arguments in
        [&["nonsense"][..], &["open"], &["record", "-o"], &["report", "--format", "xml", "x"], &["record", "--"]]
    {
        assert_eq!(umtui(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn usage_errors_say_what_and_what_to_do_in_a_line() {
    for (arguments, told) in [
        (&["opne", "x"][..], "umtui: there is no command 'opne'; did you mean 'open'?"),
        (&["./app"], "umtui: there is no command './app'; to run a program of that name, write `umtui -- ./app`"),
        (&["report", "--rnage", "1s..", "x"], "umtui: there is no option '--rnage'; did you mean '--range'?"),
        (&["report", "--range", "-5s..", "x"], "umtui: --range: \"-5s\" is before the trace's begin"),
        (&["report", "--filter", "device:300", "x"], "umtui: filter, column 8: expected a device's number from 0 to"),
        (&["report", "--filter", "stream:-5", "x"], "umtui: filter, column 8: expected a stream's number from 0"),
    ] {
        let output = umtui(arguments);
        let text = stderr(&output);
        let line = text.lines().next().unwrap_or_default();
        assert_eq!((output.status.code(), line.get(..told.len())), (Some(2), Some(told)), "{text}");
    }
    use std::os::unix::ffi::OsStrExt as _;
    let mut command = Command::new(env!("CARGO_BIN_EXE_umtui"));
    let words = ["report".as_ref(), "--range".as_ref(), std::ffi::OsStr::from_bytes(b"\xff\x1b..1s"), "x".as_ref()];
    let output = command.args(words).env_remove("LD_PRELOAD").output().unwrap();
    assert!(one_line(&output).contains("is not UTF-8"));
}

#[test]
fn a_program_that_is_not_there_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = umtui(&["record", "-o", out.to_str().unwrap(), "--", "/nowhere/program"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(one_line(&output).contains("/nowhere/program cannot be started"));
}

#[test]
fn a_folder_that_holds_something_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.txt"), "x").unwrap();
    let output = umtui(&["record", "-o", folder.path().to_str().unwrap(), "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(one_line(&output).contains("is not empty"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn record_keeps_the_status_and_the_streams() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = umtui(&["record", "-o", out.to_str().unwrap(), "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"out\n");
    assert!(stderr(&output).starts_with("err\n"));
    assert!(stderr(&output).contains("no CUDA call was seen"), "{}", stderr(&output));
    assert!(fs::read_dir(&out).unwrap().next().is_none(), "a program without CUDA leaves no file");
    let killed = umtui(&["record", "-o", folder.path().join("two").to_str().unwrap(), "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.status.code(), Some(137));
}

#[test]
fn files_that_are_no_traces_are_named_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut elf = fs::read(env!("CARGO_BIN_EXE_umtui")).unwrap();
    elf.truncate(100_000);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("zeros", vec![0; 70_000]),
        ("text.log", b"just some text\nwith \x1b[31mescapes\x1b[0m\n".to_vec()),
        ("gzip.umt", vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0]),
        ("json", b"{\"events\": [1, 2]}".to_vec()),
        ("sqlite", b"SQLite format 3\0rest".to_vec()),
        ("elf", elf),
        ("head only", b"UMTUI\r\n\x1a".to_vec()),
        ("newer", newer()),
    ];
    for (name, bytes) in cases {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        for command in ["report", "export"] {
            let mut arguments = vec![command, path.to_str().unwrap()];
            if command == "export" {
                arguments.extend(["--format", "text"]);
            }
            let output = umtui(&arguments);
            assert_eq!(output.status.code(), Some(2), "{command} {name}: {}", stderr(&output));
            assert!(one_line(&output).contains(name), "{command} {name}: {}", stderr(&output));
        }
    }
    let missing = umtui(&["report", "/nowhere/trace"]);
    assert_eq!(missing.status.code(), Some(2));
    one_line(&missing);
}

/// A header of a version that does not exist yet.
fn newer() -> Vec<u8> {
    let mut bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-driver.umt")).unwrap();
    bytes[8..12].copy_from_slice(&99u32.to_le_bytes());
    bytes
}

#[test]
fn a_damaged_trace_is_shown_as_far_as_it_goes() {
    let whole = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-driver.umt")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.umt");
    // Through the header, the definitions and the records.
    for length in (0..whole.len()).step_by(4093) {
        fs::write(&path, &whole[..length]).unwrap();
        let output = umtui(&["report", "--format", "json", path.to_str().unwrap()]);
        match output.status.code() {
            Some(0) => {
                let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                assert_eq!(report["trace"]["truncated"], true, "at {length}");
            }
            Some(2) => drop(one_line(&output)),
            other => panic!("cut at {length}: {other:?} {}", stderr(&output)),
        }
    }
}

#[test]
fn the_demos_report_is_alone_on_stdout() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = umtui(&["demo", "pingpong", "-o", out.to_str().unwrap(), "--report", "--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // 64 MiB, ten rounds: a launch and a wait each.
    let calls = |name: &str| {
        let apis = report["apis"].as_array().unwrap();
        apis.iter().find(|api| api["name"] == name).map(|api| api["calls"].as_u64().unwrap())
    };
    assert_eq!(calls("cudaLaunchKernel"), Some(10));
    assert_eq!(calls("cudaDeviceSynchronize"), Some(10));
    assert_eq!(calls("cudaMallocManaged"), Some(1));
    assert!(stderr(&output).contains("pingpong rounds 10"), "the program's own words go to stderr");
}

#[test]
fn env_prints_variables_for_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("it's here");
    let output = umtui(&["env", "-o", out.to_str().unwrap()]);
    assert!(output.status.success());
    let script = format!(
        "{}\nprintf '%s' \"$UMTUI_OUT\"",
        String::from_utf8_lossy(&output.stdout).replace("LD_PRELOAD", "PRELOAD")
    );
    let shell = Command::new("sh").arg("-c").arg(script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&shell.stdout), fs::canonicalize(&out).unwrap().to_str().unwrap());
}

#[test]
fn doctor_says_how_things_stand() {
    let output = umtui(&["doctor"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for subject in ["hook", "preload", "clock", "driver", "GPU", "runtime", "CUPTI"] {
        assert!(text.lines().any(|line| line.contains(subject)), "{subject}: {text}");
    }
    assert!(output.status.success(), "{text}");
}

#[test]
fn expressions_are_checked_as_files_are() {
    let output = umtui(&["filter", "check", "dur>=1ms -api:cudaFree", "slow-calls", "-failed"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("dur>=1ms -api:cudaFree: "), "{text}");
    assert!(lines[1].starts_with("slow-calls: ") && lines[2].starts_with("-failed: "), "{text}");
    let output = umtui(&["filter", "check", "failed", "rank:x"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("expected a rank, a number such as 0, found"), "{}", stderr(&output));
}

#[test]
fn filters_are_checked_converted_listed_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("good.xml"), folder.path().join("bad.xml"));
    let xml = "<filter name=\"mine\">\n  <include>\n    <api>cudaMalocManaged</api>\n  </include>\n</filter>\n";
    fs::write(&good, xml).unwrap();
    fs::write(&bad, "<filter>\n  <inclde/>\n</filter>\n").unwrap();
    let filter = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_umtui"));
        command.arg("filter").args(arguments).env("XDG_CONFIG_HOME", folder.path()).output().unwrap()
    };
    let stdout = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let output = filter(&["check", good.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).ends_with("good.xml: api:cudaMalocManaged\n"), "{}", stdout(&output));
    assert!(one_line(&output).contains("did you mean cudaMallocManaged?"));
    let output = filter(&["check", good.to_str().unwrap(), bad.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("bad.xml:2:3: expected <include>, <exclude> or <threshold>, found <inclde>"), "{said}");
    assert!(said.ends_with("    <inclde/>\n      ^^^^^^^^^\n"), "{said}");
    let output = filter(&["convert", good.to_str().unwrap(), "--to", "toml"]);
    assert_eq!(stdout(&output), "name = \"mine\"\n\n[include]\napi = \"cudaMalocManaged\"\n");
    let output = filter(&["convert", "-api:cuda* dur>=1ms", "--to", "xml"]);
    assert!(stdout(&output).contains("<duration>1ms</duration>"), "{}", stderr(&output));
    let output = filter(&["convert", "dur>=1mss"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("umtui: filter, column 6: expected a duration"), "{}", stderr(&output));
    fs::create_dir_all(folder.path().join("umtui/filters")).unwrap();
    fs::copy(&good, folder.path().join("umtui/filters/mine.xml")).unwrap();
    let output = filter(&["list"]);
    let listed = stdout(&output);
    assert!(listed.starts_with("mine "), "{listed}");
    assert!(listed.contains("slow-calls       Calls that took 1 ms or longer\n"), "{listed}");
    let output = filter(&["show", "slow-calls"]);
    let shown = "slow-calls: Calls that took 1 ms or longer\ncomes with umtui\n\nkind:call duration>=1ms\n";
    assert_eq!(stdout(&output), shown);
    let output = filter(&["show", "slow-cals"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(one_line(&output).contains("did you mean slow-calls?"));
}

/// A trace as text in which the first quoted text of one definition is this.
fn with_text(keyword: &str, quoted: &str) -> String {
    let text = include_str!("data/h200-bounce.log");
    let mut changed = false;
    let mut line = |line: &str| {
        let first = line.find('"').filter(|_| !changed && line.starts_with(&format!("# {keyword} ")));
        let Some(first) = first else { return format!("{line}\n") };
        changed = true;
        let second = first + 1 + line[first + 1..].find('"').unwrap();
        format!("{}\"{quoted}\"{}\n", &line[..first], &line[second + 1..])
    };
    text.lines().map(&mut line).collect()
}

#[test]
fn one_wrong_escape_in_a_text_trace_costs_at_most_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.log");
    let report = |text: &str| {
        fs::write(&path, text).unwrap();
        let output = umtui(&["report", "--format", "json", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let whole = report(include_str!("data/h200-bounce.log"));
    assert_eq!((&whole["trace"]["damages"], &whole["trace"]["truncated"]), (&0.into(), &false.into()));
    for keyword in ["process", "argument", "module", "kernel", "api", "thread", "device", "evidence"] {
        for quoted in [r"a\qb", r"a\x1bb", r"\u{110000}", r"\u{d800}", r"\u{}", r"\u{12345678}", r"\u", r"a\-"] {
            let seen = report(&with_text(keyword, quoted));
            let what = format!("{keyword} {quoted}: {}", seen["trace"]);
            assert_eq!(seen["trace"]["damages"], 1, "{what}");
            assert!(seen["trace"]["damage"][0].as_str().unwrap().contains("no escape"), "{what}");
            for key in ["calls", "events", "threads", "duration_ns"] {
                assert_eq!(seen["trace"][key], whole["trace"][key], "{what}");
            }
        }
    }
    // A quote that is not closed: what else the line says is gone, and nothing more.
    for keyword in ["process", "argument", "module", "thread", "device"] {
        let seen = report(&with_text(keyword, r"a\"));
        assert_eq!(seen["trace"]["calls"], whole["trace"]["calls"], "{keyword}: {}", seen["trace"]);
        assert_eq!(seen["trace"]["damages"], 1, "{keyword}");
    }
    fs::write(&path, "# umtui trace 1\n# process\n").unwrap();
    let output = umtui(&["report", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        one_line(&output).contains("t.log: line 2: not understood, and no process is defined"),
        "{}",
        one_line(&output)
    );
}
