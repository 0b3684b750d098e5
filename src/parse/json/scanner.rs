//! Values in a piece of JSON.

use super::block::{Block, end_of_text, past_space};
use super::string::{Str, Wrong};
use std::borrow::Cow;

/// Why a value could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The piece ends before it.
    Incomplete,
    /// It is no JSON here.
    Malformed,
}

/// What is not as JSON has it, and was read all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A comma before a bracket, or two of them.
    Comma,
    /// NaN or an infinity.
    NotFinite,
    /// A backslash that begins no escape.
    Escape,
    /// Bytes that are no UTF-8.
    Utf8,
    /// Half of a surrogate pair.
    Surrogate,
    /// A control character in a string.
    Control,
    /// A number as JSON does not write them.
    Number,
}

/// Flaws with their places in the piece.
#[derive(Clone, Debug, Default)]
pub struct Flaws {
    /// The first ones.
    pub list: Vec<(Flaw, usize)>,
    /// Further ones.
    pub more: u64,
}

impl Flaws {
    fn add(&mut self, flaw: Flaw, at: usize) {
        if self.list.len() < 64 {
            self.list.push((flaw, at));
        } else {
            self.more += 1;
        }
    }
}

/// A value: numbers, words and strings as they stand, the inside of arrays and objects unread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing is there.
    #[default]
    None,
    /// A number.
    Number(&'a [u8]),
    /// A string.
    Text(Str<'a>),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// NaN, Infinity.
    NotFinite,
    /// An array or object, brackets included.
    Inner(&'a [u8]),
}

/// Bytes of numbers and words.
static PARTS: [bool; 256] = {
    let mut parts = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        parts[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'+' | b'-' | b'.' | b'_');
        byte += 1;
    }
    parts
};

#[inline]
fn is_part(byte: u8) -> bool {
    PARTS[usize::from(byte)]
}

/// Reads values from a piece, one after another.
pub struct Scanner<'a, 'f> {
    bytes: &'a [u8],
    /// Where it is.
    pub at: usize,
    flaws: &'f mut Flaws,
}

impl<'a, 'f> Scanner<'a, 'f> {
    /// At the beginning of `bytes`.
    pub const fn new(bytes: &'a [u8], flaws: &'f mut Flaws) -> Self {
        Self { bytes, at: 0, flaws }
    }

    /// The next byte that is no white space, not taken.
    ///
    /// # Errors
    /// At the end of the piece.
    #[inline]
    pub fn peek(&mut self) -> Result<u8, Stop> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte > b' ' => Ok(byte),
            _ => {
                self.at = past_space(self.bytes, self.at);
                self.bytes.get(self.at).copied().ok_or(Stop::Incomplete)
            }
        }
    }

    /// Takes `byte` if it comes next.
    ///
    /// # Errors
    /// At the end of the piece.
    #[inline]
    pub fn take(&mut self, byte: u8) -> Result<bool, Stop> {
        let is = self.peek()? == byte;
        self.at += usize::from(is);
        Ok(is)
    }

    /// The next key of an object whose opening bracket, or last value, was taken; `None` at its end, which is taken.
    ///
    /// # Errors
    /// At the end of the piece, or where there is no key.
    #[inline]
    pub fn key(&mut self, first: bool) -> Result<Option<Str<'a>>, Stop> {
        let begun = self.at;
        let mut next = self.peek()?;
        let comma = next == b',' && !first;
        if comma {
            self.at += 1;
            next = self.peek()?;
        }
        // Mostly that was all.
        if next != b'"' || !first && !comma {
            self.at = begun;
            if !self.another(first, b'}')? {
                return Ok(None);
            }
            if self.peek()? != b'"' {
                return Err(Stop::Malformed);
            }
        }
        let key = self.string()?;
        if self.take(b':')? { Ok(Some(key)) } else { Err(Stop::Malformed) }
    }

    /// Whether another element of an array comes, whose opening bracket, or last element, was taken; its end is taken.
    ///
    /// # Errors
    /// At the end of the piece, or where there is no element.
    #[inline]
    pub fn element(&mut self, first: bool) -> Result<bool, Stop> {
        self.another(first, b']')
    }

    /// Takes commas, of which one is too many where there is none to separate, or the closing bracket.
    #[inline]
    fn another(&mut self, first: bool, close: u8) -> Result<bool, Stop> {
        let mut commas = usize::from(first);
        loop {
            match self.peek()? {
                b',' => {
                    commas += 1;
                    if commas > 1 {
                        self.flaws.add(Flaw::Comma, self.at);
                    }
                    self.at += 1;
                }
                byte if byte == close => {
                    if commas == 1 && !first {
                        self.flaws.add(Flaw::Comma, self.at);
                    }
                    self.at += 1;
                    return Ok(false);
                }
                _ if commas > 0 => return Ok(true),
                _ => return Err(Stop::Malformed),
            }
        }
    }

    /// A string, whose opening quote comes next.
    #[inline]
    fn string(&mut self) -> Result<Str<'a>, Stop> {
        let start = self.at + 1;
        let end = end_of_text(self.bytes, start).ok_or(Stop::Incomplete)?;
        if self.bytes.get(end) != Some(&b'"') {
            return self.escaped(start, end);
        }
        self.at = end + 1;
        Ok(Str { raw: self.bytes.get(start..end).unwrap_or(&[]), escaped: false })
    }

    /// A string from `start` on whose first backslash is at `at`.
    #[cold]
    fn escaped(&mut self, start: usize, mut at: usize) -> Result<Str<'a>, Stop> {
        while self.bytes.get(at) != Some(&b'"') {
            match self.bytes.get(at + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                Some(b'u') => {
                    let digits = self.bytes.get(at + 2..at + 6).ok_or(Stop::Incomplete)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        self.flaws.add(Flaw::Escape, at);
                    }
                }
                Some(_) => self.flaws.add(Flaw::Escape, at),
                None => return Err(Stop::Incomplete),
            }
            at = end_of_text(self.bytes, at + 2).ok_or(Stop::Incomplete)?;
        }
        self.at = at + 1;
        Ok(Str { raw: self.bytes.get(start..at).unwrap_or(&[]), escaped: true })
    }

    /// The next value.
    ///
    /// # Errors
    /// At the end of the piece, or where there is none.
    #[inline]
    pub fn value(&mut self) -> Result<Value<'a>, Stop> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => self.string().map(Value::Text),
            b'{' | b'[' => {
                self.skip_inner()?;
                Ok(Value::Inner(self.bytes.get(start..self.at).unwrap_or(&[])))
            }
            _ => self.word(start),
        }
    }

    /// A number or a word.
    #[inline]
    fn word(&mut self, start: usize) -> Result<Value<'a>, Stop> {
        let rest = self.bytes.get(start..).unwrap_or(&[]);
        let near = Block::at(rest, 0).map_or(0, |block| (!block.digits()).trailing_zeros() as usize);
        let length = match rest.get(near) {
            Some(&byte) if near > 0 && !is_part(byte) => near,
            _ => rest.iter().position(|&byte| !is_part(byte)).ok_or(Stop::Incomplete)?,
        };
        let word = rest.get(..length).unwrap_or(&[]);
        if word.first().is_some_and(u8::is_ascii_digit) {
            self.at = start + length;
            return Ok(Value::Number(word));
        }
        self.other(start, word)
    }

    /// What does not begin with a digit.
    fn other(&mut self, start: usize, word: &'a [u8]) -> Result<Value<'a>, Stop> {
        let Some(first) = word.first() else { return Err(Stop::Malformed) };
        self.at = start + word.len();
        match word {
            b"true" | b"True" => Ok(Value::Bool(true)),
            b"false" | b"False" => Ok(Value::Bool(false)),
            b"null" | b"None" => Ok(Value::Null),
            b"NaN" | b"nan" | b"-NaN" | b"-nan" | b"Infinity" | b"-Infinity" | b"inf" | b"-inf" | b"+Infinity" => {
                self.flaws.add(Flaw::NotFinite, start);
                Ok(Value::NotFinite)
            }
            _ if matches!(first, b'-' | b'+' | b'.') => {
                if matches!(first, b'+' | b'.') {
                    self.flaws.add(Flaw::Number, start);
                }
                Ok(Value::Number(word))
            }
            _ => Err(Stop::Malformed),
        }
    }

    /// Skips an array or object, whose opening bracket comes next, however deep it is.
    fn skip_inner(&mut self) -> Result<(), Stop> {
        let (mut depth, mut at) = (0u64, self.at);
        'blocks: while let Some(block) = Block::at(self.bytes, at) {
            let mut marks = block.structure();
            while marks != 0 {
                let here = at + marks.trailing_zeros() as usize;
                match self.bytes.get(here) {
                    Some(b'"') => {
                        self.at = here;
                        self.string()?;
                        at = self.at;
                        continue 'blocks;
                    }
                    Some(b'{' | b'[') => depth += 1,
                    _ => depth = depth.saturating_sub(1),
                }
                if depth == 0 {
                    self.at = here + 1;
                    return Ok(());
                }
                marks &= marks - 1;
            }
            at += Block::BYTES;
        }
        // What is left at the end of the piece.
        while let Some(&byte) = self.bytes.get(at) {
            self.at = at;
            match byte {
                b'"' => {
                    self.string()?;
                    at = self.at;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {
                    at += 1;
                    continue;
                }
            }
            at += 1;
            if depth == 0 {
                self.at = at;
                return Ok(());
            }
        }
        Err(Stop::Incomplete)
    }

    /// A string's text; what is wrong with it is told.
    pub fn text<'s>(&mut self, string: &Str<'s>) -> Cow<'s, str> {
        let mut wrong = Wrong::default();
        let text = string.text(&mut wrong);
        // The string lies in the piece: its address says where.
        let at = (string.raw.as_ptr() as usize).saturating_sub(self.bytes.as_ptr() as usize);
        for (is, flaw) in [(wrong.utf8, Flaw::Utf8), (wrong.surrogate, Flaw::Surrogate), (wrong.control, Flaw::Control)]
        {
            if is {
                self.flaws.add(flaw, at);
            }
        }
        text
    }
}
