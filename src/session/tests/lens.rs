//! What a lens selects, against a twin that asks every event one by one.

mod about;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::filter::{Comparison, Condition, NumberField, Pattern, TextField};
use crate::graph::tests::twin::{Program, program};
use crate::graph::{Grouping, NodeKey, Stats, Sums, TOP, What};
use crate::lens::{Lens, Steps, TimeRange};
use crate::session::model::Model;
use crate::session::view::{EventGroup, EventKinds, EventsAt, EventsRequest, LensStatus};
use crate::trace::activity::Submit;
use crate::trace::range::Begun;
use crate::trace::{
    Activity, ActivityKind, Call, Call as C, LaneOf, Layer, NO_DEVICE, NameId, OpenCall, Process, ProcessId, Signature,
    StreamId, Trace, TrackId,
};

const P: ProcessId = ProcessId(0);
const APIS: [(&str, Layer); 4] = [
    ("cudaMalloc", Layer::Runtime),
    ("cudaMallocManaged", Layer::Runtime),
    ("cuLaunchKernel", Layer::Driver),
    ("cuMemAlloc", Layer::Driver),
];
const RANGES: [&str; 3] = ["forward", "backward", "step"];

/// Work of the GPU: which call of which thread submitted it, what it was, when, how long, how much.
#[derive(Clone, Copy, Debug)]
struct Piece {
    track: usize,
    call: usize,
    tied: bool,
    kind: u8,
    lane: u32,
    start: u64,
    duration: u64,
    value: u64,
}

/// A range or mark: thread, name, begin, end.
#[derive(Clone, Copy, Debug)]
struct Named {
    track: usize,
    name: usize,
    start: u64,
    length: Option<u64>,
}

#[derive(Clone, Debug)]
struct World {
    program: Program,
    pieces: Vec<Piece>,
    ranges: Vec<Named>,
}

fn world() -> impl Strategy<Value = World> {
    let piece = (0usize..3, 0usize..40, prop::bool::weighted(0.8), 0u8..4, 0u32..2, 0u64..900, 0u64..60, 0u64..4)
        .prop_map(|(track, call, tied, kind, lane, start, duration, value)| Piece {
            track,
            call,
            tied,
            kind,
            lane,
            start,
            duration,
            value,
        });
    let named = (0usize..3, 0usize..3, 0u64..900, prop::option::weighted(0.8, 0u64..200))
        .prop_map(|(track, name, start, length)| Named { track, name, start, length });
    (program(), prop::collection::vec(piece, 0..20), prop::collection::vec(named, 0..4))
        .prop_map(|(program, pieces, ranges)| World { program, pieces, ranges })
}

fn condition() -> impl Strategy<Value = Condition> {
    let glob = |field: TextField, words: &'static [&'static str]| {
        prop::sample::select(words).prop_map(move |word| Condition::Text(field, Pattern::Glob(word.to_owned())))
    };
    let comparison = prop::sample::select(vec![
        Comparison::Less,
        Comparison::AtMost,
        Comparison::Equal,
        Comparison::AtLeast,
        Comparison::More,
    ]);
    let leaf = prop_oneof![
        3 => glob(TextField::Api, &["cudaM*", "cuLaunchKernel", "*alloc", "nothing"]),
        1 => glob(TextField::Layer, &["runtime", "driver", "gpu"]),
        1 => glob(TextField::Thread, &["100", "worker", "102"]),
        1 => glob(TextField::Stream, &["17", "stream*", "default"]),
        1 => glob(TextField::Site, &["0x40", "0x4*"]),
        1 => glob(TextField::Range, &["forward", "*ward", "step"]),
        1 => glob(TextField::Kind, &["call", "kernel", "managed", "migration", "range", "mark", "copy"]),
        1 => glob(TextField::Kernel, &["scale", "add*"]),
        1 => glob(TextField::Cause, &["prefetch", "*"]),
        1 => glob(TextField::Device, &["0", "1"]),
        1 => (0u64..60, comparison.clone()).prop_map(|(ns, how)| Condition::Number(NumberField::Duration, how, ns)),
        1 => (0u64..900, comparison.clone()).prop_map(|(ns, how)| Condition::Number(NumberField::Time, how, ns)),
        1 => (0u64..4, comparison).prop_map(|(bytes, how)| Condition::Number(NumberField::Size, how, bytes)),
        1 => Just(Condition::Failed),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::All),
            2 => prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::Any),
            2 => inner.clone().prop_map(|one| Condition::Not(Box::new(one))),
            1 => inner.clone().prop_map(|one| Condition::ChildrenOf(Box::new(one))),
            1 => inner.prop_map(|one| Condition::CallersOf(Box::new(one))),
        ]
    })
}

fn range() -> impl Strategy<Value = TimeRange> {
    let name = prop::sample::select(vec!["forward", "*ward", "step", "*", "none"]);
    prop_oneof![
        3 => (0u64..600, 0u64..400).prop_map(|(from, length)| TimeRange::Time(from, from + length)),
        1 => (name, 1u64..4, 0u64..3).prop_map(|(name, first, more)| {
            TimeRange::Steps(Steps { name: Some(name.into()), first, last: first + more })
        }),
    ]
}

fn lens() -> impl Strategy<Value = Lens> {
    (prop::option::weighted(0.9, condition()), prop::option::weighted(0.4, range()))
        .prop_map(|(condition, range)| Lens { condition: condition.map(Arc::new), range })
}

