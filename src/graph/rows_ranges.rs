//! Ranges in the rows: each stands around the calls made and the work submitted inside.

use std::sync::PoisonError;

use super::cells::Cells;
use super::identity::{Directory, What};
use super::ranges::{OUTSIDE, RangeIndex, RangeNode};
use super::rows::{BELOW_RANGES, RowId, Rows, TOP};
use super::stats::{Stats, Sums};
use super::work::Work;

impl Rows {
    /// Takes all ranges and what was submitted inside in place of the last; `work` has paths of ranges for lanes.
    pub fn refresh_ranges(&mut self, ranges: &RangeIndex, work: &Work, directory: &dyn Directory) {
        self.refresh_some_ranges(ranges, ranges.stats(), work, directory);
    }

    /// Likewise with other statistics by path: those of some ranges only.
    pub fn refresh_some_ranges(
        &mut self,
        ranges: &RangeIndex,
        stats: Vec<Stats>,
        work: &Work,
        directory: &dyn Directory,
    ) {
        let before = (std::mem::take(&mut self.ranged), std::mem::take(&mut self.worked));
        for &row in before.0.iter().chain(&before.1) {
            if let Some(beside) = self.rows.get_mut(row as usize).and_then(|row| row.beside.as_deref_mut()) {
                beside.ranges = Sums::default();
                beside.paths.clear();
                beside.on_gpu = Default::default();
                beside.work_cells.clear();
            }
            self.unmark(row, BELOW_RANGES);
        }
        self.range_ns = 0;
        self.work_ns = (0, 0);
        for (node, stats) in (0..).zip(&stats).skip(1).filter(|(_, stats)| stats.sums.any()) {
            let id = self.row_of_range(ranges, node, directory);
            if let Some(row) = self.rows.get_mut(id as usize) {
                let beside = row.beside_mut();
                beside.ranges.add(&stats.sums);
                beside.paths.push(node);
            }
            self.mark_above(id, BELOW_RANGES);
            if self.parent(id) == TOP {
                self.range_ns = self.range_ns.saturating_add(stats.sums.total_ns);
            }
            self.ranged.push(id);
        }
        self.range_stats = stats;
        for (id, cell) in (0u32..).zip(work.cells()) {
            let above = self.row_of_range(ranges, cell.lane.0, directory);
            let row = self.below(above, cell.of.what(&|text| directory.text(text)), directory);
            if let Some(row) = self.rows.get_mut(row as usize) {
                row.beside_mut().work_cells.push(id);
            }
            self.work_ns.0 = self.work_ns.0.saturating_add(cell.stats.sums.total_ns);
            self.add_work(row, cell);
        }
        for list in [&mut self.ranged, &mut self.worked] {
            list.sort_unstable();
            list.dedup();
        }
        self.own_times();
        if before != (self.ranged.clone(), self.worked.clone()) {
            self.shape += 1;
        }
        self.version += 1;
    }

    /// Of each range the time outside of ranges and calls in it.
    fn own_times(&mut self) {
        for at in 0..self.ranged.len() {
            let Some(&id) = self.ranged.get(at) else { break };
            let Some(row) = self.rows.get(id as usize) else { continue };
            let nested = row.children.iter().map(|&child| match self.get(child) {
                Some(row) if matches!(row.what, What::Range(..)) => row.beside().ranges.total_ns,
                Some(row) if matches!(row.what, What::Call(_)) => self.calls_ns(child),
                _ => 0,
            });
            let nested = nested.fold(0u64, u64::saturating_add);
            if let Some(row) = self.rows.get_mut(id as usize) {
                let ranges = &mut row.beside_mut().ranges;
                ranges.self_ns = ranges.total_ns.saturating_sub(nested);
            }
        }
    }

    /// The row of the range in which a call was made.
    pub(super) fn range_row(&mut self, cells: &Cells, node: RangeNode, directory: &dyn Directory) -> RowId {
        let Some(ranges) = &cells.ranges else { return TOP };
        self.row_of_range(&ranges.read().unwrap_or_else(PoisonError::into_inner), node, directory)
    }

    fn row_of_range(&mut self, ranges: &RangeIndex, node: RangeNode, directory: &dyn Directory) -> RowId {
        if node == OUTSIDE {
            return self.below(TOP, What::Outside, directory);
        }
        let mut row = TOP;
        for path in ranges.way(node) {
            let (domain, name) = (directory.text(path.domain), directory.text(path.name));
            self.provisional |= path.name.is_late(name) || path.domain.is_late(domain);
            row = self.below(row, What::Range(domain, name), directory);
        }
        row
    }

    /// Some rows are named by strings that were not defined when they were made: they must be made anew.
    #[must_use]
    pub fn is_provisional(&self) -> bool {
        self.provisional
    }

    /// What is known of the ranges at a row.
    #[must_use]
    pub fn range_stats(&self, row: RowId) -> Stats {
        let mut stats = Stats::default();
        let Some(row) = self.get(row) else { return stats };
        row.beside()
            .paths
            .iter()
            .filter_map(|&node| self.range_stats.get(node as usize))
            .for_each(|one| stats.merge(one));
        Stats { sums: row.beside().ranges, ..stats }
    }

    /// Sum of the durations of the outermost ranges, ns: what shares of ranges are shares of.
    #[must_use]
    pub fn range_ns(&self) -> u64 {
        self.range_ns
    }
}
