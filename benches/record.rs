//! What recording a call costs beside its peers, in one run.
//!
//! `cargo bench --bench record [-- [rounds=11] [calls=200000] [worst=10000000] [repeats=3] [folder=DIR]]`
//!
//! The same loop of calls of a function that does next to nothing (benches/c) runs untraced, under the hook, under
//! uftrace and under LTTng-UST where they are installed, each once a round in turn, so that a change of the machine's
//! speed meets all alike. Shown are medians over the rounds: nanoseconds a call in processor time of the thread, which
//! other people's work on the machine changes least, what is added to the untraced call of the same round, and that as
//! a multiple of two `clock_gettime(CLOCK_MONOTONIC)`, the floor for whoever times calls.
//! Then two threads beside one, and the longest of many single calls.
//!
//! Recordings go to a temporary folder, and to one in /dev/shm; `folder=` names another in place of the first. Each is
//! removed after its run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark that fails has to stop")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "record/peers.rs"]
mod peers;
#[path = "record/worst.rs"]
mod worst;

use peers::{Lttng, Uftrace};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the command line asks for.
struct Settings {
    rounds: usize,
    calls: u64,
    worst: u64,
    repeats: usize,
    folder: Option<PathBuf>,
}

impl Settings {
    fn read() -> Self {
        let mut settings = Self { rounds: 11, calls: 200_000, worst: 10_000_000, repeats: 3, folder: None };
        for word in std::env::args().skip(1) {
            let Some((name, value)) = word.split_once('=') else { continue };
            let number = || value.parse().unwrap_or_else(|_| panic!("{word}: not a number"));
            match name {
                "rounds" => settings.rounds = number() as usize,
                "calls" => settings.calls = number(),
                "worst" => settings.worst = number(),
                "repeats" => settings.repeats = number() as usize,
                "folder" => settings.folder = Some(value.into()),
                _ => panic!("{word}: rounds, calls, worst, repeats or folder"),
            }
        }
        settings
    }
}

/// The compiled programs, and where recordings go.
struct Bench {
    programs: PathBuf,
    disk: tempfile::TempDir,
    memory: Option<tempfile::TempDir>,
    ticks_per_second: Option<String>,
}

/// How a loop is run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Under {
    Nothing,
    /// The hook is loaded and told nothing.
    Disabled,
    /// Into the folder on disk.
    Disk,
    /// Into /dev/shm.
    Memory,
    /// Into /dev/shm, by CLOCK_MONOTONIC.
    Monotonic,
}

impl Bench {
    /// A program under the hook or not, and the folder that is to be removed after it.
    fn command(&self, name: &str, arguments: &[&str], under: Under) -> (Command, Option<tempfile::TempDir>) {
        let mut command = Command::new(self.programs.join(name));
        command.args(arguments);
        for (name, _) in std::env::vars_os() {
            let ours = name.to_str().is_some_and(|name| name.starts_with("UMTUI_") || name == "LD_PRELOAD");
            if ours {
                command.env_remove(name);
            }
        }
        if under == Under::Nothing {
            return (command, None);
        }
        command.env("LD_PRELOAD", common::HOOK);
        if under == Under::Disabled {
            return (command, None);
        }
        let memory = self.memory.as_ref().filter(|_| under != Under::Disk);
        let parent = memory.unwrap_or(&self.disk);
        let folder = tempfile::tempdir_in(parent.path()).unwrap();
        command.env("UMTUI_OUT", folder.path());
        if let Some(rate) = &self.ticks_per_second {
            command.env("UMTUI_TICKS_PER_SECOND", rate);
        }
        if under == Under::Monotonic {
            command.env("UMTUI_CLOCK", "monotonic");
        }
        (command, Some(folder))
    }

    /// How long a round of the loop takes.
    fn time(&self, what: &str, calls: u64, threads: usize, under: Under) -> Time {
        let (calls, threads) = (calls.to_string(), threads.to_string());
        let (command, folder) = self.command("loop", &[what, &calls, &threads], under);
        let time = time(command);
        if let Some(folder) = folder {
            assert_eq!(common::files(folder.path(), "umt").len(), 1, "{under:?} did not record");
        }
        time
    }
}

