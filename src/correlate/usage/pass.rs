//! One pass over a process: which memory its calls, kernels and faults used. It can be done in slices.

use std::ops::ControlFlow;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use umtui_wire::activity as wire;

use super::blocks::{Gathering, Given};
use super::graphs::Graphs;
use super::peers::{self, Told};
use super::touches::Does;
use super::{Span, Usage, Use, UseKind, Work};
use crate::correlate::allocation::{AllocationKind, Allocations};
use crate::correlate::calls::choose;
use crate::correlate::nodes::Chosen;
use crate::trace::activity::What;
use crate::trace::{ActivityKind, Bytes, LaneOf, ProcessId, Trace, TrackId};

/// Rows between two questions whether to go on.
pub(super) const STRIDE: usize = 256;
/// Allocations that one piece of memory may lie in. A program does not come near; a damaged trace must not make it slow.
const MOST_ALLOCATIONS: usize = 4096;

/// Where a pass stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Work of the GPU by its correlation id: lane, row.
    Work(usize, usize),
    /// Calls: thread, row.
    Calls(usize, usize),
    /// Records of unified memory.
    Unified(usize),
    /// What launches of graphs used.
    Graphs,
    /// Blocks are put in order.
    Blocks,
    Done,
}

/// A pass that is under way.
pub struct Pass {
    pub(super) process: ProcessId,
    pub(super) does: Vec<Option<Chosen<Does>>>,
    pub(super) stage: Stage,
    pub(super) work: Work,
    /// Of work that is several records: when the first began, ns.
    pub(super) begins: FxHashMap<u32, u64>,
    pub(super) graphs: Graphs,
    /// Arrays by handle, in order of time.
    pub(super) arrays: FxHashMap<u64, Vec<usize>>,
    blocks: Gathering,
    pub(super) peers: Vec<(u64, Told)>,
    /// Of the call inside the one that comes next: end, correlation id.
    pub(super) inside: Option<Inside>,
    pub(super) usage: Usage,
}

/// A call inside another one that submitted work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    pub track: TrackId,
    pub start_ns: u64,
    pub correlation: u32,
}

/// Memory that a call used.
#[derive(Clone, Copy)]
pub(super) struct Touched {
    pub address: u64,
    pub bytes: u64,
    pub kind: UseKind,
}

impl Pass {
    /// One that has not begun.
    #[must_use]
    pub fn new(trace: &Trace, process: ProcessId, allocations: &Allocations) -> Self {
        let mut arrays: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (index, one) in allocations.all().iter().enumerate() {
            if one.kind == AllocationKind::Array {
                arrays.entry(one.address).or_default().push(index);
            }
        }
        let does = choose(trace, |api, base| Chosen::of(api, base, Does::of));
        let stage = if trace.activities.recorded(What::Activity) { Stage::Work(0, 0) } else { Stage::Calls(0, 0) };
        Self {
            process,
            does,
            stage,
            work: Work::default(),
            begins: FxHashMap::default(),
            graphs: Graphs::default(),
            arrays,
            blocks: Gathering::default(),
            peers: Vec::new(),
            inside: None,
            usage: Usage::default(),
        }
    }

    /// Goes on until it is done, or `more` says no, which is asked now and then. Whether it is done. The trace may have grown
    /// since the last time; what came to threads and lanes that were gone through is left out. The allocations must be the
    /// same.
    pub fn go_on(
        &mut self,
        trace: &Trace,
        files: &[Arc<dyn Bytes>],
        allocations: &Allocations,
        more: &mut dyn FnMut() -> bool,
    ) -> bool {
        let mut goes_on = ControlFlow::Continue(());
        while goes_on.is_continue() && self.stage != Stage::Done {
            goes_on = match self.stage {
                Stage::Work(lane, row) => self.index_work(trace, lane, row, more),
                Stage::Calls(track, row) => self.calls(trace, files, allocations, (track, row), more),
                Stage::Unified(row) => self.unified(trace, allocations, row, more),
                Stage::Graphs => self.graph_launches(trace, allocations, more),
                Stage::Blocks => self.sort_blocks(allocations, more),
                Stage::Done => break,
            };
        }
        self.stage == Stage::Done
    }

    /// What was found.
    #[must_use]
    pub fn into_usage(self) -> Usage {
        let mut usage = self.usage;
        usage.said.sort_by_key(|said| said.at_ns);
        usage.peers = peers::peers(self.peers);
        usage
    }

