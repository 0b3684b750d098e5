//! What happened under a program's ranges: by name along the path of enclosing ranges, so that "step > forward" is told from
//! "warm-up > forward".
//!
//! Work stands in the range that was open in the thread that submitted it, when it did. A thread without any, such as the
//! one in which PyTorch runs backward, works for the one thread of its process that has some open then; what is joined so
//! is counted apart. Migrations know of no thread: those that begin while a range is open overlap it, no more is said.

use rustc_hash::FxHashMap;

use super::ranges::{OUTSIDE, RangeIndex, RangeNode};
use super::stats::Sums;
use crate::correlate::submitting_call;
use crate::lens::Selected;
use crate::trace::activity::{Activity, ActivityKind, LaneId, LaneOf};
use crate::trace::range::RangeKind;
use crate::trace::{NameId, ProcessId, Trace, TrackId};
use umtui_wire::activity::{UNIFIED_TO_DEVICE, UNIFIED_TO_HOST};

/// Ranges of one name under the same enclosing ones, all processes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Under {
    /// Name.
    pub name: NameId,
    /// Domain; the empty name is the default one.
    pub domain: NameId,
    /// The enclosing ranges: an index into the list, lower than this one's.
    pub parent: Option<u32>,
    /// How many enclose it.
    pub depth: u16,
    /// How many there are, and how long they took.
    pub sums: Sums,
    /// Kernels and whole graphs that were submitted under them.
    pub kernels: u64,
    /// Their durations, ns.
    pub kernel_ns: u64,
    /// Of the kernels those whose thread had no range open, see above.
    pub by_time: u64,
    /// Bytes copied by what was submitted under them.
    pub copied_bytes: u64,
    /// Bytes that began to move to a device while they were open.
    pub to_device: u64,
    /// Likewise to the host.
    pub to_host: u64,
}

/// All of them, enclosing ones before those inside, otherwise in order of appearance. Of a lens what it selects counts.
#[must_use]
pub fn under(trace: &Trace, selected: Option<&Selected>) -> Vec<Under> {
    let mut index = RangeIndex::default();
    index.update(trace);
    let mut paths = Paths::of(trace, &index, selected);
    for id in (0..u16::MAX).map(ProcessId).take(trace.processes.len()) {
        let tracks = (0u32..).map(TrackId).zip(&trace.tracks).filter(|(_, track)| track.process == id);
        let with_ranges = |track: &TrackId| !trace.ranges.of(*track).is_empty();
        let tracks: Vec<TrackId> = tracks.map(|(track, _)| track).filter(with_ranges).collect();
        if tracks.is_empty() {
            continue;
        }
        let moved = Moved::of(trace, id, selected);
        paths.moved(trace, &index, &moved, &tracks, selected);
        for (lane_id, lane) in (0..).map(LaneId).zip(trace.activities.lanes()).filter(|(_, lane)| lane.process == id) {
            if matches!(lane.of, LaneOf::Stream { .. } | LaneOf::Rest) {
                lane.for_each(0, |row, activity| {
                    if selected.is_none_or(|selected| selected.record(lane_id, row)) {
                        paths.work(trace, &index, id, &activity, &tracks);
                    }
                });
            }
        }
    }
    paths.list
}

/// Paths of all processes, folded by name.
struct Paths {
    list: Vec<Under>,
    /// Place in the list of each path of the index.
    of: Vec<Option<u32>>,
}

impl Paths {
    fn of(trace: &Trace, index: &RangeIndex, selected: Option<&Selected>) -> Self {
        let mut paths = Self { list: Vec::new(), of: vec![None] };
        let mut ids: FxHashMap<(Option<u32>, NameId, NameId), u32> = FxHashMap::default();
        let stats = match selected {
            Some(selected) => index.stats_of(trace, |track, row| selected.range(track, row)),
            None => index.stats(),
        };
        for (node, stats) in (OUTSIDE..).zip(stats).skip(1) {
            let Some(path) = index.path(node) else { break };
            let parent = paths.of.get(path.parent as usize).copied().flatten();
            let (name, domain) = (trace.activities.name(path.name), trace.activities.name(path.domain));
            let next = u32::try_from(paths.list.len()).unwrap_or(u32::MAX);
            let id = *ids.entry((parent, name, domain)).or_insert(next);
            if id == next {
                let outer = parent.and_then(|parent| paths.list.get(parent as usize));
                let depth = outer.map_or(0, |outer| outer.depth.saturating_add(1));
                paths.list.push(Under { name, domain, parent, depth, ..Under::default() });
            }
            if let Some(under) = paths.list.get_mut(id as usize) {
                under.sums.add(&stats.sums);
            }
            paths.of.push(Some(id));
        }
        paths
    }

    fn place(&self, node: RangeNode) -> Option<u32> {
        self.of.get(node as usize).copied().flatten()
    }

