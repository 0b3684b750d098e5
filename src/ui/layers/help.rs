//! Help: the key table, for the screen or popup it was opened on.

use ratatui::layout::{Rect, Size};

use super::{Layer, scrolled};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context, Row};
use crate::ui::theme::Role;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::popup;

/// Cells of the keys' column.
const KEYS: u16 = 16;
/// Cells of the popup. What is left for the text of a row is checked by a test.
const WIDTH: u16 = 80;

/// The help popup.
pub struct Help {
    about: Context,
    rows: Vec<Row>,
    first: usize,
}

impl Help {
    /// Help on a context's keys: its rows, as they are bound.
    pub fn new(about: Context, rows: Vec<Row>) -> Self {
        Self { about, rows, first: 0 }
    }

    /// Keys and text of each line. What the user changed is marked.
    fn lines(&self) -> Vec<(String, &'static str)> {
        let keys = |row: &Row| {
            let keys = if row.keys.is_empty() { "no key".to_owned() } else { row.keys.join("  ") };
            if row.changed { format!("*{keys}") } else { keys }
        };
        self.rows.iter().map(|row| (keys(row), row.entry.doc)).collect()
    }

    fn title(&self) -> String {
        let changed = if self.rows.iter().any(|row| row.changed) { "   * changed by you" } else { "" };
        format!("help: {}{changed}", self.about.name())
    }
}

fn place(area: Rect, lines: usize) -> Rect {
    let height = u16::try_from(lines + 2).unwrap_or(u16::MAX);
    popup::centred(area, Size::new(WIDTH, height))
}

impl Layer for Help {
    fn context(&self) -> Context {
        Context::Help
    }

    fn update(&mut self, action: Action, area: Rect) -> Effect {
        let lines = self.lines().len();
        let height = place(area, lines).height.saturating_sub(2);
        self.first = scrolled(self.first, action, lines, height);
        Effect::None
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect) {
        let lines = self.lines();
        let place = place(area, lines.len());
        let inside = popup::frame(paint, place, &self.title());
        for (y, (keys, doc)) in (inside.y..inside.bottom()).zip(lines.iter().skip(self.first)) {
            let keys_cells = KEYS.min(inside.width / 3);
            paint.text(inside.x, y, keys_cells, keys, Role::Strong);
            let x = inside.x + keys_cells + 1;
            paint.text(x, y, inside.right().saturating_sub(x), doc, Role::Plain);
        }
        let below = lines.len().saturating_sub(self.first + usize::from(inside.height));
        if below > 0 {
            let text = format!(" {below} more below ");
            paint.text(inside.x, place.bottom() - 1, inside.width, &text, Role::Dim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::keys::TABLE;

    #[test]
    fn every_line_fits_80_columns() {
        for entry in TABLE {
            assert!(entry.doc.len() <= usize::from(WIDTH - 4 - KEYS - 1), "{}", entry.doc);
            assert!(entry.keys.join("  ").len() <= usize::from(KEYS), "{:?}", entry.keys);
        }
    }
}
