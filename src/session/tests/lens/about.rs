//! What a row is about, against its events.

use super::*;
use crate::graph::{Column, Folds, NodeKind};
use proptest::strategy::ValueTree as _;

use crate::session::search::Search;
use crate::session::view::{About, CallRow, CallsRequest, SearchFrom, SearchRequest, Step, View};

const GROUPINGS: [Grouping; 7] = [
    Grouping::Thread,
    Grouping::Stream,
    Grouping::Device,
    Grouping::Range,
    Grouping::CallSite,
    Grouping::Flat,
    Grouping::Inverted,
];
/// Names as a hostile program could give them.
const HOSTILE: [&str; 3] = ["a*b?(float*, 'x')", "\x1b[2J\0\"c", "\u{202e}d, e"];

fn request(grouping: Grouping) -> CallsRequest {
    let folds = Arc::new(Folds { open_depth: u16::MAX, ..Folds::default() });
    CallsRequest { grouping, sort: (Column::Total, true), folds, cursor: None, first: 0, rows: 10_000 }
}

/// Goes on in turns that are over at once.
fn about(model: &mut Model, view: &View, from: SearchFrom) -> About {
    let mut search = Search::default();
    let request = SearchRequest { id: 1, text: String::new(), from, step: Step::About };
    loop {
        let answer = search.advance((model, None), view, &request, Instant::now() + Duration::from_millis(50));
        if let Some(about) = answer.about {
            return about;
        }
        assert!(answer.share.is_some());
    }
}

fn made(world: &World) -> Made {
    let mut made = Made::new(world);
    for (at, name) in HOSTILE.iter().enumerate() {
        let name = made.model.trace.names.intern(name);
        made.model.trace.apis[at].name = name;
        if let Some(kernel) = made.kernels.get_mut(at) {
            *kernel = name;
        }
    }
    made.all();
    made
}

#[test]
fn a_search_says_how_many_matches_the_lens_hides() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..20 {
        let world = world().new_tree(&mut runner).unwrap().current();
        let mut made = Made::new(&world);
        made.all();
        let view = View::Events(EventsRequest {
            node: None,
            at: EventsAt::Row(0),
            rows: 9,
            kinds: EventKinds::ALL,
            details: None,
        });
        let mut search = Search::default();
        let ask = |made: &mut Made, search: &mut Search, id| {
            let request = SearchRequest { id, text: "malloc".to_owned(), from: SearchFrom::Row(0), step: Step::Here };
            loop {
                let answer = search.advance(
                    (&mut made.model, None),
                    &view,
                    &request,
                    Instant::now() + Duration::from_millis(50),
                );
                if answer.share.is_none() {
                    return answer;
                }
            }
        };
        let all = ask(&mut made, &mut search, 1);
        assert_eq!(all.hidden, None);
        let condition = Condition::Text(TextField::Api, Pattern::Glob("cudaMalloc".to_owned()));
        let lens = Lens { condition: Some(Arc::new(condition)), range: None };
        made.sift(&lens);
        search.see_through(&lens);
        let seen = ask(&mut made, &mut search, 2);
        assert_eq!(seen.hidden.map(|hidden| hidden + seen.count), Some(all.count));
    }
}

