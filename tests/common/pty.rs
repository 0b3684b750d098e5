//! A program in a pseudo-terminal of its own, and the screen that it draws there.
//!
//! Tests wait for a condition on the screen, never for time; a wait that takes too long fails with the screen.
#![allow(dead_code, reason = "each test uses its part")]

use std::fmt::Debug;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, NativePtySystem, PtySize, PtySystem as _};

use crate::common::{GUEST, UMTUI};

/// Longest wait for anything. Long, since the machine may be slow and busy; a test that passes never waits so long.
pub const DEADLINE: Duration = Duration::from_secs(30);
/// Takes the terminal, and gives it back.
pub const ENTER: &[u8] = b"\x1b[?1049h";
pub const LEAVE: &[u8] = b"\x1b[?1049l";
/// Before the letter that begins (h) or ends (l) a frame.
const FRAME: &[u8] = b"\x1b[?2026";
/// Time between two looks at whether the terminal is to go away.
const LOOK: Duration = Duration::from_millis(20);

/// What is to be started, in which surroundings.
pub struct Launch {
    command: CommandBuilder,
    size: (u16, u16),
}

impl Launch {
    /// umtui with these arguments, in 80x24 cells with 256 colours and Unicode.
    pub fn umtui<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Self {
        Self::program(UMTUI, arguments)
    }

    /// Likewise any program.
    pub fn program<S: AsRef<std::ffi::OsStr>>(program: &str, arguments: impl IntoIterator<Item = S>) -> Self {
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(env!("CARGO_TARGET_TMPDIR"));
        for name in [
            "NO_COLOR",
            "FORCE_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "COLORTERM",
            "LC_ALL",
            "LC_CTYPE",
            "LD_PRELOAD",
            "RUST_BACKTRACE",
        ] {
            command.env_remove(name);
        }
        // Nobody's own settings.
        command.env("UMTUI_CONFIG", "/dev/null");
        // What one test leaves behind must not meet another.
        static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let state = format!("state-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        command.env("XDG_STATE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join(state));
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        command.env("LD_LIBRARY_PATH", GUEST);
        Self { command, size: (80, 24) }
    }

    /// In so many columns and rows.
    pub fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    /// With this variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// On a terminal that controls nobody: no signal tells that it went away.
    pub fn uncontrolled(mut self) -> Self {
        self.command.set_controlling_tty(false);
        self
    }

