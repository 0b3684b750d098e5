//! Watches a program that counts its own calls, and measures how far its umtui is behind it.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::{self, GUEST, UMTUI};
use crate::pty::{self, Exit, Launch, Leftover};

/// What the program is to do.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Over so many threads.
    pub threads: u64,
    /// Calls a second that the program makes by itself; a quarter of them has one more nested in it.
    pub rate: u64,
    /// For so long.
    pub seconds: u64,
}

impl Load {
    fn arguments(self) -> Vec<String> {
        let words =
            format!("stress --threads {} --rate {} --seconds {} --counts", self.threads, self.rate, self.seconds);
        words.split(' ').map(str::to_owned).collect()
    }
}

/// What the program says that it did.
#[derive(Clone, Debug)]
pub struct Told {
    /// Calls by function.
    pub calls: BTreeMap<String, u64>,
    /// For how long, s.
    pub seconds: f64,
}

impl Told {
    fn of(output: &str) -> Self {
        let words = output.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut told = Self { calls: BTreeMap::new(), seconds: 0.0 };
        for line in words {
            match line.as_slice() {
                ["calls", name, calls] => {
                    told.calls.insert((*name).to_owned(), calls.parse().unwrap());
                }
                ["stress", .., "ns", ns] => told.seconds = ns.parse::<f64>().unwrap() / 1e9,
                _ => {}
            }
        }
        assert!(told.seconds > 0.0 && !told.calls.is_empty(), "the program did not finish: {output}");
        told
    }

    /// Calls a second that it made.
    pub fn rate(&self) -> f64 {
        self.calls.values().sum::<u64>() as f64 / self.seconds
    }
}

/// Calls by how long it took until they were taken into account, ms.
#[derive(Clone, Debug, Default)]
pub struct Lag(BTreeMap<i64, u64>);

impl Lag {
    /// This share of calls was in time within so many ms.
    pub fn quantile(&self, share: f64) -> i64 {
        let all = self.0.values().sum::<u64>() as f64;
        let mut sum = 0;
        let found = self.0.iter().find(|(_, calls)| {
            sum += **calls;
            sum as f64 >= share * all
        });
        // Of a step of 1 ms the end.
        found.or(self.0.last_key_value()).map_or(0, |(ms, _)| ms + 1)
    }

    /// Calls in all.
    pub fn calls(&self) -> u64 {
        self.0.values().sum()
    }
}

/// What was measured with a screen attached.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What the program says.
    pub told: Told,
    /// What the recording says, as the JSON report.
    pub report: serde_json::Value,
    /// Calls a second that the recording says, nested ones included, while the program ran.
    pub rate: f64,
    /// The least of them that came to the session in any second but the first and the last.
    pub slowest: f64,
    /// Until they were in the session.
    pub session: Lag,
    /// Until they were in an answer to the screen.
    pub answer: Lag,
    /// The least lag, ns: below zero, by so much at least do the clocks of program and session differ.
    pub earliest_ns: i64,
    /// Processor time of umtui, s.
    pub umtui_cpu: f64,
    /// Processor time of the program, s.
    pub program_cpu: f64,
    /// Most memory that umtui had, MiB.
    pub memory: u64,
    /// Bytes to the terminal.
    pub written: usize,
}

