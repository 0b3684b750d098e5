//! Numbers for processes and threads, which foreign formats may call by anything.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::trace::MADE_UP;

/// What an input calls a process or a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// Nothing was said.
    None,
    /// A number.
    Number(i128),
    /// Something else, at most [`Key::TEXT_MAX`] bytes of it.
    Text(Box<str>),
}

impl Key {
    /// Longest text that is kept, bytes.
    pub const TEXT_MAX: usize = 256;

    /// From a text; a number in it counts as the number.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = digits == "0" || !digits.starts_with('0');
        if plain
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(number) = text.parse()
        {
            return Self::Number(number);
        }
        let end = (0..=text.len().min(Self::TEXT_MAX)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        Self::Text(text.get(..end).unwrap_or_default().into())
    }

    /// In words, if the number that it is given does not say it all.
    fn label(&self, number: u32) -> String {
        match self {
            Self::Number(own) if *own == i128::from(number) => String::new(),
            Self::None => "no number".to_owned(),
            Self::Number(own) => own.to_string(),
            Self::Text(text) => text.to_string(),
        }
    }
}

/// Gives numbers: their own where they have one that fits, others made up.
#[derive(Debug, Default)]
pub struct Numbers {
    used: FxHashSet<u32>,
    next: u32,
}

impl Numbers {
    /// A number for `key`, and what to call it besides. Each key is to be asked for once.
    pub fn give(&mut self, key: &Key) -> (u32, String) {
        let own = match key {
            Key::Number(number) => u32::try_from(*number).ok().filter(|number| *number < MADE_UP),
            Key::None | Key::Text(_) => None,
        };
        let number = own.filter(|&number| self.used.insert(number)).unwrap_or_else(|| self.another());
        (number, key.label(number))
    }

    /// A made up number.
    pub fn another(&mut self) -> u32 {
        let number = MADE_UP.saturating_add(self.next);
        self.next = self.next.saturating_add(1);
        number
    }
}

/// Handles by key, a bounded number of them.
#[derive(Debug)]
pub struct Handles<K> {
    known: FxHashMap<K, u32>,
    most: u32,
}

impl<K: std::hash::Hash + Eq> Handles<K> {
    /// At most so many.
    pub fn new(most: u32) -> Self {
        Self { known: FxHashMap::default(), most }
    }

    /// The handle of a key, and whether it is new; `None` for a new one beyond the bound.
    pub fn of(&mut self, key: K) -> Option<(u32, bool)> {
        let next = self.known.len() as u32;
        match self.known.entry(key) {
            std::collections::hash_map::Entry::Occupied(known) => Some((*known.get(), false)),
            std::collections::hash_map::Entry::Vacant(free) if next < self.most => {
                free.insert(next);
                Some((next, true))
            }
            std::collections::hash_map::Entry::Vacant(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_where_they_fit() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.give(&Key::text("12")), (12, String::new()));
        assert_eq!(numbers.give(&Key::Number(-1)), (MADE_UP, "-1".to_owned()));
        assert_eq!(numbers.give(&Key::text("Spans")), (MADE_UP + 1, "Spans".to_owned()));
        assert_eq!(numbers.give(&Key::text("007")), (MADE_UP + 2, "007".to_owned()));
        assert_eq!(numbers.give(&Key::Number(1 << 40)).1, (1u64 << 40).to_string());
        assert_eq!(numbers.give(&Key::None).1, "no number");
        let long = Key::text(&"\u{e4}".repeat(300));
        assert!(matches!(long, Key::Text(text) if text.len() == Key::TEXT_MAX));
    }

    #[test]
    fn handles_are_bounded() {
        let mut handles = Handles::new(2);
        assert_eq!(handles.of("a"), Some((0, true)));
        assert_eq!(handles.of("b"), Some((1, true)));
        assert_eq!(handles.of("a"), Some((0, false)));
        assert_eq!(handles.of("c"), None);
    }
}
