//! Wake-ups when files change.

use notify::{Config, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// How often live files are looked at whatever the system says: writes through a mapping cause no event.
pub const POLL: Duration = Duration::from_millis(50);

/// Why [`Watch::wait`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Something may have changed.
    Changed,
    /// Nothing was heard of in that time.
    Timeout,
}

/// Watches folders and files. Events are a help, not a promise: the caller looks at live files every [`POLL`] as well.
/// Where the system has no events to give (too many watches, a network file system), only that is left.
pub struct Watch {
    watcher: Option<RecommendedWatcher>,
    events: Receiver<()>,
    waker: SyncSender<()>,
}

/// Ends a wait from another thread.
#[derive(Clone, Debug)]
pub struct Waker(SyncSender<()>);

impl Waker {
    /// Ends the current wait, or the next one.
    pub fn wake(&self) {
        // Full means that a wake-up is waiting already; closed that nobody waits.
        let _ = self.0.try_send(());
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

impl Watch {
    /// Watches nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let (waker, events) = sync_channel(1);
        let wake = Waker(waker.clone());
        let handler = move |event: notify::Result<notify::Event>| {
            // Our own reading is no change.
            if event.is_ok_and(|event| !event.kind.is_access()) {
                wake.wake();
            }
        };
        let watcher = RecommendedWatcher::new(handler, Config::default()).ok();
        Self { watcher, events, waker }
    }

    /// Adds a file or folder; whether the system will tell of its changes.
    pub fn add(&mut self, path: &Path) -> bool {
        self.watcher.as_mut().is_some_and(|watcher| watcher.watch(path, RecursiveMode::NonRecursive).is_ok())
    }

    /// Takes a path out again.
    pub fn remove(&mut self, path: &Path) {
        if let Some(watcher) = &mut self.watcher {
            // A path that has vanished is no longer watched anyway.
            let _ = watcher.unwatch(path);
        }
    }

    /// Something that ends a wait from elsewhere.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(self.waker.clone())
    }

    /// Waits until something changes, at most `timeout`. Changes that came between two waits end the next at once.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Wake {
        match self.events.recv_timeout(timeout) {
            Ok(()) => Wake::Changed,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Wake::Timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_nudge_wakes_and_silence_times_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"x").unwrap();
        let mut watch = Watch::new();
        if !watch.add(folder.path()) {
            return; // This machine has no events to give.
        }
        while watch.wait(Duration::from_millis(20)) == Wake::Changed {}
        std::fs::read(&path).unwrap();
        assert_eq!(watch.wait(Duration::from_millis(50)), Wake::Timeout, "reading is no change");
        // What the hook does: futimens.
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_modified(std::time::SystemTime::now()).unwrap();
        assert_eq!(watch.wait(Duration::from_secs(5)), Wake::Changed);
        watch.remove(folder.path());
    }

    #[test]
    fn a_waker_ends_a_wait() {
        let watch = Watch::new();
        let waker = watch.waker();
        let begin = Instant::now();
        let thread = std::thread::spawn(move || waker.wake());
        assert_eq!(watch.wait(Duration::from_secs(10)), Wake::Changed);
        assert!(begin.elapsed() < Duration::from_secs(9));
        thread.join().unwrap();
    }
}
