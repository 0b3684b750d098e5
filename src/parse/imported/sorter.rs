//! Sorting more than memory is to hold: sorted runs go into a temporary file and are merged.

use super::target::Spool;
use crate::trace::Bytes;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Write};
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Bytes of items that are held in memory.
const HELD: usize = 64 << 20;
/// Bytes of each run that are read at once when they are merged.
const BLOCK: usize = 256 << 10;

/// What can be sorted.
pub trait Item: Copy + FromBytes + IntoBytes + Immutable {
    /// What it is sorted by; no two items have the same.
    type Key: Ord + Copy;

    /// That of this item.
    fn key(&self) -> Self::Key;

    /// A small number that comes before all else in the order of keys, if there is one.
    fn group(&self) -> u32 {
        0
    }
}

/// Sorts items. Inputs have their threads mixed, each of which is in order for long stretches: put apart they take little
/// sorting, and the stable sort makes use of such stretches.
fn arrange<T: Item>(items: &mut Vec<T>) {
    if items.is_sorted_by_key(T::key) {
        return;
    }
    let groups = items.iter().map(|item| item.group() as usize + 1).max().unwrap_or(0);
    if groups <= 1 || groups > items.len() {
        items.sort_by_key(T::key);
        return;
    }
    let mut ends = vec![0usize; groups + 1];
    for item in &*items {
        ends[item.group() as usize + 1] += 1;
    }
    for group in 0..groups {
        ends[group + 1] += ends[group];
    }
    let mut apart = vec![T::new_zeroed(); items.len()];
    let mut next = ends.clone();
    for item in &*items {
        let place = &mut next[item.group() as usize];
        apart[*place] = *item;
        *place += 1;
    }
    for ends in ends.windows(2) {
        apart[ends[0]..ends[1]].sort_by_key(T::key);
    }
    *items = apart;
}

/// Items to be sorted.
pub struct Sorter<T> {
    held: Vec<T>,
    most: usize,
    file: Option<(std::fs::File, Arc<dyn Bytes>)>,
    /// First byte of each run in the file, and of what follows the last.
    ends: Vec<u64>,
}

impl<T: Item> Default for Sorter<T> {
    fn default() -> Self {
        Self::holding(HELD / size_of::<T>().max(1))
    }
}

impl<T: Item> Sorter<T> {
    /// Holding at most so many items in memory.
    #[must_use]
    pub fn holding(most: usize) -> Self {
        Self { held: Vec::new(), most: most.max(1), file: None, ends: vec![0] }
    }

    /// Adds one.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn push(&mut self, item: T, spool: &Spool) -> io::Result<()> {
        if self.held.len() >= self.most {
            self.spill(spool)?;
        }
        self.held.push(item);
        Ok(())
    }

    fn spill(&mut self, spool: &Spool) -> io::Result<()> {
        arrange(&mut self.held);
        if self.file.is_none() {
            self.file = Some(spool()?);
        }
        if let Some((file, _)) = &mut self.file {
            let bytes = self.held.as_slice().as_bytes();
            file.write_all(bytes)?;
            let end = self.ends.last().copied().unwrap_or(0) + bytes.len() as u64;
            self.ends.push(end);
        }
        self.held.clear();
        Ok(())
    }

    /// All of them, in order.
    #[must_use]
    pub fn finish(mut self) -> Merged<T> {
        arrange(&mut self.held);
        let mut runs: Vec<Run<T>> = Vec::new();
        for ends in self.ends.windows(2) {
            if let [at, end] = *ends {
                runs.push(Run { ready: VecDeque::new(), at, end });
            }
        }
        let bytes = self.file.map(|(_, bytes)| bytes);
        runs.push(Run { ready: self.held.into(), at: 0, end: 0 });
        Merged { runs, bytes, heap: BinaryHeap::new(), begun: false }
    }
}

struct Run<T> {
    ready: VecDeque<T>,
    at: u64,
    end: u64,
}

impl<T: Item> Run<T> {
    fn front(&mut self, bytes: Option<&Arc<dyn Bytes>>) -> io::Result<Option<T>> {
        if self.ready.is_empty()
            && self.at < self.end
            && let Some(bytes) = bytes
        {
            let size = size_of::<T>().max(1);
            let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX) / size;
            let mut items = vec![T::new_zeroed(); (BLOCK / size).clamp(1, left.max(1))];
            let wanted = items.len() * size;
            if bytes.read_at(self.at, items.as_mut_slice().as_mut_bytes())? < wanted {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a temporary file was cut short"));
            }
            self.at += wanted as u64;
            self.ready.extend(items);
        }
        Ok(self.ready.front().copied())
    }
}

/// Items in order.
pub struct Merged<T: Item> {
    runs: Vec<Run<T>>,
    bytes: Option<Arc<dyn Bytes>>,
    heap: BinaryHeap<Reverse<(T::Key, usize)>>,
    begun: bool,
}

impl<T: Item> Merged<T> {
    /// The next one.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn take_next(&mut self) -> io::Result<Option<T>> {
        if let [only] = self.runs.as_mut_slice() {
            return Ok(only.ready.pop_front());
        }
        if !self.begun {
            self.begun = true;
            for number in 0..self.runs.len() {
                self.stand(number)?;
            }
        }
        let Some(Reverse((_, number))) = self.heap.pop() else { return Ok(None) };
        let item = self.runs.get_mut(number).and_then(|run| run.ready.pop_front());
        self.stand(number)?;
        Ok(item)
    }

    /// Puts the first item of a run among those that may come next.
    fn stand(&mut self, number: usize) -> io::Result<()> {
        if let Some(run) = self.runs.get_mut(number)
            && let Some(item) = run.front(self.bytes.as_ref())?
        {
            self.heap.push(Reverse((item.key(), number)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing::spool;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable)]
    #[repr(C)]
    struct Pair(u64, u64);

    impl Item for Pair {
        type Key = (u64, u64);
        fn key(&self) -> (u64, u64) {
            (self.0, self.1)
        }
        fn group(&self) -> u32 {
            (self.0 / 10) as u32
        }
    }

    proptest! {
        #[test]
        fn runs_are_merged_in_order(values in prop::collection::vec(0u64..50, 0..300), most in 1usize..80) {
            let spool = spool();
            let mut sorter = Sorter::holding(most);
            let mut twin: Vec<Pair> = values.iter().zip(0..).map(|(&value, at)| Pair(value, at)).collect();
            for &pair in &twin {
                sorter.push(pair, &*spool).unwrap();
            }
            twin.sort_by_key(Pair::key);
            let mut merged = sorter.finish();
            for pair in twin {
                prop_assert_eq!(merged.take_next().unwrap(), Some(pair));
            }
            prop_assert_eq!(merged.take_next().unwrap(), None);
        }
    }
}
