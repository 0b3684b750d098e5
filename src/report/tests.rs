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
        "allocations apis copies counters devices dropped evidence_missing faults findings first_failures gpu_clock_error_ns gpu_order graphs \
         kernels lens memory migrated migrated_by_kernel migrations not_checked overheads processes ranges rises schema sets snapshots streams threads trace transfers"
    );
    assert_eq!(
        keys(&value["trace"]),
        "alignment calls damage damages devices discarded duration_ns events evidence files format hook_ps_per_call hook_share_ppm left_out lost missed notes processes \
         start_unix_ns streams threads truncated unread"
    );
    assert_eq!(
        keys(&value["apis"][0]),
        "calls failed layer max_ns min_ns name p50_ns p99_ns quantile_error_pct recorded_as self_ns total_ns"
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
    use crate::session::Loaded;
    use crate::session::tests::gpu::write_gpu;
    use umtui_wire::activity::{EVIDENCE_ACTIVITY, EVIDENCE_FAULTS, WHY_NOT_ASKED, WHY_REFUSED};

    fn report(without: &[(u16, u32, u32)]) -> Report {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.umt");
        write_gpu(&path, without);
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

#[test]
fn a_lens_is_said_and_only_what_it_selects_counts() {
    use crate::filter::{Condition, Pattern, TextField};
    use crate::lens::Lens;
    let (whole, mut loaded) = report();
    let name = whole.apis[0].name.clone();
    let only = Condition::Text(TextField::Api, Pattern::Glob(name.clone()));
    let lens = Lens { condition: Some(std::sync::Arc::new(only)), range: None };
    loaded.look_through(&lens, &format!("api:{name}"), std::time::Duration::ZERO).unwrap();
    let seen = Report::of(&mut loaded);
    assert_eq!(seen.apis, [whole.apis[0].clone()]);
    let block = seen.lens.as_ref().unwrap();
    assert_eq!(block.shown, whole.apis[0].stats.sums.count);
    assert_eq!(block.shown + block.hidden, whole.trace.calls);
    assert_eq!((seen.trace.calls, seen.processes.clone()), (whole.trace.calls, whole.processes));
    assert_eq!(seen.threads.iter().map(|thread| thread.calls).sum::<u64>(), block.shown);
    let text = text(&seen);
    assert!(text.contains(&format!("api:{name}")) && text.contains(" hidden"), "{text}");
    let value: serde_json::Value = serde_json::from_str(&json(&seen)).unwrap();
    assert_eq!(value["lens"]["shown"], block.shown);
    // Without it everything is there again.
    loaded.look_through(&Lens::default(), "", std::time::Duration::ZERO).unwrap();
    assert_eq!(Report::of(&mut loaded).apis, whole.apis);
}
