//! Keys from the terminal, on a thread of their own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use super::pause::Pause;
use super::tty;
use crate::ui::event_loop::Message;

/// Reads keys until it is dropped: whoever runs after the explorer finds its input unread.
pub struct Input {
    stop: Option<UnixStream>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Input {
    /// Starts reading.
    pub fn start(keyboard: OwnedFd, messages: Sender<Message>, pause: Arc<Pause>) -> anyhow::Result<Self> {
        let (stop, stopped) = UnixStream::pair().context("cannot make a socket pair")?;
        let body = move || {
            // A terminal that cannot be read any more is the watchdog's business.
            let _ = read(&keyboard, &stopped, &messages, &pause);
        };
        let thread =
            thread::Builder::new().name("umtui-keys".to_owned()).spawn(body).context("cannot start a thread")?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        drop(self.stop.take());
        // Not joined: after half an escape sequence it may wait in a read that only a further key would end.
        drop(self.thread.take());
    }
}

/// crossterm spins on a terminal that has gone away, so it is asked only when there is something to read.
fn read(keyboard: &OwnedFd, stopped: &UnixStream, messages: &Sender<Message>, pause: &Pause) -> io::Result<()> {
    loop {
        let [keys, stop] = tty::wait([keyboard.as_fd(), stopped.as_fd()], None)?;
        if stop.readable || stop.hung_up || keys.hung_up {
            return Ok(());
        }
        if !keys.readable {
            continue;
        }
        if pause.is_held() {
            pause.wait();
            continue;
        }
        // With a timeout of zero crossterm looks at nothing; this one ends at once as long as there are keys.
        while !pause.is_held() && crossterm::event::poll(Duration::from_millis(1))? {
            if messages.send(Message::Input(crossterm::event::read()?)).is_err() {
                return Ok(());
            }
        }
    }
}
