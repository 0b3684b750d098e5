//! The update function alone, on rows written here.

use super::*;
use crate::session::view::{CallRow, CallsRows, NodeKind};

const BODY: Size = Size::new(80, 21);
const HEIGHT: u64 = 17;

fn row(key: u64, depth: u16, parent: Option<u64>, open: Option<bool>) -> CallRow {
    CallRow {
        key: NodeKey(key),
        depth,
        parent: parent.map(NodeKey),
        hottest: open.map(|_| NodeKey(key * 10 + 1)),
        label: format!("node {key}"),
        kind: NodeKind::Runtime,
        open,
        count: 1,
        failed: 0,
        running: 0,
        total_ns: 1,
        self_ns: 1,
        min_ns: None,
        max_ns: None,
        p50_ns: None,
        p99_ns: None,
        share: 0,
        gpu: Default::default(),
    }
}

fn rows(rows: Vec<CallRow>) -> CallsRows {
    CallsRows { total: rows.len(), rows, quantile_error_pct: 6, ..CallsRows::default() }
}

fn small() -> State {
    let mut state = State::default();
    let list = vec![
        row(1, 0, None, Some(true)),
        row(11, 1, Some(1), Some(false)),
        row(12, 1, Some(1), None),
        row(2, 0, None, Some(false)),
    ];
    state.take(rows(list), true, HEIGHT);
    state
}

fn walk(state: &mut State, actions: &[Action]) -> Option<NodeKey> {
    for action in actions {
        assert_eq!(update(state, *action, BODY), Effect::None);
    }
    state.cursor
}

#[test]
fn the_layout_is_what_these_tests_think() {
    assert_eq!(layout::list_height(BODY), HEIGHT);
}

#[test]
fn walking_by_steps_parents_children_and_siblings() {
    let mut state = small();
    assert_eq!(state.cursor, Some(NodeKey(1)));
    assert_eq!(walk(&mut state, &[Action::Down, Action::Down]), Some(NodeKey(12)));
    assert_eq!(walk(&mut state, &[Action::FoldOrParent]), Some(NodeKey(1)));
    assert_eq!(walk(&mut state, &[Action::UnfoldOrChild]), Some(NodeKey(11)));
    assert_eq!(walk(&mut state, &[Action::NextSibling]), Some(NodeKey(12)));
    assert_eq!(walk(&mut state, &[Action::NextSibling]), Some(NodeKey(12)));
    assert_eq!(walk(&mut state, &[Action::PreviousSibling, Action::Parent]), Some(NodeKey(1)));
    assert_eq!(walk(&mut state, &[Action::NextSibling]), Some(NodeKey(2)));
    assert_eq!(walk(&mut state, &[Action::Bottom, Action::Down]), Some(NodeKey(2)));
}

#[test]
fn folding_flips_a_node_and_flips_it_back() {
    let mut state = small();
    walk(&mut state, &[Action::Down, Action::Toggle]);
    assert!(state.folds.flipped.contains(&NodeKey(11)));
    walk(&mut state, &[Action::Toggle]);
    assert!(state.folds.flipped.is_empty());
    // A leaf has nothing to fold.
    walk(&mut state, &[Action::Down, Action::Toggle]);
    assert!(state.folds.flipped.is_empty());
}

#[test]
fn the_hottest_child_of_a_folded_node_is_asked_for_by_name() {
    let mut state = small();
    assert_eq!(walk(&mut state, &[Action::Down, Action::Hottest]), Some(NodeKey(111)));
    assert!(state.folds.flipped.contains(&NodeKey(11)));
    assert_eq!(state.request(HEIGHT).cursor, Some(NodeKey(111)));
    // An answer to an older question does not know the child; the cursor waits for it.
    let old = state.rows.clone().unwrap_or_default();
    state.take(old, false, HEIGHT);
    assert_eq!(state.cursor, Some(NodeKey(111)));
}

#[test]
fn a_node_that_is_gone_leaves_the_cursor_on_its_line() {
    let mut state = small();
    walk(&mut state, &[Action::Down]);
    state.take(rows(vec![row(1, 0, None, Some(false)), row(2, 0, None, Some(false))]), true, HEIGHT);
    assert_eq!((state.window.cursor, state.cursor), (1, Some(NodeKey(2))));
    state.take(rows(vec![]), true, HEIGHT);
    assert_eq!((state.window.cursor, state.cursor), (0, None));
}

#[test]
fn enter_leads_to_the_events_of_this_grouping() {
    let mut state = small();
    walk(&mut state, &[Action::Down]);
    let scope = Scope { grouping: Grouping::Thread, key: NodeKey(11), label: "node 11".to_owned() };
    assert_eq!(update(&mut state, Action::Open, BODY), Effect::EventsOf(scope));
    // Between a change of grouping and its rows there is nothing to act on.
    walk(&mut state, &[Action::GroupNext]);
    assert_eq!(update(&mut state, Action::Open, BODY), Effect::None);
}

#[test]
fn sorting_goes_round_and_names_come_in_order() {
    let mut state = small();
    walk(&mut state, &[Action::SortPrevious]);
    assert_eq!(state.sort, (Column::Name, false));
    walk(&mut state, &[Action::SortPrevious]);
    assert_eq!(state.sort, (Column::Failed, true));
    walk(&mut state, &[Action::SortNext, Action::SortNext, Action::SortReverse]);
    assert_eq!(state.sort, (Column::Total, false));
    choose(&mut state, Chosen::Only(vec![Column::Max]), Some(Column::Max));
    assert_eq!(state.sort, (Column::Max, true));
}

#[test]
fn inverted_and_flat_go_back_to_the_tree_they_came_from() {
    let mut state = small();
    walk(&mut state, &[Action::GroupNext, Action::Invert]);
    assert_eq!(state.grouping, Grouping::Inverted);
    walk(&mut state, &[Action::Flat]);
    assert_eq!(state.grouping, Grouping::Flat);
    walk(&mut state, &[Action::Flat]);
    assert_eq!(state.grouping, Grouping::Stream);
}

#[test]
fn a_call_site_says_where_its_source_lies_here() {
    use crate::ui::screens::calls::facts::facts;
    let site = CallRow { kind: NodeKind::Site, ..row(3, 0, None, None) };
    let source = Some((NodeKey(3), "/build/src/a\u{1b}b.cu".to_owned(), 131));
    let rows = CallsRows { source, ..rows(vec![site.clone()]) };
    let sources = crate::ui::source_map::SourceMap::new([("/build", "/home/me")], None);
    let state = State { rows: Some(rows), sources, ..State::default() };
    let said = |row: &CallRow| facts(&state, row).into_iter().find(|(name, _)| name == "source");
    let of_site = said(&site).unwrap().1;
    assert!(of_site.starts_with("/home/me/src/a") && of_site.ends_with("b.cu:131"), "{of_site}");
    assert!(!of_site.contains('\u{1b}'));
    assert!(said(&CallRow { key: NodeKey(4), ..site.clone() }).is_none());
    assert!(said(&CallRow { kind: NodeKind::Runtime, ..site }).is_none());
}
