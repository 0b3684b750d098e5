use super::*;
use crate::correlate::Allocation;
use crate::correlate::made::{Made, P, Step};
use crate::trace::ArgKind::{Handle, Location, Pointer, Size, U32};
use crate::trace::activity::{Activity, ActivityKind, What as Evident};
use crate::trace::capture::Step as Capturing;
use crate::trace::{CallFlags, Captor, LaneOf};
use proptest::prelude::*;
use umtui_wire::activity as wire;

const A: u64 = 0x10_0000;
const B: u64 = 0x20_0000;

/// Two allocations of 64 KiB, A from 10 and B from 20 on.
fn two() -> Made {
    let mut made = Made::new();
    made.call("cudaMalloc", &[("ptr", Pointer, A), ("bytes", Size, 0x1_0000)], (10, 11));
    made.call("cudaMallocManaged", &[("ptr", Pointer, B), ("bytes", Size, 0x1_0000)], (20, 21));
    made
}

fn usage(made: &Made) -> (Usage, Allocations) {
    let allocations = Allocations::of(&made.trace, P, &made.files());
    (Usage::of(&made.trace, P, &made.files(), &allocations), allocations)
}

fn of(found: &(Usage, Allocations), address: u64) -> (&Allocation, &Uses) {
    let index = found.1.find(address, 1000).unwrap();
    (&found.1.all()[index], found.0.get(index).unwrap())
}

/// Moments and kinds of the first and last use.
fn ends(span: Option<Span>) -> Option<(u64, UseKind, u64, UseKind)> {
    span.map(|span| (span.first.at_ns, span.first.kind(), span.last.at_ns, span.last.kind()))
}

#[test]
fn copies_and_sets_are_uses_and_what_only_asks_is_none() {
    let mut made = two();
    let copy = [("dst", Pointer, B + 16), ("src", Pointer, A), ("bytes", Size, 64), ("kind", U32, 3)];
    made.call("cudaMemcpy", &copy, (30, 35));
    made.call("cudaMemset", &[("ptr", Pointer, A), ("value", U32, 0), ("bytes", Size, 8)], (40, 45));
    made.call("cudaMemset", &[("ptr", Pointer, A), ("value", U32, 0), ("bytes", Size, 0)], (50, 55));
    made.call("cudaPointerGetAttributes", &[("attributes", Pointer, 7), ("ptr", Pointer, A)], (60, 65));
    let failed =
        Step { name: "cudaMemcpy", arguments: &copy, times: (70, 75), flags: CallFlags::FAILED, ..Step::default() };
    made.step(&failed);
    let found = usage(&made);
    let (_, a) = of(&found, A);
    assert_eq!(ends(a.certain), Some((30, UseKind::Read, 45, UseKind::Written)));
    assert_eq!((a.counts.reads, a.counts.writes, a.counts.addresses, a.possible), (1, 1, 1, None));
    let (_, b) = of(&found, B);
    assert_eq!(ends(b.certain), Some((30, UseKind::Written, 35, UseKind::Written)));
    assert!(!b.certain.unwrap().last.is_by_gpu());
    assert_eq!(b.certain.unwrap().first.call().map(|(_, row)| row), Some(2));
}

#[test]
fn the_driver_says_which_address_of_a_copy_counts() {
    let mut made = two();
    let copy = |sort, at| {
        [
            ("srctype", U32, sort),
            ("srchost", Pointer, A),
            ("src", Pointer, B),
            ("dsttype", U32, 3),
            ("dsthost", Pointer, at),
            ("dst", Pointer, at),
        ]
    };
    made.call("cuMemcpy2D_v2", &copy(1, A), (30, 31));
    made.call("cuMemcpy2D_v2", &copy(4, A), (40, 41));
    let found = usage(&made);
    assert_eq!((of(&found, A).1.counts.reads, of(&found, A).1.counts.writes), (1, 0));
    assert_eq!((of(&found, B).1.counts.reads, of(&found, B).1.certain.unwrap().first.at_ns), (1, 40));
}

