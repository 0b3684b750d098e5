//! Memory of graphs, launch by launch.
//!
//! A node that allocates gives the same address at each launch. The memory is in use from when a launch comes to the node until
//! one comes to a node that frees it, in this graph or another, or until a call frees it; a graph that may be launched again
//! without that frees it itself (`cudaGraphInstantiateFlagAutoFreeOnLaunch`). That a graph is destroyed frees nothing. What the
//! driver keeps of it afterwards goes back with `cudaDeviceGraphMemTrim`, which takes nothing that is in use.
//!
//! A launch is taken to use all memory of its graph from its call on, also what came into it with another graph that was
//! cloned, added or launched while it was captured.

mod read;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::allocation::{AllocationKind, Allocations};
use super::graph_contents::Contents;
use crate::trace::{Bytes, ProcessId, Trace, TrackId};
use read::{Event, Node, What};

/// How the use of a graph's memory ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The launch came to a node that frees it.
    InLaunch,
    /// The launch of another graph did.
    OtherLaunch,
    /// A call freed it.
    Call,
    /// The next launch of its graph did.
    NextLaunch,
    /// It did not.
    Lives,
}

/// Memory of a graph in use, by one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The allocation: index into the process's.
    pub allocation: usize,
    /// Thread and row of the launching call.
    pub launch: (TrackId, u32),
    /// When that call began, ns on the trace's axis.
    pub from_ns: u64,
    /// Until when it was in use, ns; `u64::MAX`: it still is.
    pub until_ns: u64,
    /// How that ended.
    pub end: RunEnd,
    /// Whether `until_ns` is by the call alone, without a record of the GPU: it was in use until then at least.
    pub at_least: bool,
}

/// A figure of a device's memory for graphs that a call told: `cudaGraphMemAttributeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// When the call returned, ns on the trace's axis.
    pub at_ns: u64,
    /// Device.
    pub device: u8,
    /// 0 used now, 1 used at most, 2 reserved now, 3 reserved at most.
    pub attribute: u32,
    /// Bytes.
    pub bytes: u64,
}

/// Memory of a process's graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphMemory {
    /// By launch, in order of time.
    pub runs: Vec<Run>,
    /// What calls told, in order of time.
    pub told: Vec<Told>,
    /// Calls that gave back what no graph used: when, ns, and the device.
    pub trims: Vec<(u64, u8)>,
    /// Launches of graphs of which nobody saw what they were made of: they may use memory that is not here.
    pub unseen_launches: u64,
    /// Bytes in use by graphs at most.
    pub peak_bytes: u64,
    /// The first such moment, ns; zero if there was none.
    pub peak_ns: u64,
    /// Bytes in use at the end.
    pub live_bytes: u64,
}

impl GraphMemory {
    /// Of a process. `files` are those of the trace, `allocations` those of the process.
    #[must_use]
    pub fn of(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>], allocations: &Allocations) -> Self {
        let has_nodes = allocations.all().iter().any(|one| one.kind == AllocationKind::Graph);
        let mut found = Self::default();
        let events = read::events(trace, process, files, has_nodes);
        found.told = events.told;
        found.trims = events.trims;
        if has_nodes {
            found.runs(events.list, allocations);
        }
        found
    }

    fn runs(&mut self, mut events: Vec<Event>, allocations: &Allocations) {
        events.sort_by_key(|event| event.ticks);
        let mut walk = Walk::default();
        for (index, one) in allocations.all().iter().enumerate().filter(|(_, one)| one.kind == AllocationKind::Graph) {
            walk.made.insert((one.track, one.row), index);
        }
        for event in &events {
            walk.step(event, self);
        }
        self.sum_up(allocations);
    }

    /// The most bytes in use at a moment, and what is at the end.
    fn sum_up(&mut self, allocations: &Allocations) {
        let bytes = |run: &Run| allocations.all().get(run.allocation).map_or(0, |one| one.bytes);
        let mut steps: Vec<(u64, bool, u64)> = Vec::new();
        for run in &self.runs {
            steps.push((run.from_ns, true, bytes(run)));
            if run.until_ns != u64::MAX {
                steps.push((run.until_ns, false, bytes(run)));
            }
        }
        // What goes at a moment is gone before what comes.
        steps.sort_unstable();
        let mut live = 0u64;
        for (at_ns, comes, bytes) in steps {
            live = if comes { live.saturating_add(bytes) } else { live.saturating_sub(bytes) };
            if live > self.peak_bytes {
                (self.peak_bytes, self.peak_ns) = (live, at_ns);
            }
        }
        self.live_bytes = live;
    }

    /// When an allocation was in use, launch by launch.
    pub fn of_allocation(&self, allocation: usize) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.allocation == allocation)
    }
}

/// What is known while all of it is gone through in order of time.
#[derive(Default)]
struct Walk {
    /// Allocations by the call that made them, thread and row.
    made: FxHashMap<(TrackId, u32), usize>,
    graphs: Contents<Node>,
    /// Runs that go on, by address, the newest last: nodes of a graph may have the same one in turn.
    open: FxHashMap<u64, Vec<usize>>,
}

impl Walk {
    fn step(&mut self, event: &Event, found: &mut GraphMemory) {
        match event.what {
            What::Graph(step) => self.graphs.take(&step),
            What::Freed { address } => self.close(found, address, RunEnd::Call, event.from_ns, false),
            What::Launch { exec, end_ns } => self.launch(found, event, exec, end_ns),
        }
    }

    fn launch(&mut self, found: &mut GraphMemory, event: &Event, exec: u64, end_ns: Option<u64>) {
        let Some(ready) = self.graphs.ready(exec) else {
            found.unseen_launches += 1;
            return;
        };
        let (nodes, auto_free) = (ready.nodes.clone(), ready.auto_free);
        let makes = || nodes.iter().filter(|node| node.makes);
        // Without that flag it would have been refused.
        for node in makes().filter(|_| auto_free) {
            self.close(found, node.address, RunEnd::NextLaunch, event.from_ns, false);
        }
        for node in makes() {
            let Some(&allocation) = self.made.get(&node.by) else { continue };
            let run = Run {
                allocation,
                launch: event.by,
                from_ns: event.from_ns,
                until_ns: u64::MAX,
                end: RunEnd::Lives,
                at_least: false,
            };
            self.open.entry(node.address).or_default().push(found.runs.len());
            found.runs.push(run);
        }
        let own: FxHashSet<u64> = makes().map(|node| node.address).collect();
        for node in nodes.iter().filter(|node| !node.makes) {
            let end = if own.contains(&node.address) { RunEnd::InLaunch } else { RunEnd::OtherLaunch };
            self.close(found, node.address, end, end_ns.unwrap_or(event.until_ns), end_ns.is_none());
        }
    }

    fn close(&mut self, found: &mut GraphMemory, address: u64, end: RunEnd, until_ns: u64, at_least: bool) {
        let index = self.open.get_mut(&address).and_then(Vec::pop);
        if let Some(run) = index.and_then(|index| found.runs.get_mut(index)) {
            (run.until_ns, run.end, run.at_least) = (until_ns.max(run.from_ns), end, at_least);
        }
    }
}

#[cfg(test)]
mod tests;
