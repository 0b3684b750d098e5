//! What the runtime keeps for each thread: the chosen device, the bound context, the last error.

use crate::abi::{Error, Handle, code};
use crate::driver::{self, Driver, call};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const DEVICES: usize = 64;

thread_local! {
    static DEVICE: Cell<c_int> = const { Cell::new(-1) };
    static BOUND: Cell<u32> = const { Cell::new(0) };
    static LAST: Cell<Error> = const { Cell::new(0) };
}

/// Grows with every `cudaDeviceReset`, so that each thread binds anew.
static GENERATION: AtomicU32 = AtomicU32::new(1);
/// Primary contexts retained so far.
static PRIMARIES: Mutex<[usize; DEVICES]> = Mutex::new([0; DEVICES]);

/// A lock that a panic elsewhere does not spoil.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a runtime call: a failure becomes the thread's last error.
#[inline]
pub fn finish(result: Result<(), Error>) -> Error {
    match result {
        Ok(()) => 0,
        Err(error) => {
            LAST.set(error);
            error
        }
    }
}

/// Runs the body of a runtime call and ends it.
#[inline(always)]
pub fn run(body: impl FnOnce() -> Result<(), Error>) -> Error {
    finish(body())
}

/// Errors that leave the context broken: they cannot be cleared.
const fn sticky(error: Error) -> bool {
    matches!(error, 214 | 700 | 714..=719)
}

/// `cudaGetLastError`: gives it and forgets it, unless the context is broken.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> Error {
    let last = LAST.get();
    if !sticky(last) {
        LAST.set(0);
    }
    last
}

/// `cudaPeekAtLastError`.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> Error {
    LAST.get()
}

/// The thread's device.
pub fn device() -> c_int {
    DEVICE.get().max(0)
}

/// The driver with a context bound to this thread.
#[inline]
pub fn ready() -> Result<&'static Driver, Error> {
    let driver = driver::get()?;
    if BOUND.get() != GENERATION.load(Ordering::Acquire) {
        bind(driver)?;
    }
    Ok(driver)
}

fn primary(driver: &Driver, device: c_int) -> Result<usize, Error> {
    let mut primaries = lock(&PRIMARIES);
    let slot = usize::try_from(device).ok().and_then(|d| primaries.get_mut(d)).ok_or(code::INVALID_DEVICE)?;
    if *slot == 0 {
        let mut context: Handle = std::ptr::null_mut();
        // SAFETY: a valid out-pointer.
        unsafe { call!(driver.common, primary_retain(&raw mut context, device)) }?;
        *slot = context as usize;
    }
    Ok(*slot)
}

#[cold]
fn bind(driver: &Driver) -> Result<(), Error> {
    let generation = GENERATION.load(Ordering::Acquire);
    // A context that the program made current through the driver API is used as it is.
    if DEVICE.get() < 0 {
        let (mut context, mut device): (Handle, c_int) = (std::ptr::null_mut(), 0);
        // SAFETY: valid out-pointers.
        let known = unsafe {
            call!(driver.common, get_current(&raw mut context)).is_ok()
                && !context.is_null()
                && call!(driver.common, context_device(&raw mut device)).is_ok()
        };
        if known {
            DEVICE.set(device);
            BOUND.set(generation);
            return Ok(());
        }
    }
    let context = primary(driver, device())?;
    // SAFETY: a context of the driver's.
    unsafe { call!(driver.common, set_current(context as Handle)) }?;
    DEVICE.set(device());
    BOUND.set(generation);
    Ok(())
}

/// `cudaSetDevice`: since CUDA 12 it makes the primary context at once.
pub fn select(device: c_int) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut count = 0;
    // SAFETY: a valid out-pointer.
    unsafe { call!(driver.common, device_count(&raw mut count)) }?;
    if !(0..count).contains(&device) {
        return Err(code::INVALID_DEVICE);
    }
    let context = primary(driver, device)?;
    // SAFETY: a context of the driver's.
    unsafe { call!(driver.common, set_current(context as Handle)) }?;
    DEVICE.set(device);
    BOUND.set(GENERATION.load(Ordering::Acquire));
    Ok(())
}

/// `cudaDeviceReset`.
pub fn reset() -> Result<(), Error> {
    let driver = driver::get()?;
    let device = device();
    let mut primaries = lock(&PRIMARIES);
    // SAFETY: a device of the driver's.
    unsafe { call!(driver.common, primary_reset(device)) }?;
    if let Some(slot) = usize::try_from(device).ok().and_then(|d| primaries.get_mut(d)) {
        *slot = 0;
    }
    GENERATION.fetch_add(1, Ordering::AcqRel);
    Ok(())
}
