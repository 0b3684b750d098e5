//! Draws the output screen.
//!
//! ```text
//! output   FOLLOWING               1,204 lines
//!     step 1 loss 2.31
//! err warning: ...
//! ```

use ratatui::layout::Rect;

use super::state::{Place, State};
use crate::ui::text::format;
use crate::ui::theme::Role;
use crate::ui::widgets::paint::Paint;

/// Cells that say where a line came from.
const GUTTER: u16 = 4;

/// Draws the screen.
pub fn draw(state: &State, paint: &mut Paint<'_>, area: Rect) {
    let lines = format!("{} lines", format::grouped(state.total()));
    paint.right(area.x, area.y, area.width, &lines, Role::Dim);
    let place = match state.place {
        Place::Newest => ("FOLLOWING", Role::Strong),
        Place::Line(_) => ("", Role::Plain),
    };
    let room = area.width.saturating_sub(lines.len() as u16 + 1);
    paint.pieces(area.x, area.y, room, &[("output, err: from stderr   ", Role::Dim), place]);
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    match &state.rows {
        None => {
            paint.text(list.x, list.y, list.width, "reading", Role::Dim);
        }
        Some(rows) if rows.total == 0 => {
            let why = rows.why_empty.as_deref().unwrap_or("the program has printed nothing yet");
            paint.text(list.x, list.y, list.width, why, Role::Dim);
        }
        Some(_) => text(state, paint, list),
    }
}

fn text(state: &State, paint: &mut Paint<'_>, list: Rect) {
    let first = state.first(u64::from(list.height));
    for (y, number) in (list.y..list.bottom()).zip(first..) {
        let Some((from_stderr, line)) = state.line(number) else { continue };
        if *from_stderr {
            paint.text(list.x, y, GUTTER, "err", Role::Warning);
        }
        if state.found == Some(number) {
            paint
                .lay_over(Rect { y, width: GUTTER.saturating_sub(1).min(list.width), height: 1, ..list }, Role::Cursor);
        }
        let shifted: String = line.chars().skip(usize::from(state.shift)).take(usize::from(list.width) + 1).collect();
        let end = paint.text(list.x + GUTTER, y, list.width.saturating_sub(GUTTER), &shifted, Role::Plain);
        paint.mark((list.x + GUTTER, y), end, line);
    }
}
