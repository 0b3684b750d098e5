//! Filters, ranges of time, settings and what was remembered, as bad as they can be: each is refused in a line or
//! taken, soon, in little memory, and nothing of it reaches the terminal raw.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod common;
#[path = "common/demo.rs"]
mod demo;
#[path = "common/pty.rs"]
mod pty;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::UMTUI;
use demo::recording;
use pty::{Exit, Launch};
use umtui::session::safe::prints;

/// Runs umtui in at most 2 GiB of addresses; it has to end soon, in good order, and to print nothing but text.
fn umtui<S: AsRef<OsStr>>(what: &str, arguments: impl IntoIterator<Item = S>) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 2097152; exec \"$0\" \"$@\"", UMTUI]).args(arguments);
    command.env_remove("LD_PRELOAD").env("XDG_CONFIG_HOME", "/nowhere").stdin(Stdio::null());
    let begun = Instant::now();
    let output = common::run(command);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "{what}: {took:?}");
    for bytes in [&output.stdout, &output.stderr] {
        let text = std::str::from_utf8(bytes).unwrap_or_else(|_| panic!("{what}: not UTF-8"));
        let bad = text.chars().find(|&char| !prints(char) && char != '\n');
        assert_eq!(bad, None, "{what}: {}", &text[..text.len().min(2000)]);
    }
    output
}

fn first_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A filter that is taken.
const TAKEN: Option<&str> = None;

