//! Function pointers that the driver hands out: swapped for stubs, so that static cudart, which finds all of
//! the driver through `cuGetProcAddress`, is seen too.
//!
//! The real function has been called with the caller's own arguments, and its status and `symbolStatus` stand.
//! Only a pointer that it found is changed.

use core::ffi::{CStr, c_char};
use umtui_wire::table::{self, FUNCTIONS};

use crate::arch::Frame;
use crate::objects::Object;
use crate::{arch, definitions, enter, slots, text};

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;

/// After a successful `cuGetProcAddress(name, pointer, version, flags, ...)` or a runtime function of the same
/// shape.
///
/// # Safety
/// `frame` is that call's frame.
pub unsafe fn swap(frame: &Frame, api: u16) {
    let [name, place, third, fourth, ..] = frame.registers;
    let (name, place) = (name as *const c_char, place as *mut usize);
    if name.is_null() || place.is_null() {
        return;
    }
    // SAFETY: the call succeeded, so its arguments were what it expects.
    let (name, found) = unsafe { (CStr::from_ptr(name), *place) };
    if found == 0 || arch::is_ours(found) || name == c"cuGetExportTable" {
        return;
    }
    if Object::at(frame.site as usize).is_some_and(|object| object.is_cuda_tool()) {
        return;
    }
    let function = FUNCTIONS.get(usize::from(api));
    let own = function.map_or(b"".as_slice(), |function| text::without_stream_suffix(function.name.as_bytes()));
    // cudaGetDriverEntryPoint(name, pointer, flags) goes by the runtime's own version, which its major decides.
    let (version, flags) = match own {
        b"cudaGetDriverEntryPoint" => {
            let first = function.map_or(0, |function| u32::from(function.majors.0));
            (first.max(12).wrapping_mul(1000), third)
        }
        _ => (third as u32, fourth),
    };
    if let Some(api) = selected(name.to_bytes(), version, flags) {
        // SAFETY: as above; the caller reads the pointer after we return.
        unsafe { *place = slots::stub(found, api) };
    }
}

/// The table's function for what the driver selects by name, version and flags.
fn selected(name: &[u8], version: u32, flags: u64) -> Option<u16> {
    let symbol = table::selected_symbol(name, version).map_or(name, str::as_bytes);
    if flags & PER_THREAD != 0 {
        for suffix in [b"_ptsz", b"_ptds"] {
            let mut suffixed = text::Path::<128>::new();
            suffixed.push(symbol).push(suffix);
            if let Some(index) = table::find(suffixed.as_bytes(), 0) {
                return u16::try_from(index).ok();
            }
        }
    }
    match table::find(symbol, 0) {
        Some(index) => u16::try_from(index).ok(),
        None if text::looks_like_cuda(name) => definitions::dynamic_api(name),
        None => None,
    }
    .filter(|_| enter::is_recording())
}
