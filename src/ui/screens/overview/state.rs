//! What the overview remembers between two frames.

use crate::session::view::Overview;

/// State of the overview.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The rows that came last.
    pub rows: Option<Overview>,
}

impl State {
    /// What stands in its lists.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let rows = self.rows.iter();
        rows.flat_map(|rows| {
            let functions = rows.top.iter().chain(&rows.kernels).map(|row| row.name.as_str());
            functions.chain(rows.processes.iter().map(|process| process.program.as_str()))
        })
    }

    /// Takes rows.
    pub fn take(&mut self, rows: Overview) -> bool {
        let changed = self.rows.as_ref() != Some(&rows);
        self.rows = Some(rows);
        changed
    }
}
