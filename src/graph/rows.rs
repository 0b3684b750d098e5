//! The calls tree as one grouping shows it: cells folded into rows.
//!
//! A row of a call is the fold of the calls at its path; a row above them (a process, a thread, a call site)
//! is the fold of the outermost calls below it, so its count, extremes and percentiles speak of the same calls.
//! In the flat and the inverted grouping a row's count and self time are those of all calls of the function,
//! its total leaves out calls that run inside another call of the same function.
//!
//! What the GPU did stands beside the calls of its stream or device, and is never added to them: the rows above say it
//! apart ([`super::OnGpu`]).

use rustc_hash::FxHashMap;

use super::cells::{Cell, CellId, Cells, Place};
use super::histogram::Histogram;
use super::identity::{Directory, NodeKey, ROOT, What};
use super::row::Row;
use super::stats::{Stats, Sums};
use crate::trace::ApiId;

/// How calls are put together in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Grouping {
    /// Process, thread, call site, call, nested call.
    #[default]
    Thread,
    /// Process, stream, call site, call, nested call.
    Stream,
    /// Device, call site, call, nested call.
    Device,
    /// Call site, call, nested call; all threads together.
    CallSite,
    /// Range, range in it, call, nested call; all threads together.
    Range,
    /// One row for each function.
    Flat,
    /// Function, then who called it, up to the thread.
    Inverted,
}

impl Grouping {
    /// Whether call sites have rows.
    #[must_use]
    pub const fn has_sites(self) -> bool {
        !matches!(self, Self::Flat | Self::Range)
    }
}

/// Number of a row in a [`Rows`]. A parent's is smaller than its children's.
pub type RowId = u32;
/// The row above all others, which is not shown.
pub const TOP: RowId = 0;

/// Calls that have ended stand below.
const BELOW_ENDED: u8 = 1;
/// Calls that have not.
const BELOW_UNFINISHED: u8 = 2;
/// Ranges.
pub(super) const BELOW_RANGES: u8 = 4;

/// All rows of a grouping.
#[derive(Debug)]
pub struct Rows {
    pub(super) grouping: Grouping,
    pub(super) rows: Vec<Row>,
    /// Which rows stand for what the GPU did: many are passed over when calls are looked for, without a look at them.
    of_gpu: Vec<bool>,
    by_key: FxHashMap<NodeKey, RowId>,
    /// For each cell its row and what of it is in the rows.
    taken: Vec<(RowId, Sums)>,
    generation: u32,
    unfinished: Cells,
    /// Rows that `unfinished` has part in.
    touched: Vec<RowId>,
    /// Likewise what the GPU did.
    pub(super) worked: Vec<RowId>,
    /// Likewise of ranges.
    pub(super) ranged: Vec<RowId>,
    /// Statistics of ranges by path.
    pub(super) range_stats: Vec<Stats>,
    /// Sum of the durations of ranges that are in none, ns.
    pub(super) range_ns: u64,
    /// Some rows are named by strings that are not defined yet.
    pub(super) provisional: bool,
    /// Some cells' calls are not counted.
    sifted: bool,
    /// Durations of kernels, copies, sets and graphs; and of unified memory, ns.
    pub(super) work_ns: (u64, u64),
    outermost_ns: u64,
    unfinished_ns: u64,
    /// Grows when rows come, go or begin to show something.
    pub(super) shape: u64,
    /// Grows with every change.
    pub(super) version: u64,
}

impl Rows {
    /// No rows yet.
    #[must_use]
    pub fn new(grouping: Grouping) -> Self {
        let top = Row::new(ROOT, TOP, 0, What::Call(ApiId(0)));
        Self {
            grouping,
            rows: vec![top],
            of_gpu: vec![false],
            by_key: FxHashMap::default(),
            taken: Vec::new(),
            generation: 0,
            unfinished: Cells::default(),
            touched: Vec::new(),
            worked: Vec::new(),
            ranged: Vec::new(),
            range_stats: Vec::new(),
            range_ns: 0,
            provisional: false,
            sifted: false,
            work_ns: (0, 0),
            outermost_ns: 0,
            unfinished_ns: 0,
            shape: 0,
            version: 0,
        }
    }

