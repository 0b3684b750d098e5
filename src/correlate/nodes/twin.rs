//! A graph built by the functions for each type of node, and the same one by those for any type.

use proptest::prelude::*;

use crate::correlate::allocation::Allocations;
use crate::correlate::graph_memory::GraphMemory;
use crate::correlate::made::{Made, P};
use crate::correlate::usage::Usage;

const GRAPH: u64 = 0x77;
const CHILD: u64 = 0x78;
const EXEC: u64 = 0x99;
const PLAIN: u64 = 0x10_0000;
const OF_GRAPHS: u64 = 0x90_0000;
const STEP: u64 = 0x1_0000;

/// What is done to graphs. Places are numbers of allocations, the graphs' ones after the plain ones.
#[derive(Clone, Copy, Debug)]
enum Do {
    Kernel(u64),
    Copy(u64, u64),
    Set(u64, u64),
    Host,
    Child,
    Empty,
    Wait,
    Record,
    Alloc(u64),
    Free(u64),
    Ready,
    Launch,
    /// A kernel, or a set, of a graph that is ready gets other memory.
    OtherKernel(u64),
    OtherSet(u64),
    /// A set of one that is not.
    OtherSetBefore(u64),
}

fn doing() -> impl Strategy<Value = Do> {
    let place = 0u64..6;
    prop_oneof![
        place.clone().prop_map(Do::Kernel),
        (place.clone(), place.clone()).prop_map(|(to, from)| Do::Copy(to, from)),
        (place.clone(), 1u64..5000).prop_map(|(to, width)| Do::Set(to, width)),
        Just(Do::Host),
        Just(Do::Child),
        Just(Do::Empty),
        Just(Do::Wait),
        Just(Do::Record),
        place.clone().prop_map(Do::Alloc),
        place.clone().prop_map(Do::Alloc),
        place.clone().prop_map(Do::Free),
        Just(Do::Ready),
        Just(Do::Launch),
        Just(Do::Launch),
        place.clone().prop_map(Do::OtherKernel),
        place.clone().prop_map(Do::OtherSet),
        place.prop_map(Do::OtherSetBefore),
    ]
}

fn address(place: u64) -> u64 {
    if place < 3 { PLAIN + place * STEP } else { OF_GRAPHS + (place - 3) * STEP }
}

/// Functions by which nodes are made: those for one type, or one for any type.
#[derive(Clone, Copy, Debug)]
enum Way {
    ByType,
    Any(usize),
}

/// Nodes of any type, by the runtime and by the driver.
const ANY: [(&str, &str); 3] = [
    ("cudaGraphAddNode", "cuGraphAddNode"),
    ("cudaGraphAddNode_v2", "cuGraphAddNode_v2"),
    ("cudaGraphAddNode_v2", "cuGraphAddNode_v3"),
];

struct Building {
    made: Made,
    at: u64,
    way: Way,
    /// Graphs are made by the driver's functions.
    driver: bool,
}

impl Building {
    /// A call of the function for a type, or of that for any.
    fn call(&mut self, (own, any): (&str, &str), of_type: u64, values: &[(&str, u64)], pointers: &[u64]) {
        let all: Vec<(&str, u64)> = match self.way {
            Way::ByType => values.to_vec(),
            Way::Any(_) => [&[("type", of_type)][..], values].concat(),
        };
        let name = if matches!(self.way, Way::ByType) { own } else { any };
        self.made.of_table(name, &all, (0, (self.at, self.at + 1)), pointers);
        self.at += 10;
    }

    fn add(&mut self, of_type: u64, name: &str, values: &[(&str, u64)], pointers: &[u64]) {
        let driver = self.driver || !pointers.is_empty();
        let (runtime_any, driver_any) = match self.way {
            Way::Any(index) => ANY[index],
            Way::ByType => ("", ""),
        };
        let values: Vec<(&str, u64)> = [&[("graph", GRAPH), ("node", self.at)][..], values].concat();
        let own = format!("{}GraphAdd{name}", if driver { "cu" } else { "cuda" });
        self.call((&own, if driver { driver_any } else { runtime_any }), of_type, &values, pointers);
    }

    fn plain(&mut self, name: &str, values: &[(&str, u64)]) {
        self.made.of_table(name, values, (0, (self.at, self.at + 1)), &[]);
        self.at += 10;
    }

