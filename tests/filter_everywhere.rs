//! Filters through the real binary: the same in open, report, export and record; what presets select; and what is said
//! of files that are none.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/pty.rs"]
mod pty;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use common::UMTUI;
use pty::{Exit, Launch};
use serde_json::Value;

/// The filter as people of this tool write it.
const XML: &str = "<filter><include><api>cudaMallocManaged</api></include><exclude><thread>memory_monitor</thread>\
                   <stream>default</stream></exclude><threshold><duration>100us</duration></threshold></filter>";
const PRESETS: [&str; 8] = [
    "unified-memory",
    "migrations-only",
    "slow-calls",
    "sync-storms",
    "allocations",
    "launches",
    "errors",
    "one-stream",
];
const SCENARIOS: [&str; 3] = ["pingpong", "prefetch", "training"];

fn umtui<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    let mut command = Command::new(UMTUI);
    command.args(arguments).env_remove("LD_PRELOAD").env("XDG_CONFIG_HOME", "/nowhere").stdin(Stdio::null());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn demo(scenario: &str, folder: &Path, filter: Option<&str>) {
    let mut arguments = vec!["demo", scenario, "--report", "-o", folder.to_str().unwrap()];
    arguments.extend(filter.iter().flat_map(|filter| ["--filter", filter]));
    arguments.push("--");
    arguments.extend(match scenario {
        "stress" => ["--calls", "2000"],
        _ => ["--rounds", "3"],
    });
    let output = umtui(arguments);
    assert!(output.status.success(), "{scenario}: {}", text(&output.stderr));
}

/// Recordings of the demos, each made once.
fn run(scenario: &str) -> PathBuf {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        SCENARIOS.iter().for_each(|scenario| demo(scenario, &folder.path().join(scenario), None));
        folder
    });
    folder.path().join(scenario)
}

