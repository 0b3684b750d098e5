//! A live screen beside a program that makes calls at a steady rate: does it keep up, and what does it cost?
//!
//! `cargo bench --bench live [-- RATE [SECONDS [THREADS]]]`: 1,000,000 calls a second for 30 s over 8 threads unless
//! told otherwise. A quarter of the calls has one nested in it, so that there are 1.25 events for each. The same
//! program runs untraced, then recorded without a screen, then recorded in a pseudo-terminal with the overview and
//! the calls shown in turn.
//!
//! The lag of a call is the time from its end until the session had it, nothing left out: in its store and in the call
//! tree, by the wall clock. "On the screen" is the time until an answer that counts it was given; a frame follows
//! within 33 ms.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark that fails has to stop")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/live.rs"]
mod live;
#[path = "../tests/common/pty.rs"]
mod pty;

fn main() {
    let mut numbers = std::env::args().filter_map(|word| word.parse::<u64>().ok());
    let rate = numbers.next().unwrap_or(1_000_000);
    let seconds = numbers.next().unwrap_or(30);
    let threads = numbers.next().unwrap_or(8);
    let load = live::Load { threads, rate, seconds };
    println!("{threads} threads, {rate} calls/s for {seconds} s, {} processors", processors());
    let row = |name: &str, rate: f64, program: String, umtui: String| {
        println!("{name:<24} {rate:>10.0} calls/s   program {program} s   umtui {umtui} s of processor time");
    };
    let untraced = live::untraced(load);
    row("untraced", untraced.told.rate(), format!("{:6.2}", untraced.cpu), "     -".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let recorded = live::recorded(load, folder.path());
    row("recorded, no screen", recorded.told.rate(), format!("{:6.2}", recorded.cpu), "  incl.".to_owned());
    drop(folder);
    let folder = tempfile::tempdir().unwrap();
    let watched = live::watched(load, folder.path());
    let (program, umtui) = (format!("{:6.2}", watched.program_cpu), format!("{:6.2}", watched.umtui_cpu));
    row("recorded, screen shown", watched.told.rate(), program, umtui);
    watched.check();
    let events = &watched.report["trace"]["events"];
    println!("{events} events, as many as the program counted, lost 0: {:.0} events/s", watched.rate);
    println!("slowest second            {:>10.0} events/s in the session", watched.slowest);
    let lag = |lag: &live::Lag| {
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|share| lag.quantile(share));
        format!("p50 {p50} ms   p99 {p99} ms   most {most} ms")
    };
    println!("lag, in the session       {}", lag(&watched.session));
    println!("lag, on the screen        {}", lag(&watched.answer));
    println!("clocks differ by          {:.3} ms at least", (-watched.earliest_ns).max(0) as f64 / 1e6);
    println!("umtui: {} MiB at most, {} bytes to the terminal", watched.memory, watched.written);
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
