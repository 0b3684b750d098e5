//! Where a body has room for a pane beside its list.

use ratatui::layout::Rect;

use super::paint::Paint;
use crate::ui::theme::Role;

/// Bodies at least this wide have a pane on the right.
pub const WIDE: u16 = 140;
/// Cells of that pane, its divider included.
const PANE: u16 = 61;

/// The list's part of a body, and the pane's if there is room.
pub fn beside(body: Rect) -> (Rect, Option<Rect>) {
    if body.width < WIDE {
        return (body, None);
    }
    let list = Rect { width: body.width - PANE, ..body };
    (list, Some(Rect::new(list.right(), body.y, PANE, body.height)))
}

/// Draws the divider of a pane and its heading; returns the area for its content.
pub fn pane(paint: &mut Paint<'_>, area: Rect, heading: &str) -> Rect {
    let divider = paint.theme.glyphs.divider;
    for y in area.y..area.bottom() {
        paint.text(area.x, y, 1, divider, Role::Dim);
    }
    let inside = Rect::new(area.x + 2, area.y, area.width.saturating_sub(2), area.height);
    paint.name(inside.x, inside.y, inside.width, heading, Role::Strong);
    Rect { y: (inside.y + 2).min(inside.bottom()), height: inside.height.saturating_sub(2), ..inside }
}
