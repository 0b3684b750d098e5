//! Where bytes come from: files, folders of files, and what grows while it is read.
//!
//! This room knows bytes and paths, never what is in them. Files are read with pread, never mapped: a file that is
//! being written is no data race, and one that is cut short no SIGBUS. The copy costs about a tenth of decoding
//! (`cargo bench --bench decode` shows both). Pipes and standard input will get a file of their own here: what comes
//! from them has to be spilled into a temporary file before it can be read twice.

pub mod file;
pub mod folder;
pub mod watch;

pub use file::FileBytes;
pub use folder::{Found, Paths};
pub use watch::{Wake, Watch};