/// A trace of a world, as far as it has been read.
struct Made {
    model: Model,
    world: World,
    names: Vec<NameId>,
    kernels: Vec<NameId>,
    done: Vec<usize>,
}

impl Made {
    fn new(world: &World) -> Self {
        let mut model = Model::default();
        let trace = &mut model.trace;
        trace.add_process(Process { pid: 100, ..Process::default() }).unwrap();
        for (name, layer) in APIS {
            trace.api_of(name, layer, Signature::default());
        }
        for site in 0..3u64 {
            trace.sites.find(P, 0x40 + site, 0);
        }
        // Streams 1 and 2 are created ones; 0 stands for none.
        trace.streams.default_stream(P, 0, None);
        trace.streams.created(P, 0x11, 0, 0, 0);
        trace.streams.created(P, 0x22, 0, 0, 0);
        let worker = trace.names.intern("worker");
        for thread in 0..world.program.ended.len() {
            let id = trace.track_of(P, 100 + u32::try_from(thread).unwrap());
            if thread == 1 {
                trace.tracks[id.index()].name = worker;
            }
        }
        let names = RANGES.map(|name| trace.names.intern(name)).to_vec();
        let kernels = ["scale", "add_one"].map(|name| trace.names.intern(name)).to_vec();
        let done = vec![0; world.program.ended.len()];
        let mut made = Self { model, world: world.clone(), names, kernels, done };
        made.add_ranges();
        made
    }

    /// Ranges are there from the beginning: those of a thread one after another.
    fn add_ranges(&mut self) {
        for track in 0..self.world.program.ended.len() {
            let mut own: Vec<Named> = self.world.ranges.iter().filter(|one| one.track == track).copied().collect();
            own.sort_by_key(|one| one.start);
            let id = TrackId(u32::try_from(track).unwrap());
            let mut until = 0;
            for one in own {
                let name = self.model.trace.activities.text(P, 50, Some(self.names[one.name]));
                let start = one.start.max(until);
                let begun = Begun { ns: start, name, domain: Default::default(), color: 0, level: 0, id: 0, place: 0 };
                match one.length {
                    Some(length) => {
                        self.model.trace.ranges.push(id, &begun);
                        self.model.trace.ranges.pop(id, Default::default(), start + length);
                        until = start + length + 1;
                    }
                    None => {
                        self.model.trace.ranges.mark(id, &begun);
                        until = start;
                    }
                }
            }
        }
        self.model.trace.touch();
    }

    /// Reads so many further calls of a thread, with what they have submitted.
    fn read(&mut self, track: usize, count: usize) {
        let ended = &self.world.program.ended[track];
        let from = self.done[track];
        let to = ended.len().min(from.saturating_add(count));
        for (row, call) in ended.iter().enumerate().take(to).skip(from) {
            self.model.trace.tracks[track].push(*call, 0);
            for (number, piece) in (1..).zip(&self.world.pieces) {
                if piece.tied && piece.track == track && piece.call == row {
                    let track = TrackId(u32::try_from(track).unwrap());
                    let submit = Submit { correlation: number, track, row: u32::try_from(row).unwrap() };
                    self.model.trace.activities.of_mut(P).submits.push(submit);
                }
            }
        }
        self.done[track] = to;
        let cut = self.world.program.cut(&self.done);
        for (track, open) in self.model.trace.tracks.iter_mut().zip(cut.open) {
            track.in_flight = open;
        }
        self.model.trace.touch();
    }

    fn work(&mut self, from: usize, to: usize) {
        for (number, piece) in (1..).zip(&self.world.pieces.clone()).skip(from).take(to - from) {
            let activity = self.activity(number, piece);
            let of = if activity.kind == ActivityKind::Unified {
                LaneOf::Unified
            } else {
                LaneOf::Stream { context: 1, stream: 70 + piece.lane }
            };
            self.model.trace.activities.push(P, of, &activity, 0);
        }
        self.model.trace.touch();
    }

    fn activity(&mut self, number: u32, piece: &Piece) -> Activity {
        let text = self.model.trace.activities.text(P, 60, Some(self.kernels[(piece.value % 2) as usize]));
        let (kind, value, detail) = match piece.kind {
            0 | 1 => (ActivityKind::Kernel, u64::from(text.0), 0),
            2 => (ActivityKind::Copy, piece.value, 1),
            _ => (ActivityKind::Unified, piece.value, 1 | 3 << 4),
        };
        Activity {
            kind,
            start_ns: piece.start,
            duration_ns: piece.duration,
            value,
            detail,
            device: u8::try_from(piece.lane).unwrap(),
            correlation: if kind == ActivityKind::Unified { 0 } else { number },
            ..Activity::default()
        }
    }

    fn all(&mut self) {
        for track in 0..self.done.len() {
            self.read(track, usize::MAX);
        }
        self.work(0, self.world.pieces.len());
        self.model.update();
    }

    fn sift(&mut self, lens: &Lens) {
        self.model.set_lens(lens);
        let begun = Instant::now();
        while !self.model.sift(Instant::now() + Duration::from_secs(1)) {
            assert!(begun.elapsed() < Duration::from_secs(20), "it begins anew without end: {lens:?}");
        }
    }
}

/// A call as the twin sees it.
#[derive(Clone, Debug)]
struct Seen {
    call: Call,
    row: Option<usize>,
    parent: Option<usize>,
}

/// An event as the twin sees it.
#[derive(Clone, Copy, Debug)]
enum Event {
    Call(usize, usize),
    Piece(usize),
    Range(usize, usize),
}

