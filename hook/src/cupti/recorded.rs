//! Records of real libcuptis, versions 11.8 to 13.5, taken apart: see tests/data/README.md and tests/gpu/capture.cu.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking"
)]

use super::*;
use umtui_wire::activity::UNIFIED_CPU_FAULT;
use umtui_wire::activity::UNIFIED_TO_DEVICE;

/// Version, and the file.
const FILES: [(u32, &[u8]); 4] = [
    (18, include_bytes!("../../../tests/data/cupti/libcupti-11.8.bin")),
    (28, include_bytes!("../../../tests/data/cupti/libcupti-12.9.bin")),
    (130_001, include_bytes!("../../../tests/data/cupti/libcupti-13.0.bin")),
    (130_500, include_bytes!("../../../tests/data/cupti/libcupti-13.5.bin")),
];

/// Bytes of the program's buffers.
const BYTES: u64 = 8 << 20;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The records of a file, each with its kernel's name.
fn records(file: &[u8]) -> Vec<(&[u8], &[u8])> {
    assert_eq!(&file[..8], b"UMCUPTI1");
    let (mut rest, mut records) = (&file[12..], Vec::new());
    while !rest.is_empty() {
        let (length, name) = (u32_at(rest, 0) as usize, u32_at(rest, 4) as usize);
        let (record, after) = rest[8..].split_at(length);
        let (name, after) = after.split_at(name);
        records.push((record, name));
        rest = after;
    }
    records
}

/// What the records of a file say, in their order.
fn decoded(file: &[u8]) -> Vec<Decoded> {
    records(file).iter().map(|(bytes, _)| decode(bytes).unwrap_or_else(|| panic!("{bytes:?}"))).collect()
}

/// Calls `each` for every version with what its records say.
fn in_all_versions(mut each: impl FnMut(u32, &[Decoded])) {
    for (version, file) in FILES {
        assert_eq!(u32_at(file, 8), version);
        each(version, &decoded(file));
    }
}

macro_rules! only {
    ($records:expr, $kind:ident) => {
        $records.iter().filter_map(|record| match record {
            Decoded::$kind(record) => Some(*record),
            _ => None,
        })
    };
}

fn kernels(records: &[Decoded]) -> Vec<Kernel> {
    let kernel = |record: &Decoded| if let Decoded::Kernel(kernel, _) = record { Some(*kernel) } else { None };
    records.iter().filter_map(kernel).collect()
}

fn correlation(head: u64) -> u32 {
    Head::from_word(head).b
}

#[test]
fn there_are_as_many_of_each_kind_as_the_program_made() {
    in_all_versions(|version, records| {
        assert_eq!(kernels(records).len(), 4, "{version}");
        assert_eq!(only!(records, Copied).count(), 5, "{version}");
        assert_eq!(only!(records, Set).count(), 4, "{version}");
        assert_eq!(only!(records, Event).count(), 1, "{version}");
        // No more than 60 were kept.
        assert_eq!(only!(records, Unified).count(), 60, "{version}");
        // The two older ones tell nothing of cudaDeviceSynchronize.
        assert_eq!(only!(records, Wait).count(), if version < 100_000 { 4 } else { 5 }, "{version}");
        let allocated = records.iter().filter(|record| matches!(record, Decoded::Memory(..))).count();
        assert_eq!(allocated, 3, "{version}");
        assert!(only!(records, Overhead).count() >= 8, "{version}");
    });
    for (version, file) in FILES {
        let named = records(file).into_iter().filter(|(_, name)| !name.is_empty());
        let names: Vec<&[u8]> = named.map(|(_, name)| name).collect();
        assert_eq!(names, [b"_Z9write_allPfm"; 4], "{version}");
    }
}

