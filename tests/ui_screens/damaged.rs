//! Recordings with bytes changed anywhere, on every screen at odd widths: read by a real session, walked through, and
//! nothing but text reaches the terminal.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use umtui::session::Session;
use umtui::session::handle::{Child, Handle};
use umtui::session::safe::prints;
use umtui::session::view::{Answer, ViewRequest};
use umtui::ui::ScreenId;
use umtui::ui::event_loop::{EventLoop, Message};
use umtui::ui::setup::Setup;
use umtui::ui::term::backend::FrameBackend;
use umtui::ui::theme::{Charset, Depth};

use crate::fixture::{FakeHost, Said, Stage, fixed, theme};
use crate::hostile::{Kept, without_frames};

/// Longest wait for an answer; one that never comes is a failure.
const DEADLINE: Duration = Duration::from_secs(30);
/// Damaged files that are tried.
const CASES: u32 = 24;
/// Widths and heights of the terminals.
const SIZES: [(u16, u16); 6] = [(31, 9), (57, 13), (80, 24), (83, 25), (121, 33), (199, 51)];
/// Every screen and what can be opened over it. Keys that mean nothing where no such screen is do no harm.
const WALK: &str = "1 j R Enter 2 E j j Enter d Esc Esc t j t j t G t t i g f C j d Esc 3 j Enter Esc 4 j l Enter Esc 5 j \
                    Enter Esc 6 j j Enter Esc G Enter Esc c f Esc C Esc R 0 v j Enter Backspace @ @ m 4 5 6 ' Esc 9 j ? G Esc";
const TYPED: [(&str, &str); 3] = [("/", "cu"), ("&", "-kind:copy -range:* dur>=1us"), (":", "1us")];

/// A session that is waited for, so that a story needs no time.
struct Waiting {
    session: Session,
    answers: Mutex<Receiver<Answer>>,
    to: std::sync::mpsc::Sender<Message>,
}

impl Handle for Waiting {
    fn ask(&self, request: ViewRequest) {
        let id = request.id;
        self.session.ask(request);
        let answers = self.answers.lock().unwrap();
        loop {
            let answer = answers.recv_timeout(DEADLINE).expect("an answer");
            let newest = answer.id >= id;
            let _ = self.to.send(Message::Answer(Box::new(answer)));
            if newest {
                return;
            }
        }
    }
    fn child(&self) -> Option<Child> {
        self.session.child()
    }
    fn detach(&self) {}
    fn terminate(&self) {}
}

/// A stage on which a real trace is shown.
fn stage(path: &Path, kept: Kept, (width, height): (u16, u16)) -> Stage<FrameBackend<Kept>> {
    let (messages, received) = channel();
    let (answers, answered) = channel();
    let session = Session::open(&[path.to_owned()], None, Box::new(move |answer| drop(answers.send(answer))));
    let session = session.expect("a file of ours, however damaged");
    let handle: Box<dyn Handle> = Box::new(Waiting { session, answers: Mutex::new(answered), to: messages.clone() });
    let setup = Setup {
        continuations: Duration::ZERO,
        ..Setup::new(theme(Depth::Ansi16, Charset::Unicode), ScreenId::Overview)
    };
    let terminal = fixed(FrameBackend::new(kept), width, height);
    let host = FakeHost::default();
    let handle = Arc::new(Mutex::new(handle));
    let event_loop = EventLoop::new(terminal, host.clone(), handle, received, setup, Duration::ZERO).expect("a loop");
    let mut stage = Stage { event_loop, messages, said: Arc::new(Mutex::new(Said::default())), host };
    assert_eq!(stage.event_loop.settle().expect("settle"), None);
    stage
}

/// Walks through all screens of a recording.
fn walk(path: &Path, size: (u16, u16)) {
    let kept = Kept::default();
    let mut stage = stage(path, kept.clone(), size);
    let begun = Instant::now();
    assert_eq!(stage.press(WALK), None);
    for (keys, text) in TYPED {
        for screen in ["2", "6"] {
            assert_eq!(stage.press(&format!("{screen} {keys}")), None);
            stage.type_text(text);
            assert_eq!(stage.press("Enter Enter n N"), None);
        }
    }
    assert!(begun.elapsed() < DEADLINE, "{:?}", begun.elapsed());
    let text = without_frames(&kept.0.lock().unwrap());
    let bad = text.chars().find(|c| !prints(*c));
    assert_eq!(bad, None, "{size:?}");
}

/// Recordings as they are: one from an H200, and those of the demo with kernels, ranges and migrations in them.
fn recordings() -> &'static [Vec<u8>] {
    static RECORDINGS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    RECORDINGS.get_or_init(|| {
        let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-driver.umt");
        let mut all = vec![std::fs::read(data).unwrap()];
        for scenario in ["training", "pingpong"] {
            let folder = tempfile::tempdir().unwrap();
            let run = folder.path().join("run");
            let mut demo = std::process::Command::new(env!("CARGO_BIN_EXE_umtui"));
            let rounds = ["--", "--rounds", "2"];
            let done = demo.args(["demo", scenario, "--report", "-o"]).arg(&run).args(rounds).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            let files = std::fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path());
            let file = files.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "umt")).unwrap();
            all.push(std::fs::read(file).unwrap());
        }
        all
    })
}

/// Changes bytes, most of them where something stands, and perhaps cuts the end off. The first bytes say what file it
/// is.
fn damage(
    mut bytes: Vec<u8>,
    changes: &[(prop::sample::Index, u8, bool)],
    cut: Option<prop::sample::Index>,
) -> Vec<u8> {
    let written: Vec<usize> = (8..bytes.len()).filter(|&at| bytes[at] != 0).collect();
    for (at, with, anywhere) in changes {
        let at = if *anywhere { 8 + at.index(bytes.len() - 8) } else { written[at.index(written.len())] };
        bytes[at] = *with;
    }
    if let Some(cut) = cut {
        bytes.truncate(4096 + cut.index(bytes.len() - 4096));
    }
    bytes
}

#[test]
fn whole_recordings_are_walked_through() {
    for (number, bytes) in recordings().iter().enumerate() {
        let file = tempfile::Builder::new().suffix(".umt").tempfile().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        walk(file.path(), SIZES[number + 2]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, max_shrink_iters: 50, ..ProptestConfig::default() })]
    #[test]
    fn damaged_recordings_are_walked_through(
        which in 0..3_usize,
        changes in proptest::collection::vec(
            (any::<prop::sample::Index>(), prop_oneof![any::<u8>(), Just(0xff), Just(0x1b), Just(0)], prop::bool::weighted(0.1)),
            1..60,
        ),
        cut in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
        size in 0..SIZES.len(),
    ) {
        let bytes = damage(recordings()[which].clone(), &changes, cut);
        let file = tempfile::Builder::new().suffix(".umt").tempfile().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        walk(file.path(), SIZES[size]);
    }
}
