//! What the GPU did, in the rows: beside the calls of its stream or device, never added to them.

use super::histogram::Histogram;
use super::identity::{Directory, What};
use super::rows::{Grouping, RowId, Rows, TOP};
use super::stats::{Stats, Sums};
use super::work::{Work, WorkCell, WorkPlace, WorkStream};
use crate::trace::NameId;
use crate::trace::activity::TextId;

/// What the GPU and the driver did at a row or below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnGpu {
    /// Records.
    pub records: u64,
    /// At a row that stands for such itself: all of them. Above: kernels, copies, sets and graphs.
    pub sums: Sums,
    /// At such a row: bytes copied, set or moved; groups of GPU faults. Above: bytes that moved as pages.
    pub amount: u64,
}

impl Rows {
    /// Takes all that the GPU did in place of the last. It has few cells, and what is known of where they belong may
    /// have changed.
    pub fn refresh_work(
        &mut self,
        work: &Work,
        places: &[WorkPlace],
        name: impl Fn(TextId) -> NameId,
        directory: &dyn Directory,
    ) {
        let before = std::mem::take(&mut self.worked);
        for &row in &before {
            if let Some(beside) = self.rows.get_mut(row as usize).and_then(|row| row.beside.as_deref_mut()) {
                beside.on_gpu = OnGpu::default();
                beside.work_cells.clear();
            }
        }
        self.work_ns = (0, 0);
        for (id, cell) in (0u32..).zip(work.cells()) {
            let Some(place) = places.get(cell.lane.0 as usize) else { continue };
            let Some(row) = self.work_row(cell, place, &name, directory) else { continue };
            if let Some(row) = self.rows.get_mut(row as usize) {
                row.beside_mut().work_cells.push(id);
            }
            let sum = if cell.of.is_work() { &mut self.work_ns.0 } else { &mut self.work_ns.1 };
            *sum = sum.saturating_add(cell.stats.sums.total_ns);
            self.add_work(row, cell);
        }
        self.worked.sort_unstable();
        self.worked.dedup();
        if before != self.worked {
            self.shape += 1;
        }
        self.version += 1;
    }

    pub(super) fn add_work(&mut self, row: RowId, cell: &WorkCell) {
        let mut at = row;
        while let Some(row) = self.rows.get_mut(at as usize) {
            let own = row.what.is_gpu();
            let on_gpu = &mut row.beside_mut().on_gpu;
            on_gpu.records = on_gpu.records.saturating_add(cell.stats.sums.count);
            if own || cell.of.is_work() {
                on_gpu.sums.add(&cell.stats.sums);
            }
            if own || cell.of.is_migration() {
                on_gpu.amount = on_gpu.amount.saturating_add(cell.amount);
            }
            let parent = row.parent;
            self.worked.push(at);
            if at == TOP {
                break;
            }
            at = parent;
        }
    }

    /// The row of what the GPU did; `None` where this grouping has no place for it.
    fn work_row(
        &mut self,
        cell: &WorkCell,
        place: &WorkPlace,
        name: &impl Fn(TextId) -> NameId,
        directory: &dyn Directory,
    ) -> Option<RowId> {
        let above = match (self.grouping, place.stream) {
            (Grouping::Stream, WorkStream::Known(stream)) => {
                let process = self.below(TOP, What::Process(place.process), directory);
                self.below(process, What::Stream(stream), directory)
            }
            (Grouping::Stream, WorkStream::Ids(context, stream)) => {
                let process = self.below(TOP, What::Process(place.process), directory);
                self.below(process, What::Ids(place.process, context, stream), directory)
            }
            (Grouping::Device, _) => self.below(TOP, What::Device(place.host, cell.device), directory),
            _ => return None,
        };
        let what = cell.of.what(name);
        Some(self.below(above, what, directory))
    }

    /// Sums of the durations of kernels, copies, sets and graphs, and of what unified memory did, ns: what their
    /// shares are shares of.
    #[must_use]
    pub fn work_ns(&self) -> (u64, u64) {
        self.work_ns
    }

    /// Everything that is known of what the GPU did at a row that stands for such. `work` is that of the last refresh.
    #[must_use]
    pub fn work_stats(&self, row: RowId, work: &Work) -> Stats {
        let mut histogram = Histogram::default();
        let cells = self.get(row).map_or(&[][..], |row| &row.beside().work_cells);
        let cells = cells.iter().filter_map(|&id| work.cells().get(id as usize));
        cells.for_each(|cell| histogram.merge(&cell.stats.histogram));
        Stats { sums: self.get(row).map(|row| row.on_gpu().sums).unwrap_or_default(), histogram }
    }

    /// The cells of what the GPU did at a row and below it.
    #[must_use]
    pub fn work_cells(&self, row: RowId) -> Vec<u32> {
        let mut cells = Vec::new();
        let mut next = vec![row];
        while let Some(row) = next.pop().and_then(|id| self.get(id)) {
            cells.extend(&row.beside().work_cells);
            // Nothing is below what has nothing.
            if row.on_gpu().records > 0 {
                next.extend(&row.children);
            }
        }
        cells
    }
}
