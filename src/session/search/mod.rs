//! Search: which names fit what was typed, and where they stand on the screen that is shown.
//!
//! A pass over the names, the rows of the tree, the events or the output is taken in slices between the reader's
//! batches. What is wanted first (the match next to the cursor) is looked for first.

mod about;
mod ask;
mod blocks;
pub(crate) mod exact;
pub mod names;
pub mod pattern;
mod source;
mod span;
mod state;
mod things;
mod tree;
mod verdicts;

pub(crate) use about::{call as like_call, kernel as like_kernel};
pub use ask::{About, Entry, EntryKind, Found, From, SearchAnswer, SearchRequest, Step, Target};
pub use names::{Finds, Name, Names};
pub use pattern::{Pattern, Span};
pub(in crate::session) use source::of_node as source_of;
pub use state::Search;
