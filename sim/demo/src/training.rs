//! `training`: what a healthy training loop looks like. A main thread with three streams, and a thread `memory_monitor` that
//! polls the free memory. Copies come from pinned memory, pool memory is freed in order, and the host waits rarely. Each step is
//! an NVTX range with its parts inside.

use crate::Options;
use crate::cuda::{self, DEVICE_TO_HOST, HOST_TO_DEVICE, Handle, Kernel};
use crate::cuda_api;
use crate::nvtx::Range;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const LAYERS: usize = 3;
const FLOATS: usize = 1 << 18;
const BYTES: usize = FLOATS * 4;
const BUFFERS: usize = 2;
const LOSS_EVERY: u64 = 5;
const STEP_COLOR: u32 = 0xff76_b900;

/// Device memory and the pinned memory that feeds it, with the events that say when it is full and when it is read.
struct Batch {
    pinned: *mut c_void,
    device: *mut c_void,
    full: Handle,
    read: Handle,
}

struct Model {
    compute: Handle,
    copies: Handle,
    updates: Handle,
    weights: [*mut c_void; LAYERS],
    batches: [Batch; BUFFERS],
    loss: *mut c_void,
    loss_pinned: *mut c_void,
    updated: Handle,
    gradients: Handle,
}

fn launch(kernel: &'static Kernel, mut input: *mut c_void, mut output: *mut c_void, on: Handle) -> Result<(), String> {
    let mut count = FLOATS as u64;
    let mut params: [*mut c_void; 3] = [(&raw mut input).cast(), (&raw mut output).cast(), (&raw mut count).cast()];
    // SAFETY: the kernels take two float pointers and a count.
    unsafe { cuda::launch(kernel, FLOATS, &mut params, on) }
}

#[inline(never)]
fn build(seed: u64) -> Result<Model, String> {
    let (compute, copies, updates) = (cuda_api::stream()?, cuda_api::stream()?, cuda_api::stream()?);
    let mut weights = [null_mut(); LAYERS];
    for weight in &mut weights {
        *weight = cuda_api::device(BYTES)?;
        // SAFETY: BYTES bytes of device memory, a stream of ours.
        unsafe { cuda::memset_async(*weight, 0, BYTES, compute) }?;
    }
    let batch = || -> Result<Batch, String> {
        let pinned = cuda_api::pinned(BYTES)?;
        for index in 0..FLOATS {
            // SAFETY: inside the pinned allocation.
            unsafe { pinned.cast::<f32>().add(index).write(((index as u64 ^ seed) & 255) as f32) };
        }
        Ok(Batch { pinned, device: cuda_api::device(BYTES)?, full: cuda_api::event()?, read: cuda_api::event()? })
    };
    Ok(Model {
        compute,
        copies,
        updates,
        weights,
        batches: [batch()?, batch()?],
        loss: cuda_api::device(4)?,
        loss_pinned: cuda_api::pinned(4)?,
        updated: cuda_api::event()?,
        gradients: cuda_api::event()?,
    })
}

#[inline(never)]
fn load_batch(model: &Model, step: u64) -> Result<&Batch, String> {
    let batch = model.batches.get(step as usize % BUFFERS).ok_or("no batch")?;
    // SAFETY: handles and memory of this model.
    unsafe {
        cuda::stream_wait(model.copies, batch.read, 0)?;
        cuda::memcpy_async(batch.device, batch.pinned, BYTES, HOST_TO_DEVICE, model.copies)?;
        cuda::event_record(batch.full, model.copies)?;
        cuda::stream_wait(model.compute, batch.full, 0)?;
    }
    Ok(batch)
}

#[inline(never)]
fn forward(model: &Model, batch: &Batch) -> Result<Vec<*mut c_void>, String> {
    // SAFETY: handles of this model.
    unsafe { cuda::stream_wait(model.compute, model.updated, 0) }?;
    let mut activations = Vec::with_capacity(LAYERS);
    let mut input = batch.device;
    for _ in &model.weights {
        let output = cuda_api::pool(BYTES, model.compute)?;
        launch(&cuda::FORWARD, input, output, model.compute)?;
        activations.push(output);
        input = output;
    }
    // SAFETY: handles of this model.
    unsafe { cuda::event_record(batch.read, model.compute) }?;
    Ok(activations)
}

