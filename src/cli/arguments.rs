//! What may stand on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::filter::Recorded;
use super::links::Links;
use crate::launch::{Capture, Gpu, RunOptions};
use crate::lens::Moment;
use crate::report::HeatOf;
use crate::report::difference::{Figure, Threshold};

/// Explore what CUDA programs do with unified memory, in the terminal, live or afterwards.
#[derive(Debug, Parser)]
#[command(
    name = "umtui",
    version,
    about,
    arg_required_else_help = true,
    override_usage = "umtui [OPTIONS] -- COMMAND...\n       umtui <COMMAND>"
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program under the hook and explore it live (the same as `umtui -- COMMAND`)
    Run(Run),
    /// Record a program without a screen
    Record(Record),
    /// Explore a recording, complete or still growing
    Open(Open),
    /// Print the numbers of a recording
    Report(Report),
    /// Compare two recordings, or two moments of one
    Diff(Diff),
    /// Write a recording in another form
    Export(Export),
    /// Check, convert, list and show filters
    Filter(super::filter::Filter),
    /// Send a recording on while it is made, into a FIFO or to stdout
    Stream(Stream),
    /// Run a workload on the bundled stand-in CUDA, no GPU needed
    Demo(Demo),
    /// Say what can be seen on this machine, and why something cannot
    Doctor(Doctor),
    /// What `umtui doctor` records: the driver used a little
    #[command(hide = true)]
    Probe,
    /// Print the variables that make a program record itself, for job scripts and containers
    Env(Env),
    /// Settings, keys and themes: which hold, and what is wrong with the config file
    Config(ConfigArguments),
    /// Look up the names of call sites and keep them beside the recording
    Symbolize(Symbolize),
    /// Print shell completions
    Completions(Completions),
    /// Print the manual page
    Man,
}

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
    #[arg(long, value_name = "FILE|EXPR", allow_hyphen_values = true, value_parser = super::filter::recorded)]
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

/// Options of every screen.
#[derive(Args, Clone, Debug, Default)]
pub struct Screen {
    /// Screen to begin with
    #[arg(long, value_name = "NAME")]
    pub screen: Option<String>,
    /// Colours
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto")]
    pub color: Color,
    /// Let the wheel scroll
    #[arg(long)]
    pub mouse: bool,
    /// Config file instead of the usual one; see `umtui config`
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Colour depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// As the terminal and NO_COLOR say.
    #[default]
    Auto,
    /// None.
    Never,
    /// Sixteen.
    #[value(name = "16")]
    Sixteen,
    /// Two hundred and fifty-six.
    #[value(name = "256")]
    Indexed,
    /// All.
    Truecolor,
}

/// `umtui -- COMMAND`.
#[derive(Args, Debug)]
pub struct Run {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub recording: Recording,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub screen: Screen,
    /// Let the program read our stdin instead of /dev/null
    #[arg(long)]
    pub stdin: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `umtui record`.
#[derive(Args, Debug)]
pub struct Record {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub recording: Recording,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub draining: Draining,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `umtui stream`.
#[derive(Args, Debug)]
pub struct Stream {
    /// The recording: a file or a folder, complete or still growing
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// FIFO to write into; - for stdout
    #[arg(short, long, value_name = "FIFO", default_value = "-")]
    pub output: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub draining: Draining,
}

/// What recordings are seen through.
#[derive(Args, Clone, Debug, Default)]
pub struct Seen {
    /// Count and show only what this filter selects: a file, a name from `umtui filter list`, or an expression
    #[arg(long, value_name = "FILE|EXPR", allow_hyphen_values = true)]
    pub filter: Option<OsString>,
    /// Count and show only what overlaps this time, from the first event on: 1.5s..2s, ..2s, 1.5s.., 1.5s+10ms; or a
    /// turn of a range (NVTX): step:3, step:3..5, step:NAME#3
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub range: Option<String>,
}

/// `umtui open`.
#[derive(Args, Debug)]
pub struct Open {
    /// Recordings: files, folders, FIFOs, - for stdin
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub seen: Seen,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub links: Links,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub screen: Screen,
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Tables to read.
    #[default]
    Text,
    /// One JSON object, schema 1.
    Json,
}

/// `umtui report`.
#[derive(Args, Debug)]
pub struct Report {
    /// Recordings: files, folders, FIFOs, - for stdin
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportFormat,
    /// Print a heatmap of unified memory instead: of the busiest allocation, all, one at an address, or the second busiest
    #[arg(long, value_name = "0x..|all|2", num_args = 0..=1, require_equals = true, default_missing_value = "busiest")]
    pub heatmap: Option<HeatOf>,
    /// Characters in a line of the heatmap
    #[arg(long, default_value = "80", requires = "heatmap", value_parser = clap::value_parser!(u16).range(20..=2000))]
    pub width: u16,
    /// Lines of the heatmap
    #[arg(long, default_value = "24", requires = "heatmap", value_parser = clap::value_parser!(u16).range(8..=1000))]
    pub height: u16,
    /// Also say what was in use at this moment: 1.5s, step:3, step:NAME#3, mark:NAME, peak, end; may be given several
    /// times
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse, allow_hyphen_values = true)]
    pub snapshot: Vec<Moment>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub seen: Seen,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub links: Links,
}

