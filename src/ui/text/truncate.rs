//! Text cut to a number of terminal cells.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Cells that the text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The longest beginning that fits so many cells.
fn head(text: &str, cells: usize) -> &str {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > cells {
            return &text[..at];
        }
    }
    text
}

/// The longest ending that fits so many cells.
pub fn tail(text: &str, cells: usize) -> &str {
    let mut used = 0;
    for (at, character) in text.char_indices().rev() {
        used += character.width().unwrap_or(0);
        if used > cells {
            return &text[at + character.len_utf8()..];
        }
    }
    text
}

/// The text, or its beginning with the ellipsis after it.
pub fn end<'a>(text: &'a str, cells: usize, ellipsis: &str) -> Cow<'a, str> {
    if width(text) <= cells {
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
    if width(text) <= cells {
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
    while width(rest) > cells {
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
