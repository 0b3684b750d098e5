//! What comes through a pipe: standard input, or a FIFO.
//!
//! A thread takes it as fast as it comes, so that the other side need not wait for whoever looks at it, and writes it
//! into temporary files.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::frames::has_frame;
use super::{FileBytes, Spooled, Stream, poll, temporary};

/// Bytes by which it is known what comes: a frame begins and ends in them, wherever the stream was joined, and a log's tool
/// has said something by then.
const HEAD: usize = 64 * 1024;
/// Longest wait without looking whether anybody still wants to know.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes read at once.
const READ: usize = 256 << 10;

/// Whether these are the first bytes of something that can be read and is no stream of frames: what may come in a pipe is
/// known to whoever opens it.
pub type Known = fn(&[u8]) -> bool;

/// Something that has come.
#[derive(Debug)]
pub enum Arrived {
    /// A file of a stream of frames; it grows.
    File(Arc<Spooled>),
    /// What came was no stream of frames; this is all of it.
    Whole(Arc<FileBytes>),
    /// Something went wrong, in a line that names the stream.
    Failed(String),
}

/// A pipe that is being read.
#[derive(Debug)]
pub struct Pipe {
    arrived: Receiver<Arrived>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    name: String,
}

/// Whether a path stands for something that can only be read once: `-` for standard input, a FIFO, `/dev/stdin` where
/// that is a pipe.
#[must_use]
pub fn is_pipe(path: &Path) -> bool {
    let Ok(kind) = std::fs::metadata(path_of(path)).map(|data| data.file_type()) else { return false };
    // A file as standard input has a path like any other. A terminal there is refused when it is opened.
    kind.is_fifo() || kind.is_socket() || (path == Path::new("-") && kind.is_char_device())
}

/// The path to open for what the user has named.
#[must_use]
pub fn path_of(path: &Path) -> PathBuf {
    if path == Path::new("-") { PathBuf::from(STDIN) } else { path.to_owned() }
}

const STDIN: &str = "/dev/stdin";

impl Pipe {
    /// Begins to read.
    ///
    /// # Errors
    /// When it cannot be opened, or is a terminal.
    pub fn open(path: &Path, known: Known) -> io::Result<Self> {
        let from = if path == Path::new("-") {
            File::from(io::stdin().as_fd().try_clone_to_owned()?)
        } else {
            // O_NONBLOCK: opening a FIFO that nobody writes to yet must not wait.
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)?
        };
        if from.is_terminal() {
            let what = "is a terminal; pipe a stream into it, as of `umtui record -o - -- COMMAND`";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Self::start(from, &path.display().to_string(), known)
    }

    /// Begins to read a file that holds a stream of frames.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn of_file(from: File, name: &str) -> io::Result<Self> {
        Self::start(from, name, |_| false)
    }

    fn start(from: File, name: &str, known: Known) -> io::Result<Self> {
        let (sender, arrived) = channel();
        let stop = Arc::<AtomicBool>::default();
        poll::widen(from.as_fd());
        let pump = Pump { from, name: name.to_owned(), known, arrived: sender, stop: stop.clone() };
        let thread = std::thread::Builder::new().name("pipe".into()).spawn(move || pump.run())?;
        Ok(Self { arrived, stop, thread: Some(thread), name: name.to_owned() })
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What has come since the last time; whether anything more may.
    #[must_use]
    pub fn arrived(&self) -> (Vec<Arrived>, bool) {
        // Looked at first: what the thread sends before it ends is then seen.
        let over = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        (self.arrived.try_iter().collect(), !over)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread's side.
struct Pump {
    from: File,
    name: String,
    known: Known,
    arrived: Sender<Arrived>,
    stop: Arc<AtomicBool>,
}

/// What a wait for bytes brought.
enum Came {
    Bytes(usize),
    Nothing,
    End,
}

impl Pump {
    fn run(self) {
        if let Err(error) = self.pump() {
            self.tell(Arrived::Failed(format!("{}: {error}", self.name)));
        }
    }

    fn tell(&self, arrived: Arrived) {
        // Nobody listens when the session has ended.
        let _ = self.arrived.send(arrived);
    }

    fn pump(&self) -> io::Result<()> {
        let mut buffer = vec![0; READ];
        let mut head = Vec::new();
        // Bytes after which it is looked at again: not for each of them, if they come one by one.
        let mut enough = 1;
        loop {
            let came = self.read(&mut buffer, LOOK)?;
            if let Came::Bytes(count) = came {
                head.extend_from_slice(buffer.get(..count).unwrap_or(&[]));
                if head.len() < enough {
                    continue;
                }
            }
            enough = head.len() + head.len() / 8 + 1;
            // Only what is always looked at decides, however much of it has come at once.
            if has_frame(head.get(..HEAD).unwrap_or(&head)) {
                return self.frames(&head, &mut buffer);
            }
            let ended = matches!(came, Came::End);
            if ended && head.is_empty() {
                let why = "nothing came: the program made no CUDA call, or nothing was recorded";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
            }
            if ended || head.len() >= HEAD {
                // Of what nobody could read the beginning is enough to say so.
                let enough = ended || !(self.known)(&head);
                return self.whole(&head, &mut buffer, enough);
            }
            if self.stopped() {
                return Ok(());
            }
        }
    }

    /// A stream of frames, of which the first bytes have been read.
    fn frames(&self, head: &[u8], buffer: &mut [u8]) -> io::Result<()> {
        let mut stream = Stream::new(&self.name);
        stream.push(head);
        loop {
            stream.fresh().into_iter().for_each(|file| self.tell(Arrived::File(file)));
            stream.failed().into_iter().for_each(|why| self.tell(Arrived::Failed(why)));
            match self.read(buffer, LOOK) {
                Ok(Came::Bytes(count)) => stream.push(buffer.get(..count).unwrap_or(&[])),
                Ok(Came::Nothing) if self.stopped() => return Ok(()),
                Ok(Came::Nothing) => {}
                Ok(Came::End) => break,
                Err(error) => {
                    self.tell(Arrived::Failed(format!("{}: {error}", self.name)));
                    break;
                }
            }
        }
        let told = stream.end();
        stream.fresh().into_iter().for_each(|file| self.tell(Arrived::File(file)));
        told.into_iter().for_each(|why| self.tell(Arrived::Failed(why)));
        Ok(())
    }

    /// Anything else goes into one file: all of it, unless `ended`.
    fn whole(&self, head: &[u8], buffer: &mut [u8], ended: bool) -> io::Result<()> {
        let mut out = temporary::file()?;
        out.write_all(head)?;
        if !ended {
            loop {
                match self.read(buffer, LOOK)? {
                    Came::Bytes(count) => out.write_all(buffer.get(..count).unwrap_or(&[]))?,
                    Came::Nothing if self.stopped() => return Ok(()),
                    Came::Nothing => {}
                    Came::End => break,
                }
            }
        }
        self.tell(Arrived::Whole(Arc::new(FileBytes::of(out, Path::new(&self.name)))));
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Reads what there is, or waits for it for at most `limit`.
    fn read(&self, buffer: &mut [u8], limit: Duration) -> io::Result<Came> {
        let ready = poll::wait(self.from.as_fd(), false, limit)?;
        if !ready.readable && !ready.hung_up {
            return Ok(Came::Nothing);
        }
        loop {
            match (&self.from).read(buffer) {
                Ok(0) => return Ok(Came::End),
                Ok(count) => return Ok(Came::Bytes(count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Came::Nothing),
                Err(error) => return Err(error),
            }
        }
    }
}
