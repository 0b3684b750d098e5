//! The real binary in a pseudo-terminal: its screens, on whatever terminal it finds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod common;
#[path = "common/demo.rs"]
mod demo;
#[path = "common/pty.rs"]
mod pty;

use std::time::Duration;

use demo::recording;
use pty::{Exit, Launch, Terminal};

fn open(screen: &str) -> Launch {
    Launch::umtui(["open".as_ref(), recording().as_os_str(), "--screen".as_ref(), screen.as_ref()])
}

/// The calls screen with all its rows folded up.
fn folded_calls() -> Terminal {
    let mut terminal = open("calls").start();
    terminal.wait_for(&["ENDED", "by thread"]);
    terminal.keys("zMgg");
    terminal.wait("one row", |text| rows(text).len() == 1);
    terminal
}

/// The list of the calls screen: from under the heading to the first empty line.
fn rows(text: &str) -> Vec<&str> {
    text.lines().skip(3).take_while(|line| !line.is_empty()).collect()
}

/// Colours that a program asked for: parameters of `ESC [ ... m` that are not attributes.
fn colours(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let codes = text.split("\x1b[").skip(1).filter_map(|code| code.split_once('m')).map(|(parameters, _)| parameters);
    let codes = codes.filter(|code| code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'));
    let colour = |number: &str| matches!(number.parse(), Ok(30..=38 | 40..=48 | 90..=107));
    codes.filter(|code| code.split(';').next().is_some_and(colour)).map(str::to_owned).collect()
}

#[test]
fn the_first_screen_comes_at_once_and_number_keys_choose_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut terminal = Launch::umtui([
        "demo".as_ref(),
        "-o".as_ref(),
        run.as_os_str(),
        "--".as_ref(),
        "--rounds".as_ref(),
        "10".as_ref(),
    ])
    .start();
    terminal.wait_for(&["umtui", "hook", "sees", "writes", "time goes to", "cudaStreamSynchronize"]);
    assert!(terminal.started.elapsed() < Duration::from_secs(10), "{:?}", terminal.started.elapsed());
    assert!(terminal.alternate() && terminal.cursor_hidden() && !terminal.restored());
    terminal.keys("2");
    terminal.wait_for(&["by thread", "total", "umtui-demo", "main"]);
    terminal.keys("6");
    terminal.wait_for(&["every event in order", "start", "took"]);
    terminal.keys("9");
    terminal.wait_for(&["output", "training steps"]);
    terminal.keys("1");
    terminal.wait_for(&["time goes to", "ENDED"]);
    // Keys that mean nothing do no harm, nor does text that is pasted.
    terminal.keys("358x\x1b[200~qqq\x1b[201~2");
    terminal.wait_for(&["by thread"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn rows_fold_and_unfold_and_keep_the_cursor() {
    let mut terminal = folded_calls();
    terminal.keys("l");
    let one = terminal.wait("the first level", |text| rows(text).len() > 1);
    assert!(rows(&one)[0].starts_with("v "), "{one}");
    assert!(rows(&one)[1..].iter().all(|row| row.starts_with("  > ") || row.starts_with("    ")), "{one}");
    // Unfolds what the largest share is under, step by step.
    terminal.keys("jo");
    let two = terminal.wait("the second level", |text| rows(text).len() > rows(&one).len());
    assert!(rows(&two)[1].starts_with("  v "), "{two}");
    terminal.keys("o");
    terminal.wait("the same rows again", |text| rows(text) == rows(&one));
    terminal.keys("zR");
    terminal.wait("everything open", |text| rows(text) != rows(&two) && !text.contains("> "));
    terminal.keys("zM");
    terminal.wait("one row", |text| rows(text).len() == 1);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn rows_are_sorted_and_grouped_as_asked() {
    let mut terminal = open("calls").start();
    terminal.wait_for(&["total v"]);
    terminal.keys("s");
    terminal.wait_for(&["self v"]);
    terminal.keys("S");
    terminal.wait_for(&["self ^"]);
    terminal.keys("<");
    terminal.wait("sorted by total", |text| text.contains("total v") || text.contains("total ^"));
    terminal.keys("t");
    terminal.wait_for(&["by stream"]);
    terminal.keys("gf");
    let flat = terminal.wait_for(&["by function"]);
    assert!(flat.contains("cudaStreamSynchronize") && !flat.contains("main"), "{flat}");
    terminal.keys("i");
    terminal.wait_for(&["by function, up to"]);
    terminal.keys("%");
    terminal.wait("shares", |text| rows(text).iter().all(|row| row.contains(" %")));
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn enter_goes_to_the_events_behind_a_row_and_esc_back() {
    let mut terminal = open("calls").start();
    terminal.wait_for(&["by thread"]);
    terminal.keys("gf");
    let flat = terminal.wait("the flat list", |text| text.contains("by function") && rows(text).len() > 3);
    let name = rows(&flat)[0].split_whitespace().next().unwrap().to_owned();
    terminal.keys("\r");
    terminal.wait_for(&["only", &name, "Backspace"]);
    terminal.wait("its events alone", |text| {
        let list = text.lines().skip(4).take_while(|line| !line.is_empty() && !line.starts_with("Enter"));
        let list: Vec<&str> = list.collect();
        !list.is_empty() && list.iter().all(|line| line.contains(&name))
    });
    terminal.keys("\r");
    terminal.wait_for(&["call ", "start", "took", "thread", "result"]);
    terminal.keys("\x1b");
    terminal.wait("the events again", |text| text.contains("Backspace") && !text.contains("result "));
    terminal.keys("\x7f");
    terminal.wait_for(&["every event in order"]);
    terminal.keys("\x1b");
    terminal.wait_for(&["by function"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn help_comes_and_goes_and_an_arrow_may_arrive_in_pieces() {
    let mut terminal = open("calls").start();
    terminal.wait_for(&["by thread"]);
    terminal.keys("?");
    terminal.wait_for(&["help: calls", "Fold or unfold this row", "more below"]);
    terminal.keys("G");
    terminal.wait_for(&["Draw the screen anew"]);
    terminal.keys("?");
    terminal.wait("no help", |text| !text.contains("help: calls") && text.contains("by thread"));
    terminal.keys("z");
    terminal.wait_for(&["Unfold all"]);
    terminal.keys("M");
    terminal.wait("one row", |text| rows(text).len() == 1);
    // As a slow line delivers the right arrow. An escape alone would go back.
    terminal.keys("\x1b[");
    std::thread::sleep(Duration::from_millis(150));
    terminal.keys("C");
    terminal.wait("the first level", |text| rows(text).len() > 1);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn it_fits_any_size_and_follows_its_changes() {
    let mut terminal = open("overview").size(30, 8).start();
    let small = terminal.wait_for(&["umtui", "hook"]);
    assert_eq!(small.lines().nth(1).map(|rule| rule.chars().count()), Some(30), "{small}");
    for (columns, rows) in [(29, 20), (80, 7), (10, 3), (1, 1), (2, 1), (1, 9)] {
        terminal.resize(columns, rows);
        terminal.wait("a plain message", |text| text.starts_with('u') && !text.contains('─'));
    }
    terminal.resize(120, 40);
    let wide = terminal.wait("the rule at its full width", |text| {
        text.lines().nth(1).is_some_and(|rule| rule.chars().count() == 120 && rule.chars().all(|char| char == '─'))
    });
    assert!(wide.lines().next().unwrap().ends_with("all time") && wide.lines().count() == 40, "{wide}");
    for screen in ["2", "6", "9", "?"] {
        terminal.keys(screen);
        for (columns, rows) in [(30, 8), (1, 1), (200, 50), (40, 12)] {
            terminal.resize(columns, rows);
            terminal.keys("jkGgg\x0c");
        }
    }
    terminal.wait_for(&["help: output"]);
    terminal.keys("?q");
    terminal.exits_with(Exit::Status(0));
    let mut terminal = open("calls").size(1, 1).start();
    terminal.wait_for(&["u"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn colours_and_letters_are_those_that_the_terminal_has() {
    let mut terminal = open("overview").start();
    terminal.wait_for(&["ENDED", "─"]);
    assert!(colours(&terminal.bytes()).iter().any(|code| code.starts_with("38;5;")));
    drop(terminal);
    for (name, value, option) in [("TERM", "dumb", None), ("NO_COLOR", "1", None), ("TERM", "xterm", Some("never"))] {
        let mut command = vec!["open", recording().to_str().unwrap()];
        command.extend(option.iter().flat_map(|when| ["--color", when]));
        terminal = Launch::umtui(command).env(name, value).start();
        terminal.wait_for(&["ENDED", "time goes to"]);
        terminal.keys("2");
        terminal.wait_for(&["by thread"]);
        terminal.keys("?");
        terminal.wait_for(&["help: calls"]);
        terminal.keys("qq");
        terminal.exits_with(Exit::Status(0));
        assert_eq!(colours(&terminal.bytes()), [""; 0], "{name}={value} {option:?}");
    }
    let mut terminal = open("overview").env("LANG", "C").start();
    terminal.wait_for(&["ENDED", "---"]);
    for (keys, shows) in [
        ("2", "by thread"),
        ("?", "help: calls"),
        // Enter means nothing before there are rows.
        ("?6", "1 of "),
        ("\r", "+-"),
        ("\x1b", "Enter details"),
        ("9", "only a program started by"),
    ] {
        terminal.keys(keys);
        terminal.wait_for(&[shows]);
    }
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
    let bytes = terminal.bytes();
    let wide: Vec<u8> = bytes.iter().copied().filter(|byte| *byte >= 0x80).collect();
    assert!(wide.is_empty(), "not ASCII: {}", String::from_utf8_lossy(&bytes));
}

#[test]
fn a_finished_recording_opens_with_the_numbers_of_its_report() {
    let report = common::report(&[recording()]);
    let mut terminal = open("calls").size(200, 50).start();
    let sum = |api: &serde_json::Value| api["calls"].as_u64().unwrap();
    let total: u64 = report["apis"].as_array().unwrap().iter().map(sum).sum();
    // Few enough to be shown in full.
    assert!((1..1000).contains(&total), "{total}");
    terminal.wait_for(&["ENDED", &format!("{total} calls"), "lost 0", "by thread"]);
    terminal.keys("gf");
    terminal.wait_for(&["by function"]);
    for api in report["apis"].as_array().unwrap() {
        let (name, calls) = (api["name"].as_str().unwrap(), api["calls"].as_u64().unwrap());
        terminal.wait(&format!("{calls} calls of {name}"), |text| {
            let mut row = text.lines().filter(|line| line.split_whitespace().next() == Some(name));
            row.any(|row| row.split_whitespace().any(|word| word == calls.to_string()))
        });
    }
    terminal.keys("6");
    terminal.wait_for(&["every event in order"]);
    // Calls alone, of all kinds of events.
    terminal.keys("f");
    terminal.wait_for(&["kinds of events"]);
    terminal.keys("\r");
    terminal.keys("\x1b");
    terminal.wait_for(&["calls in order", &format!("of {total}")]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn a_step_of_the_cursor_is_few_bytes_and_no_step_is_none() {
    let mut terminal = open("calls").size(200, 50).start();
    terminal.wait_for(&["ENDED", "by thread"]);
    terminal.keys("zRgg");
    terminal.wait("everything open", |text| rows(text).len() > 20);
    // Names of call sites may still come.
    terminal.wait_quiet(Duration::from_millis(1500));
    let mut before = terminal.written();
    for _ in 0..12 {
        terminal.keys("j");
        terminal.wait_bytes("a frame", |bytes| bytes.len() > before && bytes.ends_with(b"\x1b[?2026l"));
        terminal.wait_quiet(Duration::from_millis(100));
        let step = terminal.written() - before;
        eprintln!("a cursor step at 200x50: {step} bytes");
        assert!(step < 4096, "{step} bytes for a step of the cursor");
        before += step;
    }
    for screen in ["2", "1", "6"] {
        terminal.keys(screen);
        terminal.wait_quiet(Duration::from_millis(500));
        let before = terminal.written();
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(terminal.written(), before, "an ended trace writes while nothing happens, on {screen}");
    }
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}
