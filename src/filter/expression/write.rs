//! Writing an expression.

use super::super::fields::{self, Field};
use super::super::terms::{self, Group};
use super::super::{Comparison, Condition, Pattern, units};
use super::words;

/// A condition as an expression.
#[must_use]
pub fn write(condition: &Condition) -> String {
    any(&condition.clone().normal())
}

/// As it may stand between `or`.
fn any(condition: &Condition) -> String {
    match condition {
        Condition::Any(parts) if !parts.is_empty() => {
            // Plain terms of one field stand together.
            let mut pieces: Vec<(Option<Field>, Vec<&Condition>)> = Vec::new();
            for part in parts {
                let field = terms::plain(part).map(|(field, _)| field);
                match pieces.last_mut() {
                    Some((last, alternatives)) if field.is_some() && *last == field => alternatives.push(part),
                    _ => pieces.push((field, vec![part])),
                }
            }
            let piece = |(field, parts): &(Option<Field>, Vec<&Condition>)| match field {
                Some(field) => alternatives(*field, parts),
                None => parts.iter().map(|part| all(part)).collect(),
            };
            pieces.iter().map(piece).collect::<Vec<_>>().join(" or ")
        }
        other => all(other),
    }
}

/// As terms that stand side by side.
fn all(condition: &Condition) -> String {
    match condition {
        Condition::All(parts) if parts.is_empty() => return "everything".to_owned(),
        Condition::Any(parts) if parts.is_empty() => return "nothing".to_owned(),
        _ => {}
    }
    let group = Group::of(condition);
    let plain = group.plain.iter().map(|(field, parts)| alternatives(*field, parts));
    let least = group.least.iter().map(|(field, value)| {
        format!("{}>={}", fields::name_of(Field::Number(*field)), units::written(*field, *value))
    });
    let others = group.others.iter().map(|part| alone(part));
    let excluded = group.excluded.iter().map(|part| format!("-{}", question(part)));
    plain.chain(least).chain(others).chain(excluded).collect::<Vec<_>>().join(" ")
}

/// As one term that is nobody's alternative.
fn alone(condition: &Condition) -> String {
    match condition {
        Condition::Text(..) | Condition::Address(..) | Condition::Any(_) | Condition::All(_) => {
            format!("({})", any(condition))
        }
        other => question(other),
    }
}

/// A single question.
fn question(condition: &Condition) -> String {
    match condition {
        Condition::Text(field, _) => alternatives(Field::Text(*field), &[condition]),
        Condition::Address(..) => alternatives(Field::Address, &[condition]),
        Condition::Number(field, comparison, value) => {
            let sign = match comparison {
                Comparison::Less => "<",
                Comparison::AtMost => "<=",
                Comparison::Equal => "=",
                Comparison::AtLeast => ">=",
                Comparison::More => ">",
            };
            format!("{}{sign}{}", fields::name_of(Field::Number(*field)), units::written(*field, *value))
        }
        Condition::Failed => "failed".to_owned(),
        Condition::ChildrenOf(inner) => format!("children-of({})", any(inner)),
        Condition::CallersOf(inner) => format!("callers-of({})", any(inner)),
        Condition::Not(inner) => format!("-{}", alone(inner)),
        Condition::All(_) | Condition::Any(_) => format!("({})", any(condition)),
    }
}

/// Plain terms of one field: values with commas between, then regular expressions.
fn alternatives(field: Field, parts: &[&Condition]) -> String {
    let name = fields::name_of(field);
    let (mut values, mut regexes) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Condition::Text(_, Pattern::Glob(text)) => {
                values.push(words::quote(text, words::word(text) == text.len()));
            }
            Condition::Text(_, Pattern::Regex(text)) => {
                // As it ends before a blank, and before a parenthesis.
                let bare = !text.contains(['"', '\'']) && words::regex(&format!("{text})")) == text.len();
                regexes.push(format!("{name}~{}", words::quote(text, bare)));
            }
            Condition::Address(first, last) => values.push(units::written_addresses(*first, *last)),
            other => regexes.push(question(other)),
        }
    }
    let values = if values.is_empty() { None } else { Some(format!("{name}:{}", values.join(","))) };
    values.into_iter().chain(regexes).collect::<Vec<_>>().join(" ")
}
