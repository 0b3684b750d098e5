//! The overview: the first five seconds.

mod draw;
mod facts;
mod state;
mod update;

use ratatui::layout::{Rect, Size};

pub use state::State as Overview;

use super::Screen;
use crate::filter::Condition;
use crate::session::search::Pattern;
use crate::session::view::{Body, SearchFrom, Status, View};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::text::format;
use crate::ui::widgets::paint::Paint;

impl Screen for Overview {
    fn context(&self) -> Context {
        Context::Overview
    }

    fn view(&self, body: Size) -> View {
        View::Overview { rows: body.height, columns: body.width }
    }

    fn apply(&mut self, rows: Body, _newest: bool, _body: Size) -> bool {
        match rows {
            Body::Overview(rows) => self.take(rows),
            _ => false,
        }
    }

    fn update(&mut self, action: Action, body: Size) -> Effect {
        update::update(self, action, u64::from(body.height / 2))
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect, status: &Status) {
        draw::draw(self, paint, area, status);
    }

    fn place(&self) -> super::Place {
        super::Place::Overview
    }

    fn title_of_place(&self) -> String {
        "overview".to_owned()
    }

    fn row_text(&self) -> Option<String> {
        let (row, _) = self.current()?;
        let (time, count) = (format::duration(row.total_ns), format::count(row.count));
        Some(format!("{}\ttotal {time}\tcount {}", row.name, count.trim()))
    }

    fn search_from(&self, _body: Size) -> SearchFrom {
        self.current().and_then(|(row, _)| row.what).map_or(SearchFrom::Row(0), SearchFrom::Thing)
    }

    fn like(&self) -> Option<Condition> {
        self.current().and_then(|(row, _)| row.like.clone())
    }

    fn cancel(&mut self) -> bool {
        self.cursor.take().is_some()
    }

    fn restore(&mut self, _: super::Place) {}

    fn matches(&self, pattern: &Pattern) -> Option<usize> {
        Some(self.names().filter(|name| pattern.finds(name)).count())
    }
}
