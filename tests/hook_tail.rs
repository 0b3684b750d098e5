//! A reader beside the program: how soon it sees a call on several file systems, and what it makes of a file that is cut
//! short or exchanged under it.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{LONG, again, faked, files, hooked, programs, report, wait_for};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use umtui::session::Session;
use umtui::session::handle::Handle as _;
use umtui::session::view::{Phase, Status, View, ViewRequest};

/// Nanoseconds of CLOCK_MONOTONIC.
fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A session whose answers are kept: when each came, and how the trace stood.
struct Reader {
    session: Session,
    answers: Arc<Mutex<Vec<(i64, Status)>>>,
}

impl Reader {
    fn open(path: &Path) -> Self {
        let answers = Arc::<Mutex<Vec<(i64, Status)>>>::default();
        let kept = answers.clone();
        let keep = Box::new(move |answer: umtui::session::view::Answer| {
            kept.lock().unwrap().push((now(), answer.status));
        });
        Self { session: Session::open(&[path.to_owned()], None, keep).unwrap(), answers }
    }

    fn ask(&self, id: u64) {
        self.session.ask(ViewRequest {
            id,
            view: View::Overview { rows: 20, columns: 80 },
            search: None,
            lens: Default::default(),
        });
    }

    /// Asks until the trace stands as wanted.
    fn until(&self, what: &str, pleases: impl Fn(&Status) -> bool) -> Status {
        let mut id = 0;
        wait_for(what, LONG, || {
            id += 1;
            self.ask(id);
            self.answers.lock().unwrap().last().is_some_and(|(_, status)| pleases(status))
        });
        self.answers.lock().unwrap().last().unwrap().1.clone()
    }

    /// Asks several times more, and returns the last answer.
    fn a_while_later(&self) -> Status {
        let before = self.answers.lock().unwrap().len();
        self.until("more answers", |_| true);
        for id in 0..30 {
            std::thread::sleep(Duration::from_millis(10));
            self.ask(1000 + id);
        }
        wait_for("answers", LONG, || self.answers.lock().unwrap().len() > before + 5);
        self.answers.lock().unwrap().last().unwrap().1.clone()
    }
}

/// The program ticking, recording into a folder.
struct Ticking {
    child: Child,
    /// It ends when this is closed.
    stdin: Option<ChildStdin>,
}

impl Ticking {
    fn start(programs: &Path, folder: &Path, calls: u64, pause: u64) -> Self {
        let mut command = hooked(folder, &faked(programs, "ticking", &[&calls.to_string(), &pause.to_string()]));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        Self { stdin: child.stdin.take(), child }
    }

    /// When its calls had returned.
    fn returned(&mut self, calls: usize) -> Vec<i64> {
        let lines = BufReader::new(self.child.stdout.take().unwrap()).lines();
        lines.take(calls).map(|line| line.unwrap().parse().unwrap()).collect()
    }

    fn end(mut self) {
        self.stdin.take();
        assert!(self.child.wait().unwrap().success());
    }
}

/// The middle and the largest lag, ms, from a call's return to its being in an answer to a screen.
fn lag(programs: &Path, folder: &Path) -> (i64, i64) {
    let calls = 12;
    fs::create_dir_all(folder).unwrap();
    let reader = Reader::open(folder);
    let mut ticking = Ticking::start(programs, folder, calls as u64, 130);
    let mut id = 0;
    wait_for("all calls seen", LONG, || {
        id += 1;
        reader.ask(id);
        reader.answers.lock().unwrap().last().is_some_and(|(_, status)| status.calls == calls as u64)
    });
    let answers = reader.answers.lock().unwrap().clone();
    let returned = ticking.returned(calls);
    ticking.end();
    let seen = |number: u64| answers.iter().find(|(_, status)| status.calls >= number).unwrap().0;
    let mut lags: Vec<i64> = (1..).zip(&returned).map(|(number, at)| (seen(number) - at) / 1_000_000).collect();
    lags.sort_unstable();
    (lags[calls / 2], lags[calls - 1])
}

