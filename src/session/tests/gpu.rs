//! A trace with what the GPU did.

use crate::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use crate::trace::activity::{Device, raw::Submitted};
use std::path::Path;
use umtui_wire::activity::*;
use umtui_wire::clock::ClockTriple;
use umtui_wire::record::Head;
use umtui_wire::table::Layer;

const DRIVER: u64 = 1_700_000_000_000_000_000;

/// A process with kernels, copies, migrations and faults; all of it was recorded but `without`: what, why, CUPTI's result.
#[allow(clippy::too_many_lines, reason = "a record of each kind")]
pub fn write_gpu(path: &Path, without: &[(u16, u32, u32)]) {
    let start = ClockTriple { ticks: 0, monotonic_ns: 0, realtime_ns: DRIVER };
    let info = FileInfo { pid: 40, start, program: "/opt/train".into(), host: "gpu01".into(), ..FileInfo::default() };
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
    writer.record(9, &[word(KIND_GPU_CLOCK, 0, 0), 90_000, DRIVER + 90_000, 301, DRIVER + 80_000, 0], 90_000).unwrap();
    let has = |what| !without.iter().any(|one| one.0 == what);
    let at = |ns: u64| DRIVER + ns;
    let context = 1;
    if has(EVIDENCE_ACTIVITY) {
        for (correlation, stream, start, end, name) in
            [(1, 7, 3000, 5000, scale), (2, 13, 6000, 9000, scale), (3, 13, 8000, 8500, odd), (99, 20, 100, 200, odd)]
        {
            let head = Kernel::head(KIND_KERNEL, 0, correlation);
            let kernel = Kernel { head, start: at(start), end: at(end), name, context, stream, ..Kernel::default() };
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
            let fault =
                Unified { head, start: at(19_000), end: at(19_400), value, from: 0, to: NONE, ..Unified::default() };
            writer.record(9, &fault, 90_000).unwrap();
        }
    }
    writer.record(9, &[word(KIND_DROPPED, 0, 0), 90_000, 5, 0, 0, 0], 90_000).unwrap();
    std::fs::write(path, writer.finish(true).unwrap().into_inner()).unwrap();
}

mod overview {
    use super::write_gpu;
    use crate::session::Loaded;
    use crate::session::view::{Body, Overview, View};
    use umtui_wire::activity::{EVIDENCE_FAULTS, WHY_NOT_ASKED};

