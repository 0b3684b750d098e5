//! What graphs are made of, while calls make, copy, join, instantiate and update them.
//!
//! A node says what the caller wants to know of it: memory that it allocates, or that it was given. A graph that is cloned,
//! added to another one or instantiated is copied as it is at that moment; what becomes of the original later does not matter.
//! Nodes that are taken away again stay, as do the old parameters of a node that gets new ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::Record;
use crate::trace::{Api, Captor, ProcessId, Trace, TrackId};

/// `cudaGraphInstantiateFlagAutoFreeOnLaunch` and the driver's like.
const AUTO_FREE: u64 = 1;
/// Nodes that are copied from one graph to another at most. A damaged trace must not make it slow.
const MOST_COPIED: usize = 1 << 24;

/// What a function does to graphs as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It makes one, or destroys one.
    Begins,
    /// It copies one.
    Clones,
    /// It adds one to another as a node.
    AddsChild,
    /// It makes one ready.
    Instantiates,
    /// It makes one that is ready like another.
    Updates,
    /// It launches one that is ready.
    Launches,
    /// It begins a capture that adds to one.
    CapturesTo,
}

impl Does {
    /// Of a function by its name without beginning and endings.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "GraphCreate" | "GraphDestroy" => Self::Begins,
            "GraphClone" => Self::Clones,
            "GraphAddChildGraphNode" => Self::AddsChild,
            "GraphExecUpdate" => Self::Updates,
            "GraphLaunch" => Self::Launches,
            "StreamBeginCaptureToGraph" => Self::CapturesTo,
            _ if name.starts_with("GraphInstantiate") => Self::Instantiates,
            _ => return None,
        })
    }

    /// What a call of such a function did and when that counts, ticks. `into`: the graph that it was captured into and when
    /// that was handed out. A launch that was not captured did nothing to a graph.
    pub fn step<N>(self, api: &Api, record: &Record<'_>, into: Option<(u64, u64)>) -> Option<(u64, Step<N>)> {
        let number = |role| record.named(&api.signature, role).filter(|&value| value != 0);
        let ticks = record.start_ticks();
        Some(match self {
            Self::Begins => (ticks, Step::Begin { graph: number("graph")? }),
            Self::Clones => (ticks, Step::Clone { graph: number("graph")?, of: number("original")? }),
            Self::AddsChild => (ticks, Step::Child { graph: number("graph")?, child: number("child")? }),
            Self::Instantiates => {
                let auto_free = number("flags").is_some_and(|flags| flags & AUTO_FREE != 0);
                (ticks, Step::Ready { exec: number("exec")?, graph: number("graph")?, auto_free })
            }
            Self::Updates => (ticks, Step::Update { exec: number("exec")?, graph: number("graph")? }),
            Self::Launches => {
                let (graph, until) = into?;
                (until, Step::Launched { graph, exec: number("exec")? })
            }
            Self::CapturesTo => (ticks, Step::CaptureTo { graph: number("graph")? }),
        })
    }
}

/// The graph that a captured call became part of, and when the call that handed it out began, ticks; zero: of a capture that
/// has not ended, or failed. `None`: no capture is known.
pub fn captured_into(
    trace: &Trace,
    (process, track): (ProcessId, TrackId),
    api: &Api,
    record: &Record<'_>,
) -> Option<(u64, u64)> {
    let stream = record.number(api.signature.role("stream")?)?;
    let captor = Captor::of(stream, api.semantics.per_thread_stream, trace.track(track)?.thread)?;
    let captures = &trace.streams.captures;
    let index = captures.find(process, captor, (record.start_ticks(), record.start_ticks()))?;
    captures.of(process).get(index).map(|capture| (capture.graph.unwrap_or(0), capture.until))
}

/// What a call did to a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<N> {
    /// A graph with this handle is there, or gone: nothing that was known of the handle holds.
    Begin { graph: u64 },
    /// A node of it.
    Node { graph: u64, node: N },
    /// It is as another one is.
    Clone { graph: u64, of: u64 },
    /// All of another one is added to it.
    Child { graph: u64, child: u64 },
    /// All that is launched with this is added to it.
    Launched { graph: u64, exec: u64 },
    /// A capture that adds to it begins.
    CaptureTo { graph: u64 },
    /// It was made ready.
    Ready { exec: u64, graph: u64, auto_free: bool },
    /// One that is ready is as this one is.
    Update { exec: u64, graph: u64 },
    /// One that is ready has such a node, too.
    NodeOfReady { exec: u64, node: N },
}

