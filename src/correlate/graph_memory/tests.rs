use super::*;
use crate::correlate::made::{Made, P, Step};
use crate::trace::ArgKind::{Device, Handle, I32, Pointer, Size, U64};
use crate::trace::LaneOf;
use crate::trace::activity::{Activity, ActivityKind};

const A: u64 = 0x10_0000;
const GRAPH: u64 = 0x77;
const EXEC: u64 = 0x99;

/// A graph with a node that allocates A, and one that frees it if `frees`.
fn graph(frees: bool, flags: u64) -> Made {
    let mut made = Made::new();
    made.call("cudaGraphCreate", &[("graph", Handle, GRAPH)], (1, 2));
    let node = [("graph", Handle, GRAPH), ("bytes", Size, 4096), ("ptr", Pointer, A)];
    made.call("cudaGraphAddMemAllocNode", &node, (3, 4));
    if frees {
        made.call("cudaGraphAddMemFreeNode", &[("graph", Handle, GRAPH), ("ptr", Pointer, A)], (5, 6));
    }
    let ready = [("exec", Handle, EXEC), ("graph", Handle, GRAPH), ("flags", U64, flags)];
    made.call("cudaGraphInstantiateWithFlags", &ready, (7, 8));
    made
}

fn launch(made: &mut Made, at: u64) {
    made.call("cudaGraphLaunch", &[("exec", Handle, EXEC), ("stream", Handle, 5)], (at, at + 2));
}

fn memory(made: &Made) -> GraphMemory {
    let allocations = Allocations::of(&made.trace, P, &made.files());
    GraphMemory::of(&made.trace, P, &made.files(), &allocations)
}

fn rows(found: &GraphMemory) -> Vec<(u64, u64, RunEnd, bool)> {
    found.runs.iter().map(|run| (run.from_ns, run.until_ns, run.end, run.at_least)).collect()
}

#[test]
fn what_its_launch_frees_is_in_use_until_the_launch_is_over() {
    let mut made = graph(true, 0);
    made.step(&Step { name: "cuGraphLaunch", times: (21, 22), depth: 1, submits: Some((4, &[])), ..Step::default() });
    launch(&mut made, 20);
    launch(&mut made, 30);
    let node =
        Activity { kind: ActivityKind::Kernel, start_ns: 24, duration_ns: 4, correlation: 4, ..Activity::default() };
    made.activity(LaneOf::Stream { context: 1, stream: 7 }, &node);
    let found = memory(&made);
    assert_eq!(rows(&found), [(20, 28, RunEnd::InLaunch, false), (30, 32, RunEnd::InLaunch, true)]);
    assert_eq!((found.peak_bytes, found.peak_ns, found.live_bytes, found.unseen_launches), (4096, 20, 0, 0));
}

#[test]
fn what_is_not_freed_inside_is_freed_by_a_call_or_the_next_launch_or_stays() {
    let mut made = graph(false, 0);
    launch(&mut made, 20);
    made.call("cudaFreeAsync", &[("ptr", Pointer, A), ("stream", Handle, 5)], (25, 26));
    launch(&mut made, 30);
    made.call("cudaGraphDestroy", &[("graph", Handle, GRAPH)], (40, 41));
    assert_eq!(rows(&memory(&made)), [(20, 25, RunEnd::Call, false), (30, u64::MAX, RunEnd::Lives, false)]);
    let mut made = graph(false, 1);
    launch(&mut made, 20);
    launch(&mut made, 30);
    let found = memory(&made);
    assert_eq!(rows(&found), [(20, 30, RunEnd::NextLaunch, false), (30, u64::MAX, RunEnd::Lives, false)]);
    assert_eq!((found.peak_bytes, found.live_bytes), (4096, 4096));
}

#[test]
fn another_graph_may_free_it_and_what_was_not_seen_is_said() {
    let mut made = graph(false, 0);
    made.call("cudaGraphCreate", &[("graph", Handle, 0x55)], (10, 11));
    made.call("cudaGraphAddMemFreeNode", &[("graph", Handle, 0x55), ("ptr", Pointer, A)], (12, 13));
    made.call("cudaGraphInstantiate", &[("exec", Handle, 0x66), ("graph", Handle, 0x55)], (14, 15));
    launch(&mut made, 20);
    made.call("cudaGraphLaunch", &[("exec", Handle, 0x66)], (30, 33));
    made.call("cudaGraphLaunch", &[("exec", Handle, 0x67)], (40, 43));
    let found = memory(&made);
    assert_eq!(rows(&found), [(20, 33, RunEnd::OtherLaunch, true)]);
    assert_eq!((found.unseen_launches, found.live_bytes), (1, 0));
}

