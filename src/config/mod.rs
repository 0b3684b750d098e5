//! The user's settings: what there is to set, where it is read from, and what is wrong with it.
//!
//! This room knows names and texts only. What an action, a key, a colour or a column is, the screens know: they take
//! the settings from here and answer with further [`Problem`]s. A wrong setting never keeps umtui from starting: its
//! default is used, and that is said.

pub mod example;
mod load;
pub mod nearest;
mod path;
mod problem;
mod read;
pub mod schema;
#[cfg(test)]
mod tests;
mod value;

pub use load::load;
pub use path::Named;
pub use problem::{Level, Place, Problem, Spelled};
pub use read::{Config, default, read};
pub use value::Value;

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

/// A `[theme.NAME]` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeTable {
    /// Its name.
    pub name: Spelled,
    /// Roles and how they look.
    pub lines: Vec<(Spelled, Spelled)>,
}
