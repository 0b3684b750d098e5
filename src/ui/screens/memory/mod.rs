//! The memory screen: bytes in use over time, and below it every allocation, or what allocations sum up to.

mod allocations;
mod blocks;
mod draw;
mod facts;
mod groups;
mod growth;
mod layout;
mod plot;
mod pools;
mod state;
mod tab;
mod transfers;
mod update;

use ratatui::layout::{Rect, Size};

pub use state::State as Memory;
pub use tab::Tab;

use super::Place;
use super::Screen;
use crate::filter::Condition;
use crate::session::view::{Body, SearchFrom, Status, Target, View};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::widgets::paint::Paint;

impl Screen for Memory {
    fn context(&self) -> Context {
        Context::Memory
    }

    fn view(&self, body: Size) -> View {
        View::Memory(self.request(self.layout(body)))
    }

    fn apply(&mut self, rows: Body, newest: bool, body: Size) -> bool {
        match rows {
            Body::Memory(rows) => {
                let has_told = rows.plot.told.is_some() && !rows.plot.most.is_empty();
                self.take(rows, newest, u64::from(layout::of_size(body, has_told).list.height))
            }
            _ => false,
        }
    }

    fn update(&mut self, action: Action, body: Size) -> Effect {
        update::update(self, action, body)
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect, status: &Status) {
        draw::draw(self, paint, area, status);
    }

    fn take_details(&mut self) -> Option<Vec<(String, String)>> {
        self.fresh.take()
    }

    fn place(&self) -> Place {
        self.place()
    }

    fn title_of_place(&self) -> String {
        match (self.allocation(), self.heading()) {
            (Some(row), place) => format!("memory: {place} {}", row.site),
            (None, name) if !name.is_empty() => format!("memory: {name}"),
            (None, _) => format!("memory: {}", self.tab.title()),
        }
    }

    fn row_text(&self) -> Option<String> {
        if let Some(row) = self.allocation() {
            let values = allocations::ORDER
                .map(|column| format!("{} {}", allocations::title(column), allocations::value(column, row)));
            return Some(format!("{}\t{}\t{}", allocations::place_of(row), row.site, values.join("\t")));
        }
        if let Some(row) = self.block() {
            return Some(blocks::text(row));
        }
        if let Some(row) = self.pool() {
            let values = pools::ORDER.map(|column| format!("{} {}", pools::title(column), pools::value(column, row)));
            return Some(format!("{}\t{}", row.name, values.join("\t")));
        }
        if let Some(row) = self.transfer() {
            return Some(transfers::text(row));
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
        let (allocation, group, grown) = (self.allocation(), self.group(), self.grown());
        let like = allocation.map(|row| &row.like).or(group.map(|row| &row.like)).or(grown.map(|row| &row.like));
        like.cloned().flatten()
    }

    fn go_to(&mut self, target: &Target, body: Size) {
        if let Target::Row(row) = target {
            let height = self.list_height(body);
            let window = self.window_mut();
            if *row < window.first || *row >= window.first + height {
                window.first = row.saturating_sub(height / 2);
            }
            self.go_to_row(*row, height);
        }
    }

    fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    fn limits(&self) -> Option<&'static str> {
        let inside = self.inside().map(|_| "the blocks of one allocation; {back} shows all allocations");
        inside.or(self.only.as_ref().map(|_| "these allocations; {back} shows all"))
    }

    fn cancel(&mut self) -> bool {
        if self.leave_inside() {
            return true;
        }
        let scoped = self.only.is_some() && self.tab == Tab::Allocations;
        if scoped {
            self.show_only(None);
        }
        scoped
    }

    fn span(&self) -> Option<(u64, u64)> {
        self.allocation().map(|row| (row.from_ns, row.until_ns.unwrap_or(row.seen_ns).max(row.from_ns)))
    }
}
