//! What the overview remembers between two frames.

use crate::session::view::{Overview, TopRow};

/// State of the overview.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The rows that came last.
    pub rows: Option<Overview>,
    /// The row of the functions and kernels that the cursor is on, once it has been moved there.
    pub cursor: Option<usize>,
    /// How many of the functions and of the kernels are on the screen.
    pub shown: std::cell::Cell<(usize, usize)>,
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

    /// The cursor's row, and whether it is of a kernel.
    pub fn current(&self) -> Option<(&TopRow, bool)> {
        let (rows, at) = (self.rows.as_ref()?, self.cursor?);
        let functions = self.shown.get().0;
        match at.checked_sub(functions) {
            None => rows.top.get(at).map(|row| (row, false)),
            Some(at) => rows.kernels.get(at).map(|row| (row, true)),
        }
    }

    /// Moves the cursor by so many rows; the first step goes to the first or the last one.
    pub fn step(&mut self, rows: i64) {
        let (functions, kernels) = self.shown.get();
        let Some(last) = (functions + kernels).checked_sub(1) else { return };
        let last = last as u64;
        let next = match self.cursor {
            None if rows == i64::MAX => last,
            None => 0,
            Some(at) => (at as u64).saturating_add_signed(rows).min(last),
        };
        self.cursor = usize::try_from(next).ok();
    }

    /// Takes rows.
    pub fn take(&mut self, rows: Overview) -> bool {
        let changed = self.rows.as_ref() != Some(&rows);
        self.rows = Some(rows);
        changed
    }
}
