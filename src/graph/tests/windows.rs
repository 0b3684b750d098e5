//! Windows against the whole list.

use super::*;
use std::sync::Arc;

struct Letters;

impl Labels for Letters {
    fn label(&self, what: What) -> String {
        format!("{what:?}")
    }

    fn version(&self) -> u64 {
        0
    }
}

const COLUMNS: [Column; 11] = [
    Column::Name,
    Column::Total,
    Column::SelfTime,
    Column::Count,
    Column::Failed,
    Column::Min,
    Column::Average,
    Column::P50,
    Column::P99,
    Column::Max,
    Column::Share,
];

/// All open rows, made the slow way.
fn list(rows: &Rows, row: RowId, folds: &Folds, less: &dyn Fn(RowId, RowId) -> bool, into: &mut Vec<RowId>) {
    let mut children: Vec<RowId> = Vec::new();
    for child in rows.children(row) {
        let at = children.iter().position(|&other| less(child, other)).unwrap_or(children.len());
        children.insert(at, child);
    }
    for child in children {
        into.push(child);
        let row = rows.get(child).unwrap();
        if folds.open(row.key, row.depth) {
            list(rows, child, folds, less, into);
        }
    }
}

proptest! {
    #[test]
    fn a_window_is_a_part_of_the_whole(
        program in program(),
        column in prop::sample::select(&COLUMNS[..]),
        descending: bool,
        open_depth in 0u16..5,
        flips in prop::collection::vec(0usize..60, 0..6),
        cursor in prop::option::of(0usize..60),
        first in 0usize..40,
        count in 1usize..20,
        turns in prop::collection::vec((0usize..4, 0usize..30), 0..4),
    ) {
        let mut tree = Tree::default();
        let mut windows = Windows::new(Rows::new(Grouping::Thread));
        let mut folds = Folds { open_depth, ..Folds::default() };
        let mut request = WindowRequest { sort: (column, descending), folds: Arc::new(folds.clone()), cursor: None, first, rows: count };
        // Windows between the batches leave their traces in what is kept.
        feed(&mut tree, &program, &turns, |tree, done| {
            windows.rows.refresh(tree.cells(), unfinished(tree, &program.cut(done)), &Fake);
            windows.window(&request, (tree.cells(), &Work::default()), &Letters);
        });
        windows.rows.refresh(tree.cells(), unfinished(&tree, &program), &Fake);
        let keys: Vec<NodeKey> = (1..).map_while(|id| windows.rows.get(id)).map(|row| row.key).collect();
        folds.flipped = flips.iter().filter_map(|&at| keys.get(at).copied()).collect();
        request.folds = Arc::new(folds.clone());
        request.cursor = cursor.and_then(|at| keys.get(at).copied());

        let window = windows.window(&request, (tree.cells(), &Work::default()), &Letters);

        let rows = &windows.rows;
        let value = |id: RowId| {
            let stats = rows.stats(id, tree.cells());
            let sums = stats.sums;
            match column {
                Column::Name => 0,
                Column::Total | Column::Share => sums.total_ns,
                Column::SelfTime => sums.self_ns,
                Column::Count => sums.count,
                Column::Failed => sums.failed,
                Column::Min => sums.extremes().map_or(0, |extremes| extremes.0),
                Column::Average => sums.average().unwrap_or(0),
                Column::P50 => stats.quantile(50).unwrap_or(0),
                Column::P99 => stats.quantile(99).unwrap_or(0),
                Column::Max => sums.max_ns,
            }
        };
        let less = |a: RowId, b: RowId| {
            let name = |id| Letters.label(rows.get(id).unwrap().what);
            let order = if column == Column::Name { name(a).cmp(&name(b)) } else { value(a).cmp(&value(b)) };
            let order = if descending { order.reverse() } else { order };
            let total = |id| rows.get(id).unwrap().sums().total_ns;
            let by_total = if column == Column::Name { std::cmp::Ordering::Equal } else { total(b).cmp(&total(a)) };
            let key = |id| rows.get(id).unwrap().key;
            order.then(by_total).then(key(a).cmp(&key(b))).is_lt()
        };
        let mut whole = Vec::new();
        list(rows, TOP, &folds, &less, &mut whole);

        prop_assert_eq!(window.total, whole.len());
        let expected: Vec<RowId> = whole.iter().copied().skip(window.first).take(count).collect();
        prop_assert_eq!(window.rows.iter().map(|row| row.0).collect::<Vec<_>>(), expected);
        let place = request.cursor.and_then(|key| whole.iter().position(|&id| rows.get(id).unwrap().key == key));
        prop_assert_eq!(window.cursor, place);
        match place {
            Some(at) => prop_assert!(window.first <= at && at < window.first + count),
            None => prop_assert_eq!(window.first, first.min(whole.len().saturating_sub(count))),
        }
        for (id, open) in window.rows {
            let row = rows.get(id).unwrap();
            let expected = rows.children(id).next().is_some().then(|| folds.open(row.key, row.depth));
            prop_assert_eq!(open, expected);
        }
    }
}
