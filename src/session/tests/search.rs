//! What a search finds against looking at every row.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::graph::tests::twin::program;
use crate::graph::{Column, Folds, Grouping, NodeKey};
use crate::session::search::{Pattern, Search};
use crate::session::view::{
    CallsRequest, EventKinds, EventsAt, EventsRequest, SearchAnswer, SearchFrom, SearchRequest, Step, Target, View,
};

fn calls(grouping: Grouping, open_depth: u16) -> CallsRequest {
    let folds = std::sync::Arc::new(Folds { open_depth, ..Folds::default() });
    CallsRequest { grouping, sort: (Column::Total, true), folds, cursor: None, first: 0, rows: 10_000 }
}

/// Goes on in turns that are over at once, until all is done.
fn search(search: &mut Search, model: &mut Model, view: &View, request: &SearchRequest) -> SearchAnswer {
    loop {
        let answer = search.advance((model, None), view, request, Instant::now());
        if answer.share.is_none() {
            return answer;
        }
    }
}

/// The match that the step leads to among those at these places.
fn twin(hits: &[usize], from: usize, step: Step) -> Option<usize> {
    let near = match step {
        Step::Here => hits.iter().position(|&hit| hit >= from),
        Step::Next => hits.iter().position(|&hit| hit > from),
        _ => hits.iter().rposition(|&hit| hit < from),
    };
    near.or(if step == Step::Previous { hits.len().checked_sub(1) } else { (!hits.is_empty()).then_some(0) })
}

const STEPS: [Step; 3] = [Step::Here, Step::Next, Step::Previous];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn events_are_found_in_their_order(
        program in program(), text in prop::sample::select(&["api1", "api", "thread", "1001", "zzz"][..]), from in 0usize..90,
    ) {
        let mut model = model_of(&program);
        let until = Instant::now() + Duration::from_secs(60);
        let request = EventsRequest { node: None, at: EventsAt::Row(0), rows: 10_000, kinds: EventKinds::ALL, details: None };
        let rows = model.events(request, until).0.rows;
        let pattern = Pattern::new(text).unwrap();
        let finds = |name: &str| pattern.finds(name);
        let hits: Vec<usize> = (0..rows.len())
            .filter(|&row| finds(&rows[row].name) || finds(&rows[row].thread_name) || finds(&rows[row].site))
            .collect();
        let mut state = Search::default();
        for (id, step) in (0..).zip(STEPS) {
            let asked = SearchRequest { id, text: text.to_owned(), from: SearchFrom::Row(from as u64), step };
            let answer = search(&mut state, &mut model, &View::Events(request), &asked);
            prop_assert_eq!(answer.count, hits.len() as u64);
            let expected = twin(&hits, from, step);
            let row = expected.map(|at| Target::Row(hits[at] as u64));
            prop_assert_eq!(answer.found.as_ref().map(|found| found.target.clone()), row);
            prop_assert_eq!(answer.found.and_then(|found| found.number), expected.map(|at| at as u64 + 1));
        }
    }

    #[test]
    fn rows_of_the_tree_are_found_folded_or_not(
        program in program(),
        text in prop::sample::select(&["api1", "api", "thread", "zzz"][..]),
        grouping in prop::sample::select(&[Grouping::Thread, Grouping::Flat, Grouping::Inverted, Grouping::CallSite][..]),
        from in prop::option::of(0usize..40),
        depth in 0u16..3,
    ) {
        let mut model = model_of(&program);
        let whole = model.calls(&calls(grouping, u16::MAX)).rows;
        let pattern = Pattern::new(text).unwrap();
        let hits: Vec<usize> = (0..whole.len()).filter(|&row| pattern.finds(&whole[row].label)).collect();
        let from = from.filter(|&row| row < whole.len());
        let mut state = Search::default();
        for (id, step) in (0..).zip(STEPS) {
            let node = SearchFrom::Node(from.map(|row| whole[row].key));
            let asked = SearchRequest { id, text: text.to_owned(), from: node, step };
            let answer = search(&mut state, &mut model, &View::Calls(calls(grouping, depth)), &asked);
            prop_assert_eq!(answer.count, hits.len() as u64);
            // Before the first row is where one is without a cursor.
            let expected = match (from, step) {
                (None, Step::Here | Step::Next) => (!hits.is_empty()).then_some(0),
                (None, _) => hits.len().checked_sub(1),
                (Some(from), step) => twin(&hits, from, step),
            };
            let keys = |found: &crate::session::view::Found| match &found.target {
                Target::Node { key, path } => (*key, path.clone()),
                other => panic!("{other:?}"),
            };
            let found = answer.found.as_ref().map(keys);
            prop_assert_eq!(found.as_ref().map(|found| found.0), expected.map(|at| whole[hits[at]].key));
            let Some((key, path)) = found else { continue };
            let above: Vec<NodeKey> = path.iter().map(|node| node.0).collect();
            let mut expected = Vec::new();
            let mut at = whole.iter().find(|row| row.key == key).and_then(|row| row.parent);
            while let Some(row) = at.and_then(|key| whole.iter().find(|row| row.key == key)) {
                expected.insert(0, row.key);
                at = row.parent;
            }
            prop_assert_eq!(above, expected);
            let is_folded = path.iter().any(|(_, at)| *at >= depth);
            prop_assert_eq!(answer.found.is_some_and(|found| found.place.contains("folded")), is_folded);
        }
    }
}

#[test]
fn what_comes_later_is_found_too() {
    let mut model = Model::default();
    let mut state = Search::default();
    let asked = |id| SearchRequest { id, text: "free".to_owned(), from: SearchFrom::Node(None), step: Step::Here };
    let view = View::Calls(calls(Grouping::Flat, 0));
    assert_eq!(search(&mut state, &mut model, &view, &asked(1)).found, None);
    let process = model.trace.add_process(Process { pid: 7, ..Process::default() }).unwrap();
    let track = model.trace.track_of(process, 7);
    let api = model.trace.api_of("cudaFree", Layer::Runtime, Signature::default());
    model.trace.tracks[track.index()].push(crate::graph::tests::call(5, 6, 0, api.0), 0);
    model.trace.touch();
    model.update();
    let answer = search(&mut state, &mut model, &view, &asked(1));
    assert_eq!((answer.count, answer.found.and_then(|found| found.number)), (1, Some(1)));
}
