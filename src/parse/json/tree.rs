//! Small pieces of JSON as a whole.

use super::scanner::{Flaws, Scanner, Value};
use super::string::Wrong;

/// Values nested deeper are left out.
const DEPTH: usize = 16;
/// Values of a piece at most; later ones are left out.
const VALUES: usize = 100_000;

/// A value with everything in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// Nothing, null, or what has been left out.
    Null,
    /// As it stands.
    Number(String),
    /// A string.
    Text(String),
    /// True or false.
    Bool(bool),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// What a value holds; what is damaged in it is left out.
    #[must_use]
    pub fn of(value: &Value<'_>) -> Self {
        let mut left = VALUES;
        Self::within(value, DEPTH, &mut left)
    }

    fn within(value: &Value<'_>, depth: usize, left: &mut usize) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if *left == 0 {
            return Self::Null;
        }
        *left -= 1;
        match value {
            Value::None | Value::Null | Value::NotFinite => Self::Null,
            Value::Bool(is) => Self::Bool(*is),
            Value::Number(digits) => Self::Number(text(digits)),
            Value::Text(string) => Self::Text(string.text(&mut Wrong::default()).into_owned()),
            Value::Inner(_) if depth == 0 => Self::Null,
            Value::Inner(bytes) => {
                let mut flaws = Flaws::default();
                let mut scanner = Scanner::new(bytes, &mut flaws);
                scanner.at = 1;
                if bytes.first() == Some(&b'[') {
                    let mut list = Vec::new();
                    while *left > 0
                        && let Ok(true) = scanner.element(list.is_empty())
                        && let Ok(value) = scanner.value()
                    {
                        list.push(Self::within(&value, depth - 1, left));
                    }
                    return Self::Array(list);
                }
                let mut list = Vec::new();
                while *left > 0
                    && let Ok(Some(key)) = scanner.key(list.is_empty())
                    && let Ok(value) = scanner.value()
                {
                    let key = key.text(&mut Wrong::default()).into_owned();
                    list.push((key, Self::within(&value, depth - 1, left)));
                }
                Self::Object(list)
            }
        }
    }

    /// What an object holds under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(list) => list.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// An array's elements.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        match self {
            Self::Array(list) => list,
            _ => &[],
        }
    }

    /// A string's text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// An integer, also one in a string.
    #[must_use]
    pub fn integer(&self) -> Option<i128> {
        match self {
            Self::Number(text) | Self::Text(text) => super::number::integer(text.as_bytes()),
            _ => None,
        }
    }
}