/// Captures make graphs: what had the handle before is over just before what was captured belongs to it, unless the capture
/// was to add to it.
pub fn begin_captured<N>(
    trace: &Trace,
    process: ProcessId,
    steps: impl Iterator<Item = (u64, Step<N>)>,
) -> Vec<(u64, Step<N>)> {
    let mut captures: FxHashMap<u64, Vec<(u64, u64)>> = FxHashMap::default();
    for capture in trace.streams.captures.of(process) {
        if let Some(graph) = capture.graph {
            captures.entry(graph).or_default().push((capture.from, capture.until));
        }
    }
    captures.values_mut().for_each(|list| list.sort_unstable());
    let mut adding: FxHashSet<(u64, u64)> = FxHashSet::default();
    for (ticks, step) in steps {
        let Step::CaptureTo { graph } = step else { continue };
        let of = captures.get(&graph).map_or(&[][..], Vec::as_slice);
        adding.extend(of.get(of.partition_point(|&(from, _)| from <= ticks)).map(|&(from, _)| (graph, from)));
    }
    let all = captures.into_iter().flat_map(|(graph, list)| list.into_iter().map(move |times| (graph, times)));
    let fresh = all.filter(|&(graph, (from, _))| !adding.contains(&(graph, from)));
    fresh.map(|(graph, (_, until))| (until.saturating_sub(1), Step::Begin { graph })).collect()
}

/// A graph that is ready to be launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready<N> {
    /// What it consists of.
    pub nodes: Arc<BTreeSet<N>>,
    /// Each launch frees what the last one left.
    pub auto_free: bool,
}

/// All graphs of a process at a moment.
#[derive(Debug)]
pub struct Contents<N> {
    graphs: FxHashMap<u64, Arc<BTreeSet<N>>>,
    ready: FxHashMap<u64, Ready<N>>,
    /// So many nodes may still be copied.
    left: usize,
}

impl<N> Default for Contents<N> {
    fn default() -> Self {
        Self { graphs: FxHashMap::default(), ready: FxHashMap::default(), left: MOST_COPIED }
    }
}

impl<N: Ord + Copy> Contents<N> {
    /// Lets a call do what it did. Calls come in order of time.
    pub fn take(&mut self, step: &Step<N>) {
        match *step {
            Step::Begin { graph } => drop(self.graphs.remove(&graph)),
            Step::Node { graph, node } => add(self.graphs.entry(graph).or_default(), [node].iter(), &mut self.left),
            Step::Clone { graph, of } => {
                let nodes = self.graphs.get(&of).cloned().unwrap_or_default();
                self.graphs.insert(graph, nodes);
            }
            Step::Child { graph, child } => {
                let nodes = self.graphs.get(&child).cloned().unwrap_or_default();
                add(self.graphs.entry(graph).or_default(), nodes.iter(), &mut self.left);
            }
            Step::Launched { graph, exec } => {
                let nodes = self.ready.get(&exec).map(|ready| ready.nodes.clone()).unwrap_or_default();
                add(self.graphs.entry(graph).or_default(), nodes.iter(), &mut self.left);
            }
            Step::CaptureTo { .. } => {}
            Step::Ready { exec, graph, auto_free } => {
                let nodes = self.graphs.get(&graph).cloned().unwrap_or_default();
                self.ready.insert(exec, Ready { nodes, auto_free });
            }
            Step::Update { exec, graph } => {
                let nodes = self.graphs.get(&graph).cloned().unwrap_or_default();
                let auto_free = self.ready.get(&exec).is_some_and(|ready| ready.auto_free);
                self.ready.insert(exec, Ready { nodes, auto_free });
            }
            Step::NodeOfReady { exec, node } => {
                if let Some(ready) = self.ready.get_mut(&exec) {
                    add(&mut ready.nodes, [node].iter(), &mut self.left);
                }
            }
        }
    }

    /// What a handle launches; `None`: nobody saw it made ready.
    pub fn ready(&self, exec: u64) -> Option<&Ready<N>> {
        self.ready.get(&exec)
    }

    /// Whether something was left out, since too much would have had to be copied.
    pub const fn is_cut(&self) -> bool {
        self.left == 0
    }
}

