use super::ledger::{Event, Ledger, Release, Released};
use super::*;
use proptest::prelude::*;

fn made(address: u64, bytes: u64, (start, end): (u64, u64)) -> Event {
    made_as(AllocationKind::Device, address, bytes, (start, end))
}

fn made_as(kind: AllocationKind, address: u64, bytes: u64, (start, end): (u64, u64)) -> Event {
    Event::Made(Allocation {
        made_ns: end,
        row: start as u32,
        ..Allocation::lived(kind, (address, bytes), start, None)
    })
}

fn mapped(address: u64, bytes: u64, handle: u64, at: u64) -> Event {
    let Event::Made(made) = made_as(AllocationKind::Mapped, address, bytes, (at, at)) else { unreachable!() };
    Event::Made(Allocation { owner: handle, ..made })
}

fn released(address: u64, (called_ns, until_ns): (u64, u64)) -> Event {
    Event::Released(Release { what: Released::At(address), called_ns, until_ns, by: (TrackId(0), 7) })
}

fn gone(what: Released, at: u64) -> Event {
    Event::Released(Release { what, called_ns: at, until_ns: at, by: (TrackId(0), 7) })
}

/// All allocations, in the order in which they were made.
fn list_of(mut events: Vec<Event>) -> Vec<Allocation> {
    events.sort_by_key(Event::moment);
    let mut ledger = Ledger::default();
    events.iter().for_each(|event| ledger.take(event));
    ledger.all().to_vec()
}

fn of_events(events: Vec<Event>) -> Allocations {
    Allocations::of_list(list_of(events))
}

#[test]
fn an_address_that_comes_again_is_another_allocation() {
    let all = of_events(vec![
        made(0x1000, 0x800, (10, 11)),
        released(0x1000, (20, 25)),
        made(0x1000, 0x100, (30, 31)),
        made(0x1400, 0x100, (32, 33)),
        released(0x1000, (40, 41)),
    ]);
    let at = |address, ns| all.find(address, ns).map(|index| all.all()[index].from_ns);
    assert_eq!((at(0x1000, 9), at(0x1000, 10), at(0x17ff, 19)), (None, Some(10), Some(10)));
    assert_eq!((at(0x1800, 19), at(0x1000, 24), at(0x1000, 26)), (None, Some(10), None));
    assert_eq!((at(0x10ff, 35), at(0x1100, 35), at(0x1410, 35)), (Some(30), None, Some(32)));
    assert_eq!((at(0x1000, 50), at(0x1410, u64::MAX)), (None, Some(32)));
}

#[test]
fn what_is_being_asked_for_is_not_there_before_what_is_being_released_has_gone() {
    // The second is asked for while the first is still there, and gets its address.
    let all = of_events(vec![made(0x1000, 0x100, (10, 11)), made(0x1000, 0x100, (15, 30)), released(0x1000, (20, 25))]);
    let at = |ns| all.find(0x1000, ns).map(|index| all.all()[index].from_ns);
    assert_eq!(
        (at(14), at(16), at(22), at(25), at(26), at(31)),
        (Some(10), Some(10), Some(10), Some(10), Some(15), Some(15))
    );
    let made = |from, row| all.made(0x1000, from, (TrackId(0), row)).map(|index| all.all()[index].from_ns);
    assert_eq!((made(15, 15), made(15, 16), made(10, 10), made(11, 11)), (Some(15), None, Some(10), None));
}

#[test]
fn what_was_released_unseen_ends_where_something_else_begins() {
    let all = of_events(vec![
        made(0x1000, 0x1000, (10, 11)),
        made(0x1800, 0x1000, (20, 21)),
        made(u64::MAX - 5, 100, (30, 31)),
    ]);
    assert_eq!(all.all().iter().map(|one| one.until_ns).collect::<Vec<_>>(), [20, u64::MAX, u64::MAX]);
    assert_eq!(all.find(u64::MAX - 1, 40), Some(2));
    assert_eq!(Allocations::default().find(0, 0), None);
    assert_eq!(of_events(Vec::new()).find(7, 7), None);
}

