//! Rows that are looked for, folded ones too, in the order in which they would stand if all were unfolded.
//!
//! Of each subtree it is known how many there are, so that the next one and its number are found by going down one
//! path, and only along that path children are put in order.

use super::cells::Cells;
use super::identity::What;
use super::row::Row;
use super::rows::{RowId, TOP};
use super::window::{Column, Labels, Order, Windows};
use super::work::Work;

/// Which rows are looked for.
#[derive(Clone, Debug, Default)]
pub struct Sought {
    hits: Vec<bool>,
    /// For each row how many are in its subtree, itself included.
    below: Vec<u32>,
}

impl Sought {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.below(TOP)
    }

    /// Whether this row is one.
    #[must_use]
    pub fn is(&self, row: RowId) -> bool {
        self.hits.get(row as usize).copied().unwrap_or(false)
    }

    fn below(&self, row: RowId) -> u32 {
        self.below.get(row as usize).copied().unwrap_or(0)
    }
}

/// By what rows are put in order: sort column and whether the largest comes first; what that is looked up in.
#[derive(Clone, Copy)]
pub struct Sorting<'a> {
    /// Column, and whether the largest comes first.
    pub sort: (Column, bool),
    /// Of the last refresh.
    pub cells: &'a Cells,
    /// Likewise.
    pub work: &'a Work,
    /// Names.
    pub labels: &'a dyn Labels,
}

impl Windows {
    /// The rows to show for which `wanted` is true.
    pub fn seek(&mut self, mut wanted: impl FnMut(RowId, What) -> bool) -> Sought {
        self.make_sortable();
        let count = self.rows.len();
        let mut sought = Sought { hits: vec![false; count], below: vec![0; count] };
        // Children have larger numbers than their parents, so their counts are complete first.
        for id in (1..count).rev() {
            let Ok(row_id) = RowId::try_from(id) else { continue };
            let Some(row) = self.rows.get(row_id).filter(|row| row.any()) else { continue };
            let hit = wanted(row_id, row.what);
            let all = sought.below(row_id) + u32::from(hit);
            if let (Some(place), Some(own)) = (sought.hits.get_mut(id), sought.below.get_mut(id)) {
                (*place, *own) = (hit, all);
            }
            if let Some(above) = sought.below.get_mut(row.parent as usize) {
                *above += all;
            }
        }
        sought
    }

    /// How many stand before a row.
    pub fn sought_before(&mut self, sought: &Sought, row: RowId, sorting: Sorting<'_>) -> u32 {
        let order = Order::from(sorting);
        let (mut at, mut before) = (row, 0);
        while at != TOP {
            let parent = self.rows.parent(at);
            self.sort(parent, &order);
            let siblings = self.rows.get(parent).map(Row::children).unwrap_or_default();
            before += siblings.iter().take_while(|&&sibling| sibling != at).map(|&row| sought.below(row)).sum::<u32>();
            before += u32::from(parent != TOP && sought.is(parent));
            at = parent;
        }
        before
    }

    /// The one before which so many stand.
    pub fn sought_at(&mut self, sought: &Sought, number: u32, sorting: Sorting<'_>) -> Option<RowId> {
        let order = Order::from(sorting);
        let (mut at, mut skip) = (TOP, number);
        loop {
            self.sort(at, &order);
            let mut inside = None;
            for &child in self.rows.get(at)?.children() {
                let below = sought.below(child);
                if skip < below {
                    inside = Some(child);
                    break;
                }
                skip -= below;
            }
            at = inside?;
            if sought.is(at) {
                if skip == 0 {
                    return Some(at);
                }
                skip -= 1;
            }
        }
    }

    /// The rows above a row, the outermost first.
    #[must_use]
    pub fn path(&self, row: RowId) -> Vec<RowId> {
        let mut path = Vec::new();
        let mut at = self.rows.parent(row);
        while at != TOP {
            path.push(at);
            at = self.rows.parent(at);
        }
        path.reverse();
        path
    }
}
