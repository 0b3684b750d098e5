//! What the calls screen remembers between two frames.

use std::sync::Arc;

use super::columns::{Chosen, Numbers};
use crate::session::view::{CallRow, CallsRequest, CallsRows, Column, Folds, Grouping, Launches, NodeKey};
use crate::ui::screens::Place;
use crate::ui::source_map::SourceMap;
use crate::ui::thresholds::Thresholds;
use crate::ui::widgets::list::Window;

/// State of the calls screen.
#[derive(Clone, Debug)]
pub struct State {
    /// How calls are put together.
    pub grouping: Grouping,
    /// The grouping that `invert` and `flat` go back to.
    pub tree: Grouping,
    /// Sort column, and whether the largest comes first.
    pub sort: (Column, bool),
    /// Which nodes are open.
    pub folds: Arc<Folds>,
    /// Which rows are on the screen; its cursor is a row number, which a refresh may change.
    pub window: Window,
    /// The node that the cursor is on, which a refresh does not change. `None` until its row has come.
    pub cursor: Option<NodeKey>,
    /// After a change of grouping: put the cursor on a row with this label, if there is one.
    pub seek: Option<String>,
    /// Times or shares.
    pub numbers: Numbers,
    /// Columns to show.
    pub chosen: Chosen,
    /// What is marked as slow, or a storm.
    pub thresholds: Thresholds,
    /// Where source lies here.
    pub sources: SourceMap,
    /// The rows that came last.
    pub rows: Option<CallsRows>,
    /// They are of another grouping: worth seeing until the new ones come, but not to be acted on.
    pub stale: bool,
}

impl Default for State {
    fn default() -> Self {
        let grouping = Grouping::default();
        Self {
            grouping,
            tree: grouping,
            sort: (Column::Total, true),
            folds: first_folds(grouping),
            window: Window::default(),
            cursor: None,
            seek: None,
            numbers: Numbers::default(),
            chosen: Chosen::default(),
            thresholds: Thresholds::default(),
            sources: SourceMap::default(),
            rows: None,
            stale: false,
        }
    }
}

/// Folds so that the calls which the program itself makes can be seen, but not what they call in turn.
pub fn first_folds(grouping: Grouping) -> Arc<Folds> {
    let open_depth = match grouping {
        Grouping::Thread | Grouping::Stream => 3,
        Grouping::Device | Grouping::Range => 2,
        Grouping::CallSite | Grouping::Inverted => 1,
        Grouping::Flat => 0,
    };
    Arc::new(Folds { open_depth, ..Folds::default() })
}

impl State {
    /// Where one is.
    pub fn place(&self) -> Place {
        Place::Calls {
            grouping: self.grouping,
            sort: self.sort,
            folds: Arc::clone(&self.folds),
            window: self.window,
            cursor: self.cursor,
        }
    }

    /// Goes back there.
    pub fn restore(&mut self, place: Place) {
        let Place::Calls { grouping, sort, folds, window, cursor } = place else { return };
        self.stale |= self.grouping != grouping;
        if !matches!(grouping, Grouping::Flat | Grouping::Inverted) {
            self.tree = grouping;
        }
        (self.grouping, self.sort, self.folds, self.window, self.cursor) = (grouping, sort, folds, window, cursor);
        self.seek = None;
    }

    /// Opens these nodes, each with its depth.
    pub fn unfold(&mut self, nodes: &[(NodeKey, u16)]) {
        for &(key, depth) in nodes {
            if !self.folds.open(key, depth) {
                let flipped = &mut Arc::make_mut(&mut self.folds).flipped;
                if !flipped.remove(&key) {
                    flipped.insert(key);
                }
            }
        }
    }

    /// The rows to ask for.
    pub fn request(&self, height: u64) -> CallsRequest {
        let (first, rows) = self.window.wanted(height);
        CallsRequest {
            grouping: self.grouping,
            sort: self.sort,
            folds: Arc::clone(&self.folds),
            cursor: self.cursor,
            first: usize::try_from(first).unwrap_or(usize::MAX),
            rows,
        }
    }

    /// Rows in the list.
    pub fn total(&self) -> u64 {
        self.rows.as_ref().map_or(0, |rows| rows.total as u64)
    }

    /// A row, if it has come.
    pub fn row(&self, number: u64) -> Option<&CallRow> {
        let rows = self.rows.as_ref()?;
        let index = number.checked_sub(rows.first as u64)?;
        rows.rows.get(usize::try_from(index).ok()?)
    }

    /// The cursor's row, if it has come.
    pub fn current(&self) -> Option<&CallRow> {
        if self.stale {
            return None;
        }
        let row = self.row(self.window.cursor)?;
        (self.cursor.is_none() || self.cursor == Some(row.key)).then_some(row)
    }

    /// What is known of the launches of the cursor's kernel.
    pub fn launches(&self) -> Option<&Launches> {
        let (key, launches) = self.rows.as_ref()?.launches.as_ref()?;
        self.current().filter(|row| row.key == *key).map(|_| launches)
    }

    /// Number of the row with this node, if it has come.
    pub fn number_of(&self, key: NodeKey) -> Option<u64> {
        let rows = self.rows.as_ref()?;
        let index = rows.rows.iter().position(|row| row.key == key)?;
        Some((rows.first + index) as u64)
    }

    /// Moves the cursor to a row number and remembers its node.
    pub fn go_to_row(&mut self, row: u64, height: u64) {
        self.window.put(row, self.total(), height);
        self.cursor = self.row(self.window.cursor).map(|row| row.key);
    }

    /// Moves the cursor to a node, wherever it is.
    pub fn go_to_node(&mut self, key: NodeKey, height: u64) {
        self.cursor = Some(key);
        if let Some(row) = self.number_of(key) {
            self.window.put(row, self.total(), height);
        }
    }

    /// Takes rows. The cursor stays on its node and, as far as the list allows, on its line of the screen.
    pub fn take(&mut self, rows: CallsRows, newest: bool, height: u64) -> bool {
        let before = (self.window, self.cursor);
        let changed = self.rows.as_ref() != Some(&rows);
        self.rows = Some(rows);
        self.stale &= !newest;
        if newest && let Some(label) = self.seek.take() {
            let rows = self.rows.as_ref();
            self.cursor = rows.and_then(|rows| rows.rows.iter().find(|row| row.label == label)).map(|row| row.key);
        }
        let found = self.cursor.and_then(|key| self.number_of(key));
        match found {
            Some(row) => self.window.put_in_place(row, self.total(), height),
            // Rows that answer an older view need not hold the node; those for the newest do if it still exists.
            None if self.cursor.is_some() && !newest => {}
            None => self.go_to_row(self.window.cursor, height),
        }
        changed || before != (self.window, self.cursor)
    }
}
