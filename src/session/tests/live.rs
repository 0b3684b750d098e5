//! Sessions with their thread.

use super::files::write_run;
use crate::session::handle::{Child, Handle};
use crate::session::view::*;
use crate::session::{ChildControl, Output, Session};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A program that runs until it is told to end.
struct Fake {
    ended: Arc<AtomicBool>,
    detached: Arc<AtomicBool>,
    output: Output,
}

impl ChildControl for Fake {
    fn poll(&mut self) -> Child {
        if self.ended.load(Ordering::SeqCst) { Child::Ended { status: 130 } } else { Child::Running { pid: 77 } }
    }

    fn detach(&mut self) {
        self.detached.store(true, Ordering::SeqCst);
    }

    fn terminate(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    fn output(&self) -> Option<Output> {
        Some(self.output.clone())
    }
}

/// Asks until an answer pleases.
fn ask(session: &Session, answers: &Receiver<Answer>, view: &View, pleases: impl Fn(&Answer) -> bool) -> Answer {
    let until = Instant::now() + Duration::from_secs(20);
    let mut id = 0;
    loop {
        id += 1;
        session.ask(ViewRequest { id, view: view.clone(), search: None, lens: Default::default() });
        while let Ok(answer) = answers.recv_timeout(Duration::from_millis(200)) {
            if answer.id == id {
                if pleases(&answer) {
                    return answer;
                }
                break;
            }
        }
        assert!(Instant::now() < until, "no answer that pleases");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_child_is_followed_from_before_its_first_call_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let (out, err) = (folder.path().join("stdout"), folder.path().join("stderr"));
    let (ended, detached) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let output = Output { stdout: out.clone(), stderr: Some(err) };
    let child = Fake { ended: ended.clone(), detached: detached.clone(), output };
    let (sender, answers) = channel();
    let callback = Box::new(move |answer| {
        let _ = sender.send(answer);
    });
    let run = folder.path().to_owned();
    let session = Session::open(std::slice::from_ref(&run), Some(Box::new(child)), callback).unwrap();

    let overview = View::Overview { rows: 20, columns: 80 };
    let answer = ask(&session, &answers, &overview, |answer| answer.status.phase == Phase::Live);
    assert_eq!((answer.status.calls, answer.status.name.as_str()), (0, "process 77"));
    assert_eq!(session.child(), Some(Child::Running { pid: 77 }));

    write_run(&run.join("testhost-40.umt"), 40);
    let answer = ask(&session, &answers, &overview, |answer| answer.status.calls == 24);
    let Body::Overview(rows) = answer.body else { panic!() };
    assert_eq!(rows.processes[0].program, "solver");
    assert_eq!(rows.recording, Some(run.display().to_string()));

    writeln!(std::fs::File::create(out).unwrap(), "hello").unwrap();
    let view = View::Output(OutputRequest { first: 0, rows: 5 });
    ask(&session, &answers, &view, |answer| match &answer.body {
        Body::Output(rows) => rows.lines == [(false, "hello".to_owned())],
        _ => false,
    });

    session.detach();
    session.terminate();
    let answer = ask(&session, &answers, &overview, |answer| answer.status.phase == Phase::Ended);
    assert_eq!((answer.status.exit, answer.status.calls_per_second), (Some(130), None));
    assert!(detached.load(Ordering::SeqCst) && ended.load(Ordering::SeqCst));
    drop(session);
    // The names were kept: none here, since there is no such program, but the file is there.
    assert!(run.join(crate::symbols::SIDE_FILE).exists());
}

#[test]
fn the_newest_question_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.umt");
    write_run(&file, 40);
    let (sender, answers) = channel();
    let callback = Box::new(move |answer: Answer| {
        let _ = sender.send(answer.id);
    });
    let session = Session::open(&[file], None, callback).unwrap();
    for id in 1..=1000 {
        session.ask(ViewRequest {
            id,
            view: View::Overview { rows: 20, columns: 80 },
            search: None,
            lens: Default::default(),
        });
    }
    let mut seen = Vec::new();
    while seen.last() != Some(&1000) {
        seen.push(answers.recv_timeout(Duration::from_secs(20)).unwrap());
    }
    assert!(seen.is_sorted());
    assert!(seen.len() < 1000);
}

#[test]
fn where_no_process_was_seen_yet_one_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, answers) = channel();
    let callback = Box::new(move |answer| {
        let _ = sender.send(answer);
    });
    let session = Session::open(&[folder.path().to_owned()], None, callback).unwrap();
    let overview = View::Overview { rows: 20, columns: 80 };
    ask(&session, &answers, &overview, |answer| answer.status.phase == Phase::Waiting);
    write_run(&folder.path().join("testhost-40.umt"), 40);
    ask(&session, &answers, &overview, |answer| (answer.status.phase, answer.status.calls) == (Phase::Ended, 24));
}
