//! The operations that streams run, and their running.

use crate::abi::{HostFn, Result32, StreamCallback};
use crate::activity;
use crate::config;
use crate::context;
use crate::counters::{self, Event, kind};
use crate::event::Record;
use crate::kernel::{self, Launch};
use crate::managed;
use crate::residency::{HOST, Place, device};
use crate::stream::Stream;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// CUPTI's kind of ordinary host memory.
pub const PAGEABLE: u8 = 1;

/// A copy of rows and slices; plain copies have one of each. Addresses are the program's.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub dst: usize,
    pub src: usize,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub dst_pitch: usize,
    pub src_pitch: usize,
    pub dst_slice: usize,
    pub src_slice: usize,
    pub from: Place,
    pub to: Place,
    /// CUPTI's kinds of the memory read and written.
    pub memory: [u8; 2],
}

impl Copy {
    /// Bytes in all.
    pub fn bytes(&self) -> usize {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
    }

    /// Whether a side is ordinary host memory.
    pub fn pageable(&self) -> bool {
        self.memory.contains(&PAGEABLE)
    }
}

/// A fill of rows with a 1, 2 or 4 byte pattern.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    pub dst: usize,
    pub pitch: usize,
    pub value: u32,
    pub element: usize,
    /// Elements a row.
    pub width: usize,
    pub height: usize,
    /// CUPTI's kind of the memory.
    pub memory: u8,
}

/// One operation.
#[derive(Clone)]
pub enum Op {
    /// Only an order.
    Nothing,
    /// The memory there is a graph's from here on; it has its place all the time.
    Allocate(usize),
    /// Until here.
    Free,
    Copy(Copy),
    Set(Set),
    Kernel(Arc<Launch>),
    /// A host function and its argument.
    Host(HostFn, usize),
    /// A stream callback with the stream's handle and its argument.
    Callback(StreamCallback, usize, usize),
    Record(Arc<Record>),
    Prefetch {
        address: usize,
        bytes: usize,
        to: Place,
    },
    /// Writes a 4 or 8 byte word.
    Write {
        address: usize,
        value: u64,
        wide: bool,
    },
    /// Waits until a word compares: `>=`, `==`, `&`.
    Await {
        address: usize,
        value: u64,
        wide: bool,
        how: u32,
    },
    /// A graph's operations, in an order that its edges allow.
    Many(Arc<Vec<Op>>),
    /// A launch of a graph, with its number.
    Graph(Arc<Vec<Op>>, u32),
}

/// Where an operation runs.
#[derive(Clone, Copy)]
pub struct Env {
    pub stream: u32,
    pub context: u32,
    pub context_handle: usize,
    pub device: usize,
    pub correlation: u32,
    /// The call does not wait for it.
    pub asynchronous: bool,
    /// The graph and the node there, zero outside of graphs.
    pub graph: u32,
    pub node: u64,
}

impl Env {
    /// The surroundings of a stream.
    pub fn of(stream: &Stream, correlation: u32) -> Self {
        let context_handle = stream.context.load(Ordering::Relaxed);
        let context = context::lookup(context_handle);
        Self {
            stream: stream.id.load(Ordering::Relaxed),
            context: context.map_or(0, |c| c.id.load(Ordering::Relaxed)),
            context_handle,
            device: context.map_or(0, |c| c.device.load(Ordering::Relaxed)),
            correlation,
            asynchronous: true,
            graph: 0,
            node: 0,
        }
    }

    /// A record with these surroundings.
    pub fn record(&self, kind: u32, start: u64, end: u64) -> Event {
        Event {
            start,
            end,
            device: self.device as u32,
            context: self.context,
            stream: self.stream,
            correlation: self.correlation,
            asynchronous: u8::from(self.asynchronous),
            graph: self.graph,
            node: self.node,
            ..Event::new(kind)
        }
    }

    fn fail(&self, error: Result32) {
        if let Some(context) = context::lookup(self.context_handle) {
            context.error.store(error, Ordering::Relaxed);
        }
    }
}

/// Runs an operation on the calling thread.
pub fn run(op: &Op, env: &Env) {
    let start = config::now();
    match op {
        Op::Nothing | Op::Allocate(_) | Op::Free => {}
        Op::Copy(copy) => run_copy(copy, env, start),
        Op::Set(set) => run_set(set, env, start),
        Op::Kernel(launch) => {
            if let Err(error) = kernel::run(launch, env, start) {
                env.fail(error);
            }
        }
        Op::Host(function, user) => {
            // SAFETY: the program asked for this call with this argument.
            unsafe { function(*user as *mut c_void) };
            counters::emit(&env.record(kind::HOST_FUNCTION, start, config::now()));
        }
        Op::Callback(function, stream, user) => {
            // SAFETY: as above.
            unsafe { function(*stream as *mut c_void, 0, *user as *mut c_void) };
            counters::emit(&env.record(kind::HOST_FUNCTION, start, config::now()));
        }
        Op::Record(record) => record.reach(env),
        Op::Prefetch { address, bytes, to } => {
            let moved = managed::prefetch(*address, *bytes, *to);
            config::pass(start, moved / 25);
        }
        Op::Write { address, value, wide } => {
            let target = managed::view(*address);
            // SAFETY: the call that queued this checked that the address is known and aligned.
            unsafe {
                if *wide {
                    (target as *mut u64).write_volatile(*value);
                } else {
                    (target as *mut u32).write_volatile(*value as u32);
                }
            }
        }
        Op::Await { address, value, wide, how } => await_word(*address, *value, *wide, *how),
        Op::Many(ops) => run_nodes(ops, env, 16),
        Op::Graph(ops, graph) => {
            run_nodes(ops, &Env { graph: *graph, node: u64::from(*graph) << 32, ..*env }, 0);
            activity::tell(&Event { graph: *graph, ..env.record(kind::GRAPH, start, config::now()) });
        }
    }
}