    /// Likewise of cells of which some only lead to others.
    #[must_use]
    pub fn sifted(grouping: Grouping) -> Self {
        Self { sifted: true, ..Self::new(grouping) }
    }

    /// Takes what changed in `cells` since the last time, and all of `unfinished` in place of the last.
    pub fn refresh(&mut self, cells: &Cells, unfinished: Cells, directory: &dyn Directory) {
        self.version += 1;
        for (id, cell) in cells.changed_since(self.generation) {
            let above = cell.parent.and_then(|parent| self.taken.get(parent.index())).map_or(TOP, |taken| taken.0);
            if id.index() == self.taken.len() {
                let row = self.row_of(cells, cell, above, directory);
                self.taken.push((row, Sums::default()));
                if let Some(row) = self.rows.get_mut(row as usize) {
                    if cell.inner { &mut row.inner_cells } else { &mut row.cells }.push(id);
                }
            }
            let Some(&mut (row, ref mut taken)) = self.taken.get_mut(id.index()) else { continue };
            let more = cell.stats.sums.since(taken);
            *taken = cell.stats.sums;
            if !cell.inner {
                self.outermost_ns = self.outermost_ns.saturating_add(more.total_ns);
            }
            self.add(row, cell, more, |row| &mut row.ended, BELOW_ENDED);
        }
        self.generation = cells.generation();
        self.refresh_unfinished(unfinished, directory);
    }

    fn refresh_unfinished(&mut self, unfinished: Cells, directory: &dyn Directory) {
        let before = std::mem::take(&mut self.touched);
        for &row in &before {
            if let Some(row) = self.rows.get_mut(row as usize) {
                row.below &= !BELOW_UNFINISHED;
                if let Some(beside) = row.beside.as_deref_mut() {
                    beside.unfinished = Sums::default();
                    beside.unfinished_cells.clear();
                    beside.unfinished_inner.clear();
                }
            }
        }
        self.unfinished_ns = 0;
        let mut placed: Vec<RowId> = Vec::with_capacity(unfinished.len());
        for (id, cell) in unfinished.iter() {
            let above = cell.parent.and_then(|parent| placed.get(parent.index())).copied().unwrap_or(TOP);
            let row = self.row_of(&unfinished, cell, above, directory);
            placed.push(row);
            if let Some(row) = self.rows.get_mut(row as usize) {
                let beside = row.beside_mut();
                if cell.inner { &mut beside.unfinished_inner } else { &mut beside.unfinished_cells }.push(id);
            }
            self.add(row, cell, cell.stats.sums, |row| &mut row.beside_mut().unfinished, BELOW_UNFINISHED);
            if !cell.inner {
                self.unfinished_ns = self.unfinished_ns.saturating_add(cell.stats.sums.total_ns);
            }
            self.touch(row);
        }
        self.unfinished = unfinished;
        self.touched.sort_unstable();
        self.touched.dedup();
        if before != self.touched {
            self.shape += 1;
        }
    }

    fn touch(&mut self, mut row: RowId) {
        while row != TOP {
            self.touched.push(row);
            row = self.parent(row);
        }
        self.touched.push(TOP);
    }

