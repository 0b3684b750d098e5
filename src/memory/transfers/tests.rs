use super::*;
use crate::trace::LaneOf;
use proptest::prelude::*;
use std::collections::BTreeMap;

const P: ProcessId = ProcessId(0);

fn traced(rows: &[Activity]) -> Trace {
    let mut trace = Trace::default();
    for (place, row) in (0..).zip(rows) {
        let of = match row.kind {
            ActivityKind::Unified => LaneOf::Unified,
            _ => LaneOf::Stream { context: 1, stream: u32::from(row.device) },
        };
        trace.activities.push(P, of, row, place);
    }
    trace
}

fn copy(kind: u8, device: u8, ends: [u8; 2], start_ns: u64, value: u64) -> Activity {
    let kind_of = ActivityKind::Copy;
    Activity { kind: kind_of, detail: kind, device, ends, start_ns, duration_ns: 10, value, ..Activity::default() }
}

fn moved(counter: u16, device: u8, ends: [u8; 2], start_ns: u64, value: u64) -> Activity {
    let kind = ActivityKind::Unified;
    let detail = counter as u8 | 2 << 4;
    Activity { kind, detail, device, ends, start_ns, duration_ns: 10, value, ..Activity::default() }
}

const NONE: [u8; 2] = [NO_DEVICE; 2];

#[test]
fn each_pair_of_ends_has_its_copies_and_migrations() {
    let rows = [
        copy(Activity::copy_detail(1, true, false), 0, NONE, 10, 100),
        copy(1, 1, NONE, 20, 200),
        copy(2, 1, NONE, 30, 50),
        copy(Activity::copy_detail(1, false, true), 0, NONE, 40, 7),
        copy(8, 0, NONE, 50, 1000),
        copy(10, 0, [0, 1], 60, 300),
        copy(10, 0, [0, NO_DEVICE], 70, 9),
        moved(wire::UNIFIED_TO_DEVICE, 0, NONE, 80, 4096),
        moved(wire::UNIFIED_BETWEEN_DEVICES, 1, [0, 1], 90, 8192),
        moved(wire::UNIFIED_TO_HOST, 1, NONE, 95, 4096),
        moved(wire::UNIFIED_REMOTE_MAP, 1, [NO_DEVICE, 1], 96, 65_536),
        moved(wire::UNIFIED_CPU_FAULT, NO_DEVICE, NONE, 97, 5),
        copy(99, 0, NONE, 98, 5),
    ];
    let transfers = Transfers::of(&traced(&rows), &[], &|_, _| true);
    let flows: BTreeMap<_, _> = transfers
        .flows()
        .iter()
        .map(|flow| ((flow.from, flow.to), (flow.copies.bytes, flow.migrations.bytes, flow.mapped.bytes)))
        .collect();
    use Side::{Device, Managed, Pageable, Pinned, Unknown};
    let expected = [
        ((Pageable, Device(0)), (100, 0, 0)),
        ((Pinned, Device(1)), (200, 0, 0)),
        ((Device(1), Pinned), (50, 0, 0)),
        ((Managed, Device(0)), (7, 4096, 0)),
        ((Device(0), Device(0)), (1000, 0, 0)),
        ((Device(0), Device(1)), (300, 8192, 0)),
        ((Device(0), Unknown), (9, 0, 0)),
        ((Device(1), Managed), (0, 4096, 0)),
        ((Managed, Device(1)), (0, 0, 65_536)),
    ];
    assert_eq!(flows, BTreeMap::from(expected));
    let between = transfers.flows().into_iter().find(Flow::is_between_devices).unwrap();
    // No call allowed it, and none of which the arguments are missing.
    assert_eq!((between.with_access.count, between.without_access.bytes), (0, 300));
    let links: Vec<_> = transfers.links().iter().map(|&(from, to, usage)| (from, to, usage.bytes())).collect();
    use LinkEnd::{Device as D, Host, Unknown as U};
    let to_host = (D(1), Host, 4146);
    assert_eq!(links, [(Host, D(0), 4203), (Host, D(1), 200), (D(0), D(1), 8492), (D(0), U, 9), to_host]);
}

#[test]
fn bandwidth_is_of_what_was_timed() {
    let mut rows = [copy(1, 0, NONE, 10, 1000), copy(1, 0, NONE, 10, 5000)];
    rows[1].timed = false;
    let flows = Transfers::of(&traced(&rows), &[], &|_, _| true).flows();
    assert_eq!((flows[0].copies.bytes, flows[0].copies.bandwidth()), (6000, Some(100_000_000_000)));
    assert_eq!(Moved::default().bandwidth(), None);
    let most = Moved { count: 1, bytes: u64::MAX, time_ns: 1, timed_bytes: u64::MAX };
    assert_eq!(most.bandwidth(), Some(u64::MAX));
}

