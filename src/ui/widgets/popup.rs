//! The frame of a popup.

use ratatui::layout::{Rect, Size};

use super::paint::Paint;
use crate::ui::theme::Role;

/// A place of at most this size in the middle of an area.
pub fn centred(area: Rect, size: Size) -> Rect {
    // Slivers of text beside a popup would only confuse.
    let width = if size.width + 6 > area.width { area.width } else { size.width };
    let height = size.height.min(area.height);
    Rect::new(area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height)
}

/// Draws the frame with its title over whatever is there; returns the area inside.
pub fn frame(paint: &mut Paint<'_>, area: Rect, title: &str) -> Rect {
    paint.clear(area);
    if area.width < 4 || area.height < 3 {
        return area;
    }
    let glyphs = paint.theme.glyphs;
    let (right, bottom) = (area.right() - 1, area.bottom() - 1);
    for y in [area.y, bottom] {
        paint.row_of(area.x, y, area.width, glyphs.rule, Role::Dim);
    }
    for y in area.y + 1..bottom {
        paint.text(area.x, y, 1, glyphs.divider, Role::Dim);
        paint.text(right, y, 1, glyphs.divider, Role::Dim);
    }
    let places = [(area.x, area.y), (right, area.y), (area.x, bottom), (right, bottom)];
    for ((x, y), corner) in places.into_iter().zip(glyphs.corners) {
        paint.text(x, y, 1, corner, Role::Dim);
    }
    paint.text(area.x + 2, area.y, area.width.saturating_sub(4), &format!(" {title} "), Role::Strong);
    Rect::new(area.x + 2, area.y + 1, area.width - 4, area.height - 2)
}
