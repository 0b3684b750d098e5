//! Stream capture: from when to when which stream belonged to a graph under construction.
//!
//! A capture begins on one stream and ends there. A stream that waits for an event which was recorded in the capture
//! belongs to it too, up to its end. Calls on such streams are recorded into the graph and not executed.

use super::ids::ProcessId;
use rustc_hash::FxHashMap;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A stream of a process as captures know it: a handle, or the thread whose own default stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Captor {
    /// A stream that the program made.
    Handle(u64),
    /// The default stream of a thread, by its id.
    Thread(u32),
}

impl Captor {
    /// The stream that a call names; `None` for the legacy default stream, which cannot be captured.
    #[must_use]
    pub const fn of(handle: u64, per_thread: bool, thread: u32) -> Option<Self> {
        match handle {
            0 if per_thread => Some(Self::Thread(thread)),
            2 => Some(Self::Thread(thread)),
            0 | 1 => None,
            _ => Some(Self::Handle(handle)),
        }
    }
}

/// What a call did to a capture. Its moments are clock ticks of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Capture began on the stream.
    Begin,
    /// It ended; into which graph, if that went well.
    End(Option<u64>),
    /// The event with this handle was recorded on the stream.
    Record(u64),
    /// The stream waits for the event.
    Await(u64),
}

/// A step with its stream and its call's start and end.
#[derive(Clone, Copy, Debug)]
struct Told {
    stream: Captor,
    step: Step,
    start: u64,
    end: u64,
}

impl PartialEq for Told {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Told {}

impl PartialOrd for Told {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By moment; of equal ones the call that began earlier first.
impl Ord for Told {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.moment(), self.start).cmp(&(other.moment(), other.start))
    }
}

impl Told {
    /// When it counts: an end from the call's start on, all others from its end on.
    const fn moment(&self) -> u64 {
        match self.step {
            Step::End(_) => self.start,
            _ => self.end,
        }
    }
}

/// One capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Stream on which it began.
    pub stream: Captor,
    /// When the call that began it returned, ticks.
    pub from: u64,
    /// When the call that ended it began, ticks; `u64::MAX` as long as it goes on.
    pub until: u64,
    /// The graph it ended in.
    pub graph: Option<u64>,
    /// Calls of the program, not those inside them, that were recorded into it.
    pub calls: u64,
}

/// A stream's part in a capture.
#[derive(Clone, Copy, Debug)]
struct Part {
    from: u64,
    capture: usize,
}

#[derive(Debug, Default)]
struct OfProcess {
    captures: Vec<Capture>,
    parts: FxHashMap<Captor, Vec<Part>>,
    /// The newest capture that each stream belonged to; it may have ended.
    open: FxHashMap<Captor, usize>,
    /// The capture that each event was recorded in last; it may have ended.
    events: FxHashMap<u64, usize>,
    told: Vec<Told>,
    /// What was told of moments behind the horizon, the earliest first.
    later: BinaryHeap<Reverse<Told>>,
}

/// All captures of a trace.
///
/// Steps may be told in any order; [`Captures::settle`] takes those up to a moment, by when all of them must have been
/// told. What is asked after that holds.
#[derive(Debug, Default)]
pub struct Captures {
    any: bool,
    processes: FxHashMap<ProcessId, OfProcess>,
}

impl Captures {
    /// A successful call from `start` to `end` did this; an end counts whatever its result.
    pub fn tell(&mut self, process: ProcessId, stream: Captor, step: Step, (start, end): (u64, u64)) {
        self.any |= step == Step::Begin;
        self.processes.entry(process).or_default().told.push(Told { stream, step, start, end });
    }

    /// Takes what was told of moments up to `horizon`.
    pub fn settle(&mut self, process: ProcessId, horizon: u64) {
        if let Some(of) = self.processes.get_mut(&process).filter(|of| !of.told.is_empty() || !of.later.is_empty()) {
            of.settle(horizon);
        }
    }

    /// The capture that a call from `start` to `end` on a stream was recorded into: an index into [`Captures::of`].
    #[must_use]
    #[inline]
    pub fn find(&self, process: ProcessId, stream: Captor, (start, end): (u64, u64)) -> Option<usize> {
        self.processes.get(&process)?.find(stream, start, end)
    }

    /// Whether nothing was ever captured.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.any
    }

    /// A call of the program was recorded into a capture.
    pub fn count(&mut self, process: ProcessId, capture: usize) {
        if let Some(capture) = self.processes.get_mut(&process).and_then(|of| of.captures.get_mut(capture)) {
            capture.calls = capture.calls.saturating_add(1);
        }
    }

    /// A process's captures, in the order in which they began as far as that is known.
    #[must_use]
    pub fn of(&self, process: ProcessId) -> &[Capture] {
        self.processes.get(&process).map_or(&[], |of| &of.captures)
    }
}

