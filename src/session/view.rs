//! What a screen asks of the session and what it gets: rows that are ready to draw.
//!
//! A request names a window of rows; the answer holds just those, prepared between two batches of events. The
//! newest request wins. Text in an answer is already safe for the terminal (control characters escaped).

use std::sync::Arc;

pub use super::event_kinds::{EventGroup, EventKinds, EventsWithin};
pub use super::family::Standing;
pub use super::heat::glyphs::{HEAT_HOMES, HEAT_LEGEND, heat_glyph, heat_letter, heat_shades};
pub use super::heat::view::{
    HeatCell, HeatColour, HeatLine, HeatMark, HeatPoint, HeatRequest, HeatRows, HeatRowsAt, HeatSubject, HeatTimeAt,
    Measure, Sums,
};
pub use super::memory::ask::*;
pub use super::search::{
    About, Entry, EntryKind, Found, From as SearchFrom, SearchAnswer, SearchRequest, Step, Target,
};

pub use crate::lens::{Lens, Moment, RangeError, Steps, StepsFound, TimeRange, parse_range};

pub use crate::graph::{Column, Folds, Grouping, NodeKey, NodeKind};

pub use crate::trace::value::rate;

/// Rows of the calls screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallsRequest {
    /// How calls are put together.
    pub grouping: Grouping,
    /// Sort column, and whether the largest comes first.
    pub sort: (Column, bool),
    /// Which nodes are open.
    pub folds: Arc<Folds>,
    /// The cursor's node: its row comes back, and the window moves so that it is inside.
    pub cursor: Option<NodeKey>,
    /// First row wanted.
    pub first: usize,
    /// Rows wanted.
    pub rows: usize,
}

/// Where a window of events lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventsAt {
    /// From this row on.
    Row(u64),
    /// From the first event that starts at or after this time, ns since the trace began.
    Time(u64),
    /// The newest.
    End,
    /// Around this row; it is found.
    Number(u64),
    /// Around the call that allocated the memory at this address, if one is known.
    Address(u64),
    /// Where this call stands: thread and row of it, as an event's [`EventRow::launched_by`] has them.
    Call(u32, u64),
}

/// Rows of the events screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventsRequest {
    /// Only the events behind this node of the calls tree under this grouping.
    pub node: Option<(Grouping, NodeKey)>,
    /// Where the window lies.
    pub at: EventsAt,
    /// Rows wanted.
    pub rows: usize,
    /// Kinds of events that are shown.
    pub kinds: EventKinds,
    /// The row of which more is wanted than it says itself.
    pub details: Option<u64>,
}

/// Lines of the child's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputRequest {
    /// First line wanted; `u64::MAX` for the newest.
    pub first: u64,
    /// Lines wanted.
    pub rows: usize,
}

/// What a screen wants to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// The overview; as many entries in its lists as fit this many rows and columns.
    Overview {
        /// Rows of the body.
        rows: u16,
        /// Columns of the body.
        columns: u16,
    },
    /// The calls screen.
    Calls(CallsRequest),
    /// The events screen.
    Events(EventsRequest),
    /// The heatmap.
    Heatmap(HeatRequest),
    /// The memory screen.
    Memory(MemoryRequest),
    /// The output screen.
    Output(OutputRequest),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewRequest {
    /// Comes back with the answer; the newest wins.
    pub id: u64,
    /// What is wanted.
    pub view: View,
    /// What is looked for there.
    pub search: Option<SearchRequest>,
    /// What it is seen through.
    pub lens: Lens,
}

/// How the trace stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// Being read for the first time; the share that is read, in thousandths.
    Opening(u16),
    /// No process has been seen yet; one may come.
    Waiting,
    /// A process is writing it.
    Live,
    /// Complete.
    #[default]
    Ended,
}

/// The title line, with every answer.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Status {
    /// Program and process id, or the file's name.
    pub name: String,
    /// How the trace stands.
    pub phase: Phase,
    /// From the first event to the newest (live: to now), ns.
    pub elapsed_ns: u64,
    /// Calls in the last second; `None` when not live.
    pub calls_per_second: Option<u64>,
    /// Calls so far.
    pub calls: u64,
    /// Calls that the hook could not record.
    pub lost: u64,
    /// Bytes or files that could not be read, in one line.
    pub damage: Option<String>,
    /// What else is to be known of imported files, in one line.
    pub note: Option<String>,
    /// What is seen is only of so many bytes at the beginning of imported files.
    pub begun: Option<u64>,
    /// What tells the trace from others, whatever its files are called: host, process id and start of its first
    /// process. `None` until there is one.
    pub trace: Option<u64>,
    /// The child's exit, once it has ended: status as the shell counts it.
    pub exit: Option<i32>,
    /// How the lens stands; `None` without one.
    pub lens: Option<LensStatus>,
}

