//! What the events screen remembers between two frames.

use crate::session::view::{EventRow, EventsAt, EventsRequest, EventsRows};
use crate::ui::effect::Scope;
use crate::ui::widgets::list::Window;

/// Whether the newest event is kept in sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Follow {
    /// The window stays where it is.
    #[default]
    Off,
    /// The window goes with the newest.
    On,
}

impl Follow {
    /// The other way.
    pub fn flipped(self) -> Self {
        match self {
            Self::Off => Self::On,
            Self::On => Self::Off,
        }
    }
}

/// State of the events screen.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Which rows are on the screen.
    pub window: Window,
    /// Whether the newest is followed.
    pub follow: Follow,
    /// Only the events behind a node of the calls tree.
    pub scope: Option<Scope>,
    /// Cells by which the calls are scrolled to the left.
    pub shift: u16,
    /// The rows that came last.
    pub rows: Option<EventsRows>,
}

impl State {
    /// The rows to ask for.
    pub fn request(&self, height: u64) -> EventsRequest {
        let (first, rows) = self.window.wanted(height);
        let at = match self.follow {
            Follow::On => EventsAt::End,
            Follow::Off => EventsAt::Row(first),
        };
        EventsRequest { node: self.scope.as_ref().map(|scope| (scope.grouping, scope.key)), at, rows }
    }

    /// Events in the list.
    pub fn total(&self) -> u64 {
        self.rows.as_ref().map_or(0, |rows| rows.total)
    }

    /// A row, if it has come.
    pub fn row(&self, number: u64) -> Option<&EventRow> {
        let rows = self.rows.as_ref()?;
        rows.rows.get(usize::try_from(number.checked_sub(rows.first)?).ok()?)
    }

    /// The cursor's event, if it has come.
    pub fn current(&self) -> Option<&EventRow> {
        self.row(self.window.cursor)
    }

    /// Shows only the events behind a node, or all.
    pub fn show_scope(&mut self, scope: Option<Scope>) {
        if self.scope != scope {
            *self = Self { scope, ..Self::default() };
        }
    }

    /// Takes rows.
    pub fn take(&mut self, rows: EventsRows, newest: bool, height: u64) -> bool {
        let before = self.window;
        let changed = self.rows.as_ref() != Some(&rows);
        let total = rows.total;
        self.rows = Some(rows);
        match self.follow {
            Follow::On if newest => self.window.put(u64::MAX, total, height),
            _ => self.window.fit(total, height),
        }
        changed || before != self.window
    }
}
