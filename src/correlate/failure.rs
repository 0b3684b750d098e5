//! Failed calls: which was the first, which errors stay for good and who returned them first, what was expected.
//!
//! A driver call that fails inside a call that succeeds was expected to: it is handled inside. Of the others the first one of
//! each process is kept, and of each device the first that returned an error after which nothing works any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::trace::{ApiId, Bytes, Call, ProcessId, SiteId, Trace, TrackId};

use super::calls::{Found, Records};
use super::reason;
use super::suspect::{Suspects, suspects};

/// Errors after which every further call in the context fails: the process has to be started anew, as CUDA's
/// documentation of each says, or the device has met an error that cannot be corrected.
const STICKY: [u32; 14] = [214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 809];

/// The driver is shutting down: what the runtime of every program is told when it gives back what it has at the end.
const DEINITIALIZED: u32 = 4;

/// Whether a function gives something back.
fn tears_down(name: &str) -> bool {
    ["Unload", "Release", "Destroy", "Free"].iter().any(|what| name.contains(what))
}

/// Whether a failed call of the program is what every program is told at its end.
pub fn is_farewell<T>(trace: &Trace, found: &Found<'_, T>, records: &mut Records<'_>) -> bool {
    tears_down(trace.api_name(found.call.api))
        && records.read(found).is_some_and(|record| record.status() == DEINITIALIZED)
}

/// Whether an error stays.
#[must_use]
pub fn is_sticky(status: u32) -> bool {
    STICKY.contains(&status)
}

/// A call of the program that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Process.
    pub process: ProcessId,
    /// Thread.
    pub track: TrackId,
    /// Row of the call there.
    pub row: usize,
    /// The call.
    pub call: Call,
    /// What it returned; `None`: its record is gone.
    pub status: Option<u32>,
}

/// A failure that matters, with what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The call.
    pub failed: Failed,
    /// No call of the process failed before.
    pub is_first: bool,
    /// It was the first to return an error that stays, on its device.
    pub is_sticky: bool,
    /// Work that was under way, if the error stays.
    pub suspects: Option<Suspects>,
    /// Of a launch: what it asked for, and what there is.
    pub reason: Option<String>,
}

impl Failure {
    /// Function that failed.
    #[must_use]
    pub const fn api(&self) -> ApiId {
        self.failed.call.api
    }

    /// Code that called it.
    #[must_use]
    pub const fn site(&self) -> SiteId {
        self.failed.call.site
    }
}

/// How far a thread has been looked at.
#[derive(Debug, Default)]
struct Cursor {
    next: usize,
    /// Failed calls inside a call that has not ended yet.
    inside: Vec<ApiId>,
}

/// What has failed so far. It is brought up to date as the trace grows, each row looked at once.
#[derive(Debug, Default)]
pub struct Failures {
    cursors: Vec<Cursor>,
    handled: FxHashMap<ApiId, u64>,
    handled_count: u64,
    first: BTreeMap<ProcessId, Failed>,
    sticky: BTreeMap<(ProcessId, u8), Failed>,
    /// The first launch of each process that was refused for what it asked.
    refused: BTreeMap<ProcessId, Failed>,
}

impl Failures {
    /// Takes in what has been read since the last time. `files` are those of the trace.
    pub fn update(&mut self, trace: &Trace, files: &[Option<Arc<dyn Bytes>>]) {
        self.cursors.resize_with(trace.tracks.len(), Cursor::default);
        let mut cursors = std::mem::take(&mut self.cursors);
        for ((id, track), cursor) in (0..).map(TrackId).zip(&trace.tracks).zip(&mut cursors) {
            let bytes = files.get(track.file as usize).and_then(|file| file.as_deref());
            let mut records = Records::new(bytes);
            while let Some((chunk, inner)) = track.chunk_of(cursor.next) {
                cursor.next = chunk.first_row() + chunk.len();
                if chunk.summary().failed == 0 && cursor.inside.is_empty() {
                    continue;
                }
                let mut row = inner;
                chunk.for_each(inner..chunk.len(), |call| {
                    let failed = call.flags.failed();
                    if call.depth > 0 {
                        cursor.inside.extend(failed.then_some(call.api));
                    } else {
                        if !failed && !call.flags.entry_only() {
                            self.handled(&cursor.inside);
                        }
                        cursor.inside.clear();
                        if failed && let Some(offset) = chunk.offset(row) {
                            let found = Found { track: id, row: chunk.first_row() + row, call, what: &(), offset };
                            self.failed(trace, track.process, &found, &mut records);
                        }
                    }
                    row += 1;
                });
            }
        }
        self.cursors = cursors;
    }

