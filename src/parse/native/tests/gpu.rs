//! Records of the GPU, of evidence and of ranges, made at random beside the calls.

use super::made::{Maker, START};
use crate::trace::activity::Device;
use crate::trace::activity::raw::Submitted;
use crate::trace::{ActivityKind, Trace};
use umtui_wire::activity::*;
use umtui_wire::record::Head;

/// Driver's time of the moment that is zero on the axis, ns.
pub const DRIVER: u64 = 1_700_000_000_000_000_000;
/// The thread that collects records.
const COLLECTOR: u32 = 77_000;

/// What a record says, in the maker's words: start and duration, ns, value and correlation id.
pub type KnownWork = (ActivityKind, u64, u64, u64, u32);

pub fn devices(maker: &mut Maker) {
    let name = maker.writer.string(b"NVIDIA \x1b[1mH200").unwrap();
    let device = Device {
        memory_bytes: 150 << 30,
        capability: (9, 0),
        multiprocessors: 132,
        pci: (0, 7, 1),
        bits: 3,
        uuid: [5, 6],
        ..Device::default()
    };
    maker.writer.device(0, name, &device).unwrap();
}

impl Maker {
    fn axis_ns(&self, ticks: u64) -> u64 {
        let rate = umtui_wire::clock::Rate::new(self.rate);
        77_000_000_000 + rate.ns(ticks - START)
    }

    /// What happened on the GPU up to `now`, ticks, written by the collector or by an application's thread.
    pub fn collect(&mut self, thread: u32, now: u64) {
        let thread = if self.random.one_in(3) { thread } else { COLLECTOR };
        let now = now.max(self.collected.get(&thread).copied().unwrap_or(0));
        self.collected.insert(thread, now);
        self.busy_until.entry(thread).and_modify(|until| *until = (*until).max(now));
        let now_ns = self.axis_ns(now);
        let width = self.random.below(3000);
        let word = |kind, a, b| Head { kind, extra: 0, a, b }.word();
        let clock = [word(KIND_GPU_CLOCK, 0, 0), now, DRIVER + now_ns, width, DRIVER + now_ns, 0];
        self.writer.record(thread, &clock, now).unwrap();
        self.error = self.error.max(width);
        for _ in 0..self.random.below(6) {
            let end = now_ns - self.random.below(1000);
            let longest = if self.random.one_in(50) { 7_000_000 } else { 900 };
            let start = end - self.random.below(longest);
            let start = start.max(77_000_000_000);
            self.work(thread, now, start, end.max(start));
        }
        if self.random.one_in(40) {
            let statement = [
                word(KIND_EVIDENCE, 1 + self.random.below(7) as u16, self.random.below(11) as u32),
                now,
                u64::from(self.strings[1]),
                35,
                130_000,
                0,
            ];
            self.writer.record(thread, &statement, now).unwrap();
            let dropped = [word(KIND_DROPPED, 0, 0), now, if self.random.one_in(5) { u64::MAX } else { 3 }, 0, 0, 0];
            self.writer.record(thread, &dropped, now).unwrap();
        }
    }

