//! The real binary in surroundings of many kinds: a mouse, tmux, a slow line, a light background, a config file with
//! mistakes, a trace that means harm.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod common;
#[path = "common/demo.rs"]
mod demo;
#[path = "common/pty.rs"]
mod pty;

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use common::UMTUI;
use demo::recording;
use pty::{Exit, Launch, Terminal};

fn open(screen: &str, more: &[&str]) -> Launch {
    let arguments = ["open", recording().to_str().unwrap(), "--screen", screen];
    Launch::umtui(arguments.iter().chain(more))
}

/// The number of the row that the cursor is on, on the events screen.
fn row(text: &str) -> u64 {
    let heading = text.lines().find(|line| line.contains("in order")).unwrap_or_default();
    let words: Vec<&str> = heading.split_whitespace().collect();
    let place = words.windows(2).rev().find(|pair| pair[1] == "of").map_or("", |pair| pair[0]);
    place.replace(',', "").parse().unwrap_or(0)
}

#[test]
fn the_wheel_scrolls_where_it_is_asked_for_and_is_the_terminals_own_elsewhere() {
    let mut terminal = open("events", &["--mouse"]).start();
    terminal.wait("the first row", |text| row(text) == 1);
    assert!(terminal.count(b"\x1b[?1000h") == 1);
    terminal.keys("\x1b[<65;10;10M");
    terminal.wait("three rows on", |text| row(text) == 4);
    terminal.keys("\x1b[<64;10;10M");
    terminal.wait("and back", |text| row(text) == 1);
    // Clicks and moves are none of ours yet, and no keys either.
    terminal.keys("\x1b[<0;10;10M\x1b[<0;10;10m\x1b[<35;11;11Mj");
    terminal.wait("a key after them", |text| row(text) == 2);
    // Into help, where the same wheel scrolls its lines.
    terminal.keys("?\x1b[<65;10;10M");
    terminal.wait("help, scrolled", |text| text.contains("help: events") && !text.contains("Show this event in full"));
    terminal.keys("?q");
    terminal.exits_with(Exit::Status(0));
    assert!(terminal.count(b"\x1b[?1000l") == 1);

    let mut terminal = open("events", &[]).start();
    terminal.wait("the first row", |text| row(text) == 1);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
    assert_eq!(terminal.count(b"\x1b[?1000"), 0);
}

#[test]
fn the_mouse_is_given_back_with_the_terminal() {
    let mut terminal = open("events", &["--mouse"]).start();
    terminal.wait("the first row", |text| row(text) == 1);
    terminal.signal(libc::SIGTERM);
    terminal.exits_with(Exit::Status(128 + libc::SIGTERM));
    let bytes = terminal.bytes();
    let at = |text: &[u8]| bytes.windows(text.len()).rposition(|window| window == text);
    assert!(at(b"\x1b[?1000l") > at(b"\x1b[?1000h"));
}

