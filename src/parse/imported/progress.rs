//! How far an import is, and the way to stop it.

use crate::trace::Bytes;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far an import is; shared with whoever shows it, or stops it.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    all: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// Bytes of the input that were read, and all there are; zeros before it has begun.
    #[must_use]
    pub fn share(&self) -> (u64, u64) {
        let all = self.all.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed).min(all), all)
    }

    /// Says how much there is, bytes.
    pub fn set_all(&self, bytes: u64) {
        self.all.store(bytes, Ordering::Relaxed);
    }

    /// Says how much was read, bytes.
    pub fn set_done(&self, bytes: u64) {
        self.done.store(bytes, Ordering::Relaxed);
    }

    /// Asks the import to end; what it has read by then is lost.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to end.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Fails if it was asked to end: to be called now and then by whatever takes long.
    ///
    /// # Errors
    /// If it was.
    pub fn check(&self) -> io::Result<()> {
        // `Interrupted` would be tried again by whoever reads.
        if self.stopped() { Err(io::Error::other("stopped")) } else { Ok(()) }
    }
}

/// An input that is read from its beginning in order, and tells how far it is.
pub struct Input {
    bytes: Arc<dyn Bytes>,
    offset: u64,
    progress: Arc<Progress>,
}

impl Input {
    /// All of `bytes`.
    ///
    /// # Errors
    /// When their number cannot be told.
    pub fn new(bytes: Arc<dyn Bytes>, progress: Arc<Progress>) -> io::Result<Self> {
        progress.set_all(bytes.len()?);
        Ok(Self { bytes, offset: 0, progress })
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.progress.check()?;
        let count = self.bytes.read_at(self.offset, buffer)?;
        self.offset += count as u64;
        self.progress.set_done(self.offset);
        Ok(count)
    }
}
