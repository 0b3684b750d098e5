//! Which calls submitted which work: correlation ids to rows, 12 bytes each.
//!
//! Ids grow with time, but calls are read thread by thread: so they are kept in sorted runs, which are merged as they
//! become many.

use crate::trace::ids::TrackId;

/// A call that submitted work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Submit {
    /// Correlation id of the work.
    pub correlation: u32,
    /// Thread of the call.
    pub track: TrackId,
    /// Row of the call there.
    pub row: u32,
}

/// All of a process's.
#[derive(Debug, Default)]
pub struct Submits {
    runs: Vec<Vec<Submit>>,
}

impl Submits {
    /// Adds one.
    pub fn push(&mut self, submit: Submit) {
        match self.runs.last_mut() {
            Some(run) if run.last().is_none_or(|last| last <= &submit) => run.push(submit),
            _ => {
                self.merge();
                self.runs.push(vec![submit]);
            }
        }
    }

    /// Leaves each run more than twice as long as the next one.
    fn merge(&mut self) {
        while let [.., before, last] = self.runs.as_slice()
            && before.len() <= 2 * last.len()
        {
            let Some(last) = self.runs.pop() else { return };
            if let Some(before) = self.runs.last_mut() {
                before.extend(last);
                // Two sorted halves: what the standard sort is quick at.
                before.sort();
            }
        }
    }

    /// The call that submitted the work with this id; the first one read if several say so.
    #[must_use]
    pub fn find(&self, correlation: u32) -> Option<Submit> {
        if correlation == 0 {
            return None;
        }
        self.runs.iter().find_map(|run| {
            let at = run.partition_point(|submit| submit.correlation < correlation);
            run.get(at).filter(|submit| submit.correlation == correlation).copied()
        })
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Submit> {
        self.runs.iter().flatten()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.runs.iter().map(|run| run.capacity() * size_of::<Submit>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const _: () = assert!(size_of::<Submit>() == 12);

    proptest! {
        #[test]
        fn each_is_found(ids in prop::collection::vec(1u32..5000, 0..600), sorted: bool) {
            let mut ids = ids;
            if sorted {
                ids.sort_unstable();
            }
            let mut submits = Submits::default();
            let mut known = std::collections::BTreeMap::new();
            for (row, &correlation) in (0..).zip(&ids) {
                submits.push(Submit { correlation, track: TrackId(row % 3), row });
                known.entry(correlation).or_insert_with(Vec::new).push(row);
            }
            prop_assert_eq!(submits.len(), ids.len());
            for correlation in 0..5000 {
                match (submits.find(correlation), known.get(&correlation)) {
                    (None, None) => {}
                    (Some(found), Some(rows)) => prop_assert!(rows.contains(&found.row)),
                    (found, rows) => prop_assert!(false, "{:?} {:?}", found, rows),
                }
            }
            let lengths: Vec<usize> = submits.runs.iter().map(Vec::len).collect();
            prop_assert!(lengths.len() <= 12, "{lengths:?}");
        }
    }
}
