//! The libraries that are loaded into other programs, embedded in ours and unpacked when they are needed.
//!
//! They lie in a cache folder under a name that holds their content's hash, so that versions live side by side
//! and a running program never sees its hook change.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::{env, process};

static HOOK: &[u8] = include_bytes!(concat!(env!("UMTUI_GUEST"), "/libumtui_hook.so"));
static DRIVER: &[u8] = include_bytes!(concat!(env!("UMTUI_GUEST"), "/libcuda.so.1"));
static CUPTI: &[u8] = include_bytes!(concat!(env!("UMTUI_GUEST"), "/libcupti.so.13"));
static RUNTIME_12: &[u8] = include_bytes!(concat!(env!("UMTUI_GUEST"), "/libcudart.so.12"));
static RUNTIME_13: &[u8] = include_bytes!(concat!(env!("UMTUI_GUEST"), "/libcudart.so.13"));
static DEMO: &[u8] = include_bytes!(concat!(env!("UMTUI_GUEST"), "/umtui-demo"));

/// The hook or the stand-in could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// No folder would do.
    #[error("no private folder for the hook: {tried}; set UMTUI_CACHE to a folder that you own")]
    NoFolder {
        /// Each folder that was tried, and why not.
        tried: String,
    },
    /// A file could not be written.
    #[error("{path} cannot be written: {error}; set UMTUI_CACHE to a folder with room")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The demo and its stand-in CUDA, unpacked.
#[derive(Clone, Debug)]
pub struct Demo {
    /// The program.
    pub program: PathBuf,
    /// The folder of its libraries.
    pub libraries: PathBuf,
}

/// Unpacks the hook, if that has not been done, and says where it lies.
///
/// # Errors
/// If no private folder can be had or written.
pub fn hook() -> Result<PathBuf, GuestError> {
    unpack(&folder(&[HOOK])?, "libumtui_hook.so", HOOK)
}

/// Unpacks the demo and the stand-in CUDA.
///
/// # Errors
/// As [`hook`].
pub fn demo() -> Result<Demo, GuestError> {
    let libraries = folder(&[DRIVER, CUPTI, RUNTIME_12, RUNTIME_13, DEMO])?;
    for (name, bytes) in [
        ("libcuda.so.1", DRIVER),
        ("libcupti.so.13", CUPTI),
        ("libcudart.so.12", RUNTIME_12),
        ("libcudart.so.13", RUNTIME_13),
    ] {
        unpack(&libraries, name, bytes)?;
    }
    let program = unpack(&libraries, "umtui-demo", DEMO)?;
    Ok(Demo { program, libraries })
}

/// FNV-1a; not against malice, since the folder is private.
fn hash(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for &byte in parts.iter().copied().flatten() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// A folder that is ours alone, for files with this content.
fn folder(content: &[&[u8]]) -> Result<PathBuf, GuestError> {
    let name = format!("{:016x}", hash(content));
    let mut tried = Vec::new();
    for base in candidates() {
        match private(&base).and_then(|()| private(&base.join(&name))) {
            Ok(()) => return Ok(base.join(name)),
            Err(why) => tried.push(format!("{}: {why}", base.display())),
        }
    }
    Err(GuestError::NoFolder { tried: tried.join(", ") })
}

fn candidates() -> Vec<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut folders = Vec::new();
    folders.extend(set("UMTUI_CACHE"));
    folders.extend(set("XDG_CACHE_HOME").map(|cache| cache.join("umtui")));
    folders.extend(set("HOME").map(|home| home.join(".cache/umtui")));
    let user = fs::metadata("/proc/self").map_or(0, |own| own.uid());
    folders.extend(["/var/tmp", "/tmp"].map(|base| Path::new(base).join(format!("umtui-{user}"))));
    folders
}

/// Makes a folder if need be, and sees to it that nobody else can put files there.
fn private(folder: &Path) -> Result<(), String> {
    // LD_PRELOAD is split at both.
    if !folder.is_absolute() || folder.as_os_str().as_bytes().iter().any(|byte| b" \t\n:".contains(byte)) {
        return Err("needs an absolute path without spaces and colons".into());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| error.to_string())?;
    let found = fs::symlink_metadata(folder).map_err(|error| error.to_string())?;
    let user = fs::metadata("/proc/self").map_err(|error| error.to_string())?.uid();
    if !found.is_dir() || found.uid() != user || found.mode() & 0o022 != 0 {
        return Err("others may write there".into());
    }
    Ok(())
}

/// Writes a file beside its place and renames it, so that nobody ever sees half of it.
fn unpack(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, GuestError> {
    let path = folder.join(name);
    if fs::metadata(&path).is_ok_and(|found| found.len() == bytes.len() as u64) {
        return Ok(path);
    }
    let beside = folder.join(format!(".{name}.{}", process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    })();
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        GuestError::Write { path: path.clone(), error }
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(private(folder.path()).is_err());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(private(folder.path()).is_ok());
        assert!(private(&folder.path().join("with space")).is_err());
    }

    #[test]
    fn unpacking_repairs_a_file_of_another_length() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.so"), b"half").unwrap();
        let path = unpack(folder.path(), "x.so", b"the whole").unwrap();
        assert_eq!(fs::read(path).unwrap(), b"the whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
