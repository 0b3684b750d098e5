//! A pattern with the number that it is, if it is one.

use crate::filter::{Matcher as Texts, Pattern, PatternError};

/// A pattern that texts and numbers are compared with.
#[derive(Clone, Debug)]
pub(super) struct Matcher {
    texts: Texts,
    number: Option<u64>,
}

impl Matcher {
    /// Makes a pattern ready.
    pub(super) fn new(pattern: &Pattern) -> Result<Self, PatternError> {
        let number = match pattern {
            Pattern::Glob(text) => number(text),
            Pattern::Regex(_) => None,
        };
        Ok(Self { texts: Texts::new(pattern)?, number })
    }

    /// The number that it is, if it is one.
    pub(super) const fn number(&self) -> Option<u64> {
        self.number
    }

    /// Whether a text fits.
    pub(super) fn fits(&self, text: &str) -> bool {
        self.texts.matches(text)
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}
