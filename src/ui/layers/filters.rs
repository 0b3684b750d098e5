//! The panel of filters: the one in force and those that have a name, to look through, save, rename and delete.

use ratatui::layout::{Rect, Size};

use super::picker::{Item, Then};
use super::{Layer, News};
use crate::ui::effect::Effect;
use crate::ui::keys::{Action, Context};
use crate::ui::screens::step_of;
use crate::ui::text::truncate;
use crate::ui::theme::Role;
use crate::ui::widgets::list::Window;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::popup;

/// Cells of the panel, and of the words at the left of its rows.
const WIDTH: u16 = 100;
const KIND: u16 = 10;

/// The panel.
pub struct Filters {
    items: Vec<Item>,
    window: Window,
    note: (String, Role),
    /// The filter of which it was asked whether it is to be deleted.
    asked: Option<String>,
}

impl Filters {
    /// A list of these.
    pub fn new(items: Vec<Item>) -> Self {
        Self { items, window: Window::default(), note: (String::new(), Role::Dim), asked: None }
    }

    fn current(&self) -> Option<(&Item, &str)> {
        let item = self.items.get(usize::try_from(self.window.cursor).ok()?)?;
        match &item.then {
            Then::Filter(text) => Some((item, text)),
            _ => None,
        }
    }

    fn say(&mut self, text: &str) -> Effect {
        self.note = (text.to_owned(), Role::Warning);
        Effect::None
    }

    /// The name of the cursor's filter, if it is the user's own to change.
    fn own(&self) -> Result<String, &'static str> {
        match self.current() {
            Some((item, name)) if item.kind == YOURS => Ok(name.to_owned()),
            Some((item, _)) if item.kind == IN_FORCE => Err("this one has no name yet; save it under one"),
            Some(_) => Err("presets come with umtui; save a filter under a name of your own"),
            None => Err("there is no filter here"),
        }
    }

    fn place(&self, area: Rect) -> Rect {
        popup::centred(area, Size::new(WIDTH, u16::try_from(self.items.len() + 3).unwrap_or(u16::MAX)))
    }
}

/// The filter that is in force.
pub const IN_FORCE: &str = "in force";
/// One of the user's own.
pub const YOURS: &str = "yours";
/// One that comes with umtui.
pub const PRESET: &str = "preset";

impl Layer for Filters {
    fn context(&self) -> Context {
        Context::Filters
    }

    fn update(&mut self, action: Action, area: Rect) -> Effect {
        let height = u64::from(self.place(area).height.saturating_sub(3));
        let asked = self.asked.take();
        self.note.0.clear();
        if let Some(rows) = step_of(action, height) {
            self.window.step(rows, self.items.len() as u64, height);
            return Effect::None;
        }
        match action {
            Action::Open => self.current().map_or(Effect::None, |(_, text)| Effect::ChooseFilter(text.to_owned())),
            Action::SaveFilter => Effect::NameFilter(None),
            Action::RenameFilter => match self.own() {
                Ok(name) => Effect::NameFilter(Some(name)),
                Err(why) => self.say(why),
            },
            Action::DeleteFilter => match self.own() {
                Ok(name) if asked.as_ref() == Some(&name) => Effect::DeleteFilter(name),
                Ok(name) => {
                    let text = format!("delete {name} for good? the same key again does");
                    self.asked = Some(name);
                    self.say(&text)
                }
                Err(why) => self.say(why),
            },
            _ => Effect::None,
        }
    }

    fn take_news(&mut self, news: &News) -> bool {
        match news {
            News::Items(items) => self.items.clone_from(items),
            News::Note(text, role) => self.note = (text.clone(), *role),
            News::Offers(_) => return false,
        }
        self.window.fit(self.items.len() as u64, self.items.len() as u64);
        true
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect) {
        let inside = popup::frame(paint, self.place(area), "filters");
        let list = Rect { height: inside.height.saturating_sub(1), ..inside };
        for (y, number) in (list.y..list.bottom()).zip(self.window.first..) {
            let Some(item) = usize::try_from(number).ok().and_then(|number| self.items.get(number)) else { break };
            let line = Rect { y, height: 1, ..list };
            paint.text(line.x, y, KIND.min(line.width), item.kind, Role::Dim);
            let x = line.x + (KIND + 1).min(line.width);
            let room = line.right().saturating_sub(x);
            let name = u16::try_from(truncate::width(&item.label)).unwrap_or(u16::MAX).min(room);
            let name = if item.note.is_empty() { name } else { name.clamp(room.min(18), (room / 2).max(room.min(18))) };
            paint.name(x, y, name, &item.label, Role::Plain);
            let at = (x + name + 2).min(line.right());
            paint.text(at, y, line.right() - at, &item.note, Role::Dim);
            if number == self.window.cursor {
                paint.lay_over(line, Role::Cursor);
            }
        }
        let (note, role) = &self.note;
        if inside.height > 0 {
            paint.text(inside.x, inside.bottom() - 1, inside.width, note, *role);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect::new(0, 2, 80, 21);

    fn item(kind: &'static str, name: &str) -> Item {
        Item { kind, label: name.to_owned(), note: String::new(), then: Then::Filter(name.to_owned()) }
    }

    #[test]
    fn only_ones_own_are_renamed_and_deleted_and_that_is_asked_for_twice() {
        let mut panel = Filters::new(vec![item(IN_FORCE, "failed"), item(YOURS, "mine"), item(PRESET, "errors")]);
        assert_eq!(panel.update(Action::RenameFilter, AREA), Effect::None);
        assert!(panel.note.0.contains("no name yet"));
        panel.update(Action::Down, AREA);
        assert_eq!(panel.update(Action::RenameFilter, AREA), Effect::NameFilter(Some("mine".to_owned())));
        assert_eq!(panel.update(Action::DeleteFilter, AREA), Effect::None);
        // Another key in between is no answer.
        panel.update(Action::Up, AREA);
        panel.update(Action::Down, AREA);
        assert_eq!(panel.update(Action::DeleteFilter, AREA), Effect::None);
        assert_eq!(panel.update(Action::DeleteFilter, AREA), Effect::DeleteFilter("mine".to_owned()));
        panel.update(Action::Bottom, AREA);
        assert_eq!(panel.update(Action::DeleteFilter, AREA), Effect::None);
        assert_eq!(panel.update(Action::Open, AREA), Effect::ChooseFilter("errors".to_owned()));
        assert_eq!(panel.update(Action::SaveFilter, AREA), Effect::NameFilter(None));
        assert!(panel.take_news(&News::Items(vec![item(PRESET, "errors")])) && panel.current().is_some());
    }
}
