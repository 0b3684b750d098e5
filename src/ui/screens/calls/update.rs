//! What the calls screen does with an action.

use std::sync::Arc;

use ratatui::layout::{Rect, Size};

use super::columns::{self, Chosen, Numbers};
use super::facts;
use super::layout;
use super::state::{State, first_folds};
use crate::session::view::{Column, Folds, Grouping, NodeKey};
use crate::ui::effect::{Effect, Popup, Scope};
use crate::ui::keys::Action;
use crate::ui::screens::step_of;
use crate::ui::widgets::list::Window;

/// Obeys an action.
pub fn update(state: &mut State, action: Action, body: Size) -> Effect {
    let height = layout::list_height(body);
    if let Some(rows) = step_of(action, height) {
        let row = state.window.cursor.saturating_add_signed(rows);
        state.go_to_row(row, height);
        return Effect::None;
    }
    let list_cells = layout::of(Rect::new(0, 0, body.width, body.height)).list.width;
    match action {
        Action::Centre => state.window.centre(state.total(), height),
        Action::Open => return events(state),
        Action::Details => return details(state),
        Action::Columns => {
            let shown = columns::visible(&state.chosen, list_cells);
            return Effect::Open(Popup::Columns(Chosen::Only(shown)));
        }
        Action::SortNext => sort_by_neighbour(state, list_cells, 1),
        Action::SortPrevious => sort_by_neighbour(state, list_cells, -1),
        Action::SortReverse => state.sort.1 = !state.sort.1,
        Action::Percent => {
            state.numbers = match state.numbers {
                Numbers::Times => Numbers::Shares,
                Numbers::Shares => Numbers::Times,
            }
        }
        Action::GroupNext => group(state, next_grouping(state.grouping)),
        Action::Invert => toggle_grouping(state, Grouping::Inverted),
        Action::Flat => toggle_grouping(state, Grouping::Flat),
        _ => fold_or_walk(state, action, height),
    }
    Effect::None
}

/// Shows these columns; sorted by one of them, if one was picked.
pub fn choose(state: &mut State, chosen: Chosen, sort: Option<Column>) {
    state.chosen = chosen;
    if let Some(column) = sort {
        state.sort = (column, column != Column::Name);
    }
}

fn details(state: &State) -> Effect {
    match state.current() {
        Some(row) => Effect::Open(Popup::Details { title: row.label.clone(), fields: facts::facts(state, row) }),
        None => Effect::None,
    }
}

fn events(state: &State) -> Effect {
    match state.current() {
        // Which work was submitted in which range is only known as a sum.
        Some(row) if state.grouping == Grouping::Range && row.kind.is_gpu() => details(state),
        Some(row) => Effect::EventsOf(Scope { grouping: state.grouping, key: row.key, label: row.label.clone() }),
        None => Effect::None,
    }
}

fn sort_by_neighbour(state: &mut State, cells: u16, step: isize) {
    let columns = columns::sortable(&state.chosen, cells);
    let at = columns.iter().position(|column| *column == state.sort.0).unwrap_or(0);
    let next = (at as isize + step).rem_euclid(columns.len() as isize);
    if let Some(&column) = columns.get(next.unsigned_abs()) {
        state.sort = (column, column != Column::Name);
    }
}

fn next_grouping(grouping: Grouping) -> Grouping {
    match grouping {
        Grouping::Thread => Grouping::Stream,
        Grouping::Stream => Grouping::Device,
        Grouping::Device => Grouping::Range,
        Grouping::Range => Grouping::CallSite,
        Grouping::CallSite => Grouping::Flat,
        Grouping::Flat | Grouping::Inverted => Grouping::Thread,
    }
}

fn toggle_grouping(state: &mut State, wanted: Grouping) {
    let next = if state.grouping == wanted { state.tree } else { wanted };
    group(state, next);
}

