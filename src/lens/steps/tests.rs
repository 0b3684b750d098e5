use super::*;
use crate::trace::range::Begun;
use crate::trace::{LaneOf, Process};
use proptest::prelude::*;

/// A trace of ranges: process, thread in it, name, begin, end.
fn trace_of(processes: u16, ranges: &[(u16, u32, &str, u64, Option<u64>)]) -> Trace {
    let mut trace = Trace::default();
    for process in 0..processes {
        trace.add_process(Process { pid: 100 + u32::from(process), ..Process::default() });
    }
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (row, &(.., start, end)) in ranges.iter().enumerate() {
        events.push((start, true, row));
        events.extend(end.map(|end| (end, false, row)));
    }
    // Of one moment the ends come first.
    events.sort();
    for (ns, begins, row) in events {
        let (process, thread, name, ..) = ranges[row];
        let (process, name) = (ProcessId(process), trace.names.intern(name));
        let track = trace.track_of(process, 100 * (u32::from(process.0) + 1) + thread);
        let text = trace.activities.text(process, 50 + name.0, Some(name));
        let id = row as u64 + 1;
        let begun = Begun { ns, name: text, domain: Default::default(), color: 0, level: 0, id, place: 0 };
        if begins {
            trace.ranges.start(process, track, &begun);
        } else {
            trace.ranges.end(process, id, ns);
        }
    }
    trace.activities.push(ProcessId(0), LaneOf::Unified, &crate::trace::Activity::default(), 0);
    trace.touch();
    trace
}

fn found(trace: &Trace, text: &str) -> (String, u64, Option<(u64, u64)>) {
    let found = find(&Steps::parse(text).unwrap(), trace);
    (found.name, found.turns, found.ns)
}

#[test]
fn steps_are_read_and_written() {
    for text in ["step:3", "step:3..5", "step:3..", "step:forward#1", "step:a#b*#2..7"] {
        assert_eq!(Steps::parse(&text[5..]).unwrap().to_string(), text);
    }
    for text in ["", "0", "x", "3..2", "#3", "a#", "a#0", "..3", "3...5", "-1", "3#"] {
        assert!(Steps::parse(text).is_err(), "{text}");
    }
    assert_eq!(Steps::parse("99999999999999999999").unwrap().first, u64::MAX);
}

#[test]
fn the_nth_turn_is_that_of_each_process_on_its_busiest_thread() {
    let trace = trace_of(
        3,
        &[
            (0, 0, "step", 10, Some(20)),
            (0, 0, "step", 30, Some(40)),
            (0, 0, "step", 50, None),
            // A helper that does less of it.
            (0, 1, "step", 100, Some(900)),
            (1, 0, "step", 12, Some(24)),
            (1, 0, "step", 35, Some(44)),
            (2, 0, "other", 0, Some(1000)),
        ],
    );
    let name = || "step".to_owned();
    assert_eq!(found(&trace, "step#1"), (name(), 3, Some((10, 24))));
    assert_eq!(found(&trace, "step#2"), (name(), 3, Some((30, 44))));
    assert_eq!(found(&trace, "step#3"), (name(), 3, Some((50, u64::MAX))));
    assert_eq!(found(&trace, "step#1..2"), (name(), 3, Some((10, 44))));
    assert_eq!(found(&trace, "step#2..99"), (name(), 3, Some((30, u64::MAX))));
    assert_eq!(found(&trace, "step#4"), (name(), 3, None));
    assert_eq!(found(&trace, "st#4"), ("st".to_owned(), 0, None));
    assert_eq!(found(&trace, "2"), found(&trace, "step#2"));
}

#[test]
fn the_range_that_repeats_most_regularly_is_found_below_what_runs_once() {
    let mut ranges = vec![(0, 0, "training", 0, Some(10_000)), (0, 0, "load", 1, Some(5)), (0, 0, "load", 8, Some(9))];
    let names: Vec<String> = (0..9).map(|turn| format!("iteration {turn}")).collect();
    for (turn, name) in (0u64..).zip(&names) {
        let start = 100 + turn * 1000;
        ranges.push((0, 0, name, start, Some(start + 900)));
        ranges.push((0, 0, "forward", start + 10, Some(start + 300)));
        ranges.push((0, 0, "forward", start + 310, Some(start + 320)));
    }
    // As often, but unevenly, between the iterations.
    let uneven = [(0, 10), (0, 20), (0, 30), (0, 40), (5, 10), (5, 20), (5, 30), (8, 10), (8, 20)];
    ranges.extend(uneven.map(|(gap, at)| (0, 0, "save", 1000 * (gap + 1) + at, Some(1000 * (gap + 1) + at + 5))));
    let trace = trace_of(1, &ranges);
    assert_eq!(found(&trace, "3"), ("iteration *".to_owned(), 9, Some((2100, 3000))));
    assert_eq!(found(&trace, "forward#3").2, Some((1110, 1400)));
    let once = trace_of(1, &[(0, 0, "training", 0, Some(10)), (0, 0, "load", 1, Some(5))]);
    assert_eq!(find(&Steps::parse("1").unwrap(), &once), StepsFound::default());
    assert_eq!(find(&Steps::parse("1").unwrap(), &Trace::default()), StepsFound::default());
}

#[test]
fn a_turn_inside_another_is_none() {
    let trace = trace_of(
        1,
        &[(0, 0, "f", 10, Some(50)), (0, 0, "f", 20, Some(30)), (0, 0, "f", 45, Some(60)), (0, 0, "f", 70, Some(80))],
    );
    let time = |text: &str| found(&trace, text).2;
    assert_eq!(
        (time("f#1"), time("f#2"), time("f#3"), time("f#4")),
        (Some((10, 50)), Some((45, 60)), Some((70, 80)), None)
    );
}

proptest! {
    #[test]
    fn any_ranges_are_survived(
        ranges in prop::collection::vec((0u16..2, 0u32..2, 0usize..4, 0u64..100, prop::option::of(0u64..50)), 0..30),
        first in 1u64..5,
        more in 0u64..3,
        named: bool,
    ) {
        const NAMES: [&str; 4] = ["a", "b 1", "b 2", ""];
        let ranges: Vec<_> = ranges
            .into_iter()
            .map(|(process, thread, name, start, length)| (process, thread, NAMES[name], start, length.map(|length| start + length)))
            .collect();
        let trace = trace_of(2, &ranges);
        let name = named.then(|| Arc::from("b*"));
        let found = find(&Steps { name, first, last: first + more }, &trace);
        prop_assert_eq!(found.ns.is_some(), found.turns >= first);
        prop_assert!(found.ns.is_none_or(|(from, to)| from <= to));
        prop_assert!(found.turns <= ranges.len() as u64);
    }
}
