//! `leak`: a training loop that keeps something of each step and never frees it, from one call site. Everything else is as large
//! at the end of a step as at its beginning.

use crate::Options;
use crate::cuda::{self, DEVICE_TO_DEVICE, HOST_TO_DEVICE, Handle};
use crate::cuda_api;
use crate::nvtx::Range;
use std::ffi::c_void;

const MIB: usize = 1 << 20;
/// Weights, as long as the program runs.
const WEIGHTS: usize = 8 * MIB;
/// A batch: pinned memory and the device's.
const BATCH: usize = MIB;
/// Activations of a step, freed in it.
const ACTIVATIONS: usize = 2 * MIB;
/// What each step leaves behind. Not a multiple of what a device gives out, so that sizes asked for can be told from those given.
const HISTORY: usize = 200_000;
/// How long a step keeps the device busy, in nanoseconds.
const STEP_NS: u64 = 8_000_000;
const STEP_COLOR: u32 = 0xff76_b900;

struct Model {
    stream: Handle,
    weights: *mut c_void,
    batch: *mut c_void,
    batch_pinned: *mut c_void,
}

#[inline(never)]
fn build() -> Result<Model, String> {
    let model = Model {
        stream: cuda_api::stream()?,
        weights: cuda_api::device(WEIGHTS)?,
        batch: cuda_api::device(BATCH)?,
        batch_pinned: cuda_api::pinned(BATCH)?,
    };
    // SAFETY: memory and stream of this model.
    unsafe { cuda::memset_async(model.weights, 0, WEIGHTS, model.stream) }?;
    Ok(model)
}

#[inline(never)]
fn load_batch(model: &Model) -> Result<(), String> {
    // SAFETY: memory and stream of this model.
    unsafe { cuda::memcpy_async(model.batch, model.batch_pinned, BATCH, HOST_TO_DEVICE, model.stream) }
}

#[inline(never)]
fn forward(model: &Model) -> Result<*mut c_void, String> {
    let mut activations = cuda_api::pool(ACTIVATIONS, model.stream)?;
    let (mut input, mut count) = (model.batch, (BATCH / 4) as u64);
    let mut params: [*mut c_void; 3] =
        [(&raw mut input).cast(), (&raw mut activations).cast(), (&raw mut count).cast()];
    // SAFETY: the kernel takes two float pointers and a count.
    unsafe { cuda::launch(&cuda::FORWARD, BATCH / 4, &mut params, model.stream) }?;
    let (mut loss, mut nanoseconds) = (model.batch, STEP_NS);
    let mut params: [*mut c_void; 3] =
        [(&raw mut activations).cast(), (&raw mut loss).cast(), (&raw mut nanoseconds).cast()];
    // SAFETY: the kernel takes two float pointers and a number.
    unsafe { cuda::launch(&cuda::BUSY, BATCH / 4, &mut params, model.stream) }?;
    Ok(activations)
}

/// Keeps the loss of a step on the device, where nobody ever asks for it.
#[inline(never)]
fn remember_loss(model: &Model, activations: *mut c_void) -> Result<(), String> {
    let history = cuda_api::device(HISTORY)?;
    // SAFETY: both have more than four bytes; a stream of ours.
    unsafe { cuda::memcpy_async(history, activations, 4, DEVICE_TO_DEVICE, model.stream) }
}

#[inline(never)]
fn tear_down(model: &Model) -> Result<(), String> {
    // SAFETY: everything is this model's, and used by nobody any more.
    unsafe {
        cuda::stream_synchronize(model.stream)?;
        cuda::free(model.weights)?;
        cuda::free(model.batch)?;
        cuda::free_host(model.batch_pinned)?;
        cuda::stream_destroy(model.stream)
    }
}

/// Runs the scenario.
pub fn run(options: &Options) -> Result<String, String> {
    cuda::register();
    // SAFETY: device 0 exists or the call fails.
    unsafe { cuda::set_device(0) }?;
    let model = build()?;
    for step in 0..options.rounds {
        let _step = Range::numbered(c"step", STEP_COLOR, step);
        load_batch(&model)?;
        let activations = {
            let _range = Range::new(c"forward");
            forward(&model)?
        };
        remember_loss(&model, activations)?;
        // SAFETY: pool memory of this step, its last use is queued; a stream of ours.
        unsafe {
            cuda::free_async(activations, model.stream)?;
            cuda::stream_synchronize(model.stream)?;
        }
    }
    tear_down(&model)?;
    cuda::unregister();
    Ok(format!("leak steps {} bytes {}", options.rounds, options.rounds * HISTORY as u64))
}
