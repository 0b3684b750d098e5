//! Signals as messages.

use std::sync::mpsc::Sender;
use std::thread;

use anyhow::Context as _;
use crossterm::event::Event;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::ui::event_loop::Message;

/// Turns signals into messages. Once nobody receives them any more a signal does again what it would have done
/// without us, so that Ctrl-c works while the command line waits for the program.
pub fn listen(messages: Sender<Message>) -> anyhow::Result<()> {
    let listened = [SIGTERM, SIGHUP, SIGINT, SIGCONT, SIGTSTP, SIGWINCH];
    let mut signals = Signals::new(listened).context("cannot listen for signals")?;
    let body = move || {
        for signal in &mut signals {
            let Some(message) = message_for(signal) else { continue };
            if messages.send(message).is_err() {
                // Fails only for signals that have no default.
                let _ = emulate_default_handler(signal);
            }
        }
    };
    thread::Builder::new().name("umtui-signals".to_owned()).spawn(body).context("cannot start a thread")?;
    Ok(())
}

fn message_for(signal: i32) -> Option<Message> {
    match signal {
        SIGWINCH => {
            crossterm::terminal::size().ok().map(|(width, height)| Message::Input(Event::Resize(width, height)))
        }
        SIGTSTP => Some(Message::Suspend),
        SIGCONT => Some(Message::Repaint),
        _ => Some(Message::Quit(signal)),
    }
}
