//! What is recorded, how much of it, and where to.

use std::path::PathBuf;

use clap::Args;

use crate::cli::filter::{self, Recorded};
use crate::launch::{Capture, Gpu, RunOptions};

/// Options of every recording.
#[derive(Args, Clone, Debug)]
pub struct Recording {
    /// Folder for the recording; must be new or empty. With record also a FIFO, or - for stdout
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub extent: Extent,
}

/// Options of what goes into a pipe.
#[derive(Args, Clone, Debug)]
pub struct Draining {
    /// After the program's end wait so long for a reader that takes nothing, or for one to come
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub drain: u32,
}

/// How much is recorded.
#[derive(Args, Clone, Debug)]
pub struct Extent {
    /// Keep each process's file at this size: the newest events stay (K, M, G; at least 1M; 0 for no cap) [default: 4G,
    /// or 256M on the way into a FIFO or to stdout]
    #[arg(long, value_name = "SIZE", value_parser = cap)]
    pub max_size: Option<u64>,
    /// Record only a part: all, profiler (cudaProfilerStart to Stop), nvtx:RANGE[@DOMAIN], signal:NAME (each toggles)
    #[arg(long, value_name = "WHEN", default_value = "all", value_parser = capture)]
    pub capture: Capture,
    /// Leave out the calls' arguments
    #[arg(long)]
    pub no_args: bool,
    /// Leave out ranges and marks (NVTX)
    #[arg(long)]
    pub no_nvtx: bool,
    /// Record only functions of these groups: memory, launch, copy, sync, stream, event, graph, device, module, other;
    /// range for the program's ranges (NVTX)
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = group)]
    pub only: Vec<&'static str>,
    /// Record only calls that fit: a file, a name from `umtui filter list`, or an expression such as
    /// "dur>=100us -thread:monitor"; calls about memory, streams, events and waits are recorded in any case
    #[arg(long, value_name = "FILE|EXPR", allow_hyphen_values = true, value_parser = filter::recorded)]
    pub filter: Option<Recorded>,
    /// Record API calls alone: no kernels, copies or migrations
    #[arg(long, conflicts_with_all = ["um_faults", "gpu_memory", "gpu_waits", "whole_graphs"])]
    pub no_gpu: bool,
    /// Record page faults, thrashing, throttling and remote mappings too; slows programs that fault
    #[arg(long)]
    pub um_faults: bool,
    /// Record allocations as the driver sees them too; about 1.5 us for each
    #[arg(long)]
    pub gpu_memory: bool,
    /// Record waits and events as the driver sees them too; about 0.3 us for each call of any kind
    #[arg(long)]
    pub gpu_waits: bool,
    /// Record a launched CUDA graph as a whole, not each of its nodes; costs less
    #[arg(long)]
    pub whole_graphs: bool,
}

impl Extent {
    /// For the launcher, with the cap on each process's file that holds if nothing was said.
    #[must_use]
    pub fn options(&self, max_bytes: u64) -> RunOptions {
        RunOptions {
            max_bytes: Some(self.max_size.unwrap_or(max_bytes)).filter(|&bytes| bytes > 0),
            capture: self.capture.clone(),
            arguments: !self.no_args,
            only: self.only.clone(),
            filter: self.filter.as_ref().map(|filter| filter.compiled.clone()),
            gpu: Gpu {
                on: !self.no_gpu,
                faults: self.um_faults,
                memory: self.gpu_memory,
                waits: self.gpu_waits,
                whole_graphs: self.whole_graphs,
            },
            ranges: !self.no_nvtx,
        }
    }
}

impl Extent {
    /// What was not there when nothing is recorded.
    #[must_use]
    pub fn unseen(&self) -> &'static str {
        match (&self.capture, self.only.is_empty()) {
            (Capture::All, true) if self.filter.is_some() => "no CUDA call that fits --filter was seen",
            (Capture::All, true) => "no CUDA call was seen",
            (Capture::All, false) => "no CUDA call of the groups in --only was seen",
            _ => "no CUDA call was seen while --capture was on",
        }
    }

    /// What to do about that.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match (&self.capture, self.only.is_empty()) {
            (Capture::All, true) if self.filter.is_none() => "`umtui doctor` says what may be in the way",
            _ => "leave that option out to see which calls there are",
        }
    }
}

/// Which part of a run.
fn capture(text: &str) -> Result<Capture, String> {
    match text.split_once(':') {
        None if text == "all" => Ok(Capture::All),
        None if text == "profiler" => Ok(Capture::Profiler),
        Some(("nvtx", range)) if !range.is_empty() && !range.starts_with('@') && range.len() < 200 => {
            Ok(Capture::Range(range.to_owned()))
        }
        Some(("signal", name)) => signal(name).map(Capture::Signal),
        _ => Err("all, profiler, nvtx:RANGE[@DOMAIN] or signal:NAME, such as signal:USR2".to_owned()),
    }
}

/// Signals that a program seldom has a use for of its own, by name or number.
fn signal(name: &str) -> Result<i32, String> {
    use signal_hook::consts::{SIGHUP, SIGURG, SIGUSR1, SIGUSR2, SIGWINCH};
    let known = [("USR1", SIGUSR1), ("USR2", SIGUSR2), ("HUP", SIGHUP), ("URG", SIGURG), ("WINCH", SIGWINCH)];
    let plain = name.strip_prefix("SIG").unwrap_or(name);
    let number = plain.parse().ok();
    let found = known.iter().find(|(known, value)| *known == plain || Some(*value) == number);
    // Real-time signals have no fixed names.
    let real_time = number.filter(|number| (34..=64).contains(number));
    found.map(|&(_, value)| value).or(real_time).ok_or_else(|| "USR1, USR2, HUP, URG, WINCH or 34 to 64".to_owned())
}

/// Seconds to wait.
fn seconds(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "a number of seconds, such as 5".to_owned())
}

/// A group of functions.
fn group(text: &str) -> Result<&'static str, String> {
    let mut names = umtui_wire::group::GROUPS.iter().map(|&(_, name)| name);
    names.find(|name| *name == text).ok_or_else(|| {
        let names: Vec<_> = umtui_wire::group::GROUPS.iter().map(|&(_, name)| name).collect();
        format!("one of {}", names.join(", "))
    })
}

/// Least cap on a file: a few threads have room.
const LEAST_CAP: u64 = 1 << 20;

/// A cap on a file's size.
fn cap(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes @ 1..LEAST_CAP => Err(format!("{bytes} bytes hold no recording; at least 1M, or 0 for no cap")),
        bytes => Ok(bytes),
    }
}

/// Bytes, with K, M, G, T for powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let shift = match text[digits.len()..].trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        other => return Err(format!("unknown unit {other}: use K, M, G or T")),
    };
    let number: u64 = digits.parse().map_err(|_| "a size is a number with K, M, G or T, such as 512M".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("512"), Ok(512));
        assert_eq!(size("4G"), Ok(4 << 30));
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert!(size("1x").is_err());
        assert!(size("99999999T").is_err());
        assert!(size("").is_err());
    }
}