proptest! {
    /// Against a walk over all of them.
    #[test]
    fn the_same_is_found_as_by_looking_at_each(
        steps in prop::collection::vec((0u64..40, 1u64..12, any::<bool>()), 0..120),
        asked in prop::collection::vec((0u64..60, 0u64..1300), 0..60),
    ) {
        let mut events = Vec::new();
        // Start, bytes, from, until.
        let mut twin: Vec<(u64, u64, u64, u64)> = Vec::new();
        for (index, &(address, bytes, make)) in steps.iter().enumerate() {
            let now = 10 * (index as u64 + 1);
            // Zero is no address.
            let address = address + 1;
            if make {
                events.push(made(address, bytes, (now, now + 2)));
                for old in &mut twin {
                    if old.3 == u64::MAX && old.0 < address + bytes && address < old.0 + old.1 {
                        old.3 = now;
                    }
                }
                twin.push((address, bytes, now, u64::MAX));
            } else {
                events.push(released(address, (now, now + 5)));
                for old in &mut twin {
                    if old.3 == u64::MAX && old.0 == address {
                        old.3 = now + 5;
                    }
                }
            }
        }
        let all = of_events(events);
        prop_assert_eq!(all.all().len(), twin.len());
        for (address, at) in asked {
            let holds = |one: &&(u64, u64, u64, u64)| {
                one.0 <= address && address < one.0 + one.1 && one.2 <= at && at <= one.3
            };
            let newest = |one: &&(u64, u64, u64, u64)| (one.2 + 2 <= at, one.2);
            let expected = twin.iter().filter(holds).max_by_key(newest).map(|one| one.2);
            let found = all.find(address, at);
            prop_assert_eq!(found.map(|index| all.all()[index].from_ns), expected);
            // What an answer is said to hold for.
            let Some(holding) = all.find_simple(address, at) else { continue };
            prop_assert_eq!(holding.index, found);
            let (addresses, moments) = (holding.addresses, holding.moments);
            prop_assert!(addresses.0 <= address && address < addresses.1 && moments.0 <= at && at <= moments.1);
            for at in (moments.0..=moments.1.min(moments.0 + 300)).chain([moments.1]) {
                for address in (addresses.0..addresses.1.min(addresses.0 + 20)).chain([addresses.1 - 1]) {
                    prop_assert_eq!(all.find(address, at), found, "{:?} {} {}", holding, address, at);
                }
            }
        }
    }

    /// Against a list in which everything is looked for, and in which how often memory is held is counted anew each time.
    #[test]
    fn what_lives_is_what_a_plain_list_says(
        steps in prop::collection::vec((0u8..10, 1u64..6, 1u64..4, 0u8..2), 0..80),
    ) {
        let mut events = Vec::new();
        let mut twin: Vec<Twin> = Vec::new();
        for (index, &(what, place, bytes, device)) in steps.iter().enumerate() {
            let now = 10 * (index as u64 + 1);
            events.push(step(what, place, bytes, device, now));
            twin_step(&mut twin, what, place, bytes, device, now);
        }
        let mut found: Vec<(u64, u64, u64)> =
            list_of(events).iter().map(|one| (one.made_ns, one.bytes, one.freed_ns)).collect();
        found.sort_unstable();
        let expected: Vec<(u64, u64, u64)> = twin.iter().map(|one| (one.made, one.bytes, one.gone)).collect();
        prop_assert_eq!(found, expected);
    }
}

/// One of the steps of the test above. Addresses are 1 to 8, handles 1 to 5.
fn step(what: u8, place: u64, bytes: u64, device: u8, now: u64) -> Event {
    let on_device = |event| match event {
        Event::Made(made) => Event::Made(Allocation { device, ..made }),
        other => other,
    };
    match what {
        0 => on_device(made(place, bytes, (now, now))),
        1 => gone(Released::At(place), now),
        2 => on_device(made_as(AllocationKind::Physical, place, bytes, (now, now))),
        3 => on_device(mapped(place, bytes, bytes, now)),
        4 => gone(Released::Range(place, bytes), now),
        5 => gone(Released::Physical(place), now),
        6 => Event::Held { handle: bytes, address: place, at_ns: now, by: (TrackId(0), 7) },
        7 => on_device(made_as(AllocationKind::Array, place, 0, (now, now))),
        8 => gone(Released::Array(place), now),
        _ => gone(Released::Device(device), now),
    }
}

#[derive(Clone, PartialEq)]
struct Twin {
    kind: AllocationKind,
    place: u64,
    bytes: u64,
    device: u8,
    /// Of a mapping: index of what is behind it.
    behind: Option<usize>,
    /// Of physical memory: the handles that hold it, each as often as it does.
    holds: Vec<u64>,
    made: u64,
    gone: u64,
}

