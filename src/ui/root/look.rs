//! What the whole screen does about the lens: filter, range of time, undo.

use super::{Order, Root};
use std::path::Path;

use crate::filter::{self as filtering, Filter, FilterError, Listed};
use crate::session::view::{About, Entry, Step, TimeRange};
use crate::ui::effect::{Ask, Effect, Popup, Said};
use crate::ui::keys::{Action, Context};
use crate::ui::layers::filters::{self, Filters};
use crate::ui::layers::picker::{Item, Then};
use crate::ui::layers::{News, Offer};
use crate::ui::lens::{Chosen, line, offers, words};
use crate::ui::screens::ScreenId;
use crate::ui::theme::{Role, Theme};

impl Root {
    /// Edits the filter.
    pub(super) fn begin_filter(&mut self) -> Order {
        self.filter_from = Some(self.screen().place());
        let text = self.lenses.begin();
        let order = self.obey(Effect::Open(Popup::Prompt(Ask::Filter, text.clone())));
        self.offer(&text);
        order
    }

    /// Whether what was typed is a filter; says what is wrong if not.
    pub(super) fn takes_filter(&mut self, text: &str) -> bool {
        match self.lenses.typed(text) {
            Ok(()) => true,
            Err(error) => {
                self.note(error.message_with_place(), Role::Bad);
                false
            }
        }
    }

    pub(super) fn said_filter(&mut self, said: Said, text: &str) {
        match said {
            Said::Typed => {
                self.screens.get_mut(self.current).stay();
                if self.takes_filter(text) {
                    self.note("counting".to_owned(), Role::Dim);
                }
                self.offer(text);
            }
            Said::Entered => {
                self.filter_from = None;
                self.search.ask_no_more();
                // It has been read already, or the prompt would stand there still.
                if let Err(error) = self.lenses.entered(text) {
                    self.notice = Some(error.message_with_place());
                }
            }
            Said::Cancelled => {
                self.search.ask_no_more();
                self.lenses.cancelled();
                if let Some(place) = self.filter_from.take() {
                    self.screens.get_mut(place.screen()).restore(place);
                }
            }
        }
    }

    fn offer(&mut self, text: &str) {
        let offers = offers::of(text, self.lenses.listed());
        self.slot = offers::slot(text);
        match &self.slot {
            Some(slot) => self.search.ask_names_of(slot.kind, &slot.begun, offers::MOST),
            None => self.search.ask_no_more(),
        }
        if let Some(layer) = self.layers.last_mut() {
            layer.take_news(&News::Offers(offers));
        }
    }

    /// Whether the keys go to a filter that is typed.
    pub(super) fn is_filter_typed(&self) -> bool {
        self.filter_from.is_some() && self.layers.last().is_some_and(|layer| layer.context() == Context::Prompt)
    }

    /// Offers names of the trace for the filter that is typed.
    pub(super) fn offer_names(&mut self, entries: Vec<Entry>, complete: bool) {
        let Some(slot) = self.slot.as_ref().filter(|_| complete) else { return };
        let mut offers: Vec<Offer> = entries.iter().filter_map(|entry| slot.offer(entry)).collect();
        let mut seen = std::collections::BTreeSet::new();
        offers.retain(|offer| seen.insert(offer.text.clone()));
        if let Some(layer) = self.layers.last_mut() {
            layer.take_news(&News::Offers(offers));
        }
    }

    fn note(&mut self, text: String, role: Role) {
        if let Some(layer) = self.layers.last_mut() {
            layer.take_news(&News::Note(text, role));
        }
    }

    /// Says beside a filter that is typed how much it lets through. Says whether one is.
    pub fn tell_lens(&mut self) -> bool {
        if !self.is_filter_typed() {
            return false;
        }
        let lens = self.status.as_ref().and_then(|status| status.lens.as_ref());
        let told = lens.map(|lens| (words::live(lens), if lens.error.is_some() { Role::Bad } else { Role::Strong }));
        match told {
            Some((text, role)) if self.lenses.is_read() => self.note(text, role),
            _ => return false,
        }
        true
    }

    fn changed(&mut self) -> Order {
        self.screens.get_mut(self.current).stay();
        Order::None
    }

    /// Adds what the cursor's row is like to the filter, or takes it away again.
    pub(super) fn filter_like(&mut self) -> Order {
        match self.screen().like() {
            Some(condition) => {
                self.lenses.like(condition);
                self.changed()
            }
            None => self.ask_about(Action::Like),
        }
    }

    /// Asks what the cursor's row is about, for this action.
    fn ask_about(&mut self, action: Action) -> Order {
        let has_row = matches!(self.current, ScreenId::Calls | ScreenId::Events) && self.screen().row_text().is_some();
        if !has_row {
            self.notice = Some(self.no_row(action));
            return Order::None;
        }
        self.about = Some(action);
        let from = self.screen().search_from(self.body().as_size());
        self.search.ask_other(String::new(), from, Step::About);
        Order::None
    }