/// How a lens stands. Counted are calls that have ended, records of the GPU, ranges and marks.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LensStatus {
    /// Events that it lets through.
    pub shown: u64,
    /// Events that it does not, or that have not been looked at yet.
    pub hidden: u64,
    /// Of those let through the ones that begin before its range of time or end after it; they count whole.
    pub cut: u64,
    /// Not everything has been looked at yet: numbers still grow.
    pub partial: bool,
    /// How much has been looked at, thousandths.
    pub done: u16,
    /// Why it cannot be used; then everything is shown.
    pub error: Option<String>,
    /// Of a lens that looks at steps, which these are: their time is since the trace began.
    pub steps: Option<StepsFound>,
}

/// A row of the calls screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRow {
    /// Identity.
    pub key: NodeKey,
    /// Depth in the tree, 0 for the roots.
    pub depth: u16,
    /// The node above it, wherever that is in the list; `None` for the roots.
    pub parent: Option<NodeKey>,
    /// Its child with the largest total, whatever the sort and whether open or not; `None` for a leaf.
    pub hottest: Option<NodeKey>,
    /// What stands in the name column.
    pub label: String,
    /// What kind of node it is.
    pub kind: NodeKind,
    /// `None`: a leaf. Else whether it is open.
    pub open: Option<bool>,
    /// Calls, failed ones included.
    pub count: u64,
    /// Calls that returned an error.
    pub failed: u64,
    /// Calls that have begun and not ended.
    pub running: u64,
    /// Sum of durations, ns.
    pub total_ns: u64,
    /// Sum of durations less nested calls, ns.
    pub self_ns: u64,
    /// Shortest, ns; `None` when no duration was recorded.
    pub min_ns: Option<u64>,
    /// Longest, ns.
    pub max_ns: Option<u64>,
    /// Median, ns, within the histogram's error.
    pub p50_ns: Option<u64>,
    /// 99th percentile, ns, within the histogram's error.
    pub p99_ns: Option<u64>,
    /// Total as a share of all calls' total, thousandths; of what the GPU did, of all its work's, or of all that unified
    /// memory did.
    pub share: u16,
    /// What the GPU did: at this row if it stands for such, else below it.
    pub gpu: GpuPart,
}

/// What the GPU and the driver did at or below a row of the calls screen. `None` where there is nothing of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GpuPart {
    /// Kernels, copies, sets and graphs below: how many.
    pub pieces: Option<u64>,
    /// Sum of their durations, ns.
    pub work_ns: Option<u64>,
    /// Bytes: of a row of copies, sets or migrations all of them, else those of migrations below.
    pub bytes: Option<u64>,
}

/// Launches of a kernel, those without times left out.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Launches {
    /// How many were compared: of very many only every so many.
    pub compared: u64,
    /// The half with the shorter durations.
    pub fast: Option<Half>,
    /// The other half.
    pub slow: Option<Half>,
    /// Grid and block of the slowest launch, x, y, z.
    pub grid: Option<([u32; 3], [u16; 3])>,
    /// Code that launched it, with how often.
    pub sites: Vec<(String, u64)>,
    /// Further places in code.
    pub more_sites: usize,
}

/// Half of a kernel's launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Half {
    /// Shortest duration, ns.
    pub min_ns: u64,
    /// Longest, ns.
    pub max_ns: u64,
    /// Bytes of the pages that moved to or from the device while any of them ran; `None`: not recorded.
    pub moved: Option<u64>,
}

/// Rows of the calls screen.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CallsRows {
    /// Rows in all.
    pub total: usize,
    /// Number of the first row here.
    pub first: usize,
    /// Row of the cursor's node, if it is still there.
    pub cursor: Option<usize>,
    /// The rows.
    pub rows: Vec<CallRow>,
    /// Half-width of the percentiles' error, per cent.
    pub quantile_error_pct: u8,
    /// The time that the rows are of, ns: the trace's, or the range that is looked at.
    pub span_ns: u64,
    /// Of the cursor's node, if that is a kernel.
    pub launches: Option<(NodeKey, Launches)>,
    /// Of the cursor's node, if it is a call site or below one, file and line of that, where they are known.
    pub source: Option<(NodeKey, String, u32)>,
}

/// How an event ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded, or returns no status.
    Done,
    /// It returned an error.
    Failed,
    /// It has begun and not ended.
    Running,
    /// Only its beginning was seen.
    EntryOnly,
}

/// A row of the events screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// What kind of event it is.
    pub group: EventGroup,
    /// Start, ns since the trace began.
    pub start_ns: u64,
    /// Duration; `None` if it was not seen.
    pub duration_ns: Option<u64>,
    /// Process id.
    pub pid: u32,
    /// Thread id; zero for what no thread did.
    pub thread: u32,
    /// Thread name; of what no thread did where it happened, `GPU 0`.
    pub thread_name: String,
    /// Nesting, 0 for calls made by the program.
    pub depth: u8,
    /// Function; of other events what happened.
    pub name: String,
    /// Arguments as text, `ptr=0x7f.. bytes=64 MiB`.
    pub arguments: String,
    /// Result as text, empty for success.
    pub result: String,
    /// What the profiler that recorded a call calls its function, if that is not its name; else empty.
    pub recorded_as: String,
    /// Call site as text.
    pub site: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Of work of the GPU the call that submitted it, if it is known: thread and row, for [`EventsAt::Call`].
    pub launched_by: Option<(u32, u64)>,
}