fn row() -> impl Strategy<Value = Activity> {
    let kind = prop_oneof![(0u8..12).prop_map(|kind| (false, kind)), (0u8..9).prop_map(|counter| (true, counter))];
    let device = || prop_oneof![4 => 0u8..3, 1 => Just(NO_DEVICE)];
    (kind, any::<[bool; 3]>(), device(), device(), device(), 0u64..1000, 0u64..50, 0u64..10_000).prop_map(
        |((unified, what), [pageable, managed, timed], device, from, to, start_ns, duration_ns, value)| Activity {
            kind: if unified { ActivityKind::Unified } else { ActivityKind::Copy },
            detail: if unified { what | 3 << 4 } else { Activity::copy_detail(what, pageable, managed) },
            device,
            ends: [from, to],
            start_ns,
            duration_ns,
            value,
            timed,
            ..Activity::default()
        },
    )
}

/// The ends of a row, said once more.
fn twin_ends(row: &Activity) -> Option<(u8, u8, &'static str)> {
    // 0 pageable, 1 pinned, 2 managed, 10 + n a device, 99 an unknown one.
    let device = |ordinal: u8| if ordinal == NO_DEVICE { 99 } else { 10 + ordinal };
    let place = |ordinal: u8| if ordinal == NO_DEVICE { 2 } else { 10 + ordinal };
    let own = device(row.device);
    if row.kind == ActivityKind::Unified {
        return Some(match row.detail & 15 {
            1 => (2, own, "migrated"),
            2 => (own, 2, "migrated"),
            7 => (place(row.ends[0]), place(row.ends[1]), "mapped"),
            8 => (device(row.ends[0]), if row.ends[1] == NO_DEVICE { own } else { device(row.ends[1]) }, "migrated"),
            _ => return None,
        });
    }
    let host = if row.detail & 128 != 0 {
        0
    } else if row.detail & 64 != 0 {
        2
    } else {
        1
    };
    Some(match row.detail & 63 {
        1 | 3 => (host, own, "copied"),
        2 | 4 => (own, host, "copied"),
        5..=8 => (own, own, "copied"),
        9 => (host, host, "copied"),
        10 => (device(row.ends[0]), device(row.ends[1]), "copied"),
        _ => return None,
    })
}

proptest! {
    #[test]
    fn sums_are_those_of_a_look_at_each_row(
        rows in prop::collection::vec(row(), 0..80),
        wanted in prop::collection::vec(any::<bool>(), 80),
        step in 1usize..20,
    ) {
        let trace = traced(&rows);
        // Lanes number their rows for themselves: a row is known by its place.
        let want = |id: LaneId, row: usize| {
            let place = trace.activities.lane(id).and_then(|lane| lane.place(row)).unwrap();
            wanted[place as usize]
        };
        let mut transfers = Transfers::begin(&trace, &[]);
        while !transfers.advance(&trace, step, &want) {}
        let number = |side: Side| match side {
            Side::Pageable => 0,
            Side::Pinned => 1,
            Side::Managed => 2,
            Side::Device(index) => 10 + transfers.devices().all()[usize::from(index)].number as u8,
            Side::Unknown => 99,
        };
        let mut twin: BTreeMap<(u8, u8, &str), (u64, u64, u64)> = BTreeMap::new();
        let mut over_links = 0;
        for (row, _) in rows.iter().zip(&wanted).filter(|(_, wanted)| **wanted) {
            let Some((from, to, what)) = twin_ends(row) else { continue };
            let sum = twin.entry((from, to, what)).or_default();
            *sum = (sum.0 + 1, sum.1 + row.value, sum.2 + if row.timed { row.duration_ns } else { 0 });
            let end = |side: u8| side.max(2);
            if what != "mapped" && row.timed && end(from) != end(to) {
                over_links += row.value;
            }
        }
        let mut seen = BTreeMap::new();
        for flow in transfers.flows() {
            for (what, sums) in [("copied", flow.copies), ("migrated", flow.migrations), ("mapped", flow.mapped)] {
                if sums.count > 0 {
                    seen.insert((number(flow.from), number(flow.to), what), (sums.count, sums.bytes, sums.time_ns));
                }
            }
        }
        prop_assert_eq!(seen, twin);
        prop_assert_eq!(transfers.links().iter().map(|link| link.2.bytes()).sum::<u64>(), over_links);
    }
}
