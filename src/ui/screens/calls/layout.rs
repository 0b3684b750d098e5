//! Where the parts of the calls screen stand: heading, list, and details below or beside.

use ratatui::layout::{Rect, Size};

use crate::ui::widgets::split;

/// The parts of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Line of the column titles.
    pub heading: Rect,
    /// The rows.
    pub list: Rect,
    /// Two lines about the cursor's row.
    pub below: Option<Rect>,
    /// More about it, on wide screens.
    pub pane: Option<Rect>,
}

/// Bodies lower than this have no lines below the list.
const LOWEST_WITH_DETAILS: u16 = 14;

/// Divides the body.
pub fn of(body: Rect) -> Layout {
    let (left, pane) = split::beside(body);
    let heading = Rect { height: 1.min(left.height), ..left };
    let details = if pane.is_none() && body.height >= LOWEST_WITH_DETAILS { 3 } else { 0 };
    let list = Rect { y: heading.bottom(), height: left.height.saturating_sub(heading.height + details), ..left };
    let below = (details > 0).then(|| Rect { y: list.bottom() + 1, height: details - 1, ..left });
    Layout { heading, list, below, pane }
}

/// Rows of the list in a body of this size.
pub fn list_height(body: Size) -> u64 {
    u64::from(of(Rect::new(0, 0, body.width, body.height)).list.height)
}