    /// Adds to each path what moved while its ranges were open.
    fn moved(
        &mut self,
        trace: &Trace,
        index: &RangeIndex,
        moved: &Moved,
        tracks: &[TrackId],
        selected: Option<&Selected>,
    ) {
        for &track in tracks {
            let rows = trace.ranges.of(track).iter().enumerate().filter(|(_, range)| range.kind != RangeKind::Mark);
            let seen = |row: usize| selected.is_none_or(|selected| selected.range(track, row));
            for (row, range) in rows.filter(|&(row, _)| seen(row)) {
                let (to_device, to_host) = moved.within(range.start_ns, range.end_ns().unwrap_or(u64::MAX));
                let place = self.place(index.node_of(track, row));
                if let Some(under) = place.and_then(|place| self.list.get_mut(place as usize)) {
                    under.to_device = under.to_device.saturating_add(to_device);
                    under.to_host = under.to_host.saturating_add(to_host);
                }
            }
        }
    }

    fn work(&mut self, trace: &Trace, index: &RangeIndex, process: ProcessId, activity: &Activity, tracks: &[TrackId]) {
        let Some((track, _, call)) = submitting_call(trace, process, activity.correlation) else { return };
        let own = index.at(track, call.start_ns);
        let mut open = tracks.iter().map(|&track| index.at(track, call.start_ns)).filter(|&node| node != OUTSIDE);
        let (node, by_time) = match (own, open.next(), open.next()) {
            (OUTSIDE, Some(only), None) => (only, true),
            _ => (own, false),
        };
        let mut place = self.place(node);
        while let Some(under) = place.and_then(|place| self.list.get_mut(place as usize)) {
            match activity.kind {
                ActivityKind::Kernel | ActivityKind::Graph => {
                    under.kernels += 1;
                    under.kernel_ns = under.kernel_ns.saturating_add(activity.duration_ns);
                    under.by_time += u64::from(by_time);
                }
                ActivityKind::Copy => under.copied_bytes = under.copied_bytes.saturating_add(activity.value),
                _ => {}
            }
            place = under.parent;
        }
    }
}

/// Bytes that moved, summed up in order of time.
#[derive(Default)]
struct Moved {
    starts: Vec<u64>,
    /// Up to and with each: to devices, to the host.
    sums: Vec<(u64, u64)>,
}

impl Moved {
    fn of(trace: &Trace, process: ProcessId, selected: Option<&Selected>) -> Self {
        let mut rows: Vec<(u64, u64, u64)> = Vec::new();
        for (id, lane) in (0..).map(LaneId).zip(trace.activities.lanes()).filter(|(_, lane)| lane.process == process) {
            if lane.of == LaneOf::Unified {
                lane.for_each(0, |row, activity| match activity.unified().0 {
                    _ if selected.is_some_and(|selected| !selected.record(id, row)) => {}
                    UNIFIED_TO_DEVICE => rows.push((activity.start_ns, activity.value, 0)),
                    UNIFIED_TO_HOST => rows.push((activity.start_ns, 0, activity.value)),
                    _ => {}
                });
            }
        }
        rows.sort_unstable();
        let mut moved = Self::default();
        let mut sum = (0u64, 0u64);
        for (start, to_device, to_host) in rows {
            sum = (sum.0.saturating_add(to_device), sum.1.saturating_add(to_host));
            moved.starts.push(start);
            moved.sums.push(sum);
        }
        moved
    }

    fn before(&self, ns: u64) -> (u64, u64) {
        let at = self.starts.partition_point(|&start| start < ns);
        at.checked_sub(1).and_then(|at| self.sums.get(at)).copied().unwrap_or_default()
    }