#[test]
fn a_kernel_may_use_what_it_was_given_and_its_record_says_when() {
    let mut made = two();
    let launch = Step { name: "cuLaunchKernel", depth: 1, ..Step::default() };
    made.step(&Step { times: (31, 32), submits: Some((5, &[A, B + 8, 0x7, A])), ..launch });
    made.call("cudaLaunchKernel", &[("function", Pointer, A)], (30, 33));
    // Without a record of the GPU.
    made.step(&Step { times: (41, 42), submits: Some((6, &[A + 4])), thread: 2, ..launch });
    // Captured: a launch of the graph may use it.
    let captured = Step { flags: CallFlags::CAPTURED, times: (51, 52), submits: Some((5, &[B])), ..launch };
    made.step(&captured);
    let kernel =
        Activity { kind: ActivityKind::Kernel, start_ns: 100, duration_ns: 50, correlation: 5, ..Activity::default() };
    made.activity(LaneOf::Stream { context: 1, stream: 7 }, &kernel);
    made.trace.activities.of_mut(P).evidence.seen(Evident::Activity);
    let found = usage(&made);
    let (_, a) = of(&found, A);
    assert_eq!(a.certain, None);
    assert_eq!(ends(a.possible), Some((41, UseKind::Kernel, 150, UseKind::Kernel)));
    assert_eq!((a.counts.kernels, a.counts.addresses, a.thread, a.by_several), (2, 2, None, true));
    assert!(a.last().unwrap().is_by_gpu() && !a.first().unwrap().is_by_gpu());
    let (_, b) = of(&found, B);
    assert_eq!(ends(b.possible), Some((51, UseKind::Graph, 150, UseKind::Kernel)));
    assert_eq!((b.counts.kernels, b.counts.graphs, b.by_several), (1, 1, false));
    let evidence = found.0.evidence();
    assert_eq!((evidence.launches, evidence.with_pointers, evidence.cut), (3, 3, 0));
}

#[test]
fn what_the_runtime_hands_over_is_timed_by_what_the_driver_submitted() {
    let mut made = two();
    let copy = [("dst", Pointer, A), ("src", Pointer, B), ("bytes", Size, 64)];
    let inner = Step { name: "cuMemcpyAsync", arguments: &copy, depth: 1, ..Step::default() };
    made.step(&Step { times: (31, 32), submits: Some((9, &[])), ..inner });
    made.call("cudaMemcpyAsync", &copy, (30, 33));
    // Nothing inside it is known to have submitted anything.
    made.call("cudaMemcpyAsync", &copy, (40, 43));
    let copied =
        Activity { kind: ActivityKind::Copy, start_ns: 60, duration_ns: 7, correlation: 9, ..Activity::default() };
    made.activity(LaneOf::Stream { context: 1, stream: 7 }, &copied);
    made.trace.activities.of_mut(P).evidence.seen(Evident::Activity);
    let found = usage(&made);
    let (_, a) = of(&found, A);
    assert_eq!(ends(a.certain), Some((40, UseKind::Written, 67, UseKind::Written)));
    assert_eq!(a.counts.writes, 2);
}

#[test]
fn faults_are_uses_and_migrations_are_counted() {
    let mut made = two();
    let row = |counter: u16, start_ns, value| Activity {
        kind: ActivityKind::Unified,
        start_ns,
        duration_ns: 3,
        detail: counter as u8,
        address: B + 4096,
        value,
        ..Activity::default()
    };
    made.activity(LaneOf::Unified, &row(wire::UNIFIED_GPU_FAULT, 50, 1));
    made.activity(LaneOf::Unified, &row(wire::UNIFIED_TO_DEVICE, 60, 4096));
    made.activity(LaneOf::Unified, &row(wire::UNIFIED_CPU_FAULT, 40, 0));
    let found = usage(&made);
    let (_, b) = of(&found, B);
    assert_eq!(ends(b.certain), Some((40, UseKind::Fault, 53, UseKind::Fault)));
    assert_eq!((b.counts.faults, b.counts.migrations, b.certain.unwrap().first.call()), (2, 1, None));
}

