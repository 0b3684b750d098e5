//! How a filter that is typed may go on: fields, values that are known by name, filters that have one.

use crate::filter::fields::{FIELDS, Field, named};
use crate::filter::{Listed, TextField};
use crate::ui::layers::Offer;

/// Offers at most.
const MOST: usize = 24;

const LAYERS: &[&str] = &["runtime", "driver", "gpu"];
const CAUSES: &[&str] = &["coherence", "prefetch", "user", "eviction", "access-counters", "unknown"];
const KINDS: &[&str] = &[
    "call",
    "kernel",
    "copy",
    "set",
    "graph",
    "wait",
    "event",
    "migration",
    "fault",
    "cpu-fault",
    "gpu-fault",
    "thrashing",
    "throttling",
    "remote-map",
    "allocation",
    "overhead",
    "managed",
    "device",
    "host",
    "pinned",
    "registered",
    "pool",
    "pageable",
    "h2d",
    "d2h",
    "d2d",
    "h2h",
    "p2p",
];
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
    let from = text.rfind(|char: char| char.is_whitespace() || matches!(char, '(' | ')')).map_or(0, |at| at + 1);
    let term = text.get(from..).unwrap_or("");
    let from = from + term.len() - term.trim_start_matches(['-', '!']).len();
    let term = text.get(from..).unwrap_or("");
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

fn values(field: &str, begun: &str, from: usize) -> Vec<Offer> {
    let known = match named(field) {
        Some(Field::Text(TextField::Layer)) => LAYERS,
        Some(Field::Text(TextField::Cause)) => CAUSES,
        Some(Field::Text(TextField::Kind)) => KINDS,
        Some(Field::Text(TextField::Stream)) => &["default"],
        Some(Field::Text(TextField::Thread)) => &["main"],
        _ => &[],
    };
    let fitting = known.iter().filter(|value| value.starts_with(begun) && **value != begun);
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
