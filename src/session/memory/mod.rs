//! Memory as screens ask for it.

pub(super) mod lives;