/// A file system in a mount namespace of its own, seen through /proc; gone with this.
struct Mounted {
    holder: Child,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Mounted {
    fn new(script: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        for name in ["lower", "upper", "work", "at"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let script = format!("cd \"$1\" && {script} && echo mounted && exec sleep 600");
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script, "sh"]).arg(folder.path());
        let mut holder = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut line = String::new();
        let _ = BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line);
        let path = PathBuf::from(format!("/proc/{}/root{}", holder.id(), folder.path().join("at").display()));
        let mounted = Self { path, _folder: folder, holder };
        (line == "mounted\n").then_some(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

#[test]
fn a_call_is_seen_within_two_hundred_milliseconds_on_disk_tmpfs_and_overlayfs() {
    let Some(programs) = programs() else { return };
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let tmpfs = Mounted::new("mount -t tmpfs none at");
    let overlay = Mounted::new(
        "mount -t tmpfs none work && mkdir work/u work/w && mount -t overlay -o lowerdir=lower,upperdir=work/u,workdir=work/w none at",
    );
    let places =
        [("disk", Some(disk.path().to_owned())), ("tmpfs", tmpfs.as_ref().map(|mounted| mounted.path.clone()))];
    for (name, place) in places.into_iter().chain([("overlayfs", overlay.as_ref().map(|mounted| mounted.path.clone()))])
    {
        let Some(place) = place else {
            eprintln!("skipped: no {name} can be mounted");
            continue;
        };
        let (middle, largest) = lag(programs, &place.join("run"));
        println!("{name}: {middle} ms in the middle, {largest} ms at most");
        assert!(middle < 200, "{name}: {middle} ms in the middle, {largest} ms at most");
    }
}

#[test]
fn a_call_is_seen_as_soon_where_the_system_tells_of_no_changes() {
    // As on network file systems. In a user namespace of its own, in which there is no inotify, this test runs again.
    const WITHIN: &str = "UMTUI_TEST_WITHOUT_INOTIFY";
    let Some(programs) = programs() else { return };
    if std::env::var_os(WITHIN).is_some() {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        assert!(!umtui::source::Watch::new().add(folder.path()), "it is told of changes");
        let (middle, largest) = lag(programs, &folder.path().join("run"));
        assert!(middle < 200, "{middle} ms in the middle, {largest} ms at most");
        println!("without inotify: {middle} ms in the middle, {largest} ms at most");
        return;
    }
    let script = r#"echo 0 >/proc/sys/user/max_inotify_instances || exit 99; exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(["-U", "-r", "sh", "-c", script, "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "a_call_is_seen_as_soon_where_the_system_tells_of_no_changes", "--nocapture"]);
    let Ok(output) = command.env(WITHIN, "1").output() else {
        eprintln!("skipped: no unshare");
        return;
    };
    let (status, stdout, stderr) = common::outcome(&output);
    if status == 99 || stderr.contains("unshare") {
        eprintln!("skipped: no namespace without inotify: {stderr}");
        return;
    }
    assert!(status == 0 && stdout.contains("without inotify: "), "{stdout}{stderr}");
}

#[test]
fn a_file_that_is_cut_short_or_exchanged_keeps_what_was_read() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut ticking = Ticking::start(programs, &run, 20, 1);
    ticking.returned(20);
    // Copies, since whoever cuts the file that a program writes ends that program. Their writer is alive, so they are
    // looked at again and again.
    let original = fs::read(&files(&run, "umt")[0]).unwrap();
    for how in ["cut", "emptied", "exchanged", "overwritten", "removed"] {
        let path = folder.path().join(format!("{how}.umt"));
        fs::write(&path, &original).unwrap();
        let reader = Reader::open(&path);
        let before = reader.until("all calls", |status| status.calls == 20);
        assert_eq!(before.phase, Phase::Live, "{how}");
        let file = || fs::OpenOptions::new().write(true).open(&path).unwrap();
        match how {
            "cut" => file().set_len(original.len() as u64 / 2).unwrap(),
            "emptied" => file().set_len(0).unwrap(),
            "exchanged" => {
                let beside = path.with_extension("new");
                fs::write(&beside, &original[..70_000]).unwrap();
                fs::rename(beside, &path).unwrap();
            }
            "overwritten" => fs::write(&path, b"something else, and shorter").unwrap(),
            _ => fs::remove_file(&path).unwrap(),
        }
        let after = reader.a_while_later();
        assert_eq!(after.calls, 20, "{how}: {after:?}");
    }
    ticking.end();
    // The program's own file is whole.
    assert_eq!(common::calls(&report(&[&run]), "cuDriverGetVersion"), 20);
}

#[test]
fn rotated_files_are_read_once_each_whatever_they_are_called() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (run, other) = (folder.path().join("run"), folder.path().join("other"));
    let _ = common::run(again(&hooked(&other, &faked(programs, "loop", &["7"]))));
    let mut ticking = Ticking::start(programs, &run, 20, 1);
    ticking.returned(20);
    let reader = Reader::open(&run);
    reader.until("all calls", |status| status.calls == 20);
    // As a rotation does: away with it, and another in its place.
    let path = files(&run, "umt")[0].clone();
    fs::rename(&path, path.with_extension("old")).unwrap();
    fs::rename(&files(&other, "umt")[0], &path).unwrap();
    let after = reader.until("the second file's calls", |status| status.calls > 20);
    assert_eq!((after.calls, after.damage), (27, None));
    assert_eq!(reader.a_while_later().calls, 27, "the first is not read again under its new name");
    ticking.end();
}
