//! Which allocations lay in a place one after the other, and which of them a cell or a text means.

use std::ops::Range;
use std::sync::Arc;

use super::places::Place;
use super::point::Cell;
use crate::correlate::{Allocation, AllocationKind, Allocations};
use crate::session::labels::Namer;
use crate::session::memory::Fits;
use crate::session::model::Model;
use crate::session::search::Pattern;

/// Allocations of one cell that are told apart.
const IN_CELL: usize = 1000;
/// Instead of an allocation's index: none was seen.
const NONE: u32 = u32::MAX;

/// Whether it is unified memory.
pub fn is_unified(one: &Allocation) -> bool {
    one.has_address() && matches!(one.kind, AllocationKind::Managed | AllocationKind::Static)
}

/// All allocations of all places, in the order of these and of their addresses, there in order of time. A place of none has
/// a row, too.
#[derive(Clone, Debug, Default)]
pub struct Generations {
    /// Place, and the index of the allocation in those of its process.
    rows: Vec<(u32, u32)>,
    /// Grows when they are found anew.
    version: u64,
}

impl Generations {
    /// Those of these places.
    pub fn of(places: &[Place], allocations: &[Arc<Allocations>]) -> Self {
        let mut rows = Vec::new();
        for (number, place) in (0u32..).zip(places) {
            let before = rows.len();
            let all = allocations.get(place.process.index()).map_or(&[][..], |of| of.all());
            let held = all.get(place.held.0..place.held.1).unwrap_or_default();
            let indices = (place.held.0..).zip(held).filter(|(_, one)| is_unified(one));
            rows.extend(indices.filter_map(|(index, _)| Some((number, u32::try_from(index).ok()?))));
            if rows.len() == before {
                rows.push((number, NONE));
            }
        }
        Self { rows, version: 0 }
    }

    /// Takes those of other places.
    pub fn become_those(&mut self, other: Self) {
        *self = Self { version: self.version + 1, ..other };
    }

    /// Changes when they do.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// A row: its place, and the index of its allocation; `None` of that: none was seen.
    pub fn get(&self, row: u64) -> Option<(usize, Option<usize>)> {
        let &(place, index) = self.rows.get(usize::try_from(row).ok()?)?;
        Some((place as usize, Some(index as usize).filter(|_| index != NONE)))
    }

    /// The row of an allocation in a place.
    pub fn row_of(&self, place: usize, index: Option<usize>) -> Option<u64> {
        let index = index.map_or(Some(NONE), |index| u32::try_from(index).ok())?;
        let key = (u32::try_from(place).ok()?, index);
        self.rows.binary_search(&key).ok().map(|row| row as u64)
    }
}

/// The allocations among `held` that had any address of a cell at any time of it, by address and in order of time.
pub fn in_cell(all: &[Allocation], held: (usize, usize), cell: &Cell) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = held.0;
    // Those with the same address follow one another in order of time.
    while let Some(first) = all.get(at).filter(|one| at < held.1 && one.address < cell.to) {
        let same = at + all.get(at..held.1).unwrap_or_default().partition_point(|one| one.address <= first.address);
        let group = all.get(at..same).unwrap_or_default();
        let from = at + group.partition_point(|one| one.until_ns <= cell.ns.0);
        for (index, one) in (from..same).zip(all.get(from..same).unwrap_or_default()) {
            if one.from_ns >= cell.ns.1 || found.len() >= IN_CELL {
                break;
            }
            if is_unified(one) && one.end() > cell.from {
                found.push(index);
            }
        }
        at = same;
    }
    found
}

/// Which of how many allocations at its address one is, from 1.
pub fn number_of(of: &Allocations, index: usize) -> (usize, usize) {
    let before = of.generation(index);
    let address = of.all().get(index).map_or(0, |one| one.address);
    let rest = of.all().get(index..).unwrap_or_default();
    let here = rest.partition_point(|one| one.has_address() && one.address <= address);
    (before + 1, before + here.max(1))
}

impl Model {
    /// Rows of the allocations on the heatmap in which a text is found, among these.
    pub(in crate::session) fn heat_matches(
        &mut self,
        (pattern, fits): (&Pattern, &mut Fits),
        rows: Range<u64>,
    ) -> Vec<u64> {
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let state = &self.heat;
        let all = self.lives.all();
        let mut is_found = |row: u64| {
            let Some((place, index)) = state.generations().get(row) else { return false };
            let Some(place) = state.places().get(place) else { return false };
            match index.and_then(|index| all.get(place.process.index())?.all().get(index)) {
                Some(one) => fits.finds(pattern, &namer, one),
                None => pattern.finds(&format!("not seen to be allocated {:#x}", place.from)),
            }
        };
        rows.filter(|&row| is_found(row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::heat::Sums;
    use crate::trace::ProcessId;
    use proptest::prelude::*;

    fn one(address: u64, bytes: u64, from_ns: u64, until_ns: u64) -> Allocation {
        Allocation::lived(AllocationKind::Managed, (address, bytes), from_ns, Some(until_ns))
    }

    proptest! {
        /// Against a look at each of them; those with one address come one after the other.
        #[test]
        fn a_cell_has_the_allocations_that_reach_into_it(
            lives in prop::collection::vec((0u64..4, 1u64..0x3000, 1u64..30, 0u64..10), 0..30),
            (from, bytes) in (0u64..0x6000, 1u64..0x3000),
            (begin, width) in (0u64..100, 1u64..50),
        ) {
            let mut ends = [0u64; 4];
            let mut list = Vec::new();
            for (place, bytes, took, gap) in lives {
                let from = ends[place as usize] + gap;
                ends[place as usize] = from + took;
                list.push(one(0x1000 * (place + 1), bytes, from, from + took));
            }
            let of = Allocations::of_list(list);
            let cell = Cell { process: ProcessId(0), from, to: from + bytes, ns: (begin, begin + width) };
            let reaches = |one: &Allocation| {
                one.address < cell.to && one.end() > cell.from && one.from_ns < cell.ns.1 && one.until_ns > cell.ns.0
            };
            let wanted: Vec<usize> = (0..of.all().len()).filter(|&index| reaches(&of.all()[index])).collect();
            prop_assert_eq!(in_cell(of.all(), (0, of.all().len()), &cell), wanted);
            for (index, one) in of.all().iter().enumerate() {
                let same: Vec<usize> = (0..of.all().len()).filter(|&at| of.all()[at].address == one.address).collect();
                let number = same.iter().position(|&at| at == index).unwrap() + 1;
                prop_assert_eq!(number_of(&of, index), (number, same.len()));
            }
            let places = [Place {
                process: ProcessId(0), from: 0, to: 0x8000, allocation: None, held: (0, of.all().len()),
                sums: Sums::default(), number: 1,
            }; 2];
            let generations = Generations::of(&places, &[Arc::new(of.clone())]);
            for row in 0..generations.len() {
                let (place, index) = generations.get(row).unwrap();
                prop_assert_eq!(generations.row_of(place, index), Some(row));
            }
            prop_assert_eq!(generations.len() as usize, 2 * of.all().len().max(1));
        }
    }
}