impl OfProcess {
    fn settle(&mut self, horizon: u64) {
        let mut due = Vec::new();
        for told in std::mem::take(&mut self.told) {
            if told.moment() <= horizon {
                due.push(told);
            } else {
                self.later.push(Reverse(told));
            }
        }
        while self.later.peek().is_some_and(|Reverse(told)| told.moment() <= horizon) {
            due.extend(self.later.pop().map(|Reverse(told)| told));
        }
        // Of events there is nothing to know before anything is captured.
        if self.captures.is_empty() && !due.iter().any(|told| told.step == Step::Begin) {
            return;
        }
        due.sort();
        due.iter().for_each(|told| self.step(told));
    }

    fn step(&mut self, told: &Told) {
        let Told { stream, step, start, end } = *told;
        match step {
            Step::Begin => {
                // A runtime call and the driver's call inside it tell of the same capture.
                let known = self.open_of(stream);
                if known.and_then(|index| self.captures.get(index)).is_some_and(|known| known.from >= start) {
                    return;
                }
                if let Some(unended) = known {
                    self.end(unended, start, None);
                }
                let index = self.captures.len();
                self.captures.push(Capture { stream, from: end, until: u64::MAX, graph: None, calls: 0 });
                self.join(stream, end, index);
            }
            Step::End(graph) => match self.open_of(stream) {
                Some(index) if self.captures.get(index).is_some_and(|capture| capture.stream == stream) => {
                    self.end(index, start, graph);
                }
                Some(_) => {}
                // The driver's call inside: what it says of the graph the runtime's says too.
                None => {}
            },
            Step::Record(event) => match self.open_of(stream) {
                Some(index) => drop(self.events.insert(event, index)),
                None => drop(self.events.remove(&event)),
            },
            Step::Await(event) => {
                let Some(index) = self.events.get(&event).copied().filter(|&index| self.goes_on(index)) else { return };
                match self.open_of(stream) {
                    None => self.join(stream, start, index),
                    Some(known) if known == index => self.widen(stream, start, end),
                    Some(_) => {}
                }
            }
        }
    }

    /// The capture that a stream belongs to now.
    fn open_of(&self, stream: Captor) -> Option<usize> {
        self.open.get(&stream).copied().filter(|&index| self.goes_on(index))
    }

    fn goes_on(&self, index: usize) -> bool {
        self.captures.get(index).is_some_and(|capture| capture.until == u64::MAX)
    }

    fn join(&mut self, stream: Captor, from: u64, capture: usize) {
        self.open.insert(stream, capture);
        self.parts.entry(stream).or_default().push(Part { from, capture });
    }

    /// The runtime's call in which the driver's call joined a stream belongs to the capture as well.
    fn widen(&mut self, stream: Captor, start: u64, end: u64) {
        if let Some(part) = self.parts.get_mut(&stream).and_then(|parts| parts.last_mut())
            && start < part.from
            && part.from <= end
        {
            part.from = start;
        }
    }

    fn end(&mut self, index: usize, until: u64, graph: Option<u64>) {
        if let Some(capture) = self.captures.get_mut(index) {
            (capture.until, capture.graph) = (until, graph);
        }
    }