#[test]
fn kernels_have_the_shape_they_were_launched_with() {
    in_all_versions(|version, records| {
        let kernels = kernels(records);
        let shapes: Vec<_> =
            kernels.iter().map(|kernel| (kernel.grid, kernel.block, kernel.dynamic_shared, kernel.registers)).collect();
        let [large, in_graph] = [([64, 1, 1], [256, 1, 1]), ([8, 1, 1], [128, 1, 1])];
        assert_eq!(
            shapes,
            [
                (large.0, large.1, 0, 16),
                (large.0, large.1, 1024, 16),
                (in_graph.0, in_graph.1, 0, 16),
                (in_graph.0, in_graph.1, 0, 16)
            ],
            "{version}"
        );
        let nodes: Vec<_> = kernels.iter().map(|kernel| (kernel.graph, kernel.node)).collect();
        assert_eq!(nodes, [(0, 0), (0, 0), (2, 2 << 32), (2, 2 << 32)], "{version}");
        for kernel in &kernels {
            assert_eq!(Head::from_word(kernel.head), Head { b: correlation(kernel.head), ..of(KIND_KERNEL, 1, 0) });
            assert_eq!((kernel.context, kernel.launch, kernel.static_shared, kernel.local), (1, 0, 0, 0));
        }
        let streams: Vec<u32> = kernels.iter().map(|kernel| kernel.stream).collect();
        assert_eq!(streams, [13, 7, 13, 13], "{version}: the program's, the default one, the program's");
    });
}

/// A head with these extra slots and device.
fn of(kind: u8, extra: u8, device: u16) -> Head {
    Head { kind, extra, a: device, b: 0 }
}

#[test]
fn copies_and_sets_have_their_bytes_and_values() {
    in_all_versions(|version, records| {
        let copies: Vec<Copied> = only!(records, Copied).collect();
        let said: Vec<_> = copies.iter().map(|copy| (copy.bytes, copy.kind, copy.from, copy.to, copy.flags)).collect();
        let in_graph = (4096, 2, 3, 2, 1);
        assert_eq!(
            said,
            [(BYTES, 1, 1, 3, 0), (BYTES, 2, 3, 2, 1), (BYTES / 2, 8, 3, 3, 1), in_graph, in_graph],
            "{version}"
        );
        let nodes: Vec<_> = copies.iter().map(|copy| (copy.graph, copy.node)).collect();
        let second = (2, (2 << 32) + 1);
        assert_eq!(nodes, [(0, 0), (0, 0), (0, 0), second, second], "{version}");
        let extra = |head: u64| Head::from_word(head).extra;
        assert_eq!(copies.iter().map(|copy| extra(copy.head)).collect::<Vec<_>>(), [0, 0, 0, 1, 1], "{version}");
        assert!(copies.iter().all(|copy| (copy.from_device, copy.to_device) == (u16::MAX, u16::MAX)));

        let sets: Vec<Set> = only!(records, Set).collect();
        // Of a graph's node no version tells the value, and the newest does not say that it is asynchronous.
        let flags = u8::from(version < 130_500);
        let said: Vec<_> = sets.iter().map(|set| (set.bytes, set.value, set.memory, set.flags)).collect();
        assert_eq!(said, [(BYTES, 7, 3, 0), (1024, 0, 3, 1), (4096, 0, 3, flags), (4096, 0, 3, flags)], "{version}");
        let nodes: Vec<_> = sets.iter().map(|set| (set.graph, set.node)).collect();
        assert_eq!(nodes, [(0, 0), (0, 0), (2, (2 << 32) + 2), (2, (2 << 32) + 2)], "{version}");
    });
}

#[test]
fn work_has_the_id_of_the_call_that_submitted_it() {
    in_all_versions(|version, records| {
        let ids = |heads: Vec<u64>| heads.into_iter().map(correlation).collect::<Vec<_>>();
        let found = [
            ids(kernels(records).iter().map(|kernel| kernel.head).collect()),
            ids(only!(records, Copied).map(|copy| copy.head).collect()),
            ids(only!(records, Set).map(|set| set.head).collect()),
        ];
        if version == 18 {
            // Made for older drivers: all have the same.
            assert!(found.iter().flatten().all(|&id| id == 568), "{found:?}");
        } else {
            let [kernels, copies, sets] = found;
            assert_eq!(kernels, [568, 574, 589, 590], "{version}");
            assert_eq!(copies, [576, 577, 578, 589, 590], "{version}");
            assert_eq!(sets, [579, 580, 589, 590], "{version}");
        }
    });
}

