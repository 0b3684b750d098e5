//! What the events screen remembers between two frames.

use super::columns::Chosen;
use super::describe;
use crate::session::view::{EventGroup, EventKinds, EventRow, EventsAt, EventsRequest, EventsRows, EventsWithin};
use crate::ui::effect::{Goal, Scope};
use crate::ui::marks::Moment;
use crate::ui::screens::Place;
use crate::ui::thresholds::Thresholds;
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
    /// Kinds of events that are shown.
    pub kinds: EventKinds,
    /// Of a part of memory: which allocation that is.
    pub memory: String,
    /// Where to go as soon as its row is known.
    pub jump: Option<EventsAt>,
    /// Which of the events that begin there it is.
    pub seek: Option<Moment>,
    /// Where a range of time begins that is being chosen: its row, and when the event begins and ends.
    pub selecting: Option<(u64, (u64, u64))>,
    /// Something to say, once.
    pub notice: Option<String>,
    /// A popup waits for more about the cursor's row.
    pub opened: bool,
    /// What it waits for.
    pub fresh: Option<Vec<(String, String)>>,
    /// Cells by which the calls are scrolled to the left.
    pub shift: u16,
    /// Columns to show.
    pub chosen: Chosen,
    /// What is marked as slow.
    pub thresholds: Thresholds,
    /// The rows that came last.
    pub rows: Option<EventsRows>,
}

impl State {
    /// Where one is.
    pub fn place(&self) -> Place {
        let follow = self.follow == Follow::On;
        let event = self.current().map(Moment::of);
        Place::Events { scope: self.scope.clone(), kinds: self.kinds, window: self.window, follow, event }
    }

    /// Goes back there.
    pub fn restore(&mut self, place: Place) {
        let Place::Events { scope, kinds, window, follow, .. } = place else { return };
        self.show_scope(scope);
        (self.kinds, self.window, self.jump) = (kinds, window, None);
        self.follow = if follow { Follow::On } else { Follow::Off };
    }

    /// Goes back there though the rows may be others by now: to the event, wherever it is.
    pub fn return_to(&mut self, place: Place) {
        let Place::Events { event, follow, .. } = &place else { return };
        let event = event.clone().filter(|_| !follow);
        self.restore(place);
        self.jump = event.as_ref().map(|event| EventsAt::Time(event.start_ns));
        self.seek = event;
    }

    /// Puts the cursor on a row, which may not have come yet; brought to the middle if it is not on the screen.
    pub fn go_to_row(&mut self, row: u64, height: u64) {
        (self.follow, self.jump, self.seek) = (Follow::Off, None, None);
        if row < self.window.first || row >= self.window.first + height {
            self.window.first = row.saturating_sub(height / 2);
        }
        self.window.cursor = row;
    }

    /// The rows to ask for.
    pub fn request(&self, height: u64) -> EventsRequest {
        let (first, rows) = self.window.wanted(height);
        let at = match (self.jump, self.follow) {
            (Some(at), _) => at,
            (None, Follow::On) => EventsAt::End,
            (None, Follow::Off) => EventsAt::Row(first),
        };
        let node = self.scope.as_ref().map(|scope| (scope.grouping, scope.key));
        let details = if self.opened { self.has_more() } else { None };
        EventsRequest { node, at, rows, kinds: self.kinds, details }
    }

    /// The cursor's row, if more is to be known of it than it says.
    pub fn has_more(&self) -> Option<u64> {
        let row = self.current()?;
        (row.group != EventGroup::Calls).then_some(self.window.cursor)
    }

    /// More about the cursor's row, if it has come.
    pub fn more(&self) -> &[(String, String)] {
        let details = self.rows.as_ref().and_then(|rows| rows.details.as_ref());
        details.filter(|(row, _)| *row == self.window.cursor).map_or(&[], |(_, fields)| fields)
    }

    /// Shows these kinds of events.
    pub fn show_kinds(&mut self, kinds: EventKinds) {
        if self.kinds != kinds {
            self.kinds = kinds;
            self.window = Window::default();
        }
    }

    /// Shows what happened in a part of memory, which is of this allocation.
    pub fn show_within(&mut self, within: EventsWithin, memory: String) {
        self.show_kinds(EventKinds::inside(within));
        self.memory = memory;
    }

