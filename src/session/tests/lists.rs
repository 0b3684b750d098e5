//! The order of events against sorting all of them.

use super::*;
use crate::graph::tests::twin::program;
use crate::graph::{Grouping, NodeKey, RowId};
use crate::session::matches::{Filtered, Matches};
use crate::session::order::{All, Event, Order, open_calls};
use crate::session::others::Others;
use crate::session::view::{EventGroup, EventKinds, EventsAt, EventsRequest};
use crate::trace::activity::LaneId;
use crate::trace::range::Begun;
use crate::trace::{Activity, ActivityKind, LaneOf};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Start, thread (open calls first), depth, row or place among the open calls.
type Key = (u64, Option<TrackId>, u8, usize);

fn all_keys(model: &Model) -> Vec<Key> {
    let trace = &model.trace;
    let open = open_calls(trace, &model.tree);
    let mut keys: Vec<Key> =
        open.iter().enumerate().map(|(at, (_, call))| (call.start_ns, None, call.depth, at)).collect();
    for id in tracks(trace) {
        let track = trace.track(id).unwrap();
        let calls = (0..track.len()).map(|row| (row, track.call(row).unwrap()));
        keys.extend(calls.map(|(row, call)| (call.start_ns, Some(id), call.depth, row)));
    }
    keys.sort_unstable();
    keys
}

fn key_of(model: &Model, event: Event) -> Key {
    match event {
        Event::Ended(id, row) => {
            let call = model.trace.track(id).unwrap().call(row).unwrap();
            (call.start_ns, Some(id), call.depth, row)
        }
        Event::Open(id, call) => {
            let open = open_calls(&model.trace, &model.tree);
            let at = open.iter().position(|&other| other == (id, call)).unwrap();
            (call.start_ns, None, call.depth, at)
        }
        Event::Range(..) | Event::Record(..) => unreachable!("there are calls only"),
    }
}

/// Events behind a row, in windows of `count`.
fn behind(model: &mut Model, grouping: Grouping, row: RowId, count: usize) -> Vec<Key> {
    model.view(grouping);
    let mut matches = Matches::default();
    let (view, _) = model.view_and_cells(grouping).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    assert!(matches.update(&model.trace, &model.tree, &view.rows, row, until));
    let open = matches.open().to_vec();
    let others = Others::default();
    let mut filtered = Filtered { matches: &mut matches, behind: &model.tree };
    let mut order = Order { trace: &model.trace, selection: &mut filtered, open: &open, others: &others, sieve: None };
    let total = order.total();
    let mut keys = Vec::new();
    while (keys.len() as u64) < total {
        let window = order.window(keys.len() as u64, count);
        assert!(!window.is_empty());
        keys.extend(window.into_iter().map(|event| key_of(model, event)));
    }
    assert_eq!(keys.len() as u64, total);
    keys
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_window_is_a_part_of_the_sorted_list(program in program(), first in 0u64..90, count in 1usize..20, ns in 0u64..900) {
        let model = model_of(&program);
        let keys = all_keys(&model);
        let open = open_calls(&model.trace, &model.tree);
        let others = Others::default();
        let mut order = Order { trace: &model.trace, selection: &mut All, open: &open, others: &others, sieve: None };
        prop_assert_eq!(order.total(), keys.len() as u64);
        prop_assert_eq!(order.before(ns), keys.iter().filter(|key| key.0 < ns).count() as u64);
        let window: Vec<Key> = order.window(first, count).into_iter().map(|event| key_of(&model, event)).collect();
        let expected: Vec<Key> = keys.iter().copied().skip(usize::try_from(first).unwrap()).take(count).collect();
        prop_assert_eq!(window, expected);
    }

    #[test]
    fn every_event_is_behind_one_row_of_its_function(program in program(), count in 1usize..9) {
        let mut model = model_of(&program);
        let all = all_keys(&model);
        for grouping in [Grouping::Flat, Grouping::Thread, Grouping::Inverted] {
            let view = model.view(grouping).unwrap();
            let rows: Vec<(RowId, NodeKey, u64)> = (1..u32::try_from(view.rows.len()).unwrap())
                .map(|id| (id, view.rows.get(id).unwrap()))
                // In these rows every call is counted once.
                .filter(|(_, row)| match grouping {
                    Grouping::Inverted => row.depth == 0,
                    _ => matches!(row.what, crate::graph::What::Call(_)),
                })
                .map(|(id, row)| (id, row.key, row.sums().count + row.sums().running))
                .collect();
            let mut seen = Vec::new();
            for (row, key, calls) in rows {
                let keys = behind(&mut model, grouping, row, count);
                prop_assert_eq!(keys.len() as u64, calls);
                prop_assert!(keys.is_sorted());
                let request = EventsRequest { node: Some((grouping, key)), at: EventsAt::End, rows: 3, kinds: EventKinds::ALL, details: None };
                let (answer, complete) = model.events(request, Instant::now() + Duration::from_secs(60));
                prop_assert!(complete);
                prop_assert_eq!(answer.total, calls);
                prop_assert_eq!(answer.first, calls.saturating_sub(3));
                seen.extend(keys);
            }
            seen.sort_unstable();
            prop_assert_eq!(&seen, &all);
        }
    }
}