fn report(path: &Path, options: &[&str]) -> Value {
    let mut arguments = vec!["report", path.to_str().unwrap(), "--format", "json"];
    arguments.extend(options);
    let output = umtui(arguments);
    assert!(output.status.success(), "{options:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn export(path: &Path, options: &[&str]) -> String {
    let mut arguments = vec!["export", path.to_str().unwrap(), "--format", "text"];
    arguments.extend(options);
    let output = umtui(arguments);
    assert!(output.status.success(), "{options:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn apis(report: &Value) -> BTreeMap<String, u64> {
    let rows = report["apis"].as_array().unwrap().iter();
    rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row["calls"].as_u64().unwrap())).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn migrated(report: &Value) -> u64 {
    number(&report["migrations"]["h2d"]["count"]) + number(&report["migrations"]["d2h"]["count"])
}

#[test]
fn the_xml_is_taken_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.xml");
    std::fs::write(&file, XML).unwrap();
    let file = file.to_str().unwrap();
    let words = "api:cudaMallocManaged duration>=100us -thread:memory_monitor -stream:default";
    assert_eq!(text(&umtui(["filter", "convert", file]).stdout).trim(), words);
    let seen = report(&run("pingpong"), &["--filter", file]);
    assert_eq!(seen["lens"]["filter"], words);
    assert!(apis(&seen).keys().all(|name| name == "cudaMallocManaged"), "{seen}");
    assert!(export(&run("pingpong"), &["--filter", file]).contains(&format!("# lens \"filter {words}\"\n")));
    let recorded = folder.path().join("recorded");
    demo("pingpong", &recorded, Some(file));
    let recorded = report(&recorded, &[]);
    assert_eq!(recorded["trace"]["left_out"][0]["filter"], words);
    let calls = apis(&recorded);
    assert!(calls.contains_key("cudaMallocManaged") && !calls.contains_key("cudaLaunchKernel"), "{calls:?}");
    let mut terminal =
        Launch::umtui(["open".as_ref(), run("pingpong").as_os_str(), "--filter".as_ref(), OsStr::new(file)]).start();
    terminal.wait_for(&["ENDED", "hidden"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn presets_select_what_their_names_say() {
    let [ping, pre, train] = SCENARIOS.map(run);
    let under = |path: &Path, preset: &str| report(path, &["--filter", preset]);
    let has = |report: &Value, there: &[&str], not: &[&str]| {
        let apis = apis(report);
        there.iter().for_each(|name| assert!(apis.contains_key(*name), "{name} in {apis:?}"));
        not.iter().for_each(|name| assert!(!apis.contains_key(*name), "{name} in {apis:?}"));
    };
    // All of its functions have one of these pieces in their name, and none of those.
    let only = |report: &Value, pieces: &[&str], not: &[&str]| {
        let has = |name: &str, pieces: &[&str]| pieces.iter().any(|piece| name.contains(piece));
        let apis = apis(report);
        assert!(!apis.is_empty() && apis.keys().all(|name| has(name, pieces) && !has(name, not)), "{apis:?}");
    };
    let managed = under(&pre, "unified-memory");
    has(&managed, &["cudaMallocManaged", "cudaMemPrefetchAsync"], &["cudaLaunchKernel", "cudaDeviceSynchronize"]);
    assert!(migrated(&managed) > 0);
    assert_eq!((&managed["kernels"], number(&managed["lens"]["cut"])), (&serde_json::json!([]), 0));
    let migrations = under(&ping, "migrations-only");
    has(&migrations, &[], &["cudaMallocManaged"]);
    assert_eq!(migrated(&migrations), number(&migrations["lens"]["shown"]));
    assert_eq!(migrations["migrations"], report(&ping, &[])["migrations"]);
    let managed = under(&ping, "unified-memory");
    has(&managed, &["cudaMallocManaged"], &["cudaLaunchKernel"]);
    assert_eq!(managed["migrations"], migrations["migrations"]);
    let slow = under(&ping, "slow-calls");
    assert!(slow["apis"].as_array().unwrap().iter().all(|row| number(&row["min_ns"]) >= 1_000_000));
    assert!(number(&slow["lens"]["shown"]) > 0 && migrated(&slow) == 0);
    let sync = under(&train, "sync-storms");
    has(&sync, &["cudaStreamSynchronize", "cudaStreamWaitEvent"], &["cudaLaunchKernel", "cudaMalloc"]);
    only(&sync, &["Synchronize", "WaitEvent", "Query", "WaitValue"], &[]);
    let memory = under(&train, "allocations");
    only(&memory, &["Malloc", "Free", "Host", "Mem", "Array"], &["Memcpy", "Memset", "GetInfo"]);
    has(
        &memory,
        &["cudaMalloc", "cudaMallocAsync", "cudaFree", "cuMemAlloc_v2"],
        &["cudaMemGetInfo", "cudaMemcpyAsync"],
    );
    let launches = under(&train, "launches");
    only(&launches, &["Launch"], &[]);
    has(&launches, &["cudaLaunchKernel", "cuLaunchKernel"], &["cudaMemcpyAsync", "cudaStreamSynchronize"]);
    assert_eq!(launches["kernels"], report(&train, &[])["kernels"]);
    assert_eq!(launches["copies"], serde_json::json!([]));
    let stream = under(&ping, "one-stream");
    has(&stream, &["cudaLaunchKernel"], &["cudaDeviceSynchronize"]);
    has(&under(&train, "one-stream"), &[], &["cudaLaunchKernel"]);
    // Nothing fails in the demos, so one call is made to, and one says "not ready".
    assert_eq!(under(&train, "errors")["lens"]["shown"], 0);
    let fail = |line: &str| match line.split_once(") = 0 ") {
        Some((call, rest)) if call.contains(" cudaMalloc(") => {
            format!("{call}) = 2 cudaErrorMemoryAllocation {rest}\n")
        }
        Some((call, rest)) if call.contains(" cudaFree(") => format!("{call}) = 600 cudaErrorNotReady {rest}\n"),
        _ => format!("{line}\n"),
    };
    let failing: String = export(&train, &[]).lines().map(fail).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("failing.log");
    std::fs::write(&path, failing).unwrap();
    let errors = apis(&under(&path, "errors"));
    let expected = apis(&report(&train, &[]))["cudaMalloc"];
    assert_eq!(errors, BTreeMap::from([("cudaMalloc".to_owned(), expected)]));
}

#[test]
fn names_that_mean_harm_stay_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("harm.log");
    let harm = |text: &str| {
        let text = text.replace("_Z7forwardPKfPfm", "fw\x1b]0;x\x07\u{202e}\u{9b}31m");
        let text = text.replace("memory_monitor", "mo\x1b[31m\u{9b}2J\x7f").replace("umtui-demo\"", "umtui\x1b[2J\"");
        text.replace("\"step\"", "\"st\x1b[8m\u{2028}\"")
    };
    std::fs::write(&path, harm(&export(&run("training"), &[]))).unwrap();
    let is_harm = |char: char| (char.is_control() && char != '\n') || ('\u{202a}'..='\u{202e}').contains(&char);
    let mut selected = 0;
    for options in [
        &[][..],
        &["--filter", "kernel:fw*"],
        &["--filter", "kernel~^fw"],
        &["--filter", "thread:mo*"],
        &["--filter", "range:st*"],
        &["--filter", "-thread:'mo\u{1b}[31m'"],
        &["--filter", "-thread:\"mo\\u{1b}[31m\u{202e}\""],
        &["--filter", "thread:\u{1b}[31m"],
        &["--filter", "api~("],
        &["--range", "\u{1b}[31m.."],
        &["--range", "..20ms"],
    ] {
        for form in [&["report"][..], &["report", "--format", "json"], &["export", "--format", "text"]] {
            let output = umtui(form.iter().chain(options).map(OsStr::new).chain([path.as_os_str()]));
            let shown = text(&output.stdout) + &text(&output.stderr);
            assert!(!shown.chars().any(is_harm), "{form:?} {options:?} {shown:?}");
            assert!(output.status.code().is_some_and(|code| code == 0 || code == 2), "{form:?} {options:?} {shown}");
            selected += usize::from(output.status.success());
        }
    }
    assert!(selected >= 21, "{selected}");
}

#[test]
fn what_is_always_recorded_is_as_without_a_filter() {
    let folder = tempfile::tempdir().unwrap();
    let filters = ["nothing", "dur>=1h", "api:cudaLaunchKernel", "-thread:*", "layer:driver -stream:default", "errors"];
    let memory = |path: &Path| -> BTreeMap<String, u64> {
        let all = apis(&report(path, &["--filter", "allocations"]));
        all.into_iter().collect()
    };
    // Arguments of calls too, apart from addresses and handles, which change from run to run.
    let sizes = |path: &Path| -> Vec<(String, Option<String>)> {
        let lines = export(path, &["--filter", "allocations"]);
        let lines = lines.lines().filter(|line| !line.starts_with('#'));
        let call = |line: &str| {
            let call = line.splitn(4, ' ').nth(3)?.to_owned();
            let (name, rest) = call.split_once('(')?;
            let size = rest.split([' ', ')']).find(|word| word.contains("size=") || word.contains("bytes"));
            Some((name.to_owned(), size.map(str::to_owned)))
        };
        lines.filter_map(call).collect()
    };
    for scenario in ["pingpong", "prefetch", "training", "stress"] {
        let plain = folder.path().join(scenario);
        demo(scenario, &plain, None);
        let (calls, sized) = (memory(&plain), sizes(&plain));
        assert!(scenario == "stress" || !calls.is_empty());
        for (index, filter) in filters.iter().enumerate() {
            let some = folder.path().join(format!("{scenario}{index}"));
            demo(scenario, &some, Some(filter));
            assert_eq!(memory(&some), calls, "{scenario} {filter}");
            assert_eq!(sizes(&some), sized, "{scenario} {filter}");
        }
    }
}

#[test]
fn parts_add_up_to_the_whole() {
    let path = run("training");
    let whole = report(&path, &[]);
    let lens = |options: &[&str]| {
        let seen = report(&path, options);
        for key in whole.as_object().unwrap().keys() {
            assert!(seen.get(key).is_some(), "{options:?}: {key} is missing");
        }
        (number(&seen["lens"]["shown"]), number(&seen["lens"]["hidden"]), seen)
    };
    let (all, none, _) = lens(&["--range", ".."]);
    assert_eq!((all, none), (number(&whole["trace"]["events"]), 0));
    for filter in [
        "api:cuda*",
        "dur>=10us",
        "stream:default",
        "failed",
        "kind:kernel",
        "size>=1KiB",
        "range:step",
        "thread:memory_monitor",
        "under(api:cudaLaunchKernel)",
        "kernel:*forward*",
        "allocation:cudaMalloc",
        "address:0x0..0x7fffffffffff",
        "callers-of(layer:gpu)",
        "cause:*",
        "rank:0",
        "time:..10ms",
    ] {
        let (fits, hidden, seen) = lens(&["--filter", filter]);
        let (other, _, opposite) = lens(&["--filter", &format!("not ({filter})")]);
        assert_eq!((fits + hidden, fits + other), (all, all), "{filter}");
        let (mut calls, other) = (apis(&seen), apis(&opposite));
        other.into_iter().for_each(|(name, count)| *calls.entry(name).or_default() += count);
        assert_eq!(calls, apis(&whole), "{filter}");
    }
    // Ranges of time that lie side by side: what begins in one and ends in another is in both.
    let duration = number(&whole["trace"]["duration_ns"]);
    let (mut shown, mut cut) = (0, 0);
    for part in 0..5 {
        let from = duration * part / 5 + u64::from(part > 0);
        let to = duration * (part + 1) / 5;
        let (count, _, seen) = lens(&["--range", &format!("{from}ns..{to}ns")]);
        shown += count;
        cut += number(&seen["lens"]["cut"]);
    }
    assert!((all..=all + cut).contains(&shown), "{all} {shown} {cut}");
}

#[test]
fn a_step_is_a_range_of_time() {
    let path = run("training");
    let whole = report(&path, &[]);
    let steps = whole["ranges"].as_array().unwrap().iter().find(|row| row["name"] == "step").unwrap();
    let turns = number(&steps["count"]);
    let second = report(&path, &["--range", "step:step#2"]);
    let lens = &second["lens"];
    assert_eq!((&lens["steps"]["range"], number(&lens["steps"]["turns"])), (&Value::from("step"), turns), "{lens}");
    let span = |key: &str| number(&lens[key]);
    assert!(span("from_ns") < span("to_ns") && span("shown") > 0 && span("hidden") > 0, "{lens}");
    let same = ["--range", &format!("{}ns..{}ns", span("from_ns"), span("to_ns"))];
    let same = report(&path, &same);
    assert_eq!((&same["apis"], &same["kernels"]), (&second["apis"], &second["kernels"]));
    let output = umtui(["report", path.to_str().unwrap(), "--range", "step:1"]);
    assert!(text(&output.stdout).contains("\nstep "), "{}", text(&output.stdout));
    for (range, said) in [
        ("step:step#9999", format!("no such step: there are {turns} of the range step")),
        ("step:nowhere#1", "no range is named nowhere".to_owned()),
        ("step:0", "write 3, 3..5 or 3..".to_owned()),
    ] {
        for command in [&["report"][..], &["export", "--format", "text"]] {
            let options = [path.to_str().unwrap(), "--range", range];
            let output = umtui(command.iter().copied().chain(options));
            let message = text(&output.stderr);
            assert!(!output.status.success() && output.stdout.is_empty(), "{range}");
            assert!(message.contains(&said) && message.lines().count() == 1, "{message}");
        }
    }
}

#[test]
fn a_part_as_text_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    for (options, filter) in [(&["--filter", "launches"][..], "api:*Launch*"), (&["--range", "..20ms"], "everything")] {
        let written = export(&run("training"), options);
        let path = folder.path().join("part.log");
        std::fs::write(&path, &written).unwrap();
        let (seen, again) = (report(&run("training"), options), report(&path, &["--filter", filter]));
        for (name, count) in apis(&seen) {
            assert!(apis(&again).get(&name).is_some_and(|&read| read >= count), "{options:?} {name}");
        }
    }
}

#[test]
fn presets_say_the_same_in_each_spelling() {
    let folder = tempfile::tempdir().unwrap();
    for preset in PRESETS {
        let expected = report(&run("prefetch"), &["--filter", preset]);
        let mut written = BTreeSet::new();
        for (from, to) in [("xml", "toml"), ("toml", "expr"), ("expr", "xml"), ("expr", "toml"), ("toml", "xml")] {
            let source = folder.path().join(format!("{preset}.{from}"));
            let output = umtui(["filter", "convert", preset, "--to", from]);
            std::fs::write(&source, &output.stdout).unwrap();
            let output = umtui(["filter", "convert", source.to_str().unwrap(), "--to", to]);
            let path = folder.path().join(format!("{preset}-{from}.{to}"));
            std::fs::write(&path, &output.stdout).unwrap();
            let mut seen = report(&run("prefetch"), &["--filter", path.to_str().unwrap()]);
            seen["lens"]["filter"] = expected["lens"]["filter"].clone();
            assert_eq!(seen, expected, "{preset} {from} {to}");
            written.insert(text(&umtui(["filter", "convert", path.to_str().unwrap()]).stdout));
        }
        assert_eq!(written.len(), 1, "{written:?}");
    }
}

#[test]
fn what_is_no_filter_is_said_at_once_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    };
    let deep = |open: &str, inner: &str, close: &str| open.repeat(10_000) + inner + &close.repeat(10_000);
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let laughs: String =
        (1..10).map(|at| format!("<!ENTITY l{at} '{}'>", format!("&l{};", at - 1).repeat(10))).collect();
    let laughs = format!("<!DOCTYPE filter [<!ENTITY l0 'ha'>{laughs}]>\n<filter name='&l9;'/>");
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty.xml", Vec::new(), "empty.xml: is empty"),
        ("empty.toml", b"\n".to_vec(), "empty.toml: is empty"),
        ("empty", Vec::new(), "empty: is empty"),
        ("large.xml", vec![b'a'; 10_000_000], "large.xml: is larger than 1024 KiB"),
        (
            "bytes.xml",
            b"<filter>\n <include>\xff</include></filter>".to_vec(),
            "bytes.xml:2:11: from here on it is not UTF-8",
        ),
        ("laughs.xml", laughs.into_bytes(), "laughs.xml:1:1: a document type is not read"),
        ("deep.expr", deep("(", "api:x", ")").into_bytes(), "deep.expr:1:65: terms lie more than"),
        ("not.expr", deep("-", "api:x", "").into_bytes(), "not.expr:1:65: terms lie more than"),
        ("deep.xml", deep("<all>", "", "</all>").into_bytes(), "deep.xml:1:"),
        ("deep.toml", ("[include]\nall = ".to_owned() + &deep("[", "", "]")).into_bytes(), "deep.toml:2:"),
        (
            "large.expr",
            b"api~'((((a{100}){100}){100}){100})'".to_vec(),
            "large.expr:1:5: the regular expression is too large",
        ),
        ("escape.xml", b"<filter><\x1b[31m/></filter>".to_vec(), "escape.xml:1:"),
        ("escape.toml", b"[include]\n\"\\u001b]0;x\\u0007\" = 'x'\n".to_vec(), "escape.toml:2:1: no key"),
        ("escape.expr", b"\x1b]0;title\x07".to_vec(), "escape.expr:1:1: expected a term"),
        ("word.xml", b"<filter>\n <include>\n  <apo>x</apo></include></filter>".to_vec(), "did you mean api?"),
        ("unit.expr", b"dur>=5 apples".to_vec(), "unit.expr:1:6: expected a duration"),
    ];
    let mut expected: Vec<(String, &str)> = Vec::new();
    for (name, bytes, said) in &cases {
        file(name, bytes);
        expected.push((folder.path().join(name).to_str().unwrap().to_owned(), said));
    }
    expected.push((folder.path().join("folder").to_str().unwrap().to_owned(), "is a folder"));
    expected.push((folder.path().join("gone.expr").to_str().unwrap().to_owned(), "no such file"));
    expected.push((deep("(", "x", ")"), "filter, column 65: terms lie more than"));
    let (trace, out) = (run("pingpong"), folder.path().join("out"));
    let (trace, out) = (trace.to_str().unwrap(), out.to_str().unwrap());
    for (filter, said) in &expected {
        for mut command in [
            vec!["report", trace],
            vec!["export", trace, "--format", "text"],
            vec!["open", trace],
            vec!["record", "-o", out],
        ] {
            command.extend(["--filter", filter]);
            if command[0] == "record" {
                command.extend(["--", "true"]);
            }
            let begun = Instant::now();
            let output = umtui(&command);
            let what = format!("{} {said}: {}", command[0], String::from_utf8_lossy(&output.stderr));
            assert!(begun.elapsed() < Duration::from_secs(5), "{what}");
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{what}");
            let message = text(&output.stderr);
            let first = message.lines().next().unwrap_or_default();
            assert!(first.starts_with("umtui: ") && first.contains(said), "{what}");
            // The place is shown below it, and nothing else.
            assert!(
                message.lines().skip(1).all(|line| line.starts_with("    ")) && message.lines().count() <= 3,
                "{what}"
            );
            assert!(message.len() < 2000 && !message.chars().any(|char| char.is_control() && char != '\n'), "{what}");
        }
    }
    assert!(!Path::new(out).exists());
}

#[test]
fn the_example_of_the_readme_works() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let line = page.lines().find(|line| line.starts_with("    umtui report DIR --filter")).unwrap();
    let line = line.replace("umtui", "\"$0\"").replace("DIR", "\"$1\"");
    let output = Command::new("sh").args(["-c", &line, UMTUI]).arg(run("training")).output().unwrap();
    let shown = text(&output.stdout);
    assert!(output.status.success() && shown.contains("\nfilter ") && shown.contains("\nrange "), "{output:?}");
}
