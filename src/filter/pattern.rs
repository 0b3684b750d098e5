//! Patterns, made ready to be matched many times.

use regex::{Regex, RegexBuilder};

use super::Pattern;

/// Longest pattern, bytes; mangled kernel names are long.
pub const MAX_BYTES: usize = 4096;
/// Bytes that a compiled regular expression may take, and that each thread's cache of it may.
const MAX_COMPILED: usize = 1 << 20;
/// How deeply a regular expression may be nested.
const MAX_NESTING: u32 = 64;

/// A pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Nothing is asked for.
    #[error("a pattern cannot be empty; * fits everything")]
    Empty,
    /// It would take too long to match.
    #[error("a pattern of {0} bytes is too long; {MAX_BYTES} are allowed")]
    TooLong(usize),
    /// No name holds one.
    #[error("a pattern cannot hold a NUL character")]
    Nul,
    /// It is no regular expression.
    #[error("{0}")]
    Regex(String),
}

/// A pattern, ready to match.
#[derive(Clone, Debug)]
pub struct Matcher(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// Any text at all.
    Anything,
    /// Pieces between the stars, in lower case, without the empty ones between neighbouring stars.
    Glob {
        /// Where the text has to begin; empty after a star.
        first: Box<[u8]>,
        /// What has to follow in this order.
        middle: Box<[Box<[u8]>]>,
        /// Where it has to end; `None` if there is no star.
        last: Option<Box<[u8]>>,
    },
    Regex(Regex),
}

impl Matcher {
    /// Makes a pattern ready.
    ///
    /// # Errors
    /// If it is empty, too long, or no regular expression.
    pub fn new(pattern: &Pattern) -> Result<Self, PatternError> {
        let (Pattern::Glob(text) | Pattern::Regex(text)) = pattern;
        match text.len() {
            0 => return Err(PatternError::Empty),
            bytes if bytes > MAX_BYTES => return Err(PatternError::TooLong(bytes)),
            _ if text.contains('\0') => return Err(PatternError::Nul),
            _ => {}
        }
        match pattern {
            Pattern::Glob(text) => Ok(Self(glob(text))),
            Pattern::Regex(text) => {
                let mut builder = RegexBuilder::new(text);
                builder.size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).nest_limit(MAX_NESTING);
                builder.build().map(|regex| Self(Kind::Regex(regex))).map_err(|error| PatternError::Regex(why(&error)))
            }
        }
    }

    /// Whether a text fits.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match &self.0 {
            Kind::Anything => true,
            Kind::Regex(regex) => regex.is_match(text),
            Kind::Glob { first, middle, last } => fits(first, middle, last.as_deref(), text.as_bytes()),
        }
    }

    /// The one text that fits, but for case; `None` if several do. What is looked up by number or in a table of names
    /// need not be searched for.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match &self.0 {
            Kind::Glob { first, last: None, .. } if !first.contains(&b'?') => std::str::from_utf8(first).ok(),
            _ => None,
        }
    }
}

fn glob(text: &str) -> Kind {
    let lower = text.to_ascii_lowercase();
    let Some((first, rest)) = lower.split_once('*') else {
        return Kind::Glob { first: lower.into_bytes().into(), middle: Box::default(), last: None };
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let middle: Box<[Box<[u8]>]> =
        middle.split('*').filter(|piece| !piece.is_empty()).map(|piece| piece.as_bytes().into()).collect();
    if first.is_empty() && middle.is_empty() && last.is_empty() {
        return Kind::Anything;
    }
    Kind::Glob { first: first.as_bytes().into(), middle, last: Some(last.as_bytes().into()) }
}

/// Whether the text is made of the pieces. Each piece is taken where it first fits, which leaves most to the others.
fn fits(first: &[u8], middle: &[Box<[u8]>], last: Option<&[u8]>, text: &[u8]) -> bool {
    let Some(mut rest) = after(first, text) else { return false };
    let Some(last) = last else { return rest.is_empty() };
    for piece in middle {
        match find(piece, rest) {
            Some(found) => rest = found,
            None => return false,
        }
    }
    // Characters, not bytes, are counted from the end: `?` may stand for several bytes.
    let wanted = last.iter().filter(|byte| is_start(**byte)).count();
    if wanted == 0 {
        return true;
    }
    let mut starts = (0..rest.len()).rev().filter(|&at| rest.get(at).is_some_and(|byte| is_start(*byte)));
    let Some(tail) = starts.nth(wanted - 1).and_then(|at| rest.get(at..)) else { return false };
    after(last, tail).is_some_and(<[u8]>::is_empty)
}

/// What follows the first place where the piece fits.
fn find<'a>(piece: &[u8], text: &'a [u8]) -> Option<&'a [u8]> {
    let begins = piece.first().copied().unwrap_or(b'?');
    for (at, byte) in text.iter().enumerate() {
        let may = if begins == b'?' { is_start(*byte) } else { byte.to_ascii_lowercase() == begins };
        if may && let Some(rest) = text.get(at..).and_then(|text| after(piece, text)) {
            return Some(rest);
        }
    }
    None
}