/// Name, text, and what is said of it.
#[allow(clippy::too_many_lines, reason = "a table")]
fn filters() -> Vec<(&'static str, String, Option<&'static str>)> {
    let join = |between: &str, count: usize, term: &dyn Fn(usize) -> String| {
        (0..count).map(term).collect::<Vec<_>>().join(between)
    };
    let inside = |inner: &str| format!("<filter><include>{inner}</include></filter>");
    let x = |number: usize| format!("api:x{number}");
    vec![
        // What XML allows.
        ("bom.xml", format!("\u{feff}{}", inside("<api>cudaMalloc*</api>")), TAKEN),
        (
            "crlf.xml",
            "<?xml version=\"1.0\"?>\r\n<filter>\r\n<include>\r\n<api>\r\ncudaMalloc*\r\n</api></include></filter>\r\n"
                .into(),
            TAKEN,
        ),
        ("cdata.xml", inside("<kernel><![CDATA[a<b>&*]]></kernel>"), TAKEN),
        (
            "comments.xml",
            format!("<!-- a -->{}<!-- b -->", inside("<!-- c --><api>cuda<!-- d -->Malloc*</api>")),
            TAKEN,
        ),
        ("entities.xml", inside("<kernel>a&lt;b&gt;&amp;&#x41;&#66;&quot;&apos;</kernel>"), TAKEN),
        // What it allows and a filter does not.
        ("prefix.xml", "<f:filter xmlns:f=\"http://x\"/>".into(), Some(":1:1: expected <filter>, found <f:filter>")),
        ("space.xml", "<filter xmlns=\"http://x\"/>".into(), Some(":1:9: no attribute `xmlns`")),
        (
            "dtd.xml",
            "<!DOCTYPE filter SYSTEM \"/etc/passwd\"><filter/>".into(),
            Some(":1:1: a document type is not read"),
        ),
        ("instruction.xml", "<?php x ?><filter/>".into(), Some("processing instructions are not read")),
        ("entity.xml", inside("<kernel>&foo;</kernel>"), Some(":1:26: no entity `foo`")),
        ("zero.xml", inside("<kernel>&#0;&#x1b;[31m</kernel>"), Some("is no character's number")),
        ("encoding.xml", "<?xml version=\"1.0\" encoding=\"latin1\"?><filter/>".into(), Some("has to be UTF-8")),
        ("twice.xml", inside("") + &inside(""), Some("one <filter> is expected")),
        ("behind.xml", inside("") + "garbage", Some("text outside of <filter>")),
        ("open.xml", "<filter><include><api>x".into(), Some("<api> is not closed")),
        ("attributes.xml", format!("<filter {}/>", join(" ", 30_000, &|n| format!("a{n}='x'"))), Some("attributes")),
        ("duplicate.xml", "<filter name='a' name='b'/>".into(), Some("duplicate")),
        ("deep.xml", "<filter>".to_owned() + &"<any>".repeat(100_000), Some("deep.xml:1:")),
        ("wide.xml", inside(&"<api>x</api>".repeat(80_000)), Some("more than 10000 elements")),
        // Amounts.
        ("million.expr", join(" or ", 1_000_000, &x), Some("is larger than 1024 KiB")),
        ("many.expr", join(" or ", 60_000, &x), Some("more than 2048 terms")),
        ("many-not.expr", join(" ", 60_000, &|n| format!("-api:x{n}")), Some("more than 2048 terms")),
        ("commas.expr", format!("api:{}", "x,".repeat(400_000)), Some("more than 2048 terms")),
        ("product.expr", join(" or ", 40, &|n| format!("(api:x{n} (api:y{n} or kernel:z{n}))")), TAKEN),
        ("deep.expr", "(".repeat(500_000), Some("more than 64 deep")),
        ("not.expr", "not ".repeat(200_000) + "api:x", Some("more than 64 deep")),
        ("many.toml", format!("[include]\napi = [{}]\n", "'x',".repeat(90_000)), Some("more than 2048 terms")),
        ("deep.toml", "include = ".to_owned() + &"{a=".repeat(100_000), Some("recurs")),
        ("dots.toml", "a.".repeat(100_000) + "a = 1", Some("recurs")),
        // Patterns.
        ("long.expr", format!("api:{}", "x".repeat(100_000)), Some("is too long; 4096 are allowed")),
        ("stars.expr", format!("api:{}b", "*a".repeat(2000)), TAKEN),
        ("all-stars.expr", format!("api:{}", "*".repeat(4090)), TAKEN),
        ("any.expr", format!("kernel:{}", "?*".repeat(2000)), TAKEN),
        ("slow.expr", "kernel~'(a*)*(a|a)*(a|aa)*(.*)*$'".into(), TAKEN),
        ("large.expr", "api~'.{1000}.{1000}'".into(), Some("regular expression is too large")),
        ("classes.expr", "api~'\\p{L}{1000}'".into(), Some("regular expression is too large")),
        ("groups.expr", format!("api~'{}'", "(".repeat(4000)), Some("no regular expression")),
        ("turned.expr", "api~'(\u{202e}\u{2066}'".into(), Some("no regular expression")),
        // Quantities.
        ("nan.expr", "dur>=NaN".into(), Some(":1:6: expected a duration")),
        ("minus.expr", "dur>=-1us".into(), Some(":1:6: expected a duration")),
        ("power.expr", "dur>=1e400s".into(), Some(":1:6: expected a duration")),
        ("hex.expr", "dur>=0x10us".into(), Some(":1:6: expected a duration")),
        ("point.expr", "dur>=.us".into(), Some(":1:6: expected a duration")),
        ("huge.expr", "dur>=99999999999999999999999s".into(), Some("is too large")),
        ("huge-size.expr", "size>=99999999999TiB".into(), Some("is too large")),
        ("minus-size.expr", "size>=-1MiB".into(), Some("expected a size")),
        ("address.expr", "address:0xffffffffffffffffff".into(), Some("is too large for an address")),
        ("backwards.expr", "time:2s..1s".into(), Some("ends before it begins")),
        ("unequal.expr", "dur!=1us".into(), Some(":1:4: there is no !=; write not dur=...")),
        ("nan.toml", "[threshold]\nduration = nan\n".into(), Some("nan.toml:2:12: expected a quantity")),
        ("minus.toml", "[threshold]\nduration = -5\n".into(), Some("minus.toml:2:12: expected a duration")),
        ("date.toml", "[threshold]\nduration = 2020-01-01\n".into(), Some("date.toml:2:12: expected a quantity")),
        ("duplicate.toml", "[include]\napi = 'x'\napi = 'y'\n".into(), Some("duplicate.toml:3:1: duplicate key")),
        ("nul.expr", "\0".into(), Some(":1:1: expected a term")),
        ("quote.expr", "api:\"".into(), Some("the quote is not closed")),
    ]
}

