use super::*;
use crate::correlate::{Allocation, AllocationKind, End};
use crate::memory::{Cell, SizeClass};
use crate::trace::{SiteId, TrackId};
use proptest::prelude::*;

const KINDS: [AllocationKind; 4] =
    [AllocationKind::Device, AllocationKind::Managed, AllocationKind::Registered, AllocationKind::Physical];

fn block(
    address: u64,
    bytes: u64,
    made_ns: u64,
    freed_ns: Option<u64>,
    (kind, device, site): (usize, u8, u32),
) -> Block {
    let allocation = Allocation {
        from_ns: made_ns.saturating_sub(1),
        site: SiteId(site),
        end: if freed_ns.is_some() { End::Released(TrackId(0), 1) } else { End::Lives },
        device,
        ..Allocation::lived(KINDS[kind % KINDS.len()], (address, bytes), made_ns, freed_ns)
    };
    Block { process: ProcessId(u16::from(device)), allocation }
}

fn by_site(snapshot: &Snapshot) -> BTreeMap<(SiteId, SizeClass), Held> {
    snapshot.by(|cell| cell.kind.adds_memory().then_some((cell.site, cell.class)))
}

const MIB: u64 = 1 << 20;

#[test]
fn an_address_that_comes_again_is_another_allocation() {
    let account = Account::of(
        vec![
            block(MIB, MIB, 10, Some(40), (0, 0, 1)),
            block(MIB, MIB, 50, None, (0, 0, 1)),
            block(8 * MIB, 5 * MIB, 10, None, (0, 0, 2)),
            block(20 * MIB, MIB, 60, None, (0, 0, 3)),
            block(2 * MIB, MIB / 2, 60, None, (1, 0, 3)),
        ],
        Vec::new(),
    );
    let (before, after) = (Snapshot::at(&account, 30), Snapshot::at(&account, u64::MAX));
    let turnover = Turnover::between(&account, &before, &after);
    assert_eq!(turnover, Turnover { new: vec![1, 3, 4], gone: vec![0], kept: vec![2] });
    let rows = difference(by_site(&before), by_site(&after));
    let told: Vec<_> =
        rows.iter().map(|one| (one.key.0.0, one.key.1.largest(), one.bytes(), one.count(), one.verdict())).collect();
    assert_eq!(
        told,
        [
            (3, Some(MIB), Some(1 << 20), 1, Verdict::New),
            (3, Some(MIB / 2), Some(1 << 19), 1, Verdict::New),
            (1, Some(MIB), Some(0), 0, Verdict::Same),
            (2, Some(8 * MIB), Some(0), 0, Verdict::Same),
        ]
    );
    let extents: Vec<(Option<u64>, u64, u64, u64)> = extents(&account, &before, &after)
        .iter()
        .map(|one| (one.key.from, one.key.to, one.before.sized_bytes, one.after.sized_bytes))
        .collect();
    assert_eq!(
        extents,
        [
            (Some(20 * MIB), 21 * MIB, 0, MIB),
            (Some(MIB), 2 * MIB + MIB / 2, MIB, MIB + MIB / 2),
            (Some(8 * MIB), 13 * MIB, 5 * MIB, 5 * MIB),
        ]
    );
}

#[test]
fn sizes_that_are_not_recorded_are_no_zero() {
    let account = Account::of(vec![block(0, 0, 10, None, (3, 0, 1)), block(0, 0, 20, None, (3, 0, 1))], Vec::new());
    let (before, after) = (Snapshot::at(&account, 10), Snapshot::at(&account, 20));
    let change = difference(by_site(&before), by_site(&after))[0];
    assert_eq!((change.before.bytes(), change.bytes(), change.count()), (None, None, 1));
    assert_eq!((change.verdict(), change.key.1), (Verdict::Grown, SizeClass::UNKNOWN));
    assert_eq!(Snapshot::at(&account, 5).total().bytes(), Some(0));
    assert_eq!((growth(0, u64::MAX), growth(u64::MAX, 0), growth(3, 1)), (i64::MAX, i64::MIN, -2));
}

