//! Foreign formats, read in threads of their own.

use crate::parse::ParseError;
use crate::parse::import::{Import, import};
use crate::parse::imported::{Progress, Spool};
use crate::parse::sniff::Format;
use crate::source::{FileBytes, temporary};
use crate::trace::Bytes;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

/// An input that is being read into native files.
pub(super) struct Importing {
    /// What it is called.
    pub name: String,
    /// The user named it: that it cannot be read is an error.
    pub named: bool,
    progress: Arc<Progress>,
    thread: Option<JoinHandle<Result<Import, ParseError>>>,
}

impl Importing {
    /// Begins.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(bytes: Arc<dyn Bytes>, format: Format, name: &str) -> io::Result<Self> {
        let progress = Arc::<Progress>::default();
        let (told, called) = (progress.clone(), name.to_owned());
        let spool: Arc<Spool> = Arc::new(|| {
            let file = temporary::file()?;
            let bytes: Arc<dyn Bytes> = Arc::new(FileBytes::of(file.try_clone()?, Path::new("temporary file")));
            Ok((file, bytes))
        });
        let work = move || import(bytes, format, &called, &spool, &told);
        let thread = std::thread::Builder::new().name("import".into()).spawn(work)?;
        Ok(Self { name: name.to_owned(), named: true, progress, thread: Some(thread) })
    }

    /// Bytes read, and all there are.
    pub(super) fn share(&self) -> (u64, u64) {
        let (done, all) = self.progress.share();
        // What follows reading takes time, too; it must not look finished.
        (done.min(all.saturating_sub(all / 64)), all.max(1))
    }

    /// What came of it, once it has ended.
    pub(super) fn result(&mut self) -> Option<Result<Import, ParseError>> {
        let ended = self.thread.take_if(|thread| thread.is_finished())?;
        Some(ended.join().unwrap_or_else(|_| {
            let what = "reading it failed inside; tell us, with the file if you can".to_owned();
            Err(ParseError::Format { file: self.name.clone(), what })
        }))
    }
}

impl Drop for Importing {
    fn drop(&mut self) {
        self.progress.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
