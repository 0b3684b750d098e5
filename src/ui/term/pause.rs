//! Holds back the thread that reads keys, while another program has the terminal.

use std::sync::{Condvar, Mutex, PoisonError};

/// Whether keys are read.
#[derive(Debug, Default)]
pub struct Pause {
    held: Mutex<bool>,
    freed: Condvar,
}

impl Pause {
    /// Keys are read no more, or again.
    pub fn hold(&self, held: bool) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
        self.freed.notify_all();
    }

    /// Whether they are not read.
    pub fn is_held(&self) -> bool {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until they are read again.
    pub fn wait(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while *held {
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
