//! Sessions over files.

use super::*;
use crate::graph::{Column, Folds, Grouping};
use crate::parse::native::writer::{CallRecord, FileInfo, ModuleRecord, NativeWriter};
use crate::session::Loaded;
use crate::session::view::*;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::STATE_ENDED;

/// The program of the tests: two threads; allocations, one of which fails, launches with the driver call in them.
pub(crate) fn write_run(path: &Path, pid: u32) {
    let start = ClockTriple { ticks: 1_000_000, monotonic_ns: 1_000_000, realtime_ns: 1_700_000_000_000_000_000 };
    let info = FileInfo {
        pid,
        start,
        last: ClockTriple { ticks: 9_000_000, monotonic_ns: 9_000_000, realtime_ns: start.realtime_ns + 8_000_000 },
        host: "testhost".into(),
        program: "/opt/bin/solver".into(),
        state: STATE_ENDED,
        start_time: 1,
        boot_id: [7; 16],
        ..FileInfo::default()
    };
    let mut writer = NativeWriter::new(Cursor::new(Vec::new()), info, 1 << 16);
    let module = writer.string(b"/opt/bin/solver").unwrap();
    writer
        .module(&ModuleRecord {
            path: module,
            start: 0x40_0000,
            end: 0x50_0000,
            build_id: vec![1, 2, 3],
            ..ModuleRecord::default()
        })
        .unwrap();
    let malloc = writer.api(Layer::Runtime, "cudaMalloc(ptr:*ptr@32 bytes:size@40)").unwrap();
    let launch = writer.api(Layer::Runtime, "cudaLaunchKernel(function:ptr@32)").unwrap();
    let inner = writer.api(Layer::Driver, "cuLaunchKernel(function:handle@32)").unwrap();
    let name = writer.string("wor\u{1b}[31mker".as_bytes()).unwrap();
    writer.thread_name(pid + 1, name, 1_000_000).unwrap();
    let pointer = |address: u64, bytes: u64| {
        let mut arguments = vec![0; 4];
        arguments.extend_from_slice(&address.to_le_bytes());
        arguments.extend_from_slice(&bytes.to_le_bytes());
        arguments
    };
    for (thread, offset) in [(pid, 0), (pid + 1, 100_000)] {
        for step in 0..4u64 {
            let start = 2_000_000 + offset + step * 1_000_000;
            let status = if step == 3 && offset == 0 { 2 } else { 0 };
            let arguments = pointer(0x7f00_0000 + step, 64 << 20);
            let site = 0x40_0010;
            writer
                .call(
                    thread,
                    &CallRecord {
                        api: malloc,
                        status,
                        start,
                        duration: 1000,
                        site,
                        arguments,
                        ..CallRecord::default()
                    },
                )
                .unwrap();
            let arguments = pointer(0x1234, 0);
            let start = start + 10_000;
            let nested = CallRecord {
                api: inner,
                start: start + 500,
                duration: 4000,
                site: 0x7777,
                depth: 1,
                arguments: arguments.clone(),
                ..CallRecord::default()
            };
            writer.call(thread, &nested).unwrap();
            let outer =
                CallRecord { api: launch, start, duration: 5000, site: 0x40_0020, arguments, ..CallRecord::default() };
            writer.call(thread, &outer).unwrap();
        }
    }
    let bytes = writer.finish(true).unwrap().into_inner();
    // As a whole or not at all, as a session that watches the folder must see it.
    let unfinished = path.with_extension("unfinished");
    std::fs::write(&unfinished, bytes).unwrap();
    std::fs::rename(unfinished, path).unwrap();
}

fn loaded() -> (tempfile::TempDir, Loaded) {
    let folder = tempfile::tempdir().unwrap();
    write_run(&folder.path().join("testhost-40.umt"), 40);
    let loaded = Loaded::load_all(&[folder.path().to_owned()]).unwrap();
    (folder, loaded)
}