/// `umtui diff`.
#[derive(Args, Debug)]
#[command(after_help = "A moment is a time from the first event on (1.5s), the end of a turn of a range (step:3, \
    step:NAME#3), a mark of the program (mark:NAME, mark:NAME#3), peak or end.\n\n\
    The exit status is 0 if nothing was checked or there is no regression, 1 if there is one, and 2 if something cannot be \
    read or a check cannot tell.")]
pub struct Diff {
    /// The recording before: a file or a folder
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The recording after; without it two moments of the first one are compared
    #[arg(value_name = "AFTER")]
    pub after: Option<PathBuf>,
    /// Compare memory in use at this moment, of BEFORE if there are two recordings [default with two: their peaks, and
    /// their ends]
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse, allow_hyphen_values = true)]
    pub from: Option<Moment>,
    /// With memory in use at this one, of AFTER if there are two recordings [default: end; with two: the same as --from]
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse, allow_hyphen_values = true)]
    pub to: Option<Moment>,
    /// How to print it
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportFormat,
    /// End with status 1 if a figure has grown by more than this: a share (5%) or a size (64MiB)
    #[arg(
        long,
        value_name = "THRESHOLD",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0%",
        value_parser = Threshold::parse
    )]
    pub fail_on_regression: Option<Threshold>,
    /// Figures to check [default: memory]
    #[arg(long, value_name = "FIGURES", value_delimiter = ',', value_enum, requires = "fail_on_regression")]
    pub regression_of: Vec<Compared>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub seen: Seen,
}

/// Figures that can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compared {
    /// Memory in use.
    Memory,
    /// Bytes of pages that moved.
    Moved,
    /// Page faults.
    Faults,
    /// Calls by the program.
    Calls,
    /// Time in them.
    Time,
}

impl Compared {
    /// As it is written.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Moved => "moved",
            Self::Faults => "faults",
            Self::Calls => "calls",
            Self::Time => "time",
        }
    }
}

impl From<Compared> for Figure {
    fn from(compared: Compared) -> Self {
        match compared {
            Compared::Memory => Self::Memory,
            Compared::Moved => Self::Moved,
            Compared::Faults => Self::Faults,
            Compared::Calls => Self::Calls,
            Compared::Time => Self::Time,
        }
    }
}

/// Other forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// `trace.log`: one event a line, read back without loss.
    Text,
}

/// `umtui export`.
#[derive(Args, Debug)]
pub struct Export {
    /// Recordings: files, folders, FIFOs, - for stdin
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Form to write
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// File to write; `-` for stdout
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub seen: Seen,
}

/// `umtui demo`.
#[derive(Args, Debug)]
pub struct Demo {
    /// Workload; see --list
    #[arg(value_name = "SCENARIO", default_value = "training")]
    pub scenario: String,
    /// List the workloads
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub recording: Recording,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub screen: Screen,
    /// Print the report when it has ended, instead of showing screens
    #[arg(long)]
    pub report: bool,
    /// How to print the report
    #[arg(long, value_enum, default_value = "text", requires = "report")]
    pub format: ReportFormat,
    /// Arguments for the workload, such as --rounds 20; without any, it lasts about a minute under screens and a
    /// moment otherwise
    #[arg(last = true, value_name = "WORKLOAD ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

/// `umtui doctor`.
#[derive(Args, Debug)]
pub struct Doctor {
    /// Say which functions of a libcudart or libcuda are traced, and how: a path, or a name such as libcuda.so.1
    #[arg(long, value_name = "LIB")]
    pub coverage: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value = "text", requires = "coverage")]
    pub format: ReportFormat,
}

/// `umtui env`.
#[derive(Args, Debug)]
pub struct Env {
    /// Folder for the recording; made if need be
    #[arg(short, long, value_name = "PATH", required = true)]
    pub output: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub extent: Extent,
}

/// `umtui config`.
#[derive(Args, Debug)]
pub struct ConfigArguments {
    #[command(subcommand)]
    #[allow(missing_docs)]
    pub command: ConfigCommand,
    /// Config file instead of the usual one
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

/// What to tell of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Print every setting with where it comes from
    Show,
    /// Say what is wrong with the config file; the exit status is 1 if anything is
    Check,
    /// Print which file is read
    Path,
    /// Print an example with every setting and its default
    Example,
}

/// `umtui symbolize`.
#[derive(Args, Debug)]
pub struct Symbolize {
    /// The recording
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
}

/// `umtui completions`.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
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
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

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