#[test]
fn what_is_said_of_memory_is_kept_in_order_and_is_no_use() {
    let mut made = two();
    let device = |at: u64, role: &'static str, value| [("ptr", Pointer, at), ("bytes", Size, 4096), (role, U32, value)];
    let mut prefetch = device(B, "location", 1 | 2 << 32);
    prefetch[2].1 = Location;
    made.call("cudaMemPrefetchAsync", &prefetch, (50, 51));
    let mut advice = device(B, "advice", 3).to_vec();
    advice.push(("device", crate::trace::ArgKind::Device, u64::from(u32::MAX)));
    // By another thread.
    made.step(&Step { name: "cudaMemAdvise", arguments: &advice, times: (40, 41), thread: 2, ..Step::default() });
    let attach = [("stream", Handle, 9), ("ptr", Pointer, B), ("bytes", Size, 0), ("flags", U32, 4)];
    made.call("cudaStreamAttachMemAsync", &attach, (60, 61));
    let found = usage(&made);
    let index = found.1.find(B, 1000).unwrap();
    let rows: Vec<_> = found.0.said_of((B, 0x1_0000), (0, 1000)).map(|said| (said.at_ns, said.what)).collect();
    assert_eq!(
        rows,
        [
            (41, What::Advice(Advice::SetPreferredLocation, Place::Host)),
            (51, What::Prefetch(Place::Device(2))),
            (61, What::Attach(Attached::Single)),
        ]
    );
    let uses = found.0.get(index).unwrap();
    assert_eq!((uses.first(), uses.counts.advice, uses.counts.prefetches), (None, 1, 1));
    assert_eq!(found.0.said_of((B, 0x1_0000), (45, 55)).count(), 1);
    assert_eq!(found.0.said_of((A, 0x1_0000), (0, 1000)).count(), 0);
}

#[test]
fn who_may_touch_it_is_told_by_calls() {
    let mut made = Made::new();
    let flags = [("ptr", Pointer, B), ("bytes", Size, 4096), ("flags", U32, 2)];
    made.call("cudaMallocManaged", &flags, (10, 11));
    made.call("cudaDeviceEnablePeerAccess", &[("peer", crate::trace::ArgKind::Device, 1)], (20, 21));
    made.call("cudaStreamAttachMemAsync", &[("ptr", Pointer, B), ("flags", U32, 1)], (30, 31));
    let second = |made: &mut Made, name: &str, arguments: &[(&str, crate::trace::ArgKind, u64)], times| {
        made.step(&Step { name, arguments, times, device: 1, ..Step::default() });
    };
    second(&mut made, "cudaMalloc", &[("ptr", Pointer, A), ("bytes", Size, 64)], (40, 41));
    second(&mut made, "cuMemMap", &[("ptr", Pointer, 0x9000), ("bytes", Size, 64), ("handle", Handle, 5)], (50, 51));
    let access = [("ptr", Pointer, 0x9000), ("bytes", Size, 64), ("location", Location, 1), ("access", U32, 3)];
    second(&mut made, "cuMemSetAccess", &access, (60, 61));
    let (usage, allocations) = usage(&made);
    let of = |address| {
        let index = allocations.find(address, 1000).unwrap();
        usage.touchers(&made.trace, &made.files(), &Default::default(), (index, &allocations.all()[index]))
    };
    assert_eq!(of(B).attached, [(11, Attached::Host), (31, Attached::Global)]);
    assert_eq!((of(A).peers, of(B).peers), (vec![0], Vec::new()));
    assert_eq!(of(0x9000).mapped, [(61, Place::Device(0), 3)]);
}

proptest! {
    /// Against a walk over all calls for each allocation; in slices as in one go.
    #[test]
    fn uses_are_those_of_looking_at_each_call(
        steps in prop::collection::vec((0u8..4, 0u64..6, 1u64..0x900, 1u32..3), 0..60),
        slice in 0usize..3,
    ) {
        let (mut made, mut twin) = (Made::new(), Vec::new());
        // Of each address: bytes and when it was made, if it is there.
        let mut live = [None::<usize>; 6];
        for (number, &(what, place, bytes, thread)) in (1u64..).zip(&steps) {
            let (address, now) = (0x1000 * (place + 1), 10 * number);
            let mut step = |name, arguments: &[(&str, crate::trace::ArgKind, u64)]| {
                made.step(&Step { thread, name, arguments, times: (now, now + 5), ..Step::default() });
            };
            match what {
                0 => {
                    step("cudaMalloc", &[("ptr", Pointer, address), ("bytes", Size, bytes)]);
                    live[place as usize] = Some(twin.len());
                    twin.push((now, address, bytes, None::<(u64, u64)>, 0));
                }
                1 => {
                    step("cudaFree", &[("ptr", Pointer, address)]);
                    live[place as usize] = None;
                }
                _ => {
                    // Somewhere in it, or behind it.
                    let at = address + bytes / 2;
                    step("cudaMemset", &[("ptr", Pointer, at), ("bytes", Size, 4)]);
                    if let Some(one) = live[place as usize].map(|index| &mut twin[index])
                        && at < one.1 + one.2
                    {
                        one.3 = Some((one.3.map_or(now, |span| span.0), now + 5));
                        one.4 += 1;
                    }
                }
            }
        }
        let allocations = Allocations::of(&made.trace, P, &made.files());
        let mut pass = Pass::new(&made.trace, P, &allocations);
        let mut left = slice;
        while !pass.go_on(&made.trace, &made.files(), &allocations, &mut || { left = left.saturating_sub(1); left > 0 }) {
            left = slice;
        }
        let usage = pass.into_usage();
        let mut found: Vec<_> = allocations.all().iter().enumerate().map(|(index, one)| {
            let uses = usage.get(index).copied().unwrap_or_default();
            let span = uses.certain.map(|span| (span.first.at_ns, span.last.at_ns));
            (one.from_ns, one.address, one.bytes, span, uses.counts.writes)
        }).collect();
        found.sort_unstable();
        prop_assert_eq!(found, twin);
    }
}

