//! The loop: waits for keys and answers, asks, draws. Generic over the terminal, so that tests drive it with none.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use crossterm::event::{Event, KeyEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::layout::Size;

use super::asks::Asks;
use super::effect::Outcome;
use super::frame;
use super::keys::{Action, Key};
use super::root::{Order, Root};
use super::setup::Setup;
use crate::filter::{Filter, FilterError};
use crate::session::handle::{Child, Handle};
use crate::session::view::Answer;

/// A session that the watchdog can reach too.
pub type SharedHandle = Arc<Mutex<Box<dyn Handle>>>;

/// Longest rest that a link gets after a frame that took it long: who types then is not to wait for more than the link.
const REST: Duration = Duration::from_millis(100);

/// Everything that the loop waits for comes as one of these.
#[derive(Clone, Debug)]
pub enum Message {
    /// A key, a paste, a new size.
    Input(Event),
    /// Rows.
    Answer(Box<Answer>),
    /// The filter's file has been read again.
    Filter(Box<Result<Filter, FilterError>>),
    /// Filters in the user's folder have changed.
    Filters,
    /// Leave because of this signal.
    Quit(i32),
    /// Suspend, as Ctrl-z does.
    Suspend,
    /// The process runs again after a stop, or the terminal may look different for another reason.
    Repaint,
    /// The terminal went away.
    Gone,
}

/// What the loop needs of the terminal beside drawing.
pub trait Host {
    /// Gives the terminal back, stops the process, and takes the terminal again once it is continued.
    fn suspend(&mut self) -> anyhow::Result<()>;
    /// Puts a text on the clipboard, or into a file; says which.
    fn copy(&mut self, text: &str, folder: Option<&Path>) -> String;
    /// Gives the terminal to an editor, and takes it again.
    fn edit(&mut self, file: &Path, line: u32) -> anyhow::Result<Option<String>>;
    /// Puts the terminal into the modes that drawing needs, whatever happened to it.
    fn reenter(&mut self) -> anyhow::Result<()>;
}

/// The loop's parts.
pub struct EventLoop<B: Backend, H: Host> {
    terminal: Terminal<B>,
    host: H,
    handle: SharedHandle,
    messages: Receiver<Message>,
    root: Root,
    asks: Asks,
    /// Least time between two frames.
    frame: Duration,
    drawn: Option<Instant>,
    /// How long the last frame took to write: a slow link gets fewer.
    cost: Duration,
    dirty: bool,
    /// Time that a prefix waits before the box says what may follow it, and when that is over.
    continuations: Duration,
    continuations_due: Option<Instant>,
}

