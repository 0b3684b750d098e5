//! Values of settings.

use toml::Spanned;
use toml::de::{DeInteger, DeString, DeValue};

use super::nearest;
use super::problem::{Place, Spelled};
use super::schema::Kind;

/// What a setting is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A word.
    Word(String),
    /// Words.
    Words(Vec<Spelled>),
    /// Yes or no.
    Flag(bool),
    /// A time, ns.
    Time(u64),
    /// A number.
    Count(u64),
    /// Words by words.
    Map(Vec<(String, String)>),
}

/// Reads a value.
///
/// # Errors
/// If it is none of this kind: where, and what was expected. Of a list the first wrong word is told.
pub fn read(text: &str, kind: Kind, value: &Spanned<DeValue<'_>>) -> Result<Value, (Place, String)> {
    let place = Place::of(text, value.span().start);
    let wrong = |told: String| (place, told);
    match (kind, value.get_ref()) {
        (Kind::Word, DeValue::String(word)) => Ok(Value::Word(word.to_string())),
        (Kind::OneOf(words), DeValue::String(word)) => one_of(words, word).map(Value::Word).map_err(wrong),
        (Kind::OneOf(words), DeValue::Integer(number)) => {
            one_of(words, number.as_str()).map(Value::Word).map_err(wrong)
        }
        (Kind::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
        (Kind::Time, DeValue::String(time)) => self::time(time).map(Value::Time).ok_or_else(|| {
            wrong(format!("'{time}' is no time; write a whole number and ns, us, ms or s, as in \"300ms\""))
        }),
        (Kind::Count, DeValue::Integer(number)) => match count(number) {
            Some(count) => Ok(Value::Count(count)),
            None => Err(wrong(format!("'{number}' is no whole number from 1"))),
        },
        (Kind::Map, DeValue::Table(table)) => {
            let pair = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| match value.get_ref() {
                DeValue::String(word) => Ok((key.get_ref().to_string(), word.to_string())),
                other => {
                    let place = Place::of(text, value.span().start);
                    Err((place, format!("a word in quotes is expected, not {}", other.type_str())))
                }
            };
            table.iter().map(pair).collect::<Result<_, _>>().map(Value::Map)
        }
        (Kind::Words(_), DeValue::String(word)) if word == "auto" => Ok(Value::Word("auto".to_owned())),
        (Kind::Words(words), DeValue::Array(array)) => {
            let word = |value: &Spanned<DeValue<'_>>| {
                let place = Place::of(text, value.span().start);
                match value.get_ref() {
                    DeValue::String(word) => match one_of(words, word) {
                        Ok(text) => Ok(Spelled { text, place }),
                        Err(told) => Err((place, told)),
                    },
                    other => Err((place, format!("a word in quotes is expected, not {}", other.type_str()))),
                }
            };
            array.iter().map(word).collect::<Result<_, _>>().map(Value::Words)
        }
        (_, other) => Err(wrong(format!("{} is expected, not {}", expected(kind), other.type_str()))),
    }
}

fn one_of(words: &[&str], word: &str) -> Result<String, String> {
    if words.contains(&word) {
        return Ok(word.to_owned());
    }
    Err(format!("'{word}' is not one of {}{}", words.join(", "), nearest::hint(word, words.iter().copied())))
}

fn expected(kind: Kind) -> String {
    match kind {
        Kind::OneOf(words) => format!("one of {} in quotes", words.join(", ")),
        Kind::Word => "a word in quotes".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Time => "a time in quotes, as \"300ms\",".to_owned(),
        Kind::Map => "a table such as { \"/build/src\" = \"~/src\" }".to_owned(),
        Kind::Count => "a whole number from 1".to_owned(),
        Kind::Words(_) => "\"auto\" or a list of words in quotes".to_owned(),
    }
}

fn count(number: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(number.as_str(), number.radix()).ok().filter(|count| *count > 0)
}

/// A time in ns: a whole number and its unit.
fn time(text: &str) -> Option<u64> {
    let digits = text.find(|char: char| !char.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let unit = match unit.trim_start() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ns) in [("300ms", Some(300_000_000)), ("0 s", Some(0)), ("7us", Some(7_000)), ("5ns", Some(5))] {
            assert_eq!(time(text), ns);
        }
        for text in ["", "5", "ms", "-1s", "1.5s", "5 minutes", "99999999999999999999s", "20000000000s", "５s"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
