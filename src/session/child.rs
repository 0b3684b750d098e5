//! The program that the session was opened for, as far as the session must know it.

use std::path::PathBuf;

use super::handle::Child;

/// A program that was started to be recorded. The session asks and tells from its own thread; none of these
/// calls may wait for long.
pub trait ChildControl: Send {
    /// How it stands. Called often; once it has said that the program has ended it says so for good.
    fn poll(&mut self) -> Child;
    /// Lets the program run on by itself.
    fn detach(&mut self);
    /// Asks the program to end, more firmly each time.
    fn terminate(&mut self);
    /// The files that the program's stdout and stderr go to; `None` where they were left alone.
    fn output(&self) -> Option<Output>;
    /// Why no call may ever be seen, if the program's file tells: static, setuid, of another architecture.
    fn why_silent(&self) -> Option<String> {
        None
    }
}

/// Where the program's output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its stdout.
    pub stdout: PathBuf,
    /// Its stderr; `None` if both go to one file.
    pub stderr: Option<PathBuf>,
}
