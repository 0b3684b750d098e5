//! Marks that the user has set, and where the screens show them.

use super::screens::Place;
use crate::session::view::{EventRow, Grouping, NodeKey};

/// Stands beside rows that are marked, and at their time on an axis: the key that lists the marks.
pub const SIGN: &str = "'";

/// Characters of an event's name that are compared.
const NAME: usize = 200;

/// An event wherever its row is: other rows come before it when the lens changes, or while the trace grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When it began, ns since the trace began.
    pub start_ns: u64,
    /// What it is called; of a long name the beginning.
    pub name: String,
}

impl Moment {
    /// Of an event.
    pub fn of(event: &EventRow) -> Self {
        Self::new(event.start_ns, &event.name)
    }

    /// Of what began then and has this name.
    pub fn new(start_ns: u64, name: &str) -> Self {
        Self { start_ns, name: name.chars().take(NAME).collect() }
    }

    /// Whether this is the event.
    pub fn is(&self, event: &EventRow) -> bool {
        self.start_ns == event.start_ns && event.name.starts_with(&self.name)
    }
}

/// A mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What it is called.
    pub label: String,
    /// Where it is.
    pub place: Place,
}

impl Mark {
    /// Whether both are of the same row.
    pub fn is_at(&self, place: &Place) -> bool {
        match (&self.place, place) {
            (Place::Events { event: Some(one), .. }, Place::Events { event: Some(other), .. }) => one == other,
            (one, other) => one == other,
        }
    }
}

/// Marks, for what is drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks<'a>(pub &'a [Mark]);

impl Marks<'_> {
    /// Whether an event is marked.
    pub fn has_event(self, row: &EventRow) -> bool {
        self.0.iter().any(|mark| matches!(&mark.place, Place::Events { event: Some(event), .. } if event.is(row)))
    }

    /// Whether a row of the calls is marked.
    pub fn has_node(self, wanted: Grouping, key: NodeKey) -> bool {
        let is = |place: &Place| matches!(place, Place::Calls { grouping, cursor, .. } if *grouping == wanted && *cursor == Some(key));
        self.0.iter().any(|mark| is(&mark.place))
    }

    /// When marked events began, ns since the trace began.
    pub fn times(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().filter_map(|mark| match &mark.place {
            Place::Events { event, .. } => event.as_ref().map(|event| event.start_ns),
            _ => None,
        })
    }

    /// The cells of an axis in which marked events began: it shows the time from `from` to before `to`, ns since the
    /// trace began.
    pub fn cells(&self, from: u64, to: u64, cells: u16) -> Vec<u16> {
        let span = u128::from(to.saturating_sub(from));
        let inside = self.times().filter(|ns| (from..to).contains(ns));
        let cell = |ns: u64| (u128::from(ns - from) * u128::from(cells)).checked_div(span);
        let mut cells: Vec<u16> = inside.filter_map(|ns| u16::try_from(cell(ns)?).ok()).collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::view::EventKinds;
    use crate::ui::widgets::list::Window;

    fn mark(start_ns: u64, name: &str) -> Mark {
        let event = Some(Moment::new(start_ns, name));
        let place =
            Place::Events { scope: None, kinds: EventKinds::ALL, window: Window::default(), follow: false, event };
        Mark { label: name.to_owned(), place }
    }

    #[test]
    fn marks_stand_in_the_cell_of_their_time() {
        let list = [mark(0, "a"), mark(99, "b"), mark(50, "c"), mark(51, "d"), mark(100, "e")];
        let marks = Marks(&list);
        assert_eq!(marks.cells(0, 100, 10), [0, 5, 9]);
        assert_eq!(marks.cells(50, 60, 10), [0, 1]);
        assert_eq!((marks.cells(7, 7, 10), marks.cells(0, 100, 0)), (vec![], vec![0]));
        assert_eq!(Marks(&[mark(u64::MAX - 1, "z")]).cells(0, u64::MAX, 80), [79]);
    }
}