    fn set(place: u64, width: u64) -> [(&'static str, u64); 4] {
        [("dst", address(place)), ("element", 1), ("width", width), ("height", 1)]
    }

    fn step(&mut self, step: Do) {
        let cu = if self.driver { "cu" } else { "cuda" };
        match step {
            Do::Kernel(place) => self.add(0, "KernelNode_v2", &[("function", 5)], &[address(place)]),
            Do::Copy(to, from) if self.driver => {
                let types = [("srctype", 2), ("dsttype", 2)];
                let sides = [("src", address(from)), ("dst", address(to)), ("width", 64), ("height", 1), ("depth", 1)];
                self.add(1, "MemcpyNode", &[&types[..], &sides[..]].concat(), &[]);
            }
            Do::Copy(to, from) => {
                let sides = [("src", address(from)), ("dst", address(to)), ("width", 64), ("height", 1), ("depth", 1)];
                self.add(1, "MemcpyNode", &sides, &[]);
            }
            Do::Set(place, width) => self.add(2, "MemsetNode", &Self::set(place, width), &[]),
            Do::Host => self.add(3, "HostNode", &[("callback", address(0))], &[]),
            Do::Child => self.add(4, "ChildGraphNode", &[("child", CHILD)], &[]),
            Do::Empty => self.add(5, "EmptyNode", &[], &[]),
            Do::Wait => self.add(6, "EventWaitNode", &[("event", address(1))], &[]),
            Do::Record => self.add(7, "EventRecordNode", &[("event", address(1))], &[]),
            Do::Alloc(place) => {
                let memory = [("location", 1), ("bytes", 4096 + place), ("ptr", address(3 + place % 3))];
                self.add(10, "MemAllocNode", &memory, &[]);
            }
            Do::Free(place) => self.add(11, "MemFreeNode", &[("ptr", address(3 + place % 3))], &[]),
            Do::Ready => {
                self.plain(
                    &format!("{cu}GraphInstantiateWithFlags"),
                    &[("exec", EXEC), ("graph", GRAPH), ("flags", 1)],
                );
            }
            Do::Launch => self.plain(&format!("{cu}GraphLaunch"), &[("exec", EXEC), ("stream", 7)]),
            Do::OtherKernel(place) => {
                let names = ("cuGraphExecKernelNodeSetParams_v2", "cuGraphExecNodeSetParams");
                self.call(names, 0, &[("exec", EXEC), ("node", 1), ("function", 5)], &[address(place)]);
            }
            Do::OtherSet(place) => {
                let values = [&[("exec", EXEC), ("node", 1)][..], &Self::set(place, 32)[..]].concat();
                let names = (format!("{cu}GraphExecMemsetNodeSetParams"), format!("{cu}GraphExecNodeSetParams"));
                self.call((&names.0, &names.1), 2, &values, &[]);
            }
            Do::OtherSetBefore(place) => {
                let values = [&[("node", 1)][..], &Self::set(place, 32)[..]].concat();
                let names = (format!("{cu}GraphMemsetNodeSetParams"), format!("{cu}GraphNodeSetParams"));
                self.call((&names.0, &names.1), 2, &values, &[]);
            }
        }
    }
}

/// What is found of memory: allocations, when they were in use, and by what.
fn found(steps: &[Do], way: Way, driver: bool) -> (String, GraphMemory, String) {
    let mut building = Building { made: Made::new(), at: 10, way, driver };
    for place in 0..3 {
        building.plain("cudaMalloc", &[("ptr", address(place)), ("bytes", 4096)]);
    }
    building.plain("cudaGraphCreate", &[("graph", CHILD)]);
    // The child has a node, whichever way.
    building.plain("cudaGraphAddMemsetNode", &[&[("graph", CHILD)][..], &Building::set(2, 16)[..]].concat());
    building.plain("cudaGraphCreate", &[("graph", GRAPH)]);
    steps.iter().for_each(|&step| building.step(step));
    let (trace, files) = (&building.made.trace, building.made.files());
    let allocations = Allocations::of(trace, P, &files);
    let memory = GraphMemory::of(trace, P, &files, &allocations);
    let usage = Usage::of(trace, P, &files, &allocations);
    let uses: Vec<_> = (0..allocations.all().len()).map(|index| usage.get(index)).collect();
    (format!("{:#?}", allocations.all()), memory, format!("{uses:#?}"))
}

proptest! {
    #[test]
    fn a_graph_is_the_same_whichever_functions_made_its_nodes(
        steps in prop::collection::vec(doing(), 0..24),
        any in 0usize..3,
        driver: bool,
    ) {
        let (wanted, now) = (found(&steps, Way::ByType, driver), found(&steps, Way::Any(any), driver));
        prop_assert_eq!(wanted.0, now.0);
        prop_assert_eq!(wanted.1, now.1);
        prop_assert_eq!(wanted.2, now.2);
    }
}

#[test]
fn memory_of_a_node_of_any_type_has_its_size_and_its_lifetime() {
    let steps = [Do::Alloc(0), Do::Set(3, 64), Do::Kernel(3), Do::Free(0), Do::Ready, Do::Launch];
    let (allocations, memory, uses) = found(&steps, Way::Any(0), false);
    assert!(allocations.contains("bytes: 4096,") && allocations.contains("kind: Graph"), "{allocations}");
    assert_eq!((memory.runs.len(), memory.peak_bytes, memory.live_bytes), (1, 4096, 0));
    assert!(uses.contains("graph_launches: 1"), "{uses}");
}