    /// Starts it.
    pub fn start(self) -> Terminal {
        let (columns, rows) = self.size;
        let pair = NativePtySystem::default().openpty(cells(columns, rows)).unwrap();
        let fd = pair.master.as_raw_fd().unwrap();
        // SAFETY: the master is open until the end of this function at least.
        let keyboard: File = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned().unwrap().into();
        let modes = modes(&*pair.master);
        let parser = vt100::Parser::new(some(rows), some(columns), 0);
        let state = State { parser, bytes: Vec::new(), last: Instant::now(), ended: false };
        let shown = Arc::new(Shown { state: Mutex::new(state), changed: Condvar::new() });
        let stop = Arc::<AtomicBool>::default();
        let started = Instant::now();
        let child = pair.slave.spawn_command(self.command).unwrap();
        let reader = {
            let (screen, shown, stop) = (keyboard.try_clone().unwrap(), Arc::clone(&shown), Arc::clone(&stop));
            std::thread::spawn(move || read(screen, &shown, &stop))
        };
        let far = Some((pair.master, keyboard));
        Terminal { far, modes, child, exit: None, shown, stop, reader: Some(reader), started }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

/// A program in its pseudo-terminal. It is killed when this is dropped.
pub struct Terminal {
    /// The far side, until it goes away.
    far: Option<(Box<dyn MasterPty + Send>, File)>,
    /// The terminal's modes before the program started.
    modes: String,
    child: Box<dyn Child + Send + Sync>,
    exit: Option<Exit>,
    shown: Arc<Shown>,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    /// When the program was started.
    pub started: Instant,
}

struct Shown {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    /// When the last byte came.
    last: Instant,
    /// Nobody will write any more.
    ended: bool,
}

impl State {
    /// Whether a frame has begun and not ended: what is on the screen is neither the old nor the new one.
    fn between_frames(&self) -> bool {
        let marker = self.bytes.windows(FRAME.len() + 1).rev().find(|bytes| bytes.starts_with(FRAME));
        marker.is_none_or(|marker| marker.last() == Some(&b'l'))
    }

    fn text(&self) -> String {
        let screen = self.parser.screen();
        let lines: Vec<String> = screen.rows(0, screen.size().1.get()).map(|line| line.trim_end().to_owned()).collect();
        lines.join("\n")
    }
}

impl Terminal {
    /// Waits until the screen, its lines joined, pleases; returns it.
    pub fn wait(&self, what: &str, mut pleases: impl FnMut(&str) -> bool) -> String {
        self.wait_state(what, |state| Some(state.text()).filter(|text| state.between_frames() && pleases(text)))
    }

    /// Waits until the screen holds all of these.
    pub fn wait_for(&self, words: &[&str]) -> String {
        self.wait(&format!("{words:?} on the screen"), |text| words.iter().all(|word| text.contains(word)))
    }

    /// Waits until the bytes that came please.
    pub fn wait_bytes(&self, what: &str, mut pleases: impl FnMut(&[u8]) -> bool) {
        self.wait_state(what, |state| pleases(&state.bytes).then_some(()));
    }

    /// Waits until nothing has come for so long, from now on.
    pub fn wait_quiet(&self, quiet: Duration) {
        let begun = Instant::now();
        loop {
            let silent = self.lock().last.max(begun).elapsed();
            if silent >= quiet {
                return;
            }
            assert!(begun.elapsed() < DEADLINE, "the terminal never came to rest:\n{}", self.text());
            std::thread::sleep(quiet - silent);
        }
    }

    fn wait_state<T>(&self, what: &str, mut result: impl FnMut(&State) -> Option<T>) -> T {
        let until = Instant::now() + DEADLINE;
        let mut state = self.lock();
        loop {
            if let Some(result) = result(&state) {
                return result;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || state.ended {
                let why = if state.ended { "before the program let go of the terminal" } else { "in time" };
                let text = state.text();
                drop(state);
                panic!("{what}: did not come {why}. The screen:\n{text}\n(end of the screen)");
            }
            state = self.shown.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.shown.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The screen's lines, joined.
    pub fn text(&self) -> String {
        self.lock().text()
    }

    /// All that the program wrote.
    pub fn bytes(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    /// How much that is.
    pub fn written(&self) -> usize {
        self.lock().bytes.len()
    }

    /// How often these bytes were written.
    pub fn count(&self, bytes: &[u8]) -> usize {
        self.lock().bytes.windows(bytes.len()).filter(|window| *window == bytes).count()
    }

    /// Whether the screen is one that will be gone afterwards.
    pub fn alternate(&self) -> bool {
        self.lock().parser.screen().alternate_screen()
    }

    /// Whether the cursor is hidden.
    pub fn cursor_hidden(&self) -> bool {
        self.lock().parser.screen().hide_cursor()
    }

    /// Types.
    pub fn keys(&mut self, keys: &str) {
        self.far.as_mut().unwrap().1.write_all(keys.as_bytes()).unwrap();
    }

    /// Types as much as the program has room for.
    pub fn try_keys(&mut self, keys: &str) {
        let keyboard = &mut self.far.as_mut().unwrap().1;
        let mut polled = libc::pollfd { fd: keyboard.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        // SAFETY: one entry that lives, mutably borrowed, until poll returns.
        if unsafe { libc::poll(&raw mut polled, 1, 0) } > 0 {
            keyboard.write_all(keys.as_bytes()).unwrap();
        }
    }

    /// Changes the terminal's size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        // The parser first: what is drawn for the new size must find it.
        self.lock().parser.set_size(some(rows), some(columns));
        self.far.as_ref().unwrap().0.resize(cells(columns, rows)).unwrap();
    }

    /// Nobody looks at the terminal any more.
    pub fn stop_reading(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }

    /// Looks at the terminal as over a slow line, until the screen pleases; says how long that took.
    pub fn read_slowly(&mut self, bytes_a_second: usize, mut pleases: impl FnMut(&str) -> bool) -> Duration {
        /// Pieces a second.
        const PIECES: usize = 100;
        self.stop_reading();
        let mut screen = self.far.as_ref().unwrap().1.try_clone().unwrap();
        let begun = Instant::now();
        let mut buffer = vec![0; (bytes_a_second / PIECES).max(1)];
        loop {
            let next = begun.elapsed() + Duration::from_secs(1) / PIECES as u32;
            let mut polled = libc::pollfd { fd: screen.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry that lives, mutably borrowed, until poll returns.
            if unsafe { libc::poll(&raw mut polled, 1, 10) } > 0 {
                let length = screen.read(&mut buffer).unwrap_or(0);
                let mut state = self.lock();
                state.parser.process(&buffer[..length]);
                state.bytes.extend_from_slice(&buffer[..length]);
            }
            let text = self.lock().text();
            if pleases(&text) {
                return begun.elapsed();
            }
            assert!(begun.elapsed() < DEADLINE, "did not come:\n{text}");
            std::thread::sleep(next.saturating_sub(begun.elapsed()));
        }
    }

    /// Somebody looks at the terminal again.
    pub fn read_again(&mut self) {
        let screen = self.far.as_ref().unwrap().1.try_clone().unwrap();
        let (shown, stop) = (Arc::clone(&self.shown), Arc::clone(&self.stop));
        self.stop.store(false, Ordering::SeqCst);
        self.reader = Some(std::thread::spawn(move || read(screen, &shown, &stop)));
    }

    /// The terminal goes away.
    pub fn hang_up(&mut self) {
        self.stop_reading();
        self.far = None;
    }

    /// Whether the terminal's modes are those of before the program started.
    pub fn restored(&self) -> bool {
        modes(&*self.far.as_ref().unwrap().0) == self.modes
    }

    /// Waits until they are.
    pub fn wait_restored(&self) {
        crate::common::wait_for("the terminal's old modes", DEADLINE, || self.restored());
    }

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        assert!(send(self.pid(), signal), "no process to signal");
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            let child: &mut dyn Child = &mut *self.child;
            let child: &mut std::process::Child = child.downcast_mut().unwrap();
            let status = child.try_wait().unwrap();
            self.exit = status.map(|status| match (status.code(), status.signal()) {
                (Some(code), _) => Exit::Status(code),
                (None, signal) => Exit::Signal(signal.unwrap_or(0)),
            });
        }
        self.exit
    }

    /// Waits for its end and for the last of what it wrote.
    pub fn exit(&mut self) -> Exit {
        let until = Instant::now() + DEADLINE;
        while self.ended().is_none() || (self.far.is_some() && !self.lock().ended) {
            assert!(Instant::now() < until, "did not end ({:?}). The screen:\n{}", self.exit, self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.exit.unwrap()
    }

    /// Waits for its end, which must be this one, and for a terminal that is as it was, given back once.
    pub fn exits_with(&mut self, expected: Exit) {
        let exit = self.exit();
        assert_eq!(exit, expected, "{}", self.text());
        assert!(self.restored(), "modes {}", modes(&*self.far.as_ref().unwrap().0));
        assert!(!self.alternate() && !self.cursor_hidden());
        assert!(!self.lock().parser.screen().bracketed_paste());
        assert_eq!((self.count(ENTER), self.count(LEAVE)), (1, 1), "{}", self.text());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        self.stop.store(true, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn read(mut screen: File, shown: &Shown, stop: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while !stop.load(Ordering::SeqCst) {
        let mut polled = libc::pollfd { fd: screen.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry that lives, mutably borrowed, until poll returns.
        let ready = unsafe { libc::poll(&raw mut polled, 1, LOOK.as_millis() as libc::c_int) };
        if ready <= 0 {
            continue;
        }
        // EIO: the last one who had the terminal open has closed it.
        let length = screen.read(&mut buffer).unwrap_or(0);
        let mut state = shown.state.lock().unwrap_or_else(PoisonError::into_inner);
        if length == 0 {
            state.ended = true;
            shown.changed.notify_all();
            return;
        }
        state.parser.process(&buffer[..length]);
        state.bytes.extend_from_slice(&buffer[..length]);
        state.last = Instant::now();
        shown.changed.notify_all();
    }
}

fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().unwrap())
}

fn cells(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn some(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap()
}

/// Sends a signal; says whether there was such a process.
pub fn send(pid: u32, signal: i32) -> bool {
    // SAFETY: a signal to a process that the test started; at worst there is none of that id.
    unsafe { libc::kill(libc::pid_t::try_from(pid).unwrap(), signal) == 0 }
}

/// Whether a process runs (not one that has ended and is not waited for).
pub fn runs(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| !matches!(fields[0].as_str(), "Z" | "X"))
}

/// State and following fields of a process, from /proc; the state is at 0, user and system time at 11 and 12.
pub fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Processor time of a process so far, in seconds.
pub fn processor_seconds(pid: u32) -> Option<f64> {
    let fields = stat(pid)?;
    Some(ticks(&fields[11]) + ticks(&fields[12]))
}

/// Seconds of so many ticks, as /proc counts time.
pub fn ticks(field: &str) -> f64 {
    // SAFETY: asks for a number and touches no memory of ours.
    let second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    field.parse::<f64>().unwrap() / second as f64
}

/// Processor time of all children that have been waited for, in seconds.
pub fn children_seconds() -> f64 {
    // SAFETY: all zeroes are a valid rusage, and getrusage only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// A process that outlives its umtui, killed when this is dropped.
#[derive(Debug)]
pub struct Leftover(pub u32);

impl Drop for Leftover {
    fn drop(&mut self) {
        send(self.0, libc::SIGKILL);
    }
}

/// The number after a word in a text.
pub fn number_after<T: std::str::FromStr>(text: &str, word: &str) -> T
where
    T::Err: Debug,
{
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("no {word} in:\n{text}"));
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|error| panic!("{error:?} after {word} in:\n{text}"))
}

/// What is in a file by now.
pub fn contents(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
