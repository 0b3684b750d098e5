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
        live: true,
        now_ns: 5_000_000_000,
        silent: Duration::from_secs(silent),
        why_silent: why.map(str::to_owned),
        recording: None,
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
    assert!(trouble(State::Full, true).unwrap().contains("1 GiB"));
    assert!(trouble(State::Failed(28), true).unwrap().contains("No space left"));
}
