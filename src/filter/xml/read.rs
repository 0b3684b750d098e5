//! Reading `<filter>`.

use super::super::error::{FilterError, quoted};
use super::super::fields::{self, Field, hint};
use super::super::terms::{self, COMPARISONS, Key, OTHERS, Reading, Term};
use super::super::{Comparison, Condition, Filter};
use super::tree::{self, Element, Wrong};

/// Reads a document. `origin` is its file.
///
/// # Errors
/// If it is no filter; with the place.
pub fn read(origin: &str, text: &str) -> Result<Filter, FilterError> {
    let wrong = |wrong: Wrong| FilterError::at(origin, text, wrong.span, wrong.why);
    let root = tree::read(text).map_err(wrong)?;
    let condition = filter(&root).map_err(wrong)?;
    let condition = terms::finish(condition).map_err(|why| wrong(Wrong::new(&root.span, why)))?;
    let attribute = |name| root.attribute(name).map(|attribute| attribute.value.clone()).unwrap_or_default();
    Ok(Filter { name: attribute("name"), description: attribute("description"), condition })
}

fn filter(root: &Element) -> Result<Condition, Wrong> {
    if root.name != "filter" {
        let hint = hint(&root.name, ["filter"]);
        return Err(Wrong::new(&root.span, format!("expected <filter>, found <{}>{hint}", tree_name(root))));
    }
    root.only(&["name", "description"])?;
    no_text(root)?;
    let mut reading = Reading::default();
    let mut parts = Vec::new();
    for section in &root.children {
        let known = ["include", "exclude", "threshold"];
        if !known.contains(&section.name.as_str()) {
            let hint = hint(&section.name, known);
            let why = format!("expected <include>, <exclude> or <threshold>, found <{}>{hint}", tree_name(section));
            return Err(Wrong::new(&section.span, why));
        }
        section.only(&[])?;
        no_text(section)?;
        let inner = &section.children;
        parts.push(match section.name.as_str() {
            "include" => side_by_side(&mut reading, inner)?,
            "exclude" => Condition::Not(Box::new(Condition::Any(each(&mut reading, inner)?))),
            _ => Condition::All(inner.iter().map(|one| threshold(&mut reading, one)).collect::<Result<_, _>>()?),
        });
    }
    Ok(Condition::All(parts))
}

fn side_by_side(reading: &mut Reading, elements: &[Element]) -> Result<Condition, Wrong> {
    let terms = elements.iter().map(|one| term(reading, one)).collect::<Result<_, _>>()?;
    Ok(terms::together(terms))
}

fn each(reading: &mut Reading, elements: &[Element]) -> Result<Vec<Condition>, Wrong> {
    elements.iter().map(|one| term(reading, one).map(Term::alone)).collect()
}

fn term(reading: &mut Reading, element: &Element) -> Result<Term, Wrong> {
    if let Some(field) = fields::named(&element.name) {
        return question(reading, element, field);
    }
    if !OTHERS.contains(&element.name.as_str()) {
        let known = fields::known(&element.name);
        return Err(Wrong::new(&element.span, format!("no element <{}>{known}", tree_name(element))));
    }
    element.only(&[])?;
    no_text(element)?;
    let inner = &element.children;
    reading.count().map_err(|why| Wrong::new(&element.span, why))?;
    Ok(Term::Must(match element.name.as_str() {
        "all" => Condition::All(each(reading, inner)?),
        "any" => Condition::Any(each(reading, inner)?),
        "failed" => match inner.first() {
            None => Condition::Failed,
            Some(child) => return Err(Wrong::new(&child.span, "nothing is expected in <failed>")),
        },
        "not" => match inner.as_slice() {
            [one] => Condition::Not(Box::new(term(reading, one)?.alone())),
            several => {
                let span = several.get(1).map_or(&element.span, |second| &second.span);
                return Err(Wrong::new(span, "expected one element in <not>; put several into <any> or <all>"));
            }
        },
        name => {
            if inner.is_empty() {
                return Err(Wrong::new(&element.span, format!("expected which calls in <{name}>")));
            }
            let inner = Box::new(side_by_side(reading, inner)?);
            if name == "callers-of" { Condition::CallersOf(inner) } else { Condition::ChildrenOf(inner) }
        }
    }))
}

/// A field's element.
fn question(reading: &mut Reading, element: &Element, field: Field) -> Result<Term, Wrong> {
    no_children(element)?;
    let name = &element.name;
    if matches!(field, Field::Number(_)) && !element.attributes.is_empty() {
        element.only(&COMPARISONS.map(|(name, _)| name))?;
        if !element.text.is_empty() {
            return Err(Wrong::new(element.text_span(), format!("expected no text in <{name}> beside its attributes")));
        }
        let mut parts = Vec::new();
        for attribute in &element.attributes {
            let known = COMPARISONS.iter().find(|(name, _)| *name == attribute.name);
            let comparison = known.map_or(Comparison::Equal, |(_, comparison)| *comparison);
            let compared = reading.compare(field, comparison, &attribute.value);
            parts.push(compared.map_err(|why| Wrong::new(&attribute.span, why))?);
        }
        return Ok(Term::Must(Condition::All(parts)));
    }
    let is_text = matches!(field, Field::Text(_));
    element.only(if is_text { &["regex"] } else { &[] })?;
    let regex = match element.attribute("regex") {
        None => false,
        Some(attribute) => match attribute.value.as_str() {
            "true" | "1" => true,
            "false" | "0" => false,
            other => {
                let why = format!("expected regex=\"true\" or \"false\", found {}", quoted(other));
                return Err(Wrong::new(&attribute.span, why));
            }
        },
    };
    if element.text.is_empty() {
        let attributes = if is_text { "" } else { ", or an attribute such as at-least" };
        let what = if is_text { "a pattern" } else { "a value" };
        return Err(Wrong::new(&element.span, format!("expected {what} in <{name}>{attributes}")));
    }
    let condition = if regex { reading.regex(field, &element.text) } else { reading.term(field, &element.text) };
    let condition = condition.map_err(|why| Wrong::new(element.text_span(), why))?;
    Ok(Term::Plain(Key::Field(field), condition))
}

/// An element in `<threshold>`.
fn threshold(reading: &mut Reading, element: &Element) -> Result<Condition, Wrong> {
    let field = fields::named(&element.name);
    let Some(field @ Field::Number(_)) = field else {
        let hint = hint(&element.name, ["duration", "size", "time"]);
        let why = format!("expected <duration> or <size> in <threshold>, found <{}>{hint}", tree_name(element));
        return Err(Wrong::new(&element.span, why));
    };
    element.only(&[])?;
    no_children(element)?;
    let compared = reading.compare(field, Comparison::AtLeast, &element.text);
    compared.map_err(|why| Wrong::new(element.text_span(), why))
}

fn no_text(element: &Element) -> Result<(), Wrong> {
    if element.text.is_empty() {
        return Ok(());
    }
    let why = format!("expected elements in <{}>, found text {}", tree_name(element), quoted(&element.text));
    Err(Wrong::new(element.text_span(), why))
}

fn no_children(element: &Element) -> Result<(), Wrong> {
    match element.children.first() {
        None => Ok(()),
        Some(child) => {
            let why = format!("expected text in <{}>, found <{}>", tree_name(element), tree_name(child));
            Err(Wrong::new(&child.span, why))
        }
    }
}

/// An element's name as messages show it.
fn tree_name(element: &Element) -> String {
    quoted(&element.name).trim_matches('`').to_owned()
}
