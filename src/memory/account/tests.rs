use super::*;
use crate::correlate::End;
use crate::trace::TrackId;
use proptest::prelude::*;

const KINDS: [AllocationKind; 3] = [AllocationKind::Device, AllocationKind::Managed, AllocationKind::Registered];

fn block(bytes: u64, made_ns: u64, freed_ns: Option<u64>, (kind, device, site): (usize, u8, u32)) -> Block {
    let allocation = Allocation {
        from_ns: made_ns.saturating_sub(1),
        site: SiteId(site),
        end: if freed_ns.is_some() { End::Released(TrackId(0), 1) } else { End::Lives },
        device,
        ..Allocation::lived(KINDS[kind % KINDS.len()], (0x1000, bytes), made_ns, freed_ns)
    };
    Block { process: ProcessId(0), allocation }
}

#[test]
fn the_peak_is_what_was_in_use_at_once() {
    // The second comes as the first goes; the third is gone at once; the registered one is no new memory.
    let account = Account::of(
        vec![
            block(100, 10, Some(20), (0, 0, 1)),
            block(150, 20, None, (1, 0, 2)),
            block(60, 30, Some(30), (0, 1, 1)),
            block(1000, 5, None, (2, 0, 1)),
        ],
        Vec::new(),
    );
    let all = account.totals(Group::All);
    assert_eq!((all.count, all.bytes, all.live_count, all.live_bytes), (3, 310, 1, 150));
    assert_eq!((all.peak_bytes, all.peak_ns), (210, 30));
    assert_eq!(account.totals(Group::Kind(AllocationKind::Registered)).live_bytes, 1000);
    assert_eq!(account.totals(Group::Site(SiteId(1))).peak_bytes, 100);
    assert_eq!(account.totals(Group::Device(1)).peak_ns, 30);
    let holders: Vec<(u32, u64)> = account.holders(30).iter().map(|one| (one.site.0, one.bytes)).collect();
    assert_eq!(holders, [(2, 150), (1, 60)]);
    assert_eq!((account.live().at(15), account.live().at(20), account.live().at(30)), (100, 150, 150));
    assert_eq!(account.live().most(21, 29), 150);
}

proptest! {
    /// Against sums over all allocations, at each moment.
    #[test]
    fn sums_are_those_of_looking_at_each(
        given in prop::collection::vec(
            (0u64..50, 0u64..60, prop::option::of(0u64..30), (0usize..3, 0u8..2, 0u32..3)), 0..60),
    ) {
        let blocks: Vec<Block> = given
            .iter()
            .map(|&(bytes, made, lives, of)| block(bytes, made, lives.map(|lives| made + lives), of))
            .collect();
        let account = Account::of(blocks.clone(), Vec::new());
        let all: Vec<Group> = [Group::All, Group::Device(0), Group::Device(1)]
            .into_iter()
            .chain(KINDS.map(Group::Kind))
            .chain((0..3).map(|site| Group::Site(SiteId(site))))
            .collect();
        for group in all {
            let fits = |one: &Allocation| match group {
                Group::All => one.kind.adds_memory(),
                Group::Kind(kind) => one.kind == kind,
                Group::Device(device) => one.kind.adds_memory() && one.device == device,
                Group::Site(site) => one.kind.adds_memory() && one.site == site,
            };
            let of: Vec<Allocation> = blocks.iter().map(|block| block.allocation).filter(fits).collect();
            let totals = account.totals(group);
            prop_assert_eq!(totals.count, of.len() as u64);
            prop_assert_eq!(totals.bytes, of.iter().map(|one| one.bytes).sum::<u64>());
            prop_assert_eq!(totals.unsized_count, of.iter().filter(|one| one.bytes == 0).count() as u64);
            let living = of.iter().filter(|one| one.freed_ns == u64::MAX);
            prop_assert_eq!(totals.live_count, living.clone().count() as u64);
            prop_assert_eq!(totals.live_bytes, living.map(|one| one.bytes).sum::<u64>());
            let after = |at: u64| {
                let lives = |one: &&Allocation| one.made_ns <= at && one.freed_ns > at;
                of.iter().filter(lives).map(|one| one.bytes).sum::<u64>()
            };
            // Between what goes and what is gone at once, all that came is there.
            let most = |at: u64| {
                let lives = |one: &&Allocation| one.made_ns <= at && (one.freed_ns > at || one.made_ns == at);
                of.iter().filter(lives).map(|one| one.bytes).sum::<u64>()
            };
            let peak = (0..100).map(most).max().unwrap_or(0);
            prop_assert_eq!(totals.peak_bytes, peak);
            if peak > 0 {
                prop_assert_eq!(most(totals.peak_ns), peak);
            }
            if group == Group::All {
                for at in 0..100 {
                    prop_assert_eq!(account.live().at(at), after(at));
                    prop_assert_eq!(account.holders(at).iter().map(|one| one.bytes).sum::<u64>(), most(at));
                }
            }
        }
    }
}
