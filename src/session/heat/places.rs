//! Where unified memory is: allocations by address, and what no call was seen to allocate.

use std::sync::Arc;

use super::Heats;
use super::generations::is_unified;
use crate::correlate::{Allocation, Allocations};
use crate::memory::heat::{Grid, Heat, Sums};
use crate::memory::residency::PAGE_BYTES;
use crate::trace::{Lane, ProcessId, Trace};

/// What lies less than that apart and is of no allocation is one place: a block of the driver's, 2 MiB.
const GAP: u64 = 2 << 20;

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

/// The places in which anything happened, by process and address.
pub fn find(trace: &Trace, heats: &Heats, allocations: &[Arc<Allocations>]) -> Vec<Place> {
    let mut all = Vec::new();
    for (process, heat, lane) in heats.all(trace) {
        let known = allocations.get(process.index()).map_or(&[][..], |of| of.all());
        all.extend(of_process(process, heat, lane, known));
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| all.get(at).map(|one| std::cmp::Reverse((one.sums.moved(), one.sums.records()))));
    for (number, at) in (1..).zip(order) {
        if let Some(place) = all.get_mut(at) {
            place.number = number;
        }
    }
    all
}

fn of_process(process: ProcessId, heat: &Heat, lane: &Lane, allocations: &[Allocation]) -> Vec<Place> {
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
    let mut extents = heat.extents(GAP).into_iter();
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
    let rows: Vec<(u64, u64)> = places.iter().map(|place| (place.from, place.to)).collect();
    let sums = heat.picture(lane, Grid { from_ns: 0, column_ns: u64::MAX, columns: 1, rows: &rows });
    for (place, sums) in places.iter_mut().zip(sums) {
        place.sums = sums;
    }
    places.retain(|place| !place.sums.is_empty());
    places
}

const fn floor(address: u64) -> u64 {
    address / PAGE_BYTES * PAGE_BYTES
}

const fn ceil(address: u64) -> u64 {
    floor(address.saturating_add(PAGE_BYTES - 1))
}

/// Addresses that rows go through one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Process.
    pub process: ProcessId,
    /// First address.
    pub from: u64,
    /// First address after it.
    pub to: u64,
    /// Number of its first row.
    pub first: u64,
    /// The place, or the first of several that share a row.
    pub place: usize,
}

/// Places one after the other, in rows of one size; small ones that are neighbours share a row.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    /// Bits of a row's size.
    pub bits: u8,
    /// Rows in all.
    pub total: u64,
    stretches: Vec<Stretch>,
}

impl Packed {
    /// These places in rows of this size.
    pub fn of(places: &[(usize, Place)], bits: u8) -> Self {
        let size = 1u64 << bits;
        let mut packed = Self { bits, ..Self::default() };
        let mut shared = 0;
        for &(index, place) in places {
            let bytes = place.to - place.from;
            if let Some(last) = packed.stretches.last_mut().filter(|last| last.process == place.process)
                && shared > 0
                && shared + bytes <= size
            {
                last.to = place.to;
                shared += bytes;
                continue;
            }
            shared = if bytes < size { bytes } else { 0 };
            let first = packed.total;
            packed.total = first.saturating_add(bytes.div_ceil(size));
            packed.stretches.push(Stretch {
                process: place.process,
                from: place.from,
                to: place.to,
                first,
                place: index,
            });
        }
        packed
    }

    /// Likewise in the smallest rows that all fit into so many lines.
    pub fn fitting(places: &[(usize, Place)], lines: u64) -> Self {
        let mut bits = 12;
        loop {
            let packed = Self::of(places, bits);
            // With a row for each process there is nothing more to be had.
            if packed.total <= lines || bits >= 62 {
                return packed;
            }
            bits += 1;
        }
    }

    fn rows(&self, at: usize) -> u64 {
        let next = self.stretches.get(at + 1).map_or(self.total, |next| next.first);
        next - self.stretches.get(at).map_or(next, |one| one.first)
    }

    /// Stretch, first address and first address after a row.
    pub fn row(&self, row: u64) -> Option<(Stretch, u64, u64)> {
        let at = self.stretches.partition_point(|one| one.first <= row).checked_sub(1)?;
        let stretch = *self.stretches.get(at)?;
        let inside = row - stretch.first;
        if inside >= self.rows(at) {
            return None;
        }
        let size = 1u64 << self.bits;
        let from = stretch.from.saturating_add(inside.saturating_mul(size));
        // A row that several places share ends with them.
        let to = if self.rows(at) == 1 { stretch.to } else { from.saturating_add(size).min(stretch.to) };
        Some((stretch, from, to))
    }

    /// The row that an address of a process is in, or the next one to it.
    pub fn row_of(&self, process: ProcessId, address: u64) -> u64 {
        let after = self.stretches.partition_point(|one| (one.process, one.from) <= (process, address));
        let Some((at, stretch)) = after.checked_sub(1).and_then(|at| Some((at, self.stretches.get(at)?))) else {
            return 0;
        };
        let inside = if stretch.process == process { (address - stretch.from) >> self.bits } else { u64::MAX };
        stretch.first + inside.min(self.rows(at).saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(process: u16, from: u64, to: u64) -> Place {
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
    fn places_are_packed_without_the_gaps_between() {
        const MIB: u64 = 1 << 20;
        let places = [
            place(0, 0, 4 * MIB),
            place(0, 100 * MIB, 100 * MIB + 4096),
            place(0, 200 * MIB, 200 * MIB + 8192),
            place(0, 300 * MIB, 305 * MIB),
            place(1, 0, 4096),
        ];
        let places: Vec<(usize, Place)> = places.into_iter().enumerate().collect();
        let packed = Packed::of(&places, 21);
        assert_eq!(packed.total, 2 + 1 + 3 + 1);
        let row = |row| packed.row(row).map(|(stretch, from, to)| (stretch.place, from, to));
        assert_eq!(row(1), Some((0, 2 * MIB, 4 * MIB)));
        assert_eq!(row(2), Some((1, 100 * MIB, 200 * MIB + 8192)));
        assert_eq!(row(5), Some((3, 304 * MIB, 305 * MIB)));
        assert_eq!(row(6), Some((4, 0, 4096)));
        assert_eq!(row(7), None);
        for number in 0..packed.total {
            let (stretch, from, to) = packed.row(number).unwrap();
            assert_eq!(packed.row_of(stretch.process, from), number);
            assert_eq!(packed.row_of(stretch.process, to - 1), number);
        }
        assert_eq!(packed.row_of(ProcessId(0), 50 * MIB), 1);
        assert_eq!(Packed::fitting(&places, 7).bits, 21);
        assert_eq!(Packed::fitting(&places, 1).bits, 62);
        assert_eq!(Packed::fitting(&[], 7).total, 0);
    }
}
