//! The screens.
//!
//! ```text
//! keys, signals, answers -> event_loop -> root: key -> action -> screen or popup -> effect
//!                              |  asks: which question is due, which answer counts
//!                              v
//!                           frame: title, body, popups, hints -> cells -> one write
//! ```
//!
//! A screen is `state` (plain data), `update` (an action in, an [`effect::Effect`] out) and `draw` (prepared rows to
//! cells). It sees the session only as the rows that it asked for. To add a key, see [`keys::table`].

pub mod asks;
pub mod command;
pub mod effect;
pub mod event_loop;
pub mod frame;
pub mod keys;
pub mod layers;
pub mod lens;
pub mod marks;
pub mod memory;
pub mod root;
pub mod screens;
pub mod search;
pub mod settings;
pub mod setup;
pub mod source_map;
pub mod term;
pub mod text;
pub mod theme;
pub mod thresholds;
pub mod widgets;

use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use ratatui::Terminal;

pub use effect::Outcome;
pub use screens::ScreenId;

use crate::session::handle::Handle;
use crate::session::view::Answer;
use event_loop::{EventLoop, Message};
use setup::Setup;
use term::guard::{self, Guard};
use term::{backend::FrameBackend, input::Input, signals, tty, watchdog::Watchdog};
use theme::Depth;

/// Least time between two frames.
const FRAME: Duration = Duration::from_millis(33);

/// Shows a session until the user leaves. Draws on the calling thread and blocks it.
///
/// The answers are those that the session puts out. When this returns, the terminal is as it was and the handle has
/// been dropped; a program that the session started has been told to end or let go where the [`Outcome`] says so,
/// but not waited for.
pub fn run(handle: Box<dyn Handle>, answers: Receiver<Answer>, setup: Setup) -> anyhow::Result<Outcome> {
    // crossterm reads NO_COLOR by itself, which must not overrule what the user asked for.
    crossterm::style::force_color_output(setup.theme.depth != Depth::None);
    let screen = guard::screen()?;
    let keyboard = tty::keyboard().context("no terminal to read keys from")?;
    let handle = Arc::new(Mutex::new(handle));
    let (sender, messages) = channel();
    forward(answers, sender.clone())?;

    let guard = Guard::take(screen.try_clone().context("cannot use the terminal")?, setup.mouse)?;
    let (watched, lost) = (keyboard.try_clone(), keyboard.try_clone());
    let (watched, lost) = (watched.context("cannot use the terminal")?, lost.context("cannot use the terminal")?);
    let pause = Arc::<term::pause::Pause>::default();
    let _watchdog = Watchdog::start(watched, sender.clone(), &handle)?;
    if let Some(file) = setup.filter_file.clone() {
        lens::file::watch(file, sender.clone())?;
    }
    if let Some(folder) = setup.filters.clone() {
        lens::file::watch_folder(folder, sender.clone())?;
    }
    signals::listen(sender.clone())?;
    let _input = Input::start(keyboard, sender, Arc::clone(&pause))?;
    let terminal = Terminal::new(FrameBackend::new(screen)).context("cannot use the terminal")?;
    let mut event_loop = EventLoop::new(terminal, guard.host(pause), handle, messages, setup, FRAME)?;
    // Before anything else that is declared above, so that a panic or an error is shown on a restored screen.
    let outcome = event_loop.run();
    drop(guard);
    // A write may notice before the watchdog does.
    if outcome.is_err() && tty::hung_up(lost.as_fd()) { Ok(Outcome::TerminalLost) } else { outcome }
}

/// Whether there is a terminal to draw on and to read keys from, for callers that start something first.
///
/// # Errors
/// If there is none.
pub fn check_terminal() -> anyhow::Result<()> {
    guard::screen()?;
    tty::keyboard().context("no terminal to read keys from")?;
    Ok(())
}

/// Puts answers among the other messages.
fn forward(answers: Receiver<Answer>, messages: Sender<Message>) -> anyhow::Result<()> {
    let body = move || {
        for answer in answers {
            if messages.send(Message::Answer(Box::new(answer))).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("umtui-answers".to_owned()).spawn(body).context("cannot start a thread")?;
    Ok(())
}
