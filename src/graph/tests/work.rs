//! What the GPU did, beside the calls: against a twin that looks at every record, and live against reopened.

use super::*;
use crate::trace::activity::Submit;
use crate::trace::{Activity, ActivityKind, LaneOf, Layer, NO_DEVICE, Process, Signature, Trace};

/// Something that a reader reads.
#[derive(Clone, Copy, Debug)]
enum Read {
    /// A call on a stream (0: it takes none), and what it submitted.
    Call { stream: u16, correlation: u32 },
    /// A record of a lane.
    Record { lane: u32, kind: usize, name: u32, device: u8, correlation: u32, length: u64, timed: bool },
}

fn read() -> impl Strategy<Value = Read> {
    let record = (0u32..4, 0usize..9, 0u32..3, 0u8..2, 0u32..24, 0u64..1000, prop::bool::weighted(0.9)).prop_map(
        |(lane, kind, name, device, correlation, length, timed)| Read::Record {
            lane,
            kind,
            name,
            device,
            correlation,
            length,
            timed,
        },
    );
    prop_oneof![
        1 => (0u16..3, 1u32..24).prop_map(|(stream, correlation)| Read::Call { stream, correlation }),
        2 => record,
    ]
}

fn activity(read: Read, trace: &mut Trace) -> Option<(LaneOf, Activity)> {
    let Read::Record { lane, kind, name, device, correlation, length, timed } = read else { return None };
    let kind = ActivityKind::ALL[kind];
    let value = match kind {
        // Of half of the names the definition comes later.
        ActivityKind::Kernel => u64::from(trace.activities.text(ProcessId(0), 10 + name, None).0),
        _ => length * 3,
    };
    let of = match kind {
        ActivityKind::Unified => LaneOf::Unified,
        kind if kind.is_work() => LaneOf::Stream { context: 1, stream: lane },
        _ => LaneOf::Host,
    };
    let device = if kind == ActivityKind::Unified && name == 0 { NO_DEVICE } else { device };
    let detail = 1 + (length % 8) as u8;
    let (start_ns, duration_ns) = (length, length);
    let rest = Activity::default();
    Some((of, Activity { kind, start_ns, duration_ns, timed, detail, device, value, correlation, ..rest }))
}

struct Made {
    trace: Trace,
    gpu: Gpu,
    rows: Vec<Rows>,
}

impl Made {
    fn new() -> Self {
        let mut trace = Trace::default();
        trace.add_process(Process { pid: 7, ..Process::default() }).unwrap();
        let api = trace.api_of("cuLaunchKernel", Layer::Driver, Signature::default());
        assert_eq!(api, ApiId(0));
        for handle in [5, 6] {
            trace.streams.created(ProcessId(0), handle, 1, 2, 0);
        }
        trace.track_of(ProcessId(0), 7);
        Self { trace, gpu: Gpu::default(), rows: [Grouping::Stream, Grouping::Device].map(Rows::new).into() }
    }

    fn take(&mut self, read: Read) {
        if let Some((of, activity)) = activity(read, &mut self.trace) {
            self.trace.activities.push(ProcessId(0), of, &activity, 0);
        } else if let Read::Call { stream, correlation } = read {
            let stream = stream.checked_sub(1).map_or(StreamId::NONE, StreamId);
            let row = u32::try_from(self.trace.tracks[0].len()).unwrap();
            let start = u64::from(row) * 10;
            self.trace.tracks[0].push(Call { stream, ..call(start, start + 5, 0, 0) }, 0);
            let submits = &mut self.trace.activities.of_mut(ProcessId(0)).submits;
            submits.push(Submit { correlation, track: TrackId(0), row });
        }
    }

    /// The names of kernels come.
    fn define(&mut self) {
        for name in 0..3 {
            let id = self.trace.names.intern(&format!("kernel{}", name / 2));
            self.trace.activities.define_text(ProcessId(0), 10 + name, id);
        }
    }

    fn show(&mut self) {
        self.gpu.update(&self.trace);
        let places = self.gpu.work.places(&self.trace);
        for rows in &mut self.rows {
            let trace = &self.trace;
            rows.refresh(&Cells::default(), Cells::default(), trace);
            rows.refresh_work(&self.gpu.work, &places, |text| trace.activities.name(text), trace);
        }
    }

    fn seen(&self) -> BTreeMap<(usize, NodeKey), (u16, OnGpu, Stats)> {
        let mut seen = BTreeMap::new();
        for (at, rows) in self.rows.iter().enumerate() {
            for id in (1..).take(rows.len() - 1) {
                let row = rows.get(id).unwrap();
                if row.any() {
                    let stats = rows.work_stats(id, &self.gpu.work);
                    seen.insert((at, row.key), (row.depth, *row.on_gpu(), stats));
                }
            }
        }
        seen
    }

