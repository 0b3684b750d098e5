//! The call tree of the calls that a lens selects. Others lead to them and are not counted.
//!
//! Which calls of a path are counted differs from call to call, so a path is one of functions and of whether each call
//! on it counts. A call's own time is what it is without a lens: less all that it called.

use std::sync::{Arc, RwLock};

use super::cells::{CellId, Cells};
use super::ranges::RangeIndex;
use super::walk::{Sink as _, outermost, place};
use crate::lens::{Block, bit};

/// The cells of what is selected.
#[derive(Debug)]
pub struct Sifted {
    cells: Cells,
    nodes: Vec<Option<CellId>>,
    left: Vec<u64>,
}

impl Default for Sifted {
    fn default() -> Self {
        let mut cells = Cells::default();
        cells.next_generation();
        Self { cells, nodes: Vec::new(), left: Vec::new() }
    }
}

impl Sifted {
    /// Also tells apart in which range of its thread an outermost call was made.
    #[must_use]
    pub fn by_range(ranges: Arc<RwLock<RangeIndex>>) -> Self {
        let mut sifted = Self::default();
        sifted.cells.ranges = Some(ranges);
        sifted
    }

    /// The cells of calls whose outermost call has ended.
    #[must_use]
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Begins a batch: rows take what changed batch by batch.
    pub fn begin_batch(&mut self) {
        self.cells.next_generation();
    }

    /// Takes the selected calls of a block, a bit each.
    pub fn take(&mut self, block: &Block, selected: &[u64]) {
        if selected.iter().all(|word| *word == 0) {
            return;
        }
        let needed = block.with_callers(selected);
        own_times(block, &mut self.left);
        self.nodes.clear();
        self.nodes.resize(block.len(), None);
        for at in (0..block.len()).rev() {
            let Some(call) = block.calls.get(at).filter(|_| needed.get(at).copied().unwrap_or(false)) else { continue };
            let counted = bit(selected, at);
            let caller = block.callers.get(at).and_then(|&caller| self.nodes.get(caller as usize)).copied().flatten();
            let node = match caller {
                Some(caller) => self.cells.child_of(caller, call.api, !counted),
                None => self.cells.root_of(place(block.track, call), outermost(call), !counted),
            };
            if let Some(place) = self.nodes.get_mut(at) {
                *place = Some(node);
            }
            if !counted {
                continue;
            }
            if !block.has_ended(at) {
                self.cells.add_running(node);
                continue;
            }
            self.cells.call(node, at, call);
            self.cells.own_time(node, self.left.get(at).copied().unwrap_or(0));
        }
    }

    /// The cells of blocks of what has not ended, with the calls of each that are selected.
    pub fn unfinished<'a>(&self, blocks: impl IntoIterator<Item = (&'a Block, &'a [u64])>) -> Cells {
        let mut sifted = Self::default();
        sifted.cells.ranges.clone_from(&self.cells.ranges);
        blocks.into_iter().for_each(|(block, selected)| sifted.take(block, selected));
        sifted.cells
    }
}

impl Cells {
    /// The cell of each selected call of a block.
    #[must_use]
    pub fn locate_sifted(&self, block: &Block, selected: &[u64]) -> Vec<Option<CellId>> {
        let needed = block.with_callers(selected);
        let mut nodes: Vec<Option<CellId>> = vec![None; block.len()];
        for at in (0..block.len()).rev() {
            let Some(call) = block.calls.get(at).filter(|_| needed.get(at).copied().unwrap_or(false)) else { continue };
            let hidden = !bit(selected, at);
            let caller = block.callers.get(at).copied().unwrap_or(u32::MAX) as usize;
            let node = match nodes.get(caller) {
                Some(caller) => caller.and_then(|caller| self.find_child(caller, call.api, hidden)),
                None => self.find_root(self.within(place(block.track, call), call.start_ns), call.api, hidden),
            };
            if let Some(place) = nodes.get_mut(at) {
                *place = node;
            }
        }
        for (at, node) in nodes.iter_mut().enumerate() {
            *node = node.filter(|_| bit(selected, at));
        }
        nodes
    }
}

/// Of each call its duration less those of the calls in it, ns.
fn own_times(block: &Block, left: &mut Vec<u64>) {
    left.clear();
    left.extend((0..block.len()).map(|at| block.duration(at).unwrap_or(0)));
    for at in 0..block.len() {
        let duration = block.duration(at).unwrap_or(0);
        let caller = block.callers.get(at).and_then(|&caller| left.get_mut(caller as usize));
        if let Some(caller) = caller {
            *caller = caller.saturating_sub(duration);
        }
    }
}

impl crate::lens::Spans for RangeIndex {
    fn at_until(&self, track: crate::trace::TrackId, ns: u64) -> (u32, u64) {
        Self::at_until(self, track, ns)
    }

    fn node_of(&self, track: crate::trace::TrackId, row: usize) -> u32 {
        Self::node_of(self, track, row)
    }

    fn len(&self) -> usize {
        self.paths()
    }

    fn path(&self, trace: &crate::trace::Trace, node: u32) -> Option<(u32, crate::trace::NameId)> {
        Self::path(self, node).map(|path| (path.parent, trace.activities.name(path.name)))
    }
}
