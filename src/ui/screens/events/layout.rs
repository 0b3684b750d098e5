//! Where the parts of the events screen stand: what is shown, heading, list, and the cursor's event beside it.

use ratatui::layout::{Rect, Size};

use crate::ui::widgets::split;

/// The parts of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Line that says which events these are.
    pub summary: Rect,
    /// Line of the column titles.
    pub heading: Rect,
    /// The rows.
    pub list: Rect,
    /// The cursor's event in full, on wide screens.
    pub pane: Option<Rect>,
}

/// Divides the body.
pub fn of(body: Rect) -> Layout {
    let (left, pane) = split::beside(body);
    let line = |y: u16| Rect { y: left.y + y.min(left.height), height: 1.min(left.height.saturating_sub(y)), ..left };
    let (summary, heading) = (line(0), line(1));
    let list = Rect { y: heading.bottom(), height: left.height.saturating_sub(2), ..left };
    Layout { summary, heading, list, pane }
}

/// Rows of the list in a body of this size.
pub fn list_height(body: Size) -> u64 {
    u64::from(of(Rect::new(0, 0, body.width, body.height)).list.height)
}
