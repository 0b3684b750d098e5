//! A window of the rows that are to be seen: which nodes are open, in which order, from which row on.
//!
//! How many rows a subtree shows is kept for the current folds; children are put in order only where the
//! window looks. A window costs what it shows and what it must skip, not the whole tree.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;
use std::sync::Arc;

use super::cells::Cells;
use super::identity::{NodeKey, What};
use super::rows::{RowId, Rows, TOP};
use super::sought::Sorting;
use super::work::Work;

/// A column of the calls screen. Total and self are sums of nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Column {
    Name,
    Total,
    SelfTime,
    Count,
    Failed,
    Min,
    Average,
    P50,
    P99,
    Max,
    Share,
}

/// Which nodes show their children.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Folds {
    /// Nodes above this depth are open unless listed in `flipped`; 0: all folded.
    pub open_depth: u16,
    /// Nodes that are the other way round.
    pub flipped: BTreeSet<NodeKey>,
}

impl Folds {
    /// Whether the node with this key and depth shows its children.
    #[must_use]
    pub fn open(&self, key: NodeKey, depth: u16) -> bool {
        (depth < self.open_depth) != self.flipped.contains(&key)
    }
}

/// Names of rows, as they are shown.
pub trait Labels {
    /// The name of a row.
    fn label(&self, what: What) -> String;
    /// Changes when a name has changed.
    fn version(&self) -> u64;
}

/// What a window is made of.
#[derive(Clone, Debug)]
pub struct WindowRequest {
    /// Sort column, and whether the largest comes first.
    pub sort: (Column, bool),
    /// Which nodes are open.
    pub folds: Arc<Folds>,
    /// The window moves so that this node is inside.
    pub cursor: Option<NodeKey>,
    /// First row wanted.
    pub first: usize,
    /// Rows wanted.
    pub rows: usize,
}

/// Some of the rows that are to be seen.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Window {
    /// Rows in all.
    pub total: usize,
    /// Number of the first row here.
    pub first: usize,
    /// Number of the cursor's row, if it is to be seen.
    pub cursor: Option<usize>,
    /// The rows, and whether each is open; `None` for a leaf.
    pub rows: Vec<(RowId, Option<bool>)>,
}

/// Rows of a grouping with what is kept between two windows.
#[derive(Debug)]
pub struct Windows {
    /// The rows.
    pub rows: Rows,
    folds: Arc<Folds>,
    /// Shape of the rows for which `visible` holds.
    shape: Option<u64>,
    /// For each row how many the subtree shows, itself included; 0 for rows without calls.
    visible: Vec<u32>,
    /// For each row the order its children are in.
    sorted: Vec<Option<Sorted>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sorted {
    sort: (Column, bool),
    version: u64,
}

impl Windows {
    /// Windows on `rows`.
    #[must_use]
    pub fn new(rows: Rows) -> Self {
        Self { rows, folds: Arc::default(), shape: None, visible: Vec::new(), sorted: Vec::new() }
    }

    /// The window asked for. `cells` and `work` are those of the last refresh.
    pub fn window(&mut self, request: &WindowRequest, (cells, work): (&Cells, &Work), labels: &dyn Labels) -> Window {
        self.count_visible(&request.folds);
        let total = self.visible(TOP).saturating_sub(1) as usize;
        let order = Order { sort: request.sort, cells, work, labels };
        let cursor = request.cursor.and_then(|key| self.rows.find(key)).and_then(|row| self.number(row, &order));
        let mut first = request.first;
        if let Some(cursor) = cursor {
            first = first.min(cursor).max((cursor + 1).saturating_sub(request.rows));
        }
        first = first.min(total.saturating_sub(request.rows));
        let rows = self.list(first, request.rows, &order);
        Window { total, first, cursor, rows }
    }

    /// The child with the largest total.
    #[must_use]
    pub fn hottest(&self, row: RowId) -> Option<RowId> {
        self.rows.children(row).max_by_key(|&child| {
            let row = self.rows.get(child);
            row.map(|row| (row.sums().total_ns, Reverse(row.key)))
        })
    }

    fn visible(&self, row: RowId) -> u32 {
        self.visible.get(row as usize).copied().unwrap_or(0)
    }

    fn is_open(&self, row: RowId) -> bool {
        row == TOP || self.rows.get(row).is_some_and(|row| self.folds.open(row.key, row.depth))
    }

    fn count_visible(&mut self, folds: &Arc<Folds>) {
        let same = Arc::ptr_eq(&self.folds, folds) || self.folds == *folds;
        if same && self.shape == Some(self.rows.shape) {
            return;
        }
        self.folds = folds.clone();
        self.shape = Some(self.rows.shape);
        self.visible.clear();
        self.visible.resize(self.rows.len(), 0);
        self.make_sortable();
        // Children have larger numbers than their parents, so their counts are complete first.
        for id in (0..self.visible.len()).rev() {
            let Ok(row_id) = RowId::try_from(id) else { continue };
            let Some(row) = self.rows.get(row_id) else { continue };
            let shows = row_id == TOP || row.any();
            let parent = row.parent as usize;
            let below = if self.is_open(row_id) { self.visible(row_id) } else { 0 };
            let all = if shows { below + 1 } else { 0 };
            if let Some(own) = self.visible.get_mut(id) {
                *own = all;
            }
            if row_id != TOP
                && let Some(above) = self.visible.get_mut(parent)
            {
                *above += all;
            }
        }
    }

