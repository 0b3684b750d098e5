//! Foreign formats through the binary: what the report says of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
