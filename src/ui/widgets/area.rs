//! Values side by side as bars of several rows.

use ratatui::layout::Rect;

use super::paint::Paint;
use crate::ui::theme::Role;

/// Draws each value as a bar as high as its share of the largest. What is not zero is always to be seen.
pub fn draw(paint: &mut Paint<'_>, area: Rect, values: &[u64], role: Role) {
    let spark = paint.theme.glyphs.spark;
    let steps = spark.len() as u64;
    let largest = values.iter().copied().max().unwrap_or(0);
    for (x, &value) in (area.x..area.right()).zip(values) {
        let all = u128::from(steps) * u128::from(area.height);
        let full = (u128::from(value) * all).div_ceil(u128::from(largest.max(1)));
        let mut full = u64::try_from(full).unwrap_or(0);
        for y in (area.y..area.bottom()).rev() {
            let here = full.min(steps);
            full -= here;
            if let Some(glyph) = here.checked_sub(1).and_then(|step| spark.get(usize::try_from(step).ok()?)) {
                paint.text(x, y, 1, glyph, role);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::theme::{Charset, Depth, Glyphs, Palette, Theme};
    use ratatui::buffer::Buffer;

    fn drawn(values: &[u64], rows: u16, charset: Charset) -> Vec<String> {
        let area = Rect::new(0, 0, values.len() as u16, rows);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::new(&Palette::default(), Depth::None, Glyphs::of(charset));
        draw(&mut Paint::new(&mut buffer, &theme), area, values, Role::Plain);
        (0..rows).map(|y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect()).collect()
    }

    #[test]
    fn bars_are_as_high_as_their_share() {
        assert_eq!(drawn(&[0, 1, 8, 12, 16], 2, Charset::Unicode), ["   ▄█", " ▁███"]);
        assert_eq!(drawn(&[0, 1, u64::MAX], 1, Charset::Ascii), [" .@"]);
        assert_eq!(drawn(&[0, 0], 1, Charset::Unicode), ["  "]);
        assert_eq!(drawn(&[3], 0, Charset::Unicode), Vec::<String>::new());
    }
}
