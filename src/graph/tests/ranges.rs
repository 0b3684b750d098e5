//! Rows by range: against a twin that keeps the open ranges in a list, and live against reopened.

use super::*;
use crate::trace::activity::Submit;
use crate::trace::range::Begun;
use crate::trace::{Activity, ActivityKind, LaneOf, Layer, Process, Signature, Trace};

#[derive(Clone, Copy, Debug)]
enum Step {
    Push { domain: u32, name: u32 },
    Pop { domain: u32 },
    Call { length: u64, kernel: bool },
}

fn step() -> impl Strategy<Value = (u32, Step, u64)> {
    let step = prop_oneof![
        2 => (0u32..2, 0u32..3).prop_map(|(domain, name)| Step::Push { domain, name }),
        2 => (0u32..2).prop_map(|domain| Step::Pop { domain }),
        2 => (0u64..9, any::<bool>()).prop_map(|(length, kernel)| Step::Call { length, kernel }),
    ];
    (0u32..2, step, 0u64..9)
}

/// Of a thread its moment and its open ranges: domain, path, start.
type Thread = (u64, Vec<(u32, Vec<String>, u64)>);

struct Made {
    trace: Trace,
    names: Vec<NameId>,
    tree: Tree,
    work: RangeWork,
    rows: Rows,
    threads: [Thread; 2],
    kernels: Vec<Activity>,
    /// By path: count, running, durations, records of the GPU.
    twin: BTreeMap<Vec<String>, (u64, u64, u64, u64)>,
}

impl Made {
    fn new() -> Self {
        let mut trace = Trace::default();
        trace.add_process(Process { pid: 7, ..Process::default() }).unwrap();
        trace.api_of("cuLaunchKernel", Layer::Driver, Signature::default());
        for thread in 0..2 {
            trace.track_of(ProcessId(0), thread);
        }
        let names = (0..3).map(|name| trace.names.intern(&format!("name{name}"))).collect();
        Self {
            trace,
            names,
            tree: Tree::by_range(),
            work: RangeWork::default(),
            rows: Rows::new(Grouping::Range),
            threads: Default::default(),
            kernels: Vec::new(),
            twin: BTreeMap::new(),
        }
    }

    fn take(&mut self, (track, step, passes): (u32, Step, u64)) {
        let thread = &mut self.threads[track as usize];
        // Of pushes and pops of several domains in one nanosecond nobody knows the order.
        thread.0 += passes + 1;
        let (now, id) = (thread.0, TrackId(track));
        // Names that are told before they are used, and such that come later.
        let text = |trace: &mut Trace, name: u32, names: &[NameId]| {
            let known = (name > 0).then(|| names[name as usize]);
            trace.activities.text(ProcessId(0), 10 + name, known)
        };
        match step {
            Step::Push { domain, name } => {
                let name_text = text(&mut self.trace, name, &self.names);
                let domain_text = if domain == 0 { Default::default() } else { text(&mut self.trace, 2, &self.names) };
                let begun = Begun {
                    ns: now,
                    name: name_text,
                    domain: domain_text,
                    color: 0,
                    level: thread.1.len() as u16,
                    id: 0,
                    place: 0,
                };
                self.trace.ranges.push(id, &begun);
                let mut path = thread.1.last().map_or(Vec::new(), |open| open.1.clone());
                let domain_name = if domain == 0 { NameId::NONE } else { self.names[2] };
                path.push(format!("{:?}", What::Range(domain_name, self.names[name as usize])));
                self.twin.entry(path.clone()).or_default().1 += 1;
                thread.1.push((domain, path, now));
            }
            Step::Pop { domain } => {
                let Some(at) = thread.1.iter().rposition(|open| open.0 == domain) else { return };
                let (_, path, start) = thread.1.remove(at);
                let domain_text = if domain == 0 { Default::default() } else { text(&mut self.trace, 2, &self.names) };
                self.trace.ranges.pop(id, domain_text, now);
                let sums = self.twin.get_mut(&path).unwrap();
                *sums = (sums.0 + 1, sums.1 - 1, sums.2 + now - start, sums.3);
            }
            Step::Call { length, kernel } => {
                // No call begins or ends in the nanosecond in which its thread pushes or pops.
                let now = now + 1;
                let mut path = thread.1.last().map_or(vec![format!("{:?}", What::Outside)], |open| open.1.clone());
                let row = u32::try_from(self.trace.tracks[track as usize].len()).unwrap();
                self.trace.tracks[track as usize].push(call(now, now + length, 0, 0), 0);
                thread.0 = now + length + 1;
                if kernel {
                    let correlation = 1 + row * 2 + track;
                    self.trace.activities.of_mut(ProcessId(0)).submits.push(Submit { correlation, track: id, row });
                    self.kernels.push(Activity {
                        kind: ActivityKind::Kernel,
                        start_ns: now,
                        duration_ns: 5,
                        correlation,
                        ..Activity::default()
                    });
                    for length in 1..=path.len() {
                        self.twin.entry(path[..length].to_vec()).or_default().3 += 1;
                    }
                    let own = [path.clone(), vec![format!("{:?}", What::Kernel(NameId::NONE))]].concat();
                    let sums = self.twin.entry(own).or_default();
                    *sums = (sums.0 + 1, 0, sums.2 + 5, sums.3 + 1);
                }
                if thread.1.is_empty() {
                    let sums = self.twin.entry(path.clone()).or_default();
                    *sums = (sums.0 + 1, 0, sums.2 + length, sums.3);
                }
                path.push(format!("{:?}", What::Call(ApiId(0))));
                let sums = self.twin.entry(path).or_default();
                *sums = (sums.0 + 1, 0, sums.2 + length, sums.3);
            }
        }
    }

