//! Foreign formats through the binary: what the report says of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use umtui::session::Loaded;
use umtui::session::view::*;

const UMTUI: &str = env!("CARGO_BIN_EXE_umtui");

fn report(path: &Path) -> Result<Value, String> {
    let out = Command::new(UMTUI).args(["report", "--format", "json"]).arg(path).output().unwrap();
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).into_owned());
    }
    Ok(serde_json::from_slice(&out.stdout).unwrap())
}

fn sum(rows: &Value, key: &str) -> u64 {
    rows.as_array().map_or(0, |rows| rows.iter().map(|row| row[key].as_u64().unwrap_or(0)).sum())
}

fn layer(report: &Value, layer: &str) -> u64 {
    let rows = report["apis"].as_array().unwrap().iter().filter(|row| row["layer"] == layer);
    rows.map(|row| row["calls"].as_u64().unwrap()).sum()
}

/// Files with `FILE.truth.json` beside them, in the folder that `UMTUI_CASES` names.
fn cases() -> Vec<PathBuf> {
    let Some(root) = std::env::var_os("UMTUI_CASES") else { return Vec::new() };
    let (mut folders, mut found) = (vec![PathBuf::from(root)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let truth = PathBuf::from(format!("{}.truth.json", path.display()));
            if path.is_dir() {
                folders.push(path);
            } else if truth.exists() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn cases_are_as_their_truths_say() {
    let mut wrong = Vec::new();
    for path in cases() {
        let truth = std::fs::read(format!("{}.truth.json", path.display())).unwrap();
        let truth: Value = serde_json::from_slice(&truth).unwrap();
        let report = match report(&path) {
            Ok(report) => report,
            Err(error) => {
                wrong.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        let seen = [
            ("kernels", sum(&report["kernels"], "launches")),
            ("cuda_runtime_events", layer(&report, "runtime")),
            ("cuda_driver_events", layer(&report, "driver")),
            ("memcpy_events", sum(&report["copies"], "count")),
            ("memcpy_bytes", sum(&report["copies"], "bytes")),
            ("memset_events", report["sets"]["count"].as_u64().unwrap_or(0)),
            ("memset_bytes", report["sets"]["bytes"].as_u64().unwrap_or(0)),
        ];
        for (key, value) in seen {
            if let Some(known) = truth[key].as_u64()
                && known != value
            {
                wrong.push(format!("{}: {key} is {known}, not {value}", path.display()));
            }
        }
        if let Some(streams) = truth["distinct_gpu_streams"].as_array()
            && report["trace"]["streams"].as_u64() != Some(streams.len() as u64)
        {
            wrong.push(format!("{}: {} streams, not {}", path.display(), streams.len(), report["trace"]["streams"]));
        }
        let whole = matches!(truth["json"].as_str(), None | Some("strict" | "trailing comma inside"));
        if !whole && report["trace"]["truncated"] != true {
            wrong.push(format!("{}: is cut short, which is not said", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const KINETO: &str = r#"{"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 12, "tid": 12, "ts": 100.000, "dur": 50.5, "args": {"External id": 1}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 12, "tid": 12, "ts": 110.001, "dur": 4, "args": {"correlation": 5}},
  {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 12, "tid": 12, "ts": 111, "dur": 2, "args": {"correlation": 6}},
  {"ph": "X", "cat": "kernel", "name": "saxpy", "pid": 0, "tid": 7, "ts": 120, "dur": 1.234, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 5}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 20, "ts": 122, "dur": 1, "args": {"device": 0, "context": 1, "stream": 20, "correlation": 9, "bytes": 4096}}
  ], "traceName": "x.json", "baseTimeNanoseconds": 1727743122000000000}"#;

#[test]
fn kineto_packed_or_not_is_one_report() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, KINETO).unwrap();
    let whole = report(&plain).unwrap();
    assert_eq!(whole["trace"]["format"], "chrome");
    assert_eq!(whole["trace"]["start_unix_ns"], 1_727_743_122_000_100_000u64);
    assert_eq!(whole["trace"]["streams"], 2);
    assert_eq!(whole["trace"]["truncated"], false);
    assert_eq!((sum(&whole["kernels"], "launches"), sum(&whole["copies"], "bytes")), (1, 4096));
    assert_eq!((layer(&whole, "runtime"), layer(&whole, "driver")), (1, 1));
    assert_eq!(whole["trace"]["duration_ns"], 50_500);

    let gzip = folder.path().join("gzip");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(KINETO.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    std::fs::write(&gzip, &packed).unwrap();
    let zstd = folder.path().join("zstd");
    std::fs::write(&zstd, zstd::bulk::compress(KINETO.as_bytes(), 3).unwrap()).unwrap();
    let unnamed = |report: &Value, path: &Path| report.to_string().replace(path.to_str().unwrap(), "FILE");
    for path in [gzip, zstd] {
        assert_eq!(unnamed(&report(&path).unwrap(), &path), unnamed(&whole, &plain), "{}", path.display());
    }

    let cut = folder.path().join("cut");
    std::fs::write(&cut, &packed[..packed.len() - 20]).unwrap();
    let part = report(&cut).unwrap();
    assert_eq!(part["trace"]["truncated"], true);
    assert!(part["trace"]["damage"].to_string().contains("cut off"), "{}", part["trace"]["damage"]);
}

#[test]
fn what_pytorch_wrote_on_an_h200_is_all_there() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-torch-profiler.json.gz");
    let report = report(&path).unwrap();
    // Counted in the file by Python's json.
    assert_eq!((layer(&report, "runtime"), layer(&report, "driver")), (164, 2));
    assert_eq!(sum(&report["kernels"], "launches"), 42);
    assert_eq!((sum(&report["copies"], "count"), sum(&report["copies"], "bytes")), (6, 16_904));
    assert_eq!((report["sets"]["count"].as_u64(), report["sets"]["bytes"].as_u64()), (Some(4), Some(80)));
    assert_eq!((report["trace"]["streams"].as_u64(), report["trace"]["truncated"].as_bool()), (Some(1), Some(false)));
    assert_eq!(report["processes"].as_array().map(Vec::len), Some(1));
}

#[test]
fn it_comes_through_a_pipe_too() {
    let mut child = Command::new(UMTUI)
        .args(["report", "--format", "json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(KINETO.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(sum(&report["kernels"], "launches"), 1);
}

#[test]
fn what_is_no_trace_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    for text in ["{\"a\": 1}", "[{\"a\"", "{}", "{\"traceEvents\": 5}"] {
        std::fs::write(&path, text).unwrap();
        match report(&path) {
            Err(error) => assert_eq!(error.trim().lines().count(), 1, "{error}"),
            Ok(report) => assert_eq!(report["trace"]["events"], 0, "{text}"),
        }
    }
}

#[test]
fn what_a_file_does_not_have_is_not_said_to_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let call =
        r#"{"ph":"X","cat":"cuda_runtime","name":"cudaFree","pid":1,"tid":2,"ts":10,"dur":1,"args":{"correlation":3}}"#;
    for (text, levels) in [("[]", vec![]), (&format!("[{call}]"), vec!["E1"])] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(report(&path).unwrap()["trace"]["evidence"], serde_json::json!(levels), "{text}");
    }
    let said = Command::new(UMTUI).arg("report").arg(&path).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(!said.contains("arguments, results") && said.contains("calls"), "{said}");
}

#[test]
fn what_is_not_known_of_an_event_is_not_shown_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let text = r#"[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":9,"args":{"stream":7,"device":0}},
        {"ph":"X","cat":"kernel","name":"l","pid":0,"tid":7,"ts":11,"dur":9,
         "args":{"stream":7,"device":0,"grid":[8,1,1],"block":[64,1,1],"registers per thread":32}},
        {"ph":"C","name":"memory","pid":5,"ts":2,"args":{"used":1}}]"#;
    std::fs::write(&path, text).unwrap();
    let mut loaded = Loaded::load_all(&[path]).unwrap();
    let mut shown = |details| {
        let request = EventsRequest { node: None, at: EventsAt::Row(0), rows: 9, kinds: EventKinds::ALL, details };
        match loaded.view(View::Events(request)).body {
            Body::Events(rows) => rows,
            other => panic!("{other:?}"),
        }
    };
    let rows = shown(None).rows;
    let arguments: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.arguments.contains("grid"))).collect();
    assert_eq!(arguments, [("k", false), ("mark memory used (counter)", false), ("l", true)], "{rows:?}");
    assert_eq!(rows[1].thread_name, "counters", "without the number that was made up");
    let mut details = |row| shown(Some(row)).details.map(|(_, fields)| fields).unwrap_or_default();
    let names = |fields: &[(String, String)]| {
        let there = |name: &str| fields.iter().any(|field| field.0 == name);
        ["grid", "block", "registers", "shared"].map(there)
    };
    assert_eq!((names(&details(0)), names(&details(2))), ([false; 4], [true; 4]));
}

