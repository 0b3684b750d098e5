//! A recording sent on while it is made: follows the files of a folder and writes what is new as frames into a pipe.
//!
//! The recorded program knows nothing of it. Its hook writes mapped files as always; we read them from outside, so a
//! reader that is slow, or dies, or was never there, is waited for here and nowhere else. What the files can no longer
//! hold meanwhile is overwritten or not recorded, and counted.

mod chunk;
mod file;
mod follow;
mod frames;
mod life;
mod look;
mod output;
mod private;
mod run;
mod statements;
#[cfg(test)]
mod tests;

pub use follow::Follower;
pub use output::{Output, Target};
pub use private::PrivateFolder;
pub use run::{Control, Summary, run};
