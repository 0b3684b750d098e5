//! What a screen asks of the session and what it gets: rows that are ready to draw.
//!
//! A request names a window of rows; the answer holds just those, prepared between two batches of events. The
//! newest request wins. Text in an answer is already safe for the terminal (control characters escaped).

mod calls;
mod events;
mod overview;

pub use calls::{CallRow, CallsRequest, CallsRows, GpuPart, Half, Launches};
pub use events::{EventRow, EventsAt, EventsRequest, EventsRows, Outcome};
pub use overview::{Moved, Overview, ProcessRow, TopRow};

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

pub use crate::trace::MADE_UP;
pub use crate::trace::value::rate;

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