    /// Goes to a place among all events.
    pub fn show_goal(&mut self, goal: Goal) {
        self.kinds = EventKinds::ALL;
        self.show_scope(None);
        (self.follow, self.seek) = (Follow::Off, None);
        self.jump = Some(match goal {
            // A row that is not there is the last.
            Goal::Row(row) => EventsAt::Number(row.saturating_sub(1)),
            Goal::Time(ns) => EventsAt::Time(ns),
            Goal::Address(address) => EventsAt::Address(address),
            Goal::Call(thread, row) => EventsAt::Call(thread, row),
        });
    }

    /// Goes to the call that submitted the cursor's work, among all events.
    pub fn go_to_launcher(&mut self) {
        if let Some(call) = self.current().and_then(|row| row.launched_by) {
            self.kinds = EventKinds::ALL;
            self.show_scope(None);
            self.follow = Follow::Off;
            self.jump = Some(EventsAt::Call(call.0, call.1));
        }
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

    /// Number of this event's row, if it has come.
    fn number_of(&self, event: &Moment) -> Option<u64> {
        let rows = self.rows.as_ref()?;
        rows.rows.iter().zip(rows.first..).find(|(row, _)| event.is(row)).map(|(_, number)| number)
    }

    /// The cursor's event, if it has come.
    pub fn current(&self) -> Option<&EventRow> {
        self.row(self.window.cursor)
    }

    /// Whether only what is behind something is shown, or what happened in a part of memory.
    pub fn is_scoped(&self) -> bool {
        self.scope.is_some() || self.kinds.within().is_some()
    }

    /// Shows all events again that are behind nothing and of no part of memory.
    pub fn show_all(&mut self) {
        if self.kinds.within().is_some() {
            self.show_kinds(EventKinds::ALL);
        }
        self.show_scope(None);
    }

    /// Shows only the events behind a node, or all.
    pub fn show_scope(&mut self, scope: Option<Scope>) {
        if self.scope != scope {
            let chosen = std::mem::take(&mut self.chosen);
            *self = Self { scope, kinds: self.kinds, chosen, thresholds: self.thresholds, ..Self::default() };
        }
    }

    /// The range of time that is being chosen, ns since the trace began.
    pub fn chosen_range(&self) -> Option<(u64, u64)> {
        let (_, (from, to)) = self.selecting?;
        let here = self.current().map(span).unwrap_or((from, to));
        Some((from.min(here.0), to.max(here.1)))
    }

    /// Begins to choose a range of time at the cursor's event, or leaves that.
    pub fn select(&mut self) {
        self.selecting = match self.selecting {
            Some(_) => None,
            None => self.current().map(span).map(|span| (self.window.cursor, span)),
        };
        self.follow = Follow::Off;
    }

    /// Other rows are coming: goes to where the cursor's event is among them, or would be.
    pub fn stay(&mut self) {
        self.selecting = None;
        if let Some(event) = self.current().filter(|_| self.follow == Follow::Off).map(Moment::of) {
            self.jump = Some(EventsAt::Time(event.start_ns));
            self.seek = Some(event);
        }
    }

    /// Takes rows.
    pub fn take(&mut self, rows: EventsRows, newest: bool, height: u64) -> bool {
        let before = self.window;
        let changed = self.rows.as_ref() != Some(&rows);
        let total = rows.total;
        let mut found = rows.found;
        self.rows = Some(rows);
        if newest && let Some(at) = self.jump.take() {
            if let (EventsAt::Time(_), Some(event)) = (at, self.seek.take()) {
                found = self.number_of(&event).or(found);
            }
            match (found, at) {
                (Some(row), _) => {
                    self.window.put(row, total, height);
                    self.window.centre(total, height);
                }
                (None, EventsAt::Address(address)) => {
                    self.notice = Some(format!("no call was seen that allocated the memory at {address:#x}"));
                }
                _ => {}
            }
            return true;
        }
        if self.opened && !self.more().is_empty() {
            self.opened = false;
            self.fresh = self.current().map(|event| describe::fields(event, self.more()));
        }
        match self.follow {
            Follow::On if newest => self.window.put(u64::MAX, total, height),
            _ => self.window.fit(total, height),
        }
        changed || before != self.window
    }
}

/// Begin and end of an event; of one whose end is not known its begin.
pub fn span(event: &EventRow) -> (u64, u64) {
    (event.start_ns, event.start_ns.saturating_add(event.duration_ns.unwrap_or(0)))
}
