//! A question on the hint line, and what is typed in answer: `/malloc   match 3 of 41`.
//!
//! It knows nothing of what the text means. Each change, Enter and Esc are told as an [`Effect::Said`]; what comes of
//! it (a note beside the text, completions above it) comes back as [`News`].

use std::sync::Arc;

use ratatui::layout::Rect;

use super::{Layer, News, Offer};
use crate::ui::effect::{Ask, Effect, Said};
use crate::ui::keys::{Action, Context};
use crate::ui::text::truncate;
use crate::ui::theme::Role;
use crate::ui::widgets::input::Input;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::popup;

/// Completions that are shown at once.
const OFFERS: usize = 8;
/// Lines that a problem has at most.
const PROBLEM: usize = 3;
/// Cells that are left to the text, whatever there is to note.
const TEXT_LEAST: u16 = 16;

/// The prompt.
pub struct Prompt {
    ask: Ask,
    input: Input,
    note: (String, Role),
    offers: Vec<Offer>,
    /// The offer that was taken last, which the next one takes the place of: its number, and where it begins.
    taken: Option<(usize, usize)>,
}

impl Prompt {
    /// Asks, with a text to begin with and what was entered before, the newest last.
    pub fn new(ask: Ask, text: &str, history: Arc<Vec<String>>) -> Self {
        let input = Input::new(text, history);
        Self { ask, input, note: (String::new(), Role::Dim), offers: Vec::new(), taken: None }
    }

    fn say(&self, said: Said) -> Effect {
        Effect::Said(self.ask, said, self.input.text().to_owned())
    }

    fn changed(&mut self, changed: bool) -> Effect {
        self.taken = None;
        if !changed {
            return Effect::None;
        }
        self.offers.clear();
        self.say(Said::Typed)
    }

    /// Takes the next completion.
    fn complete(&mut self) -> Effect {
        // What is offered goes on at the end.
        if self.input.before().len() != self.input.text().len() {
            return Effect::None;
        }
        let number = self.taken.map_or(0, |(number, _)| (number + 1) % self.offers.len().max(1));
        let Some(offer) = self.offers.get(number) else { return Effect::None };
        let from = self.taken.map_or(offer.from, |(_, from)| from);
        self.input.complete(from, &offer.text);
        self.taken = Some((number, from));
        self.say(Said::Typed)
    }

    /// What is wrong, above the line, where it has no room beside the text.
    fn draw_problem(&self, paint: &mut Paint<'_>, area: Rect) {
        let (note, role) = &self.note;
        let beside = truncate::width(self.ask.sign()) + truncate::width(self.input.text()) + truncate::width(note) + 4;
        if *role != Role::Bad || beside <= usize::from(area.width) {
            return;
        }
        let lines = truncate::wrap(note, usize::from(area.width));
        let height = (lines.len().min(PROBLEM) as u16).min(area.height);
        let place = Rect { y: area.bottom() - height, height, ..area };
        paint.clear(place);
        for (y, line) in (place.y..place.bottom()).zip(lines) {
            paint.text(place.x, y, place.width, line, *role);
        }
    }

    /// The offers, above the line that the prompt stands on.
    fn draw_offers(&self, paint: &mut Paint<'_>, area: Rect) {
        let count = self.offers.len().min(OFFERS);
        let widest = |of: fn(&Offer) -> &str| self.offers.iter().map(|offer| truncate::width(of(offer))).max();
        let text = widest(|offer| &offer.text).unwrap_or(0);
        let width = u16::try_from(text + widest(|offer| &offer.doc).unwrap_or(0) + 6).unwrap_or(u16::MAX);
        let width = width.min(area.width);
        let height = (count as u16 + 2).min(area.height);
        let place = Rect::new(area.x, area.bottom() - height, width, height);
        let inside = popup::frame(paint, place, &paint.fill(Context::Prompt, "{complete} takes"));
        let chosen = self.taken.map(|(number, _)| number);
        let first = chosen.unwrap_or(0).saturating_sub(usize::from(inside.height).saturating_sub(1));
        for (y, (number, offer)) in (inside.y..inside.bottom()).zip(self.offers.iter().enumerate().skip(first)) {
            let cells = u16::try_from(text).unwrap_or(u16::MAX).min(inside.width);
            paint.name(inside.x, y, cells, &offer.text, Role::Strong);
            let x = inside.x + (cells + 2).min(inside.width);
            paint.text(x, y, inside.right() - x, &offer.doc, Role::Dim);
            if chosen == Some(number) {
                paint.lay_over(Rect { y, height: 1, ..inside }, Role::Cursor);
            }
        }
    }
}

