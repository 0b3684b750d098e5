//! Writing `<filter>`.

use super::super::fields::{self, Field};
use super::super::terms::{COMPARISONS, Group};
use super::super::{Comparison, Condition, Filter, NumberField, Pattern, units};

/// A filter as a document.
#[must_use]
pub fn write(filter: &Filter) -> String {
    let condition = filter.condition.clone().normal();
    let mut out = Out { text: String::from("<filter"), depth: 1 };
    for (name, value) in [("name", &filter.name), ("description", &filter.description)] {
        if !value.is_empty() {
            out.text.push_str(&format!(" {name}=\"{}\"", escaped(value, true)));
        }
    }
    out.text.push_str(">\n");
    let group = Group::of(&condition);
    if !group.plain.is_empty() || !group.others.is_empty() {
        out.within("include", |out| included(out, &group));
    }
    if !group.excluded.is_empty() {
        out.within("exclude", |out| group.excluded.iter().for_each(|part| single(out, part)));
    }
    if !group.least.is_empty() {
        out.within("threshold", |out| {
            for (field, value) in &group.least {
                let name = fields::name_of(Field::Number(*field));
                out.line(&format!("<{name}>{}</{name}>", units::written(*field, *value)));
            }
        });
    }
    out.depth = 0;
    out.line("</filter>");
    out.text
}

struct Out {
    text: String,
    depth: usize,
}

impl Out {
    fn line(&mut self, text: &str) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn within(&mut self, name: &str, inner: impl FnOnce(&mut Self)) {
        self.line(&format!("<{name}>"));
        self.depth += 1;
        inner(self);
        self.depth -= 1;
        self.line(&format!("</{name}>"));
    }
}

fn included(out: &mut Out, group: &Group) {
    for part in group.plain.iter().flat_map(|(_, parts)| parts) {
        single(out, part);
    }
    for part in &group.others {
        match part {
            // It is not to be taken for an alternative.
            Condition::Text(..) | Condition::Address(..) => out.within("all", |out| single(out, part)),
            other => single(out, other),
        }
    }
}

/// As terms side by side, where there are no sections.
fn side_by_side(out: &mut Out, condition: &Condition) {
    let group = Group::of(condition);
    if condition.is_everything() {
        out.line("<all/>");
    }
    included(out, &group);
    for (field, value) in &group.least {
        compared(out, *field, Comparison::AtLeast, *value);
    }
    for part in &group.excluded {
        out.within("not", |out| single(out, part));
    }
}

/// As one element.
fn single(out: &mut Out, condition: &Condition) {
    match condition {
        Condition::All(parts) if parts.is_empty() => out.line("<all/>"),
        Condition::Any(parts) if parts.is_empty() => out.line("<any/>"),
        Condition::All(parts) => out.within("all", |out| parts.iter().for_each(|part| single(out, part))),
        Condition::Any(parts) => out.within("any", |out| parts.iter().for_each(|part| single(out, part))),
        Condition::Not(inner) => out.within("not", |out| single(out, inner)),
        Condition::ChildrenOf(inner) => out.within("children-of", |out| side_by_side(out, inner)),
        Condition::CallersOf(inner) => out.within("callers-of", |out| side_by_side(out, inner)),
        Condition::Failed => out.line("<failed/>"),
        Condition::Number(field, comparison, value) => compared(out, *field, *comparison, *value),
        Condition::Address(first, last) => {
            out.line(&format!("<address>{}</address>", units::written_addresses(*first, *last)));
        }
        Condition::Text(field, pattern) => {
            let name = fields::name_of(Field::Text(*field));
            let (attribute, text) = match pattern {
                Pattern::Glob(text) => ("", text),
                Pattern::Regex(text) => (" regex=\"true\"", text),
            };
            out.line(&format!("<{name}{attribute}>{}</{name}>", escaped(text, false)));
        }
    }
}

fn compared(out: &mut Out, field: NumberField, comparison: Comparison, value: u64) {
    let name = fields::name_of(Field::Number(field));
    let attribute = COMPARISONS.iter().find(|(_, known)| *known == comparison).map_or("equal", |(name, _)| name);
    out.line(&format!("<{name} {attribute}=\"{}\"/>", units::written(field, value)));
}

/// Text as it is read back: blanks at its ends and characters that would not be seen by their numbers.
fn escaped(text: &str, everywhere: bool) -> String {
    let mut out = String::new();
    let inner = text.trim_start().len();
    let (start, end) = (text.len() - inner, text.trim_end().len());
    for (at, char) in text.char_indices() {
        let edge = char.is_whitespace() && (at < start || at >= end);
        let hidden = char.is_control() || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
        match char {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' if everywhere => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push_str(&format!("&#{};", u32::from(char))),
            char if edge && !everywhere || hidden => out.push_str(&format!("&#{};", u32::from(char))),
            char => out.push(char),
        }
    }
    out
}
