//! The output screen: what the program printed.

mod draw;
mod state;
mod update;

use ratatui::layout::{Rect, Size};

pub use state::State as Output;

use super::Screen;
use crate::session::view::{Body, SearchFrom, Status, Target, View};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::widgets::paint::Paint;

/// Lines of text in a body: one is the heading.
fn list_height(body: Size) -> u64 {
    u64::from(body.height.saturating_sub(1))
}

impl Screen for Output {
    fn context(&self) -> Context {
        Context::Output
    }

    fn view(&self, body: Size) -> View {
        View::Output(self.request(list_height(body)))
    }

    fn apply(&mut self, rows: Body, newest: bool, body: Size) -> bool {
        match rows {
            Body::Output(rows) => self.take(rows, newest, list_height(body)),
            _ => false,
        }
    }

    fn update(&mut self, action: Action, body: Size) -> Effect {
        update::update(self, action, list_height(body))
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect, _status: &Status) {
        draw::draw(self, paint, area);
    }

    fn place(&self) -> super::Place {
        super::Place::Output(match self.place {
            state::Place::Newest => None,
            state::Place::Line(line) => Some(line),
        })
    }

    fn title_of_place(&self) -> String {
        match self.place {
            state::Place::Newest => "newest lines".to_owned(),
            state::Place::Line(line) => {
                let text = self.line(line).map_or("", |(_, text)| text.as_str());
                format!("line {}: {text}", line + 1)
            }
        }
    }

    fn row_text(&self) -> Option<String> {
        let line = match (self.found, self.place) {
            (Some(line), _) | (None, state::Place::Line(line)) => line,
            (None, state::Place::Newest) => self.total().checked_sub(1)?,
        };
        self.line(line).map(|(_, text)| text.clone())
    }

    fn restore(&mut self, place: super::Place) {
        if let super::Place::Output(line) = place {
            self.place = line.map_or(state::Place::Newest, state::Place::Line);
            self.found = None;
        }
    }

    fn search_from(&self, body: Size) -> SearchFrom {
        SearchFrom::Row(self.search_from(list_height(body)))
    }

    fn go_to(&mut self, target: &Target, body: Size) {
        if let Target::Row(line) = target {
            self.go_to_line(*line, list_height(body));
        }
    }
}
