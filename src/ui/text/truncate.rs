//! Text cut to a number of terminal cells.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Cells that the text takes, each character by itself.
pub fn width(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

/// Bytes that a text of so many cells has at most; what has more is cut, whatever it is. Combining characters take no
/// cell, so that a name could otherwise send a terminal as much as it likes.
fn most_bytes(cells: usize) -> usize {
    cells.saturating_mul(16).saturating_add(64)
}

/// Whether the text fits so many cells. Of a long text only a beginning is looked at.
pub fn fits(text: &str, cells: usize) -> bool {
    text.len() <= most_bytes(cells) && width(text) <= cells
}

/// The longest beginning that fits so many cells.
fn head(text: &str, cells: usize) -> &str {
    let (mut used, most) = (0, most_bytes(cells));
    for (at, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > cells || at + character.len_utf8() > most {
            return &text[..at];
        }
    }
    text
}

/// The longest ending that fits so many cells.
pub fn tail(text: &str, cells: usize) -> &str {
    let (mut used, least) = (0, text.len().saturating_sub(most_bytes(cells)));
    for (at, character) in text.char_indices().rev() {
        used += character.width().unwrap_or(0);
        if used > cells || at < least {
            return &text[at + character.len_utf8()..];
        }
    }
    text
}

/// The text, or its beginning with the ellipsis after it.
pub fn end<'a>(text: &'a str, cells: usize, ellipsis: &str) -> Cow<'a, str> {
    if fits(text, cells) {
        return Cow::Borrowed(text);
    }
    let mark = width(ellipsis);
    if mark >= cells {
        return Cow::Borrowed(head(text, cells));
    }
    Cow::Owned(format!("{}{ellipsis}", head(text, cells - mark)))
}

/// The text, or its two ends with the ellipsis between them: a demangled name tells most at both ends.
pub fn middle<'a>(text: &'a str, cells: usize, ellipsis: &str) -> Cow<'a, str> {
    if fits(text, cells) {
        return Cow::Borrowed(text);
    }
    let mark = width(ellipsis);
    if mark + 2 > cells {
        return Cow::Borrowed(head(text, cells));
    }
    let left = (cells - mark).div_ceil(2);
    Cow::Owned(format!("{}{ellipsis}{}", head(text, left), tail(text, cells - mark - left)))
}

/// The text in lines of at most so many cells, broken at spaces where there is one.
pub fn wrap(text: &str, cells: usize) -> Vec<&str> {
    let cells = cells.max(1);
    let mut lines = Vec::new();
    let mut rest = text;
    while !fits(rest, cells) {
        // A character wider than the line still has to go somewhere.
        let fits = match head(rest, cells) {
            "" => &rest[..rest.chars().next().map_or(rest.len(), char::len_utf8)],
            fits => fits,
        };
        let cut = match fits.rfind(' ') {
            Some(space) if space > 0 && !rest[fits.len()..].starts_with(' ') => space,
            _ => fits.len(),
        };
        lines.push(rest[..cut].trim_end());
        rest = rest[cut..].trim_start();
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_by_cells_not_by_characters() {
        assert_eq!(end("cudaMalloc", 10, "…"), "cudaMalloc");
        assert_eq!(end("cudaMalloc", 9, "…"), "cudaMall…");
        assert_eq!(end("cudaMalloc", 9, "..."), "cudaMa...");
        assert_eq!(end("日本語", 5, "…"), "日本…");
        assert_eq!(end("日本語", 4, "…"), "日…");
        assert_eq!(end("abc", 1, "..."), "a");
        assert_eq!(end("abc", 0, "…"), "");
    }

    #[test]
    fn what_takes_no_cell_is_bounded_and_length_costs_nothing() {
        let accents = format!("z{}", "\u{301}".repeat(1 << 20));
        for cells in [1, 2, 10, 80] {
            for cut in [end(&accents, cells, "…"), middle(&accents, cells, "…")] {
                assert!(width(&cut) <= cells && cut.len() <= 2 * most_bytes(cells), "{cells}: {}", cut.len());
            }
        }
        assert!(fits("日本", 4) && !fits("日本", 3) && !fits(&accents, 80));
        let long = "word ".repeat(1 << 16);
        assert_eq!(wrap(&long, 40).len(), 1 << 13);
    }

    #[test]
    fn the_middle_goes_first() {
        assert_eq!(middle("void at::native::vectorized_kernel<4>(int)", 20, "…"), "void at::n…l<4>(int)");
        assert_eq!(middle("abcdefgh", 5, "…"), "ab…gh");
        assert_eq!(middle("abcdefgh", 5, "..."), "a...h");
        assert_eq!(middle("abcdefgh", 3, "..."), "abc");
        for cells in 0..12 {
            assert!(width(&middle("日本語日本語", cells, "…")) <= cells);
        }
    }

    #[test]
    fn wraps_at_spaces() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("onetwothree", 4), ["onet", "woth", "ree"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("日本", 1), ["日", "本"]);
    }
}
