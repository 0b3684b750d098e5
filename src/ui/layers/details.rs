//! Names and values of one thing, in full.

use ratatui::layout::{Rect, Size};

use super::{Layer, scrolled};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::{fields, popup};

/// The details popup.
pub struct Details {
    title: String,
    fields: Vec<(String, String)>,
    first: usize,
}

impl Details {
    /// Shows these fields.
    pub fn new(title: String, fields: Vec<(String, String)>) -> Self {
        Self { title, fields, first: 0 }
    }
}

const WIDTH: u16 = 76;

fn cells(area: Rect) -> u16 {
    WIDTH.min(area.width).saturating_sub(4)
}

fn place(area: Rect, lines: usize) -> Rect {
    popup::centred(area, Size::new(WIDTH, u16::try_from(lines + 2).unwrap_or(u16::MAX)))
}

impl Layer for Details {
    fn context(&self) -> Context {
        Context::Details
    }

    fn update(&mut self, action: Action, area: Rect) -> Effect {
        let lines = fields::lines(&self.fields, cells(area)).len();
        self.first = scrolled(self.first, action, lines, place(area, lines).height.saturating_sub(2));
        Effect::None
    }

    fn take_details(&mut self, fields: &[(String, String)]) -> bool {
        self.fields = fields.to_vec();
        true
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect) {
        let lines = fields::lines(&self.fields, cells(area));
        let inside = popup::frame(paint, place(area, lines.len()), &self.title);
        fields::draw(paint, inside, &lines, self.first);
    }
}
