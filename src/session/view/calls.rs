//! What the calls screen asks for and gets.

use std::sync::Arc;

use crate::graph::{Column, Folds, Grouping, NodeKey, NodeKind};

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
