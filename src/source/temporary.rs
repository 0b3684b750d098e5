//! Temporary files without a name: gone with the last descriptor, however we end.

use std::fs::{File, OpenOptions, remove_file};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes one in the folder for temporary files (`TMPDIR`).
///
/// # Errors
/// When none can be made there; the error names the folder.
pub fn file() -> io::Result<File> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = std::env::temp_dir();
    let failed = |error: io::Error| {
        let what =
            format!("{}: no temporary file can be made: {error}; set TMPDIR to another folder", folder.display());
        io::Error::new(error.kind(), what)
    };
    for _ in 0..1000 {
        let name = format!(".umtui-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = folder.join(name);
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                remove_file(&path).map_err(failed)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_has_no_name() {
        let file = super::file().unwrap();
        assert_eq!(file.metadata().unwrap().nlink(), 0);
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    }
}
