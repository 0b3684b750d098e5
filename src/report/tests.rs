//! Reports of small traces.

use super::{Report, json, text};
use crate::graph::{Column, Folds, Grouping};
use crate::session::Loaded;
use crate::session::tests::files::write_run;
use crate::session::view::{Body, CallsRequest, View};

fn report() -> (Report, Loaded) {
    let folder = tempfile::tempdir().unwrap();
    for pid in [40, 50] {
        write_run(&folder.path().join(format!("testhost-{pid}.umt")), pid);
    }
    let mut loaded = Loaded::load_all(&[folder.path().to_owned()]).unwrap();
    let mut report = Report::of(&mut loaded);
    for file in &mut report.trace.files {
        *file = file.rsplit('/').next().unwrap().to_owned();
    }
    (report, loaded)
}

#[test]
fn as_text() {
    insta::assert_snapshot!(text(&report().0));
}

#[test]
fn as_json() {
    let json = json(&report().0);
    assert!(json.lines().all(|line| line.chars().all(crate::session::safe::prints)));
    insta::assert_snapshot!(json);
}

#[test]
fn the_schema_has_these_keys_and_integers_only() {
    let value: serde_json::Value = serde_json::from_str(&json(&report().0)).unwrap();
    let keys = |value: &serde_json::Value| {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys.join(" ")
    };
    assert_eq!(
        keys(&value),
        "allocations apis copies devices dropped evidence_missing faults findings gpu_clock_error_ns gpu_order kernels migrations \
         not_checked overheads processes schema sets streams threads trace"
    );
    assert_eq!(
        keys(&value["trace"]),
        "calls devices discarded duration_ns events evidence files format hook_ps_per_call hook_share_ppm lost missed processes \
         start_unix_ns streams threads truncated"
    );
    assert_eq!(
        keys(&value["apis"][0]),
        "calls failed layer max_ns min_ns name p50_ns p99_ns quantile_error_pct self_ns total_ns"
    );
    fn no_floats(value: &serde_json::Value) {
        match value {
            serde_json::Value::Number(number) => assert!(number.is_u64() || number.is_i64(), "{number}"),
            serde_json::Value::Array(list) => list.iter().for_each(no_floats),
            serde_json::Value::Object(map) => map.values().for_each(no_floats),
            _ => {}
        }
    }
    no_floats(&value);
}

#[test]
fn the_screens_show_the_same_numbers() {
    let (report, mut loaded) = report();
    let folds = std::sync::Arc::new(Folds::default());
    let request =
        CallsRequest { grouping: Grouping::Flat, sort: (Column::Total, true), folds, cursor: None, first: 0, rows: 99 };
    let answer = loaded.view(View::Calls(request));
    let Body::Calls(rows) = answer.body else { panic!() };
    assert_eq!(answer.status.calls, report.trace.calls);
    assert_eq!(answer.status.elapsed_ns, report.trace.duration_ns);
    let screen: Vec<_> = rows
        .rows
        .iter()
        .map(|row| {
            (
                row.label.clone(),
                row.count,
                row.failed,
                row.total_ns,
                row.self_ns,
                row.min_ns,
                row.max_ns,
                row.p50_ns,
                row.p99_ns,
            )
        })
        .collect();
    let report: Vec<_> = report
        .apis
        .iter()
        .map(|api| {
            let sums = api.stats.sums;
            let extremes = sums.extremes();
            let (min, max) = (extremes.map(|e| e.0), extremes.map(|e| e.1));
            let (p50, p99) = (api.stats.quantile(50), api.stats.quantile(99));
            (api.name.clone(), sums.count, sums.failed, sums.total_ns, sums.self_ns, min, max, p50, p99)
        })
        .collect();
    assert_eq!(screen, report);
}

mod gpu {
    use super::super::{Report, json, text};
    use crate::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
    use crate::session::Loaded;
    use crate::trace::activity::{Device, raw::Submitted};
    use umtui_wire::activity::*;
    use umtui_wire::clock::ClockTriple;
    use umtui_wire::record::Head;
    use umtui_wire::table::Layer;

    const DRIVER: u64 = 1_700_000_000_000_000_000;

