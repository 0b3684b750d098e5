//! Writing TOML.

use super::super::fields::{self, Field};
use super::super::terms::{COMPARISONS, Group};
use super::super::{Comparison, Condition, Filter, NumberField, Pattern, units};

/// A table: keys with their values as they are written. Several values of a key are an array.
#[derive(Default)]
struct Table(Vec<(String, Vec<String>)>);

impl Table {
    fn push(&mut self, key: &str, value: String) {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, values)) => values.push(value),
            None => self.0.push((key.to_owned(), vec![value])),
        }
    }

    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(known, _)| known == key)
    }

    /// `all` and `any` are always arrays; so is what has several values.
    fn entries(&self) -> Vec<String> {
        let entry = |(key, values): &(String, Vec<String>)| match values.as_slice() {
            [one] if !matches!(key.as_str(), "all" | "any") => format!("{key} = {one}"),
            several => format!("{key} = [{}]", several.join(", ")),
        };
        self.0.iter().map(entry).collect()
    }

    fn inline(&self) -> String {
        if self.0.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", self.entries().join(", ")) }
    }
}

/// A filter as a document.
#[must_use]
pub fn write(filter: &Filter) -> String {
    let condition = filter.condition.clone().normal();
    let mut out = String::new();
    for (key, value) in [("name", &filter.name), ("description", &filter.description)] {
        if !value.is_empty() {
            out.push_str(&format!("{key} = {}\n", quote(value)));
        }
    }
    let group = Group::of(&condition);
    let mut include = Table::default();
    included(&mut include, &group);
    let mut exclude = Table::default();
    for part in &group.excluded {
        // `any` and `all` make one entry each, of which none may hold.
        single(&mut exclude, part);
    }
    let mut threshold = Table::default();
    for (field, value) in &group.least {
        let name = fields::name_of(Field::Number(*field));
        if threshold.has(name) {
            compared(&mut include, *field, Comparison::AtLeast, *value);
        } else {
            threshold.push(name, quote(&units::written(*field, *value)));
        }
    }
    for (name, table) in [("include", include), ("exclude", exclude), ("threshold", threshold)] {
        if !table.0.is_empty() {
            let between = if out.is_empty() { "" } else { "\n" };
            out.push_str(&format!("{between}[{name}]\n"));
            table.entries().iter().for_each(|entry| out.extend([entry.as_str(), "\n"]));
        }
    }
    out
}

fn included(table: &mut Table, group: &Group) {
    for part in group.plain.iter().flat_map(|(_, parts)| parts) {
        single(table, part);
    }
    for part in &group.others {
        match part {
            // It is not to be taken for an alternative, nor are several of these for one.
            Condition::Text(..) | Condition::Address(..) => table.push("all", alone(part)),
            Condition::Any(_) if table.has("any") => table.push("all", alone(part)),
            other => single(table, other),
        }
    }
}

/// A table of its own.
fn alone(condition: &Condition) -> String {
    let mut table = Table::default();
    match condition {
        Condition::All(parts) if !parts.is_empty() => {
            let group = Group::of(condition);
            included(&mut table, &group);
            for (field, value) in &group.least {
                compared(&mut table, *field, Comparison::AtLeast, *value);
            }
            for part in &group.excluded {
                table.push("not", alone(part));
            }
        }
        Condition::Not(inner) => table.push("not", alone(inner)),
        other => single(&mut table, other),
    }
    table.inline()
}

/// Adds one condition to a table.
fn single(table: &mut Table, condition: &Condition) {
    match condition {
        Condition::All(parts) => push_all(table, "all", parts),
        Condition::Any(parts) => push_all(table, "any", parts),
        Condition::Not(inner) => table.push("not", alone(inner)),
        Condition::ChildrenOf(inner) => table.push("children-of", which(inner)),
        Condition::CallersOf(inner) => table.push("callers-of", which(inner)),
        Condition::Failed => table.push("failed", "true".to_owned()),
        Condition::Number(field, comparison, value) => compared(table, *field, *comparison, *value),
        Condition::Address(first, last) => {
            table.push("address", quote(&units::written_addresses(*first, *last)));
        }
        Condition::Text(field, pattern) => {
            let value = match pattern {
                Pattern::Glob(text) => quote(text),
                Pattern::Regex(text) => format!("{{ regex = {} }}", quote(text)),
            };
            table.push(fields::name_of(Field::Text(*field)), value);
        }
    }
}

fn push_all(table: &mut Table, key: &str, parts: &[Condition]) {
    if parts.is_empty() {
        table.0.push((key.to_owned(), Vec::new()));
    }
    for part in parts {
        table.push(key, alone(part));
    }
}

/// Which calls `children-of` and `callers-of` are about; all of them if need be.
fn which(condition: &Condition) -> String {
    if condition.is_everything() { "{ all = [] }".to_owned() } else { alone(condition) }
}

fn compared(table: &mut Table, field: NumberField, comparison: Comparison, value: u64) {
    let name = fields::name_of(Field::Number(field));
    let known = COMPARISONS.iter().find(|(_, known)| *known == comparison).map_or("equal", |(name, _)| name);
    table.push(name, format!("{{ {known} = {} }}", quote(&units::written(field, value))));
}

/// A string as TOML writes it.
fn quote(text: &str) -> String {
    let hidden = |char: char| char.is_control() || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    let must_escape = text.contains(|char| hidden(char) || char == '\'');
    if text.contains(['"', '\\']) && !must_escape {
        return format!("'{text}'");
    }
    let mut quoted = String::from('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            char if hidden(char) => quoted.push_str(&format!("\\u{:04X}", u32::from(char))),
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}
