//! What an input says of ranges beside their names: each text once, and not without bound.

use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Bytes of such texts that are kept.
const ALL: usize = 32 << 20;
/// Longest text, bytes.
const LONGEST: usize = 4096;
/// What stands at the end of one that is cut.
const CUT: &str = " ...";

/// What an input says of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said(pub u32);

impl Said {
    /// Nothing.
    pub const NOTHING: Self = Self(0);
}

/// All such texts. Where they become too many, further ones are left out, and counted.
#[derive(Debug, Default)]
pub struct Sayings {
    known: FxHashMap<Arc<[u8]>, u32>,
    /// By number, from 1.
    list: Vec<Arc<[u8]>>,
    bytes: usize,
    cut: u64,
    left_out: u64,
}

impl Sayings {
    /// A text's number; nothing for an empty one.
    pub fn of(&mut self, text: &str) -> Said {
        if text.is_empty() {
            return Said::NOTHING;
        }
        if text.len() > LONGEST {
            self.cut += 1;
            let end = (0..=LONGEST - CUT.len()).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
            return self.known_or_new(&[text.get(..end).unwrap_or_default(), CUT].concat());
        }
        self.known_or_new(text)
    }

    fn known_or_new(&mut self, text: &str) -> Said {
        if let Some(&known) = self.known.get(text.as_bytes()) {
            return Said(known);
        }
        if self.bytes >= ALL {
            self.left_out += 1;
            return Said::NOTHING;
        }
        let text: Arc<[u8]> = text.as_bytes().into();
        // With what it takes to find it.
        self.bytes += text.len() + 80;
        self.list.push(text.clone());
        let number = self.list.len() as u32;
        self.known.insert(text, number);
        Said(number)
    }

    /// A text.
    pub fn get(&self, said: Said) -> &[u8] {
        (said.0 as usize).checked_sub(1).and_then(|at| self.list.get(at)).map_or(&[], |text| text)
    }

    /// How often one was cut, and how often left out.
    pub const fn altered(&self) -> (u64, u64) {
        (self.cut, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_one_number_and_an_end() {
        let mut sayings = Sayings::default();
        let one = sayings.of("{}");
        assert_eq!((sayings.of("{}"), sayings.of("")), (one, Said::NOTHING));
        let long = sayings.of(&"\u{e4}".repeat(LONGEST));
        let text = std::str::from_utf8(sayings.get(long)).unwrap();
        assert!(text.ends_with(CUT) && text.len() <= LONGEST && text.len() > LONGEST - 10, "{}", text.len());
        assert_eq!(sayings.altered(), (1, 0));
    }

    #[test]
    fn too_many_are_left_out() {
        let mut sayings = Sayings::default();
        for number in 0..(ALL / 100) {
            sayings.of(&format!("{number:050}"));
        }
        let (cut, left_out) = sayings.altered();
        assert!(cut == 0 && left_out > 0 && sayings.bytes < ALL + LONGEST + 80, "{left_out} {}", sayings.bytes);
        assert_ne!(sayings.of(&format!("{:050}", 1)), Said::NOTHING, "what is known stays so");
    }
}
