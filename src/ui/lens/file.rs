//! A filter's file that is read again whenever it changes.

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;

use crate::filter::{Filter, FilterError};
use crate::ui::event_loop::Message;

/// How often its time is looked at: it may lie where the system tells of no changes.
const POLL: Duration = Duration::from_millis(500);

/// Tells of changes until nobody listens.
///
/// # Errors
/// If there is no thread to be had.
pub fn watch(path: PathBuf, messages: Sender<Message>) -> anyhow::Result<()> {
    let body = move || {
        let stamp = || -> Option<(SystemTime, u64)> {
            let metadata = std::fs::metadata(&path).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        let (mut known, mut last) = (stamp(), stamp());
        loop {
            thread::sleep(POLL);
            let now = stamp();
            // What is being written, or put in another file's place, is left until it is whole.
            if now.is_some() && now != known && now == last {
                known = now;
                if messages.send(Message::Filter(Box::new(read(&path)))).is_err() {
                    return;
                }
            }
            last = now;
        }
    };
    thread::Builder::new().name("umtui-filter".to_owned()).spawn(body).context("cannot start a thread")?;
    Ok(())
}

fn read(path: &std::path::Path) -> Result<Filter, FilterError> {
    // Nothing that would wait for a writer.
    if !path.is_file() {
        return Err(FilterError::whole(&path.to_string_lossy(), "is no file"));
    }
    Filter::read(path)
}
