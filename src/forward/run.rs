//! Follows and sends until the program has ended, and then as long as somebody reads.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::follow::Follower;
use super::frames::{Sink, Stop};
use super::output::Output;
use crate::source::{Wake, Watch};

/// Time between two passes while there is something to send: what a reader waits for an event.
const BUSY: Duration = Duration::from_millis(10);
/// Likewise while nothing happens. The hook's nudge ends it early where the system tells of changes.
const IDLE: Duration = Duration::from_millis(50);
/// Nothing has happened for so long: it is idle.
const CALM: Duration = Duration::from_millis(500);
/// Shortest time between two passes, so that frames are not all small.
const PACE: Duration = Duration::from_millis(4);
/// First pages and definitions are sent again after so long, or so many bytes: a reader that nobody saw coming keeps
/// what it does not understand yet for longer.
const REPEAT: (Duration, u64) = (Duration::from_secs(2), 4 << 20);
/// But not before so many times as long, and as many bytes, as they took the last time.
const SHARE: u32 = 20;

/// How the program's side stands, told by whoever waits for it.
#[derive(Debug)]
pub struct Control {
    ended: OnceLock<Instant>,
    give_up: AtomicBool,
    drain: Duration,
}

impl Control {
    /// The program runs. After its end a reader that takes nothing is waited for as long as `drain`.
    #[must_use]
    pub const fn new(drain: Duration) -> Self {
        Self { ended: OnceLock::new(), give_up: AtomicBool::new(false), drain }
    }

    /// The program has ended: what it left is sent, and nothing more waited for.
    pub fn end(&self) {
        self.ended.get_or_init(Instant::now);
    }

    /// Nothing is waited for any more.
    pub fn give_up(&self) {
        self.give_up.store(true, Ordering::Release);
    }

    /// When the program ended.
    #[must_use]
    pub fn ended(&self) -> Option<Instant> {
        self.ended.get().copied()
    }

    pub(super) fn gives_up(&self) -> bool {
        self.give_up.load(Ordering::Acquire)
    }

    pub(super) const fn drain(&self) -> Duration {
        self.drain
    }
}

/// What became of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Processes that were followed.
    pub processes: usize,
    /// Events that went out.
    pub sent: u64,
    /// Events that were recorded and that nobody has read: still in the files, overwritten there, or left in the pipe.
    pub unread: u64,
    /// Events that could not be recorded, as far as nobody has been told.
    pub unrecorded: u64,
}

/// Sends what is recorded at `paths` until it is told to end, or, with `until_ended`, until no process is left that
/// might go on. `private`: the files are ours alone and removed once they have been sent.
///
/// # Errors
/// When a path is not there.
pub fn run(
    paths: &[PathBuf],
    private: bool,
    until_ended: bool,
    output: Output,
    control: &Control,
) -> io::Result<Summary> {
    let failed =
        |(path, error): (PathBuf, io::Error)| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let follower = Follower::new(paths, private).map_err(failed)?;
    let mut watch = Watch::new();
    for path in paths {
        watch.add(path);
    }
    let now = Instant::now();
    let mut run = Run {
        follower,
        output,
        control,
        watch,
        until_ended,
        moved: now,
        repeat: Repeat::default(),
        quiet: 0,
        waiting: now,
        complete: None,
    };
    while run.step() {}
    Ok(run.finish())
}

struct Run<'a> {
    follower: Follower,
    output: Output,
    control: &'a Control,
    watch: Watch,
    until_ended: bool,
    /// When something was sent last.
    moved: Instant,
    repeat: Repeat,
    /// Complete passes after the end in which nothing was found.
    quiet: u32,
    /// Since when there is no reader.
    waiting: Instant,
    /// Since when all that was to be followed is complete, where that ends it.
    complete: Option<Instant>,
}