/// Rows of the events screen, by start.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EventsRows {
    /// Events in all.
    pub total: u64,
    /// Number of the first row here.
    pub first: u64,
    /// The rows.
    pub rows: Vec<EventRow>,
    /// The row asked for by anything but [`EventsAt::Row`] and [`EventsAt::End`], if it is there.
    pub found: Option<u64>,
    /// More about the row asked for: its number, names and values.
    pub details: Option<(u64, Vec<(String, String)>)>,
}

/// What is known of one process, for the overview.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ProcessRow {
    /// Process id.
    pub pid: u32,
    /// Program's file name, and its rank if a launcher gave it one.
    pub program: String,
    /// How deep under the processes above it that started it, of those that are here.
    pub depth: u16,
    /// It is the same process as the one above it, which has become this program by exec.
    pub became: bool,
    /// It has itself become another program.
    pub went_on: bool,
    /// It ended with its exit handlers.
    pub in_order: bool,
    /// Its file has been removed while it was shown.
    pub removed: bool,
    /// Host.
    pub host: String,
    /// Calls recorded.
    pub calls: u64,
    /// Calls lost.
    pub lost: u64,
    /// Whether it still runs.
    pub alive: bool,
    /// Why recording stopped early, if it did.
    pub trouble: Option<String>,
}

/// A function in the overview's "time goes to".
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TopRow {
    /// Nesting under the row before it.
    pub depth: u16,
    /// Function.
    pub name: String,
    /// The function or kernel.
    pub what: Option<crate::graph::What>,
    /// What its events are like; `None` if no filter can say it.
    pub like: Option<crate::filter::Condition>,
    /// Sum of durations, ns.
    pub total_ns: u64,
    /// Total as a share of the summed duration of all outermost calls, thousandths.
    pub total_share: u16,
    /// Likewise, without nested calls.
    pub self_share: u16,
    /// Calls.
    pub count: u64,
}

/// The overview.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Overview {
    /// Processes with the hook, parents before their children: the busiest ones, as many as asked for.
    pub processes: Vec<ProcessRow>,
    /// How many of all stand how.
    pub standing: Standing,
    /// Processes in all.
    pub process_count: usize,
    /// What is seen, in words.
    pub sees: Vec<String>,
    /// What is not, each with the reason and what to do.
    pub not: Vec<String>,
    /// How the times of several files compare, if they are not of one clock.
    pub clocks: Option<String>,
    /// What recording itself costs, if it was measured.
    pub costs: Option<String>,
    /// Calls a second over the last minute (live) or over the whole trace, oldest first.
    pub calls_history: Vec<u32>,
    /// ns that one entry of the history covers.
    pub history_step_ns: u64,
    /// Devices: what each is called, and what is known of it.
    pub devices: Vec<(String, String)>,
    /// Pages that moved to devices and to the host; empty if none did.
    pub moved: Vec<Moved>,
    /// Kernels by total; shares are of all kernels' time.
    pub kernels: Vec<TopRow>,
    /// Kernels beyond those.
    pub more_kernels: usize,
    /// Functions by total.
    pub top: Vec<TopRow>,
    /// Functions beyond `top`, and their share, thousandths.
    pub rest: (usize, u16),
    /// Calls that failed.
    pub failed: u64,
    /// The function that failed most, with its most frequent error.
    pub worst_failure: Option<String>,
    /// The first error after which nothing works any more, in a line.
    pub sticky_failure: Option<String>,
    /// The longest call now running: function, thread, ns so far.
    pub running: Option<(String, String, u64)>,
    /// Why nothing is to be seen, once nothing has come for three seconds.
    pub silence: Option<String>,
    /// Where the recording is written.
    pub recording: Option<String>,
}

/// Pages that moved in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Moved {
    /// To devices, or to the host.
    pub to_device: bool,
    /// KiB a second, at the same steps as the history of calls.
    pub history: Vec<u32>,
    /// Bytes in the last second of which all is known; `None` when not live.
    pub per_second: Option<u64>,
    /// Bytes in all.
    pub bytes: u64,
    /// How often.
    pub count: u64,
    /// Why, in a word each, the commonest first.
    pub causes: Vec<String>,
}

/// Lines of the output screen.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OutputRows {
    /// Lines in all.
    pub total: u64,
    /// Number of the first line here.
    pub first: u64,
    /// Lines, and whether each came from stderr.
    pub lines: Vec<(bool, String)>,
    /// Why there is none.
    pub why_empty: Option<String>,
}

/// The rows of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, clippy::large_enum_variant, reason = "one for each view; few are alive at a time")]
pub enum Body {
    Overview(Overview),
    Calls(CallsRows),
    Events(EventsRows),
    Heatmap(HeatRows),
    Memory(MemoryRows),
    Output(OutputRows),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request's.
    pub id: u64,
    /// Grows with every change of the trace.
    pub epoch: u64,
    /// The title line.
    pub status: Status,
    /// The rows.
    pub body: Body,
    /// How the search stands, if something is looked for.
    pub search: Option<SearchAnswer>,
}
