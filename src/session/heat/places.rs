//! Where unified memory is: allocations by address, and what no call was seen to allocate.

use std::ops::Range;

use super::generations::is_unified;
use crate::correlate::Allocation;
use crate::memory::heat::Sums;
use crate::memory::residency::PAGE_BYTES;
use crate::trace::ProcessId;

/// What lies less than that apart and is of no allocation is one place: a block of the driver's, 2 MiB.
pub const GAP: u64 = 2 << 20;

/// Addresses that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Process.
    pub process: ProcessId,
    /// First address.
    pub from: u64,
    /// First address after it.
    pub to: u64,
    /// The last allocation there, if any was seen to be made.
    pub allocation: Option<Allocation>,
    /// The allocations that lay there one after the other are among these of the process: first index, and after the last.
    pub held: (usize, usize),
    /// All that happened there.
    pub sums: Sums,
    /// Which one it is by how much moved there, from 1.
    pub number: usize,
}

/// The places in which anything happened.
#[derive(Debug, Default)]
pub struct Places {
    /// By process and address.
    all: Vec<Place>,
    /// Their indices, the busiest first.
    order: Vec<u32>,
    /// Of each process its first and the first after its last.
    of: Vec<(ProcessId, Range<usize>)>,
    /// Bytes of all of them.
    bytes: u64,
}

impl Places {
    /// Of these, by process and address.
    pub fn of_list(mut all: Vec<Place>) -> Self {
        let mut order: Vec<u32> = (0u32..).take(all.len()).collect();
        order.sort_by_key(|&at| {
            all.get(at as usize).map(|one| std::cmp::Reverse((one.sums.moved(), one.sums.records())))
        });
        for (number, &at) in (1..).zip(&order) {
            if let Some(place) = all.get_mut(at as usize) {
                place.number = number;
            }
        }
        let mut of: Vec<(ProcessId, Range<usize>)> = Vec::new();
        for (at, place) in all.iter().enumerate() {
            match of.last_mut() {
                Some(last) if last.0 == place.process => last.1.end = at + 1,
                _ => of.push((place.process, at..at + 1)),
            }
        }
        let bytes = all.iter().fold(0u64, |sum, place| sum.saturating_add(place.to - place.from));
        Self { all, order, of, bytes }
    }

    /// All of them, by process and address.
    pub fn all(&self) -> &[Place] {
        &self.all
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// One of them.
    pub fn get(&self, at: usize) -> Option<&Place> {
        self.all.get(at)
    }

    /// The one with this number, by how busy they are, from 1.
    pub fn numbered(&self, number: usize) -> Option<usize> {
        self.order.get(number.checked_sub(1)?).map(|&at| at as usize)
    }

    /// The one of a process that an address is in.
    pub fn holding(&self, process: u16, address: u64) -> Option<usize> {
        let (_, range) = self.of.iter().find(|(known, _)| known.0 == process)?;
        self.within(range, address)
    }

    /// The first one of any process that an address is in.
    pub fn holding_any(&self, address: u64) -> Option<usize> {
        self.of.iter().find_map(|(_, range)| self.within(range, address))
    }

    fn within(&self, range: &Range<usize>, address: u64) -> Option<usize> {
        let places = self.all.get(range.clone())?;
        let inside = places.partition_point(|place| place.from <= address).checked_sub(1)?;
        places.get(inside).filter(|place| address < place.to).map(|_| range.start + inside)
    }
}

/// The addresses of a process in which something may have happened: allocations, and of `extents` what lies between these. What
/// did is not known yet.
pub fn of_process(process: ProcessId, extents: Vec<(u64, u64)>, allocations: &[Allocation]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut add = |from: u64, to: u64, found: Option<(usize, Allocation)>| match places.last_mut() {
        // The same addresses again, or some that reach into them.
        Some(last) if from < last.to => {
            last.to = last.to.max(to);
            if let Some((index, one)) = found {
                let first = if last.held == (0, 0) { index } else { last.held.0 };
                (last.allocation, last.held) = (Some(one), (first, index + 1));
            }
        }
        _ => {
            let held = found.map_or((0, 0), |(index, _)| (index, index + 1));
            let allocation = found.map(|(_, one)| one);
            places.push(Place { process, from, to, allocation, held, sums: Sums::default(), number: 0 });
        }
    };
    let managed = allocations.iter().enumerate().filter(|(_, one)| is_unified(one));
    let mut managed = managed.map(|(at, one)| (floor(one.address), ceil(one.end()), (at, *one))).peekable();
    let mut extents = extents.into_iter();
    let mut extent = extents.next();
    // Both by address: of an extent what lies between allocations.
    while let Some((from, to)) = extent {
        match managed.peek().copied() {
            Some((begin, end, one)) if begin <= from => {
                managed.next();
                add(begin, end, Some(one));
                extent = if end >= to { extents.next() } else { Some((from.max(end), to)) };
                if end < from {
                    extent = Some((from, to));
                }
            }
            Some((begin, ..)) if begin < to => {
                add(floor(from), begin, None);
                extent = Some((begin, to));
            }
            _ => {
                add(floor(from), ceil(to), None);
                extent = extents.next();
            }
        }
    }
    managed.for_each(|(begin, end, one)| add(begin, end, Some(one)));
    places
}

const fn floor(address: u64) -> u64 {
    address / PAGE_BYTES * PAGE_BYTES
}

const fn ceil(address: u64) -> u64 {
    floor(address.saturating_add(PAGE_BYTES - 1))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// One of which nothing else is known.
    pub fn place(process: u16, from: u64, to: u64) -> Place {
        Place {
            process: ProcessId(process),
            from,
            to,
            allocation: None,
            held: (0, 0),
            sums: Sums::default(),
            number: 0,
        }
    }

    #[test]
    fn places_are_found_by_number_and_address() {
        let mut list = vec![place(0, 10, 20), place(0, 30, 40), place(2, 10, 20), place(2, 25, 40)];
        for (place, bytes) in list.iter_mut().zip([5, 9, 0, 7]) {
            place.sums.count(crate::memory::heat::Measure::ToDevice, bytes);
        }
        let places = Places::of_list(list);
        let order: Vec<Option<usize>> = (0..6).map(|number| places.numbered(number)).collect();
        assert_eq!(order, [None, Some(1), Some(3), Some(0), Some(2), None]);
        assert_eq!(places.get(3).map(|place| place.number), Some(2));
        assert_eq!((places.holding(0, 39), places.holding(0, 40), places.holding(0, 9)), (Some(1), None, None));
        assert_eq!((places.holding(2, 25), places.holding(1, 15)), (Some(3), None));
        assert_eq!((places.holding_any(15), places.holding_any(27), places.holding_any(22)), (Some(0), Some(3), None));
        assert_eq!((places.len(), places.bytes()), (4, 45));
    }
}
