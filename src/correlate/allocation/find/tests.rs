//! What is found bit by bit against what is found at once.

use super::*;
use crate::trace::{ArgKind, Argument, Call, Layer, NO_DEVICE, Process, Signature, StreamId};
use proptest::prelude::*;

const NAMES: [&str; 3] = ["cudaMalloc", "cudaFree", "cudaDeviceSynchronize"];
const LATE: &str = "cudaMallocManaged";
const SLOT: usize = 48;

/// A call: thread, function (the last one is defined late), page, whether it fails, how long after the one before, and
/// for how long.
type Step = (usize, usize, u64, bool, u64, u64);

struct World {
    trace: Trace,
    files: Vec<Option<Arc<dyn Bytes>>>,
    calls: [Vec<(Call, u64)>; 2],
    late: crate::trace::ApiId,
}

fn signature(made: bool) -> Signature {
    let argument =
        |role: &str, kind, on_success, at| Argument { role: role.to_owned(), kind, on_success, at, only: None };
    let mut arguments = vec![argument("ptr", ArgKind::Pointer, made, 24)];
    arguments.extend(made.then(|| argument("bytes", ArgKind::Size, false, 32)));
    Signature { arguments, ..Signature::default() }
}

fn world(steps: &[Step], state: State) -> World {
    let mut trace = Trace::default();
    let process = trace.add_process(Process { pid: 1, state, ..Process::default() }).unwrap();
    let mut apis = NAMES.map(|name| match name {
        "cudaMalloc" => trace.api_of(name, Layer::Runtime, signature(true)),
        "cudaFree" => trace.api_of(name, Layer::Runtime, signature(false)),
        _ => trace.api_of(name, Layer::Runtime, Signature::default()),
    });
    let late = trace.undefined_api(9);
    let site = trace.sites.find(process, 0x41, 0).site;
    (0..2).for_each(|thread| _ = trace.track_of(process, 100 + thread));
    let (mut bytes, mut calls, mut now) = (vec![0u8; SLOT], [Vec::new(), Vec::new()], [10u64; 2]);
    apis.reverse();
    for &(thread, api, page, failed, gap, duration_ns) in steps {
        let start_ns = now[thread] + gap;
        now[thread] = start_ns + duration_ns;
        let offset = bytes.len() as u64;
        for word in [1 | u64::from(failed) << 33, 0, 0, page * 0x1000, 0x1800, 0] {
            bytes.extend_from_slice(&u64::to_le_bytes(word));
        }
        let flags = if failed { CallFlags::FAILED } else { CallFlags::default() };
        let api = apis.get(api).copied().unwrap_or(late);
        let call = Call {
            start_ns,
            duration_ns,
            api,
            site,
            stream: StreamId::NONE,
            device: NO_DEVICE,
            depth: 0,
            flags,
            extra: 0,
        };
        calls[thread].push((call, offset));
    }
    World { trace, files: vec![Some(Arc::new(bytes) as Arc<dyn Bytes>)], calls, late }
}

impl World {
    fn read(&mut self, thread: usize, count: usize) {
        let calls = &mut self.calls[thread];
        for (call, offset) in calls.drain(..count.min(calls.len())) {
            self.trace.tracks[thread].push(call, offset);
        }
    }

    fn define(&mut self) {
        self.trace.define_api(self.late, LATE, Layer::Runtime, signature(true));
    }

    fn at_once(&self) -> Allocations {
        let files: Vec<Arc<dyn Bytes>> = self.files.iter().flatten().cloned().collect();
        Allocations::of(&self.trace, ProcessId(0), &files)
    }
}

proptest! {
    #[test]
    fn what_is_found_bit_by_bit_is_what_is_found_at_once(
        steps in prop::collection::vec((0usize..2, 0usize..4, 1u64..6, prop::bool::weighted(0.1), 0u64..9, 0u64..30), 0..60),
        turns in prop::collection::vec((0usize..2, 0usize..20, 0usize..5), 0..12),
        patience in 1usize..5,
        defined in 0usize..12,
        ends: bool,
    ) {
        let mut world = world(&steps, if ends { State::Ended } else { State::Recording });
        let mut finder = AllocationFinder::default();
        let mut looks = 0usize;
        let mut go_on = || { looks += 1; !looks.is_multiple_of(patience) };
        for (turn, &(thread, count, slices)) in turns.iter().enumerate() {
            world.read(thread, count);
            if turn == defined {
                world.define();
            }
            for _ in 0..slices {
                finder.advance(&world.trace, &world.files, &mut go_on);
            }
        }
        (0..2).for_each(|thread| world.read(thread, usize::MAX));
        world.define();
        while !finder.advance(&world.trace, &world.files, &mut go_on) {}
        let (found, expected) = (&finder.all()[0], world.at_once());
        prop_assert_eq!(found.all(), expected.all());
        prop_assert_eq!(found.refused(), expected.refused());
        prop_assert_eq!(found.unread(), expected.unread());
        let end = world.trace.end_ns();
        for at in (0..end).step_by(7) {
            for address in (0x1000..0x8000).step_by(0x800) {
                prop_assert_eq!(found.find(address, at), expected.find(address, at));
            }
        }
        // Nothing new, nothing made anew.
        let version = finder.version();
        prop_assert!(finder.advance(&world.trace, &world.files, &mut || true));
        prop_assert_eq!(finder.version(), version);
        if !steps.is_empty() {
            prop_assert!(finder.known_until().all(|until| until == end));
        }
    }
}
