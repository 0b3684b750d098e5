//! What the memory screen does with an action.

use ratatui::layout::Size;

use super::state::State;
use super::tab::Tab;
use super::{allocations, groups, growth, plot};
use crate::session::view::{AllocationColumn, AllocationRow, GroupColumn};
use crate::ui::effect::{Effect, Goal, Popup};
use crate::ui::keys::Action;
use crate::ui::screens::step_of;

/// Obeys an action.
pub fn update(state: &mut State, action: Action, body: Size) -> Effect {
    let height = state.list_height(body);
    let cells = state.layout(body).list.width;
    state.opened = false;
    if let Some(rows) = step_of(action, height) {
        let row = state.window().cursor.saturating_add_signed(rows);
        state.go_to_row(row, height);
        return Effect::None;
    }
    match action {
        Action::Centre => {
            let total = state.total();
            state.window_mut().centre(total, height);
        }
        Action::NextTab => state.tab = state.tab.step(1),
        Action::PreviousTab => state.tab = state.tab.step(-1),
        Action::Blocks => state.go_inside(),
        // They stand in order of their addresses.
        Action::SortNext | Action::SortPrevious | Action::SortReverse if state.inside().is_some() => {}
        Action::SortNext => sort_by_neighbour(state, cells, 1),
        Action::SortPrevious => sort_by_neighbour(state, cells, -1),
        Action::SortReverse => match state.tab {
            Tab::Allocations => state.sort.1 = !state.sort.1,
            Tab::Groups => state.groups_sort.1 = !state.groups_sort.1,
            Tab::Growth | Tab::Pools => {}
            // They stand in order of their ends.
            Tab::Transfers => {}
        },
        Action::GroupNext => match state.tab {
            Tab::Allocations | Tab::Pools | Tab::Transfers => state.tab = Tab::Groups,
            Tab::Groups => {
                state.by = groups::next(state.by);
                state.begin_anew();
            }
            Tab::Growth => {
                state.growth_by = growth::next(state.growth_by);
                state.begin_anew();
            }
        },
        Action::CompareFrom => compare_from(state),
        Action::Earlier => shift(state, -1),
        Action::Later => shift(state, 1),
        Action::Peak => state.moment = state.plot().map(|plot| plot.peak_ns),
        Action::InUse => {
            state.in_use = !state.in_use;
            (state.tab, state.inside) = (Tab::Allocations, None);
        }
        Action::Open if state.tab == Tab::Groups => {
            if let Some((key, name)) = state.group().map(|row| (row.key, row.name.clone())) {
                state.show_only(Some((key, name)));
            }
        }
        Action::Open | Action::Details => return details(state),
        Action::Pages => {
            if let Some((inside, row)) = state.inside().zip(state.block()) {
                return Effect::Pages(inside.of.process, row.address);
            }
            return state.allocation().map(pages_of).unwrap_or_default();
        }
        Action::Launcher => return state.allocation().map(call_of).unwrap_or_default(),
        _ => {}
    }
    Effect::None
}

fn pages_of(row: &AllocationRow) -> Effect {
    match row.address {
        Some(address) => Effect::Pages(row.id.process, address),
        None => Effect::None,
    }
}

fn call_of(row: &AllocationRow) -> Effect {
    Effect::Events(Goal::Call(row.id.thread, row.id.row))
}

fn details(state: &mut State) -> Effect {
    let (title, fields) = (state.heading(), state.details());
    if fields.is_empty() {
        return Effect::None;
    }
    // What is not known yet follows.
    state.opened = state.tab == Tab::Allocations && state.inside.is_none();
    Effect::Open(Popup::Details { title, fields })
}

/// What has grown is told from the moment that is looked at on, and the newest is looked at. Where that moment is the
/// earlier one already, it is told from the trace's beginning on again.
fn compare_from(state: &mut State) {
    let moment = state.moment.or_else(|| state.plot().map(|plot| plot.moment_ns));
    if state.tab == Tab::Growth && (state.moment.is_none() || state.since == moment) {
        state.since = None;
    } else {
        (state.since, state.moment) = (moment, None);
    }
    state.tab = Tab::Growth;
    state.begin_anew();
}

/// Moves the moment by so many cells of the plot. Behind the last one is the newest.
fn shift(state: &mut State, by: i32) {
    let Some(shown) = state.plot().filter(|plot| !plot.most.is_empty()) else { return };
    let cells = shown.most.len();
    let now = state.moment.and_then(|ns| plot::cell_of(shown, ns)).map_or(cells, usize::from);
    let next = now.saturating_add_signed(by as isize);
    let moment = u16::try_from(next).ok().filter(|_| next < cells).map(|cell| plot::begin_of(shown, cell));
    state.moment = moment;
}

fn sort_by_neighbour(state: &mut State, cells: u16, step: isize) {
    match state.tab {
        Tab::Allocations => {
            let next = neighbour(&allocations::sortable(cells), state.sort.0, step);
            // Words and times are looked for from their beginning.
            let from_small = matches!(
                next,
                AllocationColumn::Address
                    | AllocationColumn::Site
                    | AllocationColumn::Kind
                    | AllocationColumn::Thread
                    | AllocationColumn::Made
                    | AllocationColumn::Device
                    | AllocationColumn::State
            );
            state.sort = (next, !from_small);
        }
        Tab::Groups => {
            let next = neighbour(&groups::sortable(cells), state.groups_sort.0, step);
            state.groups_sort = (next, next != GroupColumn::Name);
        }
        // What has grown most comes first, and the largest pool.
        Tab::Growth | Tab::Pools => {}
        // They stand in order of their ends.
        Tab::Transfers => {}
    }
}

fn neighbour<T: Copy + PartialEq>(columns: &[T], now: T, step: isize) -> T {
    let at = columns.iter().position(|column| *column == now).unwrap_or(0);
    let next = (at as isize + step).rem_euclid((columns.len() as isize).max(1));
    columns.get(next.unsigned_abs()).copied().unwrap_or(now)
}
