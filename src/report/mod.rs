//! Headless reports: the numbers of the screens as text or JSON, for scripts and CI.
//!
//! [`Report::of`] collects them once; [`text`] and [`json`] only write them down, so both always agree.

mod collect;
mod json;
mod table;
mod text;

#[cfg(test)]
mod tests;

pub use collect::{Api, Failure, Process, Report, Stream, Thread, TraceBlock};
pub use json::{json, printable};
pub use text::text;