fn add<'a, N: Ord + Copy + 'a>(
    nodes: &mut Arc<BTreeSet<N>>,
    others: impl ExactSizeIterator<Item = &'a N>,
    left: &mut usize,
) {
    // What somebody else has as well is copied first.
    let copied = others.len() + if Arc::strong_count(nodes) > 1 { nodes.len() } else { 0 };
    match left.checked_sub(copied) {
        Some(rest) => {
            *left = rest;
            Arc::make_mut(nodes).extend(others.copied());
        }
        None => *left = 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn step() -> impl Strategy<Value = Step<u8>> {
        let (graph, exec, node) = (1u64..5, 1u64..4, 0u8..9);
        prop_oneof![
            graph.clone().prop_map(|graph| Step::Begin { graph }),
            (graph.clone(), node.clone()).prop_map(|(graph, node)| Step::Node { graph, node }),
            (graph.clone(), node.clone()).prop_map(|(graph, node)| Step::Node { graph, node }),
            (graph.clone(), graph.clone()).prop_map(|(graph, of)| Step::Clone { graph, of }),
            (graph.clone(), graph.clone()).prop_map(|(graph, child)| Step::Child { graph, child }),
            (graph.clone(), exec.clone()).prop_map(|(graph, exec)| Step::Launched { graph, exec }),
            (exec.clone(), graph.clone()).prop_map(|(exec, graph)| Step::Ready { exec, graph, auto_free: false }),
            (exec.clone(), graph).prop_map(|(exec, graph)| Step::Update { exec, graph }),
            (exec, node).prop_map(|(exec, node)| Step::NodeOfReady { exec, node }),
        ]
    }

    /// What a graph consisted of before so many steps, by going back through them.
    fn nodes(steps: &[Step<u8>], handle: u64) -> Vec<u8> {
        let Some((last, before)) = steps.split_last() else { return Vec::new() };
        let rest = || nodes(before, handle);
        match *last {
            Step::Begin { graph } if graph == handle => Vec::new(),
            Step::Node { graph, node } if graph == handle => [rest(), vec![node]].concat(),
            Step::Clone { graph, of } if graph == handle => nodes(before, of),
            Step::Child { graph, child } if graph == handle => [rest(), nodes(before, child)].concat(),
            Step::Launched { graph, exec } if graph == handle => {
                [rest(), ready(before, exec).unwrap_or_default()].concat()
            }
            _ => rest(),
        }
    }

    fn ready(steps: &[Step<u8>], handle: u64) -> Option<Vec<u8>> {
        let (last, before) = steps.split_last()?;
        match *last {
            Step::Ready { exec, graph, .. } | Step::Update { exec, graph } if exec == handle => {
                Some(nodes(before, graph))
            }
            Step::NodeOfReady { exec, node } if exec == handle => {
                ready(before, handle).map(|rest| [rest, vec![node]].concat())
            }
            _ => ready(before, handle),
        }
    }

    proptest! {
        #[test]
        fn what_is_launched_is_what_going_back_through_all_calls_finds(steps in prop::collection::vec(step(), 0..14)) {
            let mut contents = Contents::default();
            for upto in 0..=steps.len() {
                let found: BTreeMap<u64, Vec<u8>> = (1..4)
                    .filter_map(|exec| Some((exec, contents.ready(exec)?.nodes.iter().copied().collect())))
                    .collect();
                let wanted: BTreeMap<u64, Vec<u8>> = (1..4)
                    .filter_map(|exec| Some((exec, ready(&steps[..upto], exec)?)))
                    .map(|(exec, mut list)| { list.sort_unstable(); list.dedup(); (exec, list) })
                    .collect();
                prop_assert_eq!(found, wanted);
                steps.get(upto).into_iter().for_each(|step| contents.take(step));
            }
            prop_assert!(!contents.is_cut());
        }
    }

    #[test]
    fn what_doubles_for_ever_is_cut() {
        let mut contents = Contents { left: 1000, ..Contents::default() };
        for node in 0u64..100 {
            contents.take(&Step::Node { graph: 1, node });
            contents.take(&Step::Ready { exec: 2, graph: 1, auto_free: false });
        }
        assert!(contents.is_cut());
        assert!(contents.ready(2).is_some_and(|ready| ready.nodes.len() < 50));
    }
}
