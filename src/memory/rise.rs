//! Who holds more with each step.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::Account;
use super::changes::changes;
use crate::trace::SiteId;

/// So many steps in a row must have ended with more memory in use than the one before.
pub const LEAST_STEPS: u64 = 3;

/// A place in the program that held more memory at the end of each of the last steps than at the end of the step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rise {
    /// The place.
    pub site: SiteId,
    /// How many steps in a row, up to the last one.
    pub steps: u64,
    /// Bytes in use before the first of them.
    pub before_bytes: u64,
    /// Bytes in use at the end of the last one.
    pub after_bytes: u64,
    /// The least that a step has added, bytes.
    pub least_bytes: u64,
    /// The most that a step has added, bytes: the same, if it is a straight line.
    pub most_bytes: u64,
}

/// What is known of a place at the end of a step.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Bytes in use now.
    now: u64,
    /// Bytes in use at the end of the step before.
    then: u64,
    /// Step after which this was looked at last; steps are counted from 1.
    looked: u64,
    /// The rise up to that step.
    rise: Option<Rise>,
}

/// Places whose memory in use has risen with each of the last steps, at least [`LEAST_STEPS`] of them, those that have
/// added most first. `from_ns` is when the first step begins, `ends` are the ends of all steps, ns on the trace's axis, in
/// order.
#[must_use]
pub fn rises(account: &Account, from_ns: u64, ends: &[u64]) -> Vec<Rise> {
    let mut states: FxHashMap<SiteId, State> = FxHashMap::default();
    let mut touched: Vec<SiteId> = Vec::new();
    let mut changes = changes(account.blocks()).into_iter().peekable();
    // What was there before the first step is as if a step before it had left it.
    for (step, end) in (0..).zip(std::iter::once(from_ns).chain(ends.iter().copied())) {
        while let Some(change) = changes.next_if(|change| change.at_ns <= end) {
            let Some(one) = account.blocks().get(change.block).map(|block| &block.allocation) else { continue };
            if !one.kind.adds_memory() {
                continue;
            }
            let state = states.entry(one.site).or_default();
            state.now =
                if change.comes { state.now.saturating_add(one.bytes) } else { state.now.saturating_sub(one.bytes) };
            touched.push(one.site);
        }
        // Of those that are not touched the rise ends here, as `looked` shows.
        for site in touched.drain(..) {
            if let Some(state) = states.get_mut(&site).filter(|state| step == 0 || state.looked < step) {
                state.look(site, step);
            }
        }
    }
    let last = ends.len() as u64;
    let last = states.into_values().filter(|state| state.looked == last).filter_map(|state| state.rise);
    let mut list: Vec<Rise> = last.filter(|rise| rise.steps >= LEAST_STEPS).collect();
    list.sort_unstable_by_key(|rise| (Reverse(rise.after_bytes - rise.before_bytes), rise.site));
    list
}

impl State {
    fn look(&mut self, site: SiteId, step: u64) {
        let added = self.now.saturating_sub(self.then);
        let before = self.rise.take().filter(|_| self.looked.saturating_add(1) == step);
        self.rise = (added > 0 && step > 0).then(|| match before {
            Some(rise) => Rise {
                steps: rise.steps + 1,
                after_bytes: self.now,
                least_bytes: rise.least_bytes.min(added),
                most_bytes: rise.most_bytes.max(added),
                ..rise
            },
            None => Rise {
                site,
                steps: 1,
                before_bytes: self.then,
                after_bytes: self.now,
                least_bytes: added,
                most_bytes: added,
            },
        });
        self.then = self.now;
        self.looked = step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlate::{Allocation, AllocationKind, End};
    use crate::memory::Block;
    use crate::trace::{ProcessId, TrackId};
    use proptest::prelude::*;

    fn block(bytes: u64, made_ns: u64, freed_ns: Option<u64>, site: u32) -> Block {
        let kind = if site == 9 { AllocationKind::Registered } else { AllocationKind::Device };
        let allocation = Allocation {
            site: SiteId(site),
            end: if freed_ns.is_some() { End::Released(TrackId(0), 1) } else { End::Lives },
            ..Allocation::lived(kind, (0x1000, bytes), made_ns, freed_ns)
        };
        Block { process: ProcessId(0), allocation }
    }

    #[test]
    fn what_comes_and_goes_within_a_step_does_not_rise() {
        let mut blocks = vec![block(500, 0, None, 1), block(40, 5, None, 1)];
        for step in 0..5u64 {
            // One leaks 100 bytes a step, one a little more each time, one is released before the step ends, one leaks but
            // is no memory of its own.
            blocks.push(block(100, 10 * step + 1, None, 1));
            blocks.push(block(10 + step, 10 * step + 1, None, 2));
            blocks.push(block(900, 10 * step + 2, Some(10 * step + 8), 3));
            blocks.push(block(900, 10 * step + 2, None, 9));
        }
        // This one is late: the last step adds nothing.
        blocks.extend((0..4).map(|step| block(7, 10 * step + 3, None, 4)));
        let account = Account::of(blocks, Vec::new());
        let ends: Vec<u64> = (1..=5).map(|step| 10 * step).collect();
        let rises = rises(&account, 0, &ends);
        let told: Vec<_> = rises.iter().map(|one| (one.site.0, one.steps, one.before_bytes, one.after_bytes)).collect();
        assert_eq!(told, [(1, 5, 500, 1040), (2, 5, 0, 60)]);
        assert_eq!((rises[0].least_bytes, rises[0].most_bytes), (100, 140));
        assert_eq!((rises[1].least_bytes, rises[1].most_bytes), (10, 14));
        assert_eq!(super::rises(&account, 0, &ends[..2]), []);
        assert_eq!(super::rises(&account, 0, &[]), []);
    }

    proptest! {
        /// Against looking at each step for each place.
        #[test]
        fn rises_are_those_of_looking_at_each_step(
            given in prop::collection::vec((1u64..4, 0u64..60, prop::option::of(1u64..40), 0u32..3), 0..80),
            ends in prop::collection::btree_set(0u64..70, 1..9),
        ) {
            let blocks: Vec<Block> = given
                .iter()
                .map(|&(bytes, made, lives, site)| block(bytes, made, lives.map(|lives| made + lives), site))
                .collect();
            let ends: Vec<u64> = ends.into_iter().collect();
            let mut found = rises(&Account::of(blocks.clone(), Vec::new()), ends[0], &ends[1..]);
            found.sort_by_key(|one| one.site);
            let mut twin = Vec::new();
            for site in (0..3).map(SiteId) {
                let at = |end: u64| {
                    let of = blocks.iter().map(|block| &block.allocation).filter(|one| one.site == site);
                    of.filter(|one| one.made_ns <= end && one.freed_ns > end).map(|one| one.bytes).sum::<u64>()
                };
                let values: Vec<u64> = ends.iter().map(|&end| at(end)).collect();
                let added: Vec<u64> =
                    values.windows(2).rev().take_while(|two| two[1] > two[0]).map(|two| two[1] - two[0]).collect();
                if added.len() as u64 >= LEAST_STEPS {
                    twin.push(Rise {
                        site,
                        steps: added.len() as u64,
                        before_bytes: values[values.len() - 1 - added.len()],
                        after_bytes: values[values.len() - 1],
                        least_bytes: *added.iter().min().unwrap(),
                        most_bytes: *added.iter().max().unwrap(),
                    });
                }
            }
            prop_assert_eq!(found, twin);
        }
    }
}
