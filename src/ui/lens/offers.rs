//! How a filter that is typed may go on: fields, values that are known by name, filters that have one.

use crate::filter::fields::{FIELDS, Field, named};
use crate::filter::{Condition, Listed, Pattern, TextField, expression, known};
use crate::session::view::{Entry, EntryKind};
use crate::ui::layers::Offer;
use crate::ui::text::format;

/// Offers at most.
pub const MOST: usize = 24;

const WORDS: &[(&str, &str)] = &[
    ("failed", "calls that returned an error"),
    ("children-of(", "what lies in calls for which it holds"),
    ("callers-of(", "calls in which lies what it holds for"),
    ("and", "both"),
    ("or", "either"),
    ("not", "the opposite"),
];

/// Ways to go on at the end of a text.
#[must_use]
pub fn of(text: &str, listed: &[Listed]) -> Vec<Offer> {
    let (from, term) = last_term(text);
    if let Some((name, begun)) = term.split_once(':') {
        let begun = begun.rsplit(',').next().unwrap_or(begun);
        return values(name, begun, text.len() - begun.len());
    }
    if term.is_empty() && !text.is_empty() {
        return Vec::new();
    }
    let fields = FIELDS.iter().map(|row| {
        let sign = if matches!(row.field, Field::Number(_)) { ">=" } else { ":" };
        (format!("{}{sign}", row.name), row.meaning.to_owned())
    });
    let words = WORDS.iter().map(|(word, doc)| ((*word).to_owned(), (*doc).to_owned()));
    // A name is a filter only where nothing else is.
    let names = listed.iter().filter(|_| from == 0).map(|listed| {
        let doc = listed.filter.as_ref().map_or("cannot be read", |filter| filter.description.as_str());
        (listed.name.clone(), if doc.is_empty() { "a filter" } else { doc }.to_owned())
    });
    let known = fields.chain(words).chain(names);
    let fitting = known.filter(|(name, _)| name.starts_with(term) && name != term);
    fitting.take(MOST).map(|(text, doc)| Offer { from, text, doc }).collect()
}

/// The term at the end of a text, without signs before it, and the byte where it begins. In quotes blanks end no term.
fn last_term(text: &str) -> (usize, &str) {
    let (mut from, mut quote) = (0, None);
    for (at, char) in text.char_indices() {
        match (char, quote) {
            ('"' | '\'', None) => quote = Some(char),
            (char, Some(open)) if char == open => quote = None,
            (char, None) if char.is_whitespace() || matches!(char, '(' | ')') => from = at + char.len_utf8(),
            _ => {}
        }
    }
    let term = text.get(from..).unwrap_or("");
    let term = term.trim_start_matches(['-', '!']);
    (text.len() - term.len(), term)
}

/// A value that is typed of which the trace knows names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What has such names.
    pub kind: EntryKind,
    /// What has been typed of it.
    pub begun: String,
    field: TextField,
    /// Where its term begins, and its value.
    term: usize,
    value: usize,
    /// It is the term's only value.
    alone: bool,
}

/// The value at the end of a text, if the trace knows names for it.
#[must_use]
pub fn slot(text: &str) -> Option<Slot> {
    let (term, word) = last_term(text);
    let (name, values) = word.split_once(':')?;
    let Some(Field::Text(field)) = named(name) else { return None };
    let kind = match field {
        TextField::Api => EntryKind::Function,
        TextField::Kernel => EntryKind::Kernel,
        TextField::Process => EntryKind::Process,
        TextField::Thread => EntryKind::Thread,
        TextField::Stream => EntryKind::Stream,
        TextField::Range => EntryKind::Range,
        TextField::Site => EntryKind::Site,
        _ => return None,
    };
    let mut quote = None;
    let mut from = 0;
    for (at, char) in values.char_indices() {
        match (char, quote) {
            ('"' | '\'', None) => quote = Some(char),
            (char, Some(open)) if char == open => quote = None,
            (',', None) => from = at + 1,
            _ => {}
        }
    }
    let begun = values.get(from..).unwrap_or("");
    let value = text.len() - begun.len();
    let begun = begun.trim_matches(['"', '\'', '*']).to_owned();
    Some(Slot { kind, begun, field, term, value, alone: from == 0 })
}

impl Slot {
    /// The way to go on with a thing of the trace; `None` if that is what is typed already.
    #[must_use]
    pub fn offer(&self, entry: &Entry) -> Option<Offer> {
        let Some(Condition::Text(field, pattern)) = &entry.like else { return None };
        let written = expression::write(&Condition::Text(*field, pattern.clone()));
        let (from, text) = match pattern {
            _ if *field != self.field => return None,
            Pattern::Glob(_) => (self.value, written.split_once(':')?.1.to_owned()),
            // It has another sign, so it stands alone.
            Pattern::Regex(_) if self.alone => (self.term, written),
            Pattern::Regex(_) => return None,
        };
        if text == self.begun {
            return None;
        }
        let doc = match matches!(pattern, Pattern::Glob(_)) && text.contains(entry.label.as_str()) {
            true => format!("{}  {}", format::count(entry.count), format::duration(entry.total_ns)),
            false => entry.label.clone(),
        };
        Some(Offer { from, text, doc })
    }
}

fn values(field: &str, begun: &str, from: usize) -> Vec<Offer> {
    let values: &[&str] = match named(field) {
        Some(Field::Text(TextField::Stream)) => &["default"],
        Some(Field::Text(field)) => known(field).unwrap_or_default(),
        _ => &[],
    };
    let fitting = values.iter().filter(|value| value.starts_with(begun) && **value != begun);
    fitting.map(|value| Offer { from, text: (*value).to_owned(), doc: String::new() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(text: &str) -> Vec<(usize, String)> {
        of(text, &[]).into_iter().map(|offer| (offer.from, offer.text)).collect()
    }

    #[test]
    fn fields_and_values_go_on_where_they_begin() {
        assert_eq!(offered("api:x -ker"), [(7, "kernel:".to_owned())]);
        assert_eq!(offered("du"), [(0, "duration>=".to_owned())]);
        assert_eq!(offered("cause:co"), [(6, "coherence".to_owned())]);
        assert_eq!(offered("(kind:cpu"), [(6, "cpu-fault".to_owned())]);
        assert!(offered("api:x ").is_empty() && offered("zzz").is_empty() && offered("api:cuda").is_empty());
        assert!(offered("").len() > 10);
    }
}
