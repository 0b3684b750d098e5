//! A regular file.

use crate::trace::Bytes;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A regular file, read at any offset. It may grow or be cut short meanwhile; if its name is taken away, what was
/// opened stays readable.
#[derive(Debug)]
pub struct FileBytes {
    file: File,
    path: PathBuf,
}

impl FileBytes {
    /// Opens `path`.
    ///
    /// # Errors
    /// When it cannot be opened, or is not a regular file: a pipe would block, a folder has no bytes.
    pub fn open(path: &Path) -> io::Result<Self> {
        // O_NONBLOCK: opening a FIFO that nobody writes to must not wait.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)?;
        let kind = file.metadata()?.file_type();
        if !kind.is_file() {
            let what = if kind.is_dir() { "is a folder" } else { "is not a regular file; save it to one first" };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(Self { file, path: path.to_owned() })
    }

    /// A file that is open already; `path` is what it is called.
    #[must_use]
    pub fn of(file: File, path: &Path) -> Self {
        Self { file, path: path.to_owned() }
    }

    /// The file once more, to be read from its beginning in order.
    ///
    /// # Errors
    /// When it cannot be opened again.
    pub fn again(&self) -> io::Result<File> {
        File::open(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// The path it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Bytes for FileBytes {
    fn named_file(&self) -> Option<PathBuf> {
        // The name may have been given to another file.
        let (own, named) = (self.file.metadata().ok()?, std::fs::metadata(&self.path).ok()?);
        ((own.dev(), own.ino()) == (named.dev(), named.ino())).then(|| self.path.clone())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            // Beyond what an off_t can say there is nothing.
            let Some(at) = offset.checked_add(done as u64).filter(|&at| i64::try_from(at).is_ok()) else { break };
            match self.file.read_at(rest, at) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grown_cut_and_vanished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"hello").unwrap();
        let bytes = FileBytes::open(&path).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(bytes.read_at(1, &mut buffer).unwrap(), 4);
        std::fs::write(&path, b"hello world").unwrap();
        assert_eq!(bytes.read_at(6, &mut buffer).unwrap(), 5);
        OpenOptions::new().write(true).open(&path).unwrap().set_len(2).unwrap();
        assert_eq!(bytes.len().unwrap(), 2);
        assert_eq!(bytes.read_at(5, &mut buffer).unwrap(), 0);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(bytes.read_at(0, &mut buffer).unwrap(), 2);
        assert_eq!(bytes.read_at(u64::MAX, &mut buffer).unwrap(), 0);
    }

    #[test]
    fn folders_and_missing_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        assert!(FileBytes::open(folder.path()).unwrap_err().to_string().contains("folder"));
        assert_eq!(FileBytes::open(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(FileBytes::open(Path::new("/dev/null")).is_err());
    }
}
