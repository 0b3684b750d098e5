//! What is looked for against the whole list, all unfolded.

use super::*;

struct Letters;

impl Labels for Letters {
    fn label(&self, what: What) -> String {
        format!("{what:?}")
    }

    fn version(&self) -> u64 {
        0
    }
}

proptest! {
    #[test]
    fn numbers_and_rows_are_those_of_the_whole_list(
        program in program(),
        column in prop::sample::select(&[Column::Name, Column::Total, Column::Count][..]),
        descending: bool,
        every in 1u32..5,
    ) {
        let mut tree = Tree::default();
        feed(&mut tree, &program, &[], |_, _| ());
        let mut windows = Windows::new(Rows::new(Grouping::Thread));
        windows.rows.refresh(tree.cells(), unfinished(&tree, &program), &Fake);
        let folds = std::sync::Arc::new(Folds { open_depth: u16::MAX, ..Folds::default() });
        let request = WindowRequest { sort: (column, descending), folds, cursor: None, first: 0, rows: usize::MAX };
        let whole = windows.window(&request, (tree.cells(), &Work::default()), &Letters).rows;
        let wanted = |row: RowId| row.is_multiple_of(every);
        let sorting = Sorting { sort: request.sort, cells: tree.cells(), work: &Work::default(), labels: &Letters };

        let sought = windows.seek(|row, _| wanted(row));
        let hits: Vec<RowId> = whole.iter().map(|row| row.0).filter(|&row| wanted(row)).collect();
        prop_assert_eq!(sought.count() as usize, hits.len());
        for (number, &row) in (0..).zip(&hits) {
            prop_assert_eq!(windows.sought_at(&sought, number, sorting), Some(row));
        }
        prop_assert_eq!(windows.sought_at(&sought, sought.count(), sorting), None);
        let mut before = 0;
        for (row, _) in whole {
            prop_assert_eq!(windows.sought_before(&sought, row, sorting), before);
            before += u32::from(wanted(row));
            let depth = windows.path(row).len();
            prop_assert_eq!(windows.rows.get(row).map(|row| usize::from(row.depth)), Some(depth));
        }
    }
}
