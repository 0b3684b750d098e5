//! Whether work and calls stand in the order that must be: work begins after its call has begun, and has ended when a call
//! that waits for it returns. Where they do not, by more than the clocks' error, the join of the clocks is not to be
//! trusted, and users are told.

use crate::trace::activity::LaneOf;
use crate::trace::{Call, ProcessId, StreamId, Trace};
use rustc_hash::FxHashMap;

use super::submitting_call;

/// How work and calls stand to each other in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Kernels, copies, sets and whole graphs.
    pub work: u64,
    /// Of these, such whose call is known.
    pub joined: u64,
    /// Of these, such that began before their call by more than the clocks' error.
    pub early: u64,
    /// By how much at most any began before its call, ns; zero if none did.
    pub earliest_ns: u64,
    /// Waits of the host that were compared.
    pub waits: u64,
    /// Of these, such that returned before work that they waited for had ended, by more than the clocks' error.
    pub late: u64,
    /// By how much at most, ns.
    pub latest_ns: u64,
}

/// A piece of work: when its call was over, and when it ended itself.
#[derive(Clone, Copy)]
struct Piece {
    submitted_ns: u64,
    end_ns: u64,
}

/// What a host waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum For {
    /// All work of the process.
    All,
    /// A stream's.
    Stream(StreamId),
}

/// Compares all processes of a trace.
#[must_use]
pub fn order(trace: &Trace) -> Order {
    let mut sum = Order::default();
    for index in 0..u16::try_from(trace.processes.len()).unwrap_or(u16::MAX) {
        of_process(trace, ProcessId(index), &mut sum);
    }
    sum
}

fn of_process(trace: &Trace, process: ProcessId, sum: &mut Order) {
    let Some(known) = trace.activities.of(process) else { return };
    let error = known.clock_error_ns.unwrap_or(0);
    let mut pieces: FxHashMap<For, Vec<Piece>> = FxHashMap::default();
    let mut contexts = Vec::new();
    for lane in trace.activities.lanes().iter().filter(|lane| lane.process == process) {
        if let LaneOf::Stream { context, .. } = lane.of {
            contexts.push(context);
        }
        lane.for_each(0, |_, activity| {
            if !activity.kind.is_work() || !activity.timed {
                return;
            }
            sum.work += 1;
            let Some((.., call)) = submitting_call(trace, process, activity.correlation) else { return };
            sum.joined += 1;
            let before = call.start_ns.saturating_sub(activity.start_ns);
            sum.early += u64::from(before > error);
            sum.earliest_ns = sum.earliest_ns.max(before);
            let piece = Piece { submitted_ns: call.end_ns(), end_ns: activity.end_ns() };
            pieces.entry(For::All).or_default().push(piece);
            if call.stream != StreamId::NONE && call.stream != StreamId::OTHER {
                pieces.entry(For::Stream(call.stream)).or_default().push(piece);
            }
        });
    }
    contexts.sort_unstable();
    contexts.dedup();
    for list in pieces.values_mut() {
        list.sort_unstable_by_key(|piece| piece.submitted_ns);
        // From here on: the latest end of all that was submitted no later.
        let mut latest = 0;
        for piece in list {
            latest = latest.max(piece.end_ns);
            piece.end_ns = latest;
        }
    }
    each_wait(trace, process, contexts.len() <= 1, |awaited, call| {
        let Some(list) = pieces.get(&awaited) else { return };
        let before = list.partition_point(|piece| piece.submitted_ns <= call.start_ns);
        let Some(piece) = before.checked_sub(1).and_then(|last| list.get(last)) else { return };
        sum.waits += 1;
        let after = piece.end_ns.saturating_sub(call.end_ns());
        sum.late += u64::from(after > error);
        sum.latest_ns = sum.latest_ns.max(after);
    });
}

