//! A filter with its name, read from a file or a text in whichever spelling, and written.

use std::path::Path;

use super::error::FilterError;
use super::{Condition, expression, toml, xml};

/// Largest file that is read as a filter, bytes.
const MAX_BYTES: usize = 1 << 20;

/// A filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// What it is called; may be empty.
    pub name: String,
    /// What it is for, in a line; may be empty.
    pub description: String,
    /// What is asked of events, in the normal form.
    pub condition: Condition,
}

impl Default for Filter {
    fn default() -> Self {
        Self::from(Condition::everything())
    }
}

impl From<Condition> for Filter {
    fn from(condition: Condition) -> Self {
        Self { name: String::new(), description: String::new(), condition: condition.normal() }
    }
}

/// How a filter is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `<filter>`.
    Xml,
    /// Tables.
    Toml,
    /// One line.
    Expression,
}

impl Spelling {
    /// By the extension of a file's name, else by how the text begins.
    #[must_use]
    pub fn of(path: Option<&Path>, text: &str) -> Self {
        match path.and_then(Path::extension).and_then(|extension| extension.to_str()) {
            Some("xml") => return Self::Xml,
            Some("toml") => return Self::Toml,
            Some("expr") => return Self::Expression,
            _ => {}
        }
        let text = text.trim_start();
        let key = text.split(|char: char| char.is_whitespace() || char == '=').next().unwrap_or_default();
        let assigned = text[key.len()..].trim_start().starts_with('=');
        match text.chars().next() {
            Some('<') => Self::Xml,
            Some('#' | '[') => Self::Toml,
            _ if assigned && matches!(key, "name" | "description" | "include" | "exclude" | "threshold") => Self::Toml,
            _ => Self::Expression,
        }
    }
}

impl Filter {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no filter; with the place.
    pub fn read(path: &Path) -> Result<Self, FilterError> {
        let origin = path.to_string_lossy();
        let whole = |why: String| FilterError::whole(&origin, why);
        let unreadable = |error: std::io::Error| whole(format!("cannot be read: {error}"));
        let bytes = crate::files::read_small(path, MAX_BYTES).map_err(unreadable)?;
        if bytes.len() > MAX_BYTES {
            return Err(whole(format!("is larger than {} KiB, which no filter is", MAX_BYTES >> 10)));
        }
        if bytes.trim_ascii().is_empty() {
            // More likely one that was never written than one that means everything.
            return Err(whole("is empty; a filter that selects all is `everything`".to_owned()));
        }
        Self::of_bytes(&origin, Some(path), &bytes)
    }

    /// Reads a text. `origin` is what errors call it; its spelling is told by `path`, else by how it begins.
    ///
    /// # Errors
    /// If it is no filter; with the place.
    pub fn of_bytes(origin: &str, path: Option<&Path>, bytes: &[u8]) -> Result<Self, FilterError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let (before, _) = bytes.split_at(error.valid_up_to());
            let before = std::str::from_utf8(before).unwrap_or_default();
            FilterError::at(origin, before, before.len()..before.len(), "from here on it is not UTF-8 text")
        })?;
        if text.len() > MAX_BYTES {
            return Err(FilterError::whole(origin, format!("is larger than {} KiB", MAX_BYTES >> 10)));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let filter = match Spelling::of(path, text) {
            Spelling::Xml => xml::read(origin, text),
            Spelling::Toml => toml::read(origin, text),
            Spelling::Expression => expression::read(origin, text).map(Self::from),
        }?;
        // XML cannot say it, so that it could not be written in every spelling.
        if filter.name.contains('\0') || filter.description.contains('\0') {
            return Err(FilterError::whole(origin, "its name or description has a NUL character, which no text has"));
        }
        Ok(filter)
    }

    /// Writes it. An expression has no name and no description.
    #[must_use]
    pub fn write(&self, spelling: Spelling) -> String {
        match spelling {
            Spelling::Xml => xml::write(self),
            Spelling::Toml => match toml::write(self) {
                // A file with nothing in it is refused.
                text if text.is_empty() => "# everything\n".to_owned(),
                text => text,
            },
            Spelling::Expression => expression::write(&self.condition) + "\n",
        }
    }
}
