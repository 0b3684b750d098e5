//! Columns of a table: which of them fit, and where they stand.

/// Those for which there is room in so many cells, the most telling first.
pub fn fitting<C: Copy>(telling: impl IntoIterator<Item = C>, cells: u16, width: impl Fn(C) -> u16) -> Vec<C> {
    let mut room = cells;
    let mut fitting = Vec::new();
    for column in telling {
        let Some(left) = room.checked_sub(width(column)) else { break };
        room = left;
        fitting.push(column);
    }
    fitting
}

/// The same in their order from left to right.
pub fn visible<C: Copy + PartialEq>(order: &[C], telling: &[C], cells: u16, width: impl Fn(C) -> u16) -> Vec<C> {
    let fitting = fitting(telling.iter().copied(), cells, width);
    order.iter().copied().filter(|column| fitting.contains(column)).collect()
}

/// Calls `each` with each column, its first cell and how many it has, which leave one free before them; columns end at
/// `right`, and the last comes first. The cell at which the first one begins.
pub fn from_right<C: Copy>(
    columns: &[C],
    right: u16,
    width: impl Fn(C) -> u16,
    mut each: impl FnMut(C, u16, u16),
) -> u16 {
    let mut x = right;
    for &column in columns.iter().rev() {
        let cells = width(column);
        x = x.saturating_sub(cells);
        each(column, x + 1, cells.saturating_sub(1));
    }
    x
}
