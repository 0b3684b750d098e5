//! What the memory screen asks of the session, and what it gets.

pub use super::blocks::{BlockRow, BlocksRequest, BlocksRows, KnownBy};
pub use super::transfers::{
    Busiest, LinkEnd, LinkOptions, Side, TransferRow, TransferRows, Transferred, TransfersRequest, Way,
};
pub use crate::correlate::AllocationKind;

use crate::filter::Condition;
use crate::lens::Moment;

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

/// What allocations of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupKey {
    /// The code that asked for them: number of a call site in the trace, the first of those that are called alike.
    Site(u32),
    /// Their kind.
    Kind(AllocationKind),
    /// The device they were asked for; `None`: none is known.
    Device(Option<u8>),
}

/// What growth is summed up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GrowthGrouping {
    /// The code that asked, and the size.
    #[default]
    Site,
    /// The part of the address space.
    Range,
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
    /// How many were temporary.
    Temporary,
}

/// A window of the table of allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationsRequest {
    /// Sort column, and whether the largest comes first.
    pub sort: (AllocationColumn, bool),
    /// Only those that are in use at the moment of the plot.
    pub in_use: bool,
    /// Only those of this group.
    pub only: Option<GroupKey>,
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

/// A window of what has grown since an earlier moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrowthRequest {
    /// The earlier moment, ns since the trace began; `None`: its beginning. The later one is that of the plot.
    pub since: Option<u64>,
    /// What it is summed up by.
    pub by: GrowthGrouping,
    /// First row wanted.
    pub first: u64,
    /// Rows wanted.
    pub rows: usize,
}

/// A window of the table of pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolsRequest {
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
    Growth(GrowthRequest),
    Pools(PoolsRequest),
    Transfers(TransfersRequest),
    Blocks(BlocksRequest),
}

/// What the memory screen wants to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRequest {
    /// Cells of the plot of bytes in use.
    pub plot: u16,
    /// The moment that is looked at, ns since the trace began; `None`: the newest.
    pub moment: Option<u64>,
    /// A moment to be found, which is looked at instead.
    pub goal: Option<Moment>,
    /// What stands below it.
    pub part: MemoryPart,
}

/// How an allocation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllocationState {
    /// It was not released, and its process has ended.
    Leaked,
    /// It was not released, and its process has ended; a caching allocator kept it.
    Cached,
    /// It was not released, and may be yet.
    InUse,
    /// It ended, and nobody saw how.
    Gone,
    /// A call released it.
    Freed,
    /// Likewise, before its thread had asked for any other: short-lived memory that could be kept.
    Temporary,
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
    pub key: GroupKey,
    /// The same in words.
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
    /// How many were temporary, released before their thread had asked for another, and bytes of those.
    pub temporary: (u64, u64),
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

/// What was there of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldThen {
    /// Allocations.
    pub count: u64,
    /// Bytes of them; `None`: of none the size is recorded.
    pub bytes: Option<u64>,
}

/// A row of what has grown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowthRow {
    /// The code that asked, or the part of the address space.
    pub name: String,
    /// Largest size of those that are summed up, in words; empty where sizes are not told apart.
    pub class: String,
    /// What there was.
    pub before: HeldThen,
    /// What there is.
    pub after: HeldThen,
    /// By how many bytes it has grown; `None`: the sizes of one side are not recorded.
    pub bytes: Option<i64>,
    /// By how many allocations.
    pub count: i64,
    /// What became of it, in a word.
    pub verdict: &'static str,
    /// What the events about it are like; `None` if no filter can say it.
    pub like: Option<Condition>,
}

/// Rows of what has grown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrowthRows {
    /// Rows in all.
    pub total: u64,
    /// Number of the first row here.
    pub first: u64,
    /// The rows.
    pub rows: Vec<GrowthRow>,
    /// All that there was, without what adds nothing to the memory in use.
    pub before: HeldThen,
    /// All that there is, likewise.
    pub after: HeldThen,
}

/// A memory pool. What the driver alone knows is known where a call asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRow {
    /// Where it comes from, and its device.
    pub name: String,
    /// Its handle, if it is known.
    pub handle: Option<String>,
    /// Allocations from it.
    pub count: u64,
    /// Bytes of those that are in use at the end.
    pub used: u64,
    /// The most bytes in use at a moment.
    pub peak: u64,
    /// Bytes of the device that it held when a call asked last; `None`: none did.
    pub reserved: Option<u64>,
    /// Share of that which was not in use, thousandths: kept for later, or broken up.
    pub unused: Option<u16>,
    /// Bytes that it keeps when nothing waits for them; `None`: no call told it.
    pub keeps: Option<u64>,
    /// All that is known of it.
    pub details: Vec<(String, String)>,
}

/// Rows of the table of pools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolRows {
    /// Rows in all.
    pub total: u64,
    /// Number of the first row here.
    pub first: u64,
    /// The rows.
    pub rows: Vec<PoolRow>,
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
    /// What the driver said of a device's memory; `None`: nothing.
    pub told: Option<ToldPlot>,
}

/// Bytes of a device that were in use, by whomever, as the driver said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldPlot {
    /// The device that most was said of.
    pub device: String,
    /// How many other devices something was said of.
    pub others: u64,
    /// Of each cell the most bytes in use that were told; `None`: nothing was.
    pub most: Vec<Option<u64>>,
    /// When it was said last, ns since the trace began.
    pub at_ns: u64,
    /// Bytes in use then.
    pub used: u64,
    /// Bytes of the device.
    pub total: u64,
    /// Who was asked: `cudaMemGetInfo`, `NVML`, or both.
    pub by: &'static str,
}

/// Rows of one tab.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "one for each tab")]
pub enum MemoryPartRows {
    Allocations(AllocationsRows),
    Groups(GroupRows),
    Growth(GrowthRows),
    Pools(PoolRows),
    Transfers(TransferRows),
    Blocks(BlocksRows),
}

/// The memory screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRows {
    /// Bytes in use over time.
    pub plot: LivePlot,
    /// What stands below it.
    pub part: MemoryPartRows,
    /// Devices: what each is called, and what the driver says of it.
    pub devices: Vec<(String, String)>,
    /// The moment that was to be found, ns since the trace began, where it is not the newest; or why there is none.
    pub found: Option<Result<Option<u64>, String>>,
    /// Not everything has been looked at yet: numbers still grow.
    pub partial: bool,
    /// Share of the records of unified memory that have been looked at for what moved, thousandths; `None`: none are just now.
    pub moved_share: Option<u16>,
    /// Why there is nothing, and what would be.
    pub why_empty: Option<String>,
}
