//! `umtui doctor`: what can be seen on this machine, and why something cannot.
//!
//! It is tried out, not guessed: a small program is recorded, and what its recording says is said here.

mod machine;
mod trial;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::arguments::Doctor;
use super::coverage;
use crate::launch;
use crate::session::safe::safe;
use machine::Machine;
use trial::{Said, Trial};

/// A finding: fine, worth knowing, not to be had here, or in the way of all recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    Note,
    Missing,
    Bad,
}

/// A line of the answer. Its text is safe for the terminal.
#[derive(Clone, Debug)]
struct Line {
    verdict: Verdict,
    subject: &'static str,
    detail: String,
    /// What to do.
    remedy: Option<String>,
}

impl Line {
    fn new(verdict: Verdict, subject: &'static str, detail: impl Into<String>) -> Self {
        Self { verdict, subject, detail: detail.into(), remedy: None }
    }

    fn with(self, remedy: Option<String>) -> Self {
        Self { remedy, ..self }
    }

    fn write(&self, out: &mut String) {
        let mark = match self.verdict {
            Verdict::Fine => "ok  ",
            Verdict::Note => "note",
            Verdict::Missing => "no  ",
            Verdict::Bad => "BAD ",
        };
        let _ = writeln!(out, "{mark}  {:<11} {}", self.subject, self.detail);
        if let Some(remedy) = &self.remedy {
            let _ = writeln!(out, "      {:<11} -> {remedy}", "");
        }
    }
}

/// Prints one line for each thing that recording depends on, or how a library's functions are traced. The status is 1
/// where no program could be recorded; that there is no GPU is no failure.
///
/// # Errors
/// If the library whose coverage is asked for cannot be read or is not CUDA's; else what cannot be found out is said.
pub fn run(arguments: &Doctor) -> anyhow::Result<u8> {
    use std::io::Write as _;
    if let Some(library) = &arguments.coverage {
        return coverage::run(library, arguments.format);
    }
    let lines = lines();
    let mut text = String::new();
    lines.iter().for_each(|line| line.write(&mut text));
    match std::io::stdout().write_all(text.as_bytes()) {
        // `| head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        other => other?,
    }
    Ok(u8::from(lines.iter().any(|line| line.verdict == Verdict::Bad)))
}

fn lines() -> Vec<Line> {
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let machine = Machine { root: machine::root(), variable: &variable };
    let mut lines = vec![hook(), loads(), clock(), machine.driver(), machine.device_files(), runtime()];
    let trial = trial::run();
    match trial {
        Ok(trial) => of_trial(&trial, &machine, &mut lines),
        Err(error) => {
            lines.push(Line::new(Verdict::Note, "trial", format!("cannot be made: {}", safe(&format!("{error:#}")))));
            lines.push(cupti());
        }
    }
    lines.extend(machine.notes());
    lines
}

fn of_trial(trial: &Trial, machine: &Machine<'_>, lines: &mut Vec<Line>) {
    let said = &trial.said;
    lines.extend(library(said, trial.driver_version));
    let failed = trial.trouble.clone().or_else(|| said.failed());
    let has_device = said.devices().is_some_and(|count| count > 0);
    match failed {
        Some(why) if has_device => lines.push(Line::new(Verdict::Missing, "trial", why)),
        Some(why) => lines.push(Line::new(Verdict::Note, "trial", why)),
        None if has_device => {
            lines.push(Line::new(Verdict::Fine, "trial", "managed memory, a prefetch and a copy on device 0"));
        }
        None if said.devices() == Some(0) => lines.push(Line::new(Verdict::Note, "trial", "the driver has no device")),
        None => {}
    }
    lines.extend(said.all("device").iter().filter_map(|line| device(line)));
    if !trial.lines.iter().any(|line| line.subject == "CUPTI") {
        lines.push(cupti());
    }
    lines.extend(trial.lines.iter().cloned());
    lines.extend(machine.peers(&peers(said)));
    lines.extend(confidential(said));
}

