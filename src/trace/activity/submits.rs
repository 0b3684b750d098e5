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

/// Where calls were found last, so that the next ones are looked for from there: those of one lane are mostly near each
/// other.
#[derive(Clone, Debug, Default)]
pub struct Near {
    /// By run.
    at: Vec<usize>,
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

    /// Likewise, quicker where the last one that was looked for with the same `near` is not far.
    #[must_use]
    pub fn find_near(&self, correlation: u32, near: &mut Near) -> Option<Submit> {
        if correlation == 0 {
            return None;
        }
        near.at.resize(self.runs.len(), 0);
        self.runs.iter().zip(&mut near.at).find_map(|(run, near)| {
            let (first, last) = (run.first()?, run.last()?);
            if correlation < first.correlation || correlation > last.correlation {
                return None;
            }
            *near = first_from(run, correlation, *near);
            run.get(*near).filter(|submit| submit.correlation == correlation).copied()
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

/// The first place in a sorted run that is not before an id, looked for in steps that double, from a place on.
fn first_from(run: &[Submit], correlation: u32, from: usize) -> usize {
    let is_before = |at: usize| run.get(at).is_some_and(|submit| submit.correlation < correlation);
    let (mut low, mut high, mut step) = (from, from.min(run.len()), 1);
    if is_before(from) {
        while is_before(low + step) {
            low += step;
            step *= 2;
        }
        (low, high) = (low + 1, (low + step).min(run.len()));
    } else {
        while high >= step && !is_before(high - step) {
            high -= step;
            step *= 2;
        }
        low = high.saturating_sub(step);
    }
    low + run.get(low..high).map_or(0, |some| some.partition_point(|submit| submit.correlation < correlation))
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
            let mut near = Near::default();
            for correlation in (0..5000).chain([7, 4000, 3999, 4001, 1]) {
                prop_assert_eq!(submits.find_near(correlation, &mut near), submits.find(correlation));
            }
            let lengths: Vec<usize> = submits.runs.iter().map(Vec::len).collect();
            prop_assert!(lengths.len() <= 12, "{lengths:?}");
        }
    }
}
