//! What goes over the wire to the terminal: whole frames, and over a slow line none that nobody waits for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod common;
#[path = "common/demo.rs"]
mod demo;
#[path = "common/pty.rs"]
mod pty;

use std::time::Duration;

use demo::recording;
use pty::{Exit, Launch, Terminal};

/// The filter as people of this tool write it.
const XML: &str = "<filter><include><api>cudaMallocManaged</api></include><exclude><thread>memory_monitor</thread>\
                   <stream>default</stream></exclude><threshold><duration>100us</duration></threshold></filter>";
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

fn open(screen: &str) -> Launch {
    Launch::umtui(["open", recording().to_str().unwrap(), "--screen", screen])
}

fn leave(mut terminal: Terminal) {
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn the_xml_works_on_the_command_line_and_where_it_is_typed() {
    let words = "& api:cudaMallocManaged durat";
    let arguments = ["open", recording().to_str().unwrap(), "--screen", "calls", "--filter", XML];
    let terminal = Launch::umtui(arguments).size(200, 50).start();
    terminal.wait_for(&["ENDED", words, "hidden"]);
    leave(terminal);
    let mut terminal = open("calls").size(200, 50).start();
    terminal.wait_for(&["ENDED", "by thread"]);
    terminal.keys("&");
    // Pasted, as it would be.
    terminal.keys(&format!("\x1b[200~{XML}\x1b[201~"));
    terminal.keys("\r");
    terminal.wait_for(&[words, "hidden"]);
    leave(terminal);
}

#[test]
fn all_that_is_drawn_lies_in_frames() {
    let mut terminal = open("overview").size(200, 50).start();
    terminal.wait_for(&["ENDED", "time goes to"]);
    for keys in [
        "2",
        "j",
        "/cuda",
        "\r",
        "n",
        "&api:cuda*",
        "\r",
        "\\",
        "?",
        "?6",
        "vj",
        "\r",
        "0",
        ":cl",
        "\x1b",
        "gp",
        "\x1b",
        "9",
        "m'",
    ] {
        terminal.keys(keys);
        terminal.wait_quiet(Duration::from_millis(120));
    }
    terminal.resize(100, 30);
    terminal.wait_quiet(Duration::from_millis(300));
    terminal.keys("\x1b");
    terminal.wait_quiet(Duration::from_millis(300));
    leave_and_look(terminal);
}

fn leave_and_look(mut terminal: Terminal) {
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
    let bytes = String::from_utf8(terminal.bytes()).unwrap();
    let after = bytes.split_once("\x1b[?1049h").unwrap().1;
    let inside = after.split_once("\x1b[?1049l").unwrap().0;
    let mut frames = 0;
    for piece in inside.split(BEGIN) {
        let outside = match piece.split_once(END) {
            Some((frame, outside)) => {
                frames += 1;
                assert!(!frame.contains(END), "{frame:?}");
                outside
            }
            None => piece,
        };
        // Modes are set and asked for outside of frames; nothing is drawn there.
        for sequence in outside.split("\x1b[").filter(|sequence| !sequence.is_empty()) {
            let rest = sequence.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '?' | ';' | '>' | '<'));
            assert!(rest.len() == 1 && "hlumHJ".contains(rest), "outside of frames: {sequence:?}");
        }
    }
    assert!(frames > 15, "{frames}");
}

