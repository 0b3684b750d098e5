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
