//! The calls screen: who called what, and how long it took.

pub mod columns;
mod draw;
mod facts;
mod layout;
mod state;
mod update;

use ratatui::layout::{Rect, Size};

use crate::session::view::{Grouping, NodeKey};

pub use state::State as Calls;
pub use update::{choose, group, look_for};

use super::Place;
use super::Screen;
use crate::session::view::{Body, SearchFrom, Status, Target, View};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::widgets::list::Window;
use crate::ui::widgets::paint::Paint;

impl Calls {
    /// Shows a node under a grouping, what is above it unfolded.
    pub fn show(&mut self, grouping: Grouping, key: NodeKey, path: &[(NodeKey, u16)], body: Size) {
        if self.grouping != grouping {
            update::group(self, grouping);
            self.seek = None;
        }
        self.unfold(path);
        let height = layout::list_height(body);
        if self.number_of(key).is_none() {
            // When its row comes it stands so far down, under what it is in.
            self.window = Window { first: 0, cursor: height / 3 };
        }
        self.go_to_node(key, height);
    }
}

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

    fn draw(&self, paint: &mut Paint<'_>, area: Rect, status: &Status) {
        draw::draw(self, paint, area, status.lens.as_ref());
    }

    fn place(&self) -> Place {
        self.place()
    }

    fn title_of_place(&self) -> String {
        self.current().map_or_else(|| "calls".to_owned(), |row| row.label.clone())
    }

    fn row_text(&self) -> Option<String> {
        let row = self.current()?;
        let values = columns::ORDER.map(|column| {
            format!("{} {}", columns::title(column), columns::value(column, row, columns::Numbers::Times))
        });
        Some(format!("{}\t{}", row.label, values.join("\t")))
    }

    fn restore(&mut self, place: Place) {
        self.restore(place);
    }

    fn search_from(&self, _body: Size) -> SearchFrom {
        SearchFrom::Node(self.cursor)
    }

    fn go_to(&mut self, target: &Target, body: Size) {
        if let Target::Node { key, path } = target {
            self.unfold(path);
            self.go_to_node(*key, layout::list_height(body));
        }
    }
}