#[test]
fn migrations_lie_in_the_managed_allocation_and_do_not_overlap() {
    in_all_versions(|version, records| {
        let Some(Decoded::Memory(managed, 0)) = records.iter().find(|record| matches!(record, Decoded::Memory(..)))
        else {
            panic!("{version}: no allocation")
        };
        assert_eq!((managed.bytes, managed.kind, managed.operation, managed.flags), (BYTES, 5, 1, 0), "{version}");
        let of = |which: u16| {
            let kind = move |unified: &Unified| Head::from_word(unified.head).a == which;
            let mut found: Vec<Unified> = only!(records, Unified).filter(kind).collect();
            found.sort_by_key(|unified| unified.address);
            found
        };
        let (moved, faults) = (of(UNIFIED_TO_DEVICE), of(UNIFIED_CPU_FAULT));
        assert_eq!((faults.len(), moved.len()), (25, 35), "{version}: the first sixty");
        // Of the 8 MiB that the first kernel moves in.
        let sum: u64 = moved.iter().map(|moved| moved.value).sum();
        let expected = match version {
            18 => 6_422_528,
            28 => 4_521_984,
            130_001 => 5_308_416,
            _ => 5_246_976,
        };
        assert_eq!(sum, expected, "{version}");
        assert!(moved.windows(2).all(|two| two[0].address + two[0].value <= two[1].address), "{version}");
        let [first_kernel, second_kernel, ..] = kernels(records)[..] else { panic!("{version}") };
        for one in &moved {
            assert!(one.address >= managed.address && one.address + one.value <= managed.address + BYTES);
            assert_eq!((one.address % 4096, one.value % 4096), (0, 0));
            // A fault or a prefetch beside one is the cause.
            assert!(matches!(Head::from_word(one.head).b, 2 | 3), "{version}");
            assert!(one.start < one.end && one.start > first_kernel.start && one.end < second_kernel.start);
            // Only the newest tells the host from device 0.
            assert_eq!((one.from, one.to), (if version < 130_500 { 0 } else { NONE }, 0), "{version}");
        }
        for fault in &faults {
            assert!((managed.address..managed.address + BYTES).contains(&fault.address), "{version}");
            assert_eq!(Head::from_word(fault.head), Head { a: UNIFIED_CPU_FAULT, b: 2, ..of_unified() }, "{version}");
            let code = faults[0].value >> 12;
            assert_eq!((fault.end, fault.value >> 12), (0, code), "{version}: instructions of one page");
        }
    });
}

fn of_unified() -> Head {
    of(KIND_UNIFIED, 0, 0)
}

#[test]
fn waits_events_and_overheads_are_told_as_far_as_a_version_tells_them() {
    in_all_versions(|version, records| {
        let waits: Vec<_> =
            only!(records, Wait).map(|wait| (wait.kind, wait.context, wait.stream, wait.event)).collect();
        let (event, stream) = ((1, 1, NONE, 1), (3, 1, 13, NONE));
        let context = (version > 100_000).then_some((4, 1, NONE, NONE));
        let expected: Vec<_> = [event, stream].into_iter().chain(context).chain([stream, stream]).collect();
        assert_eq!(waits, expected, "{version}");
        let [recorded] = only!(records, Event).collect::<Vec<_>>()[..] else { panic!("{version}") };
        assert_eq!((recorded.context, recorded.stream, recorded.event), (1, 13, 1), "{version}");
        assert_eq!(correlation(recorded.head), if version == 18 { 568 } else { 569 });
        // Which recording of the event is waited for is known since 12.
        let waited = only!(records, Wait).next().map(|wait| wait.event_sync);
        let sync = u64::from(version > 18);
        assert_eq!((recorded.event_sync, waited), (sync, Some(sync)), "{version}");
        assert_eq!(recorded.time != 0, version == 28, "only 12.9 has told the time without being asked");
        for overhead in only!(records, Overhead) {
            // The driver's compiler, flushes, instrumentation and so on: the kinds are multiples of this.
            assert!(overhead.kind > 0 && overhead.kind % (1 << 16) == 0, "{version}: {overhead:?}");
            assert!(overhead.start < overhead.end && overhead.object == 2, "{version}: {overhead:?}");
        }
    });
}

