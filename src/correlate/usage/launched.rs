//! Launches of graphs in a pass over a process.

use std::ops::ControlFlow;

use super::graphs::{Launch, Used};
use super::pass::{Pass, Stage, Touched, ended};
use super::submitted::Submitted;
use super::touches::Does;
use super::{Span, Use, UseKind};
use crate::correlate::allocation::Allocations;
use crate::correlate::calls::{Found, Record, Records};
use crate::correlate::graph_contents::{self, Step, captured_into};
use crate::trace::{CallFlags, Trace};

impl Pass {
    /// The graph that a call was captured into, if it was.
    pub(super) fn captured_into(
        &self,
        trace: &Trace,
        found: &Found<'_, Does>,
        records: &mut Records<'_>,
    ) -> Option<(u64, u64)> {
        if !found.call.flags.has(CallFlags::CAPTURED) {
            return None;
        }
        captured_into(trace, (self.process, found.track), trace.api(found.call.api)?, &records.read(found)?)
    }

    /// A call gave a kernel to a graph, or other parameters to one in it.
    pub(super) fn gives_kernel(
        &mut self,
        allocations: &Allocations,
        found: &Found<'_, Does>,
        records: &mut Records<'_>,
        submitted: Option<Submitted<'_>>,
    ) {
        let (Some(submitted), Some(record)) = (submitted, records.read(found)) else { return };
        let number = |argument: &Option<_>| argument.as_ref().and_then(|argument| record.number(argument));
        let (graph, exec) = (number(&found.what.graph), number(&found.what.exec));
        for address in submitted.pointers() {
            let given = (address, 1);
            let is_followed = match (graph, exec) {
                (Some(graph), _) => self.graphs.give(graph, record.start_ticks(), given),
                (None, Some(exec)) => {
                    self.graphs.step(record.start_ticks(), Step::NodeOfReady { exec, node: given });
                    true
                }
                (None, None) => false,
            };
            if !is_followed {
                self.touch(allocations, Touched { address, bytes: 1, kind: UseKind::Graph }, found, None);
            }
        }
    }

    /// A call did something to graphs as a whole.
    pub(super) fn graph(
        &mut self,
        trace: &Trace,
        (does, into): (graph_contents::Does, Option<(u64, u64)>),
        found: &Found<'_, Does>,
        record: &Record<'_>,
        correlation: u32,
    ) {
        let Some(api) = trace.api(found.call.api) else { return };
        if does != graph_contents::Does::Launches || found.call.flags.has(CallFlags::CAPTURED) {
            let step = does.step(api, record, into);
            step.into_iter().for_each(|(ticks, step)| self.graphs.step(ticks, step));
            return;
        }
        let Some(exec) = api.signature.role("exec").and_then(|exec| record.number(exec)) else { return };
        let by_gpu = self.work.get(&correlation).and_then(|&place| ended(trace, place));
        let begin = |(start, end): (u64, u64)| (self.begins.get(&correlation).map_or(start, |&at| at.min(start)), end);
        let called_ns = found.call.start_ns;
        self.graphs.launch(Launch {
            ticks: record.start_ticks(),
            exec,
            by: (found.track, u32::try_from(found.row).unwrap_or(u32::MAX)),
            called_ns,
            span: by_gpu.map_or((called_ns, found.call.end_ns()), begin),
            is_by_gpu: by_gpu.is_some(),
        });
    }

    pub(super) fn graph_launches(
        &mut self,
        trace: &Trace,
        allocations: &Allocations,
        more: &mut dyn FnMut() -> bool,
    ) -> ControlFlow<()> {
        let mut graphs = std::mem::take(&mut self.graphs);
        let done =
            graphs.go_on((trace, self.process), allocations, more, &mut |used| self.launched(allocations, &used));
        if !done {
            self.graphs = graphs;
            return ControlFlow::Break(());
        }
        self.usage.evidence.unseen_graph_launches = graphs.unseen;
        self.usage.evidence.graphs_cut = graphs.is_cut();
        self.stage = Stage::Blocks;
        ControlFlow::Continue(())
    }

    /// Launches of a graph may have used what one of its nodes was given.
    fn launched(&mut self, allocations: &Allocations, used: &Used) {
        let (first, last) = used.ends;
        let at = |at_ns, launch: &Launch| Use::new(at_ns, UseKind::Graph, launch.by, launch.is_by_gpu);
        let span = Span { first: at(first.span.0, &first), last: at(last.span.1, &last) };
        let touched = Touched { address: used.given.0, bytes: used.given.1, kind: UseKind::Graph };
        let is_new = self.given(allocations, used.allocation, touched, span, used.launches);
        let uses = self.usage.entry(used.allocation);
        uses.by(first.by.0);
        uses.by(last.by.0);
        uses.counts.addresses = uses.counts.addresses.saturating_add(u32::from(is_new));
        let launches = if used.again { 0 } else { used.launches };
        uses.counts.graph_launches = uses.counts.graph_launches.saturating_add(launches);
        Span::add(&mut uses.possible, span.first, span.last);
    }
}
