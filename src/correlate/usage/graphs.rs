//! Which memory the launches of graphs may use: what was given to the nodes that each launches, from its call, or the record of
//! its first work, until its work was over.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::pass::each_allocation;
use crate::correlate::allocation::{Allocations, PIECE, Sorting};
use crate::correlate::graph_contents::{Contents, Step, begin_captured};
use crate::trace::{ProcessId, Trace, TrackId};

/// Different pieces of memory that graphs are given, over all captures and nodes.
const MOST_GIVEN: usize = 1 << 20;
/// Launches looked at for one address while nothing is allocated there.
const MOST_IN_VAIN: usize = 64;
/// Steps between two questions whether to go on.
const STRIDE: usize = 256;

/// Memory that a node was given: address and bytes.
pub type Given = (u64, u64);

/// A launch of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// When the call began, ticks.
    pub ticks: u64,
    /// Handle of what it launches.
    pub exec: u64,
    /// Its thread and row.
    pub by: (TrackId, u32),
    /// When the call began, ns: what lay at an address then is what it may use.
    pub called_ns: u64,
    /// When its work began and was over, ns; without a record the call's.
    pub span: (u64, u64),
    /// Whether that is by a record of the GPU.
    pub is_by_gpu: bool,
}

/// Memory that launches of a graph may have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// Allocation, by its index.
    pub allocation: usize,
    /// What of it a node was given.
    pub given: Given,
    /// The first and the last of these launches.
    pub ends: (Launch, Launch),
    /// How many they are. Saturates.
    pub launches: u32,
    /// Another node of these launches was given memory of the same allocation, and they have been told already.
    pub again: bool,
}

/// What happens, by its ticks.
#[derive(Clone, Copy, Debug)]
enum What {
    Step(Step<Given>),
    Launch(Launch),
}

/// Launches of the same nodes, in order of time.
#[derive(Debug)]
struct Run {
    nodes: Arc<BTreeSet<Given>>,
    launches: Vec<Launch>,
}

/// Graphs of a process on their way: first what calls did in any order, then what launches used.
#[derive(Debug)]
pub struct Graphs {
    fresh: Vec<(u64, What)>,
    /// Those of them that are not on their way into an order yet; `None`: it has not begun.
    pending: Option<std::vec::IntoIter<(u64, What)>>,
    /// Nodes that are among them: the graph, when it counts, what was given.
    seen: FxHashSet<(u64, u64, Given)>,
    sorting: Sorting<(u64, What), u64>,
    sorted: Option<std::vec::IntoIter<(u64, What)>>,
    contents: Contents<Given>,
    runs: Vec<Run>,
    /// By handle: the newest run of what has it, if nothing has changed since.
    newest: FxHashMap<u64, usize>,
    /// Run, and the node there that is next.
    at: (usize, Option<Given>),
    /// Of that run: allocations that have been told, with the first launch.
    told: FxHashSet<(usize, usize)>,
    /// Launches of what nobody saw made ready.
    pub unseen: u64,
}

impl Default for Graphs {
    fn default() -> Self {
        Self {
            fresh: Vec::new(),
            pending: None,
            seen: FxHashSet::default(),
            sorting: Sorting::by(|(ticks, _)| *ticks),
            sorted: None,
            contents: Contents::default(),
            runs: Vec::new(),
            newest: FxHashMap::default(),
            at: (0, None),
            told: FxHashSet::default(),
            unseen: 0,
        }
    }
}

impl Graphs {
    /// A node of a graph was given memory; when that counts, ticks. False if there were too many.
    pub fn give(&mut self, graph: u64, ticks: u64, given: Given) -> bool {
        let is_full = self.seen.len() >= MOST_GIVEN;
        if is_full || !self.seen.insert((graph, ticks, given)) {
            return !is_full;
        }
        self.step(ticks, Step::Node { graph, node: given });
        true
    }

    /// A call did this.
    pub fn step(&mut self, ticks: u64, step: Step<Given>) {
        self.fresh.push((ticks, What::Step(step)));
    }

    /// A graph was launched.
    pub fn launch(&mut self, launch: Launch) {
        self.fresh.push((launch.ticks, What::Launch(launch)));
    }

    /// Whether something was left out since it was too much.
    pub fn is_cut(&self) -> bool {
        self.seen.len() >= MOST_GIVEN || self.contents.is_cut()
    }

