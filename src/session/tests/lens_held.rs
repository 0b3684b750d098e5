//! The field `allocation` against a twin that walks through all calls in order of time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::filter::{Condition, Pattern, TextField};
use crate::lens::Lens;
use crate::session::model::Model;
use crate::trace::activity::{LaneId, Submit};
use crate::trace::{
    Activity, ActivityKind, ArgKind, Argument, Bytes, Call, CallFlags, LaneOf, Layer, NO_DEVICE, Process, ProcessId,
    Signature, StreamId, TrackId,
};

const P: ProcessId = ProcessId(0);
const SLOT: usize = 48;
const MALLOC: usize = 0;
const MANAGED: usize = 1;
const FREE: usize = 2;
const COPY: usize = 3;
const DRIVER: usize = 4;
const OTHER: usize = 5;
const NAMES: [&str; 6] =
    ["cudaMalloc", "cudaMallocManaged", "cudaFree", "cudaMemcpy", "cuMemAlloc", "cudaDeviceSynchronize"];

/// One thing that a program does, all after each other: thread, function, address, another, bytes, whether it fails,
/// code that called, when, and how long.
#[derive(Clone, Copy, Debug)]
struct Step {
    track: usize,
    api: usize,
    address: u64,
    other: u64,
    bytes: u64,
    failed: bool,
    site: u32,
    start: u64,
    length: u64,
}

#[derive(Clone, Debug)]
struct World {
    steps: Vec<Step>,
    /// Address and time.
    migrations: Vec<(u64, u64)>,
}

fn world() -> impl Strategy<Value = World> {
    let address = || (1u64..5, prop::sample::select(vec![0u64, 0x10, 0x800])).prop_map(|(page, at)| page * 0x1000 + at);
    let step = (
        0usize..2,
        0usize..6,
        (address(), address()),
        1u64..0x1800,
        prop::bool::weighted(0.1),
        0u32..2,
        1u64..9,
        2u64..9,
    );
    let migration = (1u64..6, 0u64..0x1000, 0u64..300).prop_map(|(page, at, ns)| (page * 0x1000 + at, ns));
    (prop::collection::vec(step, 0..24), prop::collection::vec(migration, 0..12)).prop_map(|(steps, migrations)| {
        let mut now = 10;
        let steps = steps.into_iter().map(|(track, api, (address, other), bytes, failed, site, gap, length)| {
            let start = now + gap;
            now = start + length;
            // Memory begins at the begin of a page; the driver is called by the runtime.
            let api = if api == DRIVER { MALLOC } else { api };
            let address = if api == COPY { address } else { address & !0xfff };
            Step { track, api, address, other, bytes, failed, site, start, length }
        });
        World { steps: steps.collect(), migrations }
    })
}

fn pattern() -> impl Strategy<Value = String> {
    let named: [&str; 9] =
        ["cudaMalloc", "cudaMallocManaged", "*Malloc*", "managed", "device", "0x4?", "0x5?", "cudaFree", "*"];
    prop_oneof![
        prop::sample::select(named.to_vec()).prop_map(str::to_owned),
        (0x1000u64..0x5800).prop_map(|address| format!("{address:#x}")),
    ]
}

struct Made {
    model: Model,
    world: World,
    /// Of each thread its calls, with the step that each is of.
    calls: [Vec<(Call, u64, usize)>; 2],
    done: [usize; 2],
}

impl Made {
    fn new(world: &World) -> Self {
        let mut model = Model::default();
        let trace = &mut model.trace;
        trace.add_process(Process { pid: 100, ..Process::default() }).unwrap();
        let argument =
            |role: &str, kind, on_success, at| Argument { role: role.to_owned(), kind, on_success, at, only: None };
        let apis = NAMES.map(|name| {
            let arguments = match name {
                "cudaFree" => vec![argument("ptr", ArgKind::Pointer, false, 24)],
                "cudaMemcpy" => vec![
                    argument("dst", ArgKind::Pointer, false, 24),
                    argument("src", ArgKind::Pointer, false, 40),
                    argument("bytes", ArgKind::Size, false, 32),
                ],
                "cudaDeviceSynchronize" => Vec::new(),
                _ => vec![argument("ptr", ArgKind::Pointer, true, 24), argument("bytes", ArgKind::Size, false, 32)],
            };
            let layer = if name.starts_with("cuda") { Layer::Runtime } else { Layer::Driver };
            trace.api_of(name, layer, Signature { arguments, ..Signature::default() })
        });
        let sites = [0x41u64, 0x52].map(|address| trace.sites.find(P, address, 0).site);
        (0..2).for_each(|thread| _ = trace.track_of(P, 100 + thread));
        let (mut file, mut calls) = (vec![0u8; SLOT], [Vec::new(), Vec::new()]);
        for (number, step) in world.steps.iter().enumerate() {
            let status = if step.failed { 2u64 } else { 0 };
            let mut add = |api: usize, depth, start_ns, duration_ns| {
                let offset = file.len() as u64;
                for word in [1 | status << 32, 0, 0, step.address, step.bytes, step.other] {
                    file.extend_from_slice(&u64::to_le_bytes(word));
                }
                let call = Call {
                    start_ns,
                    duration_ns,
                    api: apis[api],
                    site: sites[step.site as usize],
                    stream: StreamId::NONE,
                    device: NO_DEVICE,
                    depth,
                    flags: if step.failed { CallFlags::FAILED } else { CallFlags::default() },
                    extra: 0,
                };
                calls[step.track].push((call, offset, number));
            };
            if step.api == MALLOC {
                add(DRIVER, 1, step.start + 1, step.length - 1);
            }
            add(step.api, 0, step.start, step.length);
        }
        model.files = vec![Some(Arc::new(file) as Arc<dyn Bytes>)];
        Self { model, world: world.clone(), calls, done: [0, 0] }
    }

