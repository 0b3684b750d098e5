use super::*;
use proptest::prelude::*;

fn from_pool(owner: u64, bytes: u64, device: u8, made_ns: u64, freed_ns: Option<u64>) -> Allocation {
    Allocation {
        owner,
        device,
        ..Allocation::lived(AllocationKind::Pool, (0x1000 * made_ns, bytes), made_ns, freed_ns)
    }
}

fn told(at_ns: u64, what: What) -> Told {
    Told { at_ns, site: SiteId(9), what }
}

fn made(handle: u64, device: u8) -> What {
    What::Made { handle, device, managed: false, imported: false }
}

fn of(steps: Vec<Told>, allocations: &[Allocation]) -> Pools {
    Pools::of_told(steps, allocations, |one| one.device)
}

#[test]
fn without_any_call_about_pools_memory_is_from_the_devices_own() {
    let list = [from_pool(0, 100, 0, 1, Some(5)), from_pool(0, 50, 1, 2, None), from_pool(0, 30, 0, 3, None)];
    let pools = of(Vec::new(), &list);
    let rows: Vec<_> =
        pools.all().iter().map(|one| (one.device, one.count, one.used_bytes, one.peak_bytes, one.peak_ns)).collect();
    assert_eq!(rows, [(0, 2, 30, 130, 3), (1, 1, 50, 50, 2)]);
    assert!(pools.all().iter().all(|one| one.origin == PoolOrigin::Default && one.handle.is_none()));
    assert!(pools.all().iter().all(|one| one.release_threshold.is_none() && one.held.is_empty()));
    assert_eq!((pools.pool_of(0), pools.pool_of(1), pools.pool_of(7)), (Some(0), Some(1), None));
}

#[test]
fn a_handle_that_comes_again_is_another_pool_and_a_device_whose_pool_goes_has_its_own() {
    let set = |at| told(at, What::Set { device: 0, handle: 7 });
    let steps = vec![
        told(10, made(7, 0)),
        set(11),
        told(20, What::Destroyed { handle: 7 }),
        told(30, made(7, 1)),
        told(40, What::Default { device: 0, managed: false, handle: 3 }),
    ];
    let list = [from_pool(0, 1, 0, 15, None), from_pool(0, 2, 0, 25, None), from_pool(7, 4, 1, 35, None)];
    let pools = of(steps, &list);
    let rows: Vec<_> = pools.all().iter().map(|one| (one.handle, one.origin, one.device, one.bytes)).collect();
    let created = PoolOrigin::Created;
    assert_eq!(rows, [(Some(3), PoolOrigin::Default, 0, 2), (Some(7), created, 0, 1), (Some(7), created, 1, 4)]);
    assert_eq!((pools.all()[1].made_ns, pools.all()[1].destroyed_ns), (Some(10), Some(20)));
}

#[test]
fn what_nobody_set_is_the_devices_own_and_what_nobody_made_is_unseen() {
    let steps = vec![
        told(10, What::Current { device: 0, handle: 5 }),
        told(20, What::Current { device: 0, handle: 6 }),
        told(30, What::Attribute { handle: 9, attribute: RELEASE, bytes: u64::MAX }),
    ];
    let pools = of(steps, &[from_pool(0, 8, 0, 1, None), from_pool(0, 16, 0, 25, None)]);
    let rows: Vec<_> = pools.all().iter().map(|one| (one.handle, one.origin, one.used_bytes)).collect();
    let unseen = PoolOrigin::Unseen;
    assert_eq!(rows, [(Some(5), PoolOrigin::Default, 8), (Some(6), unseen, 16), (Some(9), unseen, 0)]);
    assert_eq!(pools.all()[2].release_threshold, Some(Figure { bytes: u64::MAX, at_ns: 30 }));
    assert_eq!((pools.all()[1].device, pools.all()[2].device), (0, NO_DEVICE));
}

const RELEASE: u32 = tell::RELEASE_THRESHOLD;