    /// Adds to the row of a cell, and above it as far as its calls count there. Calls above it are rows of their own.
    fn add(&mut self, row: RowId, cell: &Cell, mut more: Sums, part: impl Fn(&mut Row) -> &mut Sums, below: u8) {
        let by_function = matches!(self.grouping, Grouping::Flat | Grouping::Inverted);
        if by_function && cell.nested_in_itself {
            more.total_ns = 0;
        }
        let only_here = cell.inner && !by_function;
        let mut at = row;
        let mut appears = false;
        while let Some(next) = self.rows.get_mut(at as usize) {
            let is_call = matches!(next.what, What::Call(_)) && at != TOP;
            if at == row || by_function || !is_call {
                let sums = part(next);
                let shown = sums.any();
                sums.add(&more);
                if shown != sums.any() {
                    self.shape += 1;
                    appears |= at == row;
                }
            }
            if at == TOP || only_here {
                break;
            }
            at = next.parent;
        }
        if appears {
            self.mark_above(row, below);
        }
    }

    /// Says of the rows above one that there is something below them.
    pub(super) fn mark_above(&mut self, row: RowId, below: u8) {
        let mut at = row;
        while at != TOP {
            at = self.parent(at);
            let Some(above) = self.rows.get_mut(at as usize) else { return };
            if above.below & below != 0 {
                return;
            }
            above.below |= below;
            self.shape += 1;
            if below == BELOW_RANGES {
                self.ranged.push(at);
            }
        }
    }

    pub(super) fn unmark(&mut self, row: RowId, below: u8) {
        if let Some(row) = self.rows.get_mut(row as usize) {
            row.below &= !below;
        }
    }

    /// The row of a cell, made if there is none; `above` is that of its parent.
    fn row_of(&mut self, cells: &Cells, cell: &Cell, above: RowId, directory: &dyn Directory) -> RowId {
        let call = What::Call(cell.api);
        let Place { track, site, stream, .. } = cell.place;
        match self.grouping {
            Grouping::Flat => self.below(TOP, call, directory),
            Grouping::Inverted => {
                let mut row = self.below(TOP, call, directory);
                let mut caller = cell.parent;
                while let Some(cell) = caller.and_then(|id| cells.get(id)) {
                    row = self.below(row, What::Call(cell.api), directory);
                    caller = cell.parent;
                }
                row = self.below(row, What::Site(site), directory);
                self.below(row, What::Thread(track), directory)
            }
            _ if cell.parent.is_some() => self.below(above, call, directory),
            Grouping::Range => {
                let row = self.range_row(cells, cell.place.range, directory);
                self.below(row, call, directory)
            }
            grouping => {
                let (process, host) = directory.process(track);
                let groups = match grouping {
                    Grouping::Thread => [Some(What::Process(process)), Some(What::Thread(track))],
                    Grouping::Stream => [Some(What::Process(process)), Some(What::Stream(stream))],
                    Grouping::Device => [Some(What::Device(host, cell.place.device)), None],
                    _ => [None, None],
                };
                let mut row = TOP;
                for what in groups.into_iter().flatten().chain([What::Site(site), call]) {
                    row = self.below(row, what, directory);
                }
                row
            }
        }
    }

    pub(super) fn below(&mut self, parent: RowId, what: What, directory: &dyn Directory) -> RowId {
        let Some(above) = self.rows.get(parent as usize) else { return TOP };
        let key = above.key.below(what, directory);
        if let Some(&known) = self.by_key.get(&key) {
            return known;
        }
        let depth = if parent == TOP { 0 } else { above.depth.saturating_add(1) };
        // Four billion rows do not fit into memory; what comes after is counted at the top only.
        let Ok(id) = RowId::try_from(self.rows.len()) else { return TOP };
        self.rows.push(Row::new(key, parent, depth, what));
        self.of_gpu.push(what.is_gpu());
        self.by_key.insert(key, id);
        if let Some(above) = self.rows.get_mut(parent as usize) {
            above.children.push(id);
        }
        self.shape += 1;
        id
    }

    /// How the rows are grouped.
    #[must_use]
    pub fn grouping(&self) -> Grouping {
        self.grouping
    }

    /// Rows, [`TOP`] and rows without calls included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Never: [`TOP`] is always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A row.
    #[must_use]
    pub fn get(&self, row: RowId) -> Option<&Row> {
        self.rows.get(row as usize)
    }

