//! Numbers and names as text.

pub mod format;
pub mod truncate;