/// Nanoseconds a round.
#[derive(Clone, Copy, Debug)]
struct Time {
    /// In processor time of the thread.
    spent: f64,
    /// On the wall.
    passed: f64,
}

/// What a loop says it took.
fn time(mut command: Command) -> Time {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("ns ")?.split_once(' '));
    let found =
        line.and_then(|(spent, passed)| Some(Time { spent: spent.parse().ok()?, passed: passed.parse().ok()? }));
    match found {
        Some(time) if output.status.success() => time,
        _ => panic!("{command:?}: {output:?}"),
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn row<'a>(name: &'static str, base: usize, run: impl FnMut() -> f64 + 'a) -> Row<'a> {
    Row { name, base, run: Box::new(run), times: Vec::new() }
}

/// A line of the first table: a way to run the loop, and a time of each round.
struct Row<'a> {
    name: &'static str,
    /// The untraced row that it is compared with.
    base: usize,
    run: Box<dyn FnMut() -> f64 + 'a>,
    times: Vec<f64>,
}

fn main() {
    let settings = Settings::read();
    let Some(bench) = prepare(&settings) else { return };
    let uftrace = Uftrace::find();
    let lttng = Lttng::start(&bench.programs);
    for absent in [uftrace.as_ref().err(), lttng.as_ref().err()].into_iter().flatten() {
        println!("not measured: {absent}");
    }
    costs(&bench, &settings, uftrace.as_ref().ok(), lttng.as_ref().ok());
    drop(lttng);
    scaling(&bench, &settings);
    worst::show(&bench, settings.worst, settings.repeats);
}

fn prepare(settings: &Settings) -> Option<Bench> {
    let programs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-c");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/c/build.sh");
    if Command::new("cc").arg("--version").output().is_err() {
        println!("not measured: no C compiler (cc)");
        return None;
    }
    let built = Command::new("sh").arg(script).arg(&programs).output().unwrap();
    assert!(built.status.success(), "benches/c: {}", String::from_utf8_lossy(&built.stderr));
    print!("{}", String::from_utf8_lossy(&built.stdout));
    let disk = match &settings.folder {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    };
    let memory = tempfile::tempdir_in("/dev/shm").ok();
    let bench = Bench { programs, disk: disk.unwrap(), memory, ticks_per_second: ticks_per_second() };
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{} processors, load before {}", processors(), load.split(' ').next().unwrap_or("?"));
    println!(
        "recordings in {} and {}",
        bench.disk.path().display(),
        bench.memory.as_ref().map_or("nowhere else", |_| "/dev/shm")
    );
    Some(bench)
}

