//! Asks what becomes of the program when the user quits.

use ratatui::layout::{Rect, Size};

use super::Layer;
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::theme::Role;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::popup;

/// The quit dialog.
pub struct Quit {
    pid: u32,
}

impl Quit {
    /// Asks about this process.
    pub fn new(pid: u32) -> Self {
        Self { pid }
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
        let choices = [("d", "detach: it runs on, recorded"), ("t", "terminate: ask it to end"), ("s", "stay")];
        paint.text(inside.x, inside.y, inside.width, &question, Role::Plain);
        for (y, (key, text)) in (inside.y + 2..inside.bottom()).zip(choices) {
            paint.pieces(inside.x, y, inside.width, &[(key, Role::Strong), ("  ", Role::Plain), (text, Role::Plain)]);
        }
    }
}
