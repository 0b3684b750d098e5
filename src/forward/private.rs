//! A folder for files on their way: ours alone, and gone when we are.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::source::poll;

const PREFIX: &str = "umtui-stream-";
/// Held locked as long as its folder is in use: process ids do not tell, since other containers may share the folder
/// for temporary files.
const LOCK: &str = ".lock";
/// A folder without a lock is being made, unless it is older.
const YOUNG: Duration = Duration::from_secs(60);

/// A folder for files on their way; removed with all that is in it when this is dropped.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    _lock: File,
}

impl PrivateFolder {
    /// Makes one in `XDG_RUNTIME_DIR`, or else among the temporary files, and removes those whose owners have died.
    ///
    /// # Errors
    /// When none can be made; the error names what was tried.
    pub fn new() -> io::Result<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let mut tried = Vec::new();
        for base in runtime.into_iter().chain([std::env::temp_dir()]) {
            remove_stale(&base);
            match Self::within(&base) {
                Ok(folder) => return Ok(folder),
                Err(error) => tried.push(format!("{}: {error}", base.display())),
            }
        }
        let what = format!("no private folder can be made ({}); set TMPDIR to a folder of yours", tried.join(", "));
        Err(io::Error::other(what))
    }

    fn within(base: &Path) -> io::Result<Self> {
        for attempt in 0..100 {
            let path = base.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                other => other?,
            }
            let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path.join(LOCK));
            // Somebody may have taken it for stale in between.
            if let Ok(lock) = made
                && poll::lock(lock.as_fd())
                && path.join(LOCK).exists()
            {
                return Ok(Self { path: fs::canonicalize(path)?, _lock: lock });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // A process that runs on makes no new file here, and loses nothing but its recording.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes folders of owners that have died.
fn remove_stale(base: &Path) {
    let Ok(own) = fs::metadata("/proc/self").map(|own| own.uid()) else { return };
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        let path = entry.path();
        let ours = fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir() && data.uid() == own);
        if !ours {
            continue;
        }
        // Held until the folder is gone: a folder whose lock has just been made is then never taken by its owner too.
        let lock = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(path.join(LOCK));
        let stale = match &lock {
            // What was opened may be the lock of a folder that has gone, and another is there under its name.
            Ok(lock) => poll::lock(lock.as_fd()) && is_at(lock, &path.join(LOCK)),
            Err(_) => entry
                .metadata()
                .and_then(|data| data.modified())
                .is_ok_and(|then| then.elapsed().is_ok_and(|age| age > YOUNG)),
        };
        if stale {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether a path leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |data: fs::Metadata| (data.dev(), data.ino());
    file.metadata().map(identity).ok().is_some_and(|own| fs::symlink_metadata(path).map(identity).ok() == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_use_stay_and_stale_ones_go() {
        let base = tempfile::tempdir().unwrap();
        let used = PrivateFolder::within(base.path()).unwrap();
        assert_eq!(fs::metadata(used.path()).unwrap().mode() & 0o777, 0o700);
        let stale = base.path().join(format!("{PREFIX}1-0"));
        fs::create_dir(&stale).unwrap();
        fs::write(stale.join(LOCK), b"").unwrap();
        fs::write(stale.join("host-1.umt"), b"x").unwrap();
        let young = base.path().join(format!("{PREFIX}2-0"));
        fs::create_dir(&young).unwrap();
        remove_stale(base.path());
        assert!(used.path().exists() && young.exists() && !stale.exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_was_just_made_is_never_removed() {
        let base = tempfile::tempdir().unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    remove_stale(base.path());
                }
            });
            for _ in 0..3000 {
                // The lock belongs to the open file, so another thread is as good as another process.
                let folder = PrivateFolder::within(base.path());
                let kept = folder.as_ref().is_ok_and(|folder| folder.path().exists());
                std::thread::yield_now();
                let kept = kept && folder.is_ok_and(|folder| folder.path().join(LOCK).exists());
                if !kept {
                    done.store(true, std::sync::atomic::Ordering::Relaxed);
                    panic!("a folder in use was removed");
                }
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
