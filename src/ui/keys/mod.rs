//! Keys as data: one table from which dispatch, help, hints and docs/keys.md come.

mod action;
pub mod chord;
mod context;
pub mod keymap;
pub mod markdown;
pub mod table;
pub mod user;

pub use action::Action;
pub use chord::Key;
pub use context::Context;
pub use keymap::{Keymap, Match, Row};
pub use table::{Entry, TABLE};