/// Records the program in a pseudo-terminal, with the overview for the first half and the calls for the second.
pub fn watched(load: Load, folder: &Path) -> Watched {
    let (run, metrics) = (folder.join("watched"), folder.join("metrics"));
    let mut arguments = vec!["demo".to_owned(), "stress".to_owned(), "-o".to_owned(), run.display().to_string()];
    arguments.push("--".to_owned());
    arguments.extend(load.arguments().into_iter().skip(1));
    let metrics_at = metrics.display().to_string();
    let mut terminal = Launch::umtui(&arguments).env("UMTUI_METRICS", &metrics_at).size(120, 40).start();
    let screen = terminal.wait_for(&["LIVE", "time goes to"]);
    let _program = Leftover(pty::number_after(&screen, "umtui-demo "));
    std::thread::sleep(Duration::from_secs(load.seconds) / 2);
    terminal.keys("2");
    std::thread::sleep(Duration::from_secs(load.seconds) / 2);
    terminal.wait_for(&["ENDED", "by thread"]);
    let stat = pty::stat(terminal.pid()).unwrap();
    let seconds = |user: usize| pty::ticks(&stat[user]) + pty::ticks(&stat[user + 1]);
    let (umtui_cpu, program_cpu) = (seconds(11), seconds(13));
    let status = pty::contents(Path::new(&format!("/proc/{}/status", terminal.pid())));
    let memory = pty::number_after::<u64>(&status, "VmHWM:") / 1024;
    let written = terminal.written();
    terminal.keys("q");
    terminal.exits_with(Exit::Status(0));

    let told = Told::of(&pty::contents(&run.join("stdout.txt")));
    let report = common::report(&[&run]);
    let lines = pty::contents(&metrics);
    let (mut known, mut session, mut answer, mut earliest_ns) = (Vec::new(), Lag::default(), Lag::default(), 0);
    for line in lines.lines() {
        match *line.split(' ').collect::<Vec<_>>() {
            ["known", wall, calls] => known.push((wall.parse::<u64>().unwrap(), calls.parse::<u64>().unwrap())),
            ["session", ms, calls] => _ = session.0.insert(ms.parse().unwrap(), calls.parse().unwrap()),
            ["answer", ms, calls] => _ = answer.0.insert(ms.parse().unwrap(), calls.parse().unwrap()),
            ["earliest", ns] => earliest_ns = ns.parse().unwrap(),
            _ => panic!("unknown line: {line}"),
        }
    }
    let rate = report["trace"]["events"].as_u64().unwrap() as f64 / told.seconds;
    let slowest = slowest(&known);
    Watched { told, report, rate, slowest, session, answer, earliest_ns, umtui_cpu, program_cpu, memory, written }
}

/// The lowest rate over a second, from when calls have come for a second until they come no more.
fn slowest(known: &[(u64, u64)]) -> f64 {
    const SECOND: u64 = 1_000_000_000;
    let (Some(&(end, all)), Some(&(begun, _))) = (
        known.iter().find(|(_, calls)| Some(*calls) == known.last().map(|last| last.1)),
        known.iter().find(|(_, calls)| *calls > 0),
    ) else {
        return 0.0;
    };
    let at = |wall: u64| known.iter().rev().find(|(then, _)| *then <= wall).copied().unwrap_or((wall, all));
    let windows = known.iter().filter(|(wall, _)| *wall >= begun + 2 * SECOND && *wall + SECOND / 10 <= end);
    let rates = windows.map(|&(wall, calls)| {
        let (then, before) = at(wall - SECOND);
        (calls - before) as f64 * SECOND as f64 / (wall - then) as f64
    });
    rates.fold(f64::INFINITY, f64::min)
}

impl Watched {
    /// Holds the recording against what the program counted: every call is there, and nothing was lost.
    pub fn check(&self) {
        let counted = &self.told.calls;
        for (name, calls) in counted {
            assert_eq!(common::calls(&self.report, name), *calls, "{name}");
        }
        let runtime: u64 = counted.iter().filter(|(name, _)| name.starts_with("cuda")).map(|(_, calls)| calls).sum();
        assert_eq!(common::layer(&self.report, "runtime"), runtime);
        assert_eq!(self.report["trace"]["lost"], 0);
        assert_eq!(self.report["trace"]["truncated"], false);
        // And the session had seen them all when it ended.
        let calls = common::layer(&self.report, "runtime") + common::layer(&self.report, "driver");
        assert_eq!(self.session.calls(), calls);
    }
}

/// What the program did without a screen.
#[derive(Clone, Debug)]
pub struct Alone {
    /// What it says.
    pub told: Told,
    /// Processor time of it and, if it was recorded, of `umtui record`, s.
    pub cpu: f64,
}

/// Runs the program without umtui.
pub fn untraced(load: Load) -> Alone {
    let mut command = Command::new(Path::new(GUEST).join("umtui-demo"));
    alone(command.args(load.arguments()))
}

/// Records it without a screen.
pub fn recorded(load: Load, folder: &Path) -> Alone {
    let mut command = Command::new(UMTUI);
    let program = Path::new(GUEST).join("umtui-demo");
    alone(command.arg("record").arg("-o").arg(folder.join("recorded")).arg("--").arg(program).args(load.arguments()))
}

fn alone(command: &mut Command) -> Alone {
    let before = pty::children_seconds();
    let output = command.env("LD_LIBRARY_PATH", GUEST).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cpu = pty::children_seconds() - before;
    Alone { told: Told::of(&String::from_utf8_lossy(&output.stdout)), cpu }
}
