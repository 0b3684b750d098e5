//! The overview where a file would not show it.

use super::*;
use crate::graph::tests::twin::Program;
use crate::session::overview::{Surroundings, trouble};
use crate::session::view::Overview;
use crate::trace::{ApiId, OpenCall, SiteId, State};
use std::time::Duration;

fn overview(model: &mut Model, silent: u64, why: Option<&str>) -> Overview {
    let around = Surroundings {
        is_alive: &|_| true,
        is_removed: &|_| false,
        live: true,
        now_ns: 5_000_000_000,
        silent: Duration::from_secs(silent),
        why_silent: why.map(str::to_owned),
        recording: None,
        readings: Vec::new(),
    };
    model.overview(24, 80, &around)
}

#[test]
fn silence_is_explained_after_three_seconds() {
    let mut nothing = Model::default();
    assert_eq!(overview(&mut nothing, 2, None).silence, None);
    let why = overview(&mut nothing, 3, None).silence.unwrap();
    assert!(why.contains("no CUDA call yet") && why.contains("LD_PRELOAD"), "{why}");
    let why = overview(&mut nothing, 9, Some("the program is \u{1b}static")).silence.unwrap();
    assert_eq!(why, "no CUDA call yet after 9 s: the program is \\x1bstatic");
}

#[test]
fn the_call_that_runs_longest_is_named() {
    let open = |start_ns, depth, api| OpenCall { api: ApiId(api), start_ns, site: SiteId(0), depth, registers: [0; 3] };
    let open = vec![vec![open(3_000_000_000, 0, 1)], vec![open(1_000_000_000, 0, 0), open(1_000_000_100, 1, 2)]];
    let mut model = model_of(&Program { ended: vec![Vec::new(); 2], open, lossy: false });
    let overview = overview(&mut model, 4, None);
    assert_eq!(overview.running, Some(("api0".into(), "thread 1001".into(), 4_000_000_000)));
    assert!(overview.silence.unwrap().contains("3 still running"));
}

#[test]
fn what_ended_a_recording_early_is_said() {
    let trouble = |state, alive| trouble(&Process { state, max_bytes: 1 << 30, ..Process::default() }, alive);
    assert_eq!(trouble(State::Ended, false), None);
    assert_eq!(trouble(State::Recording, true), None);
    let late = Process { missed: 7, state: State::Killed, ..Process::default() };
    let text = super::super::overview::trouble(&late, false).unwrap();
    assert!(text.contains("7 events before") && text.contains("killed"), "{text}");
    assert!(trouble(State::Killed, false).unwrap().contains("killed"));
    let written = |state, alive| {
        let process = Process { state, unwritten: true, ..Process::default() };
        super::super::overview::trouble(&process, alive).unwrap_or_default().contains("had not got by then")
    };
    // A file from elsewhere does not say whether its process runs: neither then is it whole.
    let states = [(State::Killed, false), (State::Recording, false), (State::Recording, true), (State::Ended, false)];
    assert_eq!(states.map(|(state, alive)| written(state, alive)), [true, true, false, false]);
    assert!(trouble(State::Full, true).unwrap().contains("1 GiB"));
    assert!(trouble(State::Failed(28), true).unwrap().contains("No space left"));
}

#[test]
fn processes_whose_files_vanish_stay_and_are_named_and_those_that_come_are_taken_in() {
    use super::files::write_run;
    use crate::session::engine::Engine;
    use crate::session::view::{Body, View, ViewRequest};
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir().unwrap();
    let path = |pid: u32| folder.path().join(format!("{pid}.umt"));
    write_run(&path(40), 40);
    write_run(&path(50), 50);
    let mut engine = Engine::new(&[folder.path().to_owned()], None, crate::symbols::Symbols::default()).unwrap();
    let mut until = |pleases: &dyn Fn(&Overview) -> bool| {
        let limit = Instant::now() + Duration::from_secs(20);
        loop {
            engine.step(Instant::now() + Duration::from_millis(4));
            let request = ViewRequest {
                id: 1,
                view: View::Overview { rows: 24, columns: 80 },
                search: None,
                lens: Default::default(),
            };
            let (answer, _) = engine.answer(&request, Instant::now() + Duration::from_secs(1));
            let Body::Overview(overview) = answer.body else { panic!() };
            if pleases(&overview) {
                return overview;
            }
            assert!(Instant::now() < limit, "{overview:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let all = |overview: &Overview| overview.processes.iter().map(|process| process.calls).sum::<u64>();
    until(&|overview| all(overview) == 48 && overview.processes.iter().all(|process| !process.removed));
    std::fs::remove_file(path(40)).unwrap();
    let overview = until(&|overview| overview.processes.iter().any(|process| process.removed));
    assert_eq!((overview.process_count, all(&overview)), (2, 48));
    let removed: Vec<u32> = overview.processes.iter().filter(|one| one.removed).map(|one| one.pid).collect();
    assert_eq!(removed, [40]);
    write_run(&path(60), 60);
    until(&|overview| overview.process_count == 3 && all(overview) == 72 && overview.standing.ended == 3);
    // Even the folder may go.
    std::fs::remove_dir_all(folder.path()).unwrap();
    let overview = until(&|overview| overview.processes.iter().all(|process| process.removed));
    assert_eq!((overview.process_count, all(&overview)), (3, 72));
}

#[test]
fn of_many_processes_the_busiest_are_shown_with_those_above_them() {
    let mut trace = Trace::default();
    trace.api_of("api", crate::trace::Layer::Driver, crate::trace::Signature::default());
    for pid in 0..2000u32 {
        let process = Process {
            pid,
            parent_pid: if pid < 2 { 9999 } else { 1 },
            start_time: u64::from(pid),
            ..Process::default()
        };
        trace.add_process(process).unwrap();
    }
    let busy = trace.track_of(ProcessId(1500), 1);
    let call = crate::trace::Call {
        start_ns: 5,
        duration_ns: 1,
        api: ApiId(0),
        site: SiteId(0),
        stream: crate::trace::StreamId::NONE,
        device: crate::trace::NO_DEVICE,
        depth: 0,
        flags: crate::trace::CallFlags::default(),
        extra: 0,
    };
    trace.tracks[busy.index()].push(call, 0);
    let mut model = Model::default();
    model.trace = trace;
    let overview = overview(&mut model, 0, None);
    let rows: Vec<_> = overview.processes.iter().map(|row| (row.pid, row.depth)).collect();
    assert_eq!(rows[..3], [(0, 0), (1, 0), (2, 1)], "{rows:?}");
    assert!(rows.contains(&(1500, 1)) && rows.len() == 12, "{rows:?}");
    assert_eq!((overview.process_count, overview.standing.running), (2000, 2000));
}
