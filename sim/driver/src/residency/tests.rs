//! The residency engine against a twin that is only an array of sets, and against the numbers of a real H200.

use super::*;
use std::collections::BTreeSet;

/// The twin: it knows nothing of regions or policies, it only replays steps and checks that each was possible.
struct Twin {
    pages: Vec<BTreeSet<Place>>,
    bytes: [[u64; 3]; 3],
    cpu_faults: u64,
    groups: u64,
}

impl Twin {
    fn new(pages: usize) -> Self {
        Self { pages: vec![BTreeSet::new(); pages], bytes: [[0; 3]; 3], cpu_faults: 0, groups: 0 }
    }

    fn replay(&mut self, step: Step) {
        assert!(step.count > 0);
        match step.change {
            Change::CpuFault { .. } => self.cpu_faults += 1,
            Change::GpuFaultGroup { .. } => self.groups += 1,
            _ => {}
        }
        for index in step.first..step.first + step.count {
            let page = &mut self.pages[index];
            match step.change {
                Change::Moved { from, to, .. } | Change::Copied { from, to, .. } => {
                    assert!(page.contains(&from) && !page.contains(&to), "page {index}: {:?}", step.change);
                    if matches!(step.change, Change::Moved { .. }) {
                        page.clear();
                    }
                    page.insert(to);
                    self.bytes[usize::from(from)][usize::from(to)] += PAGE as u64;
                }
                Change::Populated { to } => {
                    assert!(page.is_empty());
                    page.insert(to);
                }
                Change::Collapsed { keep } => {
                    assert!(page.contains(&keep) && page.len() > 1);
                    *page = BTreeSet::from([keep]);
                }
                Change::Remote { who, at } => assert!(page.contains(&at) && !page.contains(&who)),
                Change::CpuFault { .. } | Change::GpuFaultGroup { .. } => {}
            }
        }
    }

    fn same(&self, space: &Space) {
        for (index, page) in self.pages.iter().enumerate() {
            let mask = page.iter().fold(0u8, |mask, place| mask | 1 << place);
            assert_eq!(mask, space.page(index).resident, "page {index}");
        }
        for place in 0..3u8 {
            let count = self.pages.iter().filter(|page| page.contains(&place)).count() as u64;
            assert_eq!(count, space.resident(place));
        }
    }
}

#[test]
fn any_history_agrees_with_the_twin() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let pages = 1 + rng.below(1400) as usize;
        let mut space = Space::new(pages);
        let mut twin = Twin::new(pages);
        for _ in 0..120 {
            let first = rng.below(pages as u64) as usize;
            let last = first + 1 + rng.below((pages - first) as u64) as usize;
            let write = rng.below(2) == 0;
            let place = rng.below(3) as Place;
            match rng.below(6) {
                0 | 1 => {
                    space.cpu_access(first, write, &mut |step| twin.replay(step));
                    let allowed = space.page(first).protection();
                    assert!(allowed == Protection::ReadWrite || (!write && allowed == Protection::Read));
                }
                2 => {
                    let who = device(rng.below(2) as usize);
                    let block_end = (first / BLOCK + 1) * BLOCK;
                    space.gpu_access(who, first, last.min(block_end), write, &mut rng, &mut |step| twin.replay(step));
                    for index in first..last.min(block_end).min(pages) {
                        let page = space.page(index);
                        assert!(page.at(who) || page.preferred != 0 || page.accessed_by != 0, "page {index}");
                        assert!(!write || page.resident.count_ones() == 1 || !page.at(who));
                    }
                }
                3 => {
                    space.prefetch(first, last, place, &mut |step| twin.replay(step));
                    assert!((first..last).all(|index| space.page(index).at(place)));
                }
                4 => {
                    let advice = match rng.below(4) {
                        0 => Advice::ReadMostly(write),
                        1 => Advice::Preferred(write.then_some(place)),
                        _ => Advice::AccessedBy(place.max(1), write),
                    };
                    space.advise(first, last, advice, &mut |step| twin.replay(step));
                }
                _ => {
                    // Eviction drops copies without a step, so the twin takes its word for those.
                    let from = device(rng.below(2) as usize);
                    let block = first / BLOCK * BLOCK;
                    space.evict(from, block, &mut |step| twin.replay(step));
                    for index in block..(block + BLOCK).min(pages) {
                        assert!(!space.page(index).at(from));
                        twin.pages[index].remove(&from);
                    }
                }
            }
            twin.same(&space);
        }
    }
}

/// 64 MiB, written whole by the CPU, then rounds of {kernel writes all, CPU touches all}, half of them after a prefetch:
/// the real card counted 671,088,640 bytes each way, 2,112 CPU faults and 3,840 device-to-host rows.
#[test]
fn the_ping_pong_of_the_real_card() {
    let pages = 64 << 20 >> 12;
    let mut space = Space::new(pages);
    let mut twin = Twin::new(pages);
    let mut rng = Rng::new(1);
    let mut rows = 0;
    let mut cpu = |space: &mut Space, twin: &mut Twin| {
        for index in 0..pages {
            if space.page(index).protection() != Protection::ReadWrite {
                space.cpu_access(index, true, &mut |step| {
                    rows += u64::from(matches!(step.change, Change::Moved { .. }));
                    twin.replay(step);
                });
            }
        }
    };
    cpu(&mut space, &mut twin);
    for round in 0..10 {
        if round >= 5 {
            space.prefetch(0, pages, device(0), &mut |step| twin.replay(step));
        }
        for block in (0..pages).step_by(BLOCK) {
            space.gpu_access(device(0), block, block + BLOCK, true, &mut rng, &mut |step| twin.replay(step));
        }
        cpu(&mut space, &mut twin);
    }
    twin.same(&space);
    assert_eq!(twin.bytes[0][1], 671_088_640);
    assert_eq!(twin.bytes[1][0], 671_088_640);
    assert_eq!(twin.cpu_faults, 2_112);
    assert_eq!(rows, 3_840);
    // 528 to 534 on the card.
    assert!((400..700).contains(&twin.groups), "{}", twin.groups);
}

#[test]
fn mostly_read_pages_are_copied_and_a_write_collapses_them() {
    let mut space = Space::new(BIG);
    let mut rng = Rng::new(1);
    let mut steps = Vec::new();
    space.cpu_access(0, true, &mut |_| {});
    space.advise(0, BIG, Advice::ReadMostly(true), &mut |_| {});
    space.gpu_access(device(0), 0, BIG, false, &mut rng, &mut |_| {});
    assert_eq!(space.page(3).resident, 0b11);
    assert_eq!(space.page(3).protection(), Protection::Read);
    space.cpu_access(3, true, &mut |step| steps.push(step.change));
    assert_eq!(steps, [Change::CpuFault { write: true }, Change::Collapsed { keep: HOST }]);
    assert_eq!(space.page(3).protection(), Protection::ReadWrite);
}

#[test]
fn preferred_host_memory_is_mapped_not_moved() {
    let mut space = Space::new(BIG);
    let mut rng = Rng::new(1);
    let mut steps = Vec::new();
    space.cpu_access(0, true, &mut |_| {});
    space.advise(0, BIG, Advice::Preferred(Some(HOST)), &mut |_| {});
    let moved = space.gpu_access(device(0), 0, BIG, true, &mut rng, &mut |step| steps.push(step));
    assert_eq!(moved, 0);
    assert_eq!(steps, [Step { first: 0, count: BIG, change: Change::Remote { who: device(0), at: HOST } }]);
}