#[test]
fn filters_that_mean_harm_are_taken_or_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let texts = filters();
    let mut cases: Vec<(PathBuf, Option<&str>)> = Vec::new();
    for (name, text, said) in &texts {
        fs::write(folder.path().join(name), text).unwrap();
        cases.push((folder.path().join(name), *said));
    }
    for (name, bytes, said) in [
        ("utf16.xml", &b"\xff\xfe<\0f\0i\0l\0t\0e\0r\0/\0>\0"[..], "not UTF-8"),
        ("half.expr", b"api:x \xe2\x82", "half.expr:1:7: from here on it is not UTF-8"),
    ] {
        fs::write(folder.path().join(name), bytes).unwrap();
        cases.push((folder.path().join(name), Some(said)));
    }
    fifo(&folder.path().join("fifo"));
    cases.push((folder.path().join("fifo"), Some("a pipe that nobody writes into")));
    cases.push(("/dev/zero".into(), Some("is larger than 1024 KiB")));
    cases.push(("/dev/null".into(), Some("is empty")));
    for (path, said) in &cases {
        let what = path.file_name().unwrap().to_string_lossy().into_owned();
        let arguments = ["report".as_ref(), recording().as_os_str(), "--filter".as_ref(), path.as_os_str()];
        let output = umtui(&what, arguments);
        let line = first_line(&output);
        assert!(line.len() < 1000, "{what}: {} bytes", line.len());
        match said {
            None => assert_eq!(output.status.code(), Some(0), "{what}: {line}"),
            Some(said) => {
                assert_eq!(output.status.code(), Some(2), "{what}: {line}");
                assert!(line.starts_with("umtui: ") && line.contains(said), "{what}: {line}");
            }
        }
        // What is taken means the same when it was written and read again.
        if said.is_none() {
            for to in ["xml", "toml", "expr"] {
                let written = umtui(
                    &what,
                    ["filter".as_ref(), "convert".as_ref(), path.as_os_str(), "--to".as_ref(), to.as_ref()],
                );
                let again = folder.path().join(format!("again.{to}"));
                fs::write(&again, &written.stdout).unwrap();
                let expression =
                    |path: &Path| umtui(&what, ["filter".as_ref(), "convert".as_ref(), path.as_os_str()]).stdout;
                assert_eq!(expression(&again), expression(path), "{what} as {to}");
            }
        }
    }
}

#[test]
fn a_name_that_nothing_has_is_told_beside_the_result() {
    for (filter, said) in [
        ("kind:kernal", "umtui: --filter: no kind fits `kernal`; known are call, kernel,"),
        ("layer:gpus", "umtui: --filter: no layer fits `gpus`; known are runtime, driver, gpu; did you mean gpu?"),
        ("-api:cudaMalocManaged", "did you mean cudaMallocManaged?"),
    ] {
        let output =
            umtui(filter, ["report".as_ref(), recording().as_os_str(), "--filter".as_ref(), OsStr::new(filter)]);
        assert_eq!(output.status.code(), Some(0));
        assert!(first_line(&output).contains(said), "{}", first_line(&output));
    }
    let arguments = ["open".as_ref(), recording().as_os_str(), "--filter".as_ref(), OsStr::new("kind:kernal")];
    let mut terminal = Launch::umtui(arguments).start();
    terminal.wait_for(&["ENDED", "no kind fits `kernal`"]);
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}

#[test]
fn ranges_of_time_beyond_all_ends_are_taken_and_others_refused() {
    let whole: serde_json::Value = common::report(&[recording()]);
    let events = whole["trace"]["events"].as_u64().unwrap();
    let long = "1".repeat(100_000) + "s..";
    let cases: Vec<(&str, Result<u64, &str>)> = vec![
        ("..", Ok(events)),
        ("0ns..99999999999999999999999999h", Err("is too large")),
        ("99h..", Ok(0)),
        ("18446744073709551615ns..", Ok(0)),
        ("18446744073709551615ns..18446744073709551616ns", Err("is too large")),
        ("99999999999999999999999s..", Err("is too large")),
        ("1h+99999999999999999h", Err("is too large")),
        ("0ns+99999999999999999h", Err("is too large")),
        ("1h+5000000h", Ok(0)),
        ("0ns+5000000h", Ok(events)),
        (&long, Err("is too large")),
        ("2s..1s", Err("before it begins")),
        ("1s..-2s", Err("\"-2s\" is before the trace's begin")),
        ("NaN..", Err("is no time")),
        ("inf..", Err("is no time")),
        ("1e9s..", Err("is no time")),
        ("1,5s..", Err("is no time")),
        ("0x10ns..", Err("is no time")),
        ("1ms..2ms..3ms", Err("is no time")),
        ("+", Err("is no time")),
        ("１s..", Err("is no time")),
        ("1s", Err("is no range of time")),
        ("", Err("is no range of time")),
        ("\x1b[2J..", Err("is no time")),
        ("\u{202e}..\u{2066}", Err("is no time")),
    ];
    for (range, expected) in cases {
        let what = &range[..range.len().min(40)];
        let range = OsString::from(format!("--range={range}"));
        let arguments = ["report".as_ref(), recording().as_os_str(), "--format=json".as_ref(), range.as_os_str()];
        let output = umtui(what, arguments);
        match expected {
            Ok(shown) => {
                let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                // The ends of ranges are events, but no rows.
                let seen = report["lens"]["shown"].as_u64().unwrap();
                assert_eq!(seen == 0, shown == 0, "{what}: {}", report["lens"]);
                assert!(seen + report["lens"]["hidden"].as_u64().unwrap() > 0, "{what}");
            }
            Err(said) => {
                assert_eq!(output.status.code(), Some(2), "{what}");
                let line = first_line(&output);
                assert!(line.starts_with("umtui: --range: ") && line.contains(said), "{what}: {line}");
                assert!(line.len() < 300, "{what}: {line}");
            }
        }
    }
    // No text at all.
    let bad = OsString::from_vec(b"--range=\xff..".to_vec());
    assert_eq!(umtui("bytes", ["report".as_ref(), recording().as_os_str(), bad.as_os_str()]).status.code(), Some(2));
}

