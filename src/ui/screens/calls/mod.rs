//! The calls screen: who called what, and how long it took.

pub mod columns;
mod draw;
mod facts;
mod layout;
mod state;
mod update;

use ratatui::layout::{Rect, Size};

pub use state::State as Calls;
pub use update::choose;

use super::Screen;
use crate::session::view::{Body, Status, View};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::widgets::paint::Paint;

impl Screen for Calls {
    fn context(&self) -> Context {
        Context::Calls
    }

    fn view(&self, body: Size) -> View {
        View::Calls(self.request(layout::list_height(body)))
    }

    fn apply(&mut self, rows: Body, newest: bool, body: Size) -> bool {
        match rows {
            Body::Calls(rows) => self.take(rows, newest, layout::list_height(body)),
            _ => false,
        }
    }

    fn update(&mut self, action: Action, body: Size) -> Effect {
        update::update(self, action, body)
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect, _status: &Status) {
        draw::draw(self, paint, area);
    }
}
