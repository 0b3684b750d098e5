//! How the screens hold on to a session without knowing its threads.

use std::sync::Arc;

use super::view::{Answer, ViewRequest};

/// The program that `umtui -- CMD` started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// It runs.
    Running {
        /// Process id.
        pid: u32,
    },
    /// It has ended, with the status a shell would give (128 + n for signal n).
    Ended {
        /// The status.
        status: i32,
    },
}

/// A session as the screens see it. None of these calls waits.
pub trait Handle: Send {
    /// Asks for rows. The answer comes through the callback that the session was opened with; an older
    /// request that is not yet answered is dropped.
    fn ask(&self, request: ViewRequest);
    /// The program, if the session started one.
    fn child(&self) -> Option<Child>;
    /// Lets the program run on by itself, still recorded.
    fn detach(&self);
    /// Asks the program to end: SIGINT first, SIGTERM the second time, SIGKILL the third.
    fn terminate(&self);
}

/// A session that somebody else holds on to as well, to ask for the program's status after the screens have gone.
impl<T: Handle + Sync + ?Sized> Handle for Arc<T> {
    fn ask(&self, request: ViewRequest) {
        (**self).ask(request);
    }

    fn child(&self) -> Option<Child> {
        (**self).child()
    }

    fn detach(&self) {
        (**self).detach();
    }

    fn terminate(&self) {
        (**self).terminate();
    }
}

/// Where a session puts its answers.
pub type Answers = Box<dyn Fn(Answer) + Send>;