const STREAM: u64 = 0x50;

/// A capture of a stream into a graph, from and until these ticks.
fn capture(made: &mut Made, graph: u64, (from, until): (u64, u64)) {
    let captures = &mut made.trace.streams.captures;
    captures.tell(P, Captor::Handle(STREAM), Capturing::Begin, (from, from));
    captures.tell(P, Captor::Handle(STREAM), Capturing::End(Some(graph)), (until, until));
    captures.settle(P, u64::MAX);
}

fn launch(made: &mut Made, exec: u64, at: u64, correlation: u32) {
    let step = Step { name: "cuGraphLaunch", depth: 1, submits: Some((correlation, &[])), ..Step::default() };
    made.step(&Step { times: (at + 1, at + 2), ..step });
    made.call("cudaGraphLaunch", &[("exec", Handle, exec), ("stream", Handle, STREAM)], (at, at + 3));
}

#[test]
fn what_a_graph_was_given_its_launches_may_use_also_through_others() {
    let mut made = two();
    capture(&mut made, 0x77, (30, 40));
    let captured = Step { flags: CallFlags::CAPTURED, ..Step::default() };
    let kernel = [("stream", Handle, STREAM)];
    let kernel =
        Step { name: "cuLaunchKernel", arguments: &kernel, times: (31, 32), submits: Some((0, &[A])), ..captured };
    made.step(&Step { depth: 1, ..kernel });
    let copy = [("dst", Pointer, B), ("src", Pointer, A + 8), ("bytes", Size, 64), ("stream", Handle, STREAM)];
    made.step(&Step { name: "cudaMemcpyAsync", arguments: &copy, times: (33, 34), ..captured });
    made.call("cudaGraphClone", &[("graph", Handle, 0x78), ("original", Handle, 0x77)], (50, 51));
    made.call("cudaGraphInstantiate", &[("exec", Handle, 0x99), ("graph", Handle, 0x78)], (52, 53));
    launch(&mut made, 0x99, 60, 7);
    launch(&mut made, 0x99, 70, 8);
    launch(&mut made, 0x98, 80, 9);
    for (start_ns, correlation) in [(90, 7), (63, 7), (64, 7), (100, 8)] {
        let work =
            Activity { kind: ActivityKind::Kernel, start_ns, duration_ns: 5, correlation, ..Activity::default() };
        made.activity(LaneOf::Stream { context: 1, stream: 7 }, &work);
    }
    made.trace.activities.of_mut(P).evidence.seen(Evident::Activity);
    let found = usage(&made);
    let (_, a) = of(&found, A);
    assert_eq!(ends(a.possible), Some((63, UseKind::Graph, 105, UseKind::Graph)));
    assert_eq!((a.certain, a.counts.graph_launches, a.counts.graphs, a.counts.addresses), (None, 2, 0, 2));
    assert!(!a.may_be_later() && a.last().unwrap().is_by_gpu());
    let (_, b) = of(&found, B);
    assert_eq!((ends(b.possible), b.counts.graph_launches), (Some((63, UseKind::Graph, 105, UseKind::Graph)), 2));
    assert_eq!((found.0.evidence().unseen_graph_launches, found.0.evidence().graphs_cut), (1, false));
    let index = found.1.find(A, 1000).unwrap();
    let blocks: Vec<_> = found.0.blocks(index).map(|block| (block.address, block.bytes, block.uses)).collect();
    assert_eq!(blocks, [(A, 1, 2), (A + 8, 64, 2)]);
}

