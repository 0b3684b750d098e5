//! What the events screen does with an action.

use ratatui::layout::{Rect, Size};

use super::columns::{self, Chosen};
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
    state.opened = false;
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
        Action::Unscope => state.show_all(),
        Action::Columns => {
            let cells = layout::of(Rect::new(0, 0, body.width, body.height)).list.width;
            let shown = columns::visible(&state.chosen, cells);
            return Effect::Open(Popup::EventColumns(Chosen::Only(shown)));
        }
        Action::Kinds => return Effect::Open(Popup::Kinds(state.kinds)),
        Action::Launcher => state.go_to_launcher(),
        Action::SelectRange => state.select(),
        Action::Open if state.selecting.is_some() => return Effect::Range(state.chosen_range().map(Into::into)),
        Action::Open => {
            if let Some(event) = state.current() {
                let (title, fields) = (event.name.clone(), describe::fields(event, state.more()));
                // What is not known yet follows.
                state.opened = state.more().is_empty() && state.has_more().is_some();
                return Effect::Open(Popup::Details { title, fields });
            }
        }
        _ => {}
    }
    Effect::None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::view::{EventGroup, EventKinds, EventRow, EventsAt, EventsRows, Outcome};

    const BODY: Size = Size::new(80, 12);

    fn events(first: u64, count: usize, total: u64) -> EventsRows {
        let row = |number: u64| EventRow {
            group: if number == 5 { EventGroup::Kernels } else { EventGroup::Calls },
            launched_by: (number == 5).then_some((3, 7)),
            start_ns: number * 1_000,
            duration_ns: Some(500),
            pid: 1,
            thread: 1,
            thread_name: "main".to_owned(),
            depth: 0,
            name: format!("call{number}"),
            arguments: String::new(),
            result: String::new(),
            recorded_as: String::new(),
            site: String::new(),
            outcome: Outcome::Done,
        };
        EventsRows { total, first, rows: (first..first + count as u64).map(row).collect(), found: None, details: None }
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
    fn a_kernels_popup_waits_for_more_and_its_call_is_gone_to() {
        let mut state = State::default();
        state.take(events(0, 40, 1_000), true, 10);
        (0..5).for_each(|_| drop(update(&mut state, Action::Down, BODY)));
        assert_eq!(state.request(10).details, None);
        assert!(matches!(update(&mut state, Action::Open, BODY), Effect::Open(Popup::Details { .. })));
        assert_eq!(state.request(10).details, Some(5));
        let more = vec![("grid".to_owned(), "8".to_owned())];
        state.take(EventsRows { details: Some((5, more.clone())), ..events(0, 40, 1_000) }, true, 10);
        assert!(state.fresh.take().is_some_and(|fields| fields.contains(&more[0])));
        assert_eq!(state.request(10).details, None);
        update(&mut state, Action::Launcher, BODY);
        assert_eq!((state.request(10).at, state.kinds), (EventsAt::Call(3, 7), EventKinds::ALL));
        state.take(EventsRows { found: Some(512), ..events(480, 40, 1_000) }, true, 10);
        assert_eq!((state.window.cursor, state.request(10).at), (512, EventsAt::Row(490)));
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