/// Changes the grouping. Nodes are others then, so the cursor looks for its label.
pub fn group(state: &mut State, grouping: Grouping) {
    state.seek = state.current().map(|row| row.label.clone());
    state.grouping = grouping;
    if !matches!(grouping, Grouping::Flat | Grouping::Inverted) {
        state.tree = grouping;
    }
    state.folds = first_folds(grouping);
    state.window = Window::default();
    state.cursor = None;
    state.stale = true;
}

/// Puts them together in another way; the cursor looks for this label.
pub fn look_for(state: &mut State, grouping: Grouping, label: String) {
    if state.grouping != grouping {
        group(state, grouping);
    }
    (state.cursor, state.window, state.seek) = (None, Window::default(), Some(label));
}

fn fold_or_walk(state: &mut State, action: Action, height: u64) {
    let open = state.current().and_then(|row| row.open);
    match action {
        Action::Toggle => flip(state),
        Action::FoldOrParent if open == Some(true) => flip(state),
        Action::UnfoldOrChild if open == Some(false) => flip(state),
        Action::UnfoldOrChild if open == Some(true) => state.go_to_row(state.window.cursor + 1, height),
        Action::FoldOrParent | Action::Parent => {
            if let Some(parent) = state.current().and_then(|row| row.parent) {
                state.go_to_node(parent, height);
            }
        }
        Action::Hottest => hottest(state, height),
        Action::NextSibling => sibling(state, 1, height),
        Action::PreviousSibling => sibling(state, -1, height),
        Action::FoldAll => fold_to(state, 0, height),
        Action::UnfoldAll => fold_to(state, u16::MAX, height),
        Action::FoldMore => fold_to(state, state.folds.open_depth.min(deepest(state)).saturating_sub(1), height),
        Action::FoldLess => fold_to(state, state.folds.open_depth.saturating_add(1), height),
        Action::FoldTo(depth) => fold_to(state, depth, height),
        _ => {}
    }
}

/// Depth of the deepest row that has come: after "unfold all" one level less must be seen at once.
fn deepest(state: &State) -> u16 {
    state.rows.as_ref().and_then(|rows| rows.rows.iter().map(|row| row.depth).max()).unwrap_or(0)
}

fn flip(state: &mut State) {
    let Some(key) = state.current().filter(|row| row.open.is_some()).map(|row| row.key) else { return };
    let flipped = &mut Arc::make_mut(&mut state.folds).flipped;
    if !flipped.remove(&key) {
        flipped.insert(key);
    }
}

fn fold_to(state: &mut State, open_depth: u16, height: u64) {
    if let Some(ancestor) = ancestor(state, open_depth) {
        state.go_to_node(ancestor, height);
    }
    state.folds = Arc::new(Folds { open_depth, ..Folds::default() });
}

/// The node at or above the cursor which is still to be seen when all deeper ones are folded away.
fn ancestor(state: &State, depth: u16) -> Option<NodeKey> {
    let mut row = state.current()?;
    while row.depth > depth {
        let parent = row.parent?;
        match state.number_of(parent).and_then(|number| state.row(number)) {
            Some(above) => row = above,
            None => return (row.depth - 1 <= depth).then_some(parent),
        }
    }
    Some(row.key)
}

fn hottest(state: &mut State, height: u64) {
    let Some(row) = state.current() else { return };
    let (Some(child), open) = (row.hottest, row.open) else { return };
    if open == Some(false) {
        flip(state);
    }
    state.go_to_node(child, height);
    if open == Some(false) {
        // Its row has not come yet; under the usual sort it will be the next one.
        state.window.cursor += 1;
    }
}

fn sibling(state: &mut State, step: i64, height: u64) {
    let Some(depth) = state.current().map(|row| row.depth) else { return };
    let mut number = state.window.cursor;
    loop {
        let Some(next) = number.checked_add_signed(step) else { return };
        match state.row(next) {
            Some(row) if row.depth == depth => return state.go_to_row(next, height),
            Some(row) if row.depth > depth => number = next,
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests;
