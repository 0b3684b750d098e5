//! What the whole screen does about filters that have a name: the panel, and their files.

use std::path::Path;

use super::{Order, Root};
use crate::filter::{Filter, Listed, Spelling};
use crate::session::safe::safe;
use crate::ui::effect::{Ask, Effect, Popup};
use crate::ui::keys::Context;
use crate::ui::layers::News;
use crate::ui::layers::filters::{self, Filters};
use crate::ui::layers::picker::{Item, Then};
use crate::ui::lens::{Chosen, line};

impl Root {
    /// Opens the panel of filters.
    pub(super) fn open_filters(&mut self) -> Order {
        self.layers.push(Box::new(Filters::new(self.filters())));
        Order::None
    }

    /// The filters that can be named, as a list; the one in force first.
    fn filters(&self) -> Vec<Item> {
        let item = |kind, text: &str, note: String| Item {
            kind,
            label: text.to_owned(),
            note,
            then: Then::Filter(text.to_owned()),
        };
        let now = self.lenses.now().filter.as_ref();
        let mut items: Vec<Item> = now
            .map(|now| {
                item(
                    filters::IN_FORCE,
                    &now.text,
                    if self.lenses.now().off { "switched off".to_owned() } else { String::new() },
                )
            })
            .into_iter()
            .collect();
        items.extend(self.lenses.named().into_iter().map(|listed| {
            let kind = if listed.path.is_some() { filters::YOURS } else { filters::PRESET };
            let note = match &listed.filter {
                Ok(filter) if filter.description.is_empty() => line(filter),
                Ok(filter) => filter.description.clone(),
                Err(error) => error.to_string(),
            };
            item(kind, &listed.name, safe(&note).into_owned())
        }));
        items
    }

    /// Shows in the panel what has changed.
    pub(super) fn renew_filters(&mut self) {
        let items = self.filters();
        if let Some(layer) = self.layers.last_mut().filter(|layer| layer.context() == Context::Filters) {
            layer.take_news(&News::Items(items));
        }
    }

    /// Asks for a name: for the filter in force, or for the one of this name.
    pub(super) fn ask_name(&mut self, of: Option<String>) -> Order {
        if of.is_none() && self.lenses.now().filter.is_none() {
            self.notice = Some(self.fill("there is no filter to save: {filter} writes one"));
            return Order::None;
        }
        let text = of.clone().unwrap_or_default();
        self.naming = Some(of);
        self.obey(Effect::Open(Popup::Prompt(Ask::Name, text)))
    }

    /// Takes the name that was typed.
    pub(super) fn named(&mut self, name: &str) {
        match self.naming.take() {
            Some(None) => self.save_filter(name.trim()),
            Some(Some(old)) => {
                let done = rename(&self.lenses.named(), &old, name.trim());
                if done.is_ok() {
                    self.lenses.renamed(&old, name.trim());
                }
                self.notice = Some(done.unwrap_or_else(|why| why));
            }
            None => {}
        }
        self.renew_filters();
    }

    /// Deletes one of the user's filters. What is seen through stays.
    pub(super) fn delete_filter(&mut self, name: &str) {
        let listed = self.lenses.named().into_iter().find(|listed| listed.name == name);
        if let Some(path) = listed.and_then(|listed| listed.path) {
            self.notice = Some(match std::fs::remove_file(&path) {
                Ok(()) => format!("deleted {}", path.display()),
                Err(error) => format!("{}: {error}", path.display()),
            });
        }
        self.renew_filters();
    }

    /// Saves the filter in force under a name.
    pub(super) fn save_filter(&mut self, name: &str) {
        self.notice = Some(match self.lenses.now().filter.clone() {
            None => self.fill("there is no filter to save: {filter} writes one"),
            Some(filter) => match save(self.lenses.folder(), name, &filter) {
                Ok(path) => format!("saved as {path}; :filter {name} brings it back"),
                Err(why) => why,
            },
        });
    }
}

/// Gives the user's filter another name. Says what was done, or why not.
fn rename(listed: &[Listed], old: &str, name: &str) -> Result<String, String> {
    let path = listed.iter().find(|listed| listed.name == old).and_then(|listed| listed.path.clone());
    let path = path.ok_or_else(|| format!("there is no filter '{old}' of yours any more"))?;
    check(name)?;
    let kind = path.extension().unwrap_or_default();
    let to = path.with_file_name(name).with_extension(kind);
    if to == path {
        return Ok(format!("it is called {name} already"));
    }
    let failed = |error: std::io::Error| format!("{}: {error}", to.display());
    // What is there already is not written over: a link to an existing name fails.
    std::fs::hard_link(&path, &to).map_err(failed)?;
    std::fs::remove_file(&path).map_err(failed)?;
    Ok(format!("{old} is called {name} now"))
}

/// Whether this can be the name of a file.
fn check(name: &str) -> Result<(), String> {
    let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(format!("'{name}' is no name for a file: letters, digits, - and _ are"));
    }
    Ok(())
}

/// Writes a filter into the user's folder. Gives the file's name, or says why not.
fn save(folder: Option<&Path>, name: &str, chosen: &Chosen) -> Result<String, String> {
    check(name)?;
    let folder = folder.ok_or("there is no folder for filters: set HOME or XDG_CONFIG_HOME")?;
    let path = folder.join(format!("{name}.toml"));
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let filter = Filter { name: name.to_owned(), ..Filter::from((*chosen.condition).clone()) };
    std::fs::create_dir_all(folder).map_err(failed)?;
    // Whoever has a filter of that name may want to keep it.
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
    std::io::Write::write_all(&mut file, filter.write(Spelling::Toml).as_bytes()).map_err(failed)?;
    Ok(path.display().to_string())
}