#[test]
fn times_are_in_order() {
    in_all_versions(|version, records| {
        let kernels = kernels(records);
        assert!(kernels.windows(2).all(|two| two[0].end <= two[1].start), "{version}");
        let mut copies = only!(records, Copied).collect::<Vec<_>>();
        copies.sort_by_key(|copy| copy.start);
        assert!(copies.windows(2).all(|two| two[0].start < two[0].end && two[0].end <= two[1].start), "{version}");
        assert!(only!(records, Set).all(|set| set.start < set.end && set.start > kernels[1].end), "{version}");
        for wait in only!(records, Wait) {
            // Within the second that it all took.
            assert!(wait.start < wait.end && wait.start.abs_diff(kernels[0].start) < 1_000_000_000, "{version}");
        }
        // The event, and its stream, were waited for until the kernel before it had ended.
        let [event, stream, ..] = only!(records, Wait).collect::<Vec<_>>()[..] else { panic!("{version}") };
        let end = kernels[0].end;
        assert!(event.start < end && event.end + 1_000_000 > end && stream.end > end, "{version}");
    });
}

/// Where each kind's first version ends.
fn least(kind: u32) -> usize {
    match kind {
        MEMCPY | MEMSET | UNIFIED_MEMORY_COUNTER => 64,
        CONCURRENT_KERNEL => 120,
        MEMORY2 => 112,
        CUDA_EVENT => 24,
        MEMCPY2 => 72,
        GRAPH_TRACE => 48,
        _ => 40,
    }
}

#[test]
fn what_a_record_lacks_at_its_end_is_zero() {
    for (version, file) in FILES {
        for (bytes, _) in records(file) {
            let kind = u32_at(bytes, 0);
            for length in 0..bytes.len() {
                let found = decode(&bytes[..length]);
                if length < least(kind) {
                    assert_eq!(found, None, "{version}: {length} bytes of kind {kind}");
                    continue;
                }
                if length % 8 != 0 {
                    // A field that is cut in two is none.
                    continue;
                }
                let mut padded = bytes.to_vec();
                padded[length..].fill(0);
                assert_eq!(found, decode(&padded), "{version}: {length} bytes of kind {kind}");
            }
        }
    }
}

#[test]
fn no_change_of_a_record_does_harm() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    const KINDS: [u32; 13] = [
        MEMCPY,
        MEMSET,
        KERNEL,
        CONCURRENT_KERNEL,
        OVERHEAD,
        MEMCPY2,
        UNIFIED_MEMORY_COUNTER,
        CUDA_EVENT,
        SYNCHRONIZATION,
        MEMORY2,
        GRAPH_TRACE,
        0,
        u32::MAX,
    ];
    let mut whole = 0;
    for (_, file) in FILES {
        for (bytes, _) in records(file) {
            for _ in 0..200 {
                let mut changed = bytes[..bytes.len() - random(bytes.len() + 1)].to_vec();
                for _ in 0..random(8) {
                    let at = random(changed.len().max(1));
                    if let Some(byte) = changed.get_mut(at) {
                        *byte = [0, 1, 0x7f, 0x80, 0xff, random(256) as u8][random(6)];
                    }
                }
                if let (Some(kind), 0) = (changed.get_mut(..4), random(3)) {
                    kind.copy_from_slice(&KINDS[random(KINDS.len())].to_le_bytes());
                }
                let Some(found) = decode(&changed) else { continue };
                // As many words as the head says, whatever the record says.
                let words = found.words();
                let head = Head::from_word(words[0]);
                assert_eq!(words.len(), (usize::from(head.extra) + 1) * 6);
                assert!((KIND_KERNEL..=KIND_MEMORY).contains(&head.kind));
                whole += 1;
            }
        }
    }
    assert!(whole > 10_000, "{whole}");
}

#[test]
fn a_record_of_all_ones_is_one_too() {
    for kind in [MEMCPY, MEMSET, CONCURRENT_KERNEL, MEMCPY2, UNIFIED_MEMORY_COUNTER, GRAPH_TRACE, MEMORY2] {
        let mut bytes = [0xff; 264];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        assert_eq!(decode(&bytes).unwrap().words().len(), if kind == GRAPH_TRACE { 6 } else { 12 });
    }
}
