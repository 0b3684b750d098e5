//! The life of one page: allocated, somewhere, on its way, evicted, reached from afar, released.

use super::happenings::of_record;
use super::history::History;
use super::homes::{Homes, PAGE_BYTES, Place};
use super::state::{Happening, State};
use crate::correlate::Allocations;
use crate::trace::activity::Lane;

/// How a page stands for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing was allocated there yet.
    NotAllocated,
    /// It is allocated. Where it is, if it is anywhere, is not known: the first touch shows only where faults are recorded.
    Allocated {
        /// Where a prefetch was to bring it. No record says that it came.
        asked: Option<Place>,
    },
    /// It is there.
    Resident(Homes),
    /// It is there because others needed the room.
    Evicted(Homes),
    /// It is there, and others reach it from afar.
    Mapped(Homes, Homes),
    /// It is on its way to a place.
    Migrating(Place),
    /// It was released.
    Freed,
}

impl Standing {
    /// Of memory that is allocated, or of which no call says that it is not.
    #[must_use]
    pub const fn of(state: &State) -> Self {
        if state.homes.is_unknown() {
            Self::Allocated { asked: state.asked }
        } else if !state.mapped.is_unknown() {
            Self::Mapped(state.homes, state.mapped)
        } else if state.evicted {
            Self::Evicted(state.homes)
        } else {
            Self::Resident(state.homes)
        }
    }

    /// In one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotAllocated => "not allocated",
            Self::Allocated { .. } => "allocated",
            Self::Resident(_) => "resident",
            Self::Evicted(_) => "evicted",
            Self::Mapped(..) => "remote-mapped",
            Self::Migrating(_) => "migrating",
            Self::Freed => "freed",
        }
    }
}

/// From when until when, ns on the trace's axis, and how it stood.
pub type Step = (u64, u64, Standing);

/// The life of a page from one moment to another, ns, without gaps. `lane`: unified memory of the process that `history` is
/// of. It takes as long as there are records in that time, and as there are allocations.
#[must_use]
pub fn life(
    history: &History,
    lane: &Lane,
    allocations: &Allocations,
    page: u64,
    (from_ns, to_ns): (u64, u64),
) -> Vec<Step> {
    let address = page.saturating_mul(PAGE_BYTES);
    let all = allocations.all().iter().filter(|one| one.has_address());
    let on_page = all.filter(|one| one.address / PAGE_BYTES <= page && one.end() > address);
    let lives: Vec<(u64, u64)> = on_page.map(|one| (one.from_ns, one.until_ns)).collect();
    let mut ways = Vec::new();
    lane.overlapping((from_ns, to_ns), |_, activity| {
        if let Some(((first, after), Happening::Moved { to, .. })) = of_record(&activity)
            && (first..after).contains(&page)
        {
            ways.push((activity.start_ns, activity.end_ns(), to));
        }
    });
    let mut bounds: Vec<u64> = vec![from_ns, to_ns];
    history.for_each((page, page + 1), (from_ns, to_ns), |stretch| bounds.push(stretch.span.0));
    bounds.extend(lives.iter().flat_map(|&(from, until)| [from, until]));
    bounds.extend(ways.iter().flat_map(|&(from, until, _)| [from, until]));
    bounds.retain(|bound| (from_ns..=to_ns).contains(bound));
    bounds.sort_unstable();
    bounds.dedup();
    let mut steps: Vec<Step> = Vec::new();
    for pair in bounds.windows(2) {
        let &[from, until] = pair else { continue };
        let is_in = |one: &&(u64, u64)| one.0 <= from && from < one.1;
        let way = ways.iter().rev().find(|way| way.0 <= from && from < way.1);
        let standing = match way {
            Some(&(_, _, to)) => Standing::Migrating(to),
            None if lives.is_empty() || lives.iter().any(|one| is_in(&one)) => Standing::of(&history.page(page, from)),
            None if lives.iter().any(|one| one.1 <= from) => Standing::Freed,
            None => Standing::NotAllocated,
        };
        match steps.last_mut() {
            Some(last) if last.2 == standing => last.1 = until,
            _ => steps.push((from, until, standing)),
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlate::{Allocation, AllocationKind};
    use crate::memory::happenings::lives;
    use crate::trace::{Activity, ActivityKind, LaneOf, NO_DEVICE, ProcessId, Trace};
    use umtui_wire::activity as wire;

    const PAGE: u64 = 0x7f000;

    #[test]
    fn a_page_is_born_moves_and_is_released() {
        let mut trace = Trace::default();
        let mut add = |start_ns, duration_ns, counter: u16, device, flags: u8, bytes| {
            let row = Activity {
                kind: ActivityKind::Unified,
                start_ns,
                duration_ns,
                detail: counter as u8 | flags << 4,
                device,
                value: bytes,
                address: PAGE * 4096,
                ..Activity::default()
            };
            trace.activities.push(ProcessId(0), LaneOf::Unified, &row, 0);
        };
        add(20, 0, wire::UNIFIED_CPU_FAULT, NO_DEVICE, 2, 0);
        add(30, 5, wire::UNIFIED_TO_DEVICE, 0, 2, 8192);
        add(50, 4, wire::UNIFIED_TO_HOST, 0, 4, 65536);
        add(60, 0, wire::UNIFIED_REMOTE_MAP, 0, 3, 4096);
        let one = Allocation {
            made_ns: 12,
            until_ns: 80,
            ..Allocation::lived(AllocationKind::Managed, (PAGE * 4096, 65536), 10, Some(70))
        };
        let allocations = Allocations::of_list(vec![one]);
        let lane = trace.activities.lane(trace.activities.find(ProcessId(0), LaneOf::Unified).unwrap()).unwrap();
        let mut history = History::default();
        history.set_told(Some(lane), lives(&allocations));
        assert!(history.advance(lane, || false));
        let (host, gpu) = (Homes::one(Place::Host), Homes::one(Place::Device(0)));
        let expected = [
            (0, 10, Standing::NotAllocated),
            (10, 20, Standing::Allocated { asked: None }),
            (20, 30, Standing::Resident(host)),
            (30, 35, Standing::Migrating(Place::Device(0))),
            (35, 50, Standing::Resident(gpu)),
            (50, 54, Standing::Migrating(Place::Host)),
            (54, 60, Standing::Evicted(host)),
            (60, 80, Standing::Mapped(host, gpu)),
            (80, 100, Standing::Freed),
        ];
        assert_eq!(life(&history, lane, &allocations, PAGE, (0, 100)), expected);
        let second = life(&history, lane, &allocations, PAGE + 1, (15, 55));
        assert_eq!(
            second.iter().map(|step| step.2.word()).collect::<Vec<_>>(),
            ["allocated", "migrating", "resident", "migrating", "evicted"]
        );
        // Memory that no call was seen to allocate.
        assert_eq!(
            life(&history, lane, &Allocations::default(), PAGE, (0, 5)),
            [(0, 5, Standing::Allocated { asked: None })]
        );
    }
}
