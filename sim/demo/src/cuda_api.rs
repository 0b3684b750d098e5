//! Streams, events and memory of the kinds that the workloads use.
//!
//! All of it is inlined, and by this file's name taken for CUDA's own: the function that asks for memory is its call site.

use crate::cuda::{self, Handle};
use std::ffi::c_void;
use std::ptr::null_mut;

const NON_BLOCKING: u32 = 1;
const NO_TIMING: u32 = 2;
const ATTACH_GLOBAL: u32 = 1;

/// An event without times.
#[inline(always)]
pub fn event() -> Result<Handle, String> {
    let mut event = null_mut();
    // SAFETY: a valid out-pointer.
    unsafe { cuda::event_create(&raw mut event, NO_TIMING) }?;
    Ok(event)
}

/// A stream that does not wait for the default one.
#[inline(always)]
pub fn stream() -> Result<Handle, String> {
    let mut stream = null_mut();
    // SAFETY: a valid out-pointer.
    unsafe { cuda::stream_create(&raw mut stream, NON_BLOCKING) }?;
    Ok(stream)
}

/// Memory of the current device.
#[inline(always)]
pub fn device(bytes: usize) -> Result<*mut c_void, String> {
    let mut memory = null_mut();
    // SAFETY: a valid out-pointer.
    unsafe { cuda::malloc(&raw mut memory, bytes) }?;
    Ok(memory)
}

/// Page-locked memory of the host.
#[inline(always)]
pub fn pinned(bytes: usize) -> Result<*mut c_void, String> {
    let mut memory = null_mut();
    // SAFETY: a valid out-pointer.
    unsafe { cuda::malloc_host(&raw mut memory, bytes) }?;
    Ok(memory)
}

/// Memory of the device's pool, in order of a stream.
#[inline(always)]
pub fn pool(bytes: usize, stream: Handle) -> Result<*mut c_void, String> {
    let mut memory = null_mut();
    // SAFETY: a valid out-pointer, a stream of ours.
    unsafe { cuda::malloc_async(&raw mut memory, bytes, stream) }?;
    Ok(memory)
}

/// Managed memory.
#[inline(always)]
pub fn managed(bytes: usize) -> Result<*mut c_void, String> {
    let mut memory = null_mut();
    // SAFETY: a valid out-pointer.
    unsafe { cuda::malloc_managed(&raw mut memory, bytes, ATTACH_GLOBAL) }?;
    Ok(memory)
}
