//! Kernels: their names and the layout of their parameters, asked of the driver once for each handle that is launched.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use umtui_wire::activity::{POINTERS_CUT, POINTERS_MAX};
use umtui_wire::table::{FIRST_STACK_WORD, REGISTER_WORDS};

use crate::arch::Frame;
use crate::{definitions, slots, symbols, sys, text};

type GetName = unsafe extern "C" fn(*mut *const c_char, *mut c_void) -> i32;
type GetParameter = unsafe extern "C" fn(*mut c_void, usize, *mut usize, *mut usize) -> i32;

/// Handles that have been asked about, with the generation of handles above them.
static SEEN: [AtomicU64; 16384] = [const { AtomicU64::new(0) }; 16384];
/// Where the parameters of each are described in [`PARAMETERS`]: first << 8 | how many.
static LAYOUTS: [AtomicU32; 16384] = [const { AtomicU32::new(0) }; 16384];
/// Offset << 16 | bytes of a parameter. Its pages are used as far as it is filled; when it is full, further kernels have
/// no pointers told.
static PARAMETERS: [AtomicU32; 131_072] = [const { AtomicU32::new(0) }; 131_072];
static PARAMETERS_USED: AtomicUsize = AtomicUsize::new(0);
/// Most parameters of a kernel that are looked at.
const PARAMETERS_MAX: usize = 128;
static GENERATION: AtomicU64 = AtomicU64::new(0);
const GENERATION_STEP: u64 = 1 << 48;

/// `cuKernelGetName` and `cuFuncGetName`; 1: looked for and not there.
static KERNEL_GET_NAME: AtomicUsize = AtomicUsize::new(0);
static FUNCTION_GET_NAME: AtomicUsize = AtomicUsize::new(0);
/// `cuKernelGetParamInfo` and `cuFuncGetParamInfo`, since CUDA 12.4.
static KERNEL_GET_PARAMETER: AtomicUsize = AtomicUsize::new(0);
static FUNCTION_GET_PARAMETER: AtomicUsize = AtomicUsize::new(0);

/// Whether there is nothing to be asked about a handle.
#[inline]
pub fn is_known(handle: u64) -> bool {
    let key = handle.wrapping_add(GENERATION.load(Ordering::Relaxed));
    let index = text::mix(handle) as usize & SEEN.len().wrapping_sub(1);
    handle == 0 || SEEN.get(index).is_none_or(|entry| entry.load(Ordering::Relaxed) == key)
}