    fn read(&mut self, track: usize, count: usize) {
        let from = self.done[track];
        let to = self.calls[track].len().min(from.saturating_add(count));
        // A call of the runtime is not read without that of the driver in it.
        let to = if to > from && self.calls[track][to - 1].0.depth > 0 { to + 1 } else { to };
        let id = TrackId(u32::try_from(track).unwrap());
        for row in from..to {
            let (call, offset, step) = self.calls[track][row];
            self.model.trace.tracks[track].push(call, offset);
            if self.world.steps[step].api == COPY {
                let submit = Submit { correlation: 1 + step as u32, track: id, row: row as u32 };
                self.model.trace.activities.of_mut(P).submits.push(submit);
            }
        }
        self.done[track] = to;
        self.model.trace.touch();
    }

    /// Records of the GPU: copies, then migrations.
    fn work(&mut self) {
        for (number, step) in self.world.steps.clone().iter().enumerate().filter(|(_, step)| step.api == COPY) {
            let copy = Activity {
                kind: ActivityKind::Copy,
                start_ns: step.start + 1,
                duration_ns: 1,
                value: step.bytes,
                detail: 1,
                correlation: 1 + number as u32,
                ..Activity::default()
            };
            self.model.trace.activities.push(P, LaneOf::Stream { context: 1, stream: 7 }, &copy, 0);
        }
        for (address, start_ns) in self.world.migrations.clone() {
            let detail = 1 | 3 << 4;
            let kind = ActivityKind::Unified;
            let moved = Activity { kind, start_ns, value: 4096, address, detail, ..Activity::default() };
            self.model.trace.activities.push(P, LaneOf::Unified, &moved, 0);
        }
        self.model.trace.touch();
        self.model.update();
    }

    fn sift(&mut self, lens: &Lens) {
        self.model.set_lens(lens);
        while !self.model.sift(Instant::now() + Duration::from_secs(1)) {}
    }

    /// What is selected: calls by thread and row, then records by lane and row.
    fn selected(&self) -> Vec<Vec<bool>> {
        let selected = self.model.selected().unwrap();
        let calls = (0..2)
            .map(|track| (0..self.calls[track].len()).map(|row| selected.call(TrackId(track as u32), row)).collect());
        let lanes = (0..).map(LaneId).zip(self.model.trace.activities.lanes());
        calls.chain(lanes.map(|(id, lane)| (0..lane.len()).map(|row| selected.record(id, row)).collect())).collect()
    }
}

/// An allocation as the twin sees it: address, bytes, from, handed out, until, step.
type Life = (u64, u64, u64, u64, u64, usize);

fn lives(world: &World) -> Vec<Life> {
    let mut all: Vec<Life> = Vec::new();
    for (number, step) in world.steps.iter().enumerate().filter(|(_, step)| !step.failed) {
        let live = all.iter_mut().filter(|life| life.4 == u64::MAX);
        if step.api == FREE {
            live.filter(|life| life.0 == step.address).for_each(|life| life.4 = step.start + step.length);
        } else if step.api <= MANAGED {
            let overlaps = |life: &&mut Life| life.0 < step.address + step.bytes && step.address < life.0 + life.1;
            live.filter(overlaps).for_each(|life| life.4 = step.start);
            all.push((step.address, step.bytes, step.start, step.start + step.length, u64::MAX, number));
        }
    }
    all
}

/// Whether the allocation at an address fits.
fn fits(world: &World, pattern: &str, address: u64, at: u64) -> bool {
    let all = lives(world);
    let held = all.iter().filter(|life| life.0 <= address && address < life.0 + life.1 && life.2 <= at && at <= life.4);
    let Some(life) = held.max_by_key(|life| (life.3 <= at, life.2)) else { return false };
    if let Some(number) = pattern.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        return life.0 <= number && number < life.0 + life.1;
    }
    let step = &world.steps[life.5];
    match pattern {
        "*" => true,
        "*Malloc*" => true,
        "cudaMalloc" | "device" => step.api == MALLOC,
        "cudaMallocManaged" | "managed" => step.api == MANAGED,
        "0x4?" => step.site == 0,
        "0x5?" => step.site == 1,
        _ => false,
    }
}

