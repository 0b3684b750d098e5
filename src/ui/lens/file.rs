//! Files of filters that are read again whenever they change: one that was given, and those of the user's folder.

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

/// What tells one state of a file from another; `None`: there is no file.
type Stamp = Option<(SystemTime, u64, u64)>;

/// Tells of changes of a file until nobody listens: the filter, or why it cannot be read. Each state is told once.
///
/// # Errors
/// If there is no thread to be had.
pub fn watch(path: PathBuf, messages: Sender<Message>) -> anyhow::Result<()> {
    // Its folder: an editor may put another file in the place of this one.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
    let (look, name) = (path.clone(), "umtui-filter");
    follow(
        name,
        folder,
        move || stamp(&look),
        move |now| messages.send(Message::Filter(Box::new(read(&path, now.is_some())))).is_ok(),
    )
}

/// Tells until nobody listens that filters in the user's folder have changed, or which there are.
///
/// # Errors
/// If there is no thread to be had.
pub fn watch_folder(folder: PathBuf, messages: Sender<Message>) -> anyhow::Result<()> {
    let look = folder.clone();
    let stamps =
        move || crate::filter::files_in(&look).into_iter().map(|file| (stamp(&file), file)).collect::<Vec<_>>();
    follow("umtui-filters", folder, stamps, move |_| messages.send(Message::Filters).is_ok())
}

/// Tells of each state that something in a folder has come to and stays in, for as long as that is wanted.
fn follow<S: PartialEq + Send + 'static>(
    name: &str,
    folder: PathBuf,
    look: impl Fn() -> S + Send + 'static,
    tell: impl Fn(&S) -> bool + Send + 'static,
) -> anyhow::Result<()> {
    let mut known = look();
    let body = move || {
        let mut watch = Watch::new();
        let mut told = watch.add(&folder);
        loop {
            let now = settled(&look);
            if now != known {
                known = now;
                if !tell(&known) {
                    return;
                }
            }
            // The folder may be made later.
            told = told || watch.add(&folder);
            let _ = watch.wait(if told { SELDOM } else { POLL });
        }
    };
    thread::Builder::new().name(name.to_owned()).spawn(body).context("cannot start a thread")?;
    Ok(())
}

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
}

/// The state once it stays as it is.
fn settled<S: PartialEq>(look: &impl Fn() -> S) -> S {
    let mut last = look();
    for _ in 0..LOOKS {
        thread::sleep(SETTLED);
        let now = look();
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

    #[test]
    fn a_folder_is_told_of_even_if_it_is_made_later_and_other_files_are_not() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("filters");
        let (sender, messages) = channel();
        watch_folder(folder.clone(), sender).unwrap();
        let told = || assert!(matches!(messages.recv_timeout(Duration::from_secs(20)), Ok(Message::Filters)));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("mine.expr"), "dur>=1ms\n").unwrap();
        told();
        std::fs::write(folder.join("mine.expr"), "dur>=10ms\n").unwrap();
        told();
        std::fs::write(folder.join("notes.txt"), "x").unwrap();
        assert!(messages.recv_timeout(SETTLED * 4).is_err());
        std::fs::rename(folder.join("mine.expr"), folder.join("other.expr")).unwrap();
        told();
    }
}
