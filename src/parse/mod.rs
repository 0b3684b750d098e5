//! Bytes to events: one folder for each format, and the sniffer that tells them apart.
//!
//! Every reader takes any bytes: what is whole is read, what is not becomes a [`crate::trace::Damage`].

pub mod chrome;
pub mod error;
pub mod import;
pub mod imported;
pub mod json;
mod lines;
pub mod native;
#[cfg(feature = "sqlite")]
pub mod nsys;
pub mod nvprof;
pub mod open;
pub mod packed;
pub mod pickle;
pub mod rmm;
pub mod sniff;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
pub mod torch;
pub mod unpack;

pub use error::ParseError;
pub use native::reader::{NativeReader, Progress};
pub use open::open;
