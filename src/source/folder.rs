//! Paths that the user named: files, and folders that stand for the files in them.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files looked at in one folder; a run has one file for each process.
const FILES_MAX: usize = 65_536;

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// The user named the file itself: that it cannot be read is an error. In a folder, strangers are passed over.
    pub named: bool,
}

/// The paths of a session, looked through again and again: processes that start later add files.
#[derive(Debug, Default)]
pub struct Paths {
    folders: Vec<PathBuf>,
    known: BTreeSet<Identity>,
    fresh: Vec<Found>,
}

/// What stays the same of a file that is renamed, and differs when another takes its name, or its number after its end.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    device: u64,
    inode: u64,
    born: Option<SystemTime>,
    /// Where the file system does not keep when files were born.
    path: Option<PathBuf>,
}

impl Identity {
    fn of(path: &Path, data: &Metadata) -> Self {
        let born = data.created().ok();
        let path = born.is_none().then(|| path.to_owned());
        Self { device: data.dev(), inode: data.ino(), born, path }
    }
}

impl Paths {
    /// Takes over these paths.
    ///
    /// # Errors
    /// The first path that is not there, with the system's answer.
    pub fn new(paths: &[PathBuf]) -> Result<Self, (PathBuf, io::Error)> {
        let mut all = Self::default();
        for path in paths {
            match std::fs::metadata(path) {
                Err(error) => return Err((path.clone(), error)),
                Ok(data) if data.is_dir() => all.folders.push(path.clone()),
                Ok(data) if all.known.insert(Identity::of(path, &data)) => {
                    all.fresh.push(Found { path: path.clone(), named: true });
                }
                Ok(_) => {}
            }
        }
        Ok(all)
    }

    /// The folders.
    #[must_use]
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Files that were not told before, in order of name. A folder that cannot be read now may be later.
    pub fn look(&mut self) -> Vec<Found> {
        let mut found = std::mem::take(&mut self.fresh);
        for folder in &self.folders {
            for (path, identity) in files_in(folder) {
                if self.known.insert(identity) {
                    found.push(Found { path, named: false });
                }
            }
        }
        found
    }

    /// Gives a file back: it will be told again. For one whose first bytes have not been written yet.
    pub fn later(&mut self, found: Found) {
        if found.named {
            self.fresh.push(found);
        } else if let Ok(data) = std::fs::metadata(&found.path) {
            self.known.remove(&Identity::of(&found.path, &data));
        }
    }
}

/// Regular files of a folder but for hidden ones, in order of name.
fn files_in(folder: &Path) -> Vec<(PathBuf, Identity)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let visible = |path: &PathBuf| path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."));
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(visible);
    let known = |path: PathBuf| {
        let data = std::fs::metadata(&path).ok().filter(Metadata::is_file)?;
        let identity = Identity::of(&path, &data);
        Some((path, identity))
    };
    let mut files: Vec<_> = paths.filter_map(known).take(FILES_MAX).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_once_and_new_ones_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("b"), b"").unwrap();
        std::fs::write(path("a"), b"").unwrap();
        std::fs::write(path(".hidden"), b"").unwrap();
        std::fs::create_dir(path("inner")).unwrap();
        let mut paths = Paths::new(&[folder.path().to_owned(), path("b")]).unwrap();
        let told: Vec<_> = paths.look().into_iter().map(|found| (found.path, found.named)).collect();
        assert_eq!(told, [(path("b"), true), (path("a"), false)]);
        assert!(paths.look().is_empty());
        std::fs::write(path("c"), b"").unwrap();
        let mut found = paths.look();
        assert_eq!(found.len(), 1);
        paths.later(found.remove(0));
        assert_eq!(paths.look().len(), 1);
        assert!(paths.look().is_empty());
    }

    #[test]
    fn a_file_that_is_renamed_is_the_same_and_one_that_takes_its_name_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a"), b"").unwrap();
        let mut paths = Paths::new(&[folder.path().to_owned()]).unwrap();
        assert_eq!(paths.look().len(), 1);
        std::fs::rename(path("a"), path("a.1")).unwrap();
        std::fs::hard_link(path("a.1"), path("link")).unwrap();
        assert!(paths.look().is_empty());
        std::fs::write(path("a"), b"").unwrap();
        let told: Vec<_> = paths.look().into_iter().map(|found| found.path).collect();
        assert_eq!(told, [path("a")]);
    }

    #[test]
    fn a_missing_path_is_named() {
        let missing = PathBuf::from("/no/such/file");
        assert_eq!(Paths::new(std::slice::from_ref(&missing)).unwrap_err().0, missing);
    }
}
