//! What the tests with real programs share: the compiled C programs, and running them with and without the hook.
#![allow(dead_code, reason = "each test uses its part")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The umtui binary.
pub const UMTUI: &str = env!("CARGO_BIN_EXE_umtui");
/// Folder of the hook and the stand-in libraries.
pub const GUEST: &str = env!("UMTUI_GUEST");

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
    command
}

/// `umtui record -o FOLDER -- PROGRAM`, with the same environment.
pub fn recorded(folder: &Path, command: &Command) -> Command {
    let mut record = Command::new(UMTUI);
    record.arg("record").arg("-o").arg(folder).arg("--").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => record.env(name, value),
            None => record.env_remove(name),
        };
    }
    record.stdin(Stdio::null());
    record
}

/// The report of recordings, as JSON.
pub fn report(paths: &[&Path]) -> serde_json::Value {
    let output = Command::new(UMTUI).args(["report", "--format", "json"]).args(paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The recording as text, one event a line.
pub fn text(path: &Path) -> String {
    let output = Command::new(UMTUI).args(["export", "--format", "text"]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Calls of a function in a report, with any stream suffix.
pub fn calls(report: &serde_json::Value, name: &str) -> u64 {
    let apis = report["apis"].as_array().unwrap();
    let base = |name: &str| name.trim_end_matches("_ptsz").trim_end_matches("_ptds").to_owned();
    apis.iter().filter(|api| base(api["name"].as_str().unwrap()) == name).map(|api| api["calls"].as_u64().unwrap()).sum()
}

/// All calls of a layer in a report.
pub fn layer(report: &serde_json::Value, layer: &str) -> u64 {
    let apis = report["apis"].as_array().unwrap();
    apis.iter().filter(|api| api["layer"] == layer).map(|api| api["calls"].as_u64().unwrap()).sum()
}

/// What the program itself put out: status, stdout, and stderr without our own lines.
pub fn outcome(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let stderr = text(&output.stderr).lines().filter(|line| !line.starts_with("umtui: ")).collect::<Vec<_>>().join("\n");
    (output.status.code(), text(&output.stdout), stderr)
}

/// Waits for a condition, at most this long.
pub fn wait_for(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < limit, "{what} did not happen within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Files with this ending in a folder.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension() == Some(OsStr::new(extension))).collect();
    files.sort();
    files
}