    /// Why an action has no row to go by, and what to do.
    fn no_row(&self, action: Action) -> String {
        let what = if action == Action::Like { "that a filter could be like" } else { "with a time of its own" };
        let step = self.keymap.key_of(self.current_context(), Action::Down).unwrap_or_default();
        match self.current {
            ScreenId::Overview if self.screen().row_text().is_some() => "no filter can say what this row is".to_owned(),
            ScreenId::Overview if action == Action::Like => format!("no row is chosen yet: {step} goes to one"),
            ScreenId::Calls | ScreenId::Events => format!("there is no row {what} here"),
            _ => format!("there are no rows {what} here: go to the calls or the events"),
        }
    }

    fn current_context(&self) -> Context {
        self.screen().context()
    }

    /// Does what was to be done with what a row is about.
    pub(super) fn take_about(&mut self, about: About) {
        match (self.about.take(), about) {
            (Some(Action::Like), About { like: Some(condition), .. }) => {
                self.lenses.like(condition);
                self.changed();
            }
            (Some(Action::Span), About { span: Some(span), .. }) => drop(self.look_at(Some(span.into()))),
            (Some(Action::Like), _) => self.notice = Some("no filter can say what this row is".to_owned()),
            (Some(_), _) => self.notice = Some("of this row no time is known".to_owned()),
            (None, _) => {}
        }
    }

    pub(super) fn invert_filter(&mut self) -> Order {
        if !self.lenses.invert() {
            self.notice =
                Some(self.fill("no filter to invert: {filter} writes one, {filter-like} takes one from the row"));
            return Order::None;
        }
        self.changed()
    }

    pub(super) fn toggle_lens(&mut self) -> Order {
        let order = self.switch_lens();
        self.renew_filters();
        order
    }

    fn switch_lens(&mut self) -> Order {
        if !self.lenses.toggle() {
            self.notice = Some(self.fill("no filter and no range of time to switch off: {filter} writes a filter"));
            return Order::None;
        }
        self.changed()
    }

    pub(super) fn undo_lens(&mut self) -> Order {
        self.notice = Some(match self.lenses.undo() {
            true => format!("undone: now {}", words::whole(self.lenses.now())),
            false => "no change of filter or range of time is left to undo".to_owned(),
        });
        self.changed()
    }

    /// Looks at the time of the cursor's row.
    pub(super) fn look_at_span(&mut self) -> Order {
        match self.screen().span() {
            Some(span) => self.look_at(Some(span.into())),
            None => self.ask_about(Action::Span),
        }
    }

    /// Looks at this time.
    pub(super) fn look_at(&mut self, range: Option<TimeRange>) -> Order {
        let all = range.is_none();
        if !self.lenses.range(range) && all {
            self.notice = Some("all time is shown already".to_owned());
        }
        self.changed()
    }

    /// Looks through a filter by its name, or through an expression.
    pub(super) fn filter_by(&mut self, text: &str) {
        self.lenses.begin();
        match self.lenses.entered(text) {
            Ok(()) => drop(self.changed()),
            Err(error) => self.notice = Some(error.message_with_place()),
        }
    }

    pub(super) fn clear_lens(&mut self) {
        self.lenses.clear();
        self.changed();
    }

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
            item(kind, &listed.name, crate::session::safe::safe(&note).into_owned())
        }));
        items
    }

    /// Shows in the panel what has changed.
    fn renew_filters(&mut self) {
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

    /// Draws in another theme, until the end.
    pub(super) fn choose_theme(&mut self, name: &str) {
        match self.palettes.iter().find(|(known, _)| known == name) {
            Some((_, palette)) => self.theme = Theme::new(palette, self.theme.depth, self.theme.glyphs),
            None => {
                let names: Vec<&str> = self.palettes.iter().map(|(name, _)| name.as_str()).collect();
                self.notice = Some(format!("theme: '{name}' is not one of {}", names.join(", ")));
            }
        }
    }

    /// Takes the filter that was chosen from the list.
    pub(super) fn choose_filter(&mut self, text: &str) {
        self.layers.pop();
        self.filter_by(text);
    }

    /// Takes the filter as its file has it now.
    pub fn take_filter(&mut self, read: Result<Filter, FilterError>) {
        self.notice = Some(match read {
            Err(error) => format!("{error}; the filter stays what it was"),
            Ok(filter) => {
                let to = Chosen::read(&filter);
                if let Some(from) = self.from_file.replace(to.clone()) {
                    self.lenses.replace(&from, &to);
                    self.changed();
                }
                "the filter's file has changed and was read again".to_owned()
            }
        });
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
    std::io::Write::write_all(&mut file, filter.write(filtering::Spelling::Toml).as_bytes()).map_err(failed)?;
    Ok(path.display().to_string())
}