fn twin_step(list: &mut Vec<Twin>, what: u8, place: u64, bytes: u64, device: u8, now: u64) {
    use AllocationKind::{Array, Device, Mapped, Physical};
    let lives = |one: &Twin| one.gone == u64::MAX;
    let physical = |list: &[Twin], handle| {
        list.iter().position(|one| one.kind == Physical && one.holds.contains(&handle) && one.gone == u64::MAX)
    };
    let made = Twin { kind: Device, place, bytes, device, behind: None, holds: Vec::new(), made: now, gone: u64::MAX };
    let with_address = |one: &Twin| matches!(one.kind, Device | Mapped);
    match what {
        0 | 3 => {
            for one in list.iter_mut().filter(|one| lives(one) && with_address(one)) {
                if one.place < place + bytes && place < one.place + one.bytes {
                    one.gone = now;
                }
            }
            if what == 0 {
                list.push(made);
            } else {
                // Before the new mapping holds it, what it replaces has let go.
                settle(list, now);
                let behind = physical(list, bytes);
                list.push(Twin { kind: Mapped, behind, ..made });
            }
        }
        1 | 4 => {
            let end = if what == 1 { place + 1 } else { place + bytes };
            for one in list.iter_mut().filter(|one| lives(one) && with_address(one)) {
                if (place..end).contains(&one.place) {
                    one.gone = now;
                }
            }
        }
        2 => {
            if let Some(old) = physical(list, place) {
                list[old].holds.retain(|&handle| handle != place);
                settle(list, now);
            }
            list.push(Twin { kind: Physical, holds: vec![place], ..made });
        }
        5 => {
            if let Some(index) = physical(list, place) {
                let at = list[index].holds.iter().position(|&handle| handle == place).unwrap();
                list[index].holds.remove(at);
            }
        }
        6 => {
            let holds = |one: &&Twin| lives(one) && one.place <= place && place < one.place + one.bytes;
            let mapping = list.iter().find(|one| with_address(one) && holds(one));
            let mapped = mapping.and_then(|one| one.behind).filter(|&index| lives(&list[index]));
            if let Some(index) = physical(list, bytes).or(mapped) {
                list[index].holds.push(bytes);
            }
        }
        7 => {
            for one in list.iter_mut().filter(|one| lives(one) && one.kind == Array && one.place == place) {
                one.gone = now;
            }
            list.push(Twin { kind: Array, bytes: 0, ..made });
        }
        8 => {
            for one in list.iter_mut().filter(|one| lives(one) && one.kind == Array && one.place == place) {
                one.gone = now;
            }
        }
        _ => {
            for one in list.iter_mut().filter(|one| lives(one) && one.device == device) {
                one.gone = now;
            }
        }
    }
    settle(list, now);
}

/// Physical memory that nobody holds goes.
fn settle(list: &mut [Twin], now: u64) {
    for index in 0..list.len() {
        let one = &list[index];
        let maps = list.iter().filter(|map| map.gone == u64::MAX && map.behind == Some(index)).count();
        if one.kind == AllocationKind::Physical && one.gone == u64::MAX && one.holds.is_empty() && maps == 0 {
            list[index].gone = now;
        }
    }
}

#[test]
fn physical_memory_stays_as_long_as_it_is_mapped() {
    let list = list_of(vec![
        made_as(AllocationKind::Physical, 5, 0x2000, (1, 2)),
        mapped(0x10_0000, 0x2000, 5, 3),
        mapped(0x20_0000, 0x2000, 5, 4),
        gone(Released::Physical(5), 5),
        gone(Released::Range(0x10_0000, 0x2000), 6),
        gone(Released::Range(0x20_0000, 0x2000), 7),
        // The handle comes again.
        made_as(AllocationKind::Physical, 5, 0x4000, (8, 9)),
    ]);
    let ends: Vec<u64> = list.iter().map(|one| one.freed_ns).collect();
    assert_eq!(ends, [7, 6, 7, u64::MAX]);
}

#[test]
fn memory_of_another_process_that_is_opened_twice_is_closed_twice() {
    let open = |at| made_as(AllocationKind::Shared, 0x1000, 0, (at, at));
    let all = of_events(vec![open(1), open(2), released(0x1000, (3, 3)), released(0x1000, (5, 6))]);
    assert_eq!(all.all().iter().map(|one| (one.made_ns, one.freed_ns, one.size())).collect::<Vec<_>>(), [(1, 5, None)]);
    assert_eq!((all.find(0x1000, 4), all.find(0x1001, 4)), (Some(0), None));
}

#[test]
fn variables_survive_a_reset_and_are_one_however_often_they_are_asked_for() {
    let variable = |address, at| made_as(AllocationKind::Static, address, 64, (at, at));
    let all = of_events(vec![
        variable(0, 1),
        variable(0, 1),
        variable(0x1000, 2),
        variable(0x1000, 3),
        made(0x9000, 8, (4, 4)),
        gone(Released::Device(0), 5),
    ]);
    let of = |kind| all.all().iter().filter(|one| one.kind == kind).map(|one| one.freed_ns).collect::<Vec<_>>();
    assert_eq!(of(AllocationKind::Static), [u64::MAX; 3]);
    assert_eq!(of(AllocationKind::Device), [5]);
    assert_eq!(all.all()[1].end, End::Unseen);
}

#[test]
fn generations_are_counted_at_each_address() {
    let all = of_events(vec![
        made(0x1000, 8, (1, 1)),
        released(0x1000, (2, 2)),
        made(0x1000, 8, (3, 3)),
        made(0x2000, 8, (4, 4)),
        made_as(AllocationKind::Array, 0x1000, 0, (5, 5)),
    ]);
    assert_eq!((0..4).map(|index| all.generation(index)).collect::<Vec<_>>(), [0, 1, 0, 0]);
}
