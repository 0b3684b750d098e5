//! Imports read back through the native reader.

use super::*;
use crate::parse::testing;
use crate::trace::activity::evidence::What;
use crate::trace::{Layer, Trace};
use proptest::prelude::*;
use std::sync::Arc;
use umtui_wire::activity as wire;

/// An empty target.
pub fn target() -> Target {
    Target::new("a.json", "test", testing::spool(), Arc::default())
}

/// An import as a trace.
pub fn load(imported: &Imported) -> Trace {
    testing::load(imported).0
}

fn call(function: Function, start: u64, end: u64) -> Call {
    Call { function, start, end: Some(end), ..Call::default() }
}

fn calls(trace: &Trace, track: usize) -> Vec<(u64, u64, u8)> {
    let mut list = Vec::new();
    let track = &trace.tracks[track];
    track.for_each(0..track.len(), |call| list.push((call.start_ns, call.duration_ns, call.depth)));
    list
}

#[test]
fn calls_nest_by_time_whatever_their_order() {
    let mut target = target();
    let process = target.process(&Key::Number(7));
    let thread = target.thread(process, &Key::Number(8));
    let outer = target.function(Layer::Runtime, "cudaMalloc", "");
    let inner = target.function(Layer::Driver, "cuMemAlloc_v2", "");
    target.call(thread, &call(inner, 100, 110)).unwrap();
    target.call(thread, &call(outer, 1000, 1010)).unwrap();
    target.call(thread, &call(outer, 100, 120)).unwrap();
    let imported = target.finish().unwrap();
    let trace = load(&imported);
    assert_eq!((trace.processes[0].pid, trace.processes[0].start_ns, trace.start_ns()), (7, 100, 100));
    let track = trace.tracks.iter().position(|track| track.thread == 8).unwrap();
    assert_eq!(calls(&trace, track), [(100, 10, 1), (100, 20, 0), (1000, 10, 0)]);
    assert!(trace.damage.is_empty(), "{:?}", trace.damage);
}

#[test]
fn calls_without_an_end_are_calls_wherever_they_stand() {
    let mut target = target();
    let process = target.process(&Key::Number(7));
    let thread = target.thread(process, &Key::Number(8));
    let function = target.function(Layer::Runtime, "cudaMalloc", "");
    target.call(thread, &call(function, 100, 200)).unwrap();
    target.call(thread, &call(function, 300, 310)).unwrap();
    for start in [50, 150, 250, 400] {
        target.call(thread, &Call { function, start, ..Call::default() }).unwrap();
    }
    let trace = load(&target.finish().unwrap());
    let track = trace.tracks.iter().position(|track| track.thread == 8).unwrap();
    let all = [(50, 0, 0), (150, 0, 1), (100, 100, 0), (250, 0, 0), (300, 10, 0), (400, 0, 0)];
    assert_eq!(calls(&trace, track), all);
    let mut ended = Vec::new();
    trace.tracks[track].for_each(0..all.len(), |call| ended.push(!call.flags.entry_only()));
    assert_eq!(ended, [false, false, true, false, true, false]);
    assert!(trace.tracks[track].in_flight.is_empty() && trace.damage.is_empty(), "{:?}", trace.damage);
}

#[test]
fn what_crosses_has_a_lane_of_its_own() {
    let mut target = target();
    let process = target.process(&Key::None);
    let thread = target.thread(process, &Key::text("main"));
    let (a, b) = (target.text("alpha"), target.text("beta"));
    target.range(thread, &Range { name: a, start: 0, end: Some(10_000), ..Range::default() }).unwrap();
    target.range(thread, &Range { name: b, start: 5000, end: Some(15_000), ..Range::default() }).unwrap();
    let imported = target.finish().unwrap();
    assert!(imported.notes[0].contains("on a further lane"), "{:?}", imported.notes);
    let trace = load(&imported);
    let names: Vec<_> = trace.tracks.iter().map(|track| trace.names.get(track.name)).collect();
    assert!(names.contains(&"main") && names.contains(&"main (2)"), "{names:?}");
    assert_eq!(trace.ranges.rows(), 2);
    assert_eq!(trace.ranges.span(), Some((0, 15_000)));
}