impl Run<'_> {
    /// Does one pass and waits for the next; false when it is time to stop.
    fn step(&mut self) -> bool {
        let begun = Instant::now();
        let ended = self.control.ended();
        if self.control.gives_up() || self.output.is_over() && ended.is_some() {
            return false;
        }
        self.follower.look(ended.is_some());
        let complete = self.until_ended && self.follower.seen() > 0 && !self.follower.waits();
        self.complete = complete.then(|| self.complete.unwrap_or(begun));
        if !self.output.connected() {
            self.follower.forget_reader();
            let since = ended.or(self.complete).map(|ended| ended.max(self.waiting));
            if since.is_some_and(|since| since.elapsed() > self.control.drain())
                || self.until_ended && self.output.is_over()
            {
                return false;
            }
            std::thread::sleep(BUSY);
            return true;
        }
        let mut more = false;
        match self.pass(begun) {
            Ok(passed) => {
                more = passed.more;
                if passed.moved {
                    self.moved = Instant::now();
                }
                let over = ended.is_some() || complete;
                let still = over && !passed.moved && !passed.more;
                self.quiet = if still { self.quiet + 1 } else { 0 };
                if self.quiet > 1 {
                    return false;
                }
            }
            Err(Stop::NoReader) => self.follower.forget_reader(),
            Err(Stop::GiveUp) => return false,
        }
        self.waiting = Instant::now();
        if !more {
            let pause = if ended.is_some() || self.moved.elapsed() < CALM { BUSY } else { IDLE };
            if self.watch.wait(pause.saturating_sub(begun.elapsed()).max(PACE)) == Wake::Changed {
                std::thread::sleep(PACE);
            }
        }
        true
    }

    fn pass(&mut self, begun: Instant) -> Result<super::file::Passed, Stop> {
        let written = self.output.written();
        if self.repeat.is_due(begun, written) {
            self.follower.repeat(&mut self.output)?;
            self.repeat.done(begun, written, self.output.written());
        }
        self.follower.pass(&mut self.output)
    }

    /// Ends the stream in order if somebody reads, and counts what nobody has read.
    fn finish(mut self) -> Summary {
        let given_up = self.control.gives_up() || !self.output.connected();
        if !given_up && self.quiet > 1 && self.follower.end(&mut self.output).is_ok() {
            self.output.flush();
        }
        let stranded = self.output.stranded();
        let (sent, dropped) = self.follower.counts();
        // What is left goes nowhere, but it goes: so it is counted.
        self.follower.look(true);
        let unrecorded = self.follower.unrecorded();
        for _ in 0..2 {
            while self.follower.pass(&mut Nowhere).is_ok_and(|passed| passed.more) {}
        }
        let (all, all_dropped) = self.follower.counts();
        let unread = (all - sent) + (all_dropped - dropped) + stranded;
        Summary { processes: self.follower.seen(), sent: sent - stranded.min(sent), unread, unrecorded }
    }
}

/// When everything but events is due again.
#[derive(Default)]
struct Repeat {
    /// When, and after how many bytes, it was done last.
    last: Option<(Instant, u64)>,
    /// What it took.
    took: (Duration, u64),
}

impl Repeat {
    fn is_due(&mut self, now: Instant, written: u64) -> bool {
        let (then, before) = *self.last.get_or_insert((now, written));
        let (passed, bytes) = (now.saturating_duration_since(then), written.saturating_sub(before));
        let (time, size) = (self.took.0 * SHARE, self.took.1 * u64::from(SHARE));
        passed >= REPEAT.0.max(time) || (bytes >= REPEAT.1.max(size) && passed >= time)
    }

    fn done(&mut self, begun: Instant, before: u64, after: u64) {
        self.took = (begun.elapsed(), after.saturating_sub(before));
        self.last = Some((Instant::now(), after));
    }
}

struct Nowhere;

impl Sink for Nowhere {
    fn send(&mut self, _: &[u8], _: u32) -> Result<(), Stop> {
        Ok(())
    }
}
