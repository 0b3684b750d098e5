//! What the overview does with an action.

use super::state::State;
use crate::session::view::Grouping;
use crate::ui::effect::Effect;
use crate::ui::keys::Action;
use crate::ui::screens::{ScreenId, step_of};

/// Obeys an action.
pub fn update(state: &mut State, action: Action, height: u64) -> Effect {
    if let Some(rows) = step_of(action, height) {
        state.step(rows);
        return Effect::None;
    }
    match (action, state.current()) {
        (Action::Open, Some((row, false))) => Effect::Function(Grouping::Flat, row.name.clone()),
        (Action::Open, Some((row, true))) => Effect::Function(Grouping::Stream, row.name.clone()),
        (Action::Open, None) => Effect::Go(ScreenId::Calls),
        _ => Effect::None,
    }
}
