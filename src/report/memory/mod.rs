//! What is known of memory beside how much there was of it: pools, use, advice, caching allocators, graphs' memory, and what
//! the driver said.
//!
//! Under a lens the use is that of the allocations that it selects; all else is of the whole trace.

mod blocks;
mod device;
mod pools;
mod uses;

use std::sync::Arc;

use serde::Serialize;

use crate::correlate::{Allocations, GraphMemory, Pools, Usage, device_memory};
use crate::session::Loaded;
use crate::trace::{NO_DEVICE, ProcessId};

pub use blocks::Blocks;
pub use device::{ByDriver, GraphUse, Info};
pub use pools::Pool;
pub use uses::{Advice, Peer, Prefetches, Segments, Uses};

/// Rows of each list that are kept.
const KEPT: usize = 100;
/// Those that are listed in the text.
const LISTED: usize = 10;

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Memory pools, by process in the order in which they were first heard of.
    pub pools: Vec<Pool>,
    /// Use of allocations.
    pub uses: Uses,
    /// Advice that was in force, by process and address.
    pub advice: Vec<Advice>,
    /// Prefetches by where to.
    pub prefetches: Vec<Prefetches>,
    /// Devices that could use others' memory.
    pub peers: Vec<Peer>,
    /// What caching allocators have asked for.
    pub segments: Vec<Segments>,
    /// Blocks inside these, as far as they can be told apart.
    pub blocks: Blocks,
    /// Memory of graphs, by process; those without any are left out.
    pub graphs: Vec<GraphUse>,
    /// What programs were told of their devices' memory.
    pub info: Vec<Info>,
    /// Allocations as the driver recorded them; `None`: that was not asked for.
    pub by_driver: Option<ByDriver>,
}

/// What was found of a process.
struct Found {
    process: ProcessId,
    pid: u32,
    allocations: Arc<Allocations>,
    usage: Usage,
    pools: Pools,
    graphs: GraphMemory,
    told: Vec<device_memory::Told>,
    by_driver: Option<device_memory::ByDriver>,
}

/// All of it; `None` where no argument of any call is recorded. `allocations` are those of each process.
#[must_use]
pub fn of(loaded: &mut Loaded, allocations: &[Arc<Allocations>]) -> Option<Memory> {
    let nothing = |all: &Arc<Allocations>| all.all().is_empty() && all.refused().is_empty();
    if allocations.iter().all(nothing) && allocations.iter().any(|all| all.unread() > 0) {
        return None;
    }
    let (trace, files) = (loaded.trace(), loaded.bytes());
    let find = |(process, allocations): (ProcessId, &Arc<Allocations>)| Found {
        process,
        pid: trace.process(process).map_or(0, |process| process.pid),
        allocations: allocations.clone(),
        usage: Usage::of(trace, process, &files, allocations),
        pools: Pools::of(trace, process, &files, allocations),
        graphs: GraphMemory::of(trace, process, &files, allocations),
        told: device_memory::told(trace, process, &files),
        by_driver: device_memory::by_driver(trace, process, &files, allocations),
    };
    let found: Vec<Found> = (0..u16::MAX).map(ProcessId).zip(allocations).map(find).collect();
    Some(Memory {
        pools: pools::of(loaded, &found),
        uses: uses::of(loaded, &found),
        advice: uses::advice(loaded, &found),
        prefetches: uses::prefetches(&found),
        peers: uses::peers(loaded, &found),
        segments: uses::segments(loaded, &found),
        blocks: blocks::of(loaded, &found),
        graphs: device::graphs(loaded, &found),
        info: device::info(loaded, &found),
        by_driver: device::by_driver(loaded, &found),
    })
}

/// Tables of what there is.
pub(super) fn write(memory: Option<&Memory>, out: &mut String) {
    let Some(memory) = memory else { return };
    uses::write(memory, out);
    blocks::write(&memory.blocks, out);
    pools::write(&memory.pools, out);
    device::write(memory, out);
}

/// Since the trace's first event, ns.
fn since(loaded: &Loaded, ns: u64) -> u64 {
    ns.saturating_sub(loaded.trace().start_ns())
}

/// Likewise; `None` for what has not come.
fn until(loaded: &Loaded, ns: u64) -> Option<u64> {
    (ns != u64::MAX).then(|| since(loaded, ns))
}

fn known(device: u8) -> Option<u8> {
    Some(device).filter(|&device| device != NO_DEVICE)
}

/// A number, or that it is not known.
fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn more(out: &mut String, count: usize) {
    use std::fmt::Write as _;
    let more = count.saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", super::text::grouped(more as u64));
    }
}