#[test]
fn a_graph_that_is_not_launched_uses_nothing_and_new_parameters_count_from_then_on() {
    let mut made = two();
    made.call("cudaGraphCreate", &[("graph", Handle, 0x77)], (30, 31));
    let node = [("graph", Handle, 0x77), ("dst", Pointer, A), ("src", Pointer, 0x10), ("bytes", Size, 64)];
    made.call("cudaGraphAddMemcpyNode1D", &node, (32, 33));
    made.call("cudaGraphInstantiate", &[("exec", Handle, 0x99), ("graph", Handle, 0x77)], (34, 35));
    let changed = [("exec", Handle, 0x99), ("dst", Pointer, B), ("src", Pointer, 0x10), ("bytes", Size, 64)];
    let nothing = usage(&made);
    assert!(nothing.0.get(nothing.1.find(A, 1000).unwrap()).is_none());
    launch(&mut made, 0x99, 40, 0);
    made.call("cudaGraphExecMemcpyNodeSetParams1D", &changed, (50, 51));
    launch(&mut made, 0x99, 60, 0);
    let found = usage(&made);
    assert_eq!(ends(of(&found, A).1.possible), Some((40, UseKind::Graph, 63, UseKind::Graph)));
    assert_eq!(ends(of(&found, B).1.possible), Some((60, UseKind::Graph, 63, UseKind::Graph)));
}

proptest! {
    /// Against a look at each launch for each allocation; addresses come again, graphs are made ready anew.
    #[test]
    fn what_launches_use_is_what_each_launch_held(
        steps in prop::collection::vec((0u8..7, 0u64..3, 0u64..3), 0..60),
        slice in 1usize..4,
    ) {
        let mut made = Made::new();
        // Of allocations: from, address, until. Of graphs: what nodes were given.
        let mut lives: Vec<(u64, u64, u64)> = Vec::new();
        let mut graphs = vec![std::collections::BTreeSet::new(); 3];
        let mut ready = [None, None, None];
        let mut launches = Vec::new();
        for (number, &(what, one, other)) in (1u64..).zip(&steps) {
            let now = 10 * number;
            let (address, graph, exec) = (0x1000 * (other + 1), 0x70 + one, 0x90 + other);
            match what {
                0 => {
                    made.call("cudaMalloc", &[("ptr", Pointer, address), ("bytes", Size, 256)], (now, now + 5));
                    let before = lives.iter_mut().filter(|life| life.1 == address && life.2 == u64::MAX);
                    before.for_each(|life| life.2 = now - 1);
                    lives.push((now, address, u64::MAX));
                }
                1 => {
                    made.call("cudaFree", &[("ptr", Pointer, address)], (now, now + 5));
                    let before = lives.iter_mut().filter(|life| life.1 == address && life.2 == u64::MAX);
                    before.for_each(|life| life.2 = now + 5);
                }
                2 => {
                    made.call("cudaGraphCreate", &[("graph", Handle, graph)], (now, now + 5));
                    graphs[one as usize].clear();
                }
                3 => {
                    let node = [("graph", Handle, graph), ("dst", Pointer, address + 8), ("bytes", Size, 4)];
                    made.call("cudaGraphAddMemcpyNode1D", &node, (now, now + 5));
                    graphs[one as usize].insert(address + 8);
                }
                4 => {
                    made.call("cudaGraphInstantiate", &[("exec", Handle, exec), ("graph", Handle, graph)], (now, now + 5));
                    ready[other as usize] = Some(graphs[one as usize].clone());
                }
                _ => {
                    made.call("cudaGraphLaunch", &[("exec", Handle, exec)], (now, now + 5));
                    launches.extend(ready[other as usize].clone().map(|nodes| (now, nodes)));
                }
            }
        }
        let allocations = Allocations::of(&made.trace, P, &made.files());
        let mut pass = Pass::new(&made.trace, P, &allocations);
        let mut looks = 0;
        while !pass.go_on(&made.trace, &made.files(), &allocations, &mut || { looks += 1; looks % slice != 0 }) {}
        let usage = pass.into_usage();
        for (index, one) in allocations.all().iter().enumerate() {
            let life = lives.iter().find(|life| life.0 == one.from_ns).unwrap();
            let held = launches.iter().filter(|(at, nodes)| (life.0..=life.2).contains(at) && nodes.contains(&(life.1 + 8)));
            let times: Vec<u64> = held.map(|launch| launch.0).collect();
            let uses = usage.get(index).copied().unwrap_or_default();
            let span = uses.possible.map(|span| (span.first.at_ns, span.last.at_ns));
            prop_assert_eq!(span, times.first().zip(times.last()).map(|(first, last)| (*first, last + 5)));
            prop_assert_eq!(uses.counts.graph_launches as usize, times.len());
        }
    }
}
