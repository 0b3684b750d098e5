//! What was made of graphs: events beside the calls.

use super::import::Importer;
use super::rows::{GraphEvent, GraphNode};
use crate::parse::imported::Range;
use std::fmt::Write as _;
use std::io;

/// Domains of the marks.
const NODES: &str = "graph node";
const GRAPHS: &str = "graph";
/// `nvtxPayloadType_t` of an unsigned number.
const UNSIGNED: u16 = 1;

impl Importer<'_> {
    /// A node that came to be.
    pub(super) fn graph_node(&mut self, row: &GraphNode, number: u64) -> io::Result<()> {
        let said = [("graphNodeId", row.node), ("originalGraphNodeId", row.original)];
        self.made((NODES, row.name), (row.start, row.end), row.thread, &said, number)
    }

    /// A graph that came to be, or was made ready.
    pub(super) fn graph_event(&mut self, row: &GraphEvent, number: u64) -> io::Result<()> {
        let said = [("graphId", row.graph), ("originalGraphId", row.original), ("graphExecId", row.executable)];
        self.made((GRAPHS, row.name), (row.start, row.end), row.thread, &said, number)
    }

    /// A mark, or a range if it took time; its payload is the first number there is.
    fn made(
        &mut self,
        (domain, name): (&str, Option<i64>),
        (start, end): (Option<i64>, Option<i64>),
        thread: Option<i64>,
        numbers: &[(&str, Option<i64>)],
        number: u64,
    ) -> io::Result<()> {
        let Some((start, end)) = self.times(start, end, number) else { return Ok(()) };
        let known = || numbers.iter().filter_map(|&(key, number)| Some((key, number?)));
        let mut said = String::new();
        for (key, number) in known() {
            let _ = write!(said, "{}\"{key}\": {number}", if said.is_empty() { "{" } else { ", " });
        }
        // One number is the payload already.
        let said = if known().count() > 1 { self.target.said(&(said + "}")) } else { Default::default() };
        let payload = known().next().map(|(_, number)| (UNSIGNED, number as u64));
        let (name, domain) = (self.text(name), self.target.text(domain));
        let range = Range { name, domain, start, end, payload, said, ..Range::default() };
        let thread = self.thread(thread);
        if end.is_some_and(|end| end > start) {
            return self.target.loose_range(thread, &range);
        }
        self.target.mark(thread, &range)
    }
}
