//! What the heatmap asks for and what it gets.

pub use crate::memory::heat::{Measure, Sums};
use crate::trace::SiteId;

/// What cells are coloured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum HeatColour {
    /// Bytes that moved.
    #[default]
    Bytes,
    /// Faults.
    Faults,
    /// Bytes that moved back to where they had come from.
    Alternations,
    /// Where pages were at the end of each column.
    Residency,
}

impl HeatColour {
    /// All of them, in the order in which a key goes through them.
    pub const ALL: [Self; 4] = [Self::Bytes, Self::Faults, Self::Alternations, Self::Residency];

    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Faults => "faults",
            Self::Alternations => "alternations",
            Self::Residency => "residency",
        }
    }
}

/// Whose addresses are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum HeatSubject {
    /// Those of the busiest allocation.
    #[default]
    Busiest,
    /// All in which anything happened, without the gaps between.
    All,
    /// Those of one allocation: number of its process, first address.
    One(u16, u64),
    /// Those of the first process's allocation with this address in it.
    Holding(u64),
    /// Those of the allocation that a search has found at this row.
    Found(u64),
}

/// Which rows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeatRowsAt {
    /// All of them, of the size that fits.
    #[default]
    Fit,
    /// From this one on, counted from the lowest address; with the bits of a row's size.
    From(u8, u64),
    /// Such that this address (number of its process before it) is in this line, counted from the top.
    Around(u8, (u16, u64), u16),
}

/// Which columns are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeatTimeAt {
    /// The range of time that is looked at, or all, in columns of the width that fits.
    #[default]
    Fit,
    /// From a moment on, ns since the trace began, in columns of so many ns.
    From(u64, u64),
}

/// A picture that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HeatRequest {
    /// Whose addresses.
    pub subject: HeatSubject,
    /// By what cells are coloured.
    pub colour: HeatColour,
    /// Which rows.
    pub at: HeatRowsAt,
    /// Which columns.
    pub time: HeatTimeAt,
    /// Lines that there is room for.
    pub lines: u16,
    /// Columns that there is room for.
    pub columns: u16,
    /// The cell of which more is to be told: line and column.
    pub cursor: (u16, u16),
    /// Which of the allocations in that cell is meant: the row at which a search has found it.
    pub generation: Option<u64>,
    /// All that is known of that cell is wanted.
    pub details: bool,
}

/// What a cell shows beside its shade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeatMark {
    /// Nothing happened there.
    #[default]
    Nothing,
    /// Pages moved, mostly to devices, or from one to another.
    ToDevice,
    /// Pages moved, mostly to the host.
    ToHost,
    /// Pages moved as much the one way as the other.
    BothWays,
    /// Pages were prefetched, mostly to devices.
    AheadToDevice,
    /// Pages were prefetched, mostly to the host.
    AheadToHost,
    /// Pages had to leave.
    Evicted,
    /// Pages were mapped where they are.
    Mapped,
    /// Pages were wanted at several places.
    Thrashed,
    /// Pages were missed.
    Missed,
    /// Most pages were on the host.
    OnHost,
    /// Likewise on this device.
    OnDevice(u8),
    /// Likewise on several at once.
    OnSeveral,
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HeatCell {
    /// 0: nothing of what is coloured by; 1 to 4: see [`HeatRows::scale`].
    pub shade: u8,
    /// What it shows beside that.
    pub mark: HeatMark,
}

/// A line of cells.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HeatLine {
    /// Number of its process, and its first address.
    pub at: (u16, u64),
    /// First address after it.
    pub to: u64,
    /// Which of the places it is of, by how busy they are, from 1, if it is the lowest line of it.
    pub place: Option<usize>,
    /// Bytes from the beginning of that.
    pub offset: u64,
    /// The cells.
    pub cells: Vec<HeatCell>,
}

/// What is known of the cursor's cell.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HeatPoint {
    /// The allocation there: kind, size, call site; or that none is known.
    pub label: String,
    /// Code that made it.
    pub site: Option<SiteId>,
    /// Its row among what a search looks through.
    pub generation: Option<u64>,
    /// Number of the process, first address and first address after it.
    pub at: (u16, u64, u64),
    /// Begin and end, ns since the trace began.
    pub ns: (u64, u64),
    /// What happened; `None`: it is being counted.
    pub sums: Option<Sums>,
    /// That in words: name and amount of each.
    pub happened: Vec<(&'static str, String)>,
    /// Kernels that ran then, with how many of each, the most first.
    pub kernels: Vec<(String, u64)>,
    /// Further kernels.
    pub more_kernels: usize,
    /// All that is known, as names and values, if it was asked for.
    pub details: Option<Vec<(String, String)>>,
    /// More of that is on its way.
    pub more_details: bool,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HeatRows {
    /// Why there is none.
    pub why_empty: Option<String>,
    /// What is shown, in a line: an allocation, or all.
    pub label: String,
    /// Whose addresses these are, never [`HeatSubject::Busiest`].
    pub subject: HeatSubject,
    /// Which of the places it is by how busy it is, from 1; 0: all.
    pub number: usize,
    /// Places in which anything happened.
    pub places: usize,
    /// The next busy one, and the one before.
    pub next: HeatSubject,
    /// The one before.
    pub previous: HeatSubject,
    /// Bits of a row's size.
    pub bits: u8,
    /// Number of the lowest row that is shown, and of all rows.
    pub first: u64,
    /// Rows in all.
    pub total: u64,
    /// Line of the address that rows were asked to be shown around.
    pub found: Option<u16>,
    /// Where the allocation that a search has found begins to show: line and column.
    pub found_cell: Option<(u16, u16)>,
    /// Begin of the first column, ns since the trace began.
    pub from_ns: u64,
    /// Width of a column, ns.
    pub column_ns: u64,
    /// All time there is to see, ns since the trace began.
    pub span: (u64, u64),
    /// The lines, the highest address first.
    pub lines: Vec<HeatLine>,
    /// What moved in each column, over all lines.
    pub moves: Vec<HeatMark>,
    /// Share of each column in which kernels ran, thousandths; empty where none were recorded.
    pub kernels: Vec<u16>,
    /// From how much on a cell has the second, third and fourth shade: bytes or faults.
    pub scale: [u64; 3],
    /// Faults were recorded.
    pub has_faults: bool,
    /// The cursor's cell.
    pub point: Option<HeatPoint>,
    /// Not everything has been taken or drawn yet: cells are about right.
    pub partial: bool,
}
