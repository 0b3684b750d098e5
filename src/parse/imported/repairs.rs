//! What was mended in an input, skipped, or is unfinished: counted, with the places of the first.

use std::fmt;

/// Places that are told of each kind.
const FIRST: usize = 3;
/// Kinds of repair that are told apart; names of kinds are in the program, so this is never reached.
const KINDS: usize = 256;

/// Where something is in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Place {
    /// Nowhere in particular.
    #[default]
    Nowhere,
    /// Line and column, from 1; columns count bytes.
    At(u64, u64),
    /// A row of a table, from 1.
    Row(u64),
    /// A byte.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nowhere => Ok(()),
            Self::At(line, column) => write!(out, "{line}:{column}"),
            Self::Row(row) => write!(out, "row {row}"),
            Self::Byte(byte) => write!(out, "byte {byte}"),
        }
    }
}

/// How something is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// It was mended: nothing is missing (a comma too many).
    Mended(&'static str),
    /// Something is missing (the file ends in the middle of an event).
    Lost(&'static str),
}

impl Repair {
    const fn words(self) -> &'static str {
        match self {
            Self::Mended(words) | Self::Lost(words) => words,
        }
    }
}

#[derive(Debug)]
struct Kind {
    repair: Repair,
    count: u64,
    first: Vec<Place>,
}

/// All repairs of an input.
#[derive(Debug, Default)]
pub struct Repairs {
    kinds: Vec<Kind>,
}

impl Repairs {
    /// Counts one.
    pub fn add(&mut self, repair: Repair, count: u64, place: Place) {
        let at = self.kinds.iter().position(|kind| kind.repair == repair).unwrap_or_else(|| {
            if self.kinds.len() < KINDS {
                self.kinds.push(Kind { repair, count: 0, first: Vec::new() });
            }
            self.kinds.len() - 1
        });
        if let Some(kind) = self.kinds.get_mut(at) {
            kind.count = kind.count.saturating_add(count);
            if kind.first.len() < FIRST && place != Place::Nowhere {
                kind.first.push(place);
            }
        }
    }

    /// Whether the place of one more would be told.
    pub fn wants_place(&self, repair: Repair) -> bool {
        self.kinds.iter().find(|kind| kind.repair == repair).is_none_or(|kind| kind.first.len() < FIRST)
    }

    /// Lines of what is lost, and of what was mended: words, how often, where first. With the line of the first.
    pub fn lines(&self) -> (Vec<(u64, String)>, Vec<String>) {
        let (mut lost, mut mended) = (Vec::new(), Vec::new());
        for kind in &self.kinds {
            let places: Vec<String> = kind.first.iter().map(ToString::to_string).collect();
            let more = if kind.count > places.len() as u64 && !places.is_empty() { ", ..." } else { "" };
            let times = if kind.count > 1 { format!(": {}", kind.count) } else { String::new() };
            let places = if places.is_empty() { String::new() } else { format!(" (at {}{more})", places.join(", ")) };
            let line = format!("{}{times}{places}", kind.repair.words());
            match kind.repair {
                Repair::Mended(_) => mended.push(line),
                Repair::Lost(_) => {
                    let at = match kind.first.first() {
                        Some(Place::At(line, _)) => *line,
                        Some(Place::Row(at) | Place::Byte(at)) => *at,
                        _ => 0,
                    };
                    lost.push((at, line));
                }
            }
        }
        (lost, mended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_places_are_told() {
        let mut repairs = Repairs::default();
        for line in 1..=5 {
            repairs.add(Repair::Mended("a comma too many"), 1, Place::At(line, 7));
        }
        repairs.add(Repair::Lost("the file ends in the middle of an event"), 1, Place::At(9, 1));
        repairs.add(Repair::Lost("events of an unknown kind"), 4, Place::Nowhere);
        let (lost, mended) = repairs.lines();
        assert_eq!(mended, ["a comma too many: 5 (at 1:7, 2:7, 3:7, ...)"]);
        assert_eq!(lost[0], (9, "the file ends in the middle of an event (at 9:1)".to_owned()));
        assert_eq!(lost[1], (0, "events of an unknown kind: 4".to_owned()));
    }
}