    /// The row with this key.
    #[must_use]
    pub fn find(&self, key: NodeKey) -> Option<RowId> {
        self.by_key.get(&key).copied()
    }

    /// Rows that have something to show below this one, in no order.
    pub fn children(&self, row: RowId) -> impl Iterator<Item = RowId> {
        let children = self.get(row).map_or(&[][..], |row| &row.children);
        children.iter().copied().filter(|&child| self.get(child).is_some_and(Row::any))
    }

    pub(super) fn parent(&self, row: RowId) -> RowId {
        self.get(row).map_or(TOP, |row| row.parent)
    }

    pub(super) fn children_mut(&mut self, row: RowId) -> Option<&mut Vec<RowId>> {
        self.rows.get_mut(row as usize).map(|row| &mut row.children)
    }

    /// Sum of the durations of all outermost calls, ns: what shares are shares of.
    #[must_use]
    pub fn outermost_ns(&self) -> u64 {
        self.outermost_ns.saturating_add(self.unfinished_ns)
    }

    /// Everything that is known of the calls of a row. `cells` are those of the last refresh.
    #[must_use]
    pub fn stats(&self, row: RowId, cells: &Cells) -> Stats {
        Stats { sums: self.get(row).map(Row::sums).unwrap_or_default(), histogram: self.histogram(row, cells) }
    }

    /// Likewise of a row of a range that of the calls in it.
    #[must_use]
    pub fn call_stats(&self, row: RowId, cells: &Cells) -> Stats {
        let mut sums = self.get(row).map(|row| row.ended).unwrap_or_default();
        sums.add(&self.get(row).map(|row| row.beside().unfinished).unwrap_or_default());
        Stats { sums, histogram: self.histogram(row, cells) }
    }

    fn histogram(&self, row: RowId, cells: &Cells) -> Histogram {
        let mut histogram = Histogram::default();
        self.for_each_cell(row, &mut |unfinished, id| {
            let cell = if unfinished { self.unfinished.get(id) } else { cells.get(id) };
            if let Some(cell) = cell {
                histogram.merge(&cell.stats.histogram);
            }
        });
        histogram
    }

    /// Time of calls that the program made, at or below this row, ns.
    pub(super) fn calls_ns(&self, row: RowId) -> u64 {
        self.get(row).map_or(0, |row| row.ended.total_ns.saturating_add(row.beside().unfinished.total_ns))
    }

    /// The cells whose calls a row counts: `false` and one of the tree's, or `true` and one of those that were
    /// unfinished at the last refresh.
    pub fn for_each_cell(&self, row: RowId, visit: &mut dyn FnMut(bool, CellId)) {
        let is_call = |row: &Row| matches!(row.what, What::Call(_)) && row.key != ROOT;
        let by_function = matches!(self.grouping, Grouping::Flat | Grouping::Inverted);
        let of_calls = by_function || self.get(row).is_some_and(is_call);
        let mut next = vec![row];
        while let Some(row) = next.pop().and_then(|id| self.get(id)) {
            row.cells.iter().for_each(|&id| visit(false, id));
            row.beside().unfinished_cells.iter().for_each(|&id| visit(true, id));
            if of_calls {
                row.inner_cells.iter().for_each(|&id| visit(false, id));
                row.beside().unfinished_inner.iter().for_each(|&id| visit(true, id));
            }
            // What is below a call belongs to other calls, except where the tree is upside down, or where that call is
            // not counted.
            if self.grouping == Grouping::Inverted || !is_call(row) || (self.sifted && !of_calls) {
                let has_calls = |row: &&RowId| self.of_gpu.get(**row as usize) != Some(&true);
                next.extend(row.children.iter().filter(has_calls));
            }
        }
    }

    /// What was unfinished at the last refresh.
    #[must_use]
    pub fn unfinished(&self) -> &Cells {
        &self.unfinished
    }
}
