use super::*;
use crate::correlate::AllocationKind;
use crate::memory::happenings::lives;
use crate::trace::{ActivityKind, LaneOf, NO_DEVICE};
use proptest::prelude::*;

const BASE: u64 = 0x7f00_0000_0000;

fn managed(address: u64, bytes: u64, from_ns: u64, freed: Option<u64>) -> Allocation {
    Allocation::lived(AllocationKind::Managed, (address, bytes), from_ns, freed)
}

fn row(start_ns: u64, counter: u16, address: u64, value: u64) -> Activity {
    let device = if counter == wire::UNIFIED_CPU_FAULT { NO_DEVICE } else { 0 };
    let kind = ActivityKind::Unified;
    Activity { kind, start_ns, detail: counter as u8 | 2 << 4, device, value, address, ..Activity::default() }
}

const PROCESS: ProcessId = ProcessId(0);

/// A trace, so that the lane is what it is when it is read.
fn trace(rows: &[Activity]) -> Trace {
    let mut trace = Trace::default();
    for (place, row) in (0..).zip(rows) {
        trace.activities.push(PROCESS, LaneOf::Unified, row, place);
    }
    trace
}

fn walk(
    trace: &Trace,
    allocations: &Allocations,
    wanted: &dyn Fn(LaneId, usize) -> bool,
) -> (Vec<Movement>, Vec<Overlap>) {
    let records = Records::of(trace);
    let mut told = lives(allocations);
    told.sort_by_key(|told| told.at_ns);
    let mut walk = Walk::of(&records, PROCESS, told).unwrap();
    while !walk.go_on(&records, allocations, wanted, 3) {}
    let (mut list, kernels) = walk.finish(trace);
    list.sort_by_key(|one| one.allocation.map(|one| (one.address, one.from_ns)));
    (list, kernels)
}

fn walked(rows: &[Activity], allocations: &Allocations, wanted: impl Fn(usize) -> bool) -> Vec<Movement> {
    walk(&trace(rows), allocations, &|_, row| wanted(row)).0
}

#[test]
fn a_move_over_several_allocations_counts_each_page_once() {
    // A page and a half, then one that begins on the same page, then a gap of a page, then another.
    let allocations = Allocations::of_list(vec![
        managed(BASE, 6144, 0, None),
        managed(BASE + 6144, 2048 + 4096, 0, None),
        managed(BASE + 16384, 4096, 0, None),
    ]);
    let rows = [row(10, wire::UNIFIED_TO_DEVICE, BASE, 5 * 4096)];
    let list = walked(&rows, &allocations, |_| true);
    let sums: Vec<(Option<u64>, u64, u64)> =
        list.iter().map(|one| (one.allocation.map(|one| one.address - BASE), one.to_device, one.moved_once)).collect();
    assert_eq!(sums, [(None, 4096, 4096), (Some(0), 8192, 8192), (Some(6144), 4096, 4096), (Some(16384), 4096, 4096)]);
}

#[test]
fn an_address_that_comes_again_begins_anew() {
    let allocations = Allocations::of_list(vec![managed(BASE, 65536, 0, Some(25)), managed(BASE, 65536, 30, None)]);
    let (to, back) = (wire::UNIFIED_TO_DEVICE, wire::UNIFIED_TO_HOST);
    let rows = [
        row(10, to, BASE, 65536),
        row(20, back, BASE, 65536),
        // Handed over late: it was before the second one was allocated.
        row(40, to, BASE, 65536),
        row(22, to, BASE, 65536),
        row(50, to, BASE, 4096),
    ];
    let list = walked(&rows, &allocations, |_| true);
    assert_eq!((list[0].to_device, list[0].to_host, list[0].returned), (131_072, 65536, 131_072));
    assert_eq!((list[1].to_device, list[1].returned, list[1].contradicted), (69632, 0, 4096));
    // What is not wanted moves pages all the same.
    let list = walked(&rows, &allocations, |row| row == 1);
    assert_eq!(list.len(), 1);
    assert_eq!((list[0].to_device, list[0].to_host, list[0].returned), (0, 65536, 65536));
}

#[test]
fn what_was_for_nothing_and_what_ran_meanwhile_is_told() {
    let allocations = Allocations::of_list(vec![managed(BASE, 16 * 4096, 0, Some(900))]);
    let caused = |start_ns, counter, page: u64, count: u64, cause: u8| Activity {
        detail: counter as u8 | cause << 4,
        ..row(start_ns, counter, BASE + page * 4096, count * 4096)
    };
    let (to, back) = (wire::UNIFIED_TO_DEVICE, wire::UNIFIED_TO_HOST);
    let mut trace = trace(&[
        // Prefetched, half of it taken back before anything ran, the other half after a kernel.
        caused(10, to, 0, 8, 1),
        caused(20, back, 0, 4, 2),
        caused(200, back, 4, 4, 2),
        // Evicted, and half of that wanted again.
        caused(310, to, 8, 8, 2),
        caused(320, back, 8, 8, 4),
        caused(330, to, 8, 4, 2),
    ]);
    trace.activities.of_mut(PROCESS).evidence.seen(What::Activity);
    for (start_ns, text) in [(100, 7), (300, 8)] {
        let kernel = Activity { start_ns, duration_ns: 50, value: text, device: 0, ..Activity::default() };
        trace.activities.push(PROCESS, LaneOf::Stream { context: 1, stream: 1 }, &kernel, 0);
    }
    let (list, kernels) = walk(&trace, &allocations, &|_, _| true);
    let [one] = list.as_slice() else { panic!("{list:?}") };
    assert_eq!((one.migrations, one.moved_once, one.returned), (6, 16 * 4096, 20 * 4096));
    assert_eq!((one.alternations(), one.most_returns), (20, 2));
    assert_eq!((one.needless, one.prefetched), (Some(4 * 4096), 8 * 4096));
    assert_eq!((one.evicted, one.evicted_back), (8 * 4096, 4 * 4096));
    assert_eq!(one.last, Shares { host: 12, device: 4, ..Shares::default() });
    assert_eq!((one.host_pattern, one.device_pattern), (None, None));
    let mut by: Vec<_> =
        kernels.iter().map(|one| (one.kernel.map(|text| text.0), one.to_device, one.to_host)).collect();
    by.sort_unstable();
    assert_eq!(by.iter().map(|one| one.1 + one.2).sum::<u64>(), 36 * 4096);
    assert!(by.contains(&(None, 8 * 4096, 8 * 4096)), "{by:?}");
}

