//! What the tests of streams share: FIFOs, recorders that write into them, and readers.
#![allow(dead_code, reason = "each test uses its part")]

use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;

use umtui_wire::frame::{self, FrameHeader};
use zerocopy::FromBytes as _;

use crate::common::UMTUI;

/// A FIFO.
pub struct Fifo(PathBuf);

impl Fifo {
    /// Makes one.
    pub fn new(folder: &Path, name: &str) -> Self {
        let path = folder.join(name);
        let c_path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: a C string that lives until mkfifo returns.
        assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Opens it for reading, when somebody writes.
    pub fn open(&self) -> File {
        File::open(&self.0).unwrap()
    }

    /// Likewise, in a thread.
    pub fn open_later(&self) -> Later {
        let path = self.0.clone();
        Later(Some(std::thread::spawn(move || File::open(path).unwrap())))
    }

    /// Keeps a writer's end open, so that readers see no end before it is dropped. Waits for a reader.
    pub fn hold(&self) -> File {
        File::options().write(true).open(&self.0).unwrap()
    }
}

/// A FIFO that is being opened.
pub struct Later(Option<JoinHandle<File>>);

impl Later {
    /// Waits until it is open.
    pub fn take_open(&mut self) -> File {
        self.0.take().unwrap().join().unwrap()
    }
}

/// `umtui demo`, with options before the workload's own arguments.
pub fn demo(options: &[&str], workload: &[&str]) -> Command {
    let mut command = Command::new(UMTUI);
    command.arg("demo").arg(workload[0]).args(options).arg("--").args(&workload[1..]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).env_remove("LD_PRELOAD");
    command
}

/// The demo's program under `umtui record -o FIFO`.
pub fn stress_command(fifo: &Path, options: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new(UMTUI);
    command.args(["record", "-o"]).arg(fifo).args(options).arg("--");
    command.arg(Path::new(crate::common::GUEST).join("umtui-demo")).arg("stress").args(arguments);
    command.env("LD_LIBRARY_PATH", crate::common::GUEST).env_remove("LD_PRELOAD");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts it.
pub fn stress(fifo: &Path, options: &[&str], arguments: &[&str]) -> Child {
    stress_command(fifo, options, arguments).spawn().unwrap()
}

/// A program that was recorded into a pipe, and what came out of it.
pub struct Through {
    pub program: Output,
    pub stream: Vec<u8>,
    pub report: serde_json::Value,
}

/// `umtui record -o - -- PROGRAM | umtui report -`.
pub fn through(program: &Command, options: &[&str]) -> Through {
    let mut command = Command::new(UMTUI);
    command.args(["record", "-o", "-"]).args(options).arg("--").arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null());
    let output = crate::common::run(command);
    let stream = output.stdout.clone();
    let report = report_bytes(&stream);
    Through { program: output, stream, report }
}

/// A report that is being made.
pub struct Reporting(Child);

impl Reporting {
    /// Waits for it.
    pub fn report(self) -> serde_json::Value {
        let output = self.0.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", told(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Begins `umtui report PATH`.
pub fn report_of(path: &Path) -> Reporting {
    let mut command = Command::new(UMTUI);
    command.args(["report", "--format", "json"]).arg(path);
    Reporting(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// `umtui COMMAND` with these bytes on standard input.
fn with_stdin(arguments: &[&str], bytes: &[u8]) -> Output {
    let mut child = Command::new(UMTUI)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // It may end before it has read everything.
    let writer = std::thread::spawn(move || _ = stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// `umtui report -` of these bytes.
pub fn report_command(bytes: &[u8]) -> Output {
    with_stdin(&["report", "-", "--format", "json"], bytes)
}

/// The report of what comes through a pipe in pieces of so many bytes.
pub fn report_pieces(bytes: &[u8], pieces: usize) -> serde_json::Value {
    let mut command = Command::new(UMTUI);
    command.args(["report", "-", "--format", "json"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for piece in bytes.chunks(pieces) {
        // It may end before it has read everything.
        if stdin.write_all(piece).is_err() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Its report.
pub fn report_bytes(bytes: &[u8]) -> serde_json::Value {
    let output = report_command(bytes);
    assert!(output.status.success(), "{}", told(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// These bytes as text, one event a line.
pub fn text_bytes(bytes: &[u8]) -> String {
    let output = with_stdin(&["export", "-", "--format", "text"], bytes);
    assert!(output.status.success(), "{}", told(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// What it said.
pub fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The number after these words.
pub fn number_before(text: &str, words: &str) -> u64 {
    let at = text.find(words).unwrap_or_else(|| panic!("no {words:?} in {text}")) + words.len();
    let digits: String = text[at..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// A frame of a stream.
pub struct Seen {
    pub bytes: usize,
    pub events: u32,
}

/// The whole frames at the beginning of a stream.
pub fn frames(stream: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut rest = stream;
    while let Ok((header, _)) = FrameHeader::read_from_prefix(rest) {
        let bytes = usize::from(header.bytes);
        assert_eq!(header.magic, frame::MAGIC, "frames follow one another");
        if rest.len() < bytes {
            break;
        }
        let mut events = 0;
        if header.kind == frame::KIND_EVENTS {
            let first = frame::HEADER_BYTES + size_of::<frame::EventsPart>();
            let mut records = &rest[first..bytes];
            while let Ok((word, _)) = u64::read_from_prefix(records) {
                let head = umtui_wire::record::Head::from_word(word);
                events += u32::from(frame::is_event(head.kind));
                records = &records[48 * (1 + usize::from(head.extra))..];
            }
        }
        seen.push(Seen { bytes, events });
        rest = &rest[bytes..];
    }
    seen
}

/// Events in them.
pub fn events_of(stream: &[u8]) -> u64 {
    frames(stream).iter().map(|frame| u64::from(frame.events)).sum()
}

/// Child processes that run.
pub fn children(pid: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let runs = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    children.split_whitespace().map(|pid| pid.parse().unwrap()).filter(runs).collect()
}

/// Private folders of recorders.
pub fn folders(base: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(base).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().unwrap().as_bytes().starts_with(b"umtui-stream-")).collect()
}