/// Calls `each` with the calls of a process that wait for a stream, or for all work where `one_context` says that there is
/// but one to wait for.
fn each_wait(trace: &Trace, process: ProcessId, one_context: bool, mut each: impl FnMut(For, &Call)) {
    let waits: Vec<Option<bool>> = trace
        .apis
        .iter()
        .map(|api| match crate::trace::semantics::base_name(trace.names.get(api.name)) {
            "cudaDeviceSynchronize" | "cuCtxSynchronize" => Some(true),
            "cudaStreamSynchronize" | "cuStreamSynchronize" => Some(false),
            _ => None,
        })
        .collect();
    for track in trace.tracks.iter().filter(|track| track.process == process) {
        for chunk in track.chunks() {
            if !chunk.summary().apis().any(|api| waits.get(api.index()).is_some_and(Option::is_some)) {
                continue;
            }
            chunk.for_each(0..chunk.len(), |call| {
                let Some(Some(all)) = waits.get(call.api.index()).copied() else { return };
                if call.flags.failed() || call.flags.entry_only() {
                    return;
                }
                match (all, call.stream) {
                    (true, _) if one_context => each(For::All, &call),
                    (false, stream) if stream != StreamId::NONE && stream != StreamId::OTHER => {
                        each(For::Stream(stream), &call);
                    }
                    _ => {}
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::activity::{Activity, ActivityKind, Submit};
    use crate::trace::{CallFlags, Layer, NO_DEVICE, Process, Signature, SiteId, TrackId};

    const P: ProcessId = ProcessId(0);

    struct Made {
        trace: Trace,
        track: TrackId,
    }

    impl Made {
        fn new() -> Self {
            let mut trace = Trace::default();
            trace.add_process(Process::default()).unwrap();
            let track = trace.track_of(P, 1);
            Self { trace, track }
        }

        fn call(&mut self, name: &str, (start_ns, end_ns): (u64, u64), correlation: u32) {
            let api = self.trace.api_of(name, Layer::Driver, Signature::default());
            let call = Call {
                start_ns,
                duration_ns: end_ns - start_ns,
                api,
                site: SiteId(0),
                stream: StreamId::NONE,
                device: NO_DEVICE,
                depth: 0,
                flags: CallFlags(0),
                extra: 0,
            };
            let row = self.trace.tracks[self.track.index()].len() as u32;
            self.trace.tracks[self.track.index()].push(call, 0);
            if correlation != 0 {
                self.trace.activities.of_mut(P).submits.push(Submit { correlation, track: self.track, row });
            }
        }

        fn kernel(&mut self, context: u32, (start_ns, end_ns): (u64, u64), correlation: u32) {
            let kernel = Activity {
                kind: ActivityKind::Kernel,
                start_ns,
                duration_ns: end_ns - start_ns,
                correlation,
                ..Activity::default()
            };
            self.trace.activities.push(P, LaneOf::Stream { context, stream: 7 }, &kernel, 0);
        }
    }

    #[test]
    fn what_stands_in_order_is_only_counted() {
        let mut made = Made::new();
        made.call("cuLaunchKernel", (100, 110), 1);
        made.call("cuLaunchKernel", (120, 130), 2);
        made.call("cuCtxSynchronize", (140, 300), 0);
        made.kernel(1, (105, 200), 1);
        made.kernel(1, (200, 290), 2);
        made.kernel(1, (20, 30), 77);
        let found = order(&made.trace);
        assert_eq!((found.work, found.joined, found.waits), (3, 2, 1));
        assert_eq!((found.early, found.late), (0, 0));
    }

    #[test]
    fn what_does_not_is_counted_beyond_the_error_of_the_clocks() {
        let mut made = Made::new();
        made.trace.activities.of_mut(P).clock_error_ns = Some(10);
        made.call("cuLaunchKernel", (100, 110), 1);
        made.call("cuLaunchKernel", (120, 130), 2);
        made.call("cuCtxSynchronize", (140, 300), 0);
        made.call("cuCtxSynchronize", (310, 500), 0);
        made.kernel(1, (95, 200), 1);
        made.kernel(1, (80, 350), 2);
        let found = order(&made.trace);
        assert_eq!((found.early, found.earliest_ns), (1, 40));
        assert_eq!((found.waits, found.late, found.latest_ns), (2, 1, 50));
    }

    #[test]
    fn with_two_contexts_nobody_knows_which_one_is_waited_for() {
        let mut made = Made::new();
        made.call("cuLaunchKernel", (100, 110), 1);
        made.call("cuCtxSynchronize", (140, 300), 0);
        made.kernel(1, (110, 200), 1);
        made.kernel(2, (110, 900), 1);
        assert_eq!(order(&made.trace).waits, 0);
    }
}
