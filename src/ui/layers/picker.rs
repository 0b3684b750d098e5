//! A text to type and a list of what fits it: the finder, the command palette, the marks.
//!
//! Some items it is given at the start; others the session finds while it is typed ([`News::Items`]).

use std::sync::Arc;

use ratatui::layout::{Rect, Size};

use super::{Layer, News};
use crate::session::search::Pattern;
use crate::session::view::Entry;
use crate::ui::command::{self, Command};
use crate::ui::effect::{Ask, Effect, Said};
use crate::ui::keys::{Action, Context};
use crate::ui::screens::{ScreenId, step_of};
use crate::ui::text::truncate;
use crate::ui::theme::Role;
use crate::ui::widgets::input::Input;
use crate::ui::widgets::list::Window;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::popup;

/// Cells of the popup, and of the words at the left of its rows.
const WIDTH: u16 = 100;
const KIND: u16 = 10;
/// Rows of the list.
const ROWS: u16 = 16;

/// What choosing an item does.
#[derive(Clone, Debug, PartialEq)]
pub enum Then {
    /// Shows a screen.
    Screen(ScreenId),
    /// Goes to a thing of the trace.
    Thing(Box<Entry>),
    /// Goes to a mark.
    Mark(usize),
    /// Looks through a filter.
    Filter(String),
    /// Runs a command.
    Line(String),
    /// Does what a key would do, on this screen.
    Act(Option<ScreenId>, Action),
    /// Waits for the command's arguments.
    Begin(&'static Command),
}

/// An item of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What kind of thing it is, in a word.
    pub kind: &'static str,
    /// What it is called: what is typed is looked for here.
    pub label: String,
    /// Said at the right.
    pub note: String,
    /// What choosing it does.
    pub then: Then,
}

/// The popup.
pub struct Picker {
    ask: Ask,
    input: Input,
    pattern: Option<Pattern>,
    /// All that it was given.
    fixed: Vec<Item>,
    /// What fits.
    shown: Vec<Item>,
    /// The first of these are of those that it was given.
    of_fixed: usize,
    note: (String, Role),
    window: Window,
}

impl Picker {
    /// A list of these.
    pub fn new(ask: Ask, fixed: Vec<Item>, history: Arc<Vec<String>>) -> Self {
        let shown: Vec<Item> = fixed.iter().filter(|item| !matches!(item.then, Then::Line(_))).cloned().collect();
        let of_fixed = shown.len();
        let input = Input::new("", history);
        let note = (String::new(), Role::Dim);
        Self { ask, input, pattern: None, fixed, shown, of_fixed, note, window: Window::default() }
    }

    fn changed(&mut self, changed: bool) -> Effect {
        if !changed {
            return Effect::None;
        }
        // Of a command's line only the command is looked for.
        let text = self.input.text();
        // Unless what follows it is one of a few names.
        let goes_on = self.fixed.iter().any(|item| goes_on(item, text));
        // Those are listed once something follows.
        let is_listed = |item: &&Item| text.contains(' ') || !matches!(item.then, Then::Line(_));
        let text = match self.ask {
            Ask::Palette if !goes_on => command::name_of(text).unwrap_or(text),
            _ => text,
        };
        self.pattern = Pattern::new(text);
        let mut shown: Vec<Item> = match &self.pattern {
            None => self.fixed.iter().filter(is_listed).cloned().collect(),
            Some(pattern) => {
                let mut found: Vec<&Item> =
                    self.fixed.iter().filter(is_listed).filter(|item| pattern.finds(&item.label)).collect();
                found.sort_by_cached_key(|item| std::cmp::Reverse(pattern.score(&item.label)));
                found.into_iter().cloned().collect()
            }
        };
        std::mem::swap(&mut self.shown, &mut shown);
        self.of_fixed = self.shown.len();
        self.window = Window::default();
        Effect::Said(self.ask, Said::Typed, self.input.text().to_owned())
    }

    fn current(&self) -> Option<&Item> {
        self.shown.get(usize::try_from(self.window.cursor).ok()?)
    }

    fn choose(&mut self, events: bool) -> Effect {
        let line = self.ask == Ask::Palette && !self.input.text().trim().is_empty();
        let listed = self.current().is_some_and(|item| goes_on(item, self.input.text()));
        if line && !listed && (command::is_one(self.input.text()) || self.shown.is_empty()) {
            return Effect::Command(self.input.text().to_owned());
        }
        let Some(item) = self.current().cloned() else { return Effect::None };
        match item.then {
            Then::Screen(screen) => Effect::Act(None, Action::Go(screen)),
            Then::Thing(entry) => Effect::GoTo(entry, events),
            Then::Line(line) => Effect::Command(line),
            Then::Filter(text) => Effect::ChooseFilter(text),
            Then::Mark(number) => Effect::Jump(number),
            Then::Act(screen, action) => Effect::Act(screen, action),
            Then::Begin(command) => {
                self.input.replace(&format!("{} ", command.name));
                self.changed(true)
            }
        }
    }

    fn list_height(area: Rect) -> u64 {
        u64::from(place(area).height.saturating_sub(3))
    }
}

/// Whether an item is a command that goes on from what is typed of it.
fn goes_on(item: &Item, text: &str) -> bool {
    matches!(&item.then, Then::Line(line) if text.contains(' ') && line.starts_with(text.trim_end()))
}

