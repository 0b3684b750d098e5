//! The events screen: every call in order.

mod describe;
mod draw;
mod layout;
mod state;
mod update;

use ratatui::layout::{Rect, Size};

pub use state::State as Events;

use super::Screen;
use crate::session::view::{Body, Status, View};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::widgets::paint::Paint;

impl Screen for Events {
    fn context(&self) -> Context {
        Context::Events
    }

    fn view(&self, body: Size) -> View {
        View::Events(self.request(layout::list_height(body)))
    }

    fn apply(&mut self, rows: Body, newest: bool, body: Size) -> bool {
        match rows {
            Body::Events(rows) => self.take(rows, newest, layout::list_height(body)),
            _ => false,
        }
    }

    fn update(&mut self, action: Action, body: Size) -> Effect {
        update::update(self, action, body)
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect, _status: &Status) {
        draw::draw(self, paint, area);
    }

    fn leave(&mut self) {
        self.show_scope(None);
    }
}
