//! What is wrong with a filter, and where.

use std::fmt;
use std::ops::Range;

/// Characters of a line that are shown of it.
const SHOWN: usize = 100;

/// A filter cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// The file; empty for an expression.
    pub origin: String,
    /// From 1; zero if it is not about a place.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong, what was expected, and the nearest known name.
    pub message: String,
    excerpt: String,
}

impl FilterError {
    /// About a piece of the text, in bytes.
    #[must_use]
    pub fn at(origin: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let start = floor(text, span.start);
        let before = &text[..start];
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let column = before[begin..].chars().count();
        let marked = text[start..floor(text, span.end).clamp(start, end)].chars().count().max(1);
        Self {
            origin: origin.to_owned(),
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: column + 1,
            message: message.into(),
            excerpt: excerpt(&text[begin..end], column, marked),
        }
    }

    /// About the whole of it.
    #[must_use]
    pub fn whole(origin: &str, message: impl Into<String>) -> Self {
        Self { origin: origin.to_owned(), line: 0, column: 0, message: message.into(), excerpt: String::new() }
    }

    /// What is wrong and where, without saying that it is about a filter: for a line on which one is typed.
    #[must_use]
    pub fn message_with_place(&self) -> String {
        match self.column {
            0 => self.message.clone(),
            column => format!("column {column}: {}", self.message),
        }
    }

    /// The line, and marks below the place, each ended by a line end; empty if it is not about a place.
    #[must_use]
    pub fn excerpt(&self) -> &str {
        &self.excerpt
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = safe(&self.origin);
        match (origin.is_empty(), self.line) {
            (true, 0) => write!(f, "filter: {}", self.message),
            (true, 1) => write!(f, "filter, column {}: {}", self.column, self.message),
            (true, line) => write!(f, "filter, line {line}, column {}: {}", self.column, self.message),
            (false, 0) => write!(f, "{origin}: {}", self.message),
            (false, line) => write!(f, "{origin}:{line}:{}: {}", self.column, self.message),
        }
    }
}

impl std::error::Error for FilterError {}

/// The nearest place at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn excerpt(line: &str, column: usize, marked: usize) -> String {
    // Of a long line the part around the place.
    let skipped = column.saturating_sub(SHOWN / 2);
    let shown: Vec<char> = line.chars().skip(skipped).take(SHOWN).collect();
    let (mut text, mut marks) = (String::new(), String::new());
    for (at, char) in shown.iter().enumerate() {
        let at = at + skipped;
        let piece = safe(char.encode_utf8(&mut [0; 4]));
        let mark = if (column..column + marked).contains(&at) { '^' } else { ' ' };
        // Wide characters shift what is below by as much.
        let width = unicode_width::UnicodeWidthStr::width(piece.as_str());
        marks.extend(std::iter::repeat_n(mark, width));
        text.push_str(&piece);
    }
    if column >= skipped + shown.len() {
        marks.push('^');
    }
    format!("    {}\n    {}\n", text.trim_end(), marks.trim_end())
}

/// Text from a file as it may be shown on a terminal.
pub(super) fn safe(text: &str) -> String {
    let invisible = |char: char| matches!(char, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let mut safe = String::new();
    for char in text.chars() {
        match char {
            '\t' => safe.push(' '),
            char if char.is_control() || invisible(char) => safe.extend(char.escape_unicode()),
            char => safe.push(char),
        }
    }
    safe
}

/// A piece of the text as messages quote it: safe, and no longer than a line.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", safe(&shortened(text)))
}

/// As much of a text as a message has room for.
#[must_use]
pub fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_told_in_lines_and_characters() {
        let error = FilterError::at("f.xml", "one\ntw\u{e9} \x1b[1m x", 9..12, "no");
        assert_eq!(error.to_string(), "f.xml:2:5: no");
        assert_eq!(error.excerpt(), "    tw\u{e9} \\u{1b}[1m x\n        ^^^^^^^^\n".to_owned());
        assert_eq!(FilterError::at("", "abc", 3..3, "more").to_string(), "filter, column 4: more");
        assert_eq!(FilterError::at("", "abc", 9..9, "more").excerpt(), "    abc\n       ^\n");
        assert_eq!(FilterError::whole("x.toml", "too large").to_string(), "x.toml: too large");
    }

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let line = format!("{}!{}", "x".repeat(500), "y".repeat(500));
        let error = FilterError::at("", &line, 500..501, "no");
        let (text, marks) = error.excerpt().split_once('\n').unwrap();
        assert_eq!(text.find('!'), marks.find('^'));
        assert!(text.len() < 120);
    }
}
