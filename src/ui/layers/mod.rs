//! Popups. Each is a layer on a stack; the topmost gets the keys.

pub mod columns;
pub mod details;
pub mod filters;
pub mod finder;
pub mod help;
pub mod kinds;
pub mod palette;
pub mod picker;
pub mod prompt;
pub mod quit;

use ratatui::layout::Rect;

use super::effect::Effect;
use super::keys::{Action, Context};
use super::theme::Role;
use super::widgets::paint::Paint;

/// A way to go on with what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Byte of the text from which on it stands, up to the cursor.
    pub from: usize,
    /// What stands there then.
    pub text: String,
    /// What that is, in a few words.
    pub doc: String,
}

/// What came of something that a popup told.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// To be said beside what is typed.
    Note(String, Role),
    /// How what was typed may go on.
    Offers(Vec<Offer>),
    /// Things that fit it.
    Items(Vec<picker::Item>),
}

/// What the loop needs of a popup. `area` is the whole screen between title and hint line.
pub trait Layer {
    /// Which keys are valid.
    fn context(&self) -> Context;
    /// Obeys an action.
    fn update(&mut self, action: Action, area: Rect) -> Effect;
    /// Takes fields that were asked for when it was opened. Says whether it shows them.
    fn take_details(&mut self, _: &[(String, String)]) -> bool {
        false
    }
    /// Takes text that was typed or pasted.
    fn insert(&mut self, _: &str) -> Effect {
        Effect::None
    }
    /// It is being closed by going back.
    fn cancel(&mut self) -> Effect {
        Effect::None
    }
    /// Takes what came of something that it told. Says whether it shows that.
    fn take_news(&mut self, _: &News) -> bool {
        false
    }
    /// Draws itself on the hint line, if it stands there; says whether it does.
    fn draw_line(&self, _: &mut Paint<'_>, _: Rect) -> bool {
        false
    }
    /// Draws itself over what is there.
    fn draw(&self, paint: &mut Paint<'_>, area: Rect);
}

/// First line of a text after an action; lines beyond the end are not scrolled to.
fn scrolled(first: usize, action: Action, lines: usize, height: u16) -> usize {
    let last_first = lines.saturating_sub(usize::from(height));
    match super::screens::step_of(action, u64::from(height)) {
        Some(step) => (first as u64).saturating_add_signed(step).min(last_first as u64) as usize,
        None => first.min(last_first),
    }
}
