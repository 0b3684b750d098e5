//! One file of a session: how far it has been read, and whether more may come.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crate::parse::{NativeReader, ParseError, Progress};
use crate::session::alive::{Boot, Life, believed};
use crate::source::{Life as Sent, Spooled};
use crate::trace::{State, Trace};

/// Calls read of one file before it is the next one's turn.
const TURN: usize = 16 * 1024;
/// After so many turns without anything new the file of a process that is gone is read again only if it has grown.
const QUIET: u8 = 3;

/// A file that is being read.
pub(super) struct Open {
    pub(super) reader: NativeReader,
    /// Everything there was has been read once.
    pub(super) caught_up: bool,
    /// When it was last seen to grow after that.
    pub(super) last_growth: Option<Instant>,
    pub(super) alive: bool,
    pub(super) life: Life,
    /// The process is not on this machine any more, or never was.
    pub(super) absent: bool,
    /// How often in a row nothing came after that, and how long the file was then.
    pub(super) quiet: u8,
    pub(super) length: u64,
    /// Nothing more is to come, as far as was known at the last look.
    pub(super) over: bool,
    /// Where it was found, and as which file; `None` for a text, and for what came through a pipe.
    pub(super) place: Option<(PathBuf, (u64, u64))>,
    /// Its name leads to it no more.
    pub(super) removed: bool,
    pub(super) failed: bool,
    /// Not a file that a process writes: it says itself whether that was killed.
    pub(super) text: bool,
    /// Of a stream: how it stands there. What the process does on its own machine cannot be seen from here.
    pub(super) stream: Option<Arc<Spooled>>,
}

impl Open {
    /// A file found at a path, or a process of a text.
    pub(super) fn new(reader: NativeReader, path: Option<&Path>) -> Self {
        let (alive, life) = if path.is_none() { (false, Life::Gone) } else { (true, Life::Missing) };
        Self {
            reader,
            caught_up: false,
            last_growth: None,
            alive,
            life,
            absent: path.is_none(),
            quiet: 0,
            length: 0,
            over: false,
            place: path.and_then(|path| Some((path.to_owned(), identity(path)?))),
            removed: false,
            failed: false,
            text: path.is_none(),
            stream: None,
        }
    }

    /// A file of a stream.
    pub(super) fn of_stream(reader: NativeReader, file: Arc<Spooled>) -> Self {
        let fresh = Self::new(reader, None);
        Self { alive: true, life: Life::Elsewhere, absent: false, text: false, stream: Some(file), ..fresh }
    }

    /// Whether nothing more is to come.
    pub(super) fn is_over(&self) -> bool {
        self.quiet >= QUIET
            && self.absent
            && !self.alive
            && self.reader.bytes().len().is_ok_and(|now| now == self.length)
    }

    /// Reads on. A file of a stream stands still meanwhile.
    pub(super) fn poll(&mut self, trace: &mut Trace) -> Result<Progress, ParseError> {
        let Some(stream) = &self.stream else { return self.reader.poll(trace, TURN) };
        let standing = stream.hold();
        self.reader.set_horizon(standing.horizon);
        self.reader.poll(trace, TURN)
    }

    /// How a file of a stream stands, by what the stream says of it.
    pub(super) fn look_at_stream(&mut self, trace: &mut Trace) {
        self.over = self.is_over();
        let Some(stream) = &self.stream else { return };
        let mut standing = stream.hold();
        for (at, why) in standing.notes.drain(..) {
            trace.add_damage(self.reader.file(), at, why);
        }
        if let Some(process) = trace.processes.get_mut(self.reader.process().index())
            && process.missed != standing.missed
        {
            process.missed = standing.missed;
            trace.touch();
        }
        self.alive = standing.life == Sent::Sending && !self.failed;
        self.life = if self.alive { Life::Elsewhere } else { Life::Gone };
        self.absent = !self.alive;
        self.reader.set_process_gone(standing.life == Sent::Gone);
    }

    pub(super) fn look(&mut self, boot: &Boot, trace: &mut Trace, now: Instant) {
        if self.stream.is_some() {
            return self.look_at_stream(trace);
        }
        self.over = self.is_over();
        let Some(process) = trace.process(self.reader.process()).filter(|_| !self.text) else { return };
        self.removed = self.place.as_ref().is_some_and(|(path, file)| identity(path) != Some(*file));
        if self.over {
            return;
        }
        let over = !matches!(process.state, State::Recording | State::Killed);
        self.life = boot.life(process, trace.names.get(process.host));
        self.absent = self.life != Life::Alive && self.life != Life::Elsewhere;
        // A process whose recording has stopped may run on; it adds nothing.
        self.alive = !over && !self.failed && believed(self.life, self.last_growth, now);
        if over {
            self.life = Life::Gone;
        }
        // Of a process elsewhere nobody here knows how it ended.
        self.reader.set_process_gone(!self.alive && self.life != Life::Elsewhere);
    }
}

/// Which file a path leads to: device and inode.
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}