struct Twin<'a> {
    trace: &'a Trace,
    world: &'a World,
    calls: Vec<Vec<Seen>>,
    activities: Vec<Activity>,
    start: u64,
}

impl<'a> Twin<'a> {
    fn of(made: &'a mut Made) -> Self {
        let pieces = made.world.pieces.clone();
        let activities = (1..).zip(&pieces).map(|(number, piece)| made.activity(number, piece)).collect();
        let made = &*made;
        let program = &made.world.program;
        let calls = (0..program.ended.len()).map(|track| {
            let ended = &program.ended[track];
            let device = ended.last().map_or(NO_DEVICE, |call| call.device);
            let open = |open: &OpenCall| C {
                start_ns: open.start_ns,
                duration_ns: (1 << 40) - open.start_ns,
                api: open.api,
                site: open.site,
                stream: StreamId::NONE,
                device,
                depth: open.depth,
                flags: Default::default(),
                extra: 0,
            };
            let mut all: Vec<Seen> = ended
                .iter()
                .enumerate()
                .map(|(row, &call)| Seen { call, row: Some(row), parent: None })
                .chain(program.open[track].iter().map(|one| Seen { call: open(one), row: None, parent: None }))
                .collect();
            for at in 0..all.len() {
                all[at].parent = caller(&all, at);
            }
            all
        });
        let calls = calls.collect();
        Self { trace: &made.model.trace, world: &made.world, calls, activities, start: made.model.trace.start_ns() }
    }

    fn root(&self, track: usize, mut at: usize) -> usize {
        while let Some(parent) = self.calls[track][at].parent {
            at = parent;
        }
        at
    }

    fn chain(&self, track: usize, at: usize) -> Vec<usize> {
        let mut chain = vec![at];
        while let Some(parent) = self.calls[track][*chain.last().unwrap()].parent {
            chain.push(parent);
        }
        chain
    }

    /// The call that submitted a piece, once the one around it has ended.
    fn tie(&self, piece: usize) -> Option<(usize, usize)> {
        let piece = &self.world.pieces[piece];
        let calls = self.calls.get(piece.track)?;
        let known = piece.tied && piece.kind < 3;
        let at = (known && calls.get(piece.call)?.row.is_some()).then_some(piece.call)?;
        let whole = self.whole(piece.track);
        (at < whole).then_some((piece.track, at))
    }

    /// Rows up to the end of the last outermost call.
    fn whole(&self, track: usize) -> usize {
        let ended = &self.world.program.ended[track];
        ended.iter().rposition(|call| call.depth == 0).map_or(0, |last| last + 1)
    }

