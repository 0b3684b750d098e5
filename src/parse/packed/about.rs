//! What is said of an input that was packed.

use serde::{Deserialize, Serialize};

/// How the process of a file stood when it was packed: the file alone does not say whether one that has not ended in order
/// still ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It ran on.
    Alive,
    /// It was gone.
    Gone,
    /// Nobody knew.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A native file of an input.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Member {
    /// Its image.
    pub image: u32,
    /// What it was called.
    pub name: String,
    /// How long it was; zero: as long as its blocks reach.
    pub length: u64,
    /// How its process stood.
    pub standing: Standing,
    /// Events that were sent before anybody listened.
    pub missed: u64,
    /// Places that could not be read: offset or line, and why.
    pub damage: Vec<(u64, String)>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

/// An input. Keys may be added.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// `native`, `text`, or the format it was imported from.
    pub format: String,
    /// Whether it was imported.
    pub imported: bool,
    /// Its files.
    pub files: Vec<Member>,
    /// Damage beyond what is listed.
    pub more_damage: u64,
    /// Files of several clocks are in the packed file, or may have been: see `Trace::several_clocks`.
    pub several_clocks: bool,
}
