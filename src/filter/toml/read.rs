//! Reading TOML.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::error::{FilterError, quoted, safe};
use super::super::fields::{self, Field, hint};
use super::super::terms::{self, COMPARISONS, Key, Reading, Term};
use super::super::{Comparison, Condition, Filter};

/// What is wrong, and where.
struct Wrong {
    span: Range<usize>,
    why: String,
}

fn wrong(span: &Range<usize>, why: impl Into<String>) -> Wrong {
    Wrong { span: span.clone(), why: why.into() }
}

type Result_<T> = Result<T, Wrong>;
type Value<'a> = Spanned<DeValue<'a>>;

/// Reads a document. `origin` is its file.
///
/// # Errors
/// If it is no filter; with the place.
pub fn read(origin: &str, text: &str) -> Result<Filter, FilterError> {
    let failed = |wrong: Wrong| FilterError::at(origin, text, wrong.span, wrong.why);
    let table = DeTable::parse(text).map_err(|error| {
        let why = error.message().lines().collect::<Vec<_>>().join(", ");
        failed(wrong(&error.span().unwrap_or(0..text.len()), safe(&why)))
    })?;
    let mut filter = Filter::default();
    let condition = document(table.get_ref(), &mut filter).map_err(failed)?;
    filter.condition = terms::finish(condition).map_err(|why| failed(wrong(&(0..text.len()), why)))?;
    Ok(filter)
}

fn document(table: &DeTable, filter: &mut Filter) -> Result_<Condition> {
    let mut reading = Reading::default();
    let mut parts = Vec::new();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "name" => filter.name = string(value, "a name")?,
            "description" => filter.description = string(value, "a description")?,
            "include" => {
                for table in tables(value)? {
                    parts.push(terms::together(group(&mut reading, table)?));
                }
            }
            "exclude" => {
                for table in tables(value)? {
                    let any = group(&mut reading, table)?.into_iter().map(Term::alone).collect();
                    parts.push(Condition::Not(Box::new(Condition::Any(any))));
                }
            }
            "threshold" => {
                for table in tables(value)? {
                    for (key, value) in table {
                        parts.push(threshold(&mut reading, key, value)?);
                    }
                }
            }
            other => {
                let known = ["name", "description", "include", "exclude", "threshold"];
                let hint = hint(other, known);
                let why = format!("no key {}; known are {}{hint}", quoted(other), known.join(", "));
                return Err(wrong(&key.span(), why));
            }
        }
    }
    Ok(Condition::All(parts))
}

/// A table's entries as terms that stand side by side.
fn group(reading: &mut Reading, table: &DeTable) -> Result_<Vec<Term>> {
    let mut terms = Vec::new();
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        if let Some(field) = fields::named(name) {
            for value in values(value) {
                terms.push(question(reading, field, name, value)?);
            }
        } else {
            other(reading, key, value, &mut terms)?;
        }
    }
    Ok(terms)
}

/// An entry that is no field.
fn other(
    reading: &mut Reading,
    key: &Spanned<std::borrow::Cow<str>>,
    value: &Value,
    terms: &mut Vec<Term>,
) -> Result_<()> {
    reading.count().map_err(|why| wrong(&key.span(), why))?;
    let inner = |reading: &mut Reading| -> Result_<Vec<Condition>> {
        tables(value)?.into_iter().map(|table| group(reading, table).map(terms::together)).collect()
    };
    let name = key.get_ref().as_ref();
    match name {
        "all" => terms.push(Term::Must(Condition::All(inner(reading)?))),
        "any" => terms.push(Term::Must(Condition::Any(inner(reading)?))),
        "not" => terms.extend(inner(reading)?.into_iter().map(|one| Term::Must(Condition::Not(Box::new(one))))),
        "children-of" | "under" | "callers-of" => {
            let make = if name == "callers-of" { Condition::CallersOf } else { Condition::ChildrenOf };
            for (table, one) in tables(value)?.into_iter().zip(inner(reading)?) {
                if table.is_empty() {
                    return Err(wrong(&value.span(), format!("expected which calls in {name}")));
                }
                terms.push(Term::Must(make(Box::new(one))));
            }
        }
        "failed" => {
            let Some(failed) = value.get_ref().as_bool() else {
                return Err(unexpected("true or false", value));
            };
            let not = |condition| if failed { condition } else { Condition::Not(Box::new(condition)) };
            terms.push(Term::Must(not(Condition::Failed)));
        }
        name => {
            return Err(wrong(&key.span(), format!("no key {}{}", quoted(name), fields::known(name))));
        }
    }
    Ok(())
}

