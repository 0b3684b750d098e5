//! What the spellings have in common: how terms that stand side by side are put together, and taken apart again.
//!
//! Plain terms (a field and what it is to be) of one field are alternatives; everything else must hold.

use super::fields::{self, Field};
use super::normal::MAX_DEPTH;
use super::{Comparison, Condition, Matcher, NumberField, Pattern, TextField, units};

/// Most questions in one filter.
const MAX_TERMS: usize = 2048;
/// Most regular expressions in one filter; each takes time and memory.
const MAX_REGEXES: usize = 128;

/// Comparisons by the names that documents have for them.
pub(super) const COMPARISONS: [(&str, Comparison); 5] = [
    ("at-least", Comparison::AtLeast),
    ("at-most", Comparison::AtMost),
    ("more-than", Comparison::More),
    ("less-than", Comparison::Less),
    ("equal", Comparison::Equal),
];

/// What stands in documents where fields do.
pub(super) const OTHERS: [&str; 7] = ["all", "any", "not", "children-of", "under", "callers-of", "failed"];

/// What a term's alternatives are known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A field.
    Field(Field),
    /// A word without a field.
    Word,
}

/// One of the terms that stand side by side.
#[derive(Clone, Debug)]
pub(super) enum Term {
    /// One alternative of these.
    Plain(Key, Condition),
    /// It must hold.
    Must(Condition),
}

impl Term {
    /// What it says by itself.
    pub fn alone(self) -> Condition {
        match self {
            Self::Plain(_, condition) | Self::Must(condition) => condition,
        }
    }
}

/// All that the terms say together.
pub(super) fn together(terms: Vec<Term>) -> Condition {
    let mut all = Vec::new();
    let mut plain: Vec<(Key, Vec<Condition>)> = Vec::new();
    for term in terms {
        match term {
            Term::Must(condition) => all.push(condition),
            Term::Plain(key, condition) => match plain.iter_mut().find(|(known, _)| *known == key) {
                Some((_, alternatives)) => alternatives.push(condition),
                None => plain.push((key, vec![condition])),
            },
        }
    }
    all.extend(plain.into_iter().map(|(_, alternatives)| Condition::Any(alternatives)));
    Condition::All(all)
}

/// A condition in the normal form, taken apart into what stands side by side.
#[derive(Debug, Default)]
pub(super) struct Group<'a> {
    /// Fields with their alternatives, each field once.
    pub plain: Vec<(Field, Vec<&'a Condition>)>,
    /// What must not hold.
    pub excluded: Vec<&'a Condition>,
    /// Least durations and sizes.
    pub least: Vec<(NumberField, u64)>,
    /// What must hold besides. Where these are plain terms, they are not to be taken for alternatives of the others.
    pub others: Vec<&'a Condition>,
}

impl<'a> Group<'a> {
    pub fn of(condition: &'a Condition) -> Self {
        let mut group = Self::default();
        match condition {
            Condition::All(parts) => parts.iter().for_each(|part| group.add(part)),
            other => group.add(other),
        }
        group
    }

    fn add(&mut self, part: &'a Condition) {
        match part {
            Condition::Not(inner) => self.excluded.push(inner),
            Condition::Number(field @ (NumberField::Duration | NumberField::Size), Comparison::AtLeast, value) => {
                self.least.push((*field, *value));
            }
            other => match plain(other) {
                Some(_) if matches!(other, Condition::Any(parts) if parts.is_empty()) => self.others.push(other),
                Some((field, _)) if self.plain.iter().any(|(known, _)| *known == field) => self.others.push(other),
                Some(alternatives) => self.plain.push(alternatives),
                None => self.others.push(other),
            },
        }
    }
}

/// Its field and alternatives, if it can stand as plain terms.
pub(super) fn plain(condition: &Condition) -> Option<(Field, Vec<&Condition>)> {
    let is_plain = |condition: &Condition| matches!(condition, Condition::Text(..) | Condition::Address(..));
    match condition {
        Condition::Any(parts) => {
            let field = parts.first()?.field()?;
            let same = parts.iter().all(|part| is_plain(part) && part.field() == Some(field));
            same.then(|| (field, parts.iter().collect()))
        }
        other if is_plain(other) => Some((other.field()?, vec![other])),
        _ => None,
    }
}

/// Holds what is read within bounds, and makes questions of texts.
#[derive(Debug, Default)]
pub(super) struct Reading {
    terms: usize,
    regexes: usize,
}

impl Reading {
    /// A question of a field by its text, as it stands after `field:` or in an element.
    pub fn term(&mut self, field: Field, text: &str) -> Result<Condition, String> {
        self.count()?;
        match field {
            Field::Text(field) => pattern(field, Pattern::Glob(text.to_owned())),
            Field::Number(field) => units::numbers(field, text),
            Field::Address => units::addresses(text.trim()).map(|(first, last)| Condition::Address(first, last)),
        }
    }

    /// A question by a regular expression.
    pub fn regex(&mut self, field: Field, text: &str) -> Result<Condition, String> {
        self.count()?;
        let Field::Text(field) = field else {
            return Err(format!("{} is compared by size, not by a regular expression", fields::name_of(field)));
        };
        self.regexes += 1;
        if self.regexes > MAX_REGEXES {
            return Err(format!("more than {MAX_REGEXES} regular expressions in one filter"));
        }
        pattern(field, Pattern::Regex(text.to_owned()))
    }

    /// A comparison.
    pub fn compare(&mut self, field: Field, comparison: Comparison, text: &str) -> Result<Condition, String> {
        self.count()?;
        let Field::Number(field) = field else {
            let name = fields::name_of(field);
            return Err(format!("{name} is not compared by size; expected {name}:..."));
        };
        units::number(field, text).map(|value| Condition::Number(field, comparison, value))
    }

    /// A word without a field: a function's name, or a part of a kernel's.
    pub fn word(&mut self, text: &str) -> Result<Condition, String> {
        self.count()?;
        let api = pattern(TextField::Api, Pattern::Glob(text.to_owned()))?;
        let kernel = pattern(TextField::Kernel, Pattern::Glob(format!("*{}*", text.trim_matches('*'))))?;
        Ok(Condition::Any(vec![api, kernel]))
    }

    /// Counts one question more.
    pub fn count(&mut self) -> Result<(), String> {
        self.terms += 1;
        if self.terms > MAX_TERMS { Err(format!("more than {MAX_TERMS} terms in one filter")) } else { Ok(()) }
    }
}

/// The normal form of what was read, if it is not too deep.
pub(super) fn finish(condition: Condition) -> Result<Condition, String> {
    let condition = condition.normal();
    if condition.depth() > MAX_DEPTH {
        return Err(format!("conditions lie more than {MAX_DEPTH} deep within each other"));
    }
    Ok(condition)
}

fn pattern(field: TextField, pattern: Pattern) -> Result<Condition, String> {
    Matcher::new(&pattern).map_err(|error| error.to_string())?;
    if let Pattern::Glob(text) = &pattern
        && let Some(why) = fields::refused(field, text)
    {
        return Err(why);
    }
    Ok(Condition::Text(field, pattern))
}
