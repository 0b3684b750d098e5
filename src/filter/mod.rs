//! Filters: what a user wants to see of a trace, or record of a program.
//!
//! One model ([`Condition`]), whatever it was written as.

mod model;
mod pattern;

pub use model::{Comparison, Condition, NumberField, Pattern, TextField};
pub use pattern::{Matcher, PatternError};
