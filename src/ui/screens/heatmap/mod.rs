//! The heatmap: unified memory by address and time.

mod draw;
mod layout;
mod look;
mod state;
mod update;

use ratatui::layout::{Rect, Size};

pub use state::State as Heatmap;

use super::{Place, Screen};
use crate::filter::Condition;
use crate::session::view::{Body, SearchFrom, Status, Target, View};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::widgets::paint::Paint;

impl Screen for Heatmap {
    fn context(&self) -> Context {
        Context::Heatmap
    }

    fn view(&self, body: Size) -> View {
        View::Heatmap(self.request(layout::room(body)))
    }

    fn apply(&mut self, rows: Body, newest: bool, _body: Size) -> bool {
        match rows {
            Body::Heatmap(rows) => self.take(rows, newest),
            _ => false,
        }
    }

    fn update(&mut self, action: Action, body: Size) -> Effect {
        update::update(self, action, layout::room(body))
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
        self.text().unwrap_or_else(|| "heatmap".to_owned())
    }

    fn row_text(&self) -> Option<String> {
        let point = self.point()?;
        Some(format!("{}\t{}", self.text()?, point.label))
    }

    fn search_from(&self, _body: Size) -> SearchFrom {
        SearchFrom::Row(self.search_row())
    }

    fn go_to(&mut self, target: &Target, _body: Size) {
        if let Target::Row(row) = target {
            self.go_to(*row);
        }
    }

    fn like(&self) -> Option<Condition> {
        let (_, from, to) = self.point()?.at;
        Some(Condition::Address(from, to.saturating_sub(1)))
    }

    fn span(&self) -> Option<(u64, u64)> {
        self.point().map(|point| point.ns)
    }

    fn cancel(&mut self) -> bool {
        self.selecting.take().is_some()
    }

    fn restore(&mut self, place: Place) {
        self.restore(place);
    }
}
