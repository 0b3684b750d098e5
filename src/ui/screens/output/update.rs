//! What the output screen does with an action.

use super::state::{Place, State};
use crate::ui::effect::Effect;
use crate::ui::keys::Action;
use crate::ui::screens::step_of;

/// Cells by which one key scrolls to the side.
const SHIFT: u16 = 8;

/// Obeys an action.
pub fn update(state: &mut State, action: Action, height: u64) -> Effect {
    if let Some(lines) = step_of(action, height) {
        let last_first = state.total().saturating_sub(height);
        let line = state.first(height).saturating_add_signed(lines);
        // To scroll to the end is to follow, as in a pager.
        state.place = if line >= last_first && lines > 0 { Place::Newest } else { Place::Line(line) };
        return Effect::None;
    }
    match action {
        Action::Follow => {
            state.place = match state.place {
                Place::Newest => Place::Line(state.first(height)),
                Place::Line(_) => Place::Newest,
            }
        }
        Action::ScrollRight => state.shift = state.shift.saturating_add(SHIFT),
        Action::ScrollLeft => state.shift = state.shift.saturating_sub(SHIFT),
        _ => {}
    }
    Effect::None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::view::OutputRows;

    #[test]
    fn scrolling_up_holds_the_place_and_down_to_the_end_follows_again() {
        let lines =
            |total: u64| OutputRows { total, first: 0, lines: vec![(false, String::new()); 100], why_empty: None };
        let mut state = State::default();
        state.take(lines(100), true, 10);
        assert_eq!((state.first(10), state.request(10).first), (90, u64::MAX));
        update(&mut state, Action::Up, 10);
        assert_eq!(state.place, Place::Line(89));
        state.take(lines(200), true, 10);
        assert_eq!(state.first(10), 89);
        update(&mut state, Action::Bottom, 10);
        assert_eq!(state.place, Place::Newest);
        update(&mut state, Action::Follow, 10);
        assert_eq!(state.place, Place::Line(190));
        update(&mut state, Action::Top, 10);
        assert_eq!(state.first(10), 0);
    }
}
