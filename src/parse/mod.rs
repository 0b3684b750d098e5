//! Bytes to events: one folder for each format, and the sniffer that tells them apart.
//!
//! Every reader takes any bytes: what is whole is read, what is not becomes a [`crate::trace::Damage`].

pub mod chrome;
pub mod error;
pub mod import;
pub mod imported;
pub mod json;
pub mod native;
#[cfg(feature = "sqlite")]
pub mod nsys;
pub mod open;
pub mod pickle;
pub mod sniff;
pub mod text;
pub mod unpack;

pub use error::ParseError;
pub use native::reader::{NativeReader, Progress};
pub use open::open;
