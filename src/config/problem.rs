//! What is wrong with a config file, and where.

use std::fmt;

/// A place in the file, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// The place of a byte offset.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = text.get(..end).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        Self { line, column: before.get(line_start..).unwrap_or_default().chars().count() + 1 }
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What stands there is not used; the default is.
    Error,
    /// It is used, and perhaps not what was meant.
    Note,
}

/// Something to tell the user about the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where; none if it is about the whole file.
    pub place: Option<Place>,
    /// How bad it is.
    pub level: Level,
    /// What is wrong, what was expected, what to do; in one line.
    pub text: String,
}

impl Problem {
    /// Something that is not used.
    #[must_use]
    pub fn error(place: impl Into<Option<Place>>, text: impl Into<String>) -> Self {
        Self { place: place.into(), level: Level::Error, text: printable(text.into()) }
    }

    /// Something that is used, and perhaps not what was meant.
    #[must_use]
    pub fn note(place: impl Into<Option<Place>>, text: impl Into<String>) -> Self {
        Self { place: place.into(), level: Level::Note, text: printable(text.into()) }
    }

    /// `file:line:column: what`.
    #[must_use]
    pub fn told(&self, file: &str) -> String {
        let note = if self.level == Level::Note { "note: " } else { "" };
        match self.place {
            Some(Place { line, column }) => format!("{file}:{line}:{column}: {note}{}", self.text),
            None => format!("{file}: {note}{}", self.text),
        }
    }
}

/// What a file says may be anything; a terminal is to be told nothing by it.
fn printable(text: String) -> String {
    /// Characters of the longest message; a key may be as long as the file.
    const LONGEST: usize = 400;
    // Controls, and what turns the direction of writing or is not seen.
    let escaped = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let cut = text.char_indices().nth(LONGEST).map(|(at, _)| at);
    if cut.is_none() && !text.contains(escaped) {
        return text;
    }
    let shown = text.get(..cut.unwrap_or(text.len())).unwrap_or_default();
    let mut out: String =
        shown.chars().flat_map(|c| if escaped(c) { c.escape_default().collect() } else { vec![c] }).collect();
    if cut.is_some() {
        out.push_str("...");
    }
    out
}

/// A piece of the file's text and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Spelled {
    pub text: String,
    pub place: Place,
}

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let text = "a = 1\nü = \"x\"\n";
        let at = |offset| {
            let place = Place::of(text, offset);
            (place.line, place.column)
        };
        assert_eq!((at(0), at(5), at(6)), ((1, 1), (1, 6), (2, 1)));
        // Within the ü, after it, and behind the end.
        assert_eq!((at(7), at(8), at(99)), ((2, 1), (2, 2), (3, 1)));
        assert_eq!(Problem::error(Place::of(text, 8), "what").told("f.toml"), "f.toml:2:2: what");
        assert_eq!(Problem::note(None, "what").told("f.toml"), "f.toml: note: what");
    }
}
