//! The chooser of kinds of events.

use ratatui::layout::{Rect, Size};

use super::Layer;
use crate::session::view::{EventGroup, EventKinds};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::screens::events::group_name;
use crate::ui::screens::step_of;
use crate::ui::theme::Role;
use crate::ui::widgets::list::Window;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::popup;

/// The popup: every kind with a mark at those that are shown.
pub struct Kinds {
    shown: EventKinds,
    window: Window,
}

impl Kinds {
    /// Starts from the kinds that are shown now.
    pub fn new(shown: EventKinds) -> Self {
        Self { shown, window: Window::default() }
    }

    fn current(&self) -> Option<EventGroup> {
        EventGroup::ALL.get(usize::try_from(self.window.cursor).ok()?).copied()
    }

    /// The kinds after an action; `None` if it changes none.
    fn changed(&self, action: Action) -> Option<EventKinds> {
        match action {
            Action::Check => self.current().map(|group| self.shown.flipped(group)),
            Action::Open => self.current().map(EventKinds::only),
            Action::Automatic => Some(EventKinds::ALL),
            _ => None,
        }
    }
}

fn place(area: Rect) -> Rect {
    popup::centred(area, Size::new(44, EventGroup::ALL.len() as u16 + 2))
}

impl Layer for Kinds {
    fn context(&self) -> Context {
        Context::Kinds
    }

    fn update(&mut self, action: Action, area: Rect) -> Effect {
        let height = u64::from(place(area).height.saturating_sub(2));
        if let Some(rows) = step_of(action, height) {
            self.window.step(rows, EventGroup::ALL.len() as u64, height);
            return Effect::None;
        }
        match self.changed(action) {
            Some(kinds) => {
                self.shown = kinds;
                Effect::Kinds(kinds)
            }
            None => Effect::None,
        }
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect) {
        let inside = popup::frame(paint, place(area), "kinds of events");
        let rows = EventGroup::ALL.iter().zip(0_u64..).skip(usize::try_from(self.window.first).unwrap_or(0));
        for (y, (group, number)) in (inside.y..inside.bottom()).zip(rows) {
            let mark = if self.shown.has(*group) { "[x] " } else { "[ ] " };
            paint.pieces(inside.x, y, inside.width, &[(mark, Role::Dim), (group_name(*group), Role::Plain)]);
            if number == self.window.cursor {
                paint.lay_over(Rect { y, height: 1, ..inside }, Role::Cursor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_checked_one_by_one_alone_and_all() {
        let area = Rect::new(0, 0, 80, 24);
        let mut popup = Kinds::new(EventKinds::ALL);
        assert_eq!(popup.update(Action::Down, area), Effect::None);
        let without = EventKinds::ALL.flipped(EventGroup::Kernels);
        assert_eq!(popup.update(Action::Check, area), Effect::Kinds(without));
        assert_eq!(popup.update(Action::Open, area), Effect::Kinds(EventKinds::only(EventGroup::Kernels)));
        assert_eq!(popup.update(Action::Automatic, area), Effect::Kinds(EventKinds::ALL));
    }
}
