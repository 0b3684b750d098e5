//! Where the parts of the heatmap stand.

use ratatui::layout::{Rect, Size};

/// The parts of the body. Where there is little room some have no height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// What is shown, and how.
    pub summary: Rect,
    /// Names of the rows, to the left of the cells.
    pub labels: Rect,
    /// The cells.
    pub cells: Rect,
    /// What moved in each column.
    pub moves: Rect,
    /// When kernels ran.
    pub kernels: Rect,
    /// The times.
    pub axis: Rect,
    /// What shades and letters mean.
    pub legend: Rect,
    /// The cursor's cell.
    pub point: Rect,
}

/// Divides the body.
pub fn of(body: Rect) -> Layout {
    let label = if body.width >= 60 { 11 } else { 9 };
    // Summary, moves, kernels and axis are always there, then the cursor's cell, then the legend.
    let point = if body.height >= 16 { 2 } else { u16::from(body.height >= 8) };
    let legend = match (body.height, body.width) {
        (..14, _) => 0,
        (_, ..120) => 2,
        _ => 1,
    };
    let below = 3 + point + legend;
    let cells = body.height.saturating_sub(1 + below);
    let mut y = body.y;
    let mut next = |height: u16| {
        let rect = Rect { y, height: height.min(body.bottom().saturating_sub(y)), ..body };
        y = rect.bottom();
        rect
    };
    let (summary, all) = (next(1), next(cells));
    let labels = Rect { width: label.min(body.width), ..all };
    let right = |area: Rect| Rect { x: labels.right(), width: body.width.saturating_sub(labels.width), ..area };
    let cells = right(all);
    Layout {
        summary,
        labels,
        cells,
        moves: next(1),
        kernels: next(1),
        axis: next(1),
        legend: next(legend),
        point: next(point),
    }
}

/// Lines and columns of cells in a body of this size.
pub fn room(body: Size) -> Size {
    of(Rect::new(0, 0, body.width, body.height)).cells.as_size()
}