#[test]
fn a_handle_that_comes_again_is_another_graph() {
    let mut made = graph(true, 0);
    made.call("cudaGraphDestroy", &[("graph", Handle, GRAPH)], (10, 11));
    made.call("cudaGraphCreate", &[("graph", Handle, GRAPH)], (12, 13));
    made.call("cudaGraphInstantiate", &[("exec", Handle, EXEC), ("graph", Handle, GRAPH)], (14, 15));
    launch(&mut made, 20);
    assert_eq!(rows(&memory(&made)), []);
}

#[test]
fn what_calls_tell_of_a_device_is_kept_without_any_node() {
    let mut made = Made::new();
    let get = |attribute, value| [("device", Device, 1), ("attribute", I32, attribute), ("value", U64, value)];
    made.call("cuDeviceGetGraphMemAttribute", &get(2, 1 << 40), (10, 11));
    made.call("cudaDeviceGraphMemTrim", &[("device", Device, 1)], (20, 21));
    let found = memory(&made);
    assert_eq!(found.told, [Told { at_ns: 11, device: 1, attribute: 2, bytes: 1 << 40 }]);
    assert_eq!((found.trims, found.runs.len()), (vec![(21, 1)], 0));
}

#[test]
fn memory_comes_with_a_graph_that_is_cloned_or_added_and_stays_with_what_was_ready() {
    let mut made = graph(true, 0);
    made.call("cudaGraphClone", &[("graph", Handle, 0x55), ("original", Handle, GRAPH)], (10, 11));
    made.call("cudaGraphInstantiate", &[("exec", Handle, 0x66), ("graph", Handle, 0x55)], (12, 13));
    made.call("cudaGraphCreate", &[("graph", Handle, 0x56)], (14, 15));
    made.call("cudaGraphInstantiate", &[("exec", Handle, 0x67), ("graph", Handle, 0x56)], (16, 17));
    made.call("cudaGraphAddChildGraphNode", &[("graph", Handle, 0x56), ("child", Handle, GRAPH)], (18, 19));
    made.call("cudaGraphLaunch", &[("exec", Handle, 0x66)], (20, 23));
    // It was ready before anything was added.
    made.call("cudaGraphLaunch", &[("exec", Handle, 0x67)], (30, 33));
    made.call("cudaGraphExecUpdate", &[("exec", Handle, 0x67), ("graph", Handle, 0x56)], (34, 35));
    made.call("cudaGraphLaunch", &[("exec", Handle, 0x67)], (40, 43));
    let found = memory(&made);
    assert_eq!(rows(&found), [(20, 23, RunEnd::InLaunch, true), (40, 43, RunEnd::InLaunch, true)]);
    assert_eq!((found.peak_bytes, found.live_bytes, found.unseen_launches), (4096, 0, 0));
}

#[test]
fn nodes_that_have_an_address_in_turn_are_allocations_of_their_own() {
    let mut made = Made::new();
    made.call("cudaGraphCreate", &[("graph", Handle, GRAPH)], (1, 2));
    for (at, bytes) in [(3, 4096), (7, 8192)] {
        let node = [("graph", Handle, GRAPH), ("bytes", Size, bytes), ("ptr", Pointer, A)];
        made.call("cudaGraphAddMemAllocNode", &node, (at, at + 1));
        made.call("cudaGraphAddMemFreeNode", &[("graph", Handle, GRAPH), ("ptr", Pointer, A)], (at + 2, at + 3));
    }
    made.call("cudaGraphInstantiate", &[("exec", Handle, EXEC), ("graph", Handle, GRAPH)], (11, 12));
    launch(&mut made, 20);
    let found = memory(&made);
    assert_eq!(rows(&found), [(20, 22, RunEnd::InLaunch, true); 2]);
    assert_eq!((found.peak_bytes, found.live_bytes), (3 * 4096, 0));
}
