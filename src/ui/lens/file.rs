//! A filter's file that is read again whenever it changes.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;

use crate::filter::{Filter, FilterError};
use crate::session::Watch;
use crate::ui::event_loop::Message;

/// How often the file is looked at where the system tells of no changes.
const POLL: Duration = Duration::from_millis(500);
/// The same where it does: a folder may have been put in the place of the one that is watched.
const SELDOM: Duration = Duration::from_secs(5);
/// A file that stays as it is for so long is whole: what is being written, or put in another's place, is left alone.
const SETTLED: Duration = Duration::from_millis(100);
/// Looks at a file that goes on changing.
const LOOKS: usize = 20;

/// What tells one state of the file from another; `None`: there is no file.
type Stamp = Option<(SystemTime, u64, u64)>;

/// Tells of changes until nobody listens: the filter, or why it cannot be read. Each state is told once.
///
/// # Errors
/// If there is no thread to be had.
pub fn watch(path: PathBuf, messages: Sender<Message>) -> anyhow::Result<()> {
    let mut known = stamp(&path);
    let body = move || {
        // Its folder: an editor may put another file in the place of this one.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut watch = Watch::new();
        let pause = if watch.add(folder) { SELDOM } else { POLL };
        loop {
            let now = settled(&path);
            if now != known {
                known = now;
                if messages.send(Message::Filter(Box::new(read(&path, now.is_some())))).is_err() {
                    return;
                }
            }
            let _ = watch.wait(pause);
        }
    };
    thread::Builder::new().name("umtui-filter".to_owned()).spawn(body).context("cannot start a thread")?;
    Ok(())
}

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
}

/// The file's state once it stays as it is.
fn settled(path: &Path) -> Stamp {
    let mut last = stamp(path);
    for _ in 0..LOOKS {
        thread::sleep(SETTLED);
        let now = stamp(path);
        if now == last {
            break;
        }
        last = now;
    }
    last
}

fn read(path: &Path, is_there: bool) -> Result<Filter, FilterError> {
    let refused = |why| Err(FilterError::whole(&path.to_string_lossy(), why));
    match is_there {
        false => refused("is gone"),
        // Nothing that would wait for a writer.
        true if !path.is_file() => refused("is no file"),
        true => Filter::read(path),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn changes_mistakes_and_the_end_of_a_file_are_told_once_each() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, "include = { api = \"cudaMalloc\" }\n").unwrap();
        let (sender, messages) = channel();
        watch(path.clone(), sender).unwrap();
        let told = || match messages.recv_timeout(Duration::from_secs(20)) {
            Ok(Message::Filter(read)) => read.map_err(|error| error.to_string()),
            other => panic!("{other:?}"),
        };
        std::fs::write(&path, "include = { api = \"cudaFree\" }\n").unwrap();
        assert!(told().is_ok());
        std::fs::write(&path, "inklude = 1\n").unwrap();
        assert!(told().unwrap_err().contains("mine.toml:1:1"));
        // Another file in its place, as editors do it.
        let other = folder.path().join("other");
        std::fs::write(&other, "include = { api = \"cudaMemcpy\" }\n").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(told().is_ok());
        std::fs::remove_file(&path).unwrap();
        assert!(told().unwrap_err().ends_with("mine.toml: is gone"));
        std::fs::write(&path, "exclude = { api = \"cudaFree\" }\n").unwrap();
        assert!(told().is_ok());
        // Nothing is said again of what stays as it is.
        std::fs::write(folder.path().join("third"), "x").unwrap();
        assert!(messages.recv_timeout(SETTLED * 4).is_err());
    }
}