    #[allow(clippy::too_many_lines, reason = "a record of each kind")]
    fn work(&mut self, thread: u32, now: u64, start_ns: u64, end_ns: u64) {
        let (start, end) = (DRIVER + start_ns, DRIVER + end_ns);
        let correlation = self.random.below(1 << 20) as u32;
        let (context, stream) = (1, 7 + self.random.below(4) as u32);
        let large = if self.random.one_in(20) { 1 << 40 } else { 0 };
        let bytes = large + self.random.below(1 << 22);
        let short = |head: u64| head & !0xff00;
        let writer = &mut self.writer;
        let (kind, value, id) = match self.random.0 % 9 {
            0 | 1 => {
                let head = Kernel::head(KIND_KERNEL, 0, correlation);
                let kernel = Kernel {
                    head,
                    start,
                    end,
                    name: self.strings[0],
                    context,
                    stream,
                    grid: [5, 1, 1],
                    ..Kernel::default()
                };
                writer.record(thread, &kernel, now).unwrap();
                (ActivityKind::Kernel, 0, correlation)
            }
            2 => {
                let head = short(Copied::head(KIND_COPY, 1, correlation));
                let copy =
                    Copied { head, start, end, bytes, context, stream, kind: 1, from: 1, to: 3, ..Copied::default() };
                writer.record(thread, &copy, now).unwrap();
                (ActivityKind::Copy, bytes, correlation)
            }
            3 => {
                let set = Set {
                    head: Set::head(KIND_SET, 1, correlation),
                    start,
                    end,
                    bytes,
                    context,
                    stream,
                    node: 9,
                    ..Set::default()
                };
                writer.record(thread, &set, now).unwrap();
                (ActivityKind::Set, bytes, correlation)
            }
            4 => {
                let wait = Wait {
                    head: Wait::head(KIND_WAIT, 0, correlation),
                    start,
                    end,
                    context,
                    stream,
                    kind: 3,
                    event: NONE,
                    event_sync: 0,
                };
                writer.record(thread, &wait, now).unwrap();
                (ActivityKind::Wait, u64::from(stream), correlation)
            }
            5 => {
                let head = Memory::head(KIND_MEMORY, 0, correlation);
                let memory =
                    Memory { head, time: start, address: 0x7f00_0000, bytes, operation: 1, ..Memory::default() };
                writer.record(thread, &memory, now).unwrap();
                self.works.push((ActivityKind::Memory, start_ns, 0, bytes, correlation));
                return;
            }
            6 => {
                let head = GraphRun::head(KIND_GRAPH, 0, correlation);
                writer
                    .record(
                        thread,
                        &GraphRun { head, start, end, graph: 4, context, stream, ..GraphRun::default() },
                        now,
                    )
                    .unwrap();
                (ActivityKind::Graph, 4, correlation)
            }
            _ => {
                let counter = 1 + self.random.below(8) as u16;
                let head = short(Unified::head(KIND_UNIFIED, counter, 2));
                let unified = Unified {
                    head,
                    start,
                    end,
                    value: bytes,
                    address: 0x7f00_0000_0000 + bytes * 4096,
                    from: NONE,
                    to: 0,
                    ..Unified::default()
                };
                writer.record(thread, &unified, now).unwrap();
                if matches!(counter, UNIFIED_CPU_FAULT | UNIFIED_THRASHING | UNIFIED_REMOTE_MAP) {
                    let value = if counter == UNIFIED_CPU_FAULT { 0 } else { bytes };
                    self.works.push((ActivityKind::Unified, start_ns, 0, value, 0));
                    return;
                }
                (ActivityKind::Unified, bytes, 0)
            }
        };
        self.works.push((kind, start_ns, end_ns - start_ns, value, id));
    }

    /// A thread's range begins, ends, or a mark.
    pub fn range(&mut self, thread: u32, now: u64) {
        self.busy_until.insert(thread, now);
        let kind = [
            KIND_RANGE_PUSH,
            KIND_RANGE_PUSH,
            KIND_RANGE_POP,
            KIND_RANGE_POP,
            KIND_RANGE_START,
            KIND_RANGE_END,
            KIND_MARK,
        ][self.random.below(7) as usize];
        if kind == KIND_RANGE_START {
            self.range_ids += 1;
        }
        let id = if matches!(kind, KIND_RANGE_START | KIND_RANGE_END) { self.range_ids } else { 0 };
        if kind == KIND_RANGE_END && !self.open_ranges.remove(&id) {
            return;
        }
        if kind == KIND_RANGE_START {
            self.open_ranges.insert(id);
        }
        let domain = if self.random.one_in(2) { 0 } else { self.strings[2] };
        let range = Range {
            head: Range::head(kind, 1, 0),
            ticks: now,
            name: self.strings[1],
            domain,
            color: 0xff00_ff00,
            id,
            ..Range::default()
        };
        self.writer.record(thread, &range, now).unwrap();
        self.range_records += 1;
    }

    /// Says that the next call submits work.
    pub fn submit(&mut self, thread: u32, start: u64) -> u32 {
        self.correlation += 1;
        let pointers = (0..self.random.below(34)).map(|_| self.random.draw()).collect();
        let cut = self.random.one_in(4);
        let submitted = Submitted { correlation: self.correlation, node: self.random.below(3), pointers, cut };
        self.writer.submit(thread, start, &submitted).unwrap();
        self.correlation
    }
}

/// All work of a trace, in the maker's words and sorted.
pub fn works(trace: &Trace) -> Vec<KnownWork> {
    let mut works = Vec::new();
    for lane in trace.activities.lanes() {
        lane.for_each(0, |_, activity| {
            let value = if activity.kind == ActivityKind::Kernel {
                assert_eq!(trace.names.get(trace.activities.kernel_name(&activity)), "_Z6kernelPf");
                0
            } else {
                activity.value
            };
            assert!(activity.timed);
            works.push((activity.kind, activity.start_ns, activity.duration_ns, value, activity.correlation));
        });
    }
    works.sort_unstable();
    works
}