/// The driver's library, as the trial loaded it.
fn library(said: &Said, version: Option<u32>) -> Option<Line> {
    let (how, what) = said.first("library")?.split_once('\t')?;
    let what = safe(what);
    if how != "ok" {
        let why = format!("libcuda.so.1 cannot be loaded ({what}): CUDA programs do not run here");
        return Some(Line::new(Verdict::Note, "libcuda", why));
    }
    let version = version.or_else(|| said.first("version")?.parse().ok()).filter(|&version| version > 0);
    let version = version
        .map_or_else(String::new, |version| format!(", for CUDA up to {}.{}", version / 1000, version % 1000 / 10));
    Some(Line::new(Verdict::Fine, "libcuda", format!("{what}{version}")))
}

/// A device and what it can do.
fn device(line: &str) -> Option<Line> {
    let mut parts = line.split('\t');
    let (number, name, can) = (parts.next()?, parts.next()?, parts.next()?);
    let value =
        |word: &str| can.split(' ').find_map(|pair| pair.strip_prefix(word)?.strip_prefix('=')?.parse::<i32>().ok());
    let mut abilities = Vec::new();
    match (value("managed"), value("concurrent")) {
        (Some(0), _) => abilities.push("no managed memory"),
        (_, Some(0)) => abilities.push("managed memory moves as a whole at launches (no concurrent access)"),
        (_, Some(_)) => abilities.push("managed memory moves page by page (concurrent access)"),
        _ => {}
    }
    match (value("pageable"), value("host_page_tables")) {
        (Some(1), Some(1)) => abilities.push("reaches all of the host's memory by its page tables"),
        (Some(1), _) => abilities.push("reaches all of the host's memory (HMM)"),
        (Some(_), _) => abilities.push("reaches only memory that CUDA allocated"),
        _ => {}
    }
    if value("integrated") == Some(1) {
        abilities.push("shares the host's memory");
    }
    if value("compute_mode") == Some(2) {
        abilities.push("PROHIBITED for compute (nvidia-smi -c)");
    }
    if name.contains(" MIG ") {
        abilities.push("part of a GPU (MIG)");
    }
    Some(Line::new(Verdict::Fine, "device", format!("{} {}: {}", safe(number), safe(name), abilities.join(", "))))
}

/// Pairs of devices, and whether the first reaches the second's memory.
fn peers(said: &Said) -> Vec<(u32, u32, bool)> {
    let pair = |line: &String| {
        let mut numbers = line.split(' ').map(str::parse::<u32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()? != 0))
    };
    said.all("peer").iter().filter_map(pair).collect()
}

fn confidential(said: &Said) -> Option<Line> {
    let mut numbers = said.first("confidential")?.split(' ').map(str::parse::<u32>);
    let (feature, tools) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (feature != 0).then(|| {
        if tools != 0 {
            return Line::new(Verdict::Note, "confidential", "computing is on, in its mode for developers' tools");
        }
        Line::new(Verdict::Note, "confidential", "computing is on: CUPTI records nothing (41)")
            .with(Some("run on a machine without it, or in its mode for developers' tools".to_owned()))
    })
}

fn hook() -> Line {
    match launch::hook() {
        Ok(path) => Line::new(Verdict::Fine, "hook", safe(&format!("unpacked at {}", path.display()))),
        Err(error) => Line::new(Verdict::Bad, "hook", safe(&error.to_string())),
    }
}

/// Starts a program with the hook and sees whether the loader complains: noexec mounts, old C libraries.
fn loads() -> Line {
    let subject = "preload";
    let Ok(path) = launch::hook() else { return Line::new(Verdict::Bad, subject, "no hook to load") };
    match Command::new("true").env("LD_PRELOAD", path).output() {
        Ok(output) if output.status.success() && output.stderr.is_empty() => {
            Line::new(Verdict::Fine, subject, "the loader takes the hook")
        }
        Ok(output) => {
            let complaint = String::from_utf8_lossy(&output.stderr);
            let first = complaint.lines().next().unwrap_or("the loader refuses the hook");
            Line::new(Verdict::Bad, subject, safe(first))
        }
        Err(error) => Line::new(Verdict::Note, subject, format!("cannot be tried: {error}")),
    }
}