/// Nodes have their graph's number above, a child graph's nodes their parent's below that.
fn run_nodes(ops: &[Op], env: &Env, shift: u32) {
    for (index, op) in ops.iter().enumerate() {
        run(op, &Env { node: env.node.wrapping_add((index as u64 + 1) << shift), ..*env });
    }
}

fn await_word(address: usize, value: u64, wide: bool, how: u32) {
    let target = managed::view(address);
    loop {
        // SAFETY: as for `Op::Write`.
        let now = unsafe {
            if wide {
                (target as *const u64).read_volatile()
            } else {
                u64::from((target as *const u32).read_volatile())
            }
        };
        let reached = match how & 3 {
            0 if wide => now.wrapping_sub(value) as i64 >= 0,
            0 => (now as u32).wrapping_sub(value as u32) as i32 >= 0,
            1 => now == value,
            2 => now & value != 0,
            _ => !(now | value) != 0,
        };
        if reached {
            return;
        }
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}

/// Pages of managed memory that a copy or set is the first to write get their memory on the device.
fn run_copy(copy: &Copy, env: &Env, start: u64) {
    let (dst, src) = (managed::view(copy.dst), managed::view(copy.src));
    if copy.width == copy.dst_pitch && copy.width == copy.src_pitch && copy.depth == 1 {
        // SAFETY: the program vouches for both ranges, as it does to the real driver; they may overlap.
        unsafe { std::ptr::copy(src as *const u8, dst as *mut u8, copy.width.saturating_mul(copy.height)) };
    } else {
        for slice in 0..copy.depth {
            for row in 0..copy.height {
                let from = src + slice * copy.src_slice + row * copy.src_pitch;
                let to = dst + slice * copy.dst_slice + row * copy.dst_pitch;
                // SAFETY: as above, row by row.
                unsafe { std::ptr::copy(from as *const u8, to as *mut u8, copy.width) };
            }
        }
    }
    let bytes = copy.bytes() as u64;
    // Bytes a nanosecond: the link with pinned memory, half of it with pageable, the link between devices or half of the host's
    // where neither may access the other, or the device's own memory.
    let rate = match (copy.from, copy.to) {
        (HOST, HOST) => 20,
        (HOST, _) | (_, HOST) if copy.pageable() => 12,
        (HOST, _) | (_, HOST) => 25,
        (from, to) if from != to && context::peers(from, to) => 200,
        (from, to) if from != to => 12,
        _ => 1_500,
    };
    let end = config::pass(start, 1_500 + bytes / rate);
    match (copy.from, copy.to) {
        // Neither may access the other: the driver goes through pinned memory of its own, and both halves are told.
        (from, to) if from != HOST && to != HOST && from != to && !context::peers(from, to) => {
            let half = start + (end - start) / 2;
            tell_copy(copy, env, (from, HOST), (start, half));
            tell_copy(copy, env, (HOST, to), (half, end));
        }
        places => tell_copy(copy, env, places, (start, end)),
    }
}

/// Tells of a copy, or of half of one.
fn tell_copy(copy: &Copy, env: &Env, (from, to): (Place, Place), (start, end): (u64, u64)) {
    let way = match (from, to) {
        (HOST, HOST) => 0,
        (HOST, _) => 1,
        (_, HOST) => 2,
        _ => 3,
    };
    let is_half = (from, to) != (copy.from, copy.to);
    let (pinned, [read, written]) = (2, copy.memory);
    let record = env.record(kind::COPY, start, end);
    counters::emit(&Event {
        address: copy.dst as u64,
        bytes: copy.bytes() as u64,
        src: i32::from(from) - 1,
        dst: i32::from(to) - 1,
        value: way,
        access: u32::from(copy.pageable()),
        memory: match (is_half, to) {
            (false, _) => copy.memory,
            (true, HOST) => [read, pinned],
            (true, _) => [pinned, written],
        },
        device: if is_half { u32::from(from.max(to)) - 1 } else { record.device },
        ..record
    });
}

fn run_set(set: &Set, env: &Env, start: u64) {
    let row = set.width.saturating_mul(set.element);
    let span = set.pitch.saturating_mul(set.height.saturating_sub(1)).saturating_add(row);
    let place = device(env.device);
    let mut moved = 0;
    if managed::is_managed(set.dst) {
        moved = managed::device_touch(place, set.dst, span, true);
    }
    let dst = managed::view(set.dst);
    for index in 0..set.height {
        let at = dst + index * set.pitch;
        // SAFETY: the program vouches for the range, as it does to the real driver.
        unsafe {
            match set.element {
                1 => std::ptr::write_bytes(at as *mut u8, set.value as u8, set.width),
                2 => (0..set.width).for_each(|i| (at as *mut u16).add(i).write_unaligned(set.value as u16)),
                _ => (0..set.width).for_each(|i| (at as *mut u32).add(i).write_unaligned(set.value)),
            }
        }
    }
    let bytes = row.saturating_mul(set.height) as u64;
    let end = config::pass(start, 1_500 + bytes / 2_000 + moved / 25);
    counters::emit(&Event {
        address: set.dst as u64,
        bytes,
        dst: env.device as i32,
        value: u64::from(set.value),
        memory: [set.memory; 2],
        ..env.record(kind::SET, start, end)
    });
}
