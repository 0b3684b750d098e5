//! `<filter>`: what to include, what to exclude, and thresholds.

mod read;
mod tree;
mod write;

pub use read::read;
pub use write::write;
