//! Takes the terminal and gives it back, whatever happens: quit, error, panic, signal, suspend.

use std::fs::File;
use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::Context as _;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::queue;
use crossterm::style::ResetColor;
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::pause::Pause;
use super::{clipboard, editor, tty};
use crate::ui::event_loop::Host;

/// The terminal's modes. Shared with the panic hook.
#[derive(Debug)]
struct Modes {
    screen: File,
    /// Whether the mouse is ours too.
    mouse: bool,
    taken: AtomicBool,
}

impl Modes {
    /// Sets the modes, even if they seem to be set: the terminal may have been changed behind our back.
    fn take(&self) -> io::Result<()> {
        let mut codes = Vec::new();
        queue!(codes, EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        if self.mouse {
            queue!(codes, EnableMouseCapture)?;
        }
        if self.taken.swap(true, Ordering::SeqCst) {
            disable_raw_mode()?;
        }
        enable_raw_mode()?;
        (&self.screen).write_all(&codes)
    }

    /// Undoes what `take` did, once: a second restore would undo what the shell has done since.
    fn give_back(&self) -> io::Result<()> {
        if !self.taken.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let mut codes = Vec::new();
        if self.mouse {
            queue!(codes, DisableMouseCapture)?;
        }
        queue!(codes, EndSynchronizedUpdate, DisableBracketedPaste, ResetColor, LeaveAlternateScreen, Show)?;
        let written = (&self.screen).write_all(&codes);
        disable_raw_mode().and(written)
    }
}

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// Panics of other threads, kept until the screen is free.
type Late = Arc<Mutex<Vec<String>>>;

/// Holds the terminal; dropping it gives the terminal back.
pub struct Guard {
    modes: Arc<Modes>,
    previous: Arc<Hook>,
    late: Late,
}

impl Guard {
    /// Takes the terminal. A panic of the calling thread gives it back before it is reported; one of another
    /// thread is reported once the terminal is free, since the screen lives on.
    pub fn take(screen: File, mouse: bool) -> anyhow::Result<Self> {
        let modes = Arc::new(Modes { screen, mouse, taken: AtomicBool::new(false) });
        let late = Late::default();
        let previous: Arc<Hook> = Arc::from(std::panic::take_hook());
        std::panic::set_hook(hook(&modes, &previous, &late));
        let guard = Self { modes, previous, late };
        guard.modes.take().context("cannot set up the terminal")?;
        Ok(guard)
    }

    /// A host for the loop.
    pub fn host(&self, pause: Arc<Pause>) -> TerminalHost {
        TerminalHost { modes: Arc::clone(&self.modes), pause }
    }
}

fn hook(modes: &Arc<Modes>, previous: &Arc<Hook>, late: &Late) -> Box<Hook> {
    let (modes, previous, late) = (Arc::clone(modes), Arc::clone(previous), Arc::clone(late));
    let screen_thread = thread::current().id();
    Box::new(move |info| {
        if thread::current().id() == screen_thread {
            // Nothing can be done about a terminal that cannot be restored; the panic still has to be told.
            let _ = modes.give_back();
        } else if modes.taken.load(Ordering::SeqCst) {
            late.lock().unwrap_or_else(PoisonError::into_inner).push(info.to_string());
            return;
        }
        previous(info);
    })
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The terminal may be gone, and then there is nothing to give back.
        let _ = self.modes.give_back();
        for panic in self.late.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = writeln!(io::stderr(), "umtui: a worker failed: {panic}");
        }
        // Hooks cannot be changed while one runs.
        if !thread::panicking() {
            let previous = Arc::clone(&self.previous);
            std::panic::set_hook(Box::new(move |info| previous(info)));
        }
    }
}

/// The loop's way to the terminal's modes.
pub struct TerminalHost {
    modes: Arc<Modes>,
    pause: Arc<Pause>,
}

impl Host for TerminalHost {
    fn suspend(&mut self) -> anyhow::Result<()> {
        self.modes.give_back().context("cannot restore the terminal")?;
        // SIGSTOP, because a SIGTSTP to oneself is dropped where the process group is orphaned. Only this process
        // stops: the program that it started is in a group of its own and runs on.
        signal_hook::low_level::raise(libc::SIGSTOP).context("cannot stop")?;
        self.reenter()
    }

    fn copy(&mut self, text: &str, folder: Option<&Path>) -> String {
        let tmux = std::env::var_os("TMUX").is_some();
        if let Some(codes) = clipboard::sequence(text, tmux) {
            return match (&self.modes.screen).write_all(codes.as_bytes()) {
                Ok(()) => format!("{} bytes sent to the terminal's clipboard", text.len()),
                Err(error) => format!("nothing could be copied: {error}"),
            };
        }
        let Some(folder) = folder else { return "too long for the clipboard, and there is no state folder".to_owned() };
        let file = folder.join("copied.txt");
        match std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, text)) {
            Ok(()) => format!("too long for the clipboard: written to {}", file.display()),
            Err(error) => format!("too long for the clipboard, and {} cannot be written: {error}", file.display()),
        }
    }

    fn edit(&mut self, file: &Path, line: u32) -> anyhow::Result<Option<String>> {
        let (program, arguments) = editor::command(|name| std::env::var(name).ok(), file, line);
        // What is typed is the editor's.
        self.pause.hold(true);
        self.modes.give_back().context("cannot restore the terminal")?;
        let ended = Command::new(&program).args(&arguments).stdin(terminal(false)).stdout(terminal(true)).status();
        let entered = self.reenter();
        self.pause.hold(false);
        entered?;
        Ok(match ended {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("{program} ended with {status}")),
            Err(error) => Some(format!("{program} cannot be started: {error}; set $EDITOR")),
        })
    }

    fn reenter(&mut self) -> anyhow::Result<()> {
        self.modes.take().context("cannot set up the terminal")
    }
}

/// The terminal itself: our own input or output may be something else.
fn terminal(write: bool) -> Stdio {
    File::options().read(!write).write(write).open("/dev/tty").map_or_else(|_| Stdio::inherit(), Stdio::from)
}

/// The terminal to draw on, or why there is none.
pub fn screen() -> anyhow::Result<File> {
    tty::screen().context("no terminal to draw on (use `umtui record` and `umtui report` without one)")
}