impl Layer for Prompt {
    fn context(&self) -> Context {
        Context::Prompt
    }

    fn update(&mut self, action: Action, _area: Rect) -> Effect {
        match action {
            Action::Edit(edit) => {
                let changed = self.input.edit(edit);
                self.changed(changed)
            }
            Action::Complete => self.complete(),
            Action::Open => self.say(Said::Entered),
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
        self.say(Said::Cancelled)
    }

    fn take_news(&mut self, news: &News) -> bool {
        match news {
            News::Note(text, role) => self.note = (text.clone(), *role),
            // A choice among the ones that are shown must not vanish because of itself.
            News::Offers(offers) if self.taken.is_none() => self.offers = offers.clone(),
            _ => return false,
        }
        true
    }

    fn draw(&self, paint: &mut Paint<'_>, area: Rect) {
        self.draw_problem(paint, area);
        if !self.offers.is_empty() {
            self.draw_offers(paint, area);
        }
    }

    fn draw_line(&self, paint: &mut Paint<'_>, line: Rect) -> bool {
        let (note, role) = &self.note;
        let hint = paint.fill(Context::Prompt, self.ask.hint());
        let note = if note.is_empty() { &hint } else { note };
        let sign = paint.text(line.x, line.y, line.width, self.ask.sign(), Role::Strong);
        let room = line.right().saturating_sub(sign);
        let typed = u16::try_from(truncate::width(self.input.text()) + 1).unwrap_or(u16::MAX);
        let wanted = u16::try_from(truncate::width(note) + 3).unwrap_or(u16::MAX);
        let cells = typed.max(TEXT_LEAST.min(room)).min(room.saturating_sub(wanted).max(room / 2));
        let end = self.input.draw(paint, (sign, line.y), cells).max(sign + typed.min(cells));
        let x = (end + 3).min(line.right());
        paint.text(x, line.y, line.right() - x, note, *role);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::widgets::input::Edit;

    const AREA: Rect = Rect::new(0, 2, 80, 21);

    fn said(said: Said, text: &str) -> Effect {
        Effect::Said(Ask::Search, said, text.to_owned())
    }

    #[test]
    fn every_change_is_told_and_nothing_else() {
        let mut prompt = Prompt::new(Ask::Search, "", Arc::new(vec!["memcpy".to_owned()]));
        assert_eq!(prompt.insert("m"), said(Said::Typed, "m"));
        assert_eq!(prompt.insert("\x1b"), Effect::None);
        assert_eq!(prompt.update(Action::Edit(Edit::Left), AREA), Effect::None);
        assert_eq!(prompt.update(Action::Edit(Edit::Older), AREA), said(Said::Typed, "memcpy"));
        assert_eq!(prompt.update(Action::Edit(Edit::EraseWord), AREA), said(Said::Typed, ""));
        assert_eq!(prompt.update(Action::Open, AREA), said(Said::Entered, ""));
        assert_eq!(prompt.cancel(), said(Said::Cancelled, ""));
    }

    #[test]
    fn tab_goes_through_what_is_offered() {
        let mut prompt = Prompt::new(Ask::Search, "x ap", Arc::default());
        let offer = |text: &str| Offer { from: 2, text: text.to_owned(), doc: String::new() };
        assert_eq!(prompt.update(Action::Complete, AREA), Effect::None);
        assert!(prompt.take_news(&News::Offers(vec![offer("api:"), offer("apply")])));
        assert_eq!(prompt.update(Action::Complete, AREA), said(Said::Typed, "x api:"));
        assert!(!prompt.take_news(&News::Offers(Vec::new())));
        assert_eq!(prompt.update(Action::Complete, AREA), said(Said::Typed, "x apply"));
        assert_eq!(prompt.update(Action::Complete, AREA), said(Said::Typed, "x api:"));
        assert_eq!(prompt.insert("c"), said(Said::Typed, "x api:c"));
        assert_eq!(prompt.update(Action::Complete, AREA), Effect::None);
    }
}