fn step_fits(world: &World, pattern: &str, step: &Step, at: u64) -> bool {
    match step.api {
        OTHER => false,
        // What it makes, not what has just been there.
        MALLOC | MANAGED => !step.failed && fits(world, pattern, step.address, step.start + step.length),
        COPY => [step.address, step.other].into_iter().any(|address| fits(world, pattern, address, at)),
        _ => fits(world, pattern, step.address, at),
    }
}

/// Whether a call points into these addresses, or to an area that overlaps them.
fn step_touches(step: &Step, (from, to): (u64, u64)) -> bool {
    let bytes = if step.api == FREE { 1 } else { step.bytes };
    let touches = |address: u64| (address..address + bytes).any(|byte| (from..=to).contains(&byte));
    match step.api {
        OTHER => false,
        COPY => touches(step.address) || touches(step.other),
        MALLOC | MANAGED => !step.failed && touches(step.address),
        _ => touches(step.address),
    }
}

fn lens(pattern: &str) -> Lens {
    let condition = Condition::Text(TextField::Allocation, Pattern::Glob(pattern.to_owned()));
    Lens { condition: Some(Arc::new(condition)), range: None }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_about_an_allocation_is_what_the_twin_says(
        world in world(),
        pattern in pattern(),
        turns in prop::collection::vec((0usize..2, 0usize..6), 0..8),
    ) {
        let lens = lens(&pattern);
        let mut made = Made::new(&world);
        (0..2).for_each(|track| made.read(track, usize::MAX));
        made.work();
        made.sift(&lens);
        let found = made.selected();
        for (track, calls) in made.calls.iter().enumerate() {
            for (row, &(call, _, step)) in calls.iter().enumerate() {
                let expected = step_fits(&world, &pattern, &world.steps[step], call.start_ns);
                prop_assert_eq!(found[track][row], expected, "call {} of {}", row, track);
            }
        }
        let copies = world.steps.iter().filter(|step| step.api == COPY);
        let mut expected: Vec<Vec<bool>> = Vec::new();
        expected.push(copies.map(|step| step_fits(&world, &pattern, step, step.start)).collect());
        expected.push(world.migrations.iter().map(|&(address, at)| fits(&world, &pattern, address, at)).collect());
        expected.retain(|lane| !lane.is_empty());
        prop_assert_eq!(&found[2..], &expected[..]);
        // Calls that come bit by bit, of one thread before the other.
        let mut live = Made::new(&world);
        live.work();
        for (track, count) in turns {
            live.read(track, count);
            live.model.update();
            live.sift(&lens);
        }
        (0..2).for_each(|track| live.read(track, usize::MAX));
        live.model.update();
        live.sift(&lens);
        prop_assert_eq!(live.selected(), found);
    }
}

proptest! {
    #[test]
    fn an_address_is_that_of_calls_of_what_they_submitted_and_of_migrations(
        world in world(),
        from in 0xf00u64..0x6000,
        length in 0u64..0x300,
    ) {
        let to = from + length;
        let mut made = Made::new(&world);
        (0..2).for_each(|track| made.read(track, usize::MAX));
        made.work();
        made.sift(&Lens { condition: Some(Arc::new(Condition::Address(from, to))), range: None });
        let found = made.selected();
        for (track, calls) in made.calls.iter().enumerate() {
            for (row, &(.., step)) in calls.iter().enumerate() {
                prop_assert_eq!(found[track][row], step_touches(&world.steps[step], (from, to)), "{} of {}", row, track);
            }
        }
        let copies = world.steps.iter().filter(|step| step.api == COPY).map(|step| step_touches(step, (from, to)));
        let moved = world.migrations.iter().map(|&(address, _)| address <= to && address + 4095 >= from);
        let mut expected: Vec<Vec<bool>> = vec![copies.collect(), moved.collect()];
        expected.retain(|lane| !lane.is_empty());
        prop_assert_eq!(&found[2..], &expected[..]);
    }
}

#[test]
fn a_name_asks_for_one_life_of_an_address_and_the_address_for_all() {
    let step = |api, site, start| Step {
        track: 0,
        api,
        address: 0x1000,
        other: 0x9000,
        bytes: 0x100,
        failed: false,
        site,
        start,
        length: 2,
    };
    let steps =
        vec![step(MANAGED, 0, 10), step(FREE, 0, 20), step(MANAGED, 1, 30), step(COPY, 0, 40), step(FREE, 0, 50)];
    let world = World { steps, migrations: vec![(0x1010, 15), (0x1010, 25), (0x1010, 35)] };
    let mut made = Made::new(&world);
    made.read(0, usize::MAX);
    made.work();
    let mut selected = |pattern: &str| {
        made.sift(&lens(pattern));
        let found = made.selected();
        (found[0].clone(), found[2].clone(), found[3].clone())
    };
    let yes = |bits: &str| bits.bytes().map(|bit| bit == b'1').collect::<Vec<bool>>();
    assert_eq!(selected("0x4?"), (yes("11000"), yes("0"), yes("100")));
    assert_eq!(selected("0x5?"), (yes("00111"), yes("1"), yes("001")));
    assert_eq!(selected("0x10ff"), (yes("11111"), yes("1"), yes("101")));
    assert_eq!(selected("0x1100"), (yes("00000"), yes("0"), yes("000")));
}