#[test]
fn pasted_text_is_no_keys() {
    let mut terminal = open("events", &[]).start();
    terminal.wait("the first row", |text| row(text) == 1);
    assert_eq!(terminal.count(b"\x1b[?2004h"), 1);
    terminal.keys("\x1b[200~q\rjjj\x03G\n2\x1b[201~j");
    let text = terminal.wait("one key", |text| row(text) == 2);
    assert!(text.contains("every event in order"), "{text}");
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn a_light_background_keeps_its_colours_and_its_own_foreground() {
    for (term, colorterm) in [("xterm", ""), ("xterm-256color", ""), ("xterm-256color", "truecolor")] {
        let mut terminal = open("overview", &[]).env("TERM", term).env("COLORTERM", colorterm).start();
        terminal.wait_for(&["ENDED", "time goes to"]);
        for keys in ["2", "6", "?", "?9"] {
            terminal.keys(keys);
            terminal.wait_quiet(Duration::from_millis(200));
        }
        terminal.keys("q");
        terminal.exits_with(Exit::Status(0));
        let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        let codes = bytes.split("\x1b[").skip(1).filter_map(|code| code.split_once('m')).map(|(code, _)| code);
        let codes = codes.filter(|code| code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'));
        for code in codes {
            // Attributes, the terminal's own two, and its six hues: no black, white or grey that could vanish.
            let mut numbers = code.split(';').filter_map(|number| number.parse::<u32>().ok());
            while let Some(number) = numbers.next() {
                let hue =
                    number == 38 && numbers.next() == Some(5) && numbers.next().is_some_and(|n| (1..=6).contains(&n));
                let other = number < 30 || (31..=36).contains(&number) || [39, 49, 59].contains(&number);
                assert!(hue || other, "{code:?} on {term}");
            }
        }
    }
}

#[test]
fn a_config_file_with_mistakes_is_told_on_the_screen_and_the_rest_of_it_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::write(&file, "[look]\ntheme = \"drak\"\n[start]\nscreen = \"calls\"\n[keys.calls]\n\"x\" = \"flat\"\n")
        .unwrap();
    let arguments = ["open", recording().to_str().unwrap()];
    let mut terminal = Launch::umtui(arguments).env("UMTUI_CONFIG", file.to_str().unwrap()).start();
    terminal.wait_for(&["by thread", "defaults used (see `umtui config check`): config.toml:2:9"]);
    terminal.keys("x");
    let flat = terminal.wait_for(&["by function"]);
    assert!(!flat.contains("defaults used"), "{flat}");
    terminal.keys("?");
    terminal.wait_for(&["* changed by you"]);
    terminal.keys("?q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn the_box_of_continuations_waits_a_moment() {
    let mut terminal = open("calls", &[]).start();
    terminal.wait_for(&["by thread"]);
    let before = terminal.written();
    let pressed = Instant::now();
    terminal.keys("z");
    terminal.wait_for(&["Unfold all"]);
    assert!(pressed.elapsed() >= Duration::from_millis(250), "{:?}", pressed.elapsed());
    terminal.keys("\x1b");
    terminal.wait("no box", |text| !text.contains("Unfold all"));
    assert!(terminal.written() > before);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn over_a_slow_line_typing_is_answered() {
    /// A line of 200 kbit/s.
    const BYTES: usize = 25_000;
    let mut terminal = open("events", &[]).size(200, 50).start();
    terminal.wait("the first row", |text| row(text) == 1);
    terminal.stop_reading();
    // As fast as somebody types, and then some: each step before the last is drawn.
    for step in 1..=20_u64 {
        terminal.keys("j");
        let took = terminal.read_slowly(BYTES, |text| row(text) > step);
        assert!(took < Duration::from_millis(700), "step {step} was shown after {took:?}");
    }
    // A held key: whole screens come faster than the line takes them, and none may queue up behind it.
    for _ in 0..60 {
        terminal.keys("J");
        terminal.keys("\x1b[6~");
        std::thread::sleep(Duration::from_millis(16));
    }
    terminal.keys("gg");
    let took = terminal.read_slowly(BYTES, |text| row(text) == 1);
    eprintln!("the top after {took:?}");
    assert!(took < Duration::from_secs(4), "the top was shown after {took:?}");
    terminal.read_again();
    terminal.keys("q");
    assert_eq!(terminal.exit(), Exit::Status(0));
}

/// A server of tmux of our own, gone when this is dropped.
struct Tmux(String);

impl Tmux {
    fn run(&self, arguments: &[&str]) -> Output {
        Command::new("tmux").args(["-L", &self.0, "-f", "/dev/null"]).args(arguments).output().unwrap()
    }

    fn wait(&self, what: &str, pleases: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        common::wait_for(what, pty::DEADLINE, || {
            let screen = self.run(&["capture-pane", "-p", "-t", "umtui"]);
            text = String::from_utf8_lossy(&screen.stdout).into_owned();
            pleases(&text)
        });
        text
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn in_tmux_it_looks_and_leaves_as_anywhere() {
    if Command::new("tmux").arg("-V").output().is_err() {
        eprintln!("skipped: tmux is not installed");
        return;
    }
    let tmux = Tmux(format!("umtui-{}", std::process::id()));
    let command = format!(
        "echo before; env -u LD_PRELOAD UMTUI_CONFIG=/dev/null LANG=C.UTF-8 {UMTUI} open {} --screen calls; echo left with $?; cat",
        recording().display()
    );
    let started = tmux.run(&["new-session", "-d", "-s", "umtui", "-x", "100", "-y", "30", &command]);
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    tmux.wait("the calls", |text| text.contains("by thread") && text.contains("ENDED"));
    tmux.run(&["send-keys", "-t", "umtui", "z", "M"]);
    tmux.wait("one row", |text| text.lines().filter(|line| line.starts_with("> ")).count() == 1);
    tmux.run(&["send-keys", "-t", "umtui", "6"]);
    tmux.wait("the events", |text| text.contains("every event in order"));
    tmux.run(&["resize-window", "-t", "umtui", "-x", "60", "-y", "20"]);
    let small = tmux.wait("the new size", |text| {
        text.lines().nth(1).is_some_and(|rule| rule.chars().count() == 60 && rule.chars().all(|char| char == '─'))
    });
    assert_eq!(small.lines().count(), 20, "{small}");
    // A click of tmux's own mouse mode and a paste are no keys.
    tmux.run(&["set-buffer", "-b", "b", "qqq2"]);
    tmux.run(&["paste-buffer", "-p", "-b", "b", "-t", "umtui"]);
    tmux.run(&["send-keys", "-t", "umtui", "j"]);
    tmux.wait("the second row", |text| row(text) == 2);
    tmux.run(&["send-keys", "-t", "umtui", "q"]);
    let left = tmux.wait("the old screen", |text| text.contains("left with"));
    assert!(left.starts_with("before") && left.contains("left with 0") && !left.contains("in order"), "{left}");
}

/// A recorded trace in which everything has a name that means harm.
fn hostile(folder: &Path) -> std::path::PathBuf {
    let text = include_str!("data/h200-managed-shared.log");
    let names = [
        "\x1b[2J\x1b]0;title\x07\x1bP1$r\x1b\\\\".to_owned(),
        "\u{9b}31m\u{202e}txt.exe\u{2066}\u{200f}".to_owned(),
        "שלום مرحبا 日本語カーネル".to_owned(),
        format!("z{}algo", "\u{301}\u{489}".repeat(300)),
        "👩\u{200d}🔬 🇩🇪 ❤\u{fe0f} \u{7f}\x08\x05".to_owned(),
        "x".repeat((1 << 20) - 4096),
    ];
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        let named = ["# api", "# thread", "# kernel", "# process", "# argument", "# device"];
        if !named.iter().any(|keyword| line.starts_with(keyword)) {
            out.push_str(line);
        } else {
            // Every other piece between quotes.
            for (at, piece) in line.split('"').enumerate() {
                if at > 0 {
                    out.push('"');
                }
                out.push_str(if at % 2 == 1 { &names[(number + at / 2) % names.len()] } else { piece });
            }
        }
        out.push('\n');
    }
    let file = folder.join("hostile.log");
    std::fs::write(&file, out).unwrap();
    file
}

/// Fails if a program wrote anything but text and the sequences that frames are made of.
fn only_frames(bytes: &[u8], what: &str) {
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let mut rest = text.as_str();
    while let Some(at) = rest.find(|c: char| !umtui::session::safe::prints(c)) {
        let sequence =
            rest[at..].strip_prefix("\x1b[").unwrap_or_else(|| panic!("{what}: {:?}", &rest[at..].chars().next()));
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).expect("an end");
        let (parameters, last) = (&sequence[..end], &sequence[end..=end]);
        let ours = match last {
            "m" | "H" | "J" => parameters.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'),
            "h" | "l" => ["?2026", "?25", "?1049", "?2004"].contains(&parameters),
            _ => false,
        };
        assert!(ours, "{what}: ESC [ {parameters} {last}");
        rest = &sequence[end + 1..];
    }
}

fn looks_at_everything(terminal: &mut Terminal) {
    for keys in ["2", "j", "d", "\x1b", "zR", "G", "gf", "6", "jj", "\r", "\x1b", "9", "1"] {
        terminal.keys(keys);
        terminal.wait_quiet(Duration::from_millis(150));
    }
}

#[test]
fn a_trace_that_means_harm_does_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = hostile(folder.path());
    for (columns, rows) in [(30, 8), (80, 24), (200, 50)] {
        let mut terminal = Launch::umtui(["open", file.to_str().unwrap()]).size(columns, rows).start();
        terminal.wait_for(&["ENDED"]);
        looks_at_everything(&mut terminal);
        only_frames(&terminal.bytes(), &format!("at {columns}x{rows}"));
        terminal.keys("q");
        terminal.exits_with(Exit::Status(0));
    }
    for format in ["text", "json"] {
        let report = Command::new(UMTUI).args(["report", "--format", format]).arg(&file).output().unwrap();
        assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
        only_frames(&report.stdout.iter().copied().filter(|byte| *byte != b'\n').collect::<Vec<_>>(), format);
    }
}
