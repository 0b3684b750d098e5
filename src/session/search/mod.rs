//! Search: which names fit what was typed, and where they stand on the screen that is shown.

pub mod names;
pub mod pattern;

pub use names::{Finds, Name, Names};
pub use pattern::{Pattern, Span};