    fn within(&self, from: u64, to: u64) -> (u64, u64) {
        let (first, last) = (self.before(from), self.before(to));
        (last.0.saturating_sub(first.0), last.1.saturating_sub(first.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::activity::{Submit, TextId};
    use crate::trace::range::Begun;
    use crate::trace::{Call, CallFlags, Layer, NO_DEVICE, Process, Signature, SiteId, StreamId};

    const P: ProcessId = ProcessId(0);

    struct Made(Trace);

    impl Made {
        fn new() -> Self {
            let mut trace = Trace::default();
            trace.add_process(Process::default()).unwrap();
            Self(trace)
        }

        fn text(&mut self, name: &str) -> TextId {
            let id = self.0.names.intern(name);
            self.0.activities.text(P, 1000 + id.0, Some(id))
        }

        fn range(&mut self, thread: u32, name: &str, (start, end): (u64, Option<u64>)) {
            let track = self.0.track_of(P, thread);
            let name = self.text(name);
            let begun = Begun { ns: start, name, domain: TextId::default(), color: 0, level: 0, id: 0, place: 0 };
            self.0.ranges.push(track, &begun);
            if let Some(end) = end {
                self.0.ranges.pop(track, TextId::default(), end);
            }
        }

        fn nested(&mut self, thread: u32, name: &str, (start, end): (u64, u64), inner: &[(&str, u64, u64)]) {
            let track = self.0.track_of(P, thread);
            let begun = |made: &mut Self, name: &str, ns| {
                let name = made.text(name);
                Begun { ns, name, domain: TextId::default(), color: 0, level: 0, id: 0, place: 0 }
            };
            let outer = begun(self, name, start);
            self.0.ranges.push(track, &outer);
            for &(name, from, to) in inner {
                let range = begun(self, name, from);
                self.0.ranges.push(track, &range);
                self.0.ranges.pop(track, TextId::default(), to);
            }
            self.0.ranges.pop(track, TextId::default(), end);
        }

        fn kernel(&mut self, thread: u32, called: u64, (start_ns, duration_ns): (u64, u64), correlation: u32) {
            let track = self.0.track_of(P, thread);
            let api = self.0.api_of("cuLaunchKernel", Layer::Driver, Signature::default());
            let call = Call {
                start_ns: called,
                duration_ns: 1,
                api,
                site: SiteId(0),
                stream: StreamId::NONE,
                device: NO_DEVICE,
                depth: 0,
                flags: CallFlags(0),
                extra: 0,
            };
            let row = self.0.tracks[track.index()].len() as u32;
            self.0.tracks[track.index()].push(call, 0);
            self.0.activities.of_mut(P).submits.push(Submit { correlation, track, row });
            let kernel = Activity { start_ns, duration_ns, correlation, ..Activity::default() };
            self.0.activities.push(P, LaneOf::Stream { context: 1, stream: 7 }, &kernel, 0);
        }

        fn moves(&mut self, start_ns: u64, detail: u16, value: u64) {
            let moved =
                Activity { kind: ActivityKind::Unified, start_ns, detail: detail as u8, value, ..Activity::default() };
            self.0.activities.push(P, LaneOf::Unified, &moved, 0);
        }

        fn named(&self) -> Vec<(String, u16, u64, u64, u64)> {
            let of = |one: &Under| {
                (self.0.names.get(one.name).to_owned(), one.depth, one.sums.count, one.kernels, one.kernel_ns)
            };
            under(&self.0, None).iter().map(of).collect()
        }
    }

    #[test]
    fn kernels_lie_in_the_ranges_that_were_open_when_they_were_submitted() {
        let mut made = Made::new();
        made.nested(1, "step", (100, 200), &[("forward", 110, 130), ("backward", 140, 160)]);
        made.nested(1, "step", (200, 300), &[("forward", 210, 230)]);
        // It runs after the range has ended.
        made.kernel(1, 120, (500, 10), 1);
        made.kernel(1, 135, (510, 20), 2);
        made.kernel(1, 150, (530, 30), 3);
        made.kernel(1, 220, (560, 40), 4);
        made.kernel(1, 300, (600, 50), 5);
        let expected = [
            ("step".to_owned(), 0, 2, 4, 100),
            ("forward".to_owned(), 1, 2, 2, 50),
            ("backward".to_owned(), 1, 1, 1, 30),
        ];
        assert_eq!(made.named(), expected);
        assert_eq!(under(&made.0, None)[0].sums.min_ns, 100);
    }

    #[test]
    fn a_thread_without_ranges_works_for_the_only_one_that_has_some() {
        let mut made = Made::new();
        made.nested(1, "step", (100, 200), &[("backward", 140, 160)]);
        made.kernel(2, 150, (150, 30), 1);
        made.kernel(2, 250, (250, 30), 2);
        let found = under(&made.0, None);
        assert_eq!((found[1].kernels, found[1].by_time, found[0].kernels), (1, 1, 1));
        // With two such threads nobody knows for which.
        made.range(3, "other", (90, None));
        let found = under(&made.0, None);
        assert_eq!((found[1].kernels, found[2].kernels, found[2].sums.running), (0, 1, 1));
    }

    #[test]
    fn the_same_name_elsewhere_is_another_path_and_migrations_overlap() {
        let mut made = Made::new();
        made.nested(1, "warm-up", (0, 50), &[("forward", 10, 20)]);
        made.nested(1, "step", (100, 200), &[("forward", 110, 130)]);
        made.moves(120, UNIFIED_TO_DEVICE, 4096);
        made.moves(150, UNIFIED_TO_HOST, 100);
        made.moves(250, UNIFIED_TO_HOST, 7);
        let found = under(&made.0, None);
        let moved: Vec<_> = found.iter().map(|one| (one.to_device, one.to_host)).collect();
        assert_eq!(moved, [(0, 0), (0, 0), (4096, 100), (4096, 0)]);
        assert_eq!(found[3].parent, Some(2));
    }
}
