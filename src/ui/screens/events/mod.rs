//! The events screen: everything that happened, in order.

pub mod columns;
mod describe;
mod draw;
mod layout;
mod state;
mod update;

use ratatui::layout::{Rect, Size};

pub use describe::group_name;
pub use state::State as Events;

use state::span;

use super::Place;
use super::Screen;
use crate::session::view::{Body, EventKinds, SearchFrom, Status, Target, View};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::text::format;
use crate::ui::widgets::paint::Paint;

impl Screen for Events {
    fn context(&self) -> Context {
        Context::Events
    }

    fn view(&self, body: Size) -> View {
        let mut request = self.request(layout::list_height(body));
        if layout::of(Rect::new(0, 0, body.width, body.height)).pane.is_some() {
            request.details = self.has_more();
        }
        View::Events(request)
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
        match self.current() {
            Some(event) => format!("{} s: {}", format::seconds(event.start_ns, 6), event.name),
            None => format!("event {}", self.window.cursor + 1),
        }
    }

    fn row_text(&self) -> Option<String> {
        let event = self.current()?;
        let mut fields = describe::fields(event, self.more());
        fields.retain(|(name, value)| !name.is_empty() && !value.is_empty());
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
        Some(fields.join("\t"))
    }

    fn limits(&self) -> Option<&'static str> {
        match (&self.scope, self.kinds == EventKinds::ALL) {
            _ if self.kinds.within().is_some() => Some("what happened in this part of memory; {all-events} shows all"),
            (Some(_), _) => Some("these events; {all-events} shows all"),
            (None, false) => Some("these kinds of events; {kinds} chooses others"),
            (None, true) => None,
        }
    }

    fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    fn span(&self) -> Option<(u64, u64)> {
        self.current().map(span)
    }

    fn is_scoped(&self) -> bool {
        self.is_scoped()
    }

    fn cancel(&mut self) -> bool {
        self.selecting.take().is_some()
    }

    fn stay(&mut self) {
        self.stay();
    }

    fn restore(&mut self, place: Place) {
        self.restore(place);
    }

    fn return_to(&mut self, place: Place) {
        self.return_to(place);
    }

    fn search_from(&self, _body: Size) -> SearchFrom {
        SearchFrom::Row(self.window.cursor)
    }

    fn go_to(&mut self, target: &Target, body: Size) {
        if let Target::Row(row) = target {
            self.go_to_row(*row, layout::list_height(body));
        }
    }

    fn leave(&mut self) {
        self.show_all();
    }
}