    fn find(&self, stream: Captor, start: u64, end: u64) -> Option<usize> {
        let parts = self.parts.get(&stream)?;
        let at = parts.partition_point(|part| part.from <= start).checked_sub(1)?;
        let part = parts.get(at)?;
        self.captures.get(part.capture).filter(|capture| end <= capture.until).map(|_| part.capture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const P: ProcessId = ProcessId(0);

    fn on(stream: u64) -> Captor {
        Captor::Handle(stream)
    }

    #[test]
    fn a_capture_takes_what_lies_between_its_calls() {
        let mut captures = Captures::default();
        captures.tell(P, on(5), Step::Begin, (12, 18)); // the driver's call, inside
        captures.tell(P, on(5), Step::Begin, (10, 20));
        captures.tell(P, on(5), Step::End(Some(0x99)), (42, 48));
        captures.tell(P, on(5), Step::End(Some(0x99)), (40, 50));
        captures.settle(P, u64::MAX);
        let [capture] = captures.of(P) else { panic!("{:?}", captures.of(P)) };
        assert_eq!((capture.from, capture.until, capture.graph), (18, 40, Some(0x99)));
        for (span, found) in
            [((21, 25), true), ((10, 20), false), ((40, 50), false), ((42, 48), false), ((60, 61), false)]
        {
            assert_eq!(captures.find(P, on(5), span).is_some(), found, "{span:?}");
        }
        assert_eq!(captures.find(P, on(6), (21, 25)), None);
        assert_eq!(captures.find(ProcessId(1), on(5), (21, 25)), None);
    }

    #[test]
    fn streams_that_wait_for_it_belong_to_it() {
        let mut captures = Captures::default();
        // Told by two threads, out of order.
        captures.tell(P, on(6), Step::Await(0xe), (34, 36));
        captures.tell(P, on(6), Step::Await(0xe), (33, 37));
        captures.tell(P, on(7), Step::Await(0xd), (38, 39));
        captures.tell(P, on(5), Step::Begin, (10, 20));
        captures.tell(P, on(9), Step::Record(0xd), (21, 22));
        captures.tell(P, on(5), Step::Record(0xe), (30, 31));
        captures.tell(P, on(5), Step::End(None), (60, 61));
        captures.tell(P, on(6), Step::Await(0xe), (70, 71));
        captures.settle(P, u64::MAX);
        assert_eq!(captures.find(P, on(6), (33, 37)), Some(0));
        assert_eq!(captures.find(P, on(6), (40, 41)), Some(0));
        assert_eq!(captures.find(P, on(6), (25, 26)), None);
        assert_eq!(captures.find(P, on(6), (72, 73)), None);
        assert_eq!(captures.find(P, on(7), (45, 46)), None);
    }

    #[test]
    fn a_default_stream_is_captured_only_as_a_threads_own() {
        assert_eq!(Captor::of(0, false, 7), None);
        assert_eq!(Captor::of(1, true, 7), None);
        assert_eq!(Captor::of(0, true, 7), Some(Captor::Thread(7)));
        assert_eq!(Captor::of(2, false, 7), Some(Captor::Thread(7)));
        assert_eq!(Captor::of(0x55, true, 7), Some(Captor::Handle(0x55)));
    }

    #[test]
    fn ends_elsewhere_and_begins_twice() {
        let mut captures = Captures::default();
        captures.tell(P, on(5), Step::Begin, (10, 20));
        captures.tell(P, on(5), Step::Record(1), (21, 22));
        captures.tell(P, on(6), Step::Await(1), (23, 24));
        // Not where it began: an error that ends nothing.
        captures.tell(P, on(6), Step::End(None), (25, 26));
        // Its end was lost.
        captures.tell(P, on(5), Step::Begin, (50, 60));
        captures.settle(P, 55);
        assert_eq!(captures.find(P, on(6), (30, 31)), Some(0));
        captures.settle(P, 60);
        assert_eq!(captures.of(P).len(), 2);
        assert_eq!(captures.of(P)[0].until, 50);
        assert_eq!(captures.find(P, on(5), (61, 62)), Some(1));
    }

    proptest! {
        /// Against a walk over all steps in order of time; one moment each.
        #[test]
        fn steps_settle_alike_in_any_order_and_pieces(
            steps in prop::collection::vec((0u64..3, 0u8..4, 0u64..3, any::<u16>()), 0..60),
            cuts in prop::collection::vec(0u64..700, 0..5),
        ) {
            let all: Vec<(Captor, Step, u64, u16)> = steps.iter().enumerate().map(|(index, &(stream, kind, event, order))| {
                let step = match kind {
                    0 => Step::Begin,
                    1 => Step::End(None),
                    2 => Step::Record(event),
                    _ => Step::Await(event),
                };
                (on(10 + stream), step, 10 * (index as u64 + 1), order)
            }).collect();
            let mut captures = Captures::default();
            let mut shuffled = all.clone();
            shuffled.sort_by_key(|step| step.3);
            let mut cuts = cuts;
            cuts.sort_unstable();
            cuts.push(u64::MAX);
            let mut before = 0;
            for &cut in &cuts {
                for &(stream, step, at, _) in shuffled.iter().filter(|step| step.2 > before && step.2 <= cut) {
                    captures.tell(P, stream, step, (at, at));
                }
                before = cut;
                captures.settle(P, cut);
            }
            // Twin: who belongs to which capture, moment by moment.
            let mut belongs: std::collections::BTreeMap<Captor, (usize, Captor)> = std::collections::BTreeMap::new();
            let mut events: std::collections::BTreeMap<u64, (usize, Captor)> = std::collections::BTreeMap::new();
            let mut made = 0;
            for &(stream, step, at, _) in &all {
                match step {
                    Step::Begin => {
                        if let Some(&old) = belongs.get(&stream) {
                            belongs.retain(|_, of| *of != old);
                            events.retain(|_, of| *of != old);
                        }
                        belongs.insert(stream, (made, stream));
                        made += 1;
                    }
                    Step::End(_) => if let Some(&of) = belongs.get(&stream).filter(|of| of.1 == stream) {
                        belongs.retain(|_, other| *other != of);
                        events.retain(|_, other| *other != of);
                    },
                    Step::Record(event) => match belongs.get(&stream) {
                        Some(&of) => drop(events.insert(event, of)),
                        None => drop(events.remove(&event)),
                    },
                    Step::Await(event) => if let (Some(&of), false) = (events.get(&event), belongs.contains_key(&stream)) {
                        belongs.insert(stream, of);
                    },
                }
                for stream in (10..13).map(on) {
                    let found = captures.find(P, stream, (at + 2, at + 4));
                    prop_assert_eq!(found, belongs.get(&stream).map(|of| of.0), "{:?} after {}", stream, at);
                }
            }
        }
    }
}
