//! A thread that waits for the system to tell of changed files, so that an idle session need not look often.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::source::watch::Waker;
use crate::source::{Wake, Watch};

/// Longest wait without looking whether it is time to end.
const WAIT: Duration = Duration::from_secs(10);
/// Least time between two changes that are told: a trace that grows fast is polled anyway.
const CALM: Duration = Duration::from_millis(20);

/// Watches until it is dropped.
pub(super) struct Watching {
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// Watches these files and folders; `changed` is called from the thread, and says whether anybody still wants to
    /// know. `None` where the system tells of nothing: the session's polling is enough.
    pub(super) fn start(paths: &[PathBuf], changed: impl Fn() -> bool + Send + 'static) -> Option<Self> {
        let mut watch = Watch::new();
        let told = paths.iter().fold(false, |told, path| told | watch.add(path));
        if !told {
            return None;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, waker) = (stop.clone(), watch.waker());
        let body = move || {
            while !stopped.load(Ordering::Acquire) {
                if watch.wait(WAIT) == Wake::Changed {
                    if stopped.load(Ordering::Acquire) || !changed() {
                        return;
                    }
                    std::thread::sleep(CALM);
                }
            }
        };
        let thread = std::thread::Builder::new().name("watch".into()).spawn(body).ok()?;
        Some(Self { stop, waker, thread: Some(thread) })
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_change_is_told_and_dropping_ends_the_thread() {
        let folder = tempfile::tempdir().unwrap();
        let (told, heard) = channel();
        let watching = Watching::start(&[folder.path().to_owned()], move || told.send(()).is_ok());
        let Some(watching) = watching else { return }; // This machine has no events to give.
        std::fs::write(folder.path().join("a"), b"x").unwrap();
        heard.recv_timeout(Duration::from_secs(10)).unwrap();
        drop(watching);
        while heard.try_recv().is_ok() {}
        assert!(heard.recv().is_err(), "the thread has let go of its end");
    }
}
