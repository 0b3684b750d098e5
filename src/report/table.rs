//! Columns as wide as what is in them.

/// A table: the first column is text, to the left; the others numbers, to the right; the last may be text again.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    last_is_text: bool,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|&cell| cell.to_owned()).collect()], last_is_text: false }
    }

    pub(super) fn last_is_text(mut self) -> Self {
        self.last_is_text = true;
        self
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// One line a row, two spaces between columns, none at the ends.
    pub(super) fn write(&self, out: &mut String) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| unicode_width::UnicodeWidthStr::width(cell.as_str())).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let pad = width.saturating_sub(unicode_width::UnicodeWidthStr::width(cell.as_str()));
                let left = column == 0 || (self.last_is_text && column + 1 == columns);
                if column > 0 {
                    line.push_str("  ");
                }
                if !left {
                    line.extend(std::iter::repeat_n(' ', pad));
                }
                line.push_str(cell);
                if left {
                    line.extend(std::iter::repeat_n(' ', pad));
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}
