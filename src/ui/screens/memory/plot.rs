//! Draws bytes in use over time: an area of bars, the time below it, and what was in use when in a line above it.

use ratatui::layout::Rect;

use super::state::State;
use super::tab::Tab;
use crate::session::view::{LivePlot, Phase};
use crate::ui::marks::SIGN;
use crate::ui::text::format;
use crate::ui::theme::Role;
use crate::ui::widgets::area;
use crate::ui::widgets::paint::Paint;

/// Lines of so many cells have room for all words about what the driver said.
const WIDE: u16 = 100;

/// Draws what was in use then and at the peak, in words.
pub fn told(state: &State, paint: &mut Paint<'_>, line: Rect, phase: Phase) {
    let Some(plot) = state.plot().filter(|plot| !plot.most.is_empty()) else { return };
    let then = match state.moment {
        None if phase == Phase::Ended => "at the end".to_owned(),
        None => "now".to_owned(),
        Some(_) => format!("at {} s", seconds(plot, plot.moment_ns)),
    };
    let only = if state.in_use && state.tab == Tab::Allocations { ", listed below" } else { "" };
    let in_use = format!("{then}  {} in use{only}", format::bytes(plot.moment_bytes));
    let peak = format!("   ^ peak {} at {} s", format::bytes(plot.peak_bytes), seconds(plot, plot.peak_ns));
    let held = if plot.peak_held.is_empty() { String::new() } else { format!(": {}", plot.peak_held) };
    let pieces = [(in_use.as_str(), Role::Strong), (peak.as_str(), Role::Plain), (held.as_str(), Role::Dim)];
    paint.pieces(line.x, line.y, line.width, &pieces);
}

/// Draws the bars, with the moment that is looked at.
pub fn draw(state: &State, paint: &mut Paint<'_>, at: Rect) {
    let Some(plot) = state.plot().filter(|plot| !plot.most.is_empty()) else { return };
    area::draw(paint, at, &plot.most, Role::Accent);
    if state.moment.is_some()
        && let Some(x) = cell_of(plot, plot.moment_ns)
    {
        paint.lay_over(Rect { x: at.x + x.min(at.width.saturating_sub(1)), width: 1, ..at }, Role::Cursor);
    }
    if state.tab == Tab::Growth
        && let Some(x) = state.since.and_then(|since| cell_of(plot, since))
    {
        paint.lay_over(Rect { x: at.x + x.min(at.width.saturating_sub(1)), width: 1, ..at }, Role::Found);
    }
}

/// Draws the time below the bars, with a sign below the peak.
pub fn axis(state: &State, paint: &mut Paint<'_>, line: Rect) {
    let Some(plot) = state.plot().filter(|plot| !plot.most.is_empty() && line.height > 0) else { return };
    paint.text(line.x, line.y, line.width, "0 s", Role::Dim);
    paint.right(line.x, line.y, line.width, &format!("{} s", seconds(plot, plot.length_ns)), Role::Dim);
    if let Some(x) = cell_of(plot, plot.peak_ns).filter(|&x| x < line.width) {
        paint.text(line.x + x, line.y, 1, "^", Role::Strong);
    }
    let cells = u16::try_from(plot.most.len()).unwrap_or(u16::MAX).min(line.width);
    for cell in paint.marks.cells(0, plot.length_ns, cells) {
        paint.text(line.x + cell, line.y, 1, SIGN, Role::Strong);
    }
}

/// Draws what the driver said of a device's memory: a bar where it was asked, by its own scale, and in words the last answer.
pub fn driver(state: &State, paint: &mut Paint<'_>, line: Rect) {
    let Some((plot, told)) = state.plot().and_then(|plot| Some((plot, plot.told.as_ref()?))) else { return };
    if line.height == 0 {
        return;
    }
    let bars: Vec<u64> = told.most.iter().map(|most| most.map_or(0, |most| most.max(1))).collect();
    area::draw(paint, line, &bars, Role::Dim);
    let others = match told.others {
        0 => String::new(),
        1 => ", one more GPU".to_owned(),
        more => format!(", {more} more GPUs"),
    };
    let at = seconds(plot, told.at_ns);
    let more = if line.width < WIDE { String::new() } else { format!(" at {at} s, by {}{others}", told.by) };
    let (used, total) = (format::bytes(told.used), format::bytes(told.total));
    let words = format!(" {} used {} of {}{more} ", told.device, used.trim_start(), total.trim_start());
    // Where fewer bars are hidden by it.
    let width = u16::try_from(words.len()).unwrap_or(u16::MAX).min(line.width);
    let behind = |from: u16| {
        let cells = bars.iter().skip(usize::from(from)).take(usize::from(width));
        cells.filter(|&&bar| bar > 0).count()
    };
    let right = line.width - width;
    let x = if behind(right) <= behind(0) { right } else { 0 };
    paint.text(line.x + x, line.y, width, &words, Role::Dim);
}

/// The cell of a moment.
pub fn cell_of(plot: &LivePlot, ns: u64) -> Option<u16> {
    let cells = plot.most.len() as u128;
    let at = (u128::from(ns) * cells).checked_div(u128::from(plot.length_ns))?;
    u16::try_from(at.min(cells.saturating_sub(1))).ok()
}

/// When a cell begins, ns since the trace began.
pub fn begin_of(plot: &LivePlot, cell: u16) -> u64 {
    let ns = u128::from(plot.length_ns) * u128::from(cell);
    // Rounded up, or it would be in the cell before.
    let ns = ns.div_ceil((plot.most.len() as u128).max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// A moment in words.
pub fn when(plot: &LivePlot, ns: u64) -> String {
    format!("{} s", seconds(plot, ns))
}

/// A time, with as many decimals as the trace's length makes telling.
fn seconds(plot: &LivePlot, ns: u64) -> String {
    let decimals = match plot.length_ns {
        0..=99_999_999 => 6,
        100_000_000..=99_999_999_999 => 3,
        _ => 1,
    };
    format::seconds(ns, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cell_holds_the_moment_at_which_it_begins(cells in 1usize..300, length_ns in 1000u64..1 << 50, cell in 0u16..300) {
            let plot = LivePlot { most: vec![1; cells], length_ns, ..LivePlot::default() };
            let cell = cell % cells as u16;
            prop_assert_eq!(cell_of(&plot, begin_of(&plot, cell)), Some(cell));
        }
    }
}
