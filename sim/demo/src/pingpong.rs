//! `pingpong`: managed memory that goes to the device and comes back every round. `prefetch`: the same, with a prefetch to the
//! device before each kernel, and none back.

use crate::{Options, cuda};
use std::ffi::c_void;
use std::ptr::null_mut;

const BYTES: usize = 64 << 20;
const FLOATS: usize = BYTES / 4;
const PAGE_FLOATS: usize = 1024;

#[inline(never)]
fn allocate() -> Result<*mut f32, String> {
    let mut memory: *mut c_void = null_mut();
    // SAFETY: a valid out-pointer.
    unsafe { cuda::malloc_managed(&raw mut memory, BYTES, 1) }?;
    Ok(memory.cast())
}

#[inline(never)]
fn write_whole(memory: *mut f32, seed: u64) {
    for index in 0..FLOATS {
        // SAFETY: inside the allocation of FLOATS floats.
        unsafe { memory.add(index).write_volatile(((index as u64 ^ seed) & 1023) as f32) };
    }
}

#[inline(never)]
fn send_ahead(memory: *mut f32) -> Result<(), String> {
    // SAFETY: a managed allocation of BYTES bytes.
    unsafe { cuda::prefetch(memory.cast(), BYTES, null_mut()) }
}

#[inline(never)]
fn scale_on_device(mut memory: *mut f32) -> Result<(), String> {
    let mut count = FLOATS as u64;
    let mut params: [*mut c_void; 2] = [(&raw mut memory).cast(), (&raw mut count).cast()];
    // SAFETY: the kernel takes a float pointer and an unsigned long.
    unsafe { cuda::launch(&cuda::SCALE, FLOATS, &mut params, null_mut()) }
}

#[inline(never)]
fn wait() -> Result<(), String> {
    // SAFETY: no arguments.
    unsafe { cuda::synchronize() }
}

#[inline(never)]
fn touch_every_page(memory: *mut f32) -> f64 {
    let mut sum = 0.0;
    for index in (0..FLOATS).step_by(PAGE_FLOATS) {
        // SAFETY: inside the allocation; the device is idle.
        unsafe {
            let value = memory.add(index).read_volatile() + 1.0;
            memory.add(index).write_volatile(value);
            sum += f64::from(value);
        }
    }
    sum
}

/// Runs the scenario.
pub fn run(options: &Options, prefetch: bool) -> Result<String, String> {
    cuda::register();
    // SAFETY: device 0 exists or the call fails.
    unsafe { cuda::set_device(0) }?;
    let memory = allocate()?;
    write_whole(memory, options.seed);
    let mut sum = 0.0;
    for _ in 0..options.rounds {
        if prefetch {
            send_ahead(memory)?;
        }
        scale_on_device(memory)?;
        wait()?;
        sum = touch_every_page(memory);
    }
    // SAFETY: allocated above, used by nobody any more.
    unsafe { cuda::free(memory.cast()) }?;
    cuda::unregister();
    let name = if prefetch { "prefetch" } else { "pingpong" };
    Ok(format!("{name} rounds {} bytes {BYTES} checksum {sum}", options.rounds))
}