fn clock() -> Line {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(path).unwrap_or_default();
    let (verdict, detail) = match source.trim() {
        "tsc" => (Verdict::Fine, "tsc: two readings cost about 40 ns a call".to_owned()),
        "arch_sys_counter" => (Verdict::Fine, "arch_sys_counter: the generic timer is read directly".to_owned()),
        "" => (Verdict::Note, "the kernel does not say; CLOCK_MONOTONIC is used".to_owned()),
        other => (Verdict::Note, format!("{}: CLOCK_MONOTONIC is used, recording costs more a call", safe(other))),
    };
    Line::new(verdict, "clock", detail)
}

fn runtime() -> Line {
    let found = libraries("libcudart.so");
    if found.is_empty() {
        let what = "no shared libcudart in the usual places: programs with a static one show driver calls only";
        return Line::new(Verdict::Note, "runtime", what);
    }
    Line::new(Verdict::Fine, "runtime", safe(&found.join(", ")))
}

/// Where it was not loaded in the trial: whether there is any.
fn cupti() -> Line {
    let found = libraries("libcupti.so");
    if found.is_empty() {
        let how = "kernels, copies and migrations need it: install CUPTI of the CUDA toolkit, or add its folder to LD_LIBRARY_PATH";
        return Line::new(Verdict::Note, "CUPTI", "no libcupti in the usual places").with(Some(how.to_owned()));
    }
    Line::new(Verdict::Note, "CUPTI", format!("{}; not loaded in the trial", safe(&found.join(", "))))
}

/// Libraries whose file names begin so, in the toolkit's and the system's folders.
pub fn libraries(name: &str) -> Vec<String> {
    let mut folders: Vec<PathBuf> = std::env::var_os("LD_LIBRARY_PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .filter(|folder| !folder.as_os_str().is_empty())
        .collect();
    folders.extend([format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH).into(), "/usr/lib64".into()]);
    if let Some(home) = std::env::var_os("CUDA_HOME").map(PathBuf::from) {
        folders.push(home.join("lib64"));
        folders.push(home.join("extras/CUPTI/lib64"));
    }
    folders.push("/usr/local/cuda/lib64".into());
    folders.push("/usr/local/cuda/extras/CUPTI/lib64".into());
    let mut found: Vec<String> = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            file.starts_with(name).then(|| entry.path().display().to_string())
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_described_by_what_they_can_do() {
        let of = |can: &str| device(&format!("0\tNVIDIA X\t{can}")).unwrap().detail;
        assert_eq!(
            of("integrated=0 compute_mode=0 managed=1 pageable=0 concurrent=1 host_page_tables=0"),
            "0 NVIDIA X: managed memory moves page by page (concurrent access), reaches only memory that CUDA allocated"
        );
        assert!(of("managed=1 concurrent=0").contains("moves as a whole"));
        assert!(of("pageable=1 host_page_tables=1 compute_mode=2").contains("by its page tables, PROHIBITED"));
        assert_eq!(of(""), "0 NVIDIA X: ");
        assert!(device("0").is_none());
    }

    #[test]
    fn confidential_computing_is_told_if_it_is_on() {
        let of = |text: &str| confidential(&Said::of(text)).map(|line| line.remedy.is_some());
        assert_eq!(of("confidential\t0 0 0"), None);
        assert_eq!(of("confidential\t1 0 2"), Some(true));
        assert_eq!(of("confidential\t1 1 2"), Some(false));
        assert_eq!(of("confidential\tx"), None);
    }

    #[test]
    fn pairs_of_devices_are_read() {
        assert_eq!(peers(&Said::of("peer\t0 1 0\npeer\t1 0 1\npeer\todd\n")), [(0, 1, false), (1, 0, true)]);
    }
}
