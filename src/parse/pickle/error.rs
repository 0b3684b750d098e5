//! What may be wrong with a pickle.

use super::input::Short;
use super::machine::PROTOCOL_MAX;
use std::io;

/// What is wrong with a pickle.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// The system does not give its bytes.
    #[error("cannot read: {0}")]
    Io(io::Error),
    /// It ends too early.
    #[error("the pickle ends in the midst; it was not written to its end")]
    End,
    /// It wants something that a file of data does not need.
    #[error("it names `{0}`, which is no data; nothing of the file is executed")]
    Name(String),
    /// It has an instruction for something outside the file.
    #[error("it refers to {0}, which is not in the file")]
    Outside(&'static str),
    /// An instruction that no protocol has.
    #[error("instruction 0x{0:02x} is not known")]
    Unknown(u8),
    /// An instruction does not find what it works on.
    #[error("an instruction does not find what it needs; the file is damaged")]
    Stack,
    /// It is of a protocol that did not exist when this was written.
    #[error("protocol {0} is newer than this umtui reads ({PROTOCOL_MAX}); use a newer umtui")]
    Protocol(u8),
    /// A value is longer than any that is read.
    #[error("a value of {0} bytes, which is more than is read")]
    Long(u64),
    /// There is more in it than there is room for.
    #[error("its values take more memory than they may; write a snapshot of fewer entries (`max_entries`)")]
    Large,
}

/// What is wrong with a pickle, and where.
#[derive(Debug, thiserror::Error)]
#[error("byte {offset}: {why}")]
pub struct PickleError {
    /// Where the instruction begins, bytes from the file's beginning.
    pub offset: u64,
    /// What is wrong.
    pub why: Why,
}

impl From<Short> for Why {
    fn from(short: Short) -> Self {
        match short {
            Short::End => Self::End,
            Short::Io(error) => Self::Io(error),
        }
    }
}
