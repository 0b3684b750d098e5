//! What the whole screen does about search, finder and command palette.

use super::{Order, Root};
use crate::session::view::{Entry, SearchAnswer, Step, Target};
use crate::ui::command;
use crate::ui::effect::{Ask, Effect, Goal, Popup, Said, Scope};
use crate::ui::keys::Context;
use crate::ui::layers::picker::{Item, Picker, Then};
use crate::ui::layers::{News, finder, palette};
use crate::ui::screens::ScreenId;
use crate::ui::search::Move;
use crate::ui::text::format;
use crate::ui::theme::{Role, Theme};

impl Root {
    /// Takes what was typed into a prompt or a list.
    pub(super) fn said(&mut self, ask: Ask, said: Said, text: &str) {
        let before = self.history(ask).last().cloned();
        if ask == Ask::Filter && said == Said::Entered && !self.takes_filter(text) {
            return;
        }
        if said == Said::Entered {
            self.layers.pop();
            self.remember(ask, text);
        }
        match (ask, said) {
            (Ask::Search, _) => self.said_search(said, text, before.as_deref()),
            (Ask::Finder, Said::Typed) => self.search.ask_names(text, finder::NAMES),
            (Ask::Finder, _) => self.search.ask_no_more(),
            (Ask::Filter, _) => self.said_filter(said, text),
            (Ask::Name, Said::Entered) => self.named(text),
            (Ask::Name, Said::Cancelled) => self.naming = None,
            (Ask::Palette | Ask::Marks | Ask::Name, _) => {}
        }
    }

    pub(super) fn begin_search(&mut self) -> Order {
        let (place, from) = (self.screen().place(), self.screen().search_from(self.body().as_size()));
        self.search.begin(self.current, place, from);
        self.obey(Effect::Open(Popup::Prompt(Ask::Search, String::new())))
    }

    fn said_search(&mut self, said: Said, text: &str, before: Option<&str>) {
        let back = match said {
            Said::Typed => self.search.typed(text),
            Said::Entered => {
                self.search.entered(text, before);
                None
            }
            Said::Cancelled => self.search.cancelled(),
        };
        if let Some(place) = back {
            self.screens.get_mut(place.screen()).restore(place);
        }
        self.tell_search();
    }

    pub(super) fn next_match(&mut self, step: Step) -> Order {
        // What only the lens hides is gone to without it, which can be undone.
        if self.search.has_failed() && self.search.hidden() > 0 && !self.lenses.now().off {
            self.toggle_lens();
        }
        let from = self.screen().search_from(self.body().as_size());
        if !self.search.step(from, step) {
            self.notice = Some(self.fill("nothing is searched for yet: {search} searches"));
        }
        Order::None
    }

    /// Takes how the search stands. Says whether that changed anything.
    pub fn take_search(&mut self, answer: SearchAnswer) -> bool {
        let body = self.body().as_size();
        let screen = self.screens.get_mut(self.current);
        match self.search.take(answer) {
            Move::Stay => {}
            Move::To(found, origin) => {
                if let Some(place) = origin {
                    screen.restore(place);
                }
                screen.go_to(&found.target, body);
            }
            Move::Back(place) => screen.restore(place),
            Move::Names(entries, count) => {
                self.take_names(entries, count);
                return true;
            }
            Move::About(about) => {
                self.take_about(about);
                return true;
            }
            Move::Source(source) => {
                self.take_source(source);
                return true;
            }
        }
        self.tell_search();
        true
    }