#[test]
fn work_meets_its_call_and_has_evidence() {
    let mut target = target();
    let process = target.process(&Key::Number(1));
    let thread = target.thread(process, &Key::Number(1));
    let launch = target.function(Layer::Runtime, "cudaLaunchKernel", "");
    target.never(What::Faults);
    let name = target.text("saxpy").0;
    let start = 1_700_000_000_000_000_000;
    for number in 0..3 {
        let kernel = wire::Kernel {
            start: start + number * 100,
            end: start + number * 100 + 50,
            name,
            stream: 7,
            ..Default::default()
        };
        target.work(process, Some(0), number as u32 + 1, Work::Kernel(kernel)).unwrap();
        let begun = start + number * 100 - 10;
        let call = Call {
            function: launch,
            start: begun,
            end: Some(begun + 5),
            correlation: number as u32 + 1,
            ..Call::default()
        };
        target.call(thread, &call).unwrap();
    }
    let lost = wire::Kernel { start: 0, end: 5, name, ..Default::default() };
    target.work(process, Some(0), 9, Work::Kernel(lost)).unwrap();
    target.wall_clock(0);
    let imported = target.finish().unwrap();
    let trace = load(&imported);
    assert_eq!(trace.activities.records(), 4);
    assert_eq!(trace.start_ns(), start - 10);
    assert_eq!(trace.processes[0].start.realtime_ns, start - 10);
    assert_eq!(trace.activities.of(trace.tracks[0].process).unwrap().submits.len(), 3);
    let of = trace.activities.of(trace.tracks[0].process).unwrap();
    assert!(of.evidence.newest(What::Faults).is_some() && of.evidence.newest(What::Activity).is_none());
    assert!(trace.damage.is_empty(), "{:?}", trace.damage);
    assert!(imported.notes.iter().any(|note| note.contains("time zero")), "{:?}", imported.notes);
}

#[test]
fn ends_find_their_beginnings() {
    let mut target = target();
    let process = target.process(&Key::Number(0));
    let thread = target.thread(process, &Key::Number(0));
    let mut edge = |edge, name: &str, start| {
        let name = target.text(name);
        target.edge(thread, edge, &Range { name, start, ..Range::default() }).unwrap();
    };
    edge(Edge::Begin, "A", 0);
    edge(Edge::Begin, "B", 1);
    edge(Edge::End, "A", 10);
    edge(Edge::End, "C", 20);
    edge(Edge::Begin, "C", 20);
    edge(Edge::End, "D", 30);
    edge(Edge::Begin, "E", 40);
    let imported = target.finish().unwrap();
    let trace = load(&imported);
    let ranges: Vec<_> =
        trace.ranges.of(crate::trace::TrackId(1)).iter().map(|range| (range.start_ns, range.end_ns())).collect();
    assert_eq!(ranges, [(0, Some(10)), (1, Some(10)), (20, Some(20)), (40, None)]);
    assert_eq!(imported.lost.len(), 1, "{:?}", imported.lost);
    assert_eq!(imported.notes.len(), 2, "{:?}", imported.notes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Wherever in time work of any kind lies, and however far apart: it can be read.
    #[test]
    fn work_of_any_time(all in prop::collection::vec((0..6u8, 0..64u32, any::<u64>(), 0..64u32, any::<u64>()), 1..40)) {
        let mut target = target();
        let process = target.process(&Key::Number(1));
        for &(kind, shift, start, length, more) in &all {
            let start = start >> shift;
            let end = start.saturating_add(more >> length);
            let work = match kind {
                0 => Work::Kernel(wire::Kernel { start, end, ..Default::default() }),
                1 => Work::Copy(wire::Copied { start, end, ..Default::default() }),
                2 => Work::Event(wire::EventRecorded { time: start, ..Default::default() }),
                3 => Work::Memory(wire::Memory { time: start, ..Default::default() }),
                4 => Work::Kernel(wire::Kernel { start: Work::UNKNOWN, ..Default::default() }),
                // It has no end, which is zero.
                _ => Work::Unified(wire::UNIFIED_CPU_FAULT, 0, wire::Unified { start, ..Default::default() }),
            };
            target.work(process, Some(0), 0, work).unwrap();
        }
        let trace = load(&target.finish().unwrap());
        let rows: usize = trace.activities.lanes().iter().map(|lane| {
            let mut rows = 0;
            lane.for_each(0, |_, _| rows += 1);
            rows
        }).sum();
        prop_assert!(trace.damage.is_empty(), "{:?}", trace.damage);
        prop_assert_eq!(rows, all.len());
    }
}
