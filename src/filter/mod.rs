//! Filters: what a user wants to see of a trace, or record of a program.
//!
//! One model ([`Condition`]), whatever it was written as: [`xml`], [`toml`] or [`expression`]. `docs/filters.md` shows
//! them side by side.

mod doubts;
mod error;
pub mod expression;
pub mod fields;
mod file;
mod model;
mod normal;
mod pattern;
mod presets;
mod recorded;
mod terms;
#[cfg(test)]
mod tests;
pub mod toml;
mod units;
pub mod xml;

pub use doubts::{doubts, known};
pub use error::{FilterError, shortened};
pub use file::{Filter, Spelling};
pub use model::{Comparison, Condition, NumberField, Pattern, TextField};
pub use normal::{MAX_DEPTH, order};
pub use pattern::{MAX_BYTES as MAX_PATTERN, Matcher, PatternError};
pub use presets::{Listed, files_in, listed, listed_in, named, named_or_read, user_folder};
pub use recorded::compiled;
pub use units::{size, time};
