//! A live screen keeps up with its program. `benches/live.rs` measures the same at full rate and for longer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod common;
#[path = "common/live.rs"]
mod live;
#[path = "common/pty.rs"]
mod pty;

#[test]
fn a_live_screen_keeps_up_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    // A build without optimization on a busy machine: a rate and a limit that it can hold.
    let load = live::Load { threads: 8, rate: 100_000, seconds: 5 };
    let watched = live::watched(load, folder.path());
    let (session, answer) = (&watched.session, &watched.answer);
    eprintln!(
        "{:.0} events/s; in the session within {} ms at p50, {} ms at p99; in an answer {} and {} ms",
        watched.rate,
        session.quantile(0.5),
        session.quantile(0.99),
        answer.quantile(0.5),
        answer.quantile(0.99)
    );
    watched.check();
    assert!(session.quantile(0.99) < 1000, "{} ms", session.quantile(0.99));
    assert!(answer.quantile(0.99) < 2000, "{} ms", answer.quantile(0.99));
}
