//! Joins of what was recorded by different doors: work of the GPU to the calls that submitted it, and how well the two
//! clocks agree.

pub mod allocation;
pub mod allocator;
pub mod calls;
pub mod device_memory;
pub mod failure;
pub mod graph;
mod graph_contents;
pub mod graph_memory;
#[cfg(test)]
pub(crate) mod made;
pub mod nodes;
pub mod order;
pub mod pools;
mod reason;
pub mod suspect;
pub mod usage;

pub use allocation::{Allocation, AllocationFinder, AllocationKind, Allocations, End, Holding, Refused};
pub use allocator::Allocator;
pub use failure::{Failed, Failure, Failures};
pub use graph::{Graph, graphs};
pub use graph_memory::GraphMemory;
pub use order::{Order, order};
pub use pools::{Pool, PoolOrigin, Pools, PoolsFinder, PoolsReady};
pub use usage::{Usage, Use, UseKind, Uses};

use crate::trace::activity::Near;
use crate::trace::{Call, ProcessId, Trace, TrackId};

/// The call that submitted the work with a correlation id: its thread, row and contents. `None` where that is not known.
#[must_use]
pub fn submitting_call(trace: &Trace, process: ProcessId, correlation: u32) -> Option<(TrackId, usize, Call)> {
    let submit = trace.activities.of(process)?.submits.find(correlation)?;
    let row = submit.row as usize;
    Some((submit.track, row, trace.track(submit.track)?.call(row)?))
}

/// Likewise thread and row alone, quicker where the last one that was looked for with the same `near` is not far.
#[must_use]
pub fn submitting_row(
    trace: &Trace,
    process: ProcessId,
    correlation: u32,
    near: &mut Near,
) -> Option<(TrackId, usize)> {
    let submit = trace.activities.of(process)?.submits.find_near(correlation, near)?;
    let row = submit.row as usize;
    (row < trace.track(submit.track)?.len()).then_some((submit.track, row))
}
