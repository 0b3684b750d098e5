//! A file that is there whole or not at all: written under another name beside it, and renamed at its end.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::progress::Progress;

/// A file that is being written.
pub(super) struct WholeFile<'a> {
    file: File,
    /// Its name until it is whole, and then; `None`: it is written where it is.
    places: Option<(PathBuf, PathBuf)>,
    progress: &'a Progress,
}

impl<'a> WholeFile<'a> {
    /// Begins one at this path. What is no ordinary file (a pipe, a device) is written to as it is, and so is a file in
    /// a folder in which none can be made.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn create(path: &Path, progress: &'a Progress) -> io::Result<Self> {
        // What a link leads to is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let before = fs::metadata(&path).ok();
        let direct = |path: &Path| Ok(Self { file: File::create(path)?, places: None, progress });
        if before.as_ref().is_some_and(|before| !before.is_file()) {
            return direct(&path);
        }
        let Some(name) = path.file_name() else { return direct(&path) };
        if before.is_some() {
            // One that may not be written is not replaced either.
            OpenOptions::new().write(true).open(&path)?;
        }
        let mut half = std::ffi::OsString::from(".");
        half.push(name);
        half.push(format!(".{}", std::process::id()));
        let half = path.with_file_name(half);
        let file = match OpenOptions::new().write(true).create_new(true).open(&half) {
            Err(_) if before.is_some() => return direct(&path),
            file => file?,
        };
        progress.half_written(Some(&half));
        if let Some(before) = before {
            // Where that is not possible it is a new file.
            let _ = file.set_permissions(before.permissions());
        }
        Ok(Self { file, places: Some((half, path)), progress })
    }

    /// What is written to.
    pub(super) const fn file(&self) -> &File {
        &self.file
    }

    /// It is whole.
    ///
    /// # Errors
    /// If it cannot be given its name.
    pub(super) fn keep(mut self) -> io::Result<()> {
        if let Some((half, path)) = &self.places {
            fs::rename(half, path)?;
            self.places = None;
            self.progress.half_written(None);
        }
        Ok(())
    }
}

impl Drop for WholeFile<'_> {
    fn drop(&mut self) {
        if let Some((half, _)) = &self.places {
            let _ = fs::remove_file(half);
            self.progress.half_written(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn it_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let progress = Progress::begin();
        let path = folder.path().join("out.log");
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let whole = WholeFile::create(&path, &progress).unwrap();
        whole.file().write_all(b"half").unwrap();
        assert!(!path.exists() && names() == 1);
        drop(whole);
        assert_eq!(names(), 0);
        for text in ["one", "two"] {
            let whole = WholeFile::create(&path, &progress).unwrap();
            whole.file().write_all(text.as_bytes()).unwrap();
            whole.keep().unwrap();
            assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names()), (text, 1));
        }
    }

    #[test]
    fn what_a_link_leads_to_is_replaced_and_a_device_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let progress = Progress::begin();
        let (path, link) = (folder.path().join("out.log"), folder.path().join("link"));
        fs::write(&path, "before").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let whole = WholeFile::create(&link, &progress).unwrap();
        whole.file().write_all(b"after").unwrap();
        whole.keep().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        WholeFile::create(Path::new("/dev/null"), &progress).unwrap().keep().unwrap();
        assert!(WholeFile::create(&folder.path().join("none/out"), &progress).is_err());
    }
}
