//! Asks what becomes of the program when the user quits.

use ratatui::layout::{Rect, Size};

use super::Layer;
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context, Row};
use crate::ui::theme::Role;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::popup;

/// The quit dialog.
pub struct Quit {
    pid: u32,
    rows: Vec<Row>,
}

impl Quit {
    /// Asks about this process; with the dialog's keys, as they are bound.
    pub fn new(pid: u32, rows: Vec<Row>) -> Self {
        Self { pid, rows }
    }

    fn key(&self, action: Action) -> &str {
        let row = self.rows.iter().find(|row| row.entry.action == action);
        row.and_then(|row| row.keys.first()).map_or("-", String::as_str)
    }
}

impl Layer for Quit {
    fn context(&self) -> Context {
        Context::QuitDialog
    }

    fn update(&mut self, action: Action, _area: Rect) -> Effect {
        match action {
            Action::Detach => Effect::Detach,
            Action::Terminate => Effect::Terminate,
            Action::Stay => Effect::Close,
            _ => Effect::None,
        }
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect) {
        let inside = popup::frame(paint, popup::centred(area, Size::new(40, 7)), "quit");
        let question = format!("Process {} still runs.", self.pid);
        let choices = [
            (Action::Detach, "detach: it runs on, recorded"),
            (Action::Terminate, "terminate: ask it to end"),
            (Action::Stay, "stay"),
        ];
        paint.text(inside.x, inside.y, inside.width, &question, Role::Plain);
        for (y, (action, text)) in (inside.y + 2..inside.bottom()).zip(choices) {
            paint.pieces(
                inside.x,
                y,
                inside.width,
                &[(self.key(action), Role::Strong), ("  ", Role::Plain), (text, Role::Plain)],
            );
        }
    }
}
