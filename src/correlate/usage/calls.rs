//! What calls use and say of memory, call by call.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::pass::{Inside, Pass, STRIDE, Stage, Touched, each_allocation, ended};
use super::peers::Told;
use super::said::Said;
use super::submitted::Blocks;
use super::touches::{Does, Extent};
use super::{Span, Use, UseKind};
use crate::correlate::allocation::Allocations;
use crate::correlate::calls::{Found, Record, Records};
use crate::correlate::graph_contents::Step;
use crate::trace::{Bytes, Call, CallFlags, NO_DEVICE, Trace, TrackId};

impl Pass {
    /// Goes on with the calls of a thread from a row on.
    pub(super) fn calls(
        &mut self,
        trace: &Trace,
        files: &[Arc<dyn Bytes>],
        allocations: &Allocations,
        (track, from): (usize, usize),
        more: &mut dyn FnMut() -> bool,
    ) -> ControlFlow<()> {
        let Some(of) = trace.tracks.get(track) else {
            self.stage = Stage::Unified(0);
            return ControlFlow::Continue(());
        };
        self.stage = Stage::Calls(track + 1, 0);
        let file = trace.process(self.process).and_then(|process| files.get(process.file));
        let Some(bytes) = file.filter(|_| of.process == self.process) else { return ControlFlow::Continue(()) };
        let (mut records, mut blocks) = (Records::new(Some(&**bytes)), Blocks::default());
        let id = TrackId(u32::try_from(track).unwrap_or(u32::MAX));
        let does = std::mem::take(&mut self.does);
        let mut seen = 0usize;
        let mut flow = ControlFlow::Continue(());
        'chunks: for chunk in of.chunks().filter(|chunk| chunk.first_row() + chunk.len() > from) {
            let wanted = |api: usize| does.get(api).and_then(Option::as_ref);
            if !chunk.summary().apis().any(|api| wanted(api.index()).is_some()) {
                continue;
            }
            let skipped = from.saturating_sub(chunk.first_row());
            for (inner, &api) in chunk.apis().iter().enumerate().skip(skipped) {
                let Some(does) = wanted(usize::from(api)) else { continue };
                let row = chunk.first_row() + inner;
                seen += 1;
                if seen.is_multiple_of(STRIDE) && !more() {
                    self.stage = Stage::Calls(track, row);
                    flow = ControlFlow::Break(());
                    break 'chunks;
                }
                let (Some(call), Some(offset)) = (chunk.call(inner), chunk.offset(inner)) else { continue };
                if call.flags.failed() || call.flags.entry_only() {
                    continue;
                }
                let found = Found { track: id, row, call, what: does, offset };
                let found = match does.always() {
                    Some(does) => found.with(does),
                    None => match records.read(&found).and_then(|record| does.of_call(&record)) {
                        Some(does) => found.with(does),
                        None => continue,
                    },
                };
                self.call(trace, &**bytes, allocations, &found, &mut records, &mut blocks);
            }
        }
        self.does = does;
        flow
    }

    fn call(
        &mut self,
        trace: &Trace,
        bytes: &dyn Bytes,
        allocations: &Allocations,
        found: &Found<'_, Does>,
        records: &mut Records<'_>,
        blocks: &mut Blocks,
    ) {
        let (call, does) = (&found.call, found.what);
        let is_drivers = trace.api(call.api).is_some_and(|api| api.layer == crate::trace::Layer::Driver);
        let mut correlation = 0;
        if is_drivers && does.gives_kernel {
            self.gives_kernel(allocations, found, records, blocks.submitted(bytes, found.offset));
        } else if is_drivers && (does.launches || !self.work.is_empty()) {
            let submitted = blocks.submitted(bytes, found.offset);
            correlation = submitted.map_or(0, |submitted| submitted.correlation);
            if does.launches {
                let cut = submitted.is_some_and(|submitted| submitted.cut);
                let pointers: Vec<u64> = submitted.iter().flat_map(super::submitted::Submitted::pointers).collect();
                let into = self.captured_into(trace, found, records);
                self.launch(trace, allocations, found, (correlation, into), &pointers, cut);
            }
        }
        if call.depth > 0 {
            if correlation != 0 {
                self.inside = Some(Inside { track: found.track, start_ns: call.start_ns, correlation });
            }
            return;
        }
        // What the runtime's call handed over, the driver's inside it knows.
        if let Some(inside) = self.inside.take().filter(|_| correlation == 0)
            && inside.track == found.track
            && (call.start_ns..=call.end_ns()).contains(&inside.start_ns)
        {
            correlation = inside.correlation;
        }
        let nothing = does.touches.is_empty() && does.says.is_none() && does.context.is_none() && does.peer.is_none();
        if nothing && does.graphs.is_none() {
            return;
        }
        let is_captured = call.flags.has(CallFlags::CAPTURED);
        let into = self.captured_into(trace, found, records);
        let Some(record) = records.read(found).filter(|_| !call.flags.has(CallFlags::NO_ARGUMENTS)) else {
            self.usage.evidence.unread += 1;
            return;
        };
        let more_pieces = does.batch.as_ref().and_then(|count| record.number(count)).is_some_and(|count| count > 1);
        self.usage.evidence.batches += u64::from(more_pieces);
        self.says(allocations, found, &record, more_pieces);
        self.tells(found, &record);
        if let Some(graphs) = does.graphs {
            self.graph(trace, (graphs, into), found, &record, correlation);
            return;
        }
        let is_for_graph = does.for_graph || is_captured;
        let number = |argument: &Option<_>| argument.as_ref().and_then(|argument| record.number(argument));
        let graph = number(&does.graph).map(|graph| (graph, record.start_ticks())).or(into);
        let exec = number(&does.exec);
        let span = if is_for_graph { None } else { self.work.get(&correlation).and_then(|&place| ended(trace, place)) };
        for touch in &does.touches {
            let Some((address, bytes)) = touch.memory(&record) else { continue };
            let kind = if is_for_graph { UseKind::Graph } else { touch.kind };
            let touched = Touched { address, bytes, kind };
            if is_for_graph && !matches!(touch.extent, Extent::Array) {
                if let Some(exec) = exec {
                    self.graphs.step(record.start_ticks(), Step::NodeOfReady { exec, node: (address, bytes) });
                    continue;
                }
                if graph.is_some_and(|(graph, ticks)| self.graphs.give(graph, ticks, (address, bytes))) {
                    continue;
                }
            }
            if matches!(touch.extent, Extent::Array) {
                let array = self.array(allocations, address, call.start_ns);
                array.into_iter().for_each(|index| self.used(allocations, index, touched, found, span));
            } else {
                self.touch(allocations, touched, found, span);
            }
        }
    }

    fn launch(
        &mut self,
        trace: &Trace,
        allocations: &Allocations,
        found: &Found<'_, Does>,
        (correlation, into): (u32, Option<(u64, u64)>),
        pointers: &[u64],
        cut: bool,
    ) {
        let evidence = &mut self.usage.evidence;
        evidence.launches += 1;
        evidence.with_pointers += u64::from(!pointers.is_empty());
        evidence.cut += u64::from(cut);
        let is_captured = found.call.flags.has(CallFlags::CAPTURED);
        let span = self.work.get(&correlation).and_then(|&place| ended(trace, place)).filter(|_| !is_captured);
        let kind = if is_captured { UseKind::Graph } else { UseKind::Kernel };
        for (at, &address) in pointers.iter().enumerate() {
            // The same one twice is one use.
            let is_again = pointers.get(..at).is_some_and(|before| before.contains(&address));
            let is_given = into.is_some_and(|(graph, ticks)| self.graphs.give(graph, ticks, (address, 1)));
            if !is_again && !is_given {
                self.touch(allocations, Touched { address, bytes: 1, kind }, found, span);
            }
        }
    }

    pub(super) fn touch(
        &mut self,
        allocations: &Allocations,
        touched: Touched,
        found: &Found<'_, Does>,
        span: Option<(u64, u64)>,
    ) {
        let memory = (touched.address, touched.bytes);
        each_allocation(allocations, memory, found.call.start_ns, |index| {
            self.used(allocations, index, touched, found, span);
        });
    }

    /// An allocation was used; `span`: when the GPU did, ns.
    fn used(
        &mut self,
        allocations: &Allocations,
        index: usize,
        touched: Touched,
        found: &Found<'_, Does>,
        span: Option<(u64, u64)>,
    ) {
        let kind = touched.kind;
        let by = (found.track, u32::try_from(found.row).unwrap_or(u32::MAX));
        let (from, to) = span.unwrap_or((found.call.start_ns, found.call.end_ns()));
        let is_by_gpu = span.is_some();
        let span = Span { first: Use::new(from, kind, by, is_by_gpu), last: Use::new(to, kind, by, is_by_gpu) };
        let is_new = self.given(allocations, index, touched, span, 1);
        let uses = self.usage.entry(index);
        uses.by(found.track);
        let counts = &mut uses.counts;
        counts.addresses = counts.addresses.saturating_add(u32::from(is_new));
        let count = match kind {
            UseKind::Read => &mut counts.reads,
            UseKind::Written => &mut counts.writes,
            UseKind::Kernel => &mut counts.kernels,
            UseKind::Fault => &mut counts.faults,
            UseKind::Graph | UseKind::Bound => &mut counts.graphs,
        };
        *count = count.saturating_add(1);
        let of = if kind.is_certain() { &mut uses.certain } else { &mut uses.possible };
        Span::add(of, span.first, span.last);
    }

    fn says(&mut self, allocations: &Allocations, found: &Found<'_, Does>, record: &Record<'_>, cut: bool) {
        let Some(says) = &found.what.says else { return };
        let Some((address, bytes, what)) = says.said(record) else { return };
        let Call { stream, .. } = found.call;
        let (track, row) = (found.track, u32::try_from(found.row).unwrap_or(u32::MAX));
        let at_ns = found.call.end_ns();
        self.usage.said.push(Said { at_ns, address, bytes, what, stream, track, row, cut });
        each_allocation(allocations, (address, bytes.max(1)), found.call.start_ns, |index| {
            let counts = &mut self.usage.entry(index).counts;
            let count = match what {
                super::What::Advice(..) => &mut counts.advice,
                super::What::Prefetch(_) | super::What::Discard | super::What::DiscardAndPrefetch(_) => {
                    &mut counts.prefetches
                }
                super::What::Attach(_) | super::What::Access(..) | super::What::Export => return,
            };
            *count = count.saturating_add(1);
        });
    }

    fn tells(&mut self, found: &Found<'_, Does>, record: &Record<'_>) {
        let at_ns = found.call.end_ns();
        if let Some((context, device)) = &found.what.context
            && let (Some(context), Some(device)) = (record.number(context), record.number(device))
        {
            let device = u8::try_from(device).unwrap_or(NO_DEVICE);
            self.peers.push((at_ns, Told::Context { context, device }));
        }
        if let Some((peer, may)) = &found.what.peer
            && let Some(of) = record.number(peer)
        {
            let (device, may) = (found.call.device, *may);
            let told = if peer.kind.bytes() == 8 {
                Told::OfContext { device, context: of, may }
            } else {
                Told::Device { device, of: u8::try_from(of).unwrap_or(NO_DEVICE), may }
            };
            self.peers.push((at_ns, told));
        }
    }

    fn array(&self, allocations: &Allocations, handle: u64, at_ns: u64) -> Option<usize> {
        let lives = self.arrays.get(&handle)?;
        let holds = |index: &&usize| {
            allocations.all().get(**index).is_some_and(|one| one.from_ns <= at_ns && at_ns <= one.until_ns)
        };
        lives.iter().rev().find(holds).copied()
    }
}