#[test]
fn settings_that_mean_harm_are_told_and_the_rest_used() {
    let folder = tempfile::tempdir().unwrap();
    let keys = |count: usize| {
        (0..count).map(|n| format!("\"x {}\" = \"flat\"\n", (b'a' + (n % 26) as u8) as char)).collect::<String>()
    };
    let texts: Vec<(&str, Vec<u8>)> = vec![
        ("nul.toml", vec![0; 1000]),
        ("large.toml", vec![b'#'; 3_000_000]),
        ("bytes.toml", b"[look]\ntheme = \"\xff\"\n".to_vec()),
        ("deep.toml", [&b"a = "[..], &[b'['; 200_000]].concat()),
        ("dots.toml", ("a.".repeat(200_000) + "b = 1").into_bytes()),
        ("keys.toml", ("[keys.calls]\n".to_owned() + &keys(26)).into_bytes()),
        ("long.toml", format!("[keys]\n\"{}\" = \"flat\"\n", "x".repeat(500_000)).into_bytes()),
        ("value.toml", format!("[look]\ntheme = \"{}\"\n", "x".repeat(500_000)).into_bytes()),
        ("sequence.toml", format!("[keys]\n\"{}\" = \"flat\"\n", "x ".repeat(50_000)).into_bytes()),
        ("escapes.toml", b"[look]\n\"\\u001b]0;x\\u0007\" = 1\ntheme = \"\\u001b[2J\\u202e\\u2066\"\n".to_vec()),
        ("kinds.toml", b"look = [1]\nkeys = 5\ncolumns = [[[]]]\nstart = 2020-01-01\n".to_vec()),
        ("twice.toml", b"[look]\n[look]\n".to_vec()),
        ("odd.toml", b"[keys]\n\"\" = \"flat\"\n\" \" = \"quit\"\n\"ctrl-\" = \"quit\"\n\"f99\" = \"quit\"\n\"\\u0000\" = \"quit\"\n\"\\u202e\" = \"quit\"\n".to_vec()),
    ];
    let mut paths: Vec<PathBuf> = vec![folder.path().to_owned(), "/dev/zero".into(), folder.path().join("fifo")];
    fifo(&paths[2]);
    for (name, bytes) in texts {
        fs::write(folder.path().join(name), bytes).unwrap();
        paths.push(folder.path().join(name));
    }
    for path in &paths {
        let what = path.file_name().unwrap().to_string_lossy().into_owned();
        for (command, status) in [("check", 1), ("show", 0)] {
            if what == "keys.toml" {
                continue;
            }
            let output = umtui(&what, ["config".as_ref(), command.as_ref(), "--config".as_ref(), path.as_os_str()]);
            assert_eq!(output.status.code(), Some(status), "{what} {command}");
        }
        let arguments = ["open".as_ref(), recording().as_os_str(), "--config".as_ref(), path.as_os_str()];
        let mut terminal = Launch::umtui(arguments).env("UMTUI_CONFIG", "").start();
        terminal.wait_for(&["ENDED", "time goes to"]);
        terminal.keys("2");
        terminal.wait_for(&["by thread"]);
        let bytes = String::from_utf8(terminal.bytes()).unwrap();
        assert!(!bytes.chars().any(|char| !prints(char) && char != '\x1b'), "{what}");
        terminal.keys("q");
        terminal.exits_with(Exit::Status(0));
    }
}