#[test]
fn a_key_is_echoed_over_a_slow_line_as_soon_as_the_line_allows() {
    /// A line of 200 kbit/s.
    const BYTES: usize = 25_000;
    /// What the machine itself may take.
    const MACHINE: Duration = Duration::from_millis(200);
    let allowed = |bytes: usize| Duration::from_secs_f64(bytes as f64 / BYTES as f64);
    let mut terminal = open("calls").size(200, 50).start();
    terminal.wait_for(&["ENDED", "by thread"]);
    terminal.wait_quiet(Duration::from_secs(1));
    terminal.stop_reading();
    // A word is typed, letter by letter, with the list filtered below it at each.
    terminal.keys("&");
    terminal.read_slowly(BYTES, |text| text.lines().last().is_some_and(|line| line.starts_with('&')));
    let mut late = 0;
    let mut typed = "&".to_owned();
    for letter in "api:cudaMemcpyAsync".chars() {
        let before = terminal.written();
        terminal.keys(&letter.to_string());
        typed.push(letter);
        let took = terminal.read_slowly(BYTES, |text| text.lines().last().is_some_and(|line| line.starts_with(&typed)));
        let bytes = terminal.written() - before;
        eprintln!("{letter}: {bytes} bytes after {took:?}");
        late += usize::from(took > allowed(bytes) + MACHINE);
        // Two screens at most come before it, however much had been drawn.
        assert!(bytes < 30_000, "{bytes} bytes for a letter");
    }
    assert!(late <= 2, "{late} letters came late");
    // Pages that nobody could have seen are not sent: then a letter is there at once.
    terminal.keys("\x15\x1b");
    terminal.read_slowly(BYTES, |text| !text.lines().last().is_some_and(|line| line.starts_with('&')));
    terminal.keys("6");
    terminal.read_slowly(BYTES, |text| text.contains("in order"));
    for page in 0..100 {
        terminal.keys(if page % 20 < 10 { "\x1b[6~" } else { "\x1b[5~" });
        std::thread::sleep(Duration::from_millis(10));
    }
    let before = terminal.written();
    terminal.keys("/");
    let took = terminal.read_slowly(BYTES, |text| text.lines().last().is_some_and(|line| line.starts_with('/')));
    let bytes = terminal.written() - before;
    eprintln!("after a hundred pages: {bytes} bytes in {took:?}");
    assert!(bytes < 60_000 && took < allowed(bytes) + 2 * MACHINE, "{bytes} bytes in {took:?}");
    terminal.read_again();
    terminal.keys("\x1b");
    terminal.wait_quiet(Duration::from_millis(500));
    terminal.keys("q");
    assert_eq!(terminal.exit(), Exit::Status(0));
}

#[test]
fn memory_and_heatmap_over_a_slow_line_follow_the_keys_and_leave_at_once() {
    const BYTES: usize = 25_000;
    const MACHINE: Duration = Duration::from_millis(200);
    let allowed = |bytes: usize| Duration::from_secs_f64(bytes as f64 / BYTES as f64);
    let pingpong = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/demo-pingpong.log.gz");
    let mut terminal = Launch::umtui(["open", pingpong, "--screen", "memory"]).size(200, 50).start();
    terminal.wait_for(&["ENDED", "[allocations]"]);
    terminal.wait_quiet(Duration::from_secs(1));
    terminal.stop_reading();
    let keys = |terminal: &mut Terminal, keys: &[&str], times: usize| {
        for round in 0..times {
            terminal.keys(keys[round % keys.len()]);
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    // Rows, tabs and what is known of each.
    keys(&mut terminal, &["j", "\t", "j", "s", "\x1b[6~"], 100);
    let before = terminal.written();
    terminal.keys("4");
    let took = terminal.read_slowly(BYTES, |text| text.contains("legend") && text.contains("column"));
    let bytes = terminal.written() - before;
    eprintln!("to the heatmap: {bytes} bytes in {took:?}");
    assert!(bytes < 60_000 && took < allowed(bytes) + 2 * MACHINE, "{bytes} bytes in {took:?}");
    // Closer and wider, to and fro: every cell changes each time.
    keys(&mut terminal, &["w", "w", "\x1b[C", "s", "\x1b[B"], 100);
    let before = terminal.written();
    terminal.keys("q");
    let took = terminal.read_slowly(BYTES, |text| !text.contains("legend"));
    let bytes = terminal.written() - before;
    eprintln!("out: {bytes} bytes in {took:?}");
    assert!(bytes < 60_000 && took < allowed(bytes) + 2 * MACHINE, "{bytes} bytes in {took:?}");
    terminal.read_again();
    assert_eq!(terminal.exit(), Exit::Status(0));
}