#[inline(never)]
fn backward(model: &Model, activations: &[*mut c_void]) -> Result<Vec<*mut c_void>, String> {
    let mut gradients = Vec::with_capacity(LAYERS);
    for activation in activations.iter().rev() {
        let gradient = cuda_api::pool(BYTES, model.compute)?;
        launch(&cuda::BACKWARD, *activation, gradient, model.compute)?;
        gradients.push(gradient);
        // SAFETY: pool memory of this step, its last use is queued.
        unsafe { cuda::free_async(*activation, model.compute) }?;
    }
    // SAFETY: handles of this model.
    unsafe { cuda::event_record(model.gradients, model.compute) }?;
    Ok(gradients)
}

#[inline(never)]
fn optimizer(model: &Model, gradients: &[*mut c_void]) -> Result<(), String> {
    // SAFETY: handles of this model.
    unsafe { cuda::stream_wait(model.updates, model.gradients, 0) }?;
    for (gradient, weight) in gradients.iter().zip(&model.weights) {
        launch(&cuda::OPTIMIZER, *gradient, *weight, model.updates)?;
        // SAFETY: pool memory of this step, its last use is queued on this stream.
        unsafe { cuda::free_async(*gradient, model.updates) }?;
    }
    // SAFETY: handles of this model.
    unsafe { cuda::event_record(model.updated, model.updates) }
}

#[inline(never)]
fn report_loss(model: &Model) -> Result<f32, String> {
    let (mut weight, mut loss, mut count) = (model.weights[0], model.loss, 1i32);
    let mut params: [*mut c_void; 3] = [(&raw mut weight).cast(), (&raw mut loss).cast(), (&raw mut count).cast()];
    // SAFETY: handles and memory of this model; the kernel takes two float pointers and an int.
    unsafe {
        cuda::launch(&cuda::LOSS, 1, &mut params, model.updates)?;
        cuda::memcpy_async(model.loss_pinned, model.loss, 4, DEVICE_TO_HOST, model.updates)?;
        cuda::stream_synchronize(model.updates)?;
        Ok(model.loss_pinned.cast::<f32>().read())
    }
}

#[inline(never)]
fn tear_down(model: Model) -> Result<(), String> {
    // SAFETY: everything is this model's, and used by nobody once its streams are idle.
    unsafe {
        for stream in [model.copies, model.compute, model.updates] {
            cuda::stream_synchronize(stream)?;
        }
        for batch in &model.batches {
            cuda::free_host(batch.pinned)?;
            cuda::free(batch.device)?;
            cuda::event_destroy(batch.full)?;
            cuda::event_destroy(batch.read)?;
        }
        for weight in model.weights {
            cuda::free(weight)?;
        }
        cuda::free(model.loss)?;
        cuda::free_host(model.loss_pinned)?;
        cuda::event_destroy(model.updated)?;
        cuda::event_destroy(model.gradients)?;
        for stream in [model.copies, model.compute, model.updates] {
            cuda::stream_destroy(stream)?;
        }
    }
    Ok(())
}

fn monitor(done: &AtomicBool, polls: &AtomicU64) -> Result<(), String> {
    // SAFETY: a NUL-ended name of this thread.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), c"memory_monitor".as_ptr()) };
    while !done.load(Ordering::Acquire) {
        let (mut free, mut total) = (0, 0);
        // SAFETY: valid out-pointers.
        unsafe { cuda::mem_info(&raw mut free, &raw mut total) }?;
        polls.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn train(options: &Options) -> Result<f32, String> {
    let model = build(options.seed)?;
    let mut loss = 0.0;
    for step in 0..options.rounds {
        let _step = Range::numbered(c"step", STEP_COLOR, step);
        let batch = load_batch(&model, step)?;
        let activations = {
            let _range = Range::new(c"forward");
            forward(&model, batch)?
        };
        let gradients = {
            let _range = Range::new(c"backward");
            backward(&model, &activations)?
        };
        {
            let _range = Range::new(c"optimizer");
            optimizer(&model, &gradients)?;
        }
        if (step + 1) % LOSS_EVERY == 0 {
            loss = report_loss(&model)?;
        }
    }
    tear_down(model)?;
    Ok(loss)
}

/// Runs the scenario.
pub fn run(options: &Options) -> Result<String, String> {
    cuda::register();
    // SAFETY: device 0 exists or the call fails.
    unsafe { cuda::set_device(0) }?;
    let (done, polls) = (AtomicBool::new(false), AtomicU64::new(0));
    let loss = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| monitor(&done, &polls));
        let loss = train(options);
        done.store(true, Ordering::Release);
        match watcher.join() {
            Ok(watched) => watched.and(loss),
            Err(_) => Err("the monitor thread failed".to_owned()),
        }
    })?;
    cuda::unregister();
    let polls = polls.load(Ordering::Relaxed);
    Ok(format!("training steps {} polls {polls} loss {loss}", options.rounds))
}