#[test]
fn the_order_of_faults_is_told_by_processor() {
    let allocations = Allocations::of_list(vec![managed(BASE, 64 << 20, 0, None)]);
    let mut rows = Vec::new();
    for at in 0..40u64 {
        rows.push(row(at * 10, wire::UNIFIED_GPU_FAULT, BASE + at * (1 << 20), 1));
        rows.push(row(at * 10 + 1000, wire::UNIFIED_CPU_FAULT, BASE + at * 4096, 0));
    }
    let mut trace = trace(&rows);
    trace.activities.of_mut(PROCESS).evidence.seen(What::Faults);
    let (list, _) = walk(&trace, &allocations, &|_, _| true);
    assert_eq!(
        (list[0].device_pattern, list[0].host_pattern),
        (Some(Pattern::Strided(1 << 20)), Some(Pattern::Sequential))
    );
    assert_eq!((list[0].device_faults, list[0].host_faults, list[0].needless), (40, 40, None));
    let (list, _) = walk(&trace, &allocations, &|_, row| row % 2 == 0);
    assert_eq!((list[0].host_faults, list[0].host_pattern), (0, Some(Pattern::Undecided)));
}

proptest! {
    /// Against pages that each know where they were, and that are asked one by one whose they are.
    #[test]
    fn sums_are_those_of_pages_one_by_one(
        lives in prop::collection::vec((0u64..24, 1u64..6, 0u64..3), 0..8),
        moves in prop::collection::vec((0u64..24, 1u64..8, 0u8..4, 0u64..100), 1..40),
    ) {
        // Every allocation lives to the end, on pages of its own.
        let mut taken = [None; 32];
        let mut list = Vec::new();
        for (page, count, from) in lives {
            let range = page as usize..(page + count) as usize;
            if taken[range.clone()].iter().all(Option::is_none) {
                taken[range].fill(Some((list.len(), from)));
                list.push(managed(BASE + page * PAGE_BYTES, count * PAGE_BYTES - 100, from, None));
            }
        }
        let counters =
            [wire::UNIFIED_TO_DEVICE, wire::UNIFIED_TO_HOST, wire::UNIFIED_CPU_FAULT, wire::UNIFIED_GPU_FAULT];
        let rows: Vec<Activity> = moves
            .iter()
            .map(|&(page, count, what, at)| {
                row(at, counters[usize::from(what)], BASE + page * PAGE_BYTES, count * PAGE_BYTES)
            })
            .collect();
        let found = walked(&rows, &Allocations::of_list(list.clone()), |_| true);

        let mut order: Vec<&Activity> = rows.iter().collect();
        order.sort_by_key(|row| row.start_ns);
        // Where each page is, and where it came from.
        let mut pages: Vec<(Option<u8>, Option<u8>, bool)> = vec![(None, None, false); 64];
        let mut begun = vec![false; list.len()];
        let mut sums: std::collections::BTreeMap<Option<u64>, Movement> = std::collections::BTreeMap::new();
        for row in order {
            for (index, one) in list.iter().enumerate() {
                if !begun[index] && one.from_ns <= row.start_ns {
                    begun[index] = true;
                    for (page, taken) in taken.iter().enumerate() {
                        if taken.is_some_and(|(owner, _)| owner == index) {
                            pages[page] = (None, None, false);
                        }
                    }
                }
            }
            let counter = row.unified().0;
            let moves = counter <= wire::UNIFIED_TO_HOST;
            let count = if moves { row.value / PAGE_BYTES } else { 1 };
            let first = (row.address - BASE) / PAGE_BYTES;
            for page in first..first + count {
                let owner = taken.get(page as usize).copied().flatten().filter(|&(_, from)| from <= row.start_ns);
                let address = owner.map(|(index, _)| list[index].address);
                let sum = sums.entry(address).or_insert_with(|| Movement::none(ProcessId(0), None));
                let state = &mut pages[page as usize];
                if !moves {
                    sum.host_faults += 1;
                    state.0 = state.0.or(Some(u8::from(counter == wire::UNIFIED_GPU_FAULT)));
                    continue;
                }
                let to = u8::from(counter == wire::UNIFIED_TO_DEVICE);
                *(if to == 1 { &mut sum.to_device } else { &mut sum.to_host }) += PAGE_BYTES;
                sum.contradicted += if state.0 == Some(to) { PAGE_BYTES } else { 0 };
                sum.returned += if state.1 == Some(to) { PAGE_BYTES } else { 0 };
                sum.moved_once += if state.2 { 0 } else { PAGE_BYTES };
                *state = (Some(to), Some(1 - to), true);
            }
        }
        let of = |one: &Movement| {
            (one.to_device, one.to_host, one.faults(), one.moved_once, one.returned, one.contradicted)
        };
        let found: Vec<_> = found.iter().map(|one| (one.allocation.map(|one| one.address), of(one))).collect();
        let expected: Vec<_> = sums.iter().map(|(&address, one)| (address, of(one))).collect();
        prop_assert_eq!(found, expected);
    }
}
