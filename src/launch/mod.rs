//! Starting a program under the hook: the embedded libraries, the environment, the child.

mod check;
mod environment;
mod guest;
mod program;
mod run;
mod ticks;

pub use check::why_silent;
pub use environment::{Capture, Environment, EnvironmentError, Gpu, RunOptions};
pub use guest::{Demo, GuestError, demo, hook};
pub use program::{Program, ProgramError, Streams, program_name, signal};
pub use run::{RunFolder, RunFolderError};