    fn range_at(&self, track: usize, ns: u64) -> Option<&'static str> {
        let id = TrackId(u32::try_from(track).unwrap());
        let mut ranges = self.trace.ranges.of(id).iter().filter(|range| range.kind != crate::trace::RangeKind::Mark);
        let found = ranges.rfind(|range| range.start_ns <= ns && range.end_ns().is_none_or(|end| end > ns));
        found.map(|range| {
            let name = self.trace.names.get(self.trace.activities.name(range.name));
            RANGES.iter().copied().find(|one| *one == name).unwrap()
        })
    }

    fn holds(&self, condition: &Condition, event: Event) -> bool {
        match condition {
            Condition::All(all) => all.iter().all(|one| self.holds(one, event)),
            Condition::Any(any) => any.iter().any(|one| self.holds(one, event)),
            Condition::Not(one) => !self.holds(one, event),
            Condition::Failed => match event {
                Event::Call(track, at) => self.calls[track][at].call.flags.failed(),
                _ => false,
            },
            Condition::Address(..) => false,
            Condition::Number(field, how, number) => {
                let value = self.number(*field, event);
                value.is_some_and(|value| match how {
                    Comparison::Less => value < *number,
                    Comparison::AtMost => value <= *number,
                    Comparison::Equal => value == *number,
                    Comparison::AtLeast => value >= *number,
                    Comparison::More => value > *number,
                })
            }
            Condition::Text(field, Pattern::Glob(glob)) => {
                self.words(*field, event).iter().any(|word| fits(glob, word))
            }
            Condition::Text(_, Pattern::Regex(_)) => false,
            Condition::ChildrenOf(one) => match event {
                Event::Call(track, at) => {
                    self.chain(track, at).iter().skip(1).any(|&above| self.holds(one, Event::Call(track, above)))
                }
                Event::Piece(piece) => self.tie(piece).is_some_and(|(track, at)| {
                    self.chain(track, at).iter().any(|&above| self.holds(one, Event::Call(track, above)))
                }),
                Event::Range(..) => false,
            },
            Condition::CallersOf(one) => match event {
                Event::Call(track, at) => {
                    let inner = (0..self.calls[track].len()).any(|other| {
                        self.chain(track, other).iter().skip(1).any(|&above| above == at)
                            && self.holds(one, Event::Call(track, other))
                    });
                    let work = (0..self.world.pieces.len()).any(|piece| {
                        self.tie(piece).is_some_and(|(of, call)| of == track && self.chain(track, call).contains(&at))
                            && self.holds(one, Event::Piece(piece))
                    });
                    inner || work
                }
                _ => false,
            },
        }
    }

    fn number(&self, field: NumberField, event: Event) -> Option<u64> {
        match event {
            Event::Call(track, at) => {
                let seen = &self.calls[track][at];
                match field {
                    NumberField::Size => None,
                    NumberField::Duration => {
                        (seen.row.is_some() && !seen.call.flags.entry_only()).then_some(seen.call.duration_ns)
                    }
                    NumberField::Time => Some(seen.call.start_ns - self.start),
                }
            }
            Event::Piece(piece) => {
                let activity = &self.activities[piece];
                match field {
                    NumberField::Size => (activity.kind != ActivityKind::Kernel).then_some(activity.value),
                    NumberField::Duration => Some(activity.duration_ns),
                    NumberField::Time => Some(activity.start_ns - self.start),
                }
            }
            Event::Range(track, row) => {
                let range = &self.trace.ranges.of(TrackId(u32::try_from(track).unwrap()))[row];
                match field {
                    NumberField::Size => None,
                    NumberField::Duration => (range.kind != crate::trace::RangeKind::Mark)
                        .then(|| range.end_ns().map(|end| end - range.start_ns))
                        .flatten(),
                    NumberField::Time => Some(range.start_ns - self.start),
                }
            }
        }
    }

    /// All texts of a field, numbers in full.
    #[allow(clippy::too_many_lines, reason = "one list of all fields")]
    fn words(&self, field: TextField, event: Event) -> Vec<String> {
        let strings = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
        let thread = |track: usize| {
            let mut words = vec![(100 + track).to_string()];
            words.extend((track == 1).then(|| "worker".to_owned()));
            words.extend((track == 0).then(|| "main".to_owned()));
            words
        };
        let stream = |stream: StreamId| match stream.0 {
            0 => strings(&["default", "default stream", "0"]),
            1 => strings(&["stream 0x11", "17"]),
            2 => strings(&["stream 0x22", "34"]),
            _ => Vec::new(),
        };
        let device = |device: u8| if device == NO_DEVICE { Vec::new() } else { vec![device.to_string()] };
        match event {
            Event::Call(track, at) => {
                let (seen, root) = (&self.calls[track][at], &self.calls[track][self.root(track, at)]);
                let (name, layer) = APIS[seen.call.api.index()];
                match field {
                    TextField::Api => strings(&[name]),
                    TextField::Layer => strings(&[if layer == Layer::Runtime { "runtime" } else { "driver" }]),
                    TextField::Thread => thread(track),
                    TextField::Stream => stream(root.call.stream),
                    TextField::Device => device(root.call.device),
                    TextField::Site => vec![format!("{:#x}", 0x40 + root.call.site.0)],
                    TextField::Range => {
                        self.range_at(track, root.call.start_ns).map(str::to_owned).into_iter().collect()
                    }
                    TextField::Kind => match name {
                        "cudaMallocManaged" => strings(&["call", "managed"]),
                        "cuLaunchKernel" => strings(&["call"]),
                        _ => strings(&["call", "device"]),
                    },
                    TextField::Kernel => (0..self.world.pieces.len())
                        .filter(|&piece| {
                            self.tie(piece)
                                .is_some_and(|(of, call)| of == track && self.chain(track, call).contains(&at))
                        })
                        .flat_map(|piece| self.words(field, Event::Piece(piece)))
                        .collect(),
                    _ => Vec::new(),
                }
            }
            Event::Piece(piece) => {
                let activity = &self.activities[piece];
                let tie = self.tie(piece);
                let unified = activity.kind == ActivityKind::Unified;
                match field {
                    TextField::Api => tie.map_or_else(Vec::new, |(track, at)| {
                        let names = self.chain(track, at).into_iter();
                        names.map(|at| APIS[self.calls[track][at].call.api.index()].0.to_owned()).collect()
                    }),
                    TextField::Layer => strings(&["gpu"]),
                    TextField::Thread => tie.map_or_else(Vec::new, |(track, _)| thread(track)),
                    TextField::Stream if unified => Vec::new(),
                    TextField::Stream => self.lane_stream(piece),
                    TextField::Device => device(activity.device),
                    TextField::Kernel if activity.kind == ActivityKind::Kernel => {
                        strings(&[if self.world.pieces[piece].value.is_multiple_of(2) { "scale" } else { "add_one" }])
                    }
                    TextField::Site => tie.map_or_else(Vec::new, |(track, at)| {
                        vec![format!("{:#x}", 0x40 + self.calls[track][self.root(track, at)].call.site.0)]
                    }),
                    TextField::Range => tie
                        .and_then(|(track, at)| {
                            self.range_at(track, self.calls[track][self.root(track, at)].call.start_ns)
                        })
                        .map(str::to_owned)
                        .into_iter()
                        .collect(),
                    TextField::Kind => match activity.kind {
                        ActivityKind::Kernel => strings(&["kernel"]),
                        ActivityKind::Copy => strings(&["copy", "h2d", "host-to-device"]),
                        _ => strings(&["migration", "managed", "h2d", "host-to-device"]),
                    },
                    TextField::Cause if unified => strings(&["prefetch"]),
                    _ => Vec::new(),
                }
            }
            Event::Range(track, row) => {
                let range = &self.trace.ranges.of(TrackId(u32::try_from(track).unwrap()))[row];
                let is_mark = range.kind == crate::trace::RangeKind::Mark;
                match field {
                    TextField::Thread => thread(track),
                    TextField::Range => {
                        let own = self.trace.names.get(self.trace.activities.name(range.name)).to_owned();
                        let around = self.range_at(track, range.start_ns).filter(|_| is_mark);
                        around.map(str::to_owned).into_iter().chain([own]).collect()
                    }
                    TextField::Kind => strings(&[if is_mark { "mark" } else { "range" }]),
                    _ => Vec::new(),
                }
            }
        }
    }

    /// The stream that a call names with the smallest correlation id of the lane, else the driver's ids.
    fn lane_stream(&self, piece: usize) -> Vec<String> {
        let lane = self.world.pieces[piece].lane;
        let own = self.world.pieces.iter().filter(|other| other.lane == lane && other.kind < 3 && other.tied);
        let mut named = own.filter_map(|other| {
            let seen = self.calls.get(other.track)?.get(other.call).filter(|seen| seen.row.is_some())?;
            Some(seen.call.stream).filter(|&stream| stream != StreamId::NONE)
        });
        match named.next().map(|stream| stream.0) {
            Some(1) => vec!["stream 0x11".to_owned(), "17".to_owned()],
            Some(2) => vec!["stream 0x22".to_owned(), "34".to_owned()],
            Some(_) => vec!["default".to_owned(), "default stream".to_owned()],
            None => vec![format!("stream #{} of context #1", 70 + lane), (70 + lane).to_string()],
        }
    }

    fn span(&self, event: Event) -> (u64, u64) {
        match event {
            Event::Call(track, at) => {
                let seen = &self.calls[track][at];
                let end = if seen.row.is_some() { seen.call.end_ns() } else { u64::MAX };
                (seen.call.start_ns, end)
            }
            Event::Piece(piece) => (self.activities[piece].start_ns, self.activities[piece].end_ns()),
            Event::Range(track, row) => {
                let range = &self.trace.ranges.of(TrackId(u32::try_from(track).unwrap()))[row];
                (range.start_ns, range.end_ns().unwrap_or(u64::MAX))
            }
        }
    }

    /// From and to on the trace's axis; inside, `None`: there is no such time.
    fn range(&self, lens: &Lens) -> Option<Option<(u64, u64)>> {
        let steps = match lens.range.as_ref()? {
            TimeRange::Time(from, to) => return Some(Some((self.start + from, self.start + to))),
            TimeRange::Steps(steps) => steps,
        };
        let turns = (0..self.calls.len()).map(|track| {
            let ranges = self.trace.ranges.of(TrackId(u32::try_from(track).unwrap())).iter();
            let ranges = ranges.filter(|range| range.kind != crate::trace::RangeKind::Mark);
            let name = |name| self.trace.names.get(self.trace.activities.name(name)).to_owned();
            let fitting = ranges.filter(|range| fits(steps.name.as_ref().unwrap(), &name(range.name)));
            fitting.map(|range| (range.start_ns, range.end_ns().unwrap())).collect::<Vec<_>>()
        });
        let turns = turns.rev().max_by_key(Vec::len).unwrap_or_default();
        let first = turns.get(steps.first as usize - 1);
        Some(first.map(|first| (first.0, turns[turns.len().min(steps.last as usize) - 1].1)))
    }

    fn selects(&self, lens: &Lens, event: Event) -> bool {
        let (start, end) = self.span(event);
        let inside = self.range(lens).is_none_or(|range| range.is_some_and(|(from, to)| start <= to && end >= from));
        inside && lens.condition.as_ref().is_none_or(|condition| self.holds(condition, event))
    }

    fn is_cut(&self, lens: &Lens, event: Event) -> bool {
        let (start, end) = self.span(event);
        self.range(lens).flatten().is_some_and(|(from, to)| start < from || end > to)
    }

    fn events(&self) -> Vec<Event> {
        let calls = (0..self.calls.len()).flat_map(|track| (0..self.calls[track].len()).map(move |at| (track, at)));
        let ranges = (0..self.calls.len()).flat_map(|track| {
            let id = TrackId(u32::try_from(track).unwrap());
            (0..self.trace.ranges.of(id).len()).map(move |row| (track, row))
        });
        let pieces = (0..self.world.pieces.len()).map(Event::Piece);
        calls
            .map(|(track, at)| Event::Call(track, at))
            .chain(pieces)
            .chain(ranges.map(|(track, row)| Event::Range(track, row)))
            .collect()
    }

    /// What is on the way to a call in a grouping, and how many of that are groups.
    fn way(&self, grouping: Grouping, track: usize, at: usize) -> (Vec<String>, usize) {
        let chain = self.chain(track, at);
        let root = &self.calls[track][*chain.last().unwrap()].call;
        let call = |at: usize| format!("{:?}", What::Call(self.calls[track][at].call.api));
        let (process, thread) =
            (format!("{:?}", What::Process(P)), format!("{:?}", What::Thread(TrackId(u32::try_from(track).unwrap()))));
        let site = format!("{:?}", What::Site(root.site));
        let groups = match grouping {
            Grouping::Thread => vec![process, thread, site],
            Grouping::Stream => vec![process, format!("{:?}", What::Stream(root.stream)), site],
            Grouping::Device => vec![format!("{:?}", What::Device(NameId::NONE, root.device)), site],
            Grouping::CallSite => vec![site],
            Grouping::Range => vec![match self.range_at(track, root.start_ns) {
                Some(name) => {
                    let name = self.trace.names.find(name).unwrap();
                    format!("{:?}", What::Range(NameId::NONE, name))
                }
                None => format!("{:?}", What::Outside),
            }],
            Grouping::Flat => vec![],
            Grouping::Inverted => vec![site, thread],
        };
        let lead = groups.len();
        let way = match grouping {
            Grouping::Flat => vec![call(at)],
            Grouping::Inverted => chain.iter().map(|&at| call(at)).chain(groups).collect(),
            _ => groups.into_iter().chain(chain.iter().rev().map(|&at| call(at))).collect(),
        };
        (way, lead)
    }

    /// The rows of calls of a grouping, by what is on the way to them; with those that only lead to others.
    fn rows(&self, lens: &Lens, grouping: Grouping) -> (BTreeMap<Vec<String>, Stats>, BTreeSet<Vec<String>>) {
        let (mut rows, mut context): (BTreeMap<Vec<String>, Stats>, BTreeSet<Vec<String>>) = Default::default();
        let by_function = matches!(grouping, Grouping::Flat | Grouping::Inverted);
        for track in 0..self.calls.len() {
            for at in 0..self.calls[track].len() {
                if !self.selects(lens, Event::Call(track, at)) {
                    continue;
                }
                let (seen, chain) = (&self.calls[track][at], self.chain(track, at));
                let mut stats = Stats::default();
                if seen.row.is_none() {
                    stats.sums.running = 1;
                } else {
                    let timed = (!seen.call.flags.entry_only()).then_some(seen.call.duration_ns);
                    stats.add_call(timed, seen.call.flags.failed());
                    let nested = self.calls[track].iter().filter(|other| other.parent == Some(at));
                    let nested: u64 = nested.map(|other| other.call.duration_ns).sum();
                    stats.sums.self_ns = seen.call.duration_ns - nested;
                }
                let counted: Vec<&Seen> = chain
                    .iter()
                    .skip(1)
                    .filter(|&&at| self.selects(lens, Event::Call(track, at)))
                    .map(|&at| &self.calls[track][at])
                    .collect();
                if by_function && counted.iter().any(|other| other.call.api == seen.call.api) {
                    stats.sums.total_ns = 0;
                }
                let (way, lead) = self.way(grouping, track, at);
                if grouping == Grouping::Inverted {
                    (1..=way.len()).for_each(|to| rows.entry(way[..to].to_vec()).or_default().merge(&stats));
                    continue;
                }
                rows.entry(way.clone()).or_default().merge(&stats);
                context.extend((1..way.len()).map(|to| way[..to].to_vec()));
                if counted.is_empty() {
                    (1..=lead).for_each(|to| rows.entry(way[..to].to_vec()).or_default().merge(&stats));
                }
            }
        }
        context.retain(|way| !rows.contains_key(way));
        (rows, context)
    }
}