    fn overview(without: &[(u16, u32, u32)]) -> Overview {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.umt");
        write_gpu(&path, without);
        let mut loaded = Loaded::load_all(&[path]).unwrap();
        match loaded.view(View::Overview { rows: 40, columns: 80 }).body {
            Body::Overview(overview) => overview,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_moved_and_why_is_seen_at_once() {
        let overview = overview(&[(EVIDENCE_FAULTS, WHY_NOT_ASKED, 0)]);
        assert!(overview.sees.contains(&"migrations".to_owned()) && !overview.sees.contains(&"page faults".to_owned()));
        assert!(
            overview.not[0].starts_with("page faults: not asked for; start with --um-faults"),
            "{:?}",
            overview.not
        );
        assert_eq!(overview.devices, [("GPU 0".to_owned(), "NVIDIA H200   141 GiB".to_owned())]);
        let moved: Vec<_> =
            overview.moved.iter().map(|one| (one.to_device, one.bytes, one.count, one.causes.join(" "))).collect();
        assert_eq!(
            moved,
            [(true, 65536 + (2 << 20), 2, "ahead fault".to_owned()), (false, 4096, 1, "fault".to_owned())]
        );
        assert!(overview.moved.iter().all(|one| one.per_second.is_none() && one.history.iter().any(|&rate| rate > 0)));
        let kernels: Vec<_> = overview.kernels.iter().map(|row| (row.name.as_str(), row.count)).collect();
        assert_eq!(kernels, [("scale(float*, unsigned long)", 2), ("odd\\x1b[2J", 2)]);
        assert_eq!(overview.more_kernels, 0);
    }
}

mod screens {
    use super::write_gpu;
    use crate::graph::{Column, Folds, Grouping};
    use crate::session::Loaded;
    use crate::session::view::*;
    use std::sync::Arc;

    fn loaded() -> (tempfile::TempDir, Loaded) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.umt");
        write_gpu(&path, &[]);
        let loaded = Loaded::load_all(&[path]).unwrap();
        (folder, loaded)
    }

    fn calls(loaded: &mut Loaded, grouping: Grouping, cursor: Option<NodeKey>) -> CallsRows {
        let folds = Arc::new(Folds { open_depth: 3, ..Folds::default() });
        let sort = (Column::Total, true);
        let request = CallsRequest { grouping, sort, folds, cursor, first: 0, rows: 90 };
        match loaded.view(View::Calls(request)).body {
            Body::Calls(rows) => rows,
            other => panic!("{other:?}"),
        }
    }

    fn lines(rows: &CallsRows) -> String {
        let line = |row: &CallRow| {
            let indent = "  ".repeat(usize::from(row.depth));
            let CallRow { label, count, total_ns, gpu, .. } = row;
            let of =
                |name: &str, value: Option<u64>| value.map_or_else(String::new, |value| format!(" {name}={value}"));
            let gpu = of("pieces", gpu.pieces) + &of("work", gpu.work_ns) + &of("bytes", gpu.bytes);
            format!("{indent}{label}: {count} {total_ns}{gpu}")
        };
        rows.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn by_stream_and_by_device_work_stands_beside_the_calls() {
        let (_folder, mut loaded) = loaded();
        insta::assert_snapshot!(lines(&calls(&mut loaded, Grouping::Stream, None)));
        insta::assert_snapshot!(lines(&calls(&mut loaded, Grouping::Device, None)));
    }

    #[test]
    fn of_a_kernel_is_told_what_its_fast_and_slow_launches_met() {
        let (_folder, mut loaded) = loaded();
        let rows = calls(&mut loaded, Grouping::Device, None);
        let kernel = rows.rows.iter().find(|row| row.label.starts_with("scale")).unwrap();
        let (key, launches) = calls(&mut loaded, Grouping::Device, Some(kernel.key)).launches.unwrap();
        assert_eq!((key, launches.compared), (kernel.key, 2));
        assert_eq!(launches.fast, Some(Half { min_ns: 2000, max_ns: 2000, moved: Some(0) }));
        assert_eq!(launches.slow, Some(Half { min_ns: 3000, max_ns: 3000, moved: Some(0) }));
        assert_eq!((launches.grid, launches.sites.len()), (None, 1));
        let other = rows.rows.iter().find(|row| row.kind == NodeKind::Migration).unwrap();
        assert_eq!(calls(&mut loaded, Grouping::Device, Some(other.key)).launches, None);
    }

    #[test]
    fn events_are_in_order_by_kind_and_lead_to_their_calls() {
        let (_folder, mut loaded) = loaded();
        let all = EventsRequest { node: None, at: EventsAt::Row(0), rows: 90, kinds: EventKinds::ALL, details: None };
        let mut events = |request| match loaded.view(View::Events(request)).body {
            Body::Events(rows) => rows,
            other => panic!("{other:?}"),
        };
        let rows = events(all);
        assert_eq!(rows.total, 3 + 7 + 6);
        assert!(rows.rows.is_sorted_by_key(|row| row.start_ns));
        let kernels = events(EventsRequest { kinds: EventKinds::only(EventGroup::Kernels), details: Some(1), ..all });
        let names: Vec<&str> = kernels.rows.iter().map(|row| row.name.as_str()).collect();
        let scale = "scale(float*, unsigned long)";
        assert_eq!(names, ["odd\\x1b[2J", scale, scale, "odd\\x1b[2J"]);
        let (row, details) = kernels.details.unwrap();
        let has = |name: &str, value: &str| details.iter().any(|field| field.0 == name && field.1.contains(value));
        assert!(row == 1 && has("launched by", "cuLaunchKernel") && has("pointers", "0x7f00"), "{details:?}");
        assert!(has("migrations", "none overlapped"), "{details:?}");
        let (track, call) = kernels.rows[1].launched_by.unwrap();
        let found = events(EventsRequest { at: EventsAt::Call(track, call), ..all });
        let at = usize::try_from(found.found.unwrap() - found.first).unwrap();
        assert_eq!((found.rows[at].name.as_str(), found.rows[at].group), ("cuLaunchKernel", EventGroup::Calls));
    }

    #[test]
    fn the_recorders_own_thread_is_none_of_the_programs() {
        let (_folder, mut loaded) = loaded();
        assert_eq!(loaded.trace().tracks.len(), 2);
        let rows = calls(&mut loaded, Grouping::Thread, None);
        let threads: Vec<&str> =
            rows.rows.iter().filter(|row| row.kind == NodeKind::Thread).map(|row| row.label.as_str()).collect();
        assert_eq!(threads, ["thread 1"]);
    }

    #[test]
    fn behind_a_kernels_row_are_its_launches() {
        let (_folder, mut loaded) = loaded();
        let rows = calls(&mut loaded, Grouping::Stream, None);
        for row in rows.rows.iter().filter(|row| row.kind.is_gpu()) {
            let node = Some((Grouping::Stream, row.key));
            let request = EventsRequest { node, at: EventsAt::End, rows: 9, kinds: EventKinds::ALL, details: None };
            let Body::Events(events) = loaded.view(View::Events(request)).body else { panic!() };
            assert_eq!(events.total, row.count, "{}", row.label);
            assert!(events.rows.iter().all(|event| event.name == row.label), "{}", row.label);
        }
    }
}
