//! A config file's text taken apart.

use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::nearest;
use super::problem::{Place, Problem, Spelled};
use super::schema::{self, SETTINGS, Setting};
use super::value::{self, Value};
use super::{KeyLine, ThemeTable};

/// What a file says. What is wrong in it is left out, and told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The file, whether it is there or not; none if there is no place for one.
    pub file: Option<PathBuf>,
    /// Whether it was read.
    pub found: bool,
    /// Settings that it changes: their name, place and value.
    pub values: Vec<(&'static str, Place, Value)>,
    /// Lines of `[keys]` and `[keys.CONTEXT]`.
    pub keys: Vec<KeyLine>,
    /// The contexts that have a table.
    pub contexts: Vec<Spelled>,
    /// The user's own themes.
    pub themes: Vec<ThemeTable>,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

type Entry<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

struct Reader<'t> {
    text: &'t str,
    /// Lines that are no TOML: what the parser made up for them is not used.
    broken: Vec<usize>,
    config: Config,
}

/// Takes a text apart.
#[must_use]
pub fn read(text: &str) -> Config {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader { text, broken: Vec::new(), config: Config::default() };
    for error in &errors {
        let place = Place::of(text, error.span().map_or(0, |span| span.start));
        // One slip makes a parser stumble several times.
        if !reader.broken.contains(&place.line) {
            let told = error.message().lines().collect::<Vec<_>>().join("; ");
            reader.config.problems.push(Problem::error(place, format!("this is no TOML: {told}")));
            reader.broken.push(place.line);
        }
    }
    for entry in table.get_ref().iter() {
        reader.table(entry);
    }
    let mut config = reader.config;
    config.keys.sort_by_key(|line| line.keys.place);
    config.values.sort_by_key(|(_, place, _)| *place);
    config.problems.sort_by_key(|problem| problem.place);
    config
}

impl Reader<'_> {
    fn place<T>(&self, what: &Spanned<T>) -> Place {
        Place::of(self.text, what.span().start)
    }

    fn wrong(&mut self, place: Place, text: String) {
        if !self.broken.contains(&place.line) {
            self.config.problems.push(Problem::error(place, text));
        }
    }

    fn is_broken(&self, place: Place) -> bool {
        self.broken.contains(&place.line)
    }

    fn table(&mut self, (name, value): Entry<'_, '_>) {
        let place = self.place(name);
        let name = name.get_ref().as_ref();
        let known = || schema::tables().chain(["keys", "theme"]);
        let table = match value.get_ref() {
            DeValue::Table(table) => table,
            _ if known().any(|known| known == name) => {
                return self.wrong(place, format!("'{name}' is a table: write [{name}] and what is in it below"));
            }
            _ => {
                let inside = SETTINGS.iter().find(|setting| schema::parts(setting).1 == name);
                let hint = match inside {
                    Some(setting) => format!("; it belongs under [{}]", schema::parts(setting).0),
                    None => nearest::hint(name, known()),
                };
                return self.wrong(place, format!("there is no setting '{name}' outside of tables{hint}"));
            }
        };
        match name {
            "keys" => table.iter().for_each(|entry| self.key(None, entry)),
            "theme" => table.iter().for_each(|entry| self.theme(entry)),
            _ if schema::tables().any(|known| known == name) => {
                table.iter().for_each(|entry| self.setting(name, entry));
            }
            _ => self.wrong(place, format!("there is no table [{name}]{}", nearest::hint(name, known()))),
        }
    }

    fn setting(&mut self, table: &str, (name, value): Entry<'_, '_>) {
        let (place, value_place) = (self.place(name), self.place(value));
        let name = name.get_ref().as_ref();
        let in_table = || SETTINGS.iter().filter(|setting| schema::parts(setting).0 == table);
        let Some(setting) = in_table().find(|setting| schema::parts(setting).1 == name) else {
            let hint = nearest::hint(name, in_table().map(|setting| schema::parts(setting).1));
            return self.wrong(place, format!("there is no setting '{name}' under [{table}]{hint}"));
        };
        if self.is_broken(value_place) {
            return;
        }
        match value::read(self.text, setting.kind, value) {
            Ok(value) => self.config.values.push((setting.name, value_place, value)),
            Err((place, told)) => self.wrong(place, told),
        }
    }

    fn key(&mut self, context: Option<&Spelled>, (keys, value): Entry<'_, '_>) {
        let keys = Spelled { text: keys.get_ref().to_string(), place: self.place(keys) };
        let place = self.place(value);
        match (value.get_ref(), context) {
            (DeValue::String(action), _) if !self.is_broken(place) => {
                let action = Spelled { text: action.to_string(), place };
                self.config.keys.push(KeyLine { context: context.cloned(), keys, action });
            }
            (DeValue::Table(table), None) => {
                table.iter().for_each(|entry| self.key(Some(&keys), entry));
                self.config.contexts.push(keys);
            }
            (other, _) => {
                let told = format!("an action's name in quotes is expected, or \"none\", not {}", other.type_str());
                self.wrong(place, told);
            }
        }
    }

    fn theme(&mut self, (name, value): Entry<'_, '_>) {
        let name = Spelled { text: name.get_ref().to_string(), place: self.place(name) };
        let DeValue::Table(table) = value.get_ref() else {
            let told = format!("a theme is a table: write [theme.{name}]; the one to use is `theme` under [look]");
            return self.wrong(name.place, told);
        };
        let mut lines = Vec::new();
        for (role, value) in table.iter() {
            let (role_place, place) = (self.place(role), self.place(value));
            match value.get_ref() {
                DeValue::String(text) if !self.is_broken(place) => {
                    let role = Spelled { text: role.get_ref().to_string(), place: role_place };
                    lines.push((role, Spelled { text: text.to_string(), place }));
                }
                other => {
                    let told = format!("attributes and colours in quotes are expected, not {}", other.type_str());
                    self.wrong(place, told);
                }
            }
        }
        self.config.themes.push(ThemeTable { name, lines });
    }
}

impl Config {
    /// A setting's value: the file's, or the default.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value> {
        let set = self.values.iter().find(|(known, ..)| *known == name).map(|(_, _, value)| value.clone());
        set.or_else(|| SETTINGS.iter().find(|setting| setting.name == name).and_then(default))
    }

    /// Where the file sets it.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<Place> {
        self.values.iter().find(|(known, ..)| *known == name).map(|(_, place, _)| *place)
    }

    /// A word that is set.
    #[must_use]
    pub fn word(&self, name: &str) -> String {
        match self.value(name) {
            Some(Value::Word(word)) => word,
            _ => String::new(),
        }
    }
}

/// What a setting is if nothing is said.
#[must_use]
pub fn default(setting: &Setting) -> Option<Value> {
    let text = format!("value = {}", setting.default);
    let table = DeTable::parse(&text).ok()?;
    let (_, value) = table.get_ref().iter().next()?;
    value::read(&text, setting.kind, value).ok()
}