/// A handle is about to be launched, or was.
pub fn launched(handle: u64) {
    let key = handle.wrapping_add(GENERATION.load(Ordering::Relaxed));
    let index = text::mix(handle) as usize & SEEN.len().wrapping_sub(1);
    if !is_known(handle)
        && ask(handle)
        && let Some(entry) = SEEN.get(index)
    {
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
    describe(handle);
    for (place, symbol) in [(&KERNEL_GET_NAME, b"cuKernelGetName".as_slice()), (&FUNCTION_GET_NAME, b"cuFuncGetName")] {
        // SAFETY: the symbol's documented signature.
        let Some(get) = (unsafe { function::<GetName>(place, symbol) }) else { continue };
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

/// # Safety
/// The driver's function of this name has this type.
unsafe fn function<F: Copy>(place: &AtomicUsize, symbol: &[u8]) -> Option<F> {
    let mut address = place.load(Ordering::Acquire);
    if address == 0 {
        address = symbols::of_library(b"libcuda.so.1", symbol).unwrap_or(1);
        place.store(address, Ordering::Release);
    }
    // SAFETY: as the caller says; a function pointer is an address.
    (address != 1).then(|| unsafe { core::mem::transmute_copy::<usize, F>(&address) })
}

/// The driver's functions that tell of a kernel's parameters.
static PARAMETER_GETTERS: [(&AtomicUsize, &[u8]); 2] =
    [(&KERNEL_GET_PARAMETER, b"cuKernelGetParamInfo"), (&FUNCTION_GET_PARAMETER, b"cuFuncGetParamInfo")];

/// Whether the driver tells of the parameters of kernels.
pub fn tell_parameters() -> bool {
    PARAMETER_GETTERS.iter().any(|(place, symbol)| {
        // SAFETY: the symbols' documented signature.
        unsafe { function::<GetParameter>(place, symbol) }.is_some()
    })
}

/// Writes down where each parameter of a kernel lies. It has been launched, so asking loads nothing.
fn describe(handle: u64) {
    let Some(layout) = LAYOUTS.get(text::mix(handle) as usize & LAYOUTS.len().wrapping_sub(1)) else { return };
    layout.store(0, Ordering::Relaxed);
    for (place, symbol) in PARAMETER_GETTERS {
        // SAFETY: the symbol's documented signature.
        let Some(get) = (unsafe { function::<GetParameter>(place, symbol) }) else { continue };
        let mut found = [0u32; PARAMETERS_MAX];
        let mut count = 0usize;
        for (index, parameter) in found.iter_mut().enumerate() {
            let (mut offset, mut bytes) = (0usize, 0usize);
            // SAFETY: as above; past the last parameter it says so.
            if unsafe { get(handle as *mut c_void, index, &mut offset, &mut bytes) } != 0 {
                break;
            }
            *parameter = (offset.min(0xffff) as u32).wrapping_shl(16) | bytes.min(0xffff) as u32;
            count = index.wrapping_add(1);
        }
        if count == 0 {
            continue;
        }
        let first = PARAMETERS_USED.fetch_add(count, Ordering::Relaxed);
        let Some(places) = PARAMETERS.get(first..first.saturating_add(count)) else { return };
        for (place, parameter) in places.iter().zip(found) {
            place.store(parameter, Ordering::Relaxed);
        }
        layout.store((first as u32).wrapping_shl(8) | count as u32, Ordering::Release);
        return;
    }
}

/// The pointers among the parameters of a launch that has succeeded: how many there are, and [`POINTERS_CUT`] if there were
/// more than fit.
///
/// # Safety
/// `frame` is that of a call whose slot has these flags.
pub unsafe fn pointers(frame: &Frame, flags: u8, found: &mut [u64]) -> u16 {
    let [first, second, ..] = frame.registers;
    let (handle, parameters) = if flags & slots::ACTION_LAUNCH != 0 {
        (first, 9)
    } else if flags & slots::ACTION_LAUNCH_EX != 0 {
        (second, 2)
    } else {
        return 0;
    };
    // SAFETY: the call's own arguments; the driver has read what they point to.
    unsafe { among(handle, argument(frame, parameters), argument(frame, parameters.wrapping_add(1)), found) }
}

/// `CU_GRAPH_NODE_TYPE_KERNEL`.
const TYPE_KERNEL: u32 = 0;
/// Words of `CUgraphNodeParams` before what is of the node's type.
const BEFORE_PARAMS: usize = 2;

/// Likewise of a call that has given a kernel to a graph: an argument points to `CUDA_KERNEL_NODE_PARAMS`, or to
/// `CUgraphNodeParams`, which may be those of another node. Only of a kernel that was launched before it is known what its
/// parameters are: to ask earlier might load it.
///
/// # Safety
/// `frame` is that of a call that has succeeded; `also` is its slot's, with `NODE` or `CHANGES_NODE`.
pub unsafe fn pointers_of_node(frame: &Frame, also: u8, found: &mut [u64]) -> u16 {
    let number: usize = if also & slots::NODE == 0 { 2 } else { 4 };
    let number = number.wrapping_add(usize::from(also & slots::WITH_EDGES != 0));
    // SAFETY: as the caller says; the driver has read the structure.
    unsafe {
        let mut node = argument(frame, number) as *const u64;
        if node.is_null() {
            return 0;
        }
        if also & slots::ANY_NODE != 0 {
            if node.cast::<u32>().read_unaligned() != TYPE_KERNEL {
                return 0;
            }
            node = node.add(BEFORE_PARAMS);
        }
        let [function, values, extra] = [0, 5, 6].map(|word| node.add(word).read_unaligned());
        // Since CUDA 12 it may be a `CUkernel`, in a field of its own. The runtime gives both to cuGraphAddNode, and has
        // launched the kernel by the second.
        let second = also & slots::WITH_KERNEL != 0 && !is_described(function);
        among(if second { node.add(7).read_unaligned() } else { function }, values, extra, found)
    }
}

/// Whether it is known where this kernel's parameters lie.
fn is_described(handle: u64) -> bool {
    handle != 0 && is_known(handle)
}

/// The pointers among the parameters of a kernel: the addresses of their values, or `extra` if that is null.
///
/// # Safety
/// They are what the driver has been given for this kernel, and has read.
unsafe fn among(handle: u64, values: u64, extra: u64, found: &mut [u64]) -> u16 {
    if !is_described(handle) {
        return 0;
    }
    let index = text::mix(handle) as usize & LAYOUTS.len().wrapping_sub(1);
    let layout = LAYOUTS.get(index).map_or(0, |layout| layout.load(Ordering::Acquire));
    let (first, count) = ((layout >> 8) as usize, layout as usize & 0xff);
    let Some(layout) = PARAMETERS.get(first..first.saturating_add(count)) else { return 0 };
    // SAFETY: as the caller says.
    unsafe {
        let values = values as *const *const u8;
        let buffer = if values.is_null() { extra_buffer(extra) } else { None };
        let mut sieve = Sieve { found, count: 0 };
        for (index, parameter) in layout.iter().enumerate() {
            let parameter = parameter.load(Ordering::Relaxed);
            let (offset, bytes) = ((parameter >> 16) as usize, parameter as usize & 0xffff);
            let value = match buffer {
                Some((buffer, length)) if offset.saturating_add(bytes) <= length => buffer.add(offset),
                Some(_) => continue,
                None if values.is_null() => return 0,
                None => *values.add(index),
            };
            // Structures are laid out as the host lays them out: a pointer is where eight bytes are aligned.
            let skip = offset.wrapping_neg() & 7;
            let mut at = skip;
            while at.wrapping_add(8) <= bytes && !value.is_null() {
                sieve.take(value.add(at).cast::<u64>().read_unaligned());
                at = at.wrapping_add(8);
            }
        }
        sieve.count
    }
}

/// An argument of the program's call, all of which are integers.
///
/// # Safety
/// The function has so many.
unsafe fn argument(frame: &Frame, index: usize) -> u64 {
    let word = match index.checked_sub(REGISTER_WORDS) {
        Some(on_stack) => FIRST_STACK_WORD.wrapping_add(on_stack),
        None => index,
    };
    // SAFETY: as the caller says.
    unsafe { *frame.words().add(word) }
}

/// The buffer in which all parameters lie, if the `extra` argument of a launch names one, and how long it is.
///
/// # Safety
/// `extra` is null, or that argument.
unsafe fn extra_buffer(extra: u64) -> Option<(*const u8, usize)> {
    const END: usize = 0;
    const BUFFER: usize = 1;
    const SIZE: usize = 2;
    let mut at = extra as *const usize;
    let (mut buffer, mut bytes) = (core::ptr::null::<u8>(), 0);
    if at.is_null() {
        return None;
    }
    // SAFETY: a list of names and values that ends with END; names are few.
    unsafe {
        for _ in 0..4 {
            match *at {
                END => break,
                BUFFER => buffer = *at.add(1) as *const u8,
                SIZE => bytes = *(*at.add(1) as *const usize),
                _ => return None,
            }
            at = at.add(2);
        }
    }
    (!buffer.is_null()).then_some((buffer, bytes))
}

/// Picks what may be an address of memory that a device can reach.
struct Sieve<'a> {
    found: &'a mut [u64],
    count: u16,
}

impl Sieve<'_> {
    fn take(&mut self, value: u64) {
        // Two small numbers side by side look like one, too: the reader knows the allocations.
        if !(1 << 32..1 << 48).contains(&value) {
            return;
        }
        let count = usize::from(self.count & !POINTERS_CUT);
        if self.found.get(..count).is_some_and(|found| found.contains(&value)) {
            return;
        }
        if self.count & !POINTERS_CUT >= POINTERS_MAX {
            self.count |= POINTERS_CUT;
        } else if let Some(place) = self.found.get_mut(usize::from(self.count)) {
            *place = value;
            self.count = self.count.wrapping_add(1);
        }
    }
}

/// Nothing is written down yet.
pub fn forget() {
    unloaded();
}
