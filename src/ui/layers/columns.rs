//! The column chooser.

use ratatui::layout::{Rect, Size};

use super::Layer;
use crate::session::view::Column;
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::screens::calls::columns::{Chosen, ORDER, title};
use crate::ui::screens::step_of;
use crate::ui::theme::Role;
use crate::ui::widgets::list::Window;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::popup;

/// The popup: every column with a mark at those that are shown.
pub struct Columns {
    shown: Vec<Column>,
    window: Window,
}

impl Columns {
    /// Starts from the columns that are shown now.
    pub fn new(chosen: Chosen) -> Self {
        let shown = match chosen {
            Chosen::Automatic => ORDER.to_vec(),
            Chosen::Only(columns) => columns,
        };
        Self { shown, window: Window::default() }
    }

    fn current(&self) -> Option<Column> {
        ORDER.get(usize::try_from(self.window.cursor).ok()?).copied()
    }

    fn flip(&mut self) {
        let Some(column) = self.current() else { return };
        match self.shown.iter().position(|shown| *shown == column) {
            Some(at) => drop(self.shown.remove(at)),
            None => self.shown.push(column),
        }
    }
}

fn place(area: Rect) -> Rect {
    popup::centred(area, Size::new(28, ORDER.len() as u16 + 2))
}

impl Layer for Columns {
    fn context(&self) -> Context {
        Context::Columns
    }

    fn update(&mut self, action: Action, area: Rect) -> Effect {
        let height = u64::from(place(area).height.saturating_sub(2));
        if let Some(rows) = step_of(action, height) {
            self.window.step(rows, ORDER.len() as u64, height);
            return Effect::None;
        }
        match action {
            Action::Check => {
                self.flip();
                Effect::Columns(Chosen::Only(self.shown.clone()), None)
            }
            Action::Open => Effect::Columns(Chosen::Only(self.shown.clone()), self.current()),
            Action::Automatic => Effect::Columns(Chosen::Automatic, None),
            _ => Effect::None,
        }
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect) {
        let inside = popup::frame(paint, place(area), "columns");
        let rows = ORDER.iter().zip(0_u64..).skip(usize::try_from(self.window.first).unwrap_or(0));
        for (y, (column, number)) in (inside.y..inside.bottom()).zip(rows) {
            let mark = if self.shown.contains(column) { "[x] " } else { "[ ] " };
            paint.pieces(inside.x, y, inside.width, &[(mark, Role::Dim), (title(*column), Role::Plain)]);
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
    fn a_check_shows_or_hides_at_once() {
        let area = Rect::new(0, 0, 80, 24);
        let mut popup = Columns::new(Chosen::Only(vec![Column::Total]));
        assert_eq!(popup.update(Action::Down, area), Effect::None);
        let both = Chosen::Only(vec![Column::Total, Column::SelfTime]);
        assert_eq!(popup.update(Action::Check, area), Effect::Columns(both.clone(), None));
        assert_eq!(popup.update(Action::Open, area), Effect::Columns(both, Some(Column::SelfTime)));
        assert_eq!(popup.update(Action::Automatic, area), Effect::Columns(Chosen::Automatic, None));
    }
}
