//! States of pages, kept as runs of equal ones and not page by page.

use std::collections::BTreeMap;

/// For each page a state; pages that nothing was said of have the default one and take no room.
#[derive(Clone, Debug)]
pub struct Runs<S> {
    /// First page of a run, to the first page after it and its state. Neighbours with the same state are one run.
    runs: BTreeMap<u64, (u64, S)>,
    scratch: Vec<(u64, u64, S)>,
}

impl<S> Default for Runs<S> {
    fn default() -> Self {
        Self { runs: BTreeMap::new(), scratch: Vec::new() }
    }
}

impl<S: Copy + Default + PartialEq> Runs<S> {
    /// Runs that differ from the default.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// State of a page.
    #[must_use]
    pub fn get(&self, page: u64) -> S {
        let run = self.runs.range(..=page).next_back().filter(|(_, (end, _))| *end > page);
        run.map_or_else(S::default, |(_, (_, state))| *state)
    }

    /// Calls `each` with the pieces of the pages `from..to`, in order: first page, first page after it, state.
    pub fn for_each(&self, from: u64, to: u64, mut each: impl FnMut(u64, u64, S)) {
        if from >= to {
            return;
        }
        let mut at = from;
        let first = self.runs.range(..=from).next_back().map_or(from, |(&start, _)| start);
        for (&start, &(end, state)) in self.runs.range(first..to) {
            if end <= at {
                continue;
            }
            if start > at {
                each(at, start, S::default());
            }
            each(start.max(at), end.min(to), state);
            at = end.min(to);
        }
        if at < to {
            each(at, to, S::default());
        }
    }

    /// Gives the pages `from..to` what `change` makes of them; it is called with how many pages have a state.
    pub fn update(&mut self, from: u64, to: u64, mut change: impl FnMut(u64, S) -> S) {
        let mut pieces = std::mem::take(&mut self.scratch);
        pieces.clear();
        self.for_each(from, to, |start, end, state| {
            let state = change(end - start, state);
            match pieces.last_mut() {
                Some((_, last, same)) if *same == state => *last = end,
                _ => pieces.push((start, end, state)),
            }
        });
        if from < to {
            self.clear(from, to);
        }
        for &(start, end, state) in &pieces {
            self.put(start, end, state);
        }
        self.scratch = pieces;
    }

    /// Leaves the pages `from..to` in the default state.
    fn clear(&mut self, from: u64, to: u64) {
        if let Some((&start, &(end, state))) = self.runs.range(..from).next_back()
            && end > from
        {
            self.runs.insert(start, (from, state));
            if end > to {
                self.runs.insert(to, (end, state));
            }
        }
        while let Some((&start, &(end, state))) = self.runs.range(from..to).next_back() {
            self.runs.remove(&start);
            if end > to {
                self.runs.insert(to, (end, state));
            }
        }
    }

    /// Puts a run where all is in the default state, and joins it with its neighbours.
    fn put(&mut self, mut start: u64, mut end: u64, state: S) {
        if state == S::default() {
            return;
        }
        if let Some((&before, &(last, same))) = self.runs.range(..start).next_back()
            && last == start
            && same == state
        {
            start = before;
        }
        if let Some(&(last, same)) = self.runs.get(&end)
            && same == state
        {
            self.runs.remove(&end);
            end = last;
        }
        self.runs.insert(start, (end, state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against an array of pages.
        #[test]
        fn runs_are_what_an_array_of_pages_is(
            steps in prop::collection::vec((0u64..64, 0u64..24, 0u8..4), 0..80),
            asked in (0u64..64, 0u64..64),
        ) {
            let mut runs: Runs<u8> = Runs::default();
            let mut pages = [0u8; 96];
            for (from, count, what) in steps {
                let change = |state: u8| if what == 3 { state.wrapping_add(1) % 4 } else { what };
                let mut seen = Vec::new();
                runs.update(from, from + count, |count, state| {
                    seen.extend(std::iter::repeat_n(state, count as usize));
                    change(state)
                });
                let range = from as usize..(from + count) as usize;
                prop_assert_eq!(&seen[..], &pages[range.clone()]);
                for page in &mut pages[range] {
                    *page = change(*page);
                }
                for (page, &state) in pages.iter().enumerate() {
                    prop_assert_eq!(runs.get(page as u64), state);
                }
                // As few runs as there can be.
                let starts = (0..pages.len()).filter(|&at| pages[at] != 0 && (at == 0 || pages[at - 1] != pages[at]));
                prop_assert_eq!(runs.len(), starts.count());
            }
            let (from, count) = asked;
            let mut seen = Vec::new();
            runs.for_each(from, from + count, |start, end, state| {
                assert!(start < end);
                seen.extend(std::iter::repeat_n(state, (end - start) as usize));
            });
            let expected: Vec<u8> = (from..from + count).map(|page| pages.get(page as usize).copied().unwrap_or(0)).collect();
            prop_assert_eq!(seen, expected);
        }
    }
}