/// What a field is asked.
fn question(reading: &mut Reading, field: Field, name: &str, value: &Value) -> Result_<Term> {
    let span = value.span();
    let Some(table) = value.get_ref().as_table() else {
        let text = text(value, "a text, a number, or a table such as { regex = \"...\" }")?;
        let condition = reading.term(field, &text).map_err(|why| wrong(&span, why))?;
        return Ok(Term::Plain(Key::Field(field), condition));
    };
    let is_number = matches!(field, Field::Number(_));
    let mut parts = Vec::new();
    for (key, value) in table {
        let comparison = COMPARISONS.iter().find(|(known, _)| *known == key.get_ref().as_ref());
        match (key.get_ref().as_ref(), comparison) {
            ("regex", _) if !is_number => {
                let regex = reading.regex(field, &string(value, "a regular expression")?);
                let condition = regex.map_err(|why| wrong(&value.span(), why))?;
                if table.len() == 1 {
                    return Ok(Term::Plain(Key::Field(field), condition));
                }
            }
            (_, Some((_, comparison))) if is_number => {
                let text = text(value, "a quantity with its unit")?;
                let compared = reading.compare(field, *comparison, &text);
                parts.push(compared.map_err(|why| wrong(&value.span(), why))?);
            }
            (other, _) => {
                let known: Vec<_> = if is_number { COMPARISONS.map(|(name, _)| name).to_vec() } else { vec!["regex"] };
                let hint = hint(other, known.iter().copied());
                let known = known.join(", ");
                return Err(wrong(&key.span(), format!("no key {} of {name}; known are {known}{hint}", quoted(other))));
            }
        }
    }
    if parts.is_empty() {
        let what = if is_number { "at-least = \"...\" or another comparison" } else { "regex = \"...\"" };
        return Err(wrong(&span, format!("expected {what} in the table of {name}")));
    }
    Ok(Term::Must(Condition::All(parts)))
}

/// An entry of `threshold`.
fn threshold(reading: &mut Reading, key: &Spanned<std::borrow::Cow<str>>, value: &Value) -> Result_<Condition> {
    let name = key.get_ref().as_ref();
    let Some(field @ Field::Number(_)) = fields::named(name) else {
        let hint = hint(name, ["duration", "size", "time"]);
        return Err(wrong(
            &key.span(),
            format!("expected duration or size in threshold, found {}{hint}", quoted(name)),
        ));
    };
    let text = text(value, "a quantity with its unit")?;
    reading.compare(field, Comparison::AtLeast, &text).map_err(|why| wrong(&value.span(), why))
}

/// The values of an array, or the one.
fn values<'a, 'b>(value: &'a Value<'b>) -> Vec<&'a Value<'b>> {
    value.get_ref().as_array().map_or_else(|| vec![value], |array| array.iter().collect())
}

fn tables<'a, 'b>(value: &'a Value<'b>) -> Result_<Vec<&'a DeTable<'b>>> {
    let table = |value: &'a Value<'b>| value.get_ref().as_table().ok_or_else(|| unexpected("a table", value));
    values(value).into_iter().map(table).collect()
}

/// A string, or a whole number as it is written.
fn text(value: &Value, expected: &str) -> Result_<String> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        _ => Err(unexpected(expected, value)),
    }
}

fn string(value: &Value, expected: &str) -> Result_<String> {
    value.get_ref().as_str().map(str::to_owned).ok_or_else(|| unexpected(expected, value))
}

fn unexpected(expected: &str, value: &Value) -> Wrong {
    wrong(&value.span(), format!("expected {expected}, found {}", value.get_ref().type_str()))
}
