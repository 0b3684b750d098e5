//! The memory screen: bytes in use over time, and below it every allocation, or what allocations sum up to.

mod allocations;
mod draw;
mod facts;
mod groups;
mod layout;
mod plot;
mod state;
mod tab;
mod update;

use ratatui::layout::{Rect, Size};

pub use state::State as Memory;
pub use tab::Tab;

use super::Place;
use super::Screen;
use crate::filter::Condition;
use crate::session::view::{Body, SearchFrom, Status, View};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::widgets::paint::Paint;

impl Screen for Memory {
    fn context(&self) -> Context {
        Context::Memory
    }

    fn view(&self, body: Size) -> View {
        View::Memory(self.request(layout::of_size(body)))
    }

    fn apply(&mut self, rows: Body, newest: bool, body: Size) -> bool {
        match rows {
            Body::Memory(rows) => self.take(rows, newest, layout::list_height(body)),
            _ => false,
        }
    }

    fn update(&mut self, action: Action, body: Size) -> Effect {
        update::update(self, action, body)
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect, status: &Status) {
        draw::draw(self, paint, area, status.lens.as_ref());
    }

    fn take_details(&mut self) -> Option<Vec<(String, String)>> {
        self.fresh.take()
    }

    fn place(&self) -> Place {
        self.place()
    }

    fn title_of_place(&self) -> String {
        match (self.allocation(), self.group()) {
            (Some(row), _) => format!("memory: {} {}", allocations::place_of(row), row.site),
            (None, Some(row)) => format!("memory: {}", row.name),
            (None, None) => format!("memory: {}", self.tab.title()),
        }
    }

    fn row_text(&self) -> Option<String> {
        if let Some(row) = self.allocation() {
            let values = allocations::ORDER
                .map(|column| format!("{} {}", allocations::title(column), allocations::value(column, row)));
            return Some(format!("{}\t{}\t{}", allocations::place_of(row), row.site, values.join("\t")));
        }
        let row = self.group()?;
        let values = groups::ORDER.map(|column| format!("{} {}", groups::title(column), groups::value(column, row)));
        Some(format!("{}\t{}", row.name, values.join("\t")))
    }

    fn restore(&mut self, place: Place) {
        self.restore(place);
    }

    fn search_from(&self, _body: Size) -> SearchFrom {
        SearchFrom::Row(self.window().cursor)
    }

    fn like(&self) -> Option<Condition> {
        match (self.allocation(), self.group()) {
            (Some(row), _) => row.like.clone(),
            (None, Some(row)) => row.like.clone(),
            (None, None) => None,
        }
    }

    fn span(&self) -> Option<(u64, u64)> {
        self.allocation().map(|row| (row.from_ns, row.until_ns.unwrap_or(row.seen_ns).max(row.from_ns)))
    }
}