/// What `umtui record` hands to the hook; without it each process measures for 2 ms.
fn ticks_per_second() -> Option<String> {
    let folder = tempfile::tempdir().ok()?;
    let mut command = Command::new(common::UMTUI);
    command.args(["record", "-o"]).arg(folder.path().join("r")).args(["--", "printenv", "UMTUI_TICKS_PER_SECOND"]);
    let output = command.output().ok()?;
    let rate = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!rate.is_empty()).then_some(rate)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn costs(bench: &Bench, settings: &Settings, uftrace: Option<&Uftrace>, lttng: Option<&Lttng>) {
    let calls = settings.calls;
    let hook = |what: &'static str, under| move || bench.time(what, calls, 1, under).spent;
    let mut rows = vec![
        row("two clock_gettime (the floor)", 0, hook("clocks", Under::Nothing)),
        row("untraced, no argument", 1, hook("none", Under::Nothing)),
        row("untraced, an int through a pointer", 2, hook("pointee", Under::Nothing)),
        row("the same between two clock_gettime", 2, hook("both", Under::Nothing)),
        row("hook, not recording", 2, hook("pointee", Under::Disabled)),
        row("hook, no argument, in memory", 1, hook("none", Under::Memory)),
        row("hook, one argument, in memory", 2, hook("pointee", Under::Memory)),
        row("hook, no argument, on disk", 1, hook("none", Under::Disk)),
        row("hook, one argument, on disk", 2, hook("pointee", Under::Disk)),
        row("hook, one argument, CLOCK_MONOTONIC", 2, hook("pointee", Under::Monotonic)),
    ];
    if let Some(uftrace) = uftrace {
        let run = |program: &'static str| move || uftrace.time(bench, program, calls);
        rows.push(row("uftrace, callee built with -pg", 2, run("loop_pg")));
        rows.push(row("uftrace, library call (PLT)", 2, run("loop")));
    }
    if let Some(lttng) = lttng {
        rows.push(row("LTTng-UST, two events, to disk", 2, move || lttng.time(bench, calls)));
    }
    for _ in 0..settings.rounds {
        for row in &mut rows {
            let time = (row.run)();
            row.times.push(time);
        }
    }
    let Some(floor) = rows.first().map(|row| median(row.times.clone())) else { return };
    println!("\n{:<38} {:>9} {:>9} {:>8}   spread of what is added", "", "ns a call", "added ns", "x floor");
    for row in &rows {
        // Against the untraced loop of the same round.
        let base = rows.get(row.base).map(|base| base.times.clone()).unwrap_or_default();
        let added: Vec<f64> = row.times.iter().zip(&base).map(|(time, base)| time - base).collect();
        let ns = median(row.times.clone());
        if row.base == 0 || std::ptr::eq(row, &rows[row.base]) {
            println!("{:<38} {ns:>9.1}", row.name);
            continue;
        }
        let least = added.iter().copied().fold(f64::INFINITY, f64::min);
        let most = added.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let added = median(added);
        println!("{:<38} {ns:>9.1} {added:>9.1} {:>8.2}   {least:.1} to {most:.1}", row.name, added / floor);
    }
    if let Some(uftrace) = uftrace {
        println!("{}", uftrace.recorded());
    }
    if let Some(lttng) = lttng {
        println!("{}", lttng.recorded());
    }
}

/// Calls a second of two threads over those of one, untraced and recorded.
fn scaling(bench: &Bench, settings: &Settings) {
    if processors() < 2 {
        println!("\ntwo threads: not measured, one processor");
        return;
    }
    let ways = [("untraced", Under::Nothing), ("hook, in memory", Under::Memory), ("hook, on disk", Under::Disk)];
    let mut times = ways.map(|_| (Vec::new(), Vec::new()));
    for _ in 0..settings.rounds {
        for ((_, under), (one, two)) in ways.iter().zip(&mut times) {
            // The untraced loop is short: more of it, so that starting the second thread is no part of the time.
            let calls = if *under == Under::Nothing { settings.calls * 50 } else { settings.calls };
            one.push(bench.time("pointee", calls, 1, *under));
            two.push(bench.time("pointee", calls, 2, *under));
        }
    }
    for title in ["two threads, on the wall", "two threads, processor time"] {
        let of = |time: &Time| if title.ends_with("wall") { time.passed } else { time.spent };
        println!("\n{title:<38} {:>9} {:>11} {:>8}", "one, ns", "of two, ns", "speed-up");
        let mut untraced = None;
        for ((name, _), (one, two)) in ways.iter().zip(&times) {
            let (one, two): (Vec<f64>, Vec<f64>) = (one.iter().map(of).collect(), two.iter().map(of).collect());
            let speed_up = median(one.iter().zip(&two).map(|(one, two)| 2.0 * one / two).collect());
            let of_untraced = speed_up / *untraced.get_or_insert(speed_up);
            let (one, two) = (median(one), median(two));
            println!("{name:<38} {one:>9.1} {two:>11.1} {speed_up:>8.2}   {:.0} % of untraced", 100.0 * of_untraced);
        }
    }
}
