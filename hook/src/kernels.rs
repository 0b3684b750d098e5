//! Names of kernels: asked of the driver once for each handle that is launched.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::{definitions, symbols, sys, text};

type GetName = unsafe extern "C" fn(*mut *const c_char, *mut c_void) -> i32;

/// Handles that have been asked about, with the generation of handles above them.
static SEEN: [AtomicU64; 16384] = [const { AtomicU64::new(0) }; 16384];
static GENERATION: AtomicU64 = AtomicU64::new(0);
const GENERATION_STEP: u64 = 1 << 48;

/// `cuKernelGetName` and `cuFuncGetName`; 1: looked for and not there.
static KERNEL_GET_NAME: AtomicUsize = AtomicUsize::new(0);
static FUNCTION_GET_NAME: AtomicUsize = AtomicUsize::new(0);

/// A handle is about to be launched, or was.
pub fn launched(handle: u64) {
    let key = handle.wrapping_add(GENERATION.load(Ordering::Relaxed));
    let index = text::mix(handle) as usize & SEEN.len().wrapping_sub(1);
    let Some(entry) = SEEN.get(index) else { return };
    if handle != 0 && entry.load(Ordering::Relaxed) != key && ask(handle) {
        entry.store(key, Ordering::Relaxed);
    }
}

/// Modules were unloaded: their handles may come again with other names.
pub fn unloaded() {
    GENERATION.fetch_add(GENERATION_STEP, Ordering::Relaxed);
}

/// Since CUDA 12 a launch may be given a `CUkernel` where the signature says `CUfunction`: each function
/// answers for its own kind of handle and refuses the other. Neither loads anything.
#[cold]
fn ask(handle: u64) -> bool {
    // The driver and the loader take locks that a handler which launches would wait for.
    let _held = sys::SignalsHeld::hold();
    for (place, symbol) in [(&KERNEL_GET_NAME, b"cuKernelGetName".as_slice()), (&FUNCTION_GET_NAME, b"cuFuncGetName")] {
        let Some(get) = function(place, symbol) else { continue };
        let mut name: *const c_char = core::ptr::null();
        // SAFETY: the driver's function; the handle is one that the program has just launched.
        let status = unsafe { get(&mut name, handle as *mut c_void) };
        if status == 0 && !name.is_null() {
            // SAFETY: the driver's C string, alive as long as its module.
            let name = definitions::string(unsafe { CStr::from_ptr(name) }.to_bytes());
            return name != 0 && definitions::kernel(handle, name);
        }
    }
    true
}

fn function(place: &AtomicUsize, symbol: &[u8]) -> Option<GetName> {
    let mut address = place.load(Ordering::Acquire);
    if address == 0 {
        address = symbols::of_library(b"libcuda.so.1", symbol).unwrap_or(1);
        place.store(address, Ordering::Release);
    }
    // SAFETY: the symbol's documented signature.
    (address != 1).then(|| unsafe { core::mem::transmute::<usize, GetName>(address) })
}

/// Nothing is written down yet.
pub fn forget() {
    unloaded();
}