    /// Says how the search stands, in the prompt or where it was.
    fn tell_search(&mut self) {
        let local = self.search.pattern(self.current).and_then(|pattern| self.screen().matches(pattern));
        let local = local.map(|count| (format!("{} match here", format::grouped(count as u64)), Role::Dim));
        let mut note = local
            .or_else(|| self.search.note(&self.keymap.fill(Context::Prompt, "{back}"), &self.fill("{next-match}")));
        if let (Some((text, _)), Some(limits)) = (&mut note, self.screen().limits())
            && self.search.has_failed()
        {
            let limits = self.keymap.fill(self.screen().context(), limits);
            text.push_str(&format!(" among {limits}"));
        }
        match (self.layers.last_mut(), note) {
            (Some(layer), note) => {
                let (text, role) = note.unwrap_or((String::new(), Role::Dim));
                layer.take_news(&News::Note(text, role));
            }
            (None, Some((text, _))) => self.notice = Some(text),
            (None, None) => {}
        }
    }

    pub(super) fn open_finder(&mut self) -> Order {
        self.search.ask_names("", finder::NAMES);
        self.open_picker(Ask::Finder, finder::screens())
    }

    pub(super) fn open_palette(&mut self) -> Order {
        let items = palette::items(&self.keymap, self.screen().context(), &self.themes());
        self.open_picker(Ask::Palette, items)
    }

    fn themes(&self) -> Vec<String> {
        self.palettes.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn open_picker(&mut self, ask: Ask, items: Vec<Item>) -> Order {
        let history = self.history(ask);
        self.layers.push(Box::new(Picker::new(ask, items, history)));
        Order::None
    }

    fn take_names(&mut self, entries: Vec<Entry>, count: Option<u64>) {
        if self.is_filter_typed() {
            return self.offer_names(entries, count.is_some());
        }
        let Some(layer) = self.layers.last_mut().filter(|layer| layer.context() == Context::Finder) else { return };
        let note = match count {
            None => "searching".to_owned(),
            Some(1) => "1 name".to_owned(),
            Some(count) => format!("{} names", format::grouped(count)),
        };
        layer.take_news(&News::Note(note, Role::Dim));
        if count.is_some() {
            layer.take_news(&News::Items(finder::things(entries)));
        }
    }

    /// Goes to a thing of the trace: its row of the calls, or the events behind that.
    pub(super) fn go_to_thing(&mut self, entry: Entry, events: bool) {
        self.layers.pop();
        self.search.ask_no_more();
        if let Target::Memory(process, address) = entry.target {
            return self.show_pages(process, address);
        }
        let Target::Node { key, path } = entry.target else { return };
        let body = self.body().as_size();
        self.screens.calls.show(entry.grouping, key, &path, body);
        self.go(ScreenId::Calls);
        if events {
            let scope = Scope { grouping: entry.grouping, key, label: entry.label };
            self.screens.events.show_scope(Some(scope));
            self.go(ScreenId::Events);
        }
    }

    /// Does what was chosen in the palette.
    pub(super) fn do_chosen(&mut self, screen: Option<ScreenId>, action: crate::ui::keys::Action) -> Order {
        self.layers.pop();
        self.search.ask_no_more();
        if let Some(screen) = screen.filter(|screen| *screen != self.current) {
            self.go(screen);
        }
        let child = self.child;
        self.act(action, child)
    }

    pub(super) fn run_command(&mut self, line: &str) -> Order {
        self.layers.pop();
        self.remember(Ask::Palette, line);
        match command::run(line) {
            Ok(effect) => self.obey(effect),
            Err(problem) => {
                self.notice = Some(problem);
                Order::None
            }
        }
    }

    /// Goes to a place among the events.
    pub(super) fn go_among_events(&mut self, goal: Goal) {
        self.screens.events.show_goal(goal);
        if self.current != ScreenId::Events {
            self.go(ScreenId::Events);
        }
    }

    /// The marks as a list.
    pub(super) fn open_marks(&mut self) -> Order {
        if self.memory.marks.is_empty() {
            self.notice = Some(self.fill("there are no marks: {mark} sets one where you are"));
            return Order::None;
        }
        let items = self.memory.marks.iter().enumerate().rev().map(|(number, mark)| Item {
            kind: mark.place.screen().name(),
            label: mark.label.clone(),
            note: String::new(),
            then: Then::Mark(number),
        });
        let items = items.collect();
        self.open_picker(Ask::Marks, items)
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
}