    /// Number of a row among those to be seen; `None` if a node above it is folded.
    fn number(&mut self, row: RowId, order: &Order<'_>) -> Option<usize> {
        if self.visible(row) == 0 || row == TOP {
            return None;
        }
        let (mut at, mut number) = (row, 0usize);
        while at != TOP {
            let parent = self.rows.parent(at);
            if !self.is_open(parent) {
                return None;
            }
            self.sort(parent, order);
            let siblings = &self.rows.get(parent)?.children;
            let before = siblings.iter().take_while(|&&sibling| sibling != at);
            number += before.map(|&sibling| self.visible(sibling) as usize).sum::<usize>();
            number += usize::from(parent != TOP);
            at = parent;
        }
        Some(number)
    }

    /// Rows from number `first` on.
    fn list(&mut self, first: usize, count: usize, order: &Order<'_>) -> Vec<(RowId, Option<bool>)> {
        let mut list = Vec::new();
        let mut skip = first;
        self.sort(TOP, order);
        // Rows whose children are being listed, and the next child of each.
        let mut path: Vec<(RowId, usize)> = vec![(TOP, 0)];
        while let Some((parent, next)) = path.last_mut() {
            if list.len() >= count {
                break;
            }
            let child = self.rows.get(*parent).and_then(|row| row.children.get(*next).copied());
            let Some(child) = child else {
                path.pop();
                continue;
            };
            *next += 1;
            let shown = self.visible(child) as usize;
            if shown <= skip {
                skip -= shown;
                continue;
            }
            let open = self.is_open(child);
            if skip == 0 {
                let leaf = self.rows.children(child).next().is_none();
                list.push((child, (!leaf).then_some(open)));
            } else {
                skip -= 1;
            }
            if open {
                self.sort(child, order);
                path.push((child, 0));
            }
        }
        list
    }

    /// Has room for the order of all rows.
    pub(super) fn make_sortable(&mut self) {
        self.sorted.resize(self.rows.len(), None);
    }

    /// Puts the children of a row in order.
    pub(super) fn sort(&mut self, row: RowId, order: &Order<'_>) {
        // Names change less often than numbers.
        let version = match order.sort.0 {
            Column::Name => self.rows.shape.wrapping_add(order.labels.version().rotate_left(32)),
            _ => self.rows.version,
        };
        let now = Some(Sorted { sort: order.sort, version });
        let Some(sorted) = self.sorted.get_mut(row as usize).filter(|sorted| **sorted != now) else { return };
        *sorted = now;
        let Some(mut children) = self.rows.children_mut(row).map(std::mem::take) else { return };
        order.sort(&mut children, &self.rows);
        if let Some(place) = self.rows.children_mut(row) {
            *place = children;
        }
    }
}

/// How children are put in order.
pub(super) struct Order<'a> {
    sort: (Column, bool),
    cells: &'a Cells,
    work: &'a Work,
    labels: &'a dyn Labels,
}

impl<'a> From<Sorting<'a>> for Order<'a> {
    fn from(sorting: Sorting<'a>) -> Self {
        let Sorting { sort, cells, work, labels } = sorting;
        Self { sort, cells, work, labels }
    }
}

impl Order<'_> {
    /// By the column; where that is equal the largest total first, then by key, so that the order does not
    /// depend on arrival.
    fn sort(&self, children: &mut Vec<RowId>, rows: &Rows) {
        let (column, descending) = self.sort;
        let turn = |order: Ordering| if descending { order.reverse() } else { order };
        if column == Column::Name {
            let mut named: Vec<(String, NodeKey, RowId)> = children
                .iter()
                .filter_map(|&id| rows.get(id).map(|row| (self.labels.label(row.what), row.key, id)))
                .collect();
            named.sort_by(|a, b| turn(a.0.cmp(&b.0)).then(a.1.cmp(&b.1)));
            *children = named.into_iter().map(|(_, _, id)| id).collect();
        } else {
            let mut numbered: Vec<(u64, Reverse<u64>, NodeKey, RowId)> = children
                .iter()
                .filter_map(|&id| {
                    let row = rows.get(id)?;
                    Some((self.number(column, id, rows), Reverse(row.sums().total_ns), row.key, id))
                })
                .collect();
            numbered.sort_by(|a, b| turn(a.0.cmp(&b.0)).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
            *children = numbered.into_iter().map(|(.., id)| id).collect();
        }
    }

    fn number(&self, column: Column, id: RowId, rows: &Rows) -> u64 {
        let sums = rows.get(id).map(super::row::Row::sums).unwrap_or_default();
        match column {
            Column::Total | Column::Share | Column::Name => sums.total_ns,
            Column::SelfTime => sums.self_ns,
            Column::Count => sums.count,
            Column::Failed => sums.failed,
            Column::Min => sums.extremes().map_or(0, |(min, _)| min),
            Column::Average => sums.average().unwrap_or(0),
            Column::Max => sums.max_ns,
            Column::P50 => self.quantile(50, id, rows),
            Column::P99 => self.quantile(99, id, rows),
        }
    }

    fn quantile(&self, percent: u8, id: RowId, rows: &Rows) -> u64 {
        let stats = match rows.get(id) {
            Some(row) if row.what.is_gpu() => rows.work_stats(id, self.work),
            Some(row) if matches!(row.what, What::Range(..)) => rows.range_stats(id),
            _ => rows.stats(id, self.cells),
        };
        stats.quantile(percent).unwrap_or(0)
    }
}
