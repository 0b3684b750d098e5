//! The column chooser, of the calls and of the events.

use ratatui::layout::{Rect, Size};

use super::Layer;
use crate::session::view::Column;
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::screens::calls::columns as calls;
use crate::ui::screens::events::columns as events;
use crate::ui::screens::step_of;
use crate::ui::theme::Role;
use crate::ui::widgets::list::Window;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::popup;

/// The chooser of the calls' columns, from those that are shown now.
pub fn of_calls(chosen: calls::Chosen) -> Box<dyn Layer> {
    let shown = match chosen {
        calls::Chosen::Automatic => calls::ORDER.to_vec(),
        calls::Chosen::Only(columns) => columns,
    };
    Box::new(Columns::new(shown))
}

/// The chooser of the events' columns.
pub fn of_events(chosen: events::Chosen) -> Box<dyn Layer> {
    let shown = match chosen {
        events::Chosen::Automatic => events::ORDER.to_vec(),
        events::Chosen::Only(columns) => columns,
    };
    Box::new(Columns::new(shown))
}

/// Columns of a screen.
trait Listed: Copy + PartialEq + 'static {
    const CONTEXT: Context;
    /// Every one, in the usual order.
    const ORDER: &'static [Self];
    fn title(self) -> &'static str;
    /// Shows these in this order, or those that fit; one of them was picked.
    fn show(shown: Option<Vec<Self>>, picked: Option<Self>) -> Effect;
}

impl Listed for Column {
    const CONTEXT: Context = Context::Columns;
    const ORDER: &'static [Self] = &calls::ORDER;

    fn title(self) -> &'static str {
        calls::title(self)
    }

    fn show(shown: Option<Vec<Self>>, picked: Option<Self>) -> Effect {
        Effect::Columns(shown.map_or(calls::Chosen::Automatic, calls::Chosen::Only), picked)
    }
}

impl Listed for events::Column {
    const CONTEXT: Context = Context::EventColumns;
    const ORDER: &'static [Self] = &events::ORDER;

    fn title(self) -> &'static str {
        self.title()
    }

    fn show(shown: Option<Vec<Self>>, _: Option<Self>) -> Effect {
        Effect::EventColumns(shown.map_or(events::Chosen::Automatic, events::Chosen::Only))
    }
}

/// The popup: every column with a mark at those that are shown, in the order in which they stand.
struct Columns<T> {
    items: Vec<(T, bool)>,
    window: Window,
}

impl<T: Listed> Columns<T> {
    fn new(shown: Vec<T>) -> Self {
        let mut items: Vec<(T, bool)> = shown.into_iter().map(|column| (column, true)).collect();
        // One that is not shown stands behind the one that it usually follows.
        for (at, column) in T::ORDER.iter().enumerate() {
            if items.iter().all(|(known, _)| known != column) {
                let before = at.checked_sub(1).and_then(|at| T::ORDER.get(at));
                let place = before.and_then(|before| items.iter().position(|(known, _)| known == before));
                items.insert(place.map_or(0, |place| place + 1), (*column, false));
            }
        }
        Self { items, window: Window::default() }
    }

    fn cursor(&self) -> usize {
        usize::try_from(self.window.cursor).unwrap_or(usize::MAX)
    }

    fn show(&self, picked: Option<T>) -> Effect {
        let shown = self.items.iter().filter(|(_, shown)| *shown).map(|(column, _)| *column);
        T::show(Some(shown.collect()), picked)
    }

    /// Puts the cursor's column before the one above it, or behind the one below.
    fn shift(&mut self, step: i64, height: u64) -> Effect {
        let (at, to) = (self.cursor(), self.window.cursor.checked_add_signed(step));
        let Some(to) = to.and_then(|to| usize::try_from(to).ok()).filter(|to| *to < self.items.len()) else {
            return Effect::None;
        };
        self.items.swap(at, to);
        self.window.step(step, self.items.len() as u64, height);
        self.show(None)
    }

    fn place(area: Rect) -> Rect {
        popup::centred(area, Size::new(28, T::ORDER.len() as u16 + 2))
    }
}

impl<T: Listed> Layer for Columns<T> {
    fn context(&self) -> Context {
        T::CONTEXT
    }

    fn update(&mut self, action: Action, area: Rect) -> Effect {
        let height = u64::from(Self::place(area).height.saturating_sub(2));
        if let Some(rows) = step_of(action, height) {
            self.window.step(rows, self.items.len() as u64, height);
            return Effect::None;
        }
        let cursor = self.cursor();
        match action {
            Action::Check => {
                if let Some((_, shown)) = self.items.get_mut(cursor) {
                    *shown = !*shown;
                }
                self.show(None)
            }
            Action::Open => self.show(self.items.get(cursor).map(|(column, _)| *column)),
            Action::MoveUp => self.shift(-1, height),
            Action::MoveDown => self.shift(1, height),
            Action::Automatic => {
                *self = Self { window: self.window, ..Self::new(T::ORDER.to_vec()) };
                T::show(None, None)
            }
            _ => Effect::None,
        }
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect) {
        let inside = popup::frame(paint, Self::place(area), "columns");
        let rows = self.items.iter().zip(0_u64..).skip(usize::try_from(self.window.first).unwrap_or(0));
        for (y, ((column, shown), number)) in (inside.y..inside.bottom()).zip(rows) {
            let mark = if *shown { "[x] " } else { "[ ] " };
            paint.pieces(inside.x, y, inside.width, &[(mark, Role::Dim), (column.title(), Role::Plain)]);
            if number == self.window.cursor {
                paint.lay_over(Rect { y, height: 1, ..inside }, Role::Cursor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect::new(0, 0, 80, 24);

    #[test]
    fn a_check_shows_or_hides_at_once() {
        let only = |columns| Effect::Columns(calls::Chosen::Only(columns), None);
        let mut popup = Columns::new(vec![Column::Total]);
        assert_eq!(popup.update(Action::Down, AREA), Effect::None);
        assert_eq!(popup.update(Action::Check, AREA), only(vec![Column::Total, Column::SelfTime]));
        let both = calls::Chosen::Only(vec![Column::Total, Column::SelfTime]);
        assert_eq!(popup.update(Action::Open, AREA), Effect::Columns(both, Some(Column::SelfTime)));
        assert_eq!(popup.update(Action::Check, AREA), only(vec![Column::Total]));
        assert_eq!(popup.update(Action::Automatic, AREA), Effect::Columns(calls::Chosen::Automatic, None));
    }

    #[test]
    fn a_column_is_moved_and_the_cursor_with_it() {
        use events::Column::{Event, From, Took};
        let only = |columns| Effect::EventColumns(events::Chosen::Only(columns));
        let mut popup = Columns::new(vec![From, Took, Event]);
        // Those that are not shown stand where they usually do: start, end first, then process and the rest behind took.
        let titles: Vec<&str> = popup.items.iter().map(|(column, _)| column.title()).collect();
        assert_eq!(titles, ["start", "end", "from", "took", "process", "where", "kind", "event"]);
        popup.update(Action::Bottom, AREA);
        assert_eq!(popup.update(Action::MoveDown, AREA), Effect::None);
        for _ in 0..3 {
            assert_eq!(popup.update(Action::MoveUp, AREA), only(vec![From, Took, Event]));
        }
        assert_eq!(popup.update(Action::MoveUp, AREA), only(vec![From, Event, Took]));
        assert_eq!(popup.update(Action::MoveDown, AREA), only(vec![From, Took, Event]));
        popup.update(Action::Top, AREA);
        assert_eq!(popup.update(Action::MoveUp, AREA), Effect::None);
    }
}