fn caller(all: &[Seen], at: usize) -> Option<usize> {
    let call = &all[at].call;
    (0..all.len())
        .filter(|&other| other != at && all[other].call.depth < call.depth)
        .filter(|&other| all[other].row.is_none() || !all[other].call.flags.entry_only())
        .filter(|&other| all[other].call.start_ns <= call.start_ns && all[other].call.end_ns() >= call.end_ns())
        .max_by_key(|&other| all[other].call.depth)
}

/// A pattern with stars, by trying everything.
fn fits(glob: &str, text: &str) -> bool {
    match glob.split_at_checked(1) {
        None => text.is_empty(),
        Some(("*", rest)) => (0..=text.len()).any(|at| fits(rest, &text[at..])),
        Some((first, rest)) => {
            text.get(..1).is_some_and(|char| char.eq_ignore_ascii_case(first)) && fits(rest, &text[1..])
        }
    }
}

type Found = (BTreeMap<Vec<String>, Stats>, BTreeSet<Vec<String>>);

/// The rows of calls of a grouping as they are shown.
fn found(made: &mut Made, grouping: Grouping) -> Found {
    made.model.lensed_view(grouping);
    while !made.model.sift(Instant::now() + Duration::from_secs(1)) {}
    made.model.lensed_view(grouping);
    let (windows, cells) = made.model.lensed_view_and_cells(grouping).unwrap();
    let rows = &windows.rows;
    let (mut counted, mut context) = (BTreeMap::new(), BTreeSet::new());
    for (id, row) in (1..).map_while(|id| rows.get(id).map(|row| (id, row))).filter(|(_, row)| row.any()) {
        let mut way = vec![format!("{:?}", row.what)];
        let mut above = row.parent;
        while above != TOP {
            let row = rows.get(above).unwrap();
            way.insert(0, format!("{:?}", row.what));
            above = row.parent;
        }
        // What the GPU did and ranges have numbers of their own.
        if row.what.is_gpu() {
            continue;
        }
        let mut stats = rows.stats(id, cells);
        if matches!(row.what, What::Range(..)) {
            stats = rows.call_stats(id, cells);
        }
        if stats.sums.any() {
            counted.insert(way, stats);
        } else {
            context.insert(way);
        }
    }
    (counted, context)
}