impl<B, H> EventLoop<B, H>
where
    B: Backend,
    B::Error: std::error::Error + Send + Sync + 'static,
    H: Host,
{
    /// A loop that has drawn nothing yet.
    pub fn new(
        mut terminal: Terminal<B>,
        host: H,
        handle: SharedHandle,
        messages: Receiver<Message>,
        setup: Setup,
        frame: Duration,
    ) -> anyhow::Result<Self> {
        let size = terminal.get_frame().area().as_size();
        Ok(Self {
            terminal,
            host,
            handle,
            messages,
            continuations: setup.continuations,
            continuations_due: None,
            root: Root::new(setup, size),
            asks: Asks::default(),
            frame,
            drawn: None,
            cost: Duration::ZERO,
            dirty: true,
        })
    }

    /// The terminal, for tests to look at.
    pub fn terminal(&self) -> &Terminal<B> {
        &self.terminal
    }

    /// Runs until the user leaves, or until every sender of messages is gone. An error lets the program run on.
    pub fn run(&mut self) -> anyhow::Result<Outcome> {
        loop {
            match self.turn() {
                Ok(None) => {}
                Ok(Some(outcome)) => return Ok(outcome),
                Err(error) => {
                    self.leave(Outcome::TerminalLost);
                    return Err(error);
                }
            }
        }
    }

    /// Takes all that is waiting, asks, and draws, without waiting for time or for other threads.
    pub fn settle(&mut self) -> anyhow::Result<Option<Outcome>> {
        loop {
            self.ask(Instant::now());
            self.show_continuations(Instant::now());
            match self.messages.try_recv() {
                Ok(message) => {
                    if let Some(outcome) = self.take(message)? {
                        return Ok(Some(outcome));
                    }
                }
                Err(_) if self.dirty => self.draw()?,
                Err(_) => return Ok(None),
            }
        }
    }

    fn ask(&mut self, now: Instant) {
        if let Some(request) = self.asks.question(&self.root, now) {
            self.with_handle(|handle| handle.ask(request));
        }
    }

    /// Opens the box that says what may follow a prefix, if it is time.
    fn show_continuations(&mut self, now: Instant) {
        if self.continuations_due.is_some_and(|due| due <= now) {
            self.continuations_due = None;
            self.root.continuations_shown = true;
            self.dirty = true;
        }
    }

    /// Asks and draws what is due, waits for a message, and takes it with all that came with it.
    fn turn(&mut self) -> anyhow::Result<Option<Outcome>> {
        let now = Instant::now();
        self.ask(now);
        self.show_continuations(now);
        let frame_due = self.drawn.map(|drawn| drawn + self.frame.max(self.cost + self.cost.min(REST)));
        if self.dirty && frame_due.is_none_or(|due| due <= now) {
            self.draw()?;
        }
        let wake = if self.dirty { frame_due } else { None };
        let wake = [wake, self.asks.due(), self.continuations_due].into_iter().flatten().min();
        let message = match wake {
            None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => self.messages.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match message {
            Ok(message) => {
                if let Some(outcome) = self.take(message)? {
                    return Ok(Some(outcome));
                }
            }
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                self.draw()?;
                return Ok(Some(Outcome::Quit));
            }
        }
        // All that is waiting is taken before anything is drawn, so that held-down keys never queue up frames.
        while let Ok(message) = self.messages.try_recv() {
            if let Some(outcome) = self.take(message)? {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    fn take(&mut self, message: Message) -> anyhow::Result<Option<Outcome>> {
        match message {
            Message::Answer(answer) => {
                self.dirty |= self.asks.answer(&mut self.root, *answer, Instant::now());
                if let Some(order) = self.root.pending.take() {
                    return self.obey(order);
                }
            }
            Message::Filter(filter) => {
                self.root.take_filter(*filter);
                self.dirty = true;
            }
            Message::Filters => {
                self.root.take_filters();
                self.dirty = true;
            }
            Message::Input(event) => return self.input(&event),
            Message::Suspend => self.suspend()?,
            Message::Repaint => {
                self.host.reenter()?;
                self.repaint()?;
            }
            Message::Quit(signal) => return Ok(Some(self.leave(Outcome::Signalled(signal)))),
            Message::Gone => return Ok(Some(self.leave(Outcome::TerminalLost))),
        }
        Ok(None)
    }

    fn input(&mut self, event: &Event) -> anyhow::Result<Option<Outcome>> {
        match event {
            Event::Key(key) => return self.key(key),
            Event::Resize(width, height) => {
                // Asked for again when it is drawn: sizes in events come late and in bursts.
                self.root.size = Size::new(*width, *height);
                self.dirty = true;
            }
            Event::Paste(text) => {
                self.dirty = true;
                let order = self.root.paste(text);
                return self.obey(order);
            }
            Event::Mouse(mouse) => match mouse.kind {
                MouseEventKind::ScrollDown => self.dirty |= self.root.wheel(Action::Down),
                MouseEventKind::ScrollUp => self.dirty |= self.root.wheel(Action::Up),
                _ => {}
            },
            Event::FocusGained | Event::FocusLost => {}
        }
        Ok(None)
    }

    fn key(&mut self, event: &KeyEvent) -> anyhow::Result<Option<Outcome>> {
        #[cfg(debug_assertions)]
        fail_if_asked(event);
        let Some(key) = Key::from_event(event) else { return Ok(None) };
        let child = self.child();
        self.dirty = true;
        let order = self.root.key(key, child);
        let waits = !self.root.prefix.is_empty() && !self.root.continuations_shown;
        self.continuations_due = waits.then(|| Instant::now() + self.continuations);
        self.obey(order)
    }

    fn obey(&mut self, order: Order) -> anyhow::Result<Option<Outcome>> {
        match order {
            Order::None => {}
            Order::Interrupt => self.with_handle(|handle| handle.terminate()),
            Order::Suspend => self.suspend()?,
            Order::Redraw => self.repaint()?,
            Order::Copy(text) => self.root.notice = Some(self.host.copy(&text, self.root.state_folder())),
            Order::Edit(file, line) => {
                let problem = self.host.edit(&file, line)?;
                self.repaint()?;
                self.root.notice = problem;
            }
            Order::Leave(outcome) => return Ok(Some(self.leave(outcome))),
        }
        Ok(None)
    }

    /// Does to the program what leaving in this way means.
    fn leave(&mut self, outcome: Outcome) -> Outcome {
        self.root.keep();
        let running = matches!(self.child(), Some(Child::Running { .. }));
        self.with_handle(|handle| match outcome {
            Outcome::Terminated if running => handle.terminate(),
            Outcome::Detached | Outcome::Signalled(_) | Outcome::TerminalLost if running => handle.detach(),
            _ => {}
        });
        outcome
    }

    fn suspend(&mut self) -> anyhow::Result<()> {
        self.host.suspend()?;
        self.repaint()
    }

    fn repaint(&mut self) -> anyhow::Result<()> {
        // Not Terminal::clear, which asks the terminal where its cursor is: a round trip, and lost on a dead line.
        self.terminal.autoresize().context("the terminal's size")?;
        let area = self.terminal.get_frame().area();
        self.terminal.resize(area).context("clearing the screen")?;
        self.root.size = area.as_size();
        self.dirty = true;
        Ok(())
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        // The steps of Terminal::draw, less its moving of the cursor, which would write even if no cell changed.
        self.terminal.autoresize().context("the terminal's size")?;
        let root = &mut self.root;
        {
            let mut frame = self.terminal.get_frame();
            root.size = frame.area().as_size();
            frame::draw(root, frame.buffer_mut());
        }
        self.terminal.flush().context("drawing")?;
        self.terminal.swap_buffers();
        self.terminal.backend_mut().flush().context("drawing")?;
        self.drawn = Some(begun);
        self.cost = begun.elapsed();
        self.dirty = false;
        Ok(())
    }

    fn child(&self) -> Option<Child> {
        self.with_handle(|handle| handle.child())
    }

    fn with_handle<T>(&self, f: impl FnOnce(&dyn Handle) -> T) -> T {
        f(self.handle.lock().unwrap_or_else(PoisonError::into_inner).as_ref())
    }
}

/// Panics on F12 if the environment says so: for the test that a panic leaves a usable terminal.
#[cfg(debug_assertions)]
#[allow(clippy::panic, reason = "that is what it is for")]
fn fail_if_asked(event: &KeyEvent) {
    if event.code == crossterm::event::KeyCode::F(12) && std::env::var_os("UMTUI_PANIC").is_some() {
        panic!("asked to fail");
    }
}
