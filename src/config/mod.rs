//! The user's settings: what there is to set, where it is read from, and what is wrong with it.
//!
//! This room knows names and texts only. What an action, a key, a colour or a column is, the screens know: they take
//! the settings from here and answer with further [`Problem`]s.

pub mod nearest;
mod problem;

pub use problem::{Level, Place, Problem, Spelled};

/// A line of a `[keys]` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLine {
    /// The context, for a line of `[keys.CONTEXT]`.
    pub context: Option<Spelled>,
    /// The keys.
    pub keys: Spelled,
    /// The action's name, or `none`.
    pub action: Spelled,
}
