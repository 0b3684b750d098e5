//! `umtui symbolize`: names of call sites, kept beside the recording.

use std::path::Path;
use std::time::Duration;

use super::arguments::Symbolize;
use crate::session::{LoadError, Loaded};

/// The longest that looking up names may keep a user waiting after a recording.
const AFTER_RECORDING: Duration = Duration::from_secs(20);
/// Likewise when names are all that was asked for.
const ASKED_FOR: Duration = Duration::from_secs(3600);

/// Looks up the names and writes the side file.
///
/// # Errors
/// If the recording cannot be read or its folder not written.
pub fn run(arguments: &Symbolize) -> anyhow::Result<u8> {
    let mut loaded = Loaded::load_all(std::slice::from_ref(&arguments.path))?;
    loaded.write_names(&arguments.path, ASKED_FOR)?;
    Ok(0)
}

/// Does so at the end of a recording; false if there is no recording, since no CUDA call was made.
pub(super) fn write(folder: &Path) -> anyhow::Result<bool> {
    match Loaded::load_all(&[folder.to_owned()]) {
        Ok(mut loaded) => loaded.write_names(folder, AFTER_RECORDING).map(|()| true).map_err(Into::into),
        Err(LoadError::Nothing(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
