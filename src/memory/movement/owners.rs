//! Which allocation holds an address, asked again and again of few of them.

use crate::correlate::{Allocations, Holding};
use crate::memory::residency::{PAGE_BYTES, pages};

/// Answers that are kept.
const KEPT: usize = 1 << 14;
/// Addresses that differ in these bits alone share a place; allocations that are smaller have one for each page.
const LARGE_SHIFT: u32 = 16;
const SMALL_SHIFT: u32 = PAGE_BYTES.trailing_zeros();

/// Remembers answers for as long as they hold: a search through a million allocations waits for memory a dozen times, and
/// records that come one after the other mostly are of the same few.
#[derive(Debug, Default)]
pub struct Owners {
    kept: Vec<Option<Holding>>,
}

impl Owners {
    /// Which one held an address at a moment, ns: index into [`Allocations::all`], which must always be those.
    pub fn find(&mut self, allocations: &Allocations, address: u64, at_ns: u64) -> Option<u32> {
        self.held(allocations, address, at_ns).0
    }

    /// Likewise; if none did, up to where none did if that is known.
    fn held(&mut self, allocations: &Allocations, address: u64, at_ns: u64) -> (Option<u32>, Option<u64>) {
        if self.kept.is_empty() {
            self.kept.resize(KEPT, None);
        }
        let holds = |one: &&Holding| {
            (one.addresses.0 <= address && address < one.addresses.1)
                && (one.moments.0 <= at_ns && at_ns <= one.moments.1)
        };
        let kept = |shift| self.kept.get(place(address, shift)).and_then(Option::as_ref).filter(holds);
        let index = |index: Option<usize>| index.and_then(|index| u32::try_from(index).ok());
        if let Some(known) = kept(LARGE_SHIFT).or_else(|| kept(SMALL_SHIFT)) {
            return (index(known.index), Some(known.addresses.1));
        }
        let Some(found) = allocations.find_simple(address, at_ns) else {
            return (index(allocations.find(address, at_ns)), None);
        };
        let is_large = found.addresses.1 - found.addresses.0 >= 1 << LARGE_SHIFT;
        if let Some(kept) = self.kept.get_mut(place(address, if is_large { LARGE_SHIFT } else { SMALL_SHIFT })) {
            *kept = Some(found);
        }
        (index(found.index), Some(found.addresses.1))
    }

    /// The allocation that pages from the first on are of, and the first page that is not, at most the second. A page that
    /// several allocations share is of the first of them.
    pub fn of_pages(&mut self, allocations: &Allocations, (page, last): (u64, u64), at_ns: u64) -> (Option<u32>, u64) {
        let address = page.saturating_mul(PAGE_BYTES);
        let (mut found, until) = self.held(allocations, address, at_ns);
        let mut next = u64::MAX;
        if found.is_none() {
            next = until.unwrap_or_else(|| allocations.next_base(address).unwrap_or(u64::MAX));
            if next / PAGE_BYTES == page {
                found = self.find(allocations, next, at_ns);
            }
        }
        let until = match found.and_then(|index| allocations.all().get(index as usize)) {
            Some(one) => pages(one.address, one.bytes).1,
            None => next / PAGE_BYTES,
        };
        (found, until.clamp(page.saturating_add(1), last))
    }
}

/// Where the answer for an address is kept.
const fn place(address: u64, shift: u32) -> usize {
    // Spread by a multiplication: addresses of one program differ in few bits.
    ((address >> shift).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - KEPT.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlate::{Allocation, AllocationKind};
    use proptest::prelude::*;

    proptest! {
        /// Against searches, at moments that go on.
        #[test]
        fn what_is_remembered_is_what_would_be_found(
            list in prop::collection::vec((0u64..40, 1u64..40, 0u64..100, 0u64..60), 0..40),
            asked in prop::collection::vec((0u64..60, 0u64..3), 0..200),
        ) {
            const UNIT: u64 = 1024;
            let list = list.into_iter().map(|(place, count, from_ns, length)| Allocation {
                made_ns: from_ns + 1,
                until_ns: from_ns + 2 + length,
                ..Allocation::lived(AllocationKind::Managed, ((place + 1) * UNIT, count * UNIT), from_ns, Some(from_ns + 1 + length))
            });
            let all = Allocations::of_list(list.collect());
            let mut owners = Owners::default();
            let mut now = 0;
            for (place, step) in asked {
                now += step;
                let address = place * UNIT + 7;
                let found = all.find(address, now).map(|index| index as u32);
                prop_assert_eq!(owners.find(&all, address, now), found);
            }
        }
    }
}
