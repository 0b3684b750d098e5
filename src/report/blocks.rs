//! What a report has rows and blocks of.

use serde::Serialize;

use crate::graph::Stats;
use crate::lens::TimeRange;
use crate::session::Loaded;
use crate::session::clocks::FileClock;
use crate::session::left_out::LeftOut;
use crate::trace::Layer;

/// The trace as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TraceBlock {
    pub files: Vec<String>,
    /// `native`, `text` or `mixed`.
    pub format: &'static str,
    pub threads: u64,
    pub streams: u64,
    pub devices: u64,
    /// First event, ns since 1970; `None` if the time of day is not known.
    pub start_unix_ns: Option<u64>,
    pub duration_ns: u64,
    /// Calls that have ended.
    pub calls: u64,
    /// Calls that have ended, records of the GPU, ranges and marks: what a lens shows and hides together.
    pub events: u64,
    pub lost: u64,
    /// Events of a stream from before it was joined.
    pub missed: u64,
    /// Older events that made room for newer ones.
    pub discarded: u64,
    /// What the recording was told to leave out.
    pub left_out: Vec<LeftOut>,
    /// Something is missing at the end or in the middle.
    pub truncated: bool,
    /// What the hook added to each call by its own measure, ps, and of the run, millionths; `None`: not measured.
    pub cost: Option<(u64, u64)>,
    /// What recording cost, in words.
    pub costs: Option<String>,
    /// How the times of each file came to be those of one axis.
    pub clocks: Vec<FileClock>,
    /// The same in a line, where they are not of one clock.
    pub clocks_line: Option<String>,
    /// Levels of evidence, `E1`.
    pub evidence: Vec<String>,
}

/// The lens through which the numbers were seen. Those of the trace and of its processes are of all events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LensBlock {
    /// The filter, as it was given.
    pub filter: Option<String>,
    /// From, since the trace's first event, ns.
    pub from_ns: Option<u64>,
    /// To; `None`: to the end.
    pub to_ns: Option<u64>,
    /// Which turns of which range that is; `None` if time was asked for as such.
    pub steps: Option<Step>,
    /// Events that it lets through: calls, records of the GPU, ranges and marks.
    pub shown: u64,
    /// Events that it does not.
    pub hidden: u64,
    /// Of those let through the ones that begin before the range of time or end after it; they count whole.
    pub cut: u64,
}

/// Turns of a range that a report is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// As they were asked for: `step:3`.
    pub asked: String,
    /// Name of the range, with `*` for numbers that change.
    pub range: String,
    /// How many turns there are.
    pub turns: u64,
}

impl LensBlock {
    pub(super) fn of(loaded: &Loaded) -> Option<Self> {
        let status = loaded.lens_status()?;
        let steps = status.steps.clone();
        let range = match &loaded.lens().range {
            Some(TimeRange::Time(from, to)) => Some((*from, *to)),
            Some(TimeRange::Steps(_)) => steps.as_ref().and_then(|steps| steps.ns),
            None => None,
        };
        Some(Self {
            steps: steps.map(|steps| Step {
                range: steps.name,
                turns: steps.turns,
                asked: loaded.lens().range.as_ref().map(ToString::to_string).unwrap_or_default(),
            }),
            filter: loaded.lens().condition.as_ref().map(|_| loaded.filter_text().to_owned()),
            from_ns: range.map(|(from, _)| from),
            to_ns: range.map(|(_, to)| to).filter(|&to| to != u64::MAX),
            shown: status.shown,
            hidden: status.hidden,
            cut: status.cut,
        })
    }
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Process {
    pub pid: u32,
    pub parent_pid: u32,
    /// Recorded ancestors.
    pub depth: u16,
    pub rank: Option<u32>,
    pub local_rank: Option<u32>,
    /// `running`, `ended`, `gone` (killed, crashed or by `_exit`), `became` (another program, by exec) or `stopped`
    /// (recorded no further).
    pub state: &'static str,
    /// Its file, index into [`TraceBlock::files`].
    pub file: usize,
    /// The file's name, where another has a process of the same number.
    pub of_file: Option<String>,
    pub program: String,
    pub host: String,
    pub calls: u64,
    pub lost: u64,
    pub alive: bool,
    /// Why its recording is not what it could be.
    pub trouble: Option<String>,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Api {
    /// Its name.
    pub name: String,
    /// Runtime or driver.
    pub layer: Layer,
    /// What the profiler that recorded its calls calls it, if that is not its name.
    pub recorded_as: Option<String>,
    /// Its calls.
    pub stats: Stats,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Process id.
    pub process: u32,
    /// Thread id.
    pub thread: u32,
    /// Name, empty if not recorded.
    pub name: String,
    /// Its calls, nested ones included.
    pub calls: u64,
    /// Time in calls made by the program, ns.
    pub total_ns: u64,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Process id.
    pub process: u32,
    /// Device, if it is known.
    pub device: Option<u8>,
    /// Handle; 0 and 2 for the default ones. `None`: only the driver's ids are known.
    pub stream: Option<u64>,
    /// Calls made by the program that name it; where only the driver's ids are known, what ran in it.
    pub operations: u64,
    /// CUPTI's ids of its context and of itself, if anything was recorded that ran in it.
    pub ids: Option<(u32, u32)>,
    /// Time during which anything ran in it, ns; `None`: not recorded.
    pub busy_ns: Option<u64>,
}

/// A function of which calls failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Function.
    pub name: String,
    /// Its calls.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// The commonest error of the newest.
    pub error: Option<String>,
}