fn calls(loaded: &mut Loaded, grouping: Grouping) -> CallsRows {
    let folds = Arc::new(Folds { open_depth: 9, ..Folds::default() });
    let request = CallsRequest { grouping, sort: (Column::Total, true), folds, cursor: None, first: 0, rows: 50 };
    match loaded.view(View::Calls(request)).body {
        Body::Calls(rows) => rows,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_tree_of_a_run() {
    let (_folder, mut loaded) = loaded();
    let rows = calls(&mut loaded, Grouping::Thread);
    let lines: Vec<String> = rows
        .rows
        .iter()
        .map(|row| {
            let indent = "  ".repeat(usize::from(row.depth));
            format!("{indent}{} {} {} {} {}", row.label, row.count, row.failed, row.total_ns, row.self_ns)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(rows.rows[0].parent, None);
    assert_eq!(rows.rows[1].parent, Some(rows.rows[0].key));
    assert_eq!(rows.rows[0].share, 1000);
}

#[test]
fn events_have_their_arguments_and_nothing_raw() {
    let (_folder, mut loaded) = loaded();
    let request = EventsRequest { node: None, at: EventsAt::Row(0), rows: 100, kinds: EventKinds::ALL, details: None };
    let Body::Events(rows) = loaded.view(View::Events(request)).body else { panic!() };
    assert_eq!(rows.total, 24);
    let first = &rows.rows[0];
    assert_eq!((first.name.as_str(), first.arguments.as_str()), ("cudaMalloc", "ptr=0x7f000000 bytes=64 MiB"));
    assert_eq!((first.start_ns, first.duration_ns, first.thread_name.as_str()), (0, Some(1000), "main"));
    assert_eq!(first.site, "solver+0x10");
    assert!(rows.rows.iter().any(|row| row.thread_name == "wor\\x1b[31mker 41"));
    let failed: Vec<_> = rows.rows.iter().filter(|row| row.outcome == Outcome::Failed).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(
        (failed[0].result.as_str(), failed[0].arguments.as_str()),
        ("cudaErrorMemoryAllocation", "bytes=64 MiB")
    );
    let at = EventsAt::Time(1_000_000);
    let Body::Events(rows) = loaded.view(View::Events(EventsRequest { at, rows: 2, ..request })).body else { panic!() };
    assert_eq!((rows.first, rows.rows[0].start_ns), (6, 1_000_000));
}

#[test]
fn the_overview_of_a_run() {
    let (_folder, mut loaded) = loaded();
    let answer = loaded.view(View::Overview { rows: 20, columns: 80 });
    assert_eq!(
        (answer.status.phase, answer.status.calls, answer.status.name.as_str()),
        (Phase::Ended, 24, "solver 40")
    );
    let Body::Overview(overview) = answer.body else { panic!() };
    assert_eq!(overview.worst_failure.as_deref(), Some("cudaMalloc (cudaErrorMemoryAllocation)"));
    assert_eq!((overview.failed, overview.process_count, overview.running), (1, 1, None));
    let top: Vec<_> =
        overview.top.iter().map(|row| (row.depth, row.name.as_str(), row.total_share, row.count)).collect();
    assert_eq!(top, [(0, "cudaLaunchKernel", 833, 8), (1, "cuLaunchKernel", 667, 8), (0, "cudaMalloc", 167, 8)]);
    assert_eq!((overview.rest, overview.silence), ((0, 0), None));
    let calls: u128 =
        overview.calls_history.iter().map(|&rate| u128::from(rate) * u128::from(overview.history_step_ns)).sum();
    assert!(calls.abs_diff(24 * 1_000_000_000) < 24_000_000_000 / 100, "{calls}");
}

#[test]
fn paths_that_are_no_traces_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let load = |path: &Path| Loaded::load_all(&[path.to_owned()]).map(|_| ()).unwrap_err().to_string();
    assert!(load(folder.path()).contains("no trace here"));
    assert!(load(&folder.path().join("none")).contains("none"));
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "hello there, this is not a trace").unwrap();
    assert!(load(&text).contains("notes.txt"));
    // A stream of which not one whole frame is there.
    let stream = folder.path().join("a.stream");
    std::fs::write(&stream, [b"UMF\x1b\x38\x08\x01\x01".as_slice(), &[7; 500]].concat()).unwrap();
    assert!(load(&stream).contains("a.stream: a stream, but not one whole frame"), "{}", load(&stream));
    // The system's answer stands there once.
    assert_eq!(load(&folder.path().join("none")).matches("os error 2").count(), 1);
    std::fs::remove_file(&stream).unwrap();
    // Beside a good one a bad one is damage.
    let good = folder.path().join("a.umt");
    write_run(&good, 40);
    let mut loaded = Loaded::load_all(&[good, text]).unwrap();
    assert_eq!(loaded.unreadable().len(), 1);
    assert!(loaded.view(View::Overview { rows: 9, columns: 40 }).status.damage.unwrap().contains("notes.txt"));
}

#[test]
fn a_text_trace_gives_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.log");
    let text = "# umtui trace 1\n# start 1000\n\
        # process 7 pid=7 program=\"/opt/a\"\n\
        # api cudaFree runtime \"cudaFree\" (ptr:ptr@32)\n\
        what is this\n\
        0.000001000 7/7 main cudaFree(ptr=0x7f0000000000) = 0 <1234> d0 @ 0x7f12 libfoo.so+0x12\n";
    std::fs::write(&file, text).unwrap();
    let mut loaded = Loaded::load_all(&[file]).unwrap();
    let answer = loaded.view(View::Overview { rows: 9, columns: 40 });
    assert_eq!((loaded.format(), answer.status.phase, answer.status.calls), ("text", Phase::Ended, 1), "{answer:?}");
    assert!(answer.status.damage.unwrap().contains("trace.log: line 5: "));
}
