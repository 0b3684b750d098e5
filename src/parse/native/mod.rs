//! umtui's own format, `*.umt`: see the crate `umtui_wire` for the bytes.
//!
//! A reader takes what is committed at one moment and reads it chunk by chunk. Before the calls of a span of time
//! are decoded, all definitions and all calls that make or destroy streams and contexts up to then have been read,
//! whichever thread made them, so that a trace read while it grows equals the trace read at the end.

pub mod activity;
pub mod axis;
mod capture;
pub mod clock;
pub mod decode;
pub mod define;
pub mod definitions;
pub mod desks;
pub mod discover;
pub mod file;
pub mod header;
pub mod piece;
pub mod reader;
pub mod records;
pub mod reused;
pub mod scan;
pub mod signature;
pub mod stamp;
pub mod window;
pub mod writer;

#[cfg(test)]
pub mod tests;
