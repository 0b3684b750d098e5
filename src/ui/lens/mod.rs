//! What is looked through, as the user thinks of it: a filter with the text it was written as, a range of time, and
//! whether both are switched off for now. Each change can be undone.

pub mod file;
pub mod offers;
pub mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::filter::{Condition, Filter, FilterError, Listed, Spelling, expression};
use crate::session::view::{Lens, TimeRange};

/// Changes that can be undone.
const UNDONE: usize = 100;

/// A filter as it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// As it was typed, or its name.
    pub text: String,
    /// What it asks.
    pub condition: Arc<Condition>,
    /// The text is a name: what it stands for may be changed while it is looked through.
    pub by_name: bool,
}

impl Chosen {
    /// A filter under this name; `None` if everything fits it.
    #[must_use]
    pub fn named(text: &str, condition: Condition) -> Option<Self> {
        let condition = condition.normal();
        let by_name = false;
        (!condition.is_everything()).then(|| Self { text: text.to_owned(), condition: Arc::new(condition), by_name })
    }

    /// A filter that has this name, which may let everything through now and not later.
    #[must_use]
    pub fn by_name(name: &str, condition: Condition) -> Self {
        Self { text: name.to_owned(), condition: Arc::new(condition.normal()), by_name: true }
    }

    /// A filter from a file, which may let everything through now and not later.
    #[must_use]
    pub fn read(filter: &Filter) -> Self {
        let text = line(filter);
        let text = if text.is_empty() { "everything".to_owned() } else { text };
        Self { text, condition: Arc::new(filter.condition.clone()), by_name: false }
    }

    /// A filter by what it asks.
    #[must_use]
    pub fn of(condition: Condition) -> Option<Self> {
        let condition = condition.normal();
        Self::named(&expression::write(&condition), condition)
    }
}

/// One way to look.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Look {
    /// What is shown; `None`: everything.
    pub filter: Option<Chosen>,
    /// The time; `None`: all of it.
    pub range: Option<TimeRange>,
    /// Filter and range are kept, but not looked through.
    pub off: bool,
}

impl Look {
    /// Whether there is nothing to switch off.
    #[must_use]
    pub const fn is_clear(&self) -> bool {
        self.filter.is_none() && self.range.is_none()
    }
}

/// What is looked through now, and what was before.
#[derive(Clone, Debug, Default)]
pub struct Lenses {
    now: Look,
    before: Vec<Look>,
    /// What the filter would be, while it is typed.
    preview: Option<Option<Chosen>>,
    /// What "like this row" added last, and the filter that this left.
    liked: Option<(Condition, Option<Chosen>)>,
    /// What is typed now cannot be read; what could be read last is seen.
    unread: bool,
    /// The folder of the user's filters.
    folder: Option<PathBuf>,
    /// Filters that can be named, while one is typed.
    listed: Vec<Listed>,
}

impl Lenses {
    /// Begins with this, and with the folder of the user's filters.
    #[must_use]
    pub fn new(now: Look, folder: Option<PathBuf>) -> Self {
        Self { now, folder, ..Self::default() }
    }

    /// What is kept now.
    #[must_use]
    pub const fn now(&self) -> &Look {
        &self.now
    }

    /// What is seen now: what is typed, if something is.
    #[must_use]
    pub fn seen(&self) -> Look {
        match &self.preview {
            Some(filter) => Look { filter: filter.clone(), range: self.now.range.clone(), off: false },
            None => self.now.clone(),
        }
    }

    /// What the session is to select.
    #[must_use]
    pub fn lens(&self) -> Lens {
        let Look { filter, range, off } = self.seen();
        if off {
            return Lens::default();
        }
        Lens { condition: filter.map(|filter| filter.condition), range }
    }

    /// Looks so from now on. Says whether that is a change.
    pub fn change(&mut self, look: Look) -> bool {
        self.liked = None;
        self.preview = None;
        if look == self.now {
            return false;
        }
        if self.before.len() >= UNDONE {
            self.before.remove(0);
        }
        self.before.push(std::mem::replace(&mut self.now, look));
        true
    }

    /// Undoes the last change, if there is one.
    pub fn undo(&mut self) -> bool {
        self.liked = None;
        self.preview = None;
        let before = self.before.pop();
        let undone = before.is_some();
        self.now = before.unwrap_or_else(|| std::mem::take(&mut self.now));
        undone
    }

    /// Looks through this filter.
    pub fn filter(&mut self, filter: Option<Chosen>) -> bool {
        self.change(Look { filter, range: self.now.range.clone(), off: false })
    }

    /// Puts another reading of the same filter in its place: no change that could be undone.
    pub fn replace(&mut self, from: &Chosen, to: &Chosen) {
        for look in self.before.iter_mut().chain([&mut self.now]) {
            if look.filter.as_ref() == Some(from) {
                look.filter = Some(to.clone());
            }
        }
    }

    /// Takes filters that are looked through by their names as they are now, also where a change would be undone. Gives
    /// what is to be said of the one in force.
    pub fn read_names_again(&mut self) -> Option<String> {
        let listed = self.named();
        let looks = self.before.iter().chain([&self.now]);
        let named: Vec<Chosen> = looks.filter_map(|look| look.filter.clone()).filter(|filter| filter.by_name).collect();
        let mut said = None;
        for from in named {
            let name = &from.text;
            let is_in_force = self.now.filter.as_ref() == Some(&from);
            let words = match listed.iter().find(|listed| listed.name == *name).map(|listed| &listed.filter) {
                None => Some(format!("there is no filter {name} any more; what it was is kept")),
                Some(Err(error)) => Some(format!("{error}; the filter stays what it was until the file can be read")),
                Some(Ok(filter)) => {
                    let to = Chosen::by_name(name, filter.condition.clone());
                    let words = (to != from).then(|| format!("the filter {name} has changed and was read again"));
                    self.replace(&from, &to);
                    words
                }
            };
            said = if is_in_force { words } else { said };
        }
        said
    }

