//! Why a file cannot be read at all.

use std::io;

/// Why a file cannot be read at all. Each prints as one line: what, where, what to do.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// The operating system would not give the bytes.
    #[error("{file}: cannot read{}: {cause}", at(*offset))]
    Io {
        /// File name.
        file: String,
        /// Byte offset.
        offset: u64,
        /// The system's answer.
        cause: io::Error,
    },
    /// The file is not of the expected format.
    #[error("{file}: {what}")]
    Format {
        /// File name.
        file: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// Written by a newer umtui.
    #[error("{file}: byte 8: format version {version} is newer than this umtui reads ({known}); use a newer umtui")]
    Version {
        /// File name.
        file: String,
        /// Its version.
        version: u32,
        /// The newest that is read.
        known: u32,
    },
    /// The file is shorter than its header: a recorder may still be creating it.
    #[error("{file}: only {bytes} bytes, no complete header; if it is being recorded, open it again in a moment")]
    Incomplete {
        /// File name.
        file: String,
        /// Its length.
        bytes: u64,
    },
}

fn at(offset: u64) -> String {
    if offset == 0 { String::new() } else { format!(" at byte {offset}") }
}

impl ParseError {
    /// Whether the file may become readable by itself.
    #[must_use]
    pub const fn may_come(&self) -> bool {
        matches!(self, Self::Incomplete { .. })
    }
}