/// The rows of calls of a grouping, by what is on the way to them.
fn keys(made: &mut Made, grouping: Grouping) -> Vec<(Vec<String>, NodeKey)> {
    let (windows, _) = made.model.lensed_view_and_cells(grouping).unwrap();
    let rows = &windows.rows;
    let mut keys = Vec::new();
    for row in (1..).map_while(|id| rows.get(id)) {
        let mut way = vec![format!("{:?}", row.what)];
        let (mut above, mut gpu) = (row.parent, row.what.is_gpu());
        while above != TOP {
            let row = rows.get(above).unwrap();
            way.insert(0, format!("{:?}", row.what));
            gpu |= row.what.is_gpu();
            above = row.parent;
        }
        // Ranges lie in each other there; the twin knows the innermost alone.
        if row.any() && !gpu && grouping != Grouping::Range {
            keys.push((way, row.key));
        }
    }
    keys
}

const GROUPINGS: [Grouping; 7] = [
    Grouping::Thread,
    Grouping::Stream,
    Grouping::Device,
    Grouping::CallSite,
    Grouping::Range,
    Grouping::Flat,
    Grouping::Inverted,
];

/// Everything that a lens shows, to be compared.
#[derive(Debug, PartialEq)]
struct Shown {
    status: LensStatus,
    calls: Vec<Vec<usize>>,
    records: Vec<BTreeSet<u64>>,
    rows: Vec<Found>,
    events: Vec<(u64, String)>,
    kernels: Vec<(NameId, Sums)>,
}

