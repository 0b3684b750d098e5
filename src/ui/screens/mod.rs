//! The screens. None knows another: what one asks of the rest goes through [`Effect`].

pub mod calls;
pub mod events;
pub mod heatmap;
pub mod memory;
pub mod output;
pub mod overview;
mod place;

use ratatui::layout::{Rect, Size};

use super::effect::Effect;
use super::keys::{Action, Context};
use super::widgets::paint::Paint;
use crate::filter::Condition;
use crate::session::search::Pattern;
use crate::session::view::{Body, SearchFrom, Status, Target, View};

pub use place::Place;

/// A screen's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ScreenId {
    #[default]
    Overview,
    Calls,
    Heatmap,
    Memory,
    Events,
    Output,
}

impl ScreenId {
    /// Every screen, in the order of their numbers.
    pub const ALL: [Self; 6] = [Self::Overview, Self::Calls, Self::Heatmap, Self::Memory, Self::Events, Self::Output];

    /// Its name on the command line and in help.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Calls => "calls",
            Self::Heatmap => "heatmap",
            Self::Memory => "memory",
            Self::Events => "events",
            Self::Output => "output",
        }
    }
}

impl std::str::FromStr for ScreenId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|id| id.name() == text);
        found.ok_or_else(|| format!("'{text}' is not one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// What the loop needs of a screen. Sizes and areas are those of the body.
pub trait Screen {
    /// Which keys are valid.
    fn context(&self) -> Context;
    /// The rows it wants now. Equal views mean that no new question is needed.
    fn view(&self, body: Size) -> View;
    /// Takes rows; `newest` says that they answer the latest view. Says whether anything changed.
    fn apply(&mut self, rows: Body, newest: bool, body: Size) -> bool;
    /// Obeys an action.
    fn update(&mut self, action: Action, body: Size) -> Effect;
    /// Draws the rows it has.
    fn draw(&self, paint: &mut Paint<'_>, area: Rect, status: &Status);
    /// Fields that were asked for when a popup was opened on it, once they have come.
    fn take_details(&mut self) -> Option<Vec<(String, String)>> {
        None
    }
    /// Where one is.
    fn place(&self) -> Place;
    /// What that is called.
    fn title_of_place(&self) -> String;
    /// The cursor's row as text, parts of it with tabs between them.
    fn row_text(&self) -> Option<String> {
        None
    }
    /// What alone it shows, and how to see all, if it leaves something out; actions stand for their keys.
    fn limits(&self) -> Option<&'static str> {
        None
    }
    /// Something to say about what was asked for, once.
    fn take_notice(&mut self) -> Option<String> {
        None
    }
    /// Goes back there, if the place is one of this screen.
    fn restore(&mut self, place: Place);
    /// Goes back there though the rows may be others by now.
    fn return_to(&mut self, place: Place) {
        self.restore(place);
    }
    /// Where a search starts from.
    fn search_from(&self, _body: Size) -> SearchFrom {
        SearchFrom::Row(0)
    }
    /// Goes to what a search has found, and shows it.
    fn go_to(&mut self, _target: &Target, _body: Size) {}
    /// How many of its entries match, where all of them are on the screen and the session need not be asked.
    fn matches(&self, _pattern: &Pattern) -> Option<usize> {
        None
    }
    /// What the cursor's row is like, as a filter, where the row itself says it and the session need not be asked.
    fn like(&self) -> Option<Condition> {
        None
    }
    /// Begin and end of the cursor's row, ns since the trace began, likewise.
    fn span(&self) -> Option<(u64, u64)> {
        None
    }
    /// Whether it shows only what is behind something.
    fn is_scoped(&self) -> bool {
        false
    }
    /// Leaves what has been begun on it, if anything has.
    fn cancel(&mut self) -> bool {
        false
    }
    /// Other rows are coming, of the same trace: stays where one is in time.
    fn stay(&mut self) {}
    /// It was left by going back.
    fn leave(&mut self) {}
}

/// One of each.
#[derive(Default)]
pub struct Screens {
    overview: overview::Overview,
    /// The calls; popups and effects address it by name.
    pub calls: calls::Calls,
    /// The events; effects address it by name.
    pub events: events::Events,
    heatmap: heatmap::Heatmap,
    /// The memory; effects address it by name, and what links can carry is set by name.
    pub memory: memory::Memory,
    output: output::Output,
}

impl Screens {
    /// A screen.
    pub fn get(&self, id: ScreenId) -> &dyn Screen {
        match id {
            ScreenId::Overview => &self.overview,
            ScreenId::Calls => &self.calls,
            ScreenId::Heatmap => &self.heatmap,
            ScreenId::Events => &self.events,
            ScreenId::Memory => &self.memory,
            ScreenId::Output => &self.output,
        }
    }

    /// A screen, to change.
    pub fn get_mut(&mut self, id: ScreenId) -> &mut dyn Screen {
        match id {
            ScreenId::Overview => &mut self.overview,
            ScreenId::Calls => &mut self.calls,
            ScreenId::Heatmap => &mut self.heatmap,
            ScreenId::Events => &mut self.events,
            ScreenId::Memory => &mut self.memory,
            ScreenId::Output => &mut self.output,
        }
    }
}

/// How far an action moves in a list, in rows; nothing for an action that is not a step.
pub fn step_of(action: Action, height: u64) -> Option<i64> {
    let page = i64::try_from(height.max(1)).unwrap_or(1);
    Some(match action {
        Action::Down => 1,
        Action::Up => -1,
        Action::HalfDown => page / 2 + page % 2,
        Action::HalfUp => -(page / 2 + page % 2),
        Action::PageDown => page,
        Action::PageUp => -page,
        Action::Top => i64::MIN,
        Action::Bottom => i64::MAX,
        _ => return None,
    })
}
