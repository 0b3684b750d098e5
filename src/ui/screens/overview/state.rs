//! What the overview remembers between two frames.

use crate::session::view::Overview;

/// State of the overview.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The rows that came last.
    pub rows: Option<Overview>,
}

impl State {
    /// Takes rows.
    pub fn take(&mut self, rows: Overview) -> bool {
        let changed = self.rows.as_ref() != Some(&rows);
        self.rows = Some(rows);
        changed
    }
}