    /// A process with two kernels, copies, migrations and faults; all of it was recorded but `without`.
    #[allow(clippy::too_many_lines, reason = "a record of each kind")]
    fn report(without: &[(u16, u32, u32)]) -> Report {
        let start = ClockTriple { ticks: 0, monotonic_ns: 0, realtime_ns: DRIVER };
        let info =
            FileInfo { pid: 40, start, program: "/opt/train".into(), host: "gpu01".into(), ..FileInfo::default() };
        let mut writer = NativeWriter::new(std::io::Cursor::new(Vec::new()), info, 65536);
        let api = writer.api(Layer::Driver, "cuLaunchKernel(stream:handle@32)").unwrap();
        let scale = writer.string(b"_Z5scalePfm").unwrap();
        let odd = writer.string(b"odd\x1b[2J").unwrap();
        let name = writer.string(b"NVIDIA H200").unwrap();
        let device =
            Device { memory_bytes: 141 << 30, capability: (9, 0), multiprocessors: 132, bits: 7, ..Device::default() };
        writer.device(0, name, &device).unwrap();
        let word = |kind, a, b| Head { kind, extra: 0, a, b }.word();
        for what in 1..=7 {
            let why = without.iter().find(|one| one.0 == what).map_or((WHY_RECORDED, 0), |one| (one.1, one.2));
            writer.record(1, &[word(KIND_EVIDENCE, what, why.0), 1000, 0, u64::from(why.1), 0, 0], 1000).unwrap();
        }
        for (index, handle) in [0u64, 0x5000, 0x5000].iter().enumerate() {
            let start = 2000 + index as u64 * 1000;
            let submitted = Submitted { correlation: 1 + index as u32, pointers: vec![0x7f00], ..Submitted::default() };
            writer.submit(1, start, &submitted).unwrap();
            let arguments = [[0; 4].as_slice(), &handle.to_le_bytes()].concat();
            writer.call(1, &CallRecord { api, start, duration: 500, arguments, ..CallRecord::default() }).unwrap();
        }
        writer
            .record(9, &[word(KIND_GPU_CLOCK, 0, 0), 90_000, DRIVER + 90_000, 301, DRIVER + 80_000, 0], 90_000)
            .unwrap();
        let has = |what| !without.iter().any(|one| one.0 == what);
        let at = |ns: u64| DRIVER + ns;
        let context = 1;
        if has(EVIDENCE_ACTIVITY) {
            for (correlation, stream, start, end, name) in [
                (1, 7, 3000, 5000, scale),
                (2, 13, 6000, 9000, scale),
                (3, 13, 8000, 8500, odd),
                (99, 20, 100, 200, odd),
            ] {
                let head = Kernel::head(KIND_KERNEL, 0, correlation);
                let kernel =
                    Kernel { head, start: at(start), end: at(end), name, context, stream, ..Kernel::default() };
                writer.record(9, &kernel, 90_000).unwrap();
            }
            for (from, bytes) in [(1, 4096), (2, 100)] {
                let head = Copied::head(KIND_COPY, 0, 0);
                let (start, end) = (at(10_000), at(10_500));
                let copy =
                    Copied { head, start, end, bytes, context, stream: 7, kind: 1, from, to: 3, ..Copied::default() };
                writer.record(9, &copy, 90_000).unwrap();
            }
            let head = Overhead::head(KIND_OVERHEAD, 0, 0);
            let overhead = Overhead { head, start: at(100), end: at(5100), kind: 0x1_0000, ..Overhead::default() };
            writer.record(9, &overhead, 90_000).unwrap();
        }
        if has(EVIDENCE_MIGRATIONS) {
            for (counter, cause, bytes) in [(1, 2, 65536), (1, 3, 2 << 20), (2, 2, 4096)] {
                let head = Unified::head(KIND_UNIFIED, counter, cause);
                let (from, to) = if counter == 1 { (NONE, 0) } else { (0, NONE) };
                let moved =
                    Unified { head, start: at(20_000), end: at(21_000), value: bytes, from, to, ..Unified::default() };
                writer.record(9, &moved, 90_000).unwrap();
            }
        }
        if has(EVIDENCE_FAULTS) {
            for (counter, value) in [(3, 0x40_0000), (3, 0x40_0000), (4, 6)] {
                let head = Unified::head(KIND_UNIFIED, counter, 1);
                let fault = Unified {
                    head,
                    start: at(19_000),
                    end: at(19_400),
                    value,
                    from: 0,
                    to: NONE,
                    ..Unified::default()
                };
                writer.record(9, &fault, 90_000).unwrap();
            }
        }
        writer.record(9, &[word(KIND_DROPPED, 0, 0), 90_000, 5, 0, 0, 0], 90_000).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.umt");
        std::fs::write(&path, writer.finish(true).unwrap().into_inner()).unwrap();
        let mut report = Report::of(&mut Loaded::load_all(&[path]).unwrap());
        report.trace.files = vec!["a.umt".to_owned()];
        report
    }

    #[test]
    fn all_evidence_as_text() {
        insta::assert_snapshot!(text(&report(&[])));
    }

    #[test]
    fn all_evidence_as_json() {
        insta::assert_snapshot!(json(&report(&[])));
    }

    #[test]
    fn what_is_missing_is_null_and_has_a_reason() {
        let report = report(&[(EVIDENCE_FAULTS, WHY_NOT_ASKED, 0), (EVIDENCE_ACTIVITY, WHY_REFUSED, 35)]);
        let value: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
        for key in ["kernels", "copies", "sets", "faults", "overheads"] {
            assert!(value[key].is_null(), "{key}");
        }
        assert_eq!(value["migrations"]["h2d"]["bytes"], 65536 + (2 << 20));
        assert_eq!(value["evidence_missing"][0]["what"], "kernels and copies");
        assert_eq!(value["trace"]["evidence"], serde_json::json!(["E1", "E3", "E5"]));
        insta::assert_snapshot!(text(&report));
    }
}
