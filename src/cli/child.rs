//! The started program as the session sees it.

use std::path::Path;

use crate::launch::{self, Capture, Program, RunFolder};
use crate::session::handle::Child;
use crate::session::{ChildControl, Output};

/// A program under the session's control.
pub struct Started {
    program: Program,
    output: Output,
    why_silent: Option<String>,
    detached: bool,
}

impl Started {
    /// A program that was started with its output in the run's folder, and of which this part is to be recorded.
    #[must_use]
    pub fn new(program: Program, folder: &RunFolder, name: &Path, capture: &Capture) -> Self {
        let output = Output { stdout: folder.stdout(), stderr: Some(folder.stderr()) };
        let why_silent = launch::why_silent(name).or_else(|| capture.awaits());
        Self { program, output, why_silent, detached: false }
    }
}

impl ChildControl for Started {
    fn poll(&mut self) -> Child {
        match self.program.poll() {
            Some(status) => Child::Ended { status },
            None => Child::Running { pid: self.program.pid() },
        }
    }

    fn detach(&mut self) {
        self.detached = true;
    }

    fn terminate(&mut self) {
        if !self.detached {
            self.program.terminate();
        }
    }

    fn output(&self) -> Option<Output> {
        Some(self.output.clone())
    }

    fn why_silent(&self) -> Option<String> {
        self.why_silent.clone()
    }
}
