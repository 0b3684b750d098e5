//! Names of kernels: interned once, not for each launch.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};

use crate::{definitions, memory, text};

/// The string id of a name that is asked for rarely.
///
/// # Safety
/// As [`name`].
pub unsafe fn rare(address: u64) -> u32 {
    if address == 0 || !memory::is_mapped(address) {
        return 0;
    }
    // SAFETY: as the caller says.
    unsafe { definitions::c_string(address as *const c_char) }
}

/// Names of kernels by where they lie, so that a name is not hashed for each launch.
struct Names(UnsafeCell<[(u64, u64, u32); 256]>);
// SAFETY: used by the collector alone, one thread at a time.
unsafe impl Sync for Names {}
static NAMES: Names = Names(UnsafeCell::new([(0, 0, 0); 256]));

/// The string id of the name at an address, by [`crate::definitions`] if it is not the one that was there before.
///
/// # Safety
/// Null, a C string, or no address of this process; only one thread at a time may ask.
pub unsafe fn name(address: u64) -> u32 {
    // SAFETY: as the caller says.
    let names = unsafe { &mut *NAMES.0.get() };
    let place = text::mix(address) as usize & names.len().wrapping_sub(1);
    let Some(known) = names.get_mut(place) else { return 0 };
    // Asked of the kernel only where nothing was read before.
    if address == 0 || known.0 != address && !memory::is_mapped(address) {
        return 0;
    }
    // SAFETY: as the caller says, and there is something.
    let bytes = unsafe { CStr::from_ptr(address as *const c_char) }.to_bytes();
    // The beginning and the length tell a name that has taken another's place in nearly all cases; kernels of one
    // template differ behind the beginning, so the end counts too.
    let print =
        bytes.len() as u64
            ^ bytes.iter().rev().take(24).chain(bytes.iter().take(8)).fold(0xcbf2_9ce4_8422_2325, |sum: u64, &byte| {
                (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
    let print = print ^ u64::from(definitions::generation()).wrapping_shl(48);
    if known.0 != address || known.1 != print || known.2 == 0 {
        *known = (address, print, definitions::string(bytes));
    }
    known.2
}
