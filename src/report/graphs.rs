//! Graphs in the report: what was captured, launched and done.

use serde::Serialize;
use std::fmt::Write as _;

use super::table::Table;
use super::text::{duration, grouped};
use crate::correlate;
use crate::session::Loaded;
use crate::session::safe::safe;
use crate::symbols::demangled;

/// Graphs that are listed in the text.
const LISTED: usize = 30;
/// Kernels of a graph that are named.
const NAMED: usize = 10;

/// An instantiated graph. Times are ns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// Process id.
    pub process: u32,
    /// Handle of the instantiated graph.
    pub exec: u64,
    /// Handle of what it was made of; `None`: not seen.
    pub graph: Option<u64>,
    /// CUPTI's number of it.
    pub cupti_graph: Option<u32>,
    /// Calls that were captured into it; `None`: it was built otherwise, or not seen.
    pub captured_calls: Option<u64>,
    /// Launches.
    pub launches: u64,
    /// Kernels, copies and sets of a launch; `None`: not recorded.
    pub nodes: Option<u64>,
    /// From the first start to the last end of each launch's work, summed up; `None`: not recorded.
    pub total_ns: Option<u64>,
    /// Its median.
    pub p50_ns: Option<u64>,
    /// That of the first launch.
    pub first_ns: Option<u64>,
    /// The median of all later ones.
    pub later_p50_ns: Option<u64>,
    /// Its kernels, the most time first; `None`: not recorded.
    pub kernels: Option<Vec<Kernel>>,
}

/// A kernel of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// As its author wrote it.
    pub name: String,
    /// How often it ran.
    pub launches: u64,
    /// How long in all, ns.
    pub total_ns: u64,
}

/// All of them, by process and in order of time.
#[must_use]
pub fn of(loaded: &Loaded) -> Vec<Graph> {
    let trace = loaded.trace();
    let kernels = |work: &correlate::graph::Work| {
        let named = work.kernels.iter().map(|(&name, &(launches, total_ns))| Kernel {
            name: demangled(trace.names.get(name)).into_owned(),
            launches,
            total_ns,
        });
        let mut list: Vec<Kernel> = named.collect();
        list.sort_by(|one, other| (other.total_ns, &one.name).cmp(&(one.total_ns, &other.name)));
        list.truncate(NAMED);
        list
    };
    let row = |graph: correlate::Graph| {
        let work = graph.work.as_ref();
        Graph {
            process: trace.process(graph.process).map_or(0, |process| process.pid),
            exec: graph.exec,
            graph: graph.graph,
            cupti_graph: work.and_then(|work| work.cupti_graph),
            captured_calls: graph.captured_calls,
            launches: graph.launches,
            nodes: work.and_then(|work| work.nodes),
            total_ns: work.map(|work| work.total_ns),
            p50_ns: work.and_then(|work| work.p50_ns),
            first_ns: work.and_then(|work| work.first_ns),
            later_p50_ns: work.and_then(|work| work.later_p50_ns),
            // Of graphs that were recorded as a whole nobody knows their kernels.
            kernels: work.filter(|work| work.nodes.is_some()).map(kernels),
        }
    };
    correlate::graphs(trace, &loaded.bytes()).into_iter().map(row).collect()
}

/// A table, if there is any.
pub(super) fn write(graphs: &[Graph], out: &mut String) {
    if graphs.is_empty() {
        return;
    }
    out.push('\n');
    let headings =
        ["graph", "process", "total", "launches", "nodes", "captured", "p50", "first", "later p50", "busiest kernel"];
    let mut table = Table::new(&headings).last_is_text();
    let known = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), duration);
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), grouped);
    let mut shown: Vec<&Graph> = graphs.iter().collect();
    // The busiest first; of equals the earlier.
    shown.sort_by_key(|graph| std::cmp::Reverse((graph.total_ns, graph.launches)));
    for graph in shown.iter().take(LISTED) {
        let busiest = graph.kernels.as_ref().and_then(|kernels| kernels.first());
        table.row(vec![
            format!("{:#x}", graph.exec),
            graph.process.to_string(),
            known(graph.total_ns),
            grouped(graph.launches),
            number(graph.nodes),
            number(graph.captured_calls),
            known(graph.p50_ns),
            known(graph.first_ns),
            known(graph.later_p50_ns),
            busiest.map_or_else(|| "-".to_owned(), |kernel| super::gpu_text::short(&safe(&kernel.name))),
        ]);
    }
    table.write(out);
    let more = graphs.len().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", grouped(more as u64));
    }
}
