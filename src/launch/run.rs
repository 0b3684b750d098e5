//! The folder of one recording: a file for each process, the program's output, the names of call sites.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io};

/// A folder for a recording could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunFolderError {
    /// It exists and holds something.
    #[error("{0} is not empty; name another folder with -o")]
    NotEmpty(PathBuf),
    /// It cannot be made.
    #[error("{path} cannot be made: {error}; name another folder with -o")]
    Make {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The folder of one recording.
#[derive(Clone, Debug)]
pub struct RunFolder(PathBuf);

impl RunFolder {
    /// A fresh folder at a path that the user chose.
    ///
    /// # Errors
    /// If it cannot be made, or holds files already: they would mix with the new ones.
    pub fn at(path: &Path) -> Result<Self, RunFolderError> {
        let failed = |error| RunFolderError::Make { path: path.to_owned(), error };
        fs::create_dir_all(path).map_err(failed)?;
        let path = fs::canonicalize(path).map_err(failed)?;
        if fs::read_dir(&path).map_err(failed)?.next().is_some() {
            return Err(RunFolderError::NotEmpty(path));
        }
        Ok(Self(path))
    }

    /// A fresh folder for a program, under the user's state folder.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn for_program(program: &OsStr) -> Result<Self, RunFolderError> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
        let base = state.unwrap_or_else(env::temp_dir).join("umtui");
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
        let name: String = name.chars().filter(|char| char.is_ascii_alphanumeric() || "._-".contains(*char)).collect();
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self::at(&base.join(format!("{seconds}-{}-{name}", std::process::id())))
    }

    /// Where it lies; absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The program's stdout, where it is kept.
    #[must_use]
    pub fn stdout(&self) -> PathBuf {
        self.0.join("stdout.txt")
    }

    /// The program's stderr, where it is kept.
    #[must_use]
    pub fn stderr(&self) -> PathBuf {
        self.0.join("stderr.txt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let run = RunFolder::at(&path).unwrap();
        fs::write(run.stdout(), "x").unwrap();
        assert!(matches!(RunFolder::at(&path), Err(RunFolderError::NotEmpty(_))));
    }
}