    /// Goes on as long as `more` says so, and calls `used` for all memory that launches may have used; true when that is all.
    pub fn go_on(
        &mut self,
        (trace, process): (&Trace, ProcessId),
        allocations: &Allocations,
        more: &mut dyn FnMut() -> bool,
        used: &mut dyn FnMut(Used),
    ) -> bool {
        if self.sorted.is_none() {
            if !self.sort(trace, process, more) {
                return false;
            }
            let sorting = std::mem::replace(&mut self.sorting, Sorting::by(|(ticks, _)| *ticks));
            self.sorted = Some(sorting.into_sorted().into_iter());
        }
        self.walk(more) && self.uses(allocations, more, used)
    }

    fn sort(&mut self, trace: &Trace, process: ProcessId, more: &mut dyn FnMut() -> bool) -> bool {
        if self.pending.is_none() {
            let steps = self.fresh.iter().filter_map(|&(ticks, what)| match what {
                What::Step(step) => Some((ticks, step)),
                What::Launch(_) => None,
            });
            let begins = if self.seen.is_empty() { Vec::new() } else { begin_captured(trace, process, steps) };
            self.fresh.extend(begins.into_iter().map(|(ticks, step)| (ticks, What::Step(step))));
        }
        let pending = self.pending.get_or_insert_with(|| std::mem::take(&mut self.fresh).into_iter());
        while !pending.as_slice().is_empty() {
            self.sorting.add(pending.by_ref().take(PIECE).collect());
            if !more() {
                return false;
            }
        }
        self.sorting.advance(more)
    }

    /// Finds out which nodes each launch launched.
    fn walk(&mut self, more: &mut dyn FnMut() -> bool) -> bool {
        let Some(sorted) = &mut self.sorted else { return true };
        for (count, (_, what)) in (1usize..).zip(sorted) {
            match what {
                What::Step(step) => {
                    self.contents.take(&step);
                    if let Step::Ready { exec, .. } | Step::Update { exec, .. } | Step::NodeOfReady { exec, .. } = step
                    {
                        self.newest.remove(&exec);
                    }
                }
                What::Launch(launch) => match self.contents.ready(launch.exec) {
                    None => self.unseen += 1,
                    Some(ready) => {
                        let at = *self.newest.entry(launch.exec).or_insert_with(|| {
                            self.runs.push(Run { nodes: ready.nodes.clone(), launches: Vec::new() });
                            self.runs.len() - 1
                        });
                        self.runs.get_mut(at).into_iter().for_each(|run| run.launches.push(launch));
                    }
                },
            }
            if count.is_multiple_of(STRIDE) && !more() {
                return false;
            }
        }
        true
    }

    fn uses(&mut self, allocations: &Allocations, more: &mut dyn FnMut() -> bool, used: &mut dyn FnMut(Used)) -> bool {
        let mut count = 0usize;
        while let Some(run) = self.runs.get(self.at.0) {
            let from = self.at.1.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Included);
            for &given in run.nodes.range((from, std::ops::Bound::Unbounded)) {
                count += 1;
                if count.is_multiple_of(STRIDE) && !more() {
                    self.at.1 = Some(given);
                    return false;
                }
                of_node(&run.launches, given, allocations, &mut self.told, used);
            }
            self.at = (self.at.0 + 1, None);
            self.told.clear();
        }
        true
    }
}

/// What launches used of the memory that one of their nodes was given.
fn of_node(
    launches: &[Launch],
    given: Given,
    allocations: &Allocations,
    told: &mut FxHashSet<(usize, usize)>,
    used: &mut dyn FnMut(Used),
) {
    let (mut at, mut in_vain) = (0, 0);
    while let Some(first) = launches.get(at) {
        // The first launch after any of what lies there now has gone.
        let mut next = launches.len();
        let mut found = Vec::new();
        each_allocation(allocations, given, first.called_ns, |index| {
            let until = allocations.all().get(index).map_or(0, |one| one.until_ns);
            next = next.min(launches.partition_point(|launch| launch.called_ns <= until)).max(at + 1);
            found.push(index);
        });
        if found.is_empty() {
            in_vain += 1;
            if in_vain > MOST_IN_VAIN {
                return;
            }
            next = at + 1;
        }
        if let Some(last) = launches.get(next - 1) {
            let launches = u32::try_from(next - at).unwrap_or(u32::MAX);
            for &allocation in &found {
                let again = !told.insert((allocation, at));
                used(Used { allocation, given, ends: (*first, *last), launches, again });
            }
        }
        at = next;
    }
}
