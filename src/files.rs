//! Small files of the user's (a filter, settings, what was remembered), read whole without ever waiting for long.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long the other end of a pipe may take, as in `--filter <(command)`.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it is left alone between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Reads a file of at most `limit` bytes, and one byte more if there are more. A pipe is read to its end, but not
/// waited for longer than [`PATIENCE`].
///
/// # Errors
/// If it cannot be read, or is a pipe that nobody writes into.
pub fn read_small(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let begun = Instant::now();
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let is_pipe = file.metadata()?.file_type().is_fifo();
    let silent = || io::Error::new(ErrorKind::TimedOut, "a pipe that nobody writes into");
    let mut bytes = Vec::new();
    let mut reader = file.take(limit as u64 + 1);
    loop {
        match reader.read_to_end(&mut bytes) {
            Ok(_) if is_pipe && bytes.is_empty() => return Err(silent()),
            Ok(_) => return Ok(bytes),
            Err(error) if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(silent()),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn files_and_pipes_are_read_and_nobody_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read_small(&file, 5).unwrap(), b"12345");
        assert_eq!(read_small(&file, 3).unwrap(), b"1234");
        assert_eq!(read_small(Path::new("/dev/null"), 3).unwrap(), b"");
        assert_eq!(read_small(Path::new("/dev/zero"), 3).unwrap(), [0; 4]);
        assert!(read_small(folder.path(), 3).is_err());
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let begun = Instant::now();
        assert_eq!(read_small(&pipe, 3).unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(1));
        // One whose writer takes its time.
        let late = "sleep 0.1; printf 123; sleep 0.1; printf 45";
        let mut child = Command::new("sh").args(["-c", late]).stdout(Stdio::piped()).spawn().unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(child.stdout.as_ref().unwrap());
        let path = format!("/dev/fd/{fd}");
        assert_eq!(read_small(Path::new(&path), 9).unwrap(), b"12345");
        child.wait().unwrap();
    }
}