fn behind(model: &mut Model, node: Option<(Grouping, crate::graph::NodeKey)>) -> Vec<crate::session::view::EventRow> {
    let request = EventsRequest { node, at: EventsAt::Row(0), rows: 10_000, kinds: EventKinds::ALL, details: None };
    model.events(request, Instant::now() + Duration::from_secs(60)).0.rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_filter_like_a_row_selects_at_least_what_the_row_counts(world in world(), grouping in prop::sample::select(&GROUPINGS[..])) {
        let mut made = made(&world);
        let all = made.model.calls(&request(grouping)).rows;
        for row in &all {
            made.model.set_lens(&Lens::default());
            let like = about(&mut made.model, &View::Calls(request(grouping)), SearchFrom::Node(Some(row.key))).like;
            // Streams beyond the ones that are told apart have no name.
            let Some(like) = like else {
                prop_assert!(row.kind == NodeKind::Stream || row.kind == NodeKind::Fault, "{:?}", row);
                continue;
            };
            made.sift(&Lens { condition: Some(Arc::new(like.clone())), range: None });
            // Rows by range are looked for from when they are first asked for.
            made.model.calls(&request(grouping));
            while !made.model.sift(Instant::now() + Duration::from_secs(1)) {}
            let seen = made.model.calls(&request(grouping)).rows;
            let count = |rows: &[CallRow]| rows.iter().find(|other| other.key == row.key).map_or(0, |row| row.count);
            prop_assert!(count(&seen) >= row.count, "{:?}\n{} of {:?}", like, count(&seen), row);
        }
    }

    #[test]
    fn a_rows_time_is_from_its_first_event_to_its_last(world in world(), grouping in prop::sample::select(&GROUPINGS[..])) {
        let mut made = made(&world);
        let end = made.model.trace.end_ns() - made.model.trace.start_ns();
        for row in made.model.calls(&request(grouping)).rows.iter().filter(|row| row.kind != NodeKind::Range) {
            let span = about(&mut made.model, &View::Calls(request(grouping)), SearchFrom::Node(Some(row.key))).span;
            let events = behind(&mut made.model, Some((grouping, row.key)));
            let last = |event: &crate::session::view::EventRow| match event.outcome {
                crate::session::view::Outcome::Running => end.max(event.start_ns),
                _ => event.start_ns + event.duration_ns.unwrap_or(0),
            };
            let first = events.iter().map(|event| event.start_ns).min();
            prop_assert_eq!(span, first.zip(events.iter().map(last).max()), "{:?}", row);
        }
    }

    #[test]
    fn a_things_time_is_from_its_first_event_to_its_last_of_what_is_seen(world in world(), lens in lens()) {
        let mut made = made(&world);
        made.sift(&lens);
        let view = View::Overview { rows: 40, columns: 80 };
        let trace = &made.model.trace;
        let (start, end) = (trace.start_ns(), trace.end_ns());
        let mut wanted: BTreeMap<String, (What, u64, u64)> = BTreeMap::new();
        let mut note = |what: What, from: u64, to: u64| {
            let known = wanted.entry(format!("{what:?}")).or_insert((what, from, to));
            (known.1, known.2) = (known.1.min(from), known.2.max(to));
        };
        let selected = made.model.selected();
        for (id, track) in (0..).map(TrackId).zip(&trace.tracks) {
            for row in (0..track.len()).filter(|&row| selected.is_none_or(|of| of.call(id, row))) {
                let call = track.call(row).unwrap();
                note(What::Call(call.api), call.start_ns, call.end_ns());
            }
        }
        for (_, call) in made.model.seen_open() {
            note(What::Call(call.api), call.start_ns, end.max(call.start_ns));
        }
        for (id, lane) in (0..).map(crate::trace::activity::LaneId).zip(trace.activities.lanes()) {
            for row in (0..lane.len()).filter(|&row| selected.is_none_or(|of| of.record(id, row))) {
                let activity = lane.get(row).unwrap();
                if activity.kind == ActivityKind::Kernel && activity.timed {
                    note(What::Kernel(trace.activities.kernel_name(&activity)), activity.start_ns, activity.end_ns());
                }
            }
        }
        for (what, from, to) in wanted.into_values() {
            let span = about(&mut made.model, &view, SearchFrom::Thing(what)).span;
            prop_assert_eq!(span, Some((from - start, to - start)), "{:?}", what);
        }
    }

    #[test]
    fn a_filter_like_an_event_selects_it(world in world()) {
        let mut made = made(&world);
        let events = behind(&mut made.model, None);
        let view = View::Events(EventsRequest { node: None, at: EventsAt::Row(0), rows: 100, kinds: EventKinds::ALL, details: None });
        for (at, event) in events.iter().enumerate() {
            made.model.set_lens(&Lens::default());
            let about = about(&mut made.model, &view, SearchFrom::Row(at as u64));
            let like = about.like.unwrap();
            made.sift(&Lens { condition: Some(Arc::new(like.clone())), range: None });
            prop_assert!(behind(&mut made.model, None).contains(event), "{:?} {:?}", like, event);
            prop_assert_eq!(about.span.unwrap().0, event.start_ns);
        }
    }
}
