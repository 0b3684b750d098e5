//! What the memory screen asks of the session, and what it gets.

pub use crate::correlate::AllocationKind;

use crate::filter::Condition;

/// Which allocation it is, also when others have become known since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AllocationId {
    /// Number of the process in the trace.
    pub process: u16,
    /// Thread of the call that made it, as [`EventsAt::Call`] has it.
    ///
    /// [`EventsAt::Call`]: crate::session::view::EventsAt::Call
    pub thread: u32,
    /// Row of that call.
    pub row: u64,
    /// First address or handle.
    pub address: u64,
    /// When that call began, ns on the trace's axis.
    pub from_ns: u64,
}

/// A column of the table of allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum AllocationColumn {
    Address,
    Size,
    Kind,
    Device,
    Site,
    Thread,
    Made,
    Lifetime,
    Moved,
    MovedBack,
    Faults,
    State,
}

/// What allocations are summed up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MemoryGrouping {
    /// The code that asked for them.
    #[default]
    Site,
    /// Their kind.
    Kind,
    /// The device they were asked for.
    Device,
}

/// A column of the table of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupColumn {
    /// What they have in common.
    Name,
    /// How many there were.
    Count,
    /// Bytes of all of them.
    Bytes,
    /// The most bytes in use at a moment.
    Peak,
    /// Bytes in use at the moment of the plot.
    Then,
    /// How many are in use at the end.
    LiveCount,
    /// Bytes in use at the end.
    Live,
}

/// A window of the table of allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationsRequest {
    /// Sort column, and whether the largest comes first.
    pub sort: (AllocationColumn, bool),
    /// Only those that are in use at the moment of the plot.
    pub in_use: bool,
    /// The cursor's allocation: its row comes back, and the window moves so that it is inside.
    pub cursor: Option<AllocationId>,
    /// The one of which everything is wanted that is known.
    pub details: Option<AllocationId>,
    /// First row wanted.
    pub first: u64,
    /// Rows wanted.
    pub rows: usize,
}

/// A window of the table of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupsRequest {
    /// What they are summed up by.
    pub by: MemoryGrouping,
    /// Sort column, and whether the largest comes first.
    pub sort: (GroupColumn, bool),
    /// First row wanted.
    pub first: u64,
    /// Rows wanted.
    pub rows: usize,
}

/// What the memory screen shows below its plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "one for each tab")]
pub enum MemoryPart {
    Allocations(AllocationsRequest),
    Groups(GroupsRequest),
}

/// What the memory screen wants to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRequest {
    /// Cells of the plot of bytes in use.
    pub plot: u16,
    /// The moment that is looked at, ns since the trace began; `None`: the newest.
    pub moment: Option<u64>,
    /// What stands below it.
    pub part: MemoryPart,
}

/// How an allocation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllocationState {
    /// It was not released, and its process has ended.
    Leaked,
    /// It was not released, and may be yet.
    InUse,
    /// It ended, and nobody saw how.
    Gone,
    /// A call released it.
    Freed,
}

/// A row of the table of allocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationRow {
    /// Which one it is.
    pub id: AllocationId,
    /// First address; of kinds without one `None`.
    pub address: Option<u64>,
    /// Allocations that lay at the same address before.
    pub generation: u64,
    /// Bytes; `None`: not recorded.
    pub bytes: Option<u64>,
    /// Kind.
    pub kind: AllocationKind,
    /// Device, if one is known.
    pub device: Option<u8>,
    /// Code that asked for it.
    pub site: String,
    /// Thread that asked for it.
    pub thread: String,
    /// When the call that made it began, ns since the trace began.
    pub from_ns: u64,
    /// When it was released, ns since the trace began; `None`: it was not.
    pub until_ns: Option<u64>,
    /// Up to when it is known to have been there, ns since the trace began.
    pub seen_ns: u64,
    /// How it stands.
    pub state: AllocationState,
    /// Bytes of its pages that moved; `None`: not recorded.
    pub moved: Option<u64>,
    /// Bytes of them that moved back to where they had come from; `None`: not recorded.
    pub moved_back: Option<u64>,
    /// Faults in it; `None`: not recorded.
    pub faults: Option<u64>,
    /// What the events about it are like; `None` if no filter can say it.
    pub like: Option<Condition>,
}

/// Rows of the table of allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocationsRows {
    /// Rows in all.
    pub total: u64,
    /// Number of the first row here.
    pub first: u64,
    /// Row of the cursor's allocation, if it is still there.
    pub cursor: Option<u64>,
    /// The rows.
    pub rows: Vec<AllocationRow>,
    /// Names and values of the one asked for.
    pub details: Option<(AllocationId, Vec<(String, String)>)>,
}

/// A row of the table of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// What they have in common.
    pub name: String,
    /// Whether they add to the memory in use.
    pub counted: bool,
    /// How many there were.
    pub count: u64,
    /// Bytes of all of them; `None`: of none the size is recorded.
    pub bytes: Option<u64>,
    /// The most bytes in use at a moment; `None` likewise.
    pub peak: Option<u64>,
    /// Bytes in use at the moment of the plot; `None` likewise.
    pub then: Option<u64>,
    /// How many are in use at the end.
    pub live_count: u64,
    /// Bytes in use at the end; `None` likewise.
    pub live: Option<u64>,
    /// What the events about them are like; `None` if no filter can say it.
    pub like: Option<Condition>,
}

/// Rows of the table of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupRows {
    /// Rows in all.
    pub total: u64,
    /// Number of the first row here.
    pub first: u64,
    /// The rows.
    pub rows: Vec<GroupRow>,
}

/// Bytes in use over time. All of it is of the whole trace, whatever a lens hides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LivePlot {
    /// Of each cell the most bytes that were in use.
    pub most: Vec<u64>,
    /// The time of all cells, ns; the first one begins when the trace does.
    pub length_ns: u64,
    /// The most bytes in use at any moment.
    pub peak_bytes: u64,
    /// The first such moment, ns since the trace began.
    pub peak_ns: u64,
    /// Who held most of it then, in a few words.
    pub peak_held: String,
    /// The moment that is looked at, ns since the trace began.
    pub moment_ns: u64,
    /// Bytes in use then.
    pub moment_bytes: u64,
}

/// Rows of one tab.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "one for each tab")]
pub enum MemoryPartRows {
    Allocations(AllocationsRows),
    Groups(GroupRows),
}

/// The memory screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRows {
    /// Bytes in use over time.
    pub plot: LivePlot,
    /// What stands below it.
    pub part: MemoryPartRows,
    /// Not everything has been looked at yet: numbers still grow.
    pub partial: bool,
    /// Why there is nothing, and what would be.
    pub why_empty: Option<String>,
}
