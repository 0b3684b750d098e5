//! Where the parts of the memory screen stand: tabs, plot, heading, list, and the cursor's row below or beside.

use ratatui::layout::{Rect, Size};

use crate::ui::widgets::split;

/// The parts of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Line of the tabs.
    pub tabs: Rect,
    /// Line that says what was in use when.
    pub told: Rect,
    /// The plot of bytes in use; without rows on low screens.
    pub plot: Rect,
    /// Line of its time.
    pub axis: Rect,
    /// Line of what the driver said, where it said anything and there is room.
    pub driver: Rect,
    /// Lines about devices, on high screens.
    pub devices: Rect,
    /// Line of the column titles.
    pub heading: Rect,
    /// The rows.
    pub list: Rect,
    /// Two lines about the cursor's row.
    pub below: Option<Rect>,
    /// More about it, on wide screens.
    pub pane: Option<Rect>,
}

/// Lines about devices where there is room for them.
const DEVICES: u16 = 2;
/// Bodies lower than this have no lines below the list.
const LOWEST_WITH_DETAILS: u16 = 18;

/// Divides the body; `has_told`: the driver said something of devices' memory.
pub fn of(body: Rect, has_told: bool) -> Layout {
    let (left, pane) = split::beside(body);
    let mut y = left.y;
    let mut next = |height: u16| {
        let part = Rect { y, height: height.min(left.bottom().saturating_sub(y)), ..left };
        y += part.height;
        part
    };
    let (tabs, told) = (next(1), next(1));
    let rows = match body.height {
        0..=8 => 0,
        9..=13 => 1,
        14..=29 => 3,
        _ => 6,
    };
    let (plot, axis) = (next(rows), next(u16::from(rows > 1)));
    let driver = next(u16::from(rows > 1 && has_told));
    let (devices, heading) = (next(if rows > 3 { DEVICES } else { 0 }), next(1));
    let details = if pane.is_none() && body.height >= LOWEST_WITH_DETAILS { 3 } else { 0 };
    let list = Rect { y, height: left.bottom().saturating_sub(y + details), ..left };
    let below = (details > 0).then(|| Rect { y: list.bottom() + 1, height: details - 1, ..left });
    Layout { tabs, told, plot, axis, driver, devices, heading, list, below, pane }
}

/// Divides a body of this size.
pub fn of_size(body: Size, has_told: bool) -> Layout {
    of(Rect::new(0, 0, body.width, body.height), has_told)
}