/// Many calls of few functions, so that there are many blocks.
fn long_model(calls: u64) -> Model {
    let call = |number: u64| crate::trace::Call {
        start_ns: number * 10,
        duration_ns: 5,
        api: crate::trace::ApiId(u16::try_from(number % 3).unwrap()),
        site: crate::trace::SiteId(0),
        stream: crate::trace::StreamId::NONE,
        device: 0,
        depth: 0,
        flags: crate::trace::CallFlags::default(),
        extra: 0,
    };
    let ended = vec![(0..calls).map(call).collect()];
    model_of(&Program { ended, open: vec![Vec::new()], lossy: false })
}

#[test]
fn blocks_are_looked_through_in_turns_and_while_growing() {
    let mut model = long_model(10_000);
    let view = model.view(Grouping::Flat).unwrap();
    let key = view.rows.get(view.rows.children(0).next().unwrap()).unwrap().key;
    let request = EventsRequest {
        node: Some((Grouping::Flat, key)),
        at: EventsAt::Row(2000),
        rows: 5,
        kinds: EventKinds::ALL,
        details: None,
    };
    // No time at all: nothing is looked at, and that is said.
    let (answer, complete) = model.events(request, Instant::now());
    assert_eq!((answer.total, complete), (0, false));
    let later = || Instant::now() + Duration::from_secs(60);
    let (answer, complete) = model.events(request, later());
    assert!(complete);
    assert_eq!(answer.total, 3334);
    assert_eq!(answer.rows[0].start_ns, 2000 * 3 * 10);
    // The last block is looked at before it grows.
    let (answer, _) = model.events(EventsRequest { at: EventsAt::End, ..request }, later());
    assert_eq!(answer.rows[4].start_ns, 3333 * 3 * 10);
    let more = model.trace.tracks[0].call(0).unwrap();
    for number in 0..5000 {
        model.trace.tracks[0].push(crate::trace::Call { start_ns: 100_000 + number * 10, ..more }, 0);
    }
    model.trace.touch();
    model.update();
    let (answer, _) = model.events(EventsRequest { at: EventsAt::End, ..request }, later());
    assert_eq!((answer.total, answer.first), (8334, 8329));
    let (grown, _) = model.events(EventsRequest { at: EventsAt::Row(3334), ..request }, later());
    assert_eq!(grown.rows[0].start_ns, 100_000);
    assert_eq!(answer.rows[4].start_ns, 100_000 + 4999 * 10);
}

/// Start, kind of source, its number, level, row.
type AnyKey = (u64, u8, u32, u8, usize);