    fn deliver(&mut self) {
        for kernel in std::mem::take(&mut self.kernels) {
            self.trace.activities.push(ProcessId(0), LaneOf::Rest, &kernel, 0);
        }
    }

    fn show(&mut self) {
        self.tree.update(&self.trace);
        let ranges = self.tree.ranges().unwrap();
        self.work.update(&self.trace, &ranges);
        if self.rows.is_provisional() {
            self.rows = Rows::new(Grouping::Range);
        }
        self.rows.refresh(self.tree.cells(), self.tree.unfinished(|_| &[], 2), &self.trace);
        self.rows.refresh_ranges(&ranges, self.work.work(), &self.trace);
    }

    fn seen(&self) -> BTreeMap<Vec<String>, (u64, u64, u64, u64)> {
        let mut seen = BTreeMap::new();
        for id in (1..).take(self.rows.len() - 1) {
            let row = self.rows.get(id).unwrap();
            let (mut path, mut above) = (vec![format!("{:?}", row.what)], row.parent);
            while above != TOP {
                path.insert(0, format!("{:?}", self.rows.get(above).unwrap().what));
                above = self.rows.parent(above);
            }
            if row.any() {
                let sums = row.sums();
                seen.insert(path, (sums.count, sums.running, sums.total_ns, row.on_gpu().records));
                if matches!(row.what, What::Range(..)) {
                    assert_eq!(self.rows.range_stats(id).histogram.count(), sums.count);
                }
            }
        }
        seen
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn calls_and_kernels_stand_in_their_ranges(
        steps in prop::collection::vec(step(), 0..60),
        shown in prop::collection::vec((any::<bool>(), any::<bool>()), 60),
        defined in 0usize..60,
    ) {
        let mut whole = Made::new();
        let mut live = Made::new();
        for (at, step) in steps.into_iter().enumerate() {
            whole.take(step);
            live.take(step);
            if at == defined {
                live.trace.activities.define_text(ProcessId(0), 10, live.names[0]);
            }
            if shown[at].0 {
                live.deliver();
            }
            if shown[at].1 {
                live.show();
            }
        }
        for made in [&mut live, &mut whole] {
            made.trace.activities.define_text(ProcessId(0), 10, made.names[0]);
            made.deliver();
            made.show();
        }
        prop_assert_eq!(live.seen(), whole.seen());
        prop_assert_eq!(whole.seen(), whole.twin);
    }
}