/// What follows the piece, if the text begins with it.
fn after<'a>(piece: &[u8], text: &'a [u8]) -> Option<&'a [u8]> {
    let mut rest = text;
    for wanted in piece {
        let (byte, mut left) = rest.split_first()?;
        if *wanted == b'?' {
            while let Some((_, more)) = left.split_first().filter(|(byte, _)| !is_start(**byte)) {
                left = more;
            }
        } else if byte.to_ascii_lowercase() != *wanted {
            return None;
        }
        rest = left;
    }
    Some(rest)
}

/// Whether a byte of UTF-8 begins a character.
const fn is_start(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// Why it is no regular expression, in one line: the library draws a picture.
fn why(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "the regular expression is too large".to_owned(),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            format!("no regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn glob(pattern: &str, text: &str) -> bool {
        Matcher::new(&Pattern::Glob(pattern.to_owned())).unwrap().matches(text)
    }

    /// As the sentence in the model says it, with no thought of speed.
    fn twin(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|at| twin(rest, &text[at..])),
            Some((wanted, rest)) => text
                .split_first()
                .is_some_and(|(char, text)| (*wanted == '?' || wanted.eq_ignore_ascii_case(char)) && twin(rest, text)),
        }
    }

    #[test]
    fn globs_fit_whole_texts_without_regard_to_case() {
        assert!(glob("cudaMalloc", "cudamalloc"));
        assert!(!glob("cudaMalloc", "cudaMallocManaged"));
        assert!(glob("cudaMem*", "cudaMemcpyAsync"));
        assert!(glob("*Async", "cudaMemcpyAsync"));
        assert!(glob("*mem*a?ync", "cudaMemcpyAsync"));
        assert!(!glob("cu*cu", "cu"));
        assert!(glob("*", ""));
        assert!(glob("**", "x"));
        assert!(glob("?", "\u{e9}"));
        assert!(!glob("?", ""));
        assert!(glob("*?", "\u{1F980}"));
    }

    #[test]
    fn what_cannot_be_used_is_said_in_one_line() {
        let new = |pattern| Matcher::new(&pattern).unwrap_err();
        assert_eq!(new(Pattern::Glob(String::new())), PatternError::Empty);
        assert_eq!(new(Pattern::Regex("a\0".to_owned())), PatternError::Nul);
        assert_eq!(new(Pattern::Glob("x".repeat(5000))), PatternError::TooLong(5000));
        for wrong in ["(", "a{1000}{1000}{1000}", &"(".repeat(2000), "[z-a]"] {
            let text = new(Pattern::Regex(wrong.to_owned())).to_string();
            assert!(!text.contains('\n') && text.contains("regular expression"), "{text}");
        }
    }

    #[test]
    fn a_pattern_that_fits_one_text_says_which() {
        let literal = |text: &str| {
            let matcher = Matcher::new(&Pattern::Glob(text.to_owned())).unwrap();
            matcher.literal().map(str::to_owned)
        };
        assert_eq!(literal("42").as_deref(), Some("42"));
        assert_eq!(literal("Main").as_deref(), Some("main"));
        assert_eq!(literal("4?"), None);
        assert_eq!(literal("4*"), None);
    }

    proptest! {
        #[test]
        fn globs_are_as_their_twin(pattern in "[aAb?*\u{e9}]{1,9}", text in "[aAb\u{e9}\u{1F980}]{0,12}") {
            let (wanted, given): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            prop_assert_eq!(glob(&pattern, &text), twin(&wanted, &given), "{} {}", pattern, text);
        }

        #[test]
        fn any_pattern_is_taken_or_refused(text in any::<String>()) {
            for pattern in [Pattern::Glob(text.clone()), Pattern::Regex(text.clone())] {
                if let Ok(matcher) = Matcher::new(&pattern) {
                    let _ = matcher.matches(&text);
                }
            }
        }
    }
}
