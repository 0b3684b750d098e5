//! What the events screen does with an action.

use ratatui::layout::Size;

use super::describe;
use super::layout;
use super::state::{Follow, State};
use crate::ui::effect::{Effect, Popup};
use crate::ui::keys::Action;
use crate::ui::screens::step_of;

/// Cells by which one key scrolls to the side.
const SHIFT: u16 = 8;

/// Obeys an action.
pub fn update(state: &mut State, action: Action, body: Size) -> Effect {
    let height = layout::list_height(body);
    if let Some(rows) = step_of(action, height) {
        state.follow = Follow::Off;
        state.window.step(rows, state.total(), height);
        return Effect::None;
    }
    match action {
        Action::Centre => state.window.centre(state.total(), height),
        Action::Follow => state.follow = state.follow.flipped(),
        Action::ScrollRight => state.shift = state.shift.saturating_add(SHIFT),
        Action::ScrollLeft => state.shift = state.shift.saturating_sub(SHIFT),
        Action::Unscope => state.show_scope(None),
        Action::Open => {
            if let Some(event) = state.current() {
                let title = event.name.clone();
                return Effect::Open(Popup::Details { title, fields: describe::fields(event) });
            }
        }
        _ => {}
    }
    Effect::None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::view::{EventRow, EventsAt, EventsRows, Outcome};

    const BODY: Size = Size::new(80, 12);

    fn events(first: u64, count: usize, total: u64) -> EventsRows {
        let row = |number: u64| EventRow {
            start_ns: number * 1_000,
            duration_ns: Some(500),
            pid: 1,
            thread: 1,
            thread_name: "main".to_owned(),
            depth: 0,
            name: format!("call{number}"),
            arguments: String::new(),
            result: String::new(),
            site: String::new(),
            outcome: Outcome::Done,
        };
        EventsRows { total, first, rows: (first..first + count as u64).map(row).collect() }
    }

    #[test]
    fn following_shows_the_newest_until_a_step_is_taken() {
        let mut state = State::default();
        assert_eq!(state.request(10).at, EventsAt::Row(0));
        assert_eq!(update(&mut state, Action::Follow, BODY), Effect::None);
        assert_eq!(state.request(10).at, EventsAt::End);
        state.take(events(960, 40, 1_000), true, 10);
        assert_eq!(state.window.cursor, 999);
        state.take(events(1_060, 40, 1_100), true, 10);
        assert_eq!(state.window.cursor, 1_099);
        update(&mut state, Action::Up, BODY);
        assert_eq!((state.follow, state.window.cursor), (Follow::Off, 1_098));
        state.take(events(1_060, 40, 1_200), true, 10);
        assert_eq!(state.window.cursor, 1_098);
    }

    #[test]
    fn enter_opens_the_event_under_the_cursor() {
        let mut state = State::default();
        assert_eq!(update(&mut state, Action::Open, BODY), Effect::None);
        state.take(events(0, 40, 1_000), true, 10);
        update(&mut state, Action::Down, BODY);
        match update(&mut state, Action::Open, BODY) {
            Effect::Open(Popup::Details { title, .. }) => assert_eq!(title, "call1"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_scroll_within_the_loaded_pages_asks_nothing_new() {
        let mut state = State::default();
        state.take(events(0, 40, 1_000), true, 10);
        let before = state.request(10);
        for _ in 0..9 {
            update(&mut state, Action::Down, BODY);
        }
        assert_eq!(state.request(10), before);
        update(&mut state, Action::Bottom, BODY);
        assert_eq!(state.request(10).at, EventsAt::Row(980));
    }
}
