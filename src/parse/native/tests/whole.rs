//! Whole files.

use super::gpu::works;
use super::made::{Known, SIGNATURES, Wishes, make};
use super::model::read;
use crate::trace::raw::RawCall;
use crate::trace::{ProcessId, StreamKind, Trace};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the trace holds, in the words of the maker.
fn known(trace: &Trace, image: &[u8]) -> Vec<Known> {
    let mut calls = Vec::new();
    let bytes = image.to_vec();
    for track in &trace.tracks {
        for row in 0..track.len() {
            let call = track.call(row).unwrap();
            let raw = RawCall::read(&bytes, track.location(row).unwrap()).unwrap();
            let name = trace.api_name(call.api);
            let api = SIGNATURES.iter().position(|(_, text)| text.starts_with(&format!("{name}("))).unwrap();
            let stream = trace.streams.get(call.stream).filter(|stream| stream.kind == StreamKind::Created);
            calls.push(Known {
                thread: track.thread,
                start: call.start_ns - 72_000_000_000,
                duration: call.duration_ns,
                api: api as u16,
                status: raw.status(),
                depth: call.depth,
                site: raw.address(),
                stream: stream.map(|stream| (stream.handle, stream.generation)),
            });
        }
    }
    calls
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_was_written_is_read(seed: u64, threads in 1u64..6, groups in 0u64..3000, sealed: bool, hand_overs: bool) {
        let made = make(seed, Wishes { threads, groups, ticks_per_second: 1_000_000_000, sealed, hand_overs, gpu: true });
        let trace = read(made.image.clone()).unwrap();
        prop_assert_eq!(&trace.damage, &[]);
        prop_assert_eq!(trace.lost(), made.lost);
        prop_assert_eq!(trace.tracks.iter().map(|track| track.in_flight.len()).sum::<usize>(), made.open);
        let mut expected: BTreeMap<u32, Vec<Known>> = BTreeMap::new();
        for call in &made.calls {
            expected.entry(call.thread).or_default().push(call.clone());
        }
        let mut seen: BTreeMap<u32, Vec<Known>> = BTreeMap::new();
        for call in known(&trace, &made.image) {
            seen.entry(call.thread).or_default().push(call);
        }
        for (thread, calls) in &expected {
            let read = seen.get(thread).map_or(&[][..], Vec::as_slice);
            prop_assert_eq!(read.len(), calls.len(), "thread {}", thread);
            for (read, written) in read.iter().zip(calls) {
                prop_assert_eq!(read, written);
            }
        }
        prop_assert_eq!(seen.len(), expected.len());
        prop_assert_eq!(works(&trace), made.works.clone());
        prop_assert_eq!((trace.calls(), trace.events()), (made.calls.len() as u64, made.events()));
        let of = trace.activities.of(ProcessId(0)).unwrap();
        prop_assert_eq!(of.submits.len(), made.submits.len());
        for (correlation, call) in &made.submits {
            let found = of.submits.find(*correlation).unwrap();
            let track = trace.track(found.track).unwrap();
            let start = track.call(found.row as usize).unwrap().start_ns - 72_000_000_000;
            prop_assert_eq!((track.thread, start), (call.thread, call.start));
        }
        prop_assert_eq!(of.clock_error_ns.unwrap_or(0), made.error.div_ceil(2));
    }
}

#[test]
fn a_rate_that_is_no_round_number_keeps_times() {
    let wishes = Wishes {
        threads: 3,
        groups: 2000,
        ticks_per_second: 2_100_000_001,
        sealed: true,
        hand_overs: false,
        gpu: true,
    };
    let made = make(5, wishes);
    let trace = read(made.image).unwrap();
    let mut first = u64::MAX;
    for track in &trace.tracks {
        track.for_each(0..track.len(), |call| first = first.min(call.start_ns));
    }
    let earliest = made.calls.iter().map(|call| call.start).min().unwrap();
    let ns = u128::from(earliest - 5_000_000_000) * 1_000_000_000 / 2_100_000_001 + 77_000_000_000;
    assert!(first.abs_diff(ns as u64) < 3, "{first} {ns}");
}

#[test]
fn arguments_and_strings_print() {
    let made = make(
        5,
        Wishes { threads: 1, groups: 400, ticks_per_second: 1_000_000_000, sealed: true, hand_overs: false, gpu: true },
    );
    let trace = read(made.image.clone()).unwrap();
    let files: Vec<Arc<dyn crate::trace::Bytes>> = vec![Arc::new(made.image)];
    let lines = super::model::lines(&trace, &files).join("\n");
    for part in
        ["name=\"_Z6kernelPf\"", "location=", "kind=DeviceToHost", "\"a \\\"b\\\" \\\\ \\n\\t\\u{7f}é\"", "libfoo.so"]
    {
        assert!(lines.contains(part), "{part}");
    }
}

/// A thread that took another's chunk over has two, and what is in them was begun and has ended by turns: between what a
/// call submitted and the call itself another one is read.
#[test]
fn what_a_call_submitted_is_kept_while_calls_of_another_chunk_are_read() {
    let (threads, groups, ticks_per_second) = (5, 1398, 1_000_000_000);
    let wishes = Wishes { threads, groups, ticks_per_second, sealed: false, hand_overs: true, gpu: true };
    let made = make(3_550_230_427_124_992_561, wishes);
    let trace = read(made.image.clone()).unwrap();
    let submits = &trace.activities.of(ProcessId(0)).unwrap().submits;
    for (correlation, call) in &made.submits {
        let found = submits.find(*correlation).unwrap();
        assert_eq!(trace.track(found.track).unwrap().thread, call.thread);
    }
    assert_eq!(submits.len(), made.submits.len());
}