    fn handled(&mut self, inside: &[ApiId]) {
        for &api in inside {
            let count = self.handled.entry(api).or_default();
            *count = count.saturating_add(1);
            self.handled_count = self.handled_count.saturating_add(1);
        }
    }

    fn failed(&mut self, trace: &Trace, process: ProcessId, found: &Found<'_, ()>, records: &mut Records<'_>) {
        if is_farewell(trace, found, records) {
            return self.handled(&[found.call.api]);
        }
        let end = found.call.end_ns();
        let earlier = |known: Option<&Failed>| known.is_none_or(|known| end < known.call.end_ns());
        let place = (process, found.call.device);
        let (is_first, may_stay) = (earlier(self.first.get(&process)), earlier(self.sticky.get(&place)));
        let may_be_refused = earlier(self.refused.get(&process)) && reason::is_launch_of(trace, found.call.api);
        if !is_first && !may_stay && !may_be_refused {
            return;
        }
        let status = records.read(found).map(|record| record.status());
        let failed = Failed { process, track: found.track, row: found.row, call: found.call, status };
        if is_first {
            self.first.insert(process, failed);
        }
        if may_stay && status.is_some_and(is_sticky) {
            self.sticky.insert(place, failed);
        }
        if may_be_refused && status.is_some_and(reason::is_refusal) {
            self.refused.insert(process, failed);
        }
    }

    /// Failed calls of a function inside calls that succeeded.
    #[must_use]
    pub fn handled_of(&self, api: ApiId) -> u64 {
        self.handled.get(&api).copied().unwrap_or(0)
    }

    /// Failed calls inside calls that succeeded.
    #[must_use]
    pub const fn handled_count(&self) -> u64 {
        self.handled_count
    }

    /// The first error that stays, of all processes.
    #[must_use]
    pub fn first_sticky(&self) -> Option<&Failed> {
        self.sticky.values().min_by_key(|failed| failed.call.end_ns())
    }

    /// What is known of one of the failures.
    #[must_use]
    pub fn of(&self, trace: &Trace, files: &[Option<Arc<dyn Bytes>>], failed: &Failed) -> Failure {
        let is =
            |known: Option<&Failed>| known.is_some_and(|known| (known.track, known.row) == (failed.track, failed.row));
        let is_sticky = is(self.sticky.get(&(failed.process, failed.call.device)));
        let bytes = trace.process(failed.process).and_then(|process| files.get(process.file)?.as_deref());
        Failure {
            failed: *failed,
            is_first: is(self.first.get(&failed.process)),
            is_sticky,
            suspects: is_sticky.then(|| suspects(trace, bytes, failed)),
            reason: reason::of(trace, bytes, failed),
        }
    }