    /// Records and durations by the names of the rows above them.
    fn paths(&self) -> BTreeMap<Vec<String>, (u64, u64)> {
        let mut paths = BTreeMap::new();
        for rows in &self.rows {
            for id in (1..).take(rows.len() - 1) {
                let row = rows.get(id).unwrap();
                let (mut path, mut above) = (vec![format!("{:?}", row.what)], row.parent);
                while above != TOP {
                    path.insert(0, format!("{:?}", rows.get(above).unwrap().what));
                    above = rows.parent(above);
                }
                if row.any() {
                    paths.insert(path, (row.on_gpu().records, row.on_gpu().sums.total_ns));
                }
            }
        }
        paths
    }
}

/// The stream of a lane: that of the call with the smallest id among the first sixteen that names one.
fn stream_of(lane: u32, reads: &[Read]) -> String {
    let mut ids: Vec<u32> = reads
        .iter()
        .filter_map(|read| match read {
            Read::Record { lane: own, kind, correlation, .. }
                if *own == lane && ActivityKind::ALL[*kind].is_work() && *correlation > 0 =>
            {
                Some(*correlation)
            }
            _ => None,
        })
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let named = |id: &u32| {
        let mut calls = reads.iter().filter_map(|read| match read {
            Read::Call { stream, correlation } if correlation == id => Some(*stream),
            _ => None,
        });
        calls.next().filter(|&stream| stream > 0)
    };
    match ids.iter().take(16).find_map(named) {
        Some(stream) => format!("{:?}", What::Stream(StreamId(stream - 1))),
        None => format!("{:?}", What::Ids(ProcessId(0), 1, lane)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn live_equals_reopened_and_the_twin(
        reads in prop::collection::vec(read(), 0..80),
        shown in prop::collection::vec(any::<bool>(), 80),
        order in prop::collection::vec(any::<u32>(), 80),
        defined in 0usize..80,
    ) {
        // Of several calls that claim the same work the first one read counts, so there is but one of each.
        let mut claimed = std::collections::BTreeSet::new();
        let reads: Vec<Read> = reads.into_iter().filter(|read| match read {
            Read::Call { correlation, .. } => claimed.insert(*correlation),
            Read::Record { .. } => true,
        }).collect();
        let mut whole = Made::new();
        reads.iter().for_each(|read| whole.take(*read));
        whole.define();
        whole.show();

        let mut live = Made::new();
        let mut turned: Vec<(u32, Read)> = order.into_iter().zip(reads.iter().copied()).collect();
        turned.sort_by_key(|turn| turn.0);
        for (at, (_, read)) in turned.into_iter().enumerate() {
            live.take(read);
            if at == defined {
                live.define();
            }
            if shown[at] {
                live.show();
            }
        }
        live.define();
        live.show();
        prop_assert_eq!(live.seen(), whole.seen());

        let mut twin: BTreeMap<Vec<String>, (u64, u64)> = BTreeMap::new();
        let process = format!("{:?}", What::Process(ProcessId(0)));
        for read in &reads {
            let Some((of, activity)) = activity(*read, &mut Made::new().trace) else { continue };
            let Read::Record { lane, name, .. } = *read else { continue };
            let Some(work) = WorkOf::of(&activity) else { continue };
            let what = match work {
                WorkOf::Kernel(_) => What::Kernel(whole.trace.names.find(&format!("kernel{}", name / 2)).unwrap()),
                WorkOf::Copy(kind, pageable) => What::Copy(kind, pageable),
                WorkOf::Set => What::Set,
                WorkOf::Graph => What::Graph,
                WorkOf::Unified(counter, flags) => What::Unified(counter, flags),
            };
            let leaf = format!("{what:?}");
            let mut paths = vec![vec![format!("{:?}", What::Device(NameId::NONE, activity.device)), leaf.clone()]];
            if matches!(of, LaneOf::Stream { .. }) {
                paths.push(vec![process.clone(), stream_of(lane, &reads), leaf]);
            }
            let ns = if activity.timed && !work.is_moment() { activity.duration_ns } else { 0 };
            for path in paths {
                for length in 1..=path.len() {
                    let sum = twin.entry(path[..length].to_vec()).or_default();
                    sum.0 += 1;
                    // Above itself only work of streams counts as such.
                    sum.1 += if length == path.len() || work.is_work() { ns } else { 0 };
                }
            }
        }
        prop_assert_eq!(whole.paths(), twin);
    }
}
