//! What the whole screen does about the lens: filter, range of time, undo.

use super::{Order, Root};

use crate::filter::{Filter, FilterError};
use crate::session::view::{About, Entry, Step, TimeRange};
use crate::ui::effect::{Ask, Effect, Popup, Said};
use crate::ui::keys::{Action, Context};
use crate::ui::layers::{News, Offer};
use crate::ui::lens::{Chosen, offers, words};
use crate::ui::screens::ScreenId;
use crate::ui::theme::Role;

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
        let says_more = match self.current {
            ScreenId::Calls | ScreenId::Events => true,
            ScreenId::Overview => action == Action::Span,
            _ => false,
        };
        let has_row = says_more && self.screen().row_text().is_some();
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
            ScreenId::Overview | ScreenId::Memory if self.screen().row_text().is_some() && action == Action::Like => {
                "no filter can say what this row is".to_owned()
            }
            ScreenId::Overview if self.screen().row_text().is_some() => "no filter can say what this row is".to_owned(),
            ScreenId::Overview => format!("no row is chosen yet: {step} goes to one"),
            ScreenId::Calls | ScreenId::Heatmap | ScreenId::Events => format!("there is no row {what} here"),
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

    /// Takes the filter as its file has it now.
    pub fn take_filter(&mut self, read: Result<Filter, FilterError>) {
        self.notice = Some(match read {
            Err(error) => format!("{error}; the filter stays what it was until the file can be read"),
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

    /// Takes the filters as they are in the user's folder now.
    pub fn take_filters(&mut self) {
        let before = self.lenses.lens();
        if let Some(said) = self.lenses.read_names_again() {
            self.notice = Some(said);
        }
        if self.lenses.lens() != before {
            self.changed();
        }
        self.renew_filters();
    }
}
