//! How far long work without a screen is.

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Stage {
    Reading,
    Naming,
    Filtering,
    Summing,
    Writing,
}

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headway {
    /// What is being done.
    pub stage: Stage,
    /// How much of it is done, thousandths; `None` if that is not known.
    pub share: Option<u16>,
    /// Events that were read, looked at or written since that began; zero if they are not counted.
    pub events: u64,
}
