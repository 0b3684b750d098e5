//! A history as one line of bars.

use crate::ui::theme::Glyphs;

/// The history squeezed into so many cells: each shows the largest value that falls into it. Zero is a space.
pub fn line(history: &[u32], cells: usize, glyphs: &Glyphs) -> String {
    let cells = cells.min(history.len());
    let peak = u64::from(history.iter().copied().max().unwrap_or(0).max(1));
    let steps = glyphs.spark.len() as u64;
    let bars = (0..cells).map(|cell| {
        let from = cell * history.len() / cells;
        let to = (cell + 1) * history.len() / cells;
        let value = u64::from(history[from..to].iter().copied().max().unwrap_or(0));
        if value == 0 {
            return " ";
        }
        let step = (value * steps).div_ceil(peak) - 1;
        glyphs.spark[usize::try_from(step).unwrap_or(0).min(glyphs.spark.len() - 1)]
    });
    bars.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::theme::Charset;

    #[test]
    fn heights_follow_the_largest() {
        let glyphs = Glyphs::of(Charset::Unicode);
        assert_eq!(line(&[0, 1, 4, 8], 4, &glyphs), " ▁▄█");
        assert_eq!(line(&[0, 8, 1, 1], 2, &glyphs), "█▁");
        assert_eq!(line(&[], 10, &glyphs), "");
        assert_eq!(line(&[0, 0], 10, &glyphs), "  ");
        assert_eq!(line(&[u32::MAX, 1], 2, &Glyphs::of(Charset::Ascii)), "@.");
    }
}
