//! Names of an import: each once, and not without bound.

use rustc_hash::FxHashMap;

/// Bytes of names that are kept as they are.
const PLAIN: usize = 32 << 20;
/// Bytes of names that are kept at all.
const ALL: usize = 64 << 20;
/// Longest name, bytes.
const LONGEST: usize = 1 << 16;

/// A name of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(pub u32);

impl Text {
    /// No name.
    pub const NONE: Self = Self(0);
}

/// All names. Where they become too many, digits become `#`, so that they are few again, and then one name stands for
/// all further ones.
#[derive(Debug, Default)]
pub struct Texts {
    known: FxHashMap<Box<[u8]>, u32>,
    /// By number, from 1.
    list: Vec<Box<[u8]>>,
    bytes: usize,
    /// Names that are not as they were.
    altered: u64,
}

impl Texts {
    /// A name's number; none for an empty one.
    pub fn of(&mut self, name: &[u8]) -> Text {
        if name.is_empty() {
            return Text::NONE;
        }
        let name = match name.get(..LONGEST) {
            Some(cut) if name.len() > LONGEST => {
                self.altered += 1;
                cut
            }
            _ => name,
        };
        if let Some(&known) = self.known.get(name) {
            return Text(known);
        }
        if self.bytes < PLAIN {
            return self.add(name);
        }
        self.altered += 1;
        let like: Vec<u8> = name.iter().map(|&byte| if byte.is_ascii_digit() { b'#' } else { byte }).collect();
        match self.known.get(like.as_slice()) {
            Some(&known) => Text(known),
            None if self.bytes < ALL => self.add(&like),
            None => {
                let other = b"(other names)";
                self.known.get(other.as_slice()).copied().map_or_else(|| self.add(other), Text)
            }
        }
    }

    fn add(&mut self, name: &[u8]) -> Text {
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX - 1) + 1;
        // A name is kept twice, with some words around it.
        self.bytes += 2 * name.len() + 64;
        self.known.insert(name.into(), number);
        self.list.push(name.into());
        Text(number)
    }

    /// A name.
    pub fn get(&self, text: Text) -> &[u8] {
        (text.0 as usize).checked_sub(1).and_then(|at| self.list.get(at)).map_or(&[], |name| name)
    }

    /// How often a name could not be kept as it was.
    pub const fn altered(&self) -> u64 {
        self.altered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_number() {
        let mut texts = Texts::default();
        let a = texts.of(b"a");
        assert_eq!((texts.of(b"a"), texts.of(b"")), (a, Text::NONE));
        assert_eq!((texts.get(a), texts.get(Text::NONE), texts.get(Text(99))), (&b"a"[..], &b""[..], &b""[..]));
    }

    #[test]
    fn too_many_become_few() {
        let mut texts = Texts::default();
        for number in 0..(ALL / 100) {
            texts.of(format!("step {number} of many, with a long name for a step").as_bytes());
        }
        assert!(texts.bytes < PLAIN + 10_000 && texts.altered() > 0, "{} {}", texts.bytes, texts.altered());
    }
}
