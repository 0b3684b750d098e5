//! Keys as data: one table from which dispatch, help, hints and docs/keys.md come.

pub mod chord;
pub mod keymap;
pub mod markdown;
pub mod table;
pub mod user;

pub use chord::Key;
pub use keymap::{Keymap, Match, Row};
pub use table::{Action, Context, Entry, TABLE};