#[test]
fn what_was_remembered_may_be_anything() {
    let state = tempfile::tempdir().unwrap();
    let open = || {
        let arguments = ["open".as_ref(), recording().as_os_str()];
        let mut terminal = Launch::umtui(arguments).env("XDG_STATE_HOME", state.path().to_str().unwrap()).start();
        terminal.wait("the first screen", |text| text.contains("ENDED"));
        terminal.keys("6");
        terminal.wait_for(&["in order"]);
        terminal.keys("jm'");
        terminal.wait_quiet(Duration::from_millis(150));
        let bytes = String::from_utf8(terminal.bytes()).unwrap();
        assert!(!bytes.chars().any(|char| !prints(char) && char != '\x1b'));
        terminal.keys("\x1b");
        terminal.wait("no marks", |text| !text.contains("┌"));
        terminal.keys("q");
        terminal.exits_with(Exit::Status(0));
    };
    open();
    let folder = state.path().join("umtui/traces");
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read_to_string(&file).unwrap();
    assert!(kept.contains("events"), "{kept}");
    let numbers: String = kept.chars().map(|char| if char.is_ascii_digit() { '9' } else { char }).collect();
    let huge = "{\"version\":1,\"screen\":\"events\",\"places\":[{\"screen\":\"events\",\"scope\":null,\"hidden\":[0,0,99],\
                \"window\":[18446744073709551615,18446744073709551615],\"follow\":false},{\"screen\":\"calls\",\"grouping\":\"thread\",\
                \"sort\":[\"total\",true],\"depth\":65535,\"flipped\":[],\"window\":[18446744073709551615,0],\"cursor\":null},\
                {\"screen\":\"output\",\"line\":18446744073709551615}],\"marks\":[{\"label\":\"\\u001b[2J\\u202e\",\
                \"place\":{\"screen\":\"output\",\"line\":18446744073709551615}}]}";
    let damaged: Vec<Vec<u8>> = vec![
        Vec::new(),
        kept.as_bytes()[..kept.len() / 2].to_vec(),
        numbers.into_bytes(),
        huge.as_bytes().to_vec(),
        [&b"\xff\xfe"[..], kept.as_bytes()].concat(),
        vec![b'['; 1 << 20],
        vec![b' '; 3 << 20],
        b"{\"marks\": 5, \"places\": {\"a\": []}, \"screen\": [\"calls\"]}".to_vec(),
    ];
    for bytes in damaged {
        fs::write(&file, bytes).unwrap();
        open();
    }
    fs::remove_file(&file).unwrap();
    fifo(&file);
    open();
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    open();
}

#[test]
fn a_watched_filter_may_become_anything_and_nothing_of_it_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.expr");
    fs::write(&file, "api:cudaMallocManaged").unwrap();
    let arguments = ["open", recording().to_str().unwrap(), "--screen", "calls", "--filter", file.to_str().unwrap()];
    let mut terminal = Launch::umtui(arguments).size(160, 24).start();
    terminal.wait_for(&["ENDED", "& api:cudaMallocManaged"]);
    // Replaced, as editors do.
    let fresh = folder.path().join("fresh");
    fs::write(&fresh, "api:cudaLaunchKernel").unwrap();
    fs::rename(&fresh, &file).unwrap();
    terminal.wait_for(&["& api:cudaLaunchKernel"]);
    // Gone: what was read holds, and the screen answers.
    fs::remove_file(&file).unwrap();
    std::thread::sleep(Duration::from_millis(1200));
    terminal.keys("1");
    terminal.wait_for(&["time goes to", "& api:cudaLaunchKernel"]);
    terminal.keys("2");
    terminal.wait_for(&["by thread"]);
    for (make, said) in [
        (&(|| fs::create_dir(&file).unwrap()) as &dyn Fn(), "the filter stays"),
        (&|| fifo(&file), "the filter stays"),
        (&|| fs::write(&file, vec![b'x'; 3 << 20]).unwrap(), "the filter stays"),
        (&|| fs::write(&file, b"api:\xff\x1b[2J").unwrap(), "the filter stays"),
        (&|| fs::write(&file, "").unwrap(), "the filter stays"),
        (&|| fs::write(&file, "api:cudaFree").unwrap(), "& api:cudaFree"),
    ] {
        terminal.keys("jk");
        terminal.wait("no message", |text| !text.contains(said));
        make();
        terminal.wait_for(&[said]);
        let _ = fs::remove_dir(&file);
        let _ = fs::remove_file(&file);
    }
    let bytes = String::from_utf8(terminal.bytes()).unwrap();
    assert!(!bytes.chars().any(|char| !prints(char) && char != '\x1b'));
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));
}
