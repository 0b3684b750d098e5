//! Foreign formats, read in threads of their own; of a large input its beginning is read first, to be seen meanwhile.

use crate::parse::ParseError;
use crate::parse::import::{Import, import};
use crate::parse::imported::{Imported, Progress, Spool};
use crate::parse::sniff::Format;
use crate::source::{FileBytes, temporary};
use crate::trace::Bytes;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

/// How much of an input is read to be seen before the rest has been, bytes: a fraction of a second's work, then a few
/// seconds'.
const BEGINNINGS: [u64; 2] = [16 << 20, 256 << 20];
/// A beginning is read if the input has at least so many times as much.
const MUCH_MORE: u64 = 4;
/// How many times as much is in a packed input.
const PACKED: u64 = 8;

/// An input that is being read into native files.
pub(super) struct Importing {
    /// What it is called.
    pub name: String,
    /// The user named it: that it cannot be read is an error.
    pub named: bool,
    bytes: Arc<dyn Bytes>,
    format: Format,
    whole: Work,
    /// The beginning that is being read, and how long it is.
    beginning: Option<(u64, Work)>,
    /// How long the next ones are, the longest first.
    next: Vec<u64>,
    large: bool,
}

/// A thread that imports.
struct Work {
    progress: Arc<Progress>,
    thread: Option<JoinHandle<Result<Import, ParseError>>>,
}

impl Importing {
    /// Begins.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(bytes: Arc<dyn Bytes>, format: Format, name: &str) -> io::Result<Self> {
        Self::with_beginnings(bytes, format, name, &BEGINNINGS)
    }

    /// Likewise, with beginnings as long as these, bytes.
    pub(super) fn with_beginnings(
        bytes: Arc<dyn Bytes>,
        format: Format,
        name: &str,
        lengths: &[u64],
    ) -> io::Result<Self> {
        let whole = Work::start(bytes.clone(), format, name)?;
        let all = bytes.len().unwrap_or(0);
        let packed = if format.is_packed() { PACKED } else { 1 };
        let mut next: Vec<u64> = lengths.iter().map(|length| length / packed).collect();
        next.retain(|length| format.has_beginning() && length.saturating_mul(MUCH_MORE) <= all);
        next.reverse();
        Ok(Self {
            name: name.to_owned(),
            named: true,
            bytes,
            format,
            whole,
            beginning: None,
            large: !next.is_empty(),
            next,
        })
    }

    /// Bytes read, and all there are.
    pub(super) fn share(&self) -> (u64, u64) {
        let (done, all) = self.whole.progress.share();
        // What follows reading takes time, too; it must not look finished.
        (done.min(all.saturating_sub(all / 64)), all.max(1))
    }

    /// Whether it is so large that its beginning is read first.
    pub(super) fn is_large(&self) -> bool {
        self.large
    }

    /// What came of it, once it has ended.
    pub(super) fn result(&mut self) -> Option<Result<Import, ParseError>> {
        self.whole.result(&self.name)
    }

    /// What is in the first bytes of the input, and how many these are: each longer beginning once, when it has been read.
    /// The first time asked starts reading them.
    pub(super) fn beginning(&mut self) -> Option<(u64, Imported)> {
        let read = match &mut self.beginning {
            Some((length, work)) => Some((*length, work.result(&self.name)?)),
            None => None,
        };
        self.beginning = self.next.pop().and_then(|length| {
            let bytes = Arc::new(Beginning { of: self.bytes.clone(), length });
            // That it cannot be read early is no harm.
            Some((length, Work::start(bytes, self.format, &self.name).ok()?))
        });
        let (length, Ok(Import::Files(mut imported))) = read? else { return None };
        // Where it is cut off nothing is damaged.
        imported.lost.clear();
        imported.notes.clear();
        (!imported.files.is_empty()).then_some((length, imported))
    }
}

impl Work {
    fn start(bytes: Arc<dyn Bytes>, format: Format, name: &str) -> io::Result<Self> {
        let progress = Arc::<Progress>::default();
        let (told, called) = (progress.clone(), name.to_owned());
        let spool: Arc<Spool> = Arc::new(|| {
            let file = temporary::file()?;
            let bytes: Arc<dyn Bytes> = Arc::new(FileBytes::of(file.try_clone()?, Path::new("temporary file")));
            Ok((file, bytes))
        });
        let work = move || import(bytes, format, &called, &spool, &told);
        let thread = std::thread::Builder::new().name("import".into()).spawn(work)?;
        Ok(Self { progress, thread: Some(thread) })
    }

    fn result(&mut self, name: &str) -> Option<Result<Import, ParseError>> {
        let ended = self.thread.take_if(|thread| thread.is_finished())?;
        Some(ended.join().unwrap_or_else(|_| {
            let what = "reading it failed inside; tell us, with the file if you can".to_owned();
            Err(ParseError::Format { file: name.to_owned(), what })
        }))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.progress.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The first bytes of others.
struct Beginning {
    of: Arc<dyn Bytes>,
    length: u64,
}

impl Bytes for Beginning {
    fn len(&self) -> io::Result<u64> {
        Ok(self.of.len()?.min(self.length))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX).min(buffer.len());
        self.of.read_at(offset, buffer.get_mut(..left).unwrap_or(&mut []))
    }
}