fn any_key(trace: &Trace, event: Event) -> AnyKey {
    match event {
        Event::Ended(id, row) => {
            let call = trace.track(id).unwrap().call(row).unwrap();
            (call.start_ns, 2, id.0, call.depth, row)
        }
        Event::Open(id, call) => (call.start_ns, 0, id.0, call.depth, 0),
        Event::Range(id, row) => {
            let range = trace.ranges.of(id)[row];
            (range.start_ns, 1, id.0, range.level, row)
        }
        Event::Record(id, row) => (trace.activities.lane(id).unwrap().get(row).unwrap().start_ns, 3, id.0, 0, row),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_the_gpu_did_and_ranges_stand_among_the_calls(
        program in program(),
        records in prop::collection::vec((0u32..3, 0usize..9, 0u64..900, 1u8..9), 0..60),
        ranges in prop::collection::vec((0u32..3, 0u64..900, any::<bool>()), 0..20),
        groups in prop::collection::vec(any::<bool>(), 9),
        (first, count, ns, looks) in (0u64..120, 1usize..25, 0u64..900, 1usize..8),
    ) {
        let mut model = model_of(&program);
        let later = || Instant::now() + Duration::from_secs(60);
        let mut kinds = EventKinds::ALL;
        for (group, keep) in EventGroup::ALL.into_iter().zip(groups) {
            // Calls are left out by another selection.
            if !keep && group != EventGroup::Calls {
                kinds = kinds.flipped(group);
            }
        }
        let mut others = Others::new(kinds, None);
        let mut wanted: Vec<AnyKey> = Vec::new();
        for (at, (lane, kind, start_ns, detail)) in records.into_iter().enumerate() {
            let kind = ActivityKind::ALL[kind];
            let of = match kind {
                ActivityKind::Unified => LaneOf::Unified,
                ActivityKind::Memory => LaneOf::Memory,
                kind if kind.is_work() => LaneOf::Stream { context: 0, stream: lane },
                _ => LaneOf::Host,
            };
            let activity = Activity { kind, start_ns, detail, ..Activity::default() };
            let id = model.trace.activities.push(ProcessId(0), of, &activity, 0);
            let row = model.trace.activities.lane(id).unwrap().len() - 1;
            if kinds.has(crate::session::others::group_of(&activity)) {
                wanted.push((start_ns, 3, id.0, 0, row));
            }
            // What is looked for in pieces is the same as all at once.
            if at % looks == 0 {
                prop_assert!(others.update(&model.trace, None, later()));
            }
        }
        for (track, ns, push) in ranges {
            let begun = Begun { ns, name: Default::default(), domain: Default::default(), color: 0, level: 2, id: 0, place: 0 };
            let track = TrackId(track.min(u32::try_from(model.trace.tracks.len()).unwrap() - 1));
            if push {
                model.trace.ranges.push(track, &begun);
            } else {
                model.trace.ranges.mark(track, &begun);
            }
        }
        prop_assert!(others.update(&model.trace, None, later()));
        let trace = &model.trace;
        for id in tracks(trace) {
            let calls = (0..trace.track(id).unwrap().len()).map(|row| any_key(trace, Event::Ended(id, row)));
            wanted.extend(calls);
            if kinds.has(EventGroup::Ranges) {
                wanted.extend((0..trace.ranges.of(id).len()).map(|row| any_key(trace, Event::Range(id, row))));
            }
        }
        wanted.sort_unstable();
        let mut order = Order { trace, selection: &mut All, open: &[], others: &others, sieve: None };
        prop_assert_eq!(order.total(), wanted.len() as u64);
        prop_assert_eq!(order.before(ns), wanted.iter().filter(|key| key.0 < ns).count() as u64);
        let window: Vec<AnyKey> = order.window(first, count).into_iter().map(|event| any_key(trace, event)).collect();
        let expected: Vec<AnyKey> = wanted.iter().copied().skip(usize::try_from(first).unwrap()).take(count).collect();
        prop_assert_eq!(window, expected);
        for id in tracks(trace) {
            for row in 0..trace.track(id).unwrap().len() {
                let key = any_key(trace, Event::Ended(id, row));
                let number = wanted.iter().position(|&other| other == key).unwrap();
                prop_assert_eq!(order.number_of(id, row, key.0), Some(number as u64));
            }
        }
        prop_assert_eq!(others.len(LaneId(99)), 0);
    }
}