proptest! {
    /// Against looking at each allocation for each question.
    #[test]
    fn differences_are_those_of_looking_at_each(
        given in prop::collection::vec(
            ((0u64..40, 0u64..5, 0u64..60), prop::option::of(0u64..30), (0usize..4, 0u8..2, 0u32..3)), 0..60),
        moments in (0u64..100, prop_oneof![0u64..100, Just(u64::MAX)]),
    ) {
        let blocks: Vec<Block> = given
            .iter()
            .map(|&((address, bytes, made), lives, of)| {
                block(address * MIB, bytes * MIB * 2 / 3, made, lives.map(|lives| made + lives), of)
            })
            .collect();
        let account = Account::of(blocks.clone(), Vec::new());
        let (before, after) = (Snapshot::at(&account, moments.0), Snapshot::at(&account, moments.1));
        let lives = |one: &Allocation, at: u64| {
            one.made_ns == at || (one.made_ns < at && (one.end == End::Lives || at < one.freed_ns))
        };
        let fits = |at: u64, cell: Cell| {
            let of = move |one: &Allocation| {
                let class = one.size().map(|bytes| bytes.next_power_of_two());
                (one.site, class, one.kind, one.device) == (cell.site, cell.class.largest(), cell.kind, cell.device)
            };
            let there = blocks.iter().map(|block| block.allocation).filter(|one| lives(one, at) && of(one));
            there.collect::<Vec<_>>()
        };
        for (snapshot, at) in [(&before, moments.0), (&after, moments.1)] {
            let counted = snapshot.cells().map(|(_, held)| held.count).sum::<u64>();
            prop_assert_eq!(counted, blocks.iter().filter(|one| lives(&one.allocation, at)).count() as u64);
            for (cell, held) in snapshot.cells() {
                let there = fits(at, cell);
                prop_assert_eq!(held.count, there.len() as u64);
                prop_assert_eq!(held.sized_bytes, there.iter().map(|one| one.bytes).sum::<u64>());
                prop_assert_eq!(held.unsized_count, there.iter().filter(|one| one.bytes == 0).count() as u64);
            }
            let adds = blocks.iter().filter(|one| one.allocation.kind.adds_memory() && lives(&one.allocation, at));
            prop_assert_eq!(snapshot.total().sized_bytes, adds.map(|one| one.allocation.bytes).sum::<u64>());
            if at != u64::MAX {
                let holders = account.holders(at).iter().map(|one| one.bytes).sum::<u64>();
                prop_assert_eq!(snapshot.total().sized_bytes, holders);
            }
        }
        // By call site and size.
        let rows = difference(by_site(&before), by_site(&after));
        let total = |which: fn(&Delta<(SiteId, SizeClass)>) -> Held| rows.iter().map(|one| which(one).sized_bytes).sum::<u64>();
        prop_assert_eq!(total(|one| one.before), before.total().sized_bytes);
        prop_assert_eq!(total(|one| one.after), after.total().sized_bytes);
        prop_assert!(rows.windows(2).all(|two| two[0].bytes().unwrap_or(0) >= two[1].bytes().unwrap_or(0)));
        for row in &rows {
            let of = |at: u64| {
                let fits = |one: &Allocation| {
                    let class = one.size().map(|bytes| bytes.next_power_of_two());
                    lives(one, at) && one.kind.adds_memory() && (one.site, class) == (row.key.0, row.key.1.largest())
                };
                blocks.iter().map(|one| one.allocation).filter(fits).count() as u64
            };
            prop_assert_eq!((row.before.count, row.after.count), (of(moments.0), of(moments.1)));
        }
        // Each allocation.
        let turnover = Turnover::between(&account, &before, &after);
        for (index, one) in blocks.iter().enumerate() {
            let was_and_is = (lives(&one.allocation, moments.0), lives(&one.allocation, moments.1));
            prop_assert_eq!(turnover.gone.contains(&index), was_and_is == (true, false));
            prop_assert_eq!(turnover.new.contains(&index), was_and_is == (false, true));
            prop_assert_eq!(turnover.kept.contains(&index), was_and_is == (true, true));
        }
        // By address: each allocation is in one extent, and none is near to another.
        let parts = extents(&account, &before, &after);
        prop_assert_eq!(parts.iter().map(|one| one.before.count).sum::<u64>(), before.total().count);
        prop_assert_eq!(parts.iter().map(|one| one.after.count).sum::<u64>(), after.total().count);
        for (index, part) in parts.iter().enumerate() {
            let Some(from) = part.key.from else { continue };
            let of = |at: u64| {
                let inside = |one: &&Block| {
                    let allocation = &one.allocation;
                    one.process == part.key.process
                        && allocation.kind.adds_memory()
                        && allocation.has_address()
                        && lives(allocation, at)
                        && allocation.address >= from
                        && allocation.end() <= part.key.to
                };
                blocks.iter().filter(inside).map(|one| one.allocation.bytes).sum::<u64>()
            };
            prop_assert_eq!((part.before.sized_bytes, part.after.sized_bytes), (of(moments.0), of(moments.1)));
            for other in parts.iter().skip(index + 1).filter(|other| other.key.process == part.key.process) {
                let Some(begins) = other.key.from else { continue };
                let apart = if begins >= part.key.to {
                    begins - part.key.to >= NEAR
                } else {
                    from >= other.key.to && from - other.key.to >= NEAR
                };
                prop_assert!(apart, "{:?} {:?}", part, other);
            }
        }
    }
}
