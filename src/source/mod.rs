//! Where bytes come from: files, folders of files, and what grows while it is read.
//!
//! This room knows bytes and paths, never what is in them. Files are read with pread, never mapped: a file that is
//! being written is no data race, and one that is cut short no SIGBUS. The copy costs about a tenth of decoding
//! (`cargo bench --bench decode` shows both). What comes through a pipe cannot be read twice: it is written into
//! temporary files first, a stream of frames as one file for each process of it ([`spool`]), anything else as it is.

pub mod file;
pub mod folder;
pub mod frames;
pub mod pipe;
pub mod poll;
pub mod spool;
pub mod stream;
pub mod temporary;
pub mod watch;

pub use file::FileBytes;
pub use folder::{Found, Paths};
pub use pipe::{Arrived, Pipe, is_pipe};
pub use spool::{Life, Spooled};
pub use stream::Stream;
pub use watch::{Wake, Watch};