#[test]
fn what_is_held_is_set_against_what_was_used_at_that_moment() {
    let get = |at, attribute, bytes| told(at, What::Attribute { handle: 5, attribute, bytes });
    let steps = vec![
        told(0, What::Default { device: 0, managed: false, handle: 5 }),
        get(2, tell::RESERVED, 64),
        get(3, tell::USED, 16),
        // A release lies between.
        get(11, tell::RESERVED, 64),
        told(12, What::Trim { handle: 5, keep: 0 }),
        // Too late for what it held then, but in time for what it holds now.
        get(13, tell::USED, 0),
        get(14, tell::RESERVED, 0),
        get(15, tell::USED_HIGH, 17),
        get(15, tell::RESERVED_HIGH, 65),
    ];
    let pools = of(steps, &[from_pool(0, 10, 0, 1, Some(10))]);
    let pool = &pools.all()[0];
    let held: Vec<_> =
        pool.held.iter().map(|one| (one.reserved, one.used, one.used_is_told, one.unused_ppm())).collect();
    assert_eq!(held, [(64, 16, true, Some(750_000)), (64, 0, false, Some(1_000_000)), (0, 0, true, None)]);
    assert_eq!((pool.trims, pool.last_trim), (1, Some(Figure { bytes: 0, at_ns: 12 })));
    assert_eq!(pool.used_high.map(|one| one.bytes), Some(17));
    assert_eq!(pool.reserved_high.map(|one| one.bytes), Some(65));
}

proptest! {
    /// Against looking back from each allocation for what was set before it.
    #[test]
    fn each_is_from_the_pool_that_was_set_last(
        steps in prop::collection::vec((0u8..5, 1u64..4, 0u8..2, 1u64..100), 0..80),
    ) {
        let (mut calls, mut list) = (Vec::new(), Vec::new());
        for (index, &(what, handle, device, bytes)) in steps.iter().enumerate() {
            let now = 10 * (index as u64 + 1);
            match what {
                0 => calls.push(told(now, made(handle, device))),
                1 => calls.push(told(now, What::Destroyed { handle })),
                2 => calls.push(told(now, What::Set { device, handle })),
                3 => list.push(from_pool(0, bytes, device, now, (bytes % 3 == 0).then_some(now + 35))),
                _ => list.push(from_pool(handle, bytes, device, now, None)),
            }
        }
        let pools = of(calls.clone(), &list);
        for (index, one) in list.iter().enumerate() {
            let found = &pools.all()[pools.pool_of(index).unwrap()];
            // The last call about what allocations of the device are from.
            let mut handle = one.owner;
            if handle == 0 {
                let before = calls.iter().enumerate().take_while(|(_, call)| call.at_ns < one.made_ns);
                let set = before.filter_map(|(at, call)| match call.what {
                    What::Set { device, handle } if device == one.device => Some((at, handle)),
                    _ => None,
                }).last();
                if let Some((at, set)) = set {
                    let since = || calls[at..].iter().take_while(|call| call.at_ns < one.made_ns);
                    // A pool that took the handle meanwhile is another one, and the old one is still the device's.
                    if since().any(|call| matches!(call.what, What::Made { handle, .. } if handle == set)) {
                        continue;
                    }
                    let gone = since().any(|call| call.what == What::Destroyed { handle: set });
                    handle = if gone { 0 } else { set };
                }
            }
            prop_assert_eq!(found.handle.unwrap_or(0), handle);
            prop_assert_eq!(found.origin == PoolOrigin::Default, handle == 0);
        }
        let live = |one: &&Allocation| !one.has_ended();
        let used: u64 = list.iter().filter(live).map(|one| one.bytes).sum();
        prop_assert_eq!(pools.all().iter().map(|one| one.used_bytes).sum::<u64>(), used);
        prop_assert_eq!(pools.all().iter().map(|one| one.count).sum::<u64>(), list.len() as u64);
    }
}
