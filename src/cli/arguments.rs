//! What may stand on the command line.

mod recording;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use recording::{Draining, Extent, Recording};

use super::links::Links;
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
    /// Write recordings and traces of other tools into one small file, which opens as they do
    Pack(Pack),
    /// Look up the names of call sites and keep them beside the recording
    Symbolize(Symbolize),
    /// Print shell completions
    Completions(Completions),
    /// Print the manual page
    Man,
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

/// `umtui pack`.
#[derive(Args, Debug)]
pub struct Pack {
    /// Recordings and traces: files, folders, FIFOs, - for stdin
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// File to write, usually NAME.umtp; - for stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