fn shown(made: &mut Made) -> Shown {
    let rows = GROUPINGS.into_iter().map(|grouping| found(made, grouping)).collect();
    let status = made.model.lens_status().unwrap();
    let selected = made.model.selected().unwrap();
    let calls = (0..made.done.len()).map(|track| {
        let id = TrackId(u32::try_from(track).unwrap());
        (0..made.done[track]).filter(|&row| selected.call(id, row)).collect()
    });
    let calls = calls.collect();
    let lanes = made.model.trace.activities.lanes();
    let mut records: Vec<BTreeSet<u64>> = Vec::new();
    for (id, lane) in (0..).map(crate::trace::activity::LaneId).zip(lanes) {
        let rows = (0..lane.len()).filter(|&row| selected.record(id, row));
        records.push(
            rows.map(|row| lane.get(row).unwrap()).map(|a| a.start_ns << 32 | u64::from(a.correlation)).collect(),
        );
    }
    records.sort();
    let kernels = made.model.seen_gpu().kernels(&made.model.trace);
    let kernels = kernels.into_iter().map(|(name, stats)| (name, stats.sums)).collect();
    let events = events(made, 0, 10_000).1;
    Shown { status, calls, records, rows, events, kernels }
}

fn events(made: &mut Made, first: u64, rows: usize) -> (u64, Vec<(u64, String)>) {
    let at = EventsAt::Row(first);
    let request = EventsRequest { node: None, at, rows, kinds: EventKinds::default(), details: None };
    let (rows, complete) = made.model.events(request, Instant::now() + Duration::from_secs(5));
    assert!(complete);
    (rows.total, rows.rows.into_iter().map(|row| (row.start_ns, row.name)).collect())
}

