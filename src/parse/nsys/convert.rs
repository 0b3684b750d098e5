//! Reports of Nsight Systems (`.nsys-rep`), whose form only `nsys` knows: it makes an export of them, which is read.

use super::import::import_file;
use crate::parse::ParseError;
use crate::parse::imported::{Imported, Progress, Target};
use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Time between two looks at `nsys`.
const PAUSE: Duration = Duration::from_millis(50);
/// What `nsys` says that is shown, bytes.
const SAID: u64 = 300;

/// Lets `nsys export` make a database of the report at `path`, and reads that into `target`; `name` is what errors call
/// it.
///
/// # Errors
/// When `nsys` is not on the path: the error says what to run where it is. When it fails, or what it has written cannot be
/// read.
pub fn convert(path: &Path, name: &str, target: Target) -> Result<Imported, ParseError> {
    let io = |cause| ParseError::Io { file: name.to_owned(), offset: 0, cause };
    let folder = Folder::new().map_err(io)?;
    let (export, said) = (folder.0.join("export.sqlite"), folder.0.join("said"));
    // A name that begins with a dash is no option.
    let report = path.canonicalize().map_err(io)?;
    target.progress().set_all(std::fs::metadata(&report).map_err(io)?.len());
    let mut command = Command::new("nsys");
    command.args(["export", "--type", "sqlite", "--force-overwrite", "true", "--output"]).arg(&export).arg(&report);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said).map_err(io)?);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let what = "a report of Nsight Systems, and nsys is not on the path here; make an export where it is: \
                        `nsys export --type sqlite --output OUT.sqlite REPORT`, and open that";
            return Err(ParseError::Format { file: name.to_owned(), what: what.to_owned() });
        }
        Err(error) => return Err(io(error)),
    };
    let succeeded = Running(child).wait(target.progress(), &export).map_err(io)?;
    if !succeeded || !export.exists() {
        let mut words = Vec::new();
        if let Ok(file) = File::open(&said) {
            let _ = file.take(SAID).read_to_end(&mut words);
        }
        let words: Vec<String> = String::from_utf8_lossy(&words).split_whitespace().map(ToOwned::to_owned).collect();
        let what = format!("nsys could not export it: {}", words.join(" ").escape_debug());
        return Err(ParseError::Format { file: name.to_owned(), what });
    }
    import_file(&export, name, target)
}

/// `nsys`, which ends if nobody waits for it any more.
struct Running(Child);

impl Running {
    fn wait(mut self, progress: &Progress, export: &Path) -> io::Result<bool> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status.success());
            }
            progress.check()?;
            // How large it becomes nobody knows.
            progress.set_done(std::fs::metadata(export).map_or(0, |file| file.len()) / 4);
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A temporary folder.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!(".umtui-{}-nsys-{number}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
