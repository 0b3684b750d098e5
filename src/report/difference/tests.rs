use super::names::Names;
use super::rows::{Moved, Timed};
use super::*;
use crate::correlate::AllocationKind::{Device, Managed, Registered};

const MIB: u64 = 1 << 20;

fn source(line: u32) -> SiteName {
    SiteName::Source("app::step".into(), "step.cu".into(), line, format!("step.cu:{line} step"))
}

fn held(count: u64, sized_bytes: u64) -> Held {
    Held { count, sized_bytes, unsized_count: if sized_bytes == 0 { count } else { 0 } }
}

fn side(path: &str, cells: &[(SiteName, u64, AllocationKind, Held)], names: Names) -> Side {
    let cells: BTreeMap<MemoryKey, Held> = cells
        .iter()
        .map(|(name, size, kind, held)| ((name.clone(), SizeClass::of(held.bytes().and(Some(*size))), *kind, 0), *held))
        .collect();
    let moment = |asked: &str| MomentBlock { asked: asked.into(), by: None, time_ns: Some(5_000_000) };
    Side {
        block: SideBlock {
            path: path.into(),
            files: vec![format!("{path}/host-1.umt")],
            processes: 1,
            duration_ns: 7_000_000,
            calls: 10,
            lost: 0,
            unread_calls: 0,
            left_out: Vec::new(),
            lens: None,
        },
        taken: vec![
            Taken { moment: moment("peak"), cells: Some(cells) },
            Taken { moment: moment("end"), cells: Some(BTreeMap::new()) },
        ],
        calls: 10,
        time_ns: Some(4_000),
        moved_bytes: Some(2 * MIB),
        faults: None,
        apis: BTreeMap::from([(("cudaMalloc".into(), "runtime"), Timed { count: 3, total_ns: Some(1_000) })]),
        kernels: None,
        migrated: Some(BTreeMap::from([(source(7), Moved { bytes: [MIB, MIB, 0], faults: None })])),
        names,
    }
}

fn two() -> Difference {
    let code = |build: u8, offset| SiteName::Code((vec![build], offset), format!("libapp.so+{offset:#x}"));
    // Both have used the build 1; only the second one knows a name in it, and only the first one has used the build 2.
    let before = side(
        "old",
        &[
            (source(7), MIB, Managed, held(2, 2 * MIB)),
            (source(8), 4096, Device, held(1, 4096)),
            (code(1, 0x10), MIB, Device, held(1, MIB)),
            (code(1, 0x20), MIB, Device, held(1, MIB)),
            (code(2, 0x30), 3 * MIB, Device, held(1, 3 * MIB)),
            (source(9), MIB, Registered, held(1, MIB)),
        ],
        Names::made_up(&[], &[1, 2]),
    );
    let mut after = side(
        "new\x1b[2J",
        &[
            (source(7), MIB, Managed, held(6, 6 * MIB)),
            (source(8), 4096, Device, held(1, 4096)),
            (source(12), MIB, Device, held(1, MIB)),
            (code(1, 0x20), MIB, Device, held(1, MIB)),
            (source(11), 64, Device, held(2, 0)),
        ],
        Names::made_up(&[(1, 0x10, source(12))], &[1, 3]),
    );
    after.faults = Some(12);
    after.kernels = Some(BTreeMap::new());
    after.time_ns = Some(9_000);
    Difference::of_traces(before, after)
}

#[test]
fn call_sites_of_two_traces_are_compared_by_their_names() {
    let difference = two();
    let sites = difference.memory[0].by_call_site.as_ref().unwrap();
    let told: Vec<_> = sites.iter().map(|one| (one.call_site.as_deref(), one.in_use.became)).collect();
    assert_eq!(
        told,
        [
            (Some("step.cu:7 step"), "grown"),
            // Its sizes are not recorded: it does not grow in bytes.
            (Some("step.cu:11 step"), "new"),
            (Some("step.cu:8 step"), "same"),
            (Some("step.cu:12 step"), "same"),
            (Some("libapp.so+0x20"), "same"),
            (None, "gone"),
        ]
    );
}

#[test]
fn two_traces_as_text_and_json() {
    let mut difference = two();
    difference.check(&[Figure::Memory, Figure::Moved], Threshold::Share(50_000));
    assert_eq!(difference.regression, Some(true));
    insta::assert_snapshot!(text(&difference));
    insta::assert_snapshot!(difference.json());
}

#[test]
fn what_one_trace_does_not_know_is_null() {
    let mut before = side("old", &[], Names::default());
    before.taken.iter_mut().for_each(|taken| taken.cells = None);
    before.migrated = None;
    before.moved_bytes = None;
    let mut difference =
        Difference::of_traces(before, side("new", &[(source(7), 1, Device, held(1, 1))], Names::default()));
    difference.check(&[Figure::Memory], Threshold::Bytes(0));
    assert_eq!(difference.regression, None);
    let value: serde_json::Value = serde_json::from_str(&difference.json()).unwrap();
    let memory = &value["memory"][0];
    for key in ["by_kind", "by_device", "by_call_site", "by_size", "by_address", "new", "gone"] {
        assert!(memory[key].is_null(), "{key}");
    }
    assert_eq!(memory["bytes"], serde_json::json!({"before": null, "after": 1, "growth": null}));
    assert!(value["migrated"].is_null() && value["kernels"].is_null());
    assert!(value["regression"].is_null() && value["checks"][0]["regression"].is_null());
    let text = text(&difference);
    assert!(text.contains("memory in use at the peak: not recorded in the trace before\n"), "{text}");
}