#[test]
fn the_last_lenses_need_not_be_looked_through_anew() {
    let mut made = Made::new(&World {
        program: Program { ended: vec![Vec::new()], open: vec![Vec::new()], lossy: false },
        pieces: Vec::new(),
        ranges: Vec::new(),
    });
    made.all();
    let lens = |name: &str| {
        let condition = Condition::Text(TextField::Api, Pattern::Glob(name.to_owned()));
        Lens { condition: Some(Arc::new(condition)), range: None }
    };
    made.sift(&lens("a"));
    made.sift(&lens("b"));
    // What was looked at is there at once: nothing is left to be done.
    for name in ["a", "b", "a"] {
        made.model.set_lens(&lens(name));
        assert!(made.model.is_sifted(), "{name}");
    }
    made.model.set_lens(&Lens::default());
    made.model.set_lens(&lens("a"));
    assert!(made.model.is_sifted());
    made.model.set_lens(&lens("c"));
    assert!(!made.model.is_sifted());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_lens_selects_what_the_twin_selects(world in world(), lens in lens()) {
        prop_assume!(!world.program.lossy && !lens.is_clear());
        let mut made = Made::new(&world);
        made.all();
        made.sift(&lens);
        let mut copy = Made::new(&world);
        copy.all();
        let twin = Twin::of(&mut copy);
        let selected: Vec<Event> = twin.events().into_iter().filter(|&event| twin.selects(&lens, event)).collect();
        for track in 0..twin.calls.len() {
            for at in 0..twin.calls[track].len() {
                let Some(row) = twin.calls[track][at].row else { continue };
                let id = TrackId(u32::try_from(track).unwrap());
                let found = made.model.selected().unwrap().call(id, row);
                prop_assert_eq!(found, twin.selects(&lens, Event::Call(track, at)), "call {} of {}", row, track);
            }
        }
        for grouping in GROUPINGS {
            let (rows, context) = twin.rows(&lens, grouping);
            let (found, found_context) = found(&mut made, grouping);
            prop_assert_eq!(found, rows, "{:?}", grouping);
            if grouping != Grouping::Range {
                // Rows of what the GPU did stand under these, too.
                let missing: Vec<_> = context.difference(&found_context).collect();
                prop_assert!(missing.is_empty(), "{:?} {:?}", grouping, missing);
            }
        }
        for grouping in GROUPINGS {
            let mut behind: BTreeMap<Vec<String>, Vec<u64>> = BTreeMap::new();
            for &event in &selected {
                let Event::Call(track, at) = event else { continue };
                let (way, lead) = twin.way(grouping, track, at);
                let inside = twin.chain(track, at).into_iter().skip(1);
                let counted = inside.map(|at| Event::Call(track, at)).any(|event| twin.selects(&lens, event));
                // Behind a row are the calls that it counts.
                let groups = if counted { 0 } else { lead };
                let rows = match grouping {
                    Grouping::Inverted => 1..=way.len(),
                    _ => 1..=groups,
                };
                let own = (grouping != Grouping::Inverted).then_some(way.len());
                for to in rows.chain(own) {
                    behind.entry(way[..to].to_vec()).or_default().push(twin.span(event).0 - twin.start);
                }
            }
            behind.values_mut().for_each(|starts| starts.sort_unstable());
            for (way, key) in keys(&mut made, grouping) {
                let request = EventsRequest {
                    node: Some((grouping, key)),
                    at: EventsAt::Row(0),
                    rows: 10_000,
                    kinds: EventKinds::only(EventGroup::Calls),
                    details: None,
                };
                let (rows, complete) = made.model.events(request, Instant::now() + Duration::from_secs(5));
                prop_assert!(complete);
                let expected = behind.get(&way).cloned().unwrap_or_default();
                let found: Vec<u64> = rows.rows.iter().map(|row| row.start_ns).collect();
                prop_assert_eq!((rows.total, &found), (expected.len() as u64, &expected), "{:?} {:?}", grouping, way);
            }
        }
        let is_open = |event: &&Event| matches!(event, Event::Call(track, at) if twin.calls[*track][*at].row.is_none());
        let shown = selected.iter().filter(|event| !is_open(event)).count() as u64;
        let all = twin.events().iter().filter(|event| !is_open(event)).count() as u64;
        let cut = selected.iter().filter(|&&event| twin.is_cut(&lens, event)).count() as u64;
        let status = made.model.lens_status().unwrap();
        prop_assert_eq!((status.shown, status.hidden, status.cut, status.partial), (shown, all - shown, cut, false));
        // Events in order, the window in the middle included.
        let mut starts: Vec<u64> = selected.iter().map(|&event| twin.span(event).0 - twin.start).collect();
        starts.sort_unstable();
        let (total, rows) = events(&mut made, 0, 10_000);
        prop_assert_eq!(total, starts.len() as u64);
        prop_assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), starts.clone());
        let middle = (starts.len() / 2) as u64;
        let window = events(&mut made, middle, 3).1;
        let last = middle.min(total.saturating_sub(3));
        prop_assert_eq!(&window[..], &rows[last as usize..rows.len().min(last as usize + 3)]);
        // What the GPU did.
        let kernels: u64 = made.model.seen_gpu().kernels(&made.model.trace).iter().map(|(_, stats)| stats.sums.count).sum();
        let twins = selected.iter().filter(|event| matches!(event, Event::Piece(piece) if world.pieces[*piece].kind < 2));
        prop_assert_eq!(kernels, twins.count() as u64);
    }

    #[test]
    fn to_go_back_to_a_lens_is_as_to_look_through_it_anew(world in world(), lenses in prop::collection::vec(lens(), 1..4), turns in prop::collection::vec((0usize..4, 0usize..9, 0usize..4), 0..9)) {
        let mut made = Made::new(&world);
        let mut pieces = 0;
        for ((track, count, work), lens) in turns.into_iter().zip(lenses.iter().cycle()) {
            let track = track % made.done.len();
            made.read(track, count);
            let to = world.pieces.len().min(pieces + work);
            made.work(pieces, to);
            pieces = to;
            made.model.update();
            made.sift(lens);
            made.model.lensed_view(Grouping::Stream);
        }
        for track in 0..made.done.len() {
            made.read(track, usize::MAX);
        }
        made.work(pieces, world.pieces.len());
        made.model.update();
        for lens in lenses.iter().chain(&lenses).filter(|lens| !lens.is_clear()) {
            made.sift(lens);
            let mut fresh = Made::new(&world);
            fresh.all();
            fresh.sift(lens);
            prop_assert_eq!(shown(&mut made), shown(&mut fresh));
        }
    }

    #[test]
    fn live_equals_reopened(world in world(), lens in lens(), turns in prop::collection::vec((0usize..4, 0usize..9, 0usize..4), 0..20)) {
        prop_assume!(!lens.is_clear());
        let mut live = Made::new(&world);
        let mut pieces = 0;
        for (track, count, work) in turns {
            let track = track % live.done.len();
            live.read(track, count);
            let to = world.pieces.len().min(pieces + work);
            live.work(pieces, to);
            pieces = to;
            live.model.update();
            live.sift(&lens);
            live.model.lensed_view(Grouping::Thread);
            live.model.lensed_view(Grouping::Range);
        }
        for track in 0..live.done.len() {
            live.read(track, usize::MAX);
        }
        live.work(pieces, world.pieces.len());
        live.model.update();
        live.sift(&lens);
        let mut reopened = Made::new(&world);
        reopened.all();
        reopened.sift(&lens);
        prop_assert_eq!(shown(&mut live), shown(&mut reopened));
    }
}

/// Calls around work of calls around work: what the second stage asks follows from what the first one has found, and from
/// nothing that it finds itself.
#[test]
fn what_a_stage_asks_itself_makes_nothing_begin_anew() {
    let kernel = || Condition::Text(TextField::Kernel, Pattern::Glob("*".to_owned()));
    let inner = Condition::ChildrenOf(Box::new(Condition::CallersOf(Box::new(kernel()))));
    let outer = Condition::CallersOf(Box::new(Condition::All(vec![kernel(), inner])));
    let lens = Lens { condition: Some(Arc::new(outer)), range: None };
    let mut runner = TestRunner::deterministic();
    for _ in 0..64 {
        let mut made = Made::new(&world().new_tree(&mut runner).unwrap().current());
        made.all();
        made.sift(&lens);
    }
}