fn place(area: Rect) -> Rect {
    popup::centred(area, Size::new(WIDTH, ROWS + 3))
}

impl Layer for Picker {
    fn context(&self) -> Context {
        if self.ask == Ask::Palette { Context::Palette } else { Context::Finder }
    }

    fn update(&mut self, action: Action, area: Rect) -> Effect {
        let height = Self::list_height(area);
        if let Some(rows) = step_of(action, height) {
            self.window.step(rows, self.shown.len() as u64, height);
            return Effect::None;
        }
        match action {
            Action::Edit(edit) => {
                let changed = self.input.edit(edit);
                self.changed(changed)
            }
            Action::Open => self.choose(false),
            Action::EventsBehind => self.choose(true),
            _ => Effect::None,
        }
    }

    fn insert(&mut self, text: &str) -> Effect {
        let before = self.input.text().len();
        self.input.insert(text);
        let changed = self.input.text().len() != before;
        self.changed(changed)
    }

    fn cancel(&mut self) -> Effect {
        Effect::Said(self.ask, Said::Cancelled, self.input.text().to_owned())
    }

    fn take_news(&mut self, news: &News) -> bool {
        match news {
            News::Note(text, role) => self.note = (text.clone(), *role),
            News::Items(items) => {
                self.shown.truncate(self.of_fixed);
                self.shown.extend(items.iter().cloned());
            }
            News::Offers(_) => return false,
        }
        true
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect) {
        let inside = popup::frame(paint, place(area), self.ask.title());
        let line = Rect { height: 1, ..inside };
        let (note, role) = &self.note;
        let cells = u16::try_from(truncate::width(note)).unwrap_or(u16::MAX).min(line.width / 2);
        paint.right(line.right() - cells, line.y, cells, note, *role);
        let x = paint.text(line.x, line.y, line.width, self.ask.sign(), Role::Strong);
        let room = (line.right() - cells).saturating_sub(x + 1);
        if self.input.text().is_empty() {
            self.input.draw(paint, (x, line.y), 1);
            paint.text(x + 2, line.y, room.saturating_sub(2), self.ask.hint(), Role::Dim);
        } else {
            self.input.draw(paint, (x, line.y), room);
        }
        let list = Rect { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside };
        for (y, number) in (list.y..list.bottom()).zip(self.window.first..) {
            let Some(item) = usize::try_from(number).ok().and_then(|number| self.shown.get(number)) else { break };
            self.draw_item(paint, Rect { y, height: 1, ..list }, item);
            if number == self.window.cursor {
                paint.lay_over(Rect { y, height: 1, ..list }, Role::Cursor);
            }
        }
    }
}

impl Picker {
    fn draw_item(&self, paint: &mut Paint<'_>, line: Rect, item: &Item) {
        paint.text(line.x, line.y, KIND.min(line.width), item.kind, Role::Dim);
        let x = line.x + (KIND + 1).min(line.width);
        let note = u16::try_from(truncate::width(&item.note)).unwrap_or(u16::MAX).min(line.width / 3);
        let room = (line.right() - note).saturating_sub(x + 1);
        let end = paint.name(x, line.y, room, &item.label, Role::Plain);
        if let Some(pattern) = &self.pattern {
            paint.mark_with(pattern, (x, line.y), end, &item.label);
        }
        paint.right(line.right() - note, line.y, note, &item.note, Role::Dim);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect::new(0, 2, 80, 21);

    fn item(label: &str, then: Then) -> Item {
        Item { kind: "x", label: label.to_owned(), note: String::new(), then }
    }

    #[test]
    fn what_is_typed_narrows_and_the_best_comes_first() {
        let items = vec![
            item("Sort by the next column", Then::Act(None, Action::SortNext)),
            item("Overview", Then::Screen(ScreenId::Overview)),
            item("Reverse the sort", Then::Act(Some(ScreenId::Calls), Action::SortReverse)),
        ];
        let mut picker = Picker::new(Ask::Palette, items, Arc::default());
        assert_eq!(picker.update(Action::Down, AREA), Effect::None);
        assert_eq!(picker.update(Action::Open, AREA), Effect::Act(None, Action::Go(ScreenId::Overview)));
        picker.insert("rev");
        assert_eq!(picker.shown.len(), 1);
        assert_eq!(picker.update(Action::Open, AREA), Effect::Act(Some(ScreenId::Calls), Action::SortReverse));
        // What fits nothing is told to be no command.
        picker.insert("zzz");
        assert_eq!(picker.update(Action::Open, AREA), Effect::Command("revzzz".to_owned()));
    }

    #[test]
    fn a_command_waits_for_its_arguments() {
        let screen = command::COMMANDS.iter().find(|command| command.name == "screen").unwrap();
        let mut picker = Picker::new(Ask::Palette, vec![item("screen NAME", Then::Begin(screen))], Arc::default());
        assert_eq!(picker.update(Action::Open, AREA), Effect::Said(Ask::Palette, Said::Typed, "screen ".to_owned()));
        picker.insert("calls");
        assert_eq!(picker.shown.len(), 1);
        assert_eq!(picker.update(Action::Open, AREA), Effect::Command("screen calls".to_owned()));
    }
}
