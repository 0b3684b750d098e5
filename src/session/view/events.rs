//! What the events screen asks for and gets.

use super::{EventGroup, EventKinds};
use crate::graph::{Grouping, NodeKey};

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
