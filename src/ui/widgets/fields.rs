//! Names and their values, one under the other, long values on several lines.

use ratatui::layout::Rect;

use super::paint::Paint;
use crate::ui::text::truncate;
use crate::ui::theme::Role;

/// Cells of the names' column.
const NAME_WIDTH: u16 = 12;

/// A line to draw: the name (on the first line of a value) and a piece of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLine<'a> {
    name: &'a str,
    value: &'a str,
}

/// The fields as lines of so many cells.
pub fn lines(fields: &[(String, String)], cells: u16) -> Vec<FieldLine<'_>> {
    let room = usize::from(cells.saturating_sub(NAME_WIDTH));
    let mut out = Vec::new();
    for (name, value) in fields {
        for (i, value) in truncate::wrap(value, room).into_iter().enumerate() {
            out.push(FieldLine { name: if i == 0 { name } else { "" }, value });
        }
    }
    out
}

/// Draws the lines from the given one on.
pub fn draw(paint: &mut Paint<'_>, area: Rect, lines: &[FieldLine<'_>], first: usize) {
    for (y, line) in (area.y..area.bottom()).zip(lines.iter().skip(first)) {
        paint.text(area.x, y, NAME_WIDTH.min(area.width).saturating_sub(1), line.name, Role::Dim);
        let x = area.x + NAME_WIDTH.min(area.width);
        paint.text(x, y, area.right() - x, line.value, Role::Plain);
    }
}