    /// A filter has got another name.
    pub fn renamed(&mut self, old: &str, name: &str) {
        let filters = self.before.iter_mut().chain([&mut self.now]).filter_map(|look| look.filter.as_mut());
        filters
            .filter(|filter| filter.by_name && filter.text == old)
            .for_each(|filter| name.clone_into(&mut filter.text));
    }

    /// Looks at this time.
    pub fn range(&mut self, range: Option<TimeRange>) -> bool {
        let range = range.filter(|range| *range != TimeRange::Time(0, u64::MAX));
        let off = self.now.off && range.is_none();
        self.change(Look { filter: self.now.filter.clone(), range, off })
    }

    /// Looks at everything, at all time.
    pub fn clear(&mut self) -> bool {
        self.change(Look::default())
    }

    /// Switches the lens off, or on again. False if there is none.
    pub fn toggle(&mut self) -> bool {
        if self.now.is_clear() {
            return false;
        }
        let (off, liked) = (!self.now.off, self.liked.take());
        self.change(Look { off, ..self.now.clone() });
        self.liked = liked;
        true
    }

    /// Asks for this besides, or no longer.
    pub fn like(&mut self, condition: Condition) {
        let condition = condition.normal();
        let parts = self.parts();
        let without: Vec<Condition> = parts.iter().filter(|part| **part != condition).cloned().collect();
        if without.len() < parts.len() {
            self.filter(Chosen::of(Condition::All(without)));
            return;
        }
        let base = self.now.filter.clone();
        let all = parts.into_iter().chain([condition.clone()]).collect();
        self.filter(Chosen::of(Condition::All(all)));
        self.liked = Some((condition, base));
    }

    /// Asks for the opposite: of what "like this row" has just added, else of the whole filter. False without one.
    pub fn invert(&mut self) -> bool {
        let Some(filter) = &self.now.filter else { return false };
        match self.liked.take() {
            Some((condition, base)) => {
                let opposite = Condition::Not(Box::new(condition)).normal();
                let all = base.iter().map(|base| (*base.condition).clone()).chain([opposite.clone()]).collect();
                self.filter(Chosen::of(Condition::All(all)));
                self.liked = Some((opposite, base));
            }
            None => {
                let opposite = Condition::Not(Box::new((*filter.condition).clone()));
                self.filter(Chosen::of(opposite));
            }
        }
        true
    }

    /// What all must hold of the filter.
    fn parts(&self) -> Vec<Condition> {
        match self.now.filter.as_ref().map(|filter| &*filter.condition) {
            None => Vec::new(),
            Some(Condition::All(parts)) => parts.clone(),
            Some(other) => vec![other.clone()],
        }
    }

    /// A filter is being typed. Gives the text to begin with.
    pub fn begin(&mut self) -> String {
        self.listed = self.named();
        self.unread = false;
        self.now.filter.as_ref().map_or_else(String::new, |filter| filter.text.clone())
    }

    /// Filters that have a name, as they are now.
    #[must_use]
    pub fn named(&self) -> Vec<Listed> {
        crate::filter::listed_in(self.folder.as_deref())
    }

    /// The folder of the user's filters.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Those that had one when typing began.
    #[must_use]
    pub fn listed(&self) -> &[Listed] {
        &self.listed
    }

    /// Shows what is typed, if it is a filter.
    ///
    /// # Errors
    /// If it is none; what was seen before is seen still.
    pub fn typed(&mut self, text: &str) -> Result<(), FilterError> {
        self.unread = true;
        self.preview = Some(self.read(text)?);
        self.unread = false;
        Ok(())
    }

    /// Whether what is typed is what is seen.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        !self.unread
    }

    /// Keeps what was typed.
    ///
    /// # Errors
    /// If it is no filter; then it is typed still.
    pub fn entered(&mut self, text: &str) -> Result<(), FilterError> {
        let filter = self.read(text)?;
        self.filter(filter);
        Ok(())
    }

    /// What was typed is not meant.
    pub fn cancelled(&mut self) {
        self.preview = None;
    }

    /// Reads the name of a filter, or an expression. What is in force already is not read anew.
    fn read(&self, text: &str) -> Result<Option<Chosen>, FilterError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(same) = self.now.filter.as_ref().filter(|filter| filter.text == text) {
            return Ok(Some(same.clone()));
        }
        let condition = match self.listed.iter().find(|listed| listed.name == text) {
            Some(listed) => return Ok(Some(Chosen::by_name(text, listed.filter.clone()?.condition))),
            // In one line it can be read in the heading, and changed.
            None if text.starts_with('<') => {
                return Ok(Some(Chosen::read(&Filter::of_bytes("", None, text.as_bytes())?)));
            }
            None => expression::read("", text)?,
        };
        Ok(Chosen::named(text, condition))
    }
}

/// A filter in one line.
#[must_use]
pub fn line(filter: &Filter) -> String {
    filter.write(Spelling::Expression).trim().to_owned()
}

#[cfg(test)]
mod tests;