/// Documents of counters, with what each series comes to.
mod counters {
    use super::{UMTUI, Value, report};
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::process::Command;

    /// A value in thousandths, and how it is written.
    #[derive(Clone, Debug)]
    struct Written(i128, Value);

    fn value() -> impl Strategy<Value = Option<Written>> {
        let whole = prop_oneof![
            (i64::MIN..=i64::MAX).prop_map(i128::from),
            (0..=u64::MAX).prop_map(i128::from),
            (-3i128..4),
            Just(i128::from(u64::MAX)),
        ];
        let whole = (whole, any::<bool>()).prop_map(|(number, text)| {
            let plain = serde_json::from_str(&number.to_string()).unwrap();
            Some(Written(number * 1000, if text { number.to_string().into() } else { plain }))
        });
        let broken = (-(1i128 << 40)..1 << 40, any::<bool>()).prop_map(|(number, text)| {
            let sign = if number < 0 { "-" } else { "" };
            let words = format!("{sign}{}.{:03}", number.abs() / 1000, number.abs() % 1000);
            Some(Written(number, if text { words.into() } else { serde_json::from_str(&words).unwrap() }))
        });
        let none = prop_oneof![Just(json!(null)), Just(json!("none")), Just(json!([1])), Just(json!(true))];
        // Of no value the number does not count.
        prop_oneof![4 => whole, 4 => broken, 1 => none.prop_map(|value| Some(Written(i128::MAX, value)))]
    }

