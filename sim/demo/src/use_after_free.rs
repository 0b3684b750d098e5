//! `use-after-free`: memory that is freed in order of one stream while a kernel on another still reads it, and is handed out and
//! written again meanwhile. Beside it the same done right, with an event between.

use crate::Options;
use crate::cuda::{self, Handle, Kernel};
use crate::cuda_api;
use crate::nvtx::Range;
use std::ffi::c_void;

const MIB: usize = 1 << 20;
const RACED: usize = 2 * MIB;
const ORDERED: usize = MIB;
const OUTPUT: usize = 4096;
/// How long the kernels read, in nanoseconds: the second begins when the first has ended.
const ORDERED_READ: u64 = 500_000;
const RACED_READ: u64 = 3_000_000;
const ROUND_COLOR: u32 = 0xffd9_534f;

struct Streams {
    owner: Handle,
    reader: Handle,
    written: Handle,
    read: Handle,
    output: *mut c_void,
}

#[inline(never)]
fn build() -> Result<Streams, String> {
    Ok(Streams {
        owner: cuda_api::stream()?,
        reader: cuda_api::stream()?,
        written: cuda_api::event()?,
        read: cuda_api::event()?,
        output: cuda_api::device(OUTPUT)?,
    })
}

fn write(kernel: &'static Kernel, mut memory: *mut c_void, bytes: usize, on: Handle) -> Result<(), String> {
    let mut count = (bytes / 4) as u64;
    let mut params: [*mut c_void; 2] = [(&raw mut memory).cast(), (&raw mut count).cast()];
    // SAFETY: the kernel takes a float pointer and a count.
    unsafe { cuda::launch(kernel, bytes / 4, &mut params, on) }
}

fn read(streams: &Streams, mut memory: *mut c_void, mut nanoseconds: u64) -> Result<(), String> {
    let mut output = streams.output;
    let mut params: [*mut c_void; 3] =
        [(&raw mut memory).cast(), (&raw mut output).cast(), (&raw mut nanoseconds).cast()];
    // SAFETY: the kernel takes two float pointers and a number.
    unsafe { cuda::launch(&cuda::BUSY, 256, &mut params, streams.reader) }
}

#[inline(never)]
fn produce(streams: &Streams) -> Result<(*mut c_void, *mut c_void), String> {
    let raced = cuda_api::pool(RACED, streams.owner)?;
    let ordered = cuda_api::pool(ORDERED, streams.owner)?;
    write(&cuda::SCALE, raced, RACED, streams.owner)?;
    write(&cuda::SCALE, ordered, ORDERED, streams.owner)?;
    // SAFETY: handles of ours.
    unsafe {
        cuda::event_record(streams.written, streams.owner)?;
        cuda::stream_wait(streams.reader, streams.written, 0)?;
    }
    Ok((raced, ordered))
}

#[inline(never)]
fn consume(streams: &Streams, raced: *mut c_void, ordered: *mut c_void) -> Result<(), String> {
    read(streams, ordered, ORDERED_READ)?;
    // SAFETY: handles of ours.
    unsafe { cuda::event_record(streams.read, streams.reader) }?;
    read(streams, raced, RACED_READ)
}

/// The mistake: nothing makes the owner's stream wait for the reader.
#[inline(never)]
fn free_too_early(streams: &Streams, raced: *mut c_void) -> Result<(), String> {
    // SAFETY: the address is one of the pool's; the mistake is in the order alone.
    unsafe { cuda::free_async(raced, streams.owner) }
}

/// Gets the memory that was freed just now, and writes it.
#[inline(never)]
fn reuse(streams: &Streams) -> Result<*mut c_void, String> {
    let again = cuda_api::pool(RACED, streams.owner)?;
    write(&cuda::SCALE, again, RACED, streams.owner)?;
    Ok(again)
}

#[inline(never)]
fn free_in_order(streams: &Streams, ordered: *mut c_void, again: *mut c_void) -> Result<(), String> {
    // SAFETY: memory and handles of ours; the owner's stream waits for the one that reads.
    unsafe {
        cuda::stream_wait(streams.owner, streams.read, 0)?;
        cuda::free_async(ordered, streams.owner)?;
        cuda::free_async(again, streams.owner)
    }
}

#[inline(never)]
fn tear_down(streams: &Streams) -> Result<(), String> {
    // SAFETY: everything is ours, and used by nobody any more.
    unsafe {
        cuda::free(streams.output)?;
        cuda::event_destroy(streams.written)?;
        cuda::event_destroy(streams.read)?;
        cuda::stream_destroy(streams.owner)?;
        cuda::stream_destroy(streams.reader)
    }
}

/// Runs the scenario.
pub fn run(options: &Options) -> Result<String, String> {
    cuda::register();
    // SAFETY: device 0 exists or the call fails.
    unsafe { cuda::set_device(0) }?;
    let streams = build()?;
    let mut reused = 0;
    for round in 0..options.rounds {
        let _round = Range::numbered(c"round", ROUND_COLOR, round);
        let (raced, ordered) = produce(&streams)?;
        consume(&streams, raced, ordered)?;
        free_too_early(&streams, raced)?;
        let again = reuse(&streams)?;
        reused += u64::from(again == raced);
        free_in_order(&streams, ordered, again)?;
        // SAFETY: handles of ours.
        unsafe {
            cuda::stream_synchronize(streams.owner)?;
            cuda::stream_synchronize(streams.reader)?;
        }
    }
    tear_down(&streams)?;
    cuda::unregister();
    Ok(format!("use-after-free rounds {} reused {reused}", options.rounds))
}
