//! All files of a recording, those to come included.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use umtui_wire::frame::{END_GONE, END_LEFT};
use umtui_wire::header::STATE_ENDED;

use super::file::{Followed, Opened, Passed};
use super::frames::{Sink, Stop};
use super::life;
use crate::source::{Found, Paths};

/// Time between two looks at whether processes still run.
const LOOK: Duration = Duration::from_millis(200);

/// Follows the files of a recording.
pub struct Follower {
    paths: Paths,
    waiting: Vec<Found>,
    files: Vec<Followed>,
    looked: Option<Instant>,
    /// When something was last made in each of the folders.
    changed: Vec<Option<SystemTime>>,
    /// Files are ours alone: they are removed once they have been sent.
    private: bool,
    /// Files that have been followed.
    seen: usize,
    /// Events of files that are complete: sent, and overwritten before.
    before: (u64, u64),
}

impl Follower {
    /// Follows files, and folders with all recordings in them. `private`: files are removed once they are complete
    /// and sent.
    ///
    /// # Errors
    /// The path that is not there, with the system's answer.
    pub fn new(paths: &[PathBuf], private: bool) -> Result<Self, (PathBuf, std::io::Error)> {
        let paths = Paths::new(paths)?;
        let (waiting, files) = (Vec::new(), Vec::new());
        Ok(Self { paths, waiting, files, looked: None, changed: Vec::new(), private, seen: 0, before: (0, 0) })
    }

    /// Processes that have been seen.
    #[must_use]
    pub const fn seen(&self) -> usize {
        self.seen
    }

    /// Whether a process whose file is not complete may still write to it.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.files.iter().any(|file| file.gone == Some(false))
    }

    /// Events sent, and events that readers know to have been overwritten before they could be, in all files.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let add = |sum: (u64, u64), one: (u64, u64)| (sum.0 + one.0, sum.1 + one.1);
        self.files.iter().map(Followed::counts).fold(self.before, add)
    }

    /// Events that the processes themselves could not record, in files that are not complete.
    #[must_use]
    pub fn unrecorded(&mut self) -> u64 {
        self.files.iter_mut().map(Followed::unrecorded).sum()
    }

    /// The next pass tells everything but events again: somebody else reads.
    pub fn forget_reader(&mut self) {
        self.files.iter_mut().for_each(Followed::forget_reader);
    }

    /// Looks for new files, and at the processes; `now`: whether or not the last time is a while ago.
    pub fn look(&mut self, now: bool) {
        let due = self.looked.is_none_or(|then| then.elapsed() >= LOOK);
        let changed =
            self.paths.folders().iter().map(|folder| fs::metadata(folder).and_then(|data| data.modified()).ok());
        let changed: Vec<_> = changed.collect();
        if due || now || changed != self.changed {
            self.changed = changed;
            self.waiting.extend(self.paths.look());
        }
        for found in std::mem::take(&mut self.waiting) {
            match Followed::open(&found.path, self.private) {
                Ok(Opened::Recording(file)) => {
                    self.seen += 1;
                    self.files.push(*file);
                }
                Ok(Opened::Unwritten) => self.waiting.push(found),
                Ok(Opened::Foreign) => {}
                // Too many files are open, perhaps: later there may be fewer.
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => self.waiting.push(found),
                Err(_) => {}
            }
        }
        if due || now {
            self.looked = Some(Instant::now());
            for file in &mut self.files {
                file.gone = Some(life::runs(&file.header) != Some(true));
            }
        }
    }

    /// Sends what is new in all files. Those whose process is gone are told to be complete.
    ///
    /// # Errors
    /// When nobody takes it.
    pub fn pass(&mut self, sink: &mut dyn Sink) -> Result<Passed, Stop> {
        let mut all = Passed::default();
        let mut index = 0;
        while let Some(file) = self.files.get_mut(index) {
            let gone = file.gone == Some(true);
            let passed = file.pass(sink)?;
            all.moved |= passed.moved;
            all.more |= passed.more;
            if gone && !passed.more {
                let known = life::runs(&file.header).is_some() || file.header.state == STATE_ENDED;
                file.end(if known { END_GONE } else { END_LEFT }, sink)?;
                self.finish(index);
            } else {
                index += 1;
            }
        }
        Ok(all)
    }

    /// First pages and definitions again, for readers that have joined unseen.
    ///
    /// # Errors
    /// As [`Follower::pass`].
    pub fn repeat(&mut self, sink: &mut dyn Sink) -> Result<(), Stop> {
        self.files.iter_mut().try_for_each(|file| file.repeat(sink))
    }

    /// Says of all files that nothing more will come, because we stop here.
    ///
    /// # Errors
    /// As [`Follower::pass`].
    pub fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Stop> {
        while let Some(file) = self.files.first_mut() {
            file.end(END_LEFT, sink)?;
            self.finish(0);
        }
        Ok(())
    }

    /// For tests: whether the processes of the files run, whatever the system says.
    #[cfg(test)]
    pub(super) fn set_running(&mut self, running: bool) {
        self.files.iter_mut().for_each(|file| file.gone = Some(!running));
    }

    fn finish(&mut self, index: usize) {
        let file = self.files.remove(index);
        let (sent, dropped) = file.counts();
        self.before = (self.before.0 + sent, self.before.1 + dropped);
        if self.private {
            // Its bytes have gone out; nobody else knows of it.
            let _ = fs::remove_file(file.path());
        }
    }
}