    type Event = (u32, usize, Option<u32>, u64, Vec<(usize, Option<Written>)>);

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let values = prop::collection::vec((0usize..3, value()), 0..4);
        prop::collection::vec((1u32..3, 0usize..2, prop::option::of(0u32..2), 0u64..30, values), 1..30)
    }

    const NAMES: [&str; 2] = ["memory", "memory used"];
    const SERIES: [&str; 3] = ["used", "used value", "value"];

    /// A number of the report in thousandths, if it is exact there.
    fn thousandths(value: &Value) -> i128 {
        if let Some(whole) = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from)) {
            return whole * 1000;
        }
        // Of so few digits floating point is exact enough to be rounded back.
        (value.as_str().unwrap().parse::<f64>().unwrap() * 1000.0).round() as i128
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn are_as_a_plain_reader_finds_them(events in events()) {
            let mut text = Vec::new();
            let mut twin: BTreeMap<(u32, String, String), Vec<(u64, i128)>> = BTreeMap::new();
            for (pid, name, id, ts, values) in &events {
                let mut args = serde_json::Map::new();
                for (series, written) in values.iter().filter_map(|(series, written)| Some((series, written.as_ref()?))) {
                    args.insert(SERIES[*series].to_owned(), written.1.clone());
                }
                let mut event = json!({"ph": "C", "pid": pid, "tid": ts, "name": NAMES[*name], "ts": ts, "args": args});
                let mut counter = NAMES[*name].to_owned();
                if let Some(id) = id {
                    event["id"] = (*id).into();
                    counter = format!("{counter}[{id}]");
                }
                for (series, value) in &args {
                    let mut known = values.iter().rev().filter_map(|(at, written)| Some((SERIES[*at], written.as_ref()?)));
                    let written = known.find(|(name, _)| name == series).unwrap().1;
                    prop_assert_eq!(value, &written.1);
                    if written.0 != i128::MAX {
                        twin.entry((*pid, counter.clone(), series.clone())).or_default().push((*ts * 1000, written.0));
                    }
                }
                text.push(event.to_string());
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.json");
            std::fs::write(&path, format!("[{}]", text.join(",\n"))).unwrap();
            let mut loaded = umtui::session::Loaded::load_all(&[path]).unwrap();
            let start = loaded.trace().start_ns();
            let report: Value = serde_json::from_str(&umtui::report::json(&umtui::report::Report::of(&mut loaded))).unwrap();
            let rows = report["counters"].as_array().cloned().unwrap_or_default();
            prop_assert_eq!(rows.len(), twin.len());
            prop_assert_eq!(report["counters"].is_null(), twin.is_empty());
            for (row, ((pid, counter, series), mut samples)) in rows.iter().zip(twin) {
                samples.sort_by_key(|sample| sample.0);
                let values = || samples.iter().map(|sample| sample.1);
                prop_assert_eq!((&row["process"], &row["counter"], &row["series"]), (&json!(pid), &json!(counter), &json!(series)));
                prop_assert_eq!(&row["samples"], &json!(samples.len()));
                let (first, last) = (samples[0], samples[samples.len() - 1]);
                prop_assert_eq!((&row["first_ns"], &row["last_ns"]), (&json!(first.0 - start), &json!(last.0 - start)));
                let seen = ["first", "last", "min", "max"].map(|key| thousandths(&row[key]));
                prop_assert_eq!(seen, [first.1, last.1, values().min().unwrap(), values().max().unwrap()]);
            }
        }
    }

    const FEW: &str = r#"[{"ph":"C","pid":1,"name":"memory","ts":5,"args":{"used":18446744073709551615,"free":-7.5}},
        {"ph":"C","pid":1,"name":"memory","ts":5,"args":{"used":0}}, {"ph":"i","pid":1,"tid":1,"name":"memory used","ts":9},
        {"ph":"X","pid":1,"tid":1,"name":"step","ts":1,"dur":20,"args":{"iteration":3,"shape":[[2,3],"x"]}}]"#;

    fn written(folder: &Path, arguments: &[&str], from: &Path) -> Vec<u8> {
        let out = Command::new(UMTUI).args(arguments).arg(from).current_dir(folder).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        out.stdout
    }

    #[test]
    fn and_what_ranges_say_survive_text_and_packing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, FEW).unwrap();
        let counters = report(&path).unwrap()["counters"].clone();
        let row = |series, samples, first: Value, last: Value, min: Value, max: Value| {
            json!({"counter": "memory", "series": series, "process": 1, "program": "", "samples": samples, "first": first,
                "first_ns": 4000, "last": last, "last_ns": 4000, "min": min, "max": max})
        };
        let most = u64::MAX;
        let known = json!([
            row("free", 1, json!("-7.5"), json!("-7.5"), json!("-7.5"), json!("-7.5")),
            row("used", 2, json!(most), json!(0), json!(0), json!(most)),
        ]);
        assert_eq!(counters, known);
        assert_eq!(report(&path).unwrap()["trace"]["threads"], 1, "counters are no thread of the program's");
        let text = written(folder.path(), &["export", "--format", "text", "-o", "-"], &path);
        let lines = String::from_utf8(text.clone()).unwrap();
        let said = r#"said="{\"iteration\":3, \"shape\":[[2,3],\"x\"]}""#;
        assert!(lines.contains(said) && lines.contains("domain=\"counter\""), "{lines}");
        let log = folder.path().join("a.log");
        std::fs::write(&log, text).unwrap();
        assert_eq!(report(&log).unwrap()["counters"], known);
        let again = written(folder.path(), &["export", "--format", "text", "-o", "-"], &log);
        let again = String::from_utf8(again).unwrap();
        let ranges =
            |text: &str| text.lines().filter(|line| line.contains(" range ")).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!((ranges(&again), ranges(&lines).len()), (ranges(&lines), 5));
        let packed = folder.path().join("a.umtz");
        written(folder.path(), &["pack", "-o", packed.to_str().unwrap()], &path);
        assert_eq!(report(&packed).unwrap()["counters"], known);
    }

    #[test]
    fn are_selected_by_name_and_listed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, FEW).unwrap();
        let filter = ["report", "--format", "json", "--filter", "range~used$"];
        let through: Value = serde_json::from_slice(&written(folder.path(), &filter, &path)).unwrap();
        let rows = through["counters"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["series"]), (1, &json!("used")), "{rows:?}");
        let filter = ["report", "--format", "json", "--filter", "range:nothing"];
        let none: Value = serde_json::from_slice(&written(folder.path(), &filter, &path)).unwrap();
        assert_eq!(none["counters"], json!([]), "there are some, and none is selected");
        let text = String::from_utf8(written(folder.path(), &["report"], &path)).unwrap();
        let line = text.lines().find(|line| line.starts_with("memory used")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let most = u64::MAX.to_string();
        assert_eq!(words, ["memory", "used", "2", &most, "0", "0", &most, "1"], "{text}");
    }
}
