//! Notices that the terminal has gone away, which nothing else may notice: SIGHUP can be ignored by a parent's
//! choice, and a thread that waits in a write or a read sees nothing.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::tty;
use crate::session::handle::{Child, Handle};
use crate::ui::event_loop::{Message, SharedHandle};

/// How often the terminal is looked at.
const EVERY: Duration = Duration::from_millis(400);
/// How long the loop has to leave by itself.
const PATIENCE: Duration = Duration::from_millis(800);
/// How long a session has to carry out what it was told just before the process exits.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Exit status of a process that a hangup ended: 128 + SIGHUP.
const STATUS: i32 = 129;

/// Watches until it is dropped.
pub struct Watchdog {
    done: Arc<AtomicBool>,
    thread: thread::Thread,
}

impl Watchdog {
    /// Starts watching. If the loop does not leave in time, the program is detached and the process exits.
    pub fn start(keyboard: OwnedFd, messages: Sender<Message>, handle: &SharedHandle) -> anyhow::Result<Self> {
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        // Weak, so that the session ends on the loop's thread and not on this one, which nobody waits for.
        let handle = Arc::downgrade(handle);
        let body = move || {
            while !seen.load(Ordering::SeqCst) {
                if tty::hung_up(keyboard.as_fd()) {
                    gone(&seen, &messages, &handle);
                    return;
                }
                thread::park_timeout(EVERY);
            }
        };
        let builder = thread::Builder::new().name("umtui-watchdog".to_owned());
        let thread = builder.spawn(body).context("cannot start a thread")?.thread().clone();
        Ok(Self { done, thread })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.done.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

fn gone(done: &AtomicBool, messages: &Sender<Message>, handle: &Weak<Mutex<Box<dyn Handle>>>) {
    // If nobody receives it the loop has ended, and `done` says so.
    let _ = messages.send(Message::Gone);
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if done.load(Ordering::SeqCst) {
            return;
        }
        thread::park_timeout(until.saturating_duration_since(Instant::now()));
    }
    // Somebody who waits for the terminal holds no lock; somebody who holds the lock is detaching already.
    if let Some(handle) = handle.upgrade()
        && let Ok(handle) = handle.try_lock()
        && matches!(handle.child(), Some(Child::Running { .. }))
    {
        handle.detach();
        thread::sleep(LAST_WORDS);
    }
    std::process::exit(STATUS);
}
