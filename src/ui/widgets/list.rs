//! A window on a long list: which row comes first and which has the cursor.

/// Position in a list whose rows are elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Window {
    /// First row on the screen.
    pub first: u64,
    /// Row of the cursor.
    pub cursor: u64,
}

impl Window {
    /// Moves the cursor by so many rows, negative for up.
    pub fn step(&mut self, rows: i64, total: u64, height: u64) {
        self.put(self.cursor.saturating_add_signed(rows), total, height);
    }

    /// Puts the cursor on a row, or the last, and shows it.
    pub fn put(&mut self, row: u64, total: u64, height: u64) {
        self.cursor = row;
        self.fit(total, height);
    }

    /// Puts the cursor on a row and keeps it on its line of the screen, as far as the list's ends allow.
    pub fn put_in_place(&mut self, row: u64, total: u64, height: u64) {
        let line = self.cursor.saturating_sub(self.first);
        self.first = row.saturating_sub(line);
        self.put(row, total, height);
    }

    /// Brings the cursor to the middle.
    pub fn centre(&mut self, total: u64, height: u64) {
        self.first = self.cursor.saturating_sub(height / 2);
        self.fit(total, height);
    }

    /// Keeps both inside the list, and the cursor on the screen.
    pub fn fit(&mut self, total: u64, height: u64) {
        self.cursor = self.cursor.min(total.saturating_sub(1));
        let lowest = (self.cursor + 1).saturating_sub(height);
        self.first = self.first.clamp(lowest, self.cursor.max(lowest)).min(total.saturating_sub(height).max(lowest));
    }

    /// Rows worth asking for: whole pages around the window, so that most moves need no new question.
    pub fn wanted(&self, height: u64) -> (u64, usize) {
        let height = height.max(1);
        let page = self.first / height;
        (page.saturating_sub(1) * height, usize::try_from(height * 4).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_stays_in_the_list_and_on_the_screen() {
        let mut window = Window::default();
        window.step(5, 100, 10);
        assert_eq!(window, Window { first: 0, cursor: 5 });
        window.step(5, 100, 10);
        assert_eq!(window, Window { first: 1, cursor: 10 });
        window.step(-100, 100, 10);
        assert_eq!(window, Window { first: 0, cursor: 0 });
        window.put(u64::MAX, 100, 10);
        assert_eq!(window, Window { first: 90, cursor: 99 });
        window.put(50, 0, 10);
        assert_eq!(window, Window { first: 0, cursor: 0 });
    }

    #[test]
    fn any_walk_keeps_the_promise() {
        let mut window = Window::default();
        let mut seed = 7_u64;
        for _ in 0..2_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (total, height) = (seed >> 40 & 63, seed >> 50 & 15);
            match seed >> 60 & 3 {
                0 => window.step((seed >> 20 & 31) as i64 - 16, total, height),
                1 => window.put_in_place(seed >> 30 & 63, total, height),
                2 => window.centre(total, height),
                _ => window.fit(total, height),
            }
            assert!(window.cursor < total.max(1));
            if height > 0 {
                assert!(window.first <= window.cursor && window.cursor < window.first + height, "{window:?}");
                assert!(window.first == 0 || window.first + height <= total, "{window:?} {total} {height}");
                let (first, rows) = window.wanted(height);
                assert!(first <= window.first && window.first + height <= first + rows as u64);
            }
        }
    }

    #[test]
    fn a_row_that_moved_keeps_its_line() {
        let mut window = Window { first: 20, cursor: 24 };
        window.put_in_place(70, 100, 10);
        assert_eq!(window, Window { first: 66, cursor: 70 });
    }
}
