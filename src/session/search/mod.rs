//! Search: which names fit what was typed, and where they stand on the screen that is shown.
//!
//! A pass over the names, the rows of the tree, the events or the output is taken in slices between the reader's
//! batches. What is wanted first (the match next to the cursor) is looked for first.

mod ask;
mod blocks;
pub mod names;
pub mod pattern;
mod source;
mod state;
mod things;
mod tree;
mod verdicts;

pub use ask::{Entry, EntryKind, Found, From, SearchAnswer, SearchRequest, Step, Target};
pub use names::{Finds, Name, Names};
pub use pattern::{Pattern, Span};
pub use state::Search;
