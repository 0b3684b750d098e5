//! What the tests with real programs share: the compiled C programs, and running them with and without the hook.
#![allow(dead_code, reason = "each test uses its part")]

pub mod elf;
pub mod event;

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The umtui binary.
pub const UMTUI: &str = env!("CARGO_BIN_EXE_umtui");
/// Folder of the hook and the stand-in libraries.
pub const GUEST: &str = env!("UMTUI_GUEST");
/// The hook itself.
pub const HOOK: &str = concat!(env!("UMTUI_GUEST"), "/libumtui_hook.so");
/// How long anything may take on a slow machine.
pub const LONG: Duration = Duration::from_secs(60);

/// The folder of the compiled C programs, made once; `None` and a message where there is no C compiler.
pub fn programs() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c");
        std::fs::create_dir_all(&out).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/build.sh");
        // Test binaries may run at the same time.
        let built = Command::new("flock").arg(out.join(".lock")).arg("sh").arg(script).arg(&out).arg(GUEST).output();
        let built = built.expect("flock and sh can be run");
        if Command::new("cc").arg("--version").output().is_err() {
            eprintln!("skipped: no C compiler (cc)");
            return None;
        }
        assert!(built.status.success(), "building tests/c: {}", String::from_utf8_lossy(&built.stderr));
        Some(out)
    });
    folder.as_deref()
}

/// A program of tests/c with arguments, finding the stand-in libraries.
pub fn program(folder: &Path, name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(folder.join(name));
    command.args(arguments).env("LD_LIBRARY_PATH", format!("{GUEST}:{}", folder.display())).stdin(Stdio::null());
    // The tests may themselves run under a recording.
    for name in ["LD_PRELOAD", "UMTUI_OUT", "UMTUI_MAX_BYTES", "UMTUI_CLOCK"] {
        command.env_remove(name);
    }
    command
}

/// A program of tests/c on the driver of libfake.c.
pub fn faked(folder: &Path, name: &str, arguments: &[&str]) -> Command {
    let mut command = program(folder, name, arguments);
    command.env("LD_LIBRARY_PATH", folder.join("fake"));
    command
}

/// A copy of a command.
pub fn again(command: &Command) -> Command {
    copy(command, Command::new(command.get_program()), &[])
}

fn copy(command: &Command, mut to: Command, before: &[&OsStr]) -> Command {
    to.args(before).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
    to.stdin(Stdio::null());
    to
}

/// `umtui record -o FOLDER -- PROGRAM`, with the same environment.
pub fn recorded(folder: &Path, command: &Command) -> Command {
    let before = ["record".as_ref(), "-o".as_ref(), folder.as_os_str(), "--".as_ref(), command.get_program()];
    copy(command, Command::new(UMTUI), &before)
}

/// The program itself with the hook loaded and a folder (made here) to record into: as [`recorded`], but our own child.
pub fn hooked(folder: &Path, command: &Command) -> Command {
    std::fs::create_dir_all(folder).unwrap();
    let mut command = again(command);
    command.env("LD_PRELOAD", HOOK).env("UMTUI_OUT", folder);
    command
}

/// Runs a command to its end, which must come.
pub fn run(command: Command) -> Output {
    let mut command = command;
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        let late = ended.recv_timeout(LONG) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if late {
            signal(pid, 9);
        }
        late
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    assert!(!guard.join().unwrap(), "{command:?} did not end within {LONG:?}: {output:?}");
    output
}

/// Sends a signal to a process that we have started and not yet waited for.
pub fn signal(pid: u32, signal: i32) {
    // SAFETY: a signal to a process id; at worst there is none of that id.
    unsafe { libc::kill(pid.cast_signed(), signal) };
}

/// The report of recordings, as JSON.
pub fn report(paths: &[&Path]) -> serde_json::Value {
    let output = Command::new(UMTUI).args(["report", "--format", "json"]).args(paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The report of recordings, as it is read by people.
pub fn report_text(paths: &[&Path]) -> String {
    let output = Command::new(UMTUI).arg("report").args(paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The recording as text, one event a line.
pub fn text(path: &Path) -> String {
    let output = Command::new(UMTUI).args(["export", "--format", "text"]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Calls of a function in a report, with any stream suffix.
pub fn calls(report: &serde_json::Value, name: &str) -> u64 {
    sum(report, name, "calls")
}

/// How many calls of the driver of libfake.c the hook has made itself: it asks for the version once, after the first call
/// that initialises the driver or hands over work.
pub fn asked_by_hook(report: &serde_json::Value) -> u64 {
    u64::from(calls(report, "cuInit") + calls(report, "cuLaunchKernel") > 0)
}

/// A number of a function in a report, with any stream suffix.
pub fn sum(report: &serde_json::Value, name: &str, key: &str) -> u64 {
    let apis = report["apis"].as_array().unwrap();
    let base = |name: &str| name.trim_end_matches("_ptsz").trim_end_matches("_ptds").to_owned();
    apis.iter().filter(|api| base(api["name"].as_str().unwrap()) == name).map(|api| api[key].as_u64().unwrap()).sum()
}

/// Calls of each function of a layer.
pub fn counts(report: &serde_json::Value, layer: &str) -> std::collections::BTreeMap<String, u64> {
    let apis = report["apis"].as_array().unwrap().iter().filter(|api| api["layer"] == layer);
    apis.map(|api| (api["name"].as_str().unwrap().to_owned(), api["calls"].as_u64().unwrap())).collect()
}

/// All calls of a layer in a report.
pub fn layer(report: &serde_json::Value, layer: &str) -> u64 {
    counts(report, layer).values().sum()
}

/// All failed calls of a report.
pub fn failed(report: &serde_json::Value) -> u64 {
    report["apis"].as_array().unwrap().iter().map(|api| api["failed"].as_u64().unwrap()).sum()
}

/// What is said to be lost.
pub fn lost(report: &serde_json::Value) -> u64 {
    report["trace"]["lost"].as_u64().unwrap()
}

/// Status as a shell counts it: 128 + n for signal n.
pub fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap())
}

/// What the program itself put out: status, stdout, and stderr without our own lines.
pub fn outcome(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let stderr =
        text(&output.stderr).lines().filter(|line| !line.starts_with("umtui: ")).collect::<Vec<_>>().join("\n");
    (status(output), text(&output.stdout), stderr)
}

/// The number that follows these words in what a program has printed.
pub fn number_after(text: &str, words: &str) -> u64 {
    let rest = text.split_once(words).unwrap_or_else(|| panic!("no {words:?} in {text:?}")).1;
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Waits for a condition, at most this long.
pub fn wait_for(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < limit, "{what} did not happen within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Files with this ending in a folder; none if there is no such folder.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension() == Some(OsStr::new(extension))).collect();
    files.sort();
    files
}
