//! The pipe that frames go into: written without ever waiting for longer than it is wanted.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::frames::{Sink, Stop};
use super::run::Control;
use crate::source::poll;

/// Longest wait without looking whether it is still wanted.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes that a pipe can hold, at most.
const PIPE: usize = 1 << 20;

/// Where a stream goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A FIFO, whose readers may come and go.
    Fifo(PathBuf),
    /// Our standard output.
    Stdout,
}

impl Target {
    /// What a path on the command line stands for, if it is no folder: `-`, or a FIFO.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        if path == Path::new("-") {
            return Some(Self::Stdout);
        }
        let fifo = std::fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo());
        fifo.then(|| Self::Fifo(path.to_owned()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pipe,
    Socket,
    /// A file takes everything at once.
    File,
}

/// The pipe. Nothing is waited for longer than the program's side wants ([`Control`]).
pub struct Output {
    target: Target,
    out: Option<File>,
    kind: Kind,
    /// Writing might wait: whether there is room is asked before.
    asks: bool,
    /// Rest of a frame of which a socket took only a part.
    rest: Vec<u8>,
    /// The newest frames, with the events in them: some may still lie in the pipe.
    newest: VecDeque<(usize, u32)>,
    newest_bytes: usize,
    written: u64,
    /// When a frame went out last.
    progress: Instant,
    /// Nobody can ever read again.
    over: bool,
    control: Arc<Control>,
}

impl Output {
    /// Nothing is opened yet but standard output.
    ///
    /// # Errors
    /// When standard output is a terminal or cannot be had.
    pub fn new(target: Target, control: Arc<Control>) -> io::Result<Self> {
        let mut output = Self {
            target,
            out: None,
            kind: Kind::Pipe,
            asks: false,
            rest: Vec::new(),
            newest: VecDeque::new(),
            newest_bytes: 0,
            written: 0,
            progress: Instant::now(),
            over: false,
            control,
        };
        if output.target == Target::Stdout {
            if io::stdout().is_terminal() {
                let what = "stdout is a terminal; pipe the stream into `umtui open -` or `umtui report -`";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
            output.open_stdout()?;
        }
        Ok(output)
    }

    /// Others may have the same end of a pipe, so it is opened once more: whether writing waits is then ours alone.
    fn open_stdout(&mut self) -> io::Result<()> {
        let same = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let kind = same.metadata()?.file_type();
        if kind.is_fifo() {
            self.kind = Kind::Pipe;
            match open(Path::new("/proc/self/fd/1")) {
                Ok(own) => self.out = Some(own),
                // Its reader has gone already.
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => self.over = true,
                // Another user's pipe, or no /proc. As long as nobody else writes, asking first is as good.
                Err(_) => (self.out, self.asks) = (Some(same), true),
            }
        } else {
            self.kind = if kind.is_socket() { Kind::Socket } else { Kind::File };
            self.out = Some(same);
        }
        self.out.iter().for_each(|out| poll::widen(out.as_fd()));
        Ok(())
    }

    /// Whether somebody reads; a FIFO is opened as soon as somebody does.
    pub fn connected(&mut self) -> bool {
        if self.over {
            return false;
        }
        if self.out.is_none()
            && let Target::Fifo(path) = &self.target
        {
            // ENXIO: nobody has it open to read.
            self.out = open(path).ok();
            self.out.iter().for_each(|out| poll::widen(out.as_fd()));
        }
        let gone = |out: &File| poll::wait(out.as_fd(), true, Duration::ZERO).is_ok_and(|ready| ready.hung_up);
        let connected = self.out.as_ref().is_some_and(|out| self.kind == Kind::File || !gone(out));
        self.over |= !connected && self.target == Target::Stdout;
        connected
    }

    /// Whether nobody can ever read again.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// Bytes that went out.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// How long ago a frame went out.
    #[must_use]
    pub fn silent(&self) -> Duration {
        self.progress.elapsed()
    }

    /// Events in the pipe that nobody will read: those in the newest frames, if all readers have gone. Where others
    /// write into it too, some of what lies there is theirs, and this says more than there are.
    pub fn stranded(&mut self) -> u64 {
        if self.kind == Kind::File || self.connected() {
            return 0;
        }
        let mut unread = self.out.as_ref().map_or(0, |out| poll::unread(out.as_fd()));
        let mut events = 0;
        for (bytes, inside) in self.newest.iter().rev() {
            if unread == 0 {
                break;
            }
            unread = unread.saturating_sub(*bytes);
            events += u64::from(*inside);
        }
        events
    }

    /// Writes as much as there is room for.
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let Some(mut out) = self.out.as_ref() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        match self.kind {
            Kind::Pipe if self.asks && poll::wait(out.as_fd(), true, Duration::ZERO)? == poll::Ready::default() => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            Kind::Socket => poll::send(out.as_fd(), bytes),
            Kind::Pipe | Kind::File => out.write(bytes),
        }
    }

    fn wait_for_room(&self) {
        let Some(out) = &self.out else { return };
        let begun = Instant::now();
        let ready = poll::wait(out.as_fd(), true, LOOK);
        // A pipe may have room for something, and not for a frame.
        if ready.is_ok_and(|ready| ready.writable) && begun.elapsed() < Duration::from_millis(1) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn try_once(&mut self, bytes: &[u8]) -> Result<usize, Option<Stop>> {
        match self.write(bytes) {
            Ok(count) => {
                self.progress = Instant::now();
                Ok(count)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock) => {
                let since = self.control.ended().map_or(Duration::ZERO, |ended| ended.elapsed());
                if self.control.gives_up() || since.min(self.silent()) > self.control.drain() {
                    return Err(Some(Stop::GiveUp));
                }
                self.wait_for_room();
                Err(None)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(None),
            Err(_) => {
                // EPIPE: all readers have gone. The pipe stays open, so that what lies in it is there for the next.
                self.rest.clear();
                self.over |= self.target == Target::Stdout;
                Err(Some(Stop::NoReader))
            }
        }
    }

    fn write_all(&mut self, frame: &[u8]) -> Result<(), Stop> {
        // First what is left of a frame: nothing else may come in between.
        while !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            let result = self.try_once(&rest);
            let done = result.as_ref().map_or(0, |count| *count);
            if !matches!(result, Err(Some(Stop::NoReader))) {
                self.rest = rest.get(done..).unwrap_or(&[]).to_vec();
            }
            if let Err(Some(stop)) = result {
                return Err(stop);
            }
        }
        loop {
            match self.try_once(frame) {
                Ok(count) => {
                    self.rest = frame.get(count..).unwrap_or(&[]).to_vec();
                    return Ok(());
                }
                Err(Some(stop)) => return Err(stop),
                Err(None) => {}
            }
        }
    }

    /// Waits until the rest of the last frame has gone out too.
    pub fn flush(&mut self) {
        while !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            match self.try_once(&rest) {
                Ok(count) => self.rest = rest.get(count..).unwrap_or(&[]).to_vec(),
                Err(None) => self.rest = rest,
                Err(Some(_)) => return,
            }
        }
    }
}

impl Sink for Output {
    fn send(&mut self, frame: &[u8], events: u32) -> Result<(), Stop> {
        if self.control.gives_up() {
            return Err(Stop::GiveUp);
        }
        self.write_all(frame)?;
        self.newest.push_back((frame.len(), events));
        self.newest_bytes += frame.len();
        self.written += frame.len() as u64;
        while self.newest_bytes > PIPE + frame.len()
            && let Some((bytes, _)) = self.newest.pop_front()
        {
            self.newest_bytes -= bytes;
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)
}