    fn index_work(
        &mut self,
        trace: &Trace,
        lane: usize,
        from: usize,
        more: &mut dyn FnMut() -> bool,
    ) -> ControlFlow<()> {
        let lanes = trace.activities.lanes();
        let Some(of) = lanes.get(lane) else {
            self.stage = Stage::Calls(0, 0);
            return ControlFlow::Continue(());
        };
        let is_work = matches!(of.of, LaneOf::Stream { .. } | LaneOf::Rest) && of.process == self.process;
        let number = u32::try_from(lane).unwrap_or(u32::MAX);
        for row in from..if is_work { of.len() } else { 0 } {
            if row % STRIDE == STRIDE - 1 && row > from && !more() {
                self.stage = Stage::Work(lane, row);
                return ControlFlow::Break(());
            }
            let Some(activity) = of.get(row).filter(|one| one.kind.is_work() && one.timed && one.correlation != 0)
            else {
                continue;
            };
            let place = (number, u32::try_from(row).unwrap_or(u32::MAX));
            let known = self.work.entry(activity.correlation).or_insert(place);
            if *known != place
                && let Some((start, end)) = ended(trace, *known)
            {
                let begins = self.begins.entry(activity.correlation).or_insert(start);
                *begins = activity.start_ns.min(*begins);
                if end < activity.end_ns() {
                    *known = place;
                }
            }
        }
        self.stage = Stage::Work(lane + 1, 0);
        ControlFlow::Continue(())
    }

    /// An address in an allocation was given so many times; whether it had not been before.
    pub(super) fn given(
        &mut self,
        allocations: &Allocations,
        index: usize,
        touched: Touched,
        span: Span,
        times: u32,
    ) -> bool {
        let Some(one) = allocations.all().get(index) else { return false };
        // Of what reaches over several allocations the part in this one.
        let from = touched.address.max(one.address);
        let bytes = touched.address.saturating_add(touched.bytes).min(one.end()).saturating_sub(from).max(1);
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let given = self.blocks.give(number, (from, bytes), span, (times, touched.kind.is_certain()));
        self.usage.evidence.addresses_cut |= given == Given::TooMany;
        given == Given::New
    }

    fn sort_blocks(&mut self, allocations: &Allocations, more: &mut dyn FnMut() -> bool) -> ControlFlow<()> {
        self.usage.evidence.blocks_cut = self.blocks.is_cut();
        if !self.blocks.sort(more) {
            return ControlFlow::Break(());
        }
        self.usage.blocks = std::mem::take(&mut self.blocks).into_blocks(allocations);
        self.stage = Stage::Done;
        ControlFlow::Continue(())
    }

    fn unified(
        &mut self,
        trace: &Trace,
        allocations: &Allocations,
        from: usize,
        more: &mut dyn FnMut() -> bool,
    ) -> ControlFlow<()> {
        let lane = trace.activities.find(self.process, LaneOf::Unified).and_then(|id| trace.activities.lane(id));
        for row in from..lane.map_or(0, crate::trace::Lane::len) {
            if row % STRIDE == STRIDE - 1 && row > from && !more() {
                self.stage = Stage::Unified(row);
                return ControlFlow::Break(());
            }
            let Some(record) = lane.and_then(|lane| lane.get(row)).filter(|one| one.kind == ActivityKind::Unified)
            else {
                continue;
            };
            let (address, at_ns) = (record.address, record.start_ns);
            match record.unified().0 {
                wire::UNIFIED_TO_DEVICE | wire::UNIFIED_TO_HOST | wire::UNIFIED_BETWEEN_DEVICES => {
                    each_allocation(allocations, (address, record.value.max(1)), at_ns, |index| {
                        let count = &mut self.usage.entry(index).counts.migrations;
                        *count = count.saturating_add(1);
                    });
                }
                wire::UNIFIED_CPU_FAULT | wire::UNIFIED_GPU_FAULT => {
                    if let Some(index) = allocations.find(address, at_ns) {
                        let by = (TrackId(0), u32::try_from(row).unwrap_or(u32::MAX));
                        let uses = self.usage.entry(index);
                        uses.counts.faults = uses.counts.faults.saturating_add(1);
                        let one = |at_ns| Use::new(at_ns, UseKind::Fault, by, true);
                        Span::add(&mut uses.certain, one(at_ns), one(record.end_ns()));
                    }
                }
                _ => {}
            }
        }
        self.stage = Stage::Graphs;
        ControlFlow::Continue(())
    }
}

/// When a piece of work began and ended, ns.
pub(super) fn ended(trace: &Trace, (lane, row): (u32, u32)) -> Option<(u64, u64)> {
    let activity = trace.activities.lanes().get(lane as usize)?.get(row as usize)?;
    Some((activity.start_ns, activity.end_ns()))
}

/// Calls `each` with the allocations that held any of so many bytes from an address on at a moment, ns.
pub(super) fn each_allocation(
    allocations: &Allocations,
    (address, bytes): (u64, u64),
    at_ns: u64,
    mut each: impl FnMut(usize),
) {
    let end = address.saturating_add(bytes);
    let mut at = address;
    for _ in 0..MOST_ALLOCATIONS {
        let found = allocations.find(at, at_ns);
        found.into_iter().for_each(&mut each);
        let held = found.and_then(|index| allocations.all().get(index)).map(super::super::Allocation::end);
        let Some(next) = held.or_else(|| allocations.next_base(at)).filter(|&next| next > at && next < end) else {
            return;
        };
        at = next;
    }
}