    /// The first failure and the first refused launch of each process, and the first error that stays of each device, in
    /// order of time.
    #[must_use]
    pub fn all(&self, trace: &Trace, files: &[Option<Arc<dyn Bytes>>]) -> Vec<Failure> {
        let mut list: Vec<&Failed> =
            self.first.values().chain(self.sticky.values()).chain(self.refused.values()).collect();
        list.sort_by_key(|failed| (failed.call.end_ns(), failed.track, failed.row));
        list.dedup_by_key(|failed| (failed.track, failed.row));
        list.into_iter().map(|failed| self.of(trace, files, failed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::activity::evidence::Statement;
    use crate::trace::activity::{Activity, ActivityKind, Submit, TextId, What};
    use crate::trace::{ArgKind, Argument, CallFlags, LaneOf, Layer, Process, Signature, StreamId, Trace};
    use proptest::prelude::*;
    use umtui_wire::record::{Head, KIND_CALL, pack_site};

    const P: ProcessId = ProcessId(0);

    /// A trace of one process, with the raw records of its calls.
    struct Made {
        trace: Trace,
        bytes: Vec<u8>,
    }

    impl Made {
        fn new() -> Self {
            let mut trace = Trace::default();
            trace.add_process(Process::default()).unwrap();
            trace.add_file("made");
            Self { trace, bytes: vec![0; 48] }
        }

        /// A call on a stream, its handle the stream's number; launches have it as kernel too.
        fn call(&mut self, thread: u32, name: &str, times: (u64, u64), status: u32, depth: u8, stream: u16) -> u32 {
            let track = self.trace.track_of(P, thread);
            let function =
                Argument { role: "function".into(), kind: ArgKind::Handle, on_success: false, at: 32, only: None };
            let layer = if name.starts_with("cuda") { Layer::Runtime } else { Layer::Driver };
            let api = self.trace.api_of(name, layer, Signature { arguments: vec![function], ..Signature::default() });
            let offset = self.bytes.len() as u64;
            let head = Head { kind: KIND_CALL, extra: 0, a: 0, b: status }.word();
            let words = [head, times.0, pack_site(1, depth, 0), 0, u64::from(stream), 0];
            words.iter().for_each(|word| self.bytes.extend_from_slice(&word.to_le_bytes()));
            let call = Call {
                start_ns: times.0,
                duration_ns: times.1 - times.0,
                api,
                site: SiteId(0),
                stream: StreamId(stream),
                device: 0,
                depth,
                flags: CallFlags::of_record(0, status),
                extra: 0,
            };
            let row = self.trace.tracks[track.index()].len() as u32;
            self.trace.tracks[track.index()].push(call, offset);
            row
        }

        fn kernel_name(&mut self, stream: u16, name: &str) {
            let name = self.trace.names.intern(name);
            self.trace.kernels.insert((P, u64::from(stream)), name);
        }

        /// Says that work is recorded and tied to calls.
        fn recorded(&mut self) {
            for what in [What::Activity, What::Correlation] {
                let (detail, since_ns) = (TextId(0), 0);
                self.trace.activities.of_mut(P).evidence.add(Statement {
                    since_ns,
                    what,
                    why: 0,
                    detail,
                    result: 0,
                    driver_version: 0,
                    library_version: 0,
                });
            }
        }

        fn ran(&mut self, stream: u32, (start_ns, end_ns): (u64, u64), correlation: u32, row: u32) {
            let kind = ActivityKind::Kernel;
            let duration_ns = end_ns - start_ns;
            let activity = Activity { kind, start_ns, duration_ns, correlation, ..Activity::default() };
            self.trace.activities.push(P, LaneOf::Stream { context: 1, stream }, &activity, 0);
            let track = self.trace.track_of(P, 1);
            self.trace.activities.of_mut(P).submits.push(Submit { correlation, track, row });
        }

        fn all(self) -> (Vec<Failure>, Failures, Trace) {
            let files: Vec<Option<Arc<dyn Bytes>>> = vec![Some(Arc::new(self.bytes))];
            let mut failures = Failures::default();
            failures.update(&self.trace, &files);
            (failures.all(&self.trace, &files), failures, self.trace)
        }
    }

    #[test]
    fn what_is_expected_inside_is_no_failure() {
        let mut made = Made::new();
        made.call(1, "cuCtxGetDevice", (10, 11), 201, 1, 0);
        made.call(1, "cudaSetDevice", (9, 12), 0, 0, 0);
        made.call(1, "cuMemAlloc_v2", (21, 22), 2, 1, 0);
        made.call(1, "cudaMalloc", (20, 23), 2, 0, 0);
        made.call(2, "cudaFree", (30, 31), 1, 0, 0);
        let (all, failures, trace) = made.all();
        assert_eq!(failures.handled_count(), 1);
        assert_eq!(failures.handled_of(trace.tracks[0].call(0).unwrap().api), 1);
        assert_eq!(all.len(), 1);
        assert_eq!((trace.api_name(all[0].api()), all[0].failed.status), ("cudaMalloc", Some(2)));
        assert!(all[0].is_first && !all[0].is_sticky && all[0].suspects.is_none());
    }

    #[test]
    fn what_every_program_is_told_at_its_end_is_no_failure() {
        let mut made = Made::new();
        made.call(1, "cuLibraryUnload", (10, 11), 4, 0, 0);
        made.call(1, "cuDevicePrimaryCtxRelease", (12, 13), 4, 0, 0);
        made.call(1, "cuMemFree_v2", (14, 15), 1, 0, 0);
        let (all, failures, trace) = made.all();
        assert_eq!(failures.handled_count(), 2);
        assert_eq!((all.len(), trace.api_name(all[0].api())), (1, "cuMemFree_v2"));
    }

    #[test]
    fn without_records_launches_that_nobody_waited_for_are_suspect() {
        let mut made = Made::new();
        made.kernel_name(1, "_Z3onev");
        made.kernel_name(2, "_Z3twov");
        made.call(1, "cuLaunchKernel", (10, 11), 0, 0, 1);
        made.call(1, "cuStreamSynchronize", (12, 20), 0, 0, 1);
        made.call(1, "cuLaunchKernel", (21, 22), 0, 0, 2);
        made.call(1, "cuLaunchKernel", (23, 24), 0, 0, 1);
        made.call(1, "cuStreamQuery", (25, 26), 600, 0, 1);
        made.call(1, "cuLaunchKernel", (27, 28), 0, 0, 1);
        made.call(1, "cuLaunchKernel", (29, 30), 719, 0, 1);
        made.call(1, "cuCtxSynchronize", (31, 40), 719, 0, 0);
        let (all, failures, trace) = made.all();
        assert_eq!(all.len(), 1);
        assert!(all[0].is_first && all[0].is_sticky);
        assert_eq!((trace.api_name(all[0].api()), all[0].failed.call.start_ns), ("cuLaunchKernel", 29));
        let suspects = all[0].suspects.as_ref().unwrap();
        assert!(!suspects.by_records);
        let told: Vec<_> = suspects
            .launches
            .iter()
            .map(|one| (one.launched_ns, one.kernel.map(|name| trace.names.get(name))))
            .collect();
        assert_eq!(told, [(21, Some("_Z3twov")), (23, Some("_Z3onev")), (27, Some("_Z3onev"))]);
        assert_eq!(failures.first_sticky().map(|failed| failed.call.start_ns), Some(29));
    }

    #[test]
    fn records_say_what_had_ended() {
        let mut made = Made::new();
        made.recorded();
        let rows: Vec<u32> =
            (0..4).map(|at| made.call(1, "cuLaunchKernel", (10 + at * 10, 12 + at * 10), 0, 0, 1)).collect();
        made.call(1, "cuMemFree_v2", (60, 61), 700, 0, 0);
        made.ran(7, (15, 20), 1, rows[0]);
        made.ran(7, (25, 30), 2, rows[1]);
        made.ran(7, (45, 90), 3, rows[2]);
        let (all, ..) = made.all();
        let suspects = all[0].suspects.as_ref().unwrap();
        assert!(suspects.by_records);
        // The newest that ended may be the one whose end was the failure.
        assert_eq!(suspects.launches.iter().map(|one| one.launched_ns).collect::<Vec<_>>(), [20, 30, 40]);
    }

    #[test]
    fn the_first_lasting_error_may_come_after_other_failures() {
        let mut made = Made::new();
        made.call(2, "cudaMalloc", (10, 11), 2, 0, 0);
        made.call(1, "cudaFree", (20, 30), 716, 0, 0);
        made.call(2, "cudaFree", (21, 25), 716, 0, 0);
        made.call(2, "cudaGetLastError", (26, 27), 716, 0, 0);
        let (all, ..) = made.all();
        let told: Vec<_> = all.iter().map(|one| (one.failed.call.start_ns, one.is_first, one.is_sticky)).collect();
        assert_eq!(told, [(10, true, false), (21, false, true)]);
    }

    proptest! {
        #[test]
        fn pieces_give_the_same_as_the_whole(
            calls in prop::collection::vec((1u32..4, 0u8..3, 0usize..5, 1u64..9), 0..80),
            cut in 1usize..20,
        ) {
            let statuses = [0, 0, 2, 700, 719];
            let (mut made, mut now) = (Made::new(), 1);
            let mut open = Failures::default();
            // Depths that fit: nested calls end before their outermost one, which comes last.
            let mut twin_handled = 0;
            let mut twin_first: Option<u64> = None;
            let mut twin_sticky: Option<u64> = None;
            for (index, &(thread, nested, status, length)) in calls.iter().enumerate() {
                let mut inside = 0;
                for depth in (1..=nested).rev() {
                    let status = statuses[(index + usize::from(depth)) % 5];
                    inside += u64::from(status != 0);
                    made.call(thread, "cuMemFree_v2", (now, now), status, depth, 0);
                }
                let end = now + length;
                made.call(thread, "cudaFree", (now, end), statuses[status], 0, 0);
                if statuses[status] == 0 {
                    twin_handled += inside;
                } else {
                    twin_first = twin_first.or(Some(end));
                    if is_sticky(statuses[status]) {
                        twin_sticky = twin_sticky.or(Some(end));
                    }
                }
                now = end + 1;
                if index % cut == 0 {
                    let files: Vec<Option<Arc<dyn Bytes>>> = vec![Some(Arc::new(made.bytes.clone()))];
                    open.update(&made.trace, &files);
                }
            }
            let files: Vec<Option<Arc<dyn Bytes>>> = vec![Some(Arc::new(made.bytes.clone()))];
            open.update(&made.trace, &files);
            let (whole, failures, _) = made.all();
            prop_assert_eq!(open.handled_count(), twin_handled);
            prop_assert_eq!(failures.handled_count(), twin_handled);
            prop_assert_eq!(open.first.get(&P), failures.first.get(&P));
            prop_assert_eq!(open.first.get(&P).map(|one| one.call.end_ns()), twin_first);
            prop_assert_eq!(open.first_sticky().map(|one| one.call.end_ns()), twin_sticky);
            prop_assert_eq!(whole.len(), usize::from(twin_first.is_some()) + usize::from(twin_sticky.is_some() && twin_sticky != twin_first));
        }
    }
}
