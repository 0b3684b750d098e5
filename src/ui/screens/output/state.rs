//! What the output screen remembers between two frames.

use crate::session::view::{OutputRequest, OutputRows};

/// Where the window stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the newest lines.
    Newest,
    /// At this line.
    Line(u64),
}

/// State of the output screen.
#[derive(Clone, Debug)]
pub struct State {
    /// Where the window stands.
    pub place: Place,
    /// The line that a search has found.
    pub found: Option<u64>,
    /// Cells by which the lines are scrolled to the left.
    pub shift: u16,
    /// The rows that came last.
    pub rows: Option<OutputRows>,
}

impl Default for State {
    fn default() -> Self {
        Self { place: Place::Newest, found: None, shift: 0, rows: None }
    }
}

impl State {
    /// The rows to ask for.
    pub fn request(&self, height: u64) -> OutputRequest {
        let height = height.max(1);
        let first = match self.place {
            Place::Newest => u64::MAX,
            Place::Line(line) => (line / height).saturating_sub(1) * height,
        };
        OutputRequest { first, rows: usize::try_from(height * 4).unwrap_or(usize::MAX) }
    }

    /// Lines in all.
    pub fn total(&self) -> u64 {
        self.rows.as_ref().map_or(0, |rows| rows.total)
    }

    /// First line on the screen.
    pub fn first(&self, height: u64) -> u64 {
        let last_first = self.total().saturating_sub(height);
        match self.place {
            Place::Newest => last_first,
            Place::Line(line) => line.min(last_first),
        }
    }

    /// Where a search starts from: the line that it found, or the first on the screen.
    pub fn search_from(&self, height: u64) -> u64 {
        let first = self.first(height);
        self.found.filter(|line| (first..first + height).contains(line)).unwrap_or(first)
    }

    /// Shows a line that a search has found.
    pub fn go_to_line(&mut self, line: u64, height: u64) {
        let first = self.first(height);
        let place = if (first..first + height).contains(&line) { first } else { line.saturating_sub(height / 2) };
        self.place = Place::Line(place);
        self.found = Some(line);
    }

    /// A line, if it has come, and whether it is from stderr.
    pub fn line(&self, number: u64) -> Option<&(bool, String)> {
        let rows = self.rows.as_ref()?;
        rows.lines.get(usize::try_from(number.checked_sub(rows.first)?).ok()?)
    }

    /// Takes rows.
    pub fn take(&mut self, rows: OutputRows, _newest: bool, _height: u64) -> bool {
        let changed = self.rows.as_ref() != Some(&rows);
        self.rows = Some(rows);
        changed
    }
}
