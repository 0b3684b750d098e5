//! How far long work is, in one line on a terminal, and its end by Ctrl-C.
//!
//! A thread of ours draws the line ten times a second, the first time after a tenth of one: what takes less says
//! nothing. Another one waits for signals, so that they end the work wherever it is: the line is erased, a file that is
//! half written removed, and the status is 128 and the signal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::session::{Headway, Stage};

/// Time between two lines.
const REDRAW: Duration = Duration::from_millis(100);
/// Work has a rate after so long.
const RATED: Duration = Duration::from_millis(200);
/// Returns to the line's begin and erases it.
const ERASE: &str = "\r\x1b[K";

/// Tells how far work is until it is dropped.
pub(super) struct Progress {
    state: Arc<Mutex<State>>,
    drawer: Option<(Sender<()>, JoinHandle<()>)>,
}

#[derive(Default)]
struct State {
    now: Option<(Headway, Instant)>,
    /// A line is on the terminal.
    drawn: bool,
    /// No line is drawn any more.
    silent: bool,
    /// What is to be removed if the work is cut short.
    half: Option<PathBuf>,
}

impl Progress {
    /// Begins. A line is drawn only if stderr is a terminal that can erase one.
    pub(super) fn begin() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let heard = state.clone();
        let listened = signals().and_then(|mut signals| {
            std::thread::Builder::new().name("signals".into()).spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    let mut state = lock(&heard);
                    state.erase();
                    if let Some(half) = &state.half {
                        let _ = std::fs::remove_file(half);
                    }
                    // Nothing is drawn or written any more: the state stays locked.
                    std::process::exit(128 + signal);
                }
            })
        });
        // Ctrl-C must end it if the line says so.
        let drawer = if listened.is_ok() && can_erase() { draw(state.clone()) } else { None };
        Self { state, drawer }
    }

    /// Says how the work stands.
    pub(super) fn tell(&self, headway: Headway) {
        let mut state = lock(&self.state);
        let since = match &state.now {
            Some((before, since)) if before.stage == headway.stage => *since,
            _ => Instant::now(),
        };
        state.now = Some((headway, since));
    }

    /// Writes a line of its own to stderr.
    pub(super) fn say(&self, what: &str) {
        let mut state = lock(&self.state);
        state.erase();
        eprintln!("{what}");
    }

    /// Erases the line for good: something else is written to the terminal now.
    pub(super) fn hush(&self) {
        let mut state = lock(&self.state);
        state.silent = true;
        state.erase();
    }

    /// Likewise, unless stdout goes into a file.
    pub(super) fn hush_for_stdout(&self) {
        use std::os::fd::AsFd as _;
        let copy = io::stdout().as_fd().try_clone_to_owned();
        if !copy.map(std::fs::File::from).and_then(|file| file.metadata()).is_ok_and(|data| data.is_file()) {
            self.hush();
        }
    }

    /// From now on this file is half written; `None`: none is.
    pub(super) fn half_written(&self, path: Option<&Path>) {
        lock(&self.state).half = path.map(Path::to_owned);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, drawer)) = self.drawer.take() {
            drop(stop);
            let _ = drawer.join();
        }
        lock(&self.state).erase();
    }
}

impl State {
    fn draw(&mut self) {
        let Some((headway, since)) = self.now.filter(|_| !self.silent) else { return };
        let columns = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns));
        // The last column stays free: some terminals go to the next line there.
        let line: String = line(headway, since.elapsed()).chars().take(columns.saturating_sub(1)).collect();
        let _ = write!(io::stderr(), "{ERASE}{line}");
        self.drawn = true;
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(io::stderr(), "{ERASE}");
        }
    }
}

fn line(headway: Headway, elapsed: Duration) -> String {
    let what = match headway.stage {
        Stage::Reading => "reading",
        Stage::Naming => "looking up names of call sites",
        Stage::Filtering => "filtering",
        Stage::Summing => "summing up",
        Stage::Writing => "writing",
    };
    let mut line = format!("umtui: {what}");
    if let Some(share) = headway.share {
        // Not all as long as it goes on.
        let _ = write!(line, " {:2} %", share.min(999) / 10);
    }
    if headway.events > 0 && elapsed >= RATED {
        let rate = headway.events as f64 / elapsed.as_secs_f64();
        let _ = if rate >= 1e6 {
            write!(line, ", {:.1} M events/s", rate / 1e6)
        } else {
            write!(line, ", {:.0} k events/s", rate / 1e3)
        };
    }
    line.push_str("   Ctrl-C cancels");
    line
}

fn draw(state: Arc<Mutex<State>>) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = channel();
    let body = move || {
        while matches!(stopped.recv_timeout(REDRAW), Err(RecvTimeoutError::Timeout)) {
            lock(&state).draw();
        }
    };
    let thread = std::thread::Builder::new().name("progress".into()).spawn(body);
    thread.ok().map(|thread| (stop, thread))
}

fn can_erase() -> bool {
    let term = std::env::var_os("TERM").unwrap_or_default();
    io::stderr().is_terminal() && !term.is_empty() && term != "dumb"
}

/// Those that would end us; one that is ignored (by nohup, in the background) stays so.
fn signals() -> io::Result<signal_hook::iterator::Signals> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    signal_hook::iterator::Signals::new(wanted)
}

/// The signals that a process ignores, a bit each from the first on; none if that is not known.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_done_how_far_and_how_fast() {
        let reading = Headway { stage: Stage::Reading, share: Some(417), events: 6_200_000 };
        assert_eq!(line(reading, Duration::from_secs(2)), "umtui: reading 41 %, 3.1 M events/s   Ctrl-C cancels");
        assert_eq!(line(reading, Duration::from_millis(100)), "umtui: reading 41 %   Ctrl-C cancels");
        let slow = Headway { stage: Stage::Writing, share: Some(1000), events: 90_000 };
        assert_eq!(line(slow, Duration::from_secs(1)), "umtui: writing 99 %, 90 k events/s   Ctrl-C cancels");
        let summing = Headway { stage: Stage::Summing, share: None, events: 0 };
        assert_eq!(line(summing, Duration::from_secs(9)), "umtui: summing up   Ctrl-C cancels");
    }

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        assert_eq!(ignored("Name:\tumtui\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001003\n"), 0x1003);
        assert_eq!((ignored(""), ignored("SigIgn:\tzz")), (0, 0));
    }
}
