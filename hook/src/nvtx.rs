//! NVTX: the door by which a program's ranges come to us, `NVTX_INJECTION64_PATH`.
//!
//! Each library with NVTX in it loads us and hands us its tables of function pointers to fill; layouts and numbers are
//! those of NVTX 3's `nvtxTypes.h` (`NvtxCallbackModule`, `NvtxCallbackIdCore`, `NvtxCallbackIdCore2`, event attributes).

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::{arch, capture, text};

const CALLBACKS: u32 = 1;
const MODULE_CORE: c_int = 1;
const MODULE_CORE2: c_int = 5;
const MESSAGE_ASCII: i32 = 1;
const MESSAGE_WIDE: i32 = 2;
const MESSAGE_REGISTERED: i32 = 3;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    bytes: usize,
    table: Option<unsafe extern "C" fn(c_int, *mut *const *mut usize, *mut u32) -> c_int>,
}

/// `nvtxEventAttributes_t`.
#[repr(C)]
struct Attributes {
    version: u16,
    bytes: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

const _: () = assert!(core::mem::offset_of!(Attributes, message) == 40);

/// The range that is waited for, and its domain if one is asked for.
struct Wanted {
    range: text::Path<256>,
    domain: text::Path<256>,
}

struct Place(UnsafeCell<Wanted>);
// SAFETY: written at load, before any range is opened.
unsafe impl Sync for Place {}
static WANTED: Place = Place(UnsafeCell::new(Wanted { range: text::Path::new(), domain: text::Path::new() }));

/// Ranges of that name that are open, all threads together.
static OPEN: AtomicUsize = AtomicUsize::new(0);
static NEXT_RANGE: AtomicU64 = AtomicU64::new(1);
/// Ids of open ranges of that name that were begun by `nvtxRangeStart`.
static STARTED: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

/// Handles that we give out: their addresses say whether a name fits.
static FITS: u64 = 1;
static DIFFERS: u64 = 2;

/// Recording is on while a range of this name is open: `NAME`, `NAME*`, `NAME@DOMAIN`.
pub fn wait_for(range: &[u8]) {
    let at = range.iter().rposition(|&byte| byte == b'@').unwrap_or(range.len());
    // SAFETY: see Place.
    let wanted = unsafe { &mut *WANTED.0.get() };
    wanted.range.push(range.get(..at).unwrap_or_default());
    wanted.domain.push(range.get(at.saturating_add(1)..).unwrap_or_default());
}

fn wanted() -> &'static Wanted {
    // SAFETY: see Place.
    unsafe { &*WANTED.0.get() }
}

/// Whether a name, byte by byte, is the one of a pattern that may end with a star.
fn fits(pattern: &[u8], mut name: impl Iterator<Item = u32>) -> bool {
    let (start, open_end) = match pattern.strip_suffix(b"*") {
        Some(start) => (start, true),
        None => (pattern, false),
    };
    start.iter().all(|&byte| name.next() == Some(u32::from(byte))) && (open_end || name.next().is_none())
}

/// # Safety
/// `name` is null or a C string.
unsafe fn ascii_fits(pattern: &[u8], name: *const c_char) -> bool {
    // SAFETY: as the caller says.
    !name.is_null() && fits(pattern, unsafe { CStr::from_ptr(name) }.to_bytes().iter().map(|&byte| u32::from(byte)))
}

/// # Safety
/// `name` is null or a string of 4-byte characters ended by a zero.
unsafe fn wide_fits(pattern: &[u8], name: *const u32) -> bool {
    let mut at = name;
    let characters = core::iter::from_fn(|| {
        // SAFETY: as the caller says; not past the zero.
        let character = unsafe { *at };
        if character == 0 {
            return None;
        }
        // SAFETY: as above.
        at = unsafe { at.add(1) };
        Some(character)
    });
    !name.is_null() && fits(pattern, characters)
}

/// # Safety
/// `attributes` is null or points to event attributes.
unsafe fn attributes_fit(attributes: *const Attributes) -> bool {
    let range = wanted().range.as_bytes();
    // SAFETY: as the caller says; the message is what its type says.
    unsafe {
        if attributes.is_null() || usize::from((*attributes).bytes) < size_of::<Attributes>() {
            return false;
        }
        let message = (*attributes).message;
        match (*attributes).message_type {
            MESSAGE_ASCII => ascii_fits(range, message.cast()),
            MESSAGE_WIDE => wide_fits(range, message.cast()),
            MESSAGE_REGISTERED => message == (&raw const FITS).cast(),
            _ => false,
        }
    }
}

fn domain_fits(domain: *const c_void) -> bool {
    wanted().domain.as_bytes().is_empty() || domain == (&raw const FITS).cast()
}

fn handle(fits: bool) -> *const c_void {
    if fits { (&raw const FITS).cast() } else { (&raw const DIFFERS).cast() }
}

fn opened() {
    if OPEN.fetch_add(1, Ordering::SeqCst) == 0 {
        capture::follow(is_open);
    }
}

fn closed() {
    if OPEN.fetch_sub(1, Ordering::SeqCst) == 1 {
        capture::follow(is_open);
    }
}

/// In a child after fork: ranges that other threads had pushed are open in the parent only.
pub fn after_fork() {
    // SAFETY: the calling thread's own state.
    let own = unsafe { (*arch::thread()).range_levels > 0 };
    let started = STARTED.iter().filter(|place| place.load(Ordering::Relaxed) != 0).count();
    OPEN.store(started.saturating_add(usize::from(own)), Ordering::SeqCst);
    capture::follow(is_open);
}

fn is_open() -> bool {
    OPEN.load(Ordering::SeqCst) > 0
}

/// A range was pushed; its depth in the thread, which NVTX returns.
fn push(domain: *const c_void, fits: bool) -> c_int {
    // SAFETY: the calling thread's own state.
    let thread = unsafe { &mut *arch::thread() };
    let depth = thread.ranges;
    thread.ranges = depth.wrapping_add(1);
    if thread.range_levels > 0 {
        if thread.range_domain == domain as usize {
            thread.range_levels = thread.range_levels.wrapping_add(1);
        }
    } else if fits {
        thread.range_levels = 1;
        thread.range_domain = domain as usize;
        opened();
    }
    depth as c_int
}

fn pop(domain: *const c_void) -> c_int {
    // SAFETY: the calling thread's own state.
    let thread = unsafe { &mut *arch::thread() };
    thread.ranges = thread.ranges.saturating_sub(1);
    if thread.range_levels > 0 && thread.range_domain == domain as usize {
        thread.range_levels = thread.range_levels.wrapping_sub(1);
        if thread.range_levels == 0 {
            closed();
        }
    }
    thread.ranges as c_int
}

fn start(fits: bool) -> u64 {
    let id = NEXT_RANGE.fetch_add(1, Ordering::Relaxed);
    if fits && STARTED.iter().any(|place| place.compare_exchange(0, id, Ordering::AcqRel, Ordering::Relaxed).is_ok()) {
        opened();
    }
    id
}

fn end(id: u64) {
    if id != 0 && STARTED.iter().any(|place| place.compare_exchange(id, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    {
        closed();
    }
}

unsafe extern "C" fn push_ex(attributes: *const Attributes) -> c_int {
    // SAFETY: NVTX's argument.
    push(core::ptr::null(), domain_fits(core::ptr::null()) && unsafe { attributes_fit(attributes) })
}

unsafe extern "C" fn push_ascii(name: *const c_char) -> c_int {
    // SAFETY: NVTX's argument.
    let fits = domain_fits(core::ptr::null()) && unsafe { ascii_fits(wanted().range.as_bytes(), name) };
    push(core::ptr::null(), fits)
}

unsafe extern "C" fn push_wide(name: *const u32) -> c_int {
    // SAFETY: NVTX's argument.
    let fits = domain_fits(core::ptr::null()) && unsafe { wide_fits(wanted().range.as_bytes(), name) };
    push(core::ptr::null(), fits)
}

unsafe extern "C" fn pop_last() -> c_int {
    pop(core::ptr::null())
}

unsafe extern "C" fn start_ex(attributes: *const Attributes) -> u64 {
    // SAFETY: NVTX's argument.
    start(domain_fits(core::ptr::null()) && unsafe { attributes_fit(attributes) })
}

unsafe extern "C" fn start_ascii(name: *const c_char) -> u64 {
    // SAFETY: NVTX's argument.
    start(domain_fits(core::ptr::null()) && unsafe { ascii_fits(wanted().range.as_bytes(), name) })
}

unsafe extern "C" fn start_wide(name: *const u32) -> u64 {
    // SAFETY: NVTX's argument.
    start(domain_fits(core::ptr::null()) && unsafe { wide_fits(wanted().range.as_bytes(), name) })
}

unsafe extern "C" fn range_end(id: u64) {
    end(id);
}

unsafe extern "C" fn domain_push(domain: *const c_void, attributes: *const Attributes) -> c_int {
    // SAFETY: NVTX's argument.
    push(domain, domain_fits(domain) && unsafe { attributes_fit(attributes) })
}

unsafe extern "C" fn domain_pop(domain: *const c_void) -> c_int {
    pop(domain)
}

unsafe extern "C" fn domain_start(domain: *const c_void, attributes: *const Attributes) -> u64 {
    // SAFETY: NVTX's argument.
    start(domain_fits(domain) && unsafe { attributes_fit(attributes) })
}

unsafe extern "C" fn domain_end(_: *const c_void, id: u64) {
    end(id);
}

unsafe extern "C" fn domain_create_ascii(name: *const c_char) -> *const c_void {
    // SAFETY: NVTX's argument.
    handle(unsafe { ascii_fits(wanted().domain.as_bytes(), name) })
}

unsafe extern "C" fn domain_create_wide(name: *const u32) -> *const c_void {
    // SAFETY: NVTX's argument.
    handle(unsafe { wide_fits(wanted().domain.as_bytes(), name) })
}

unsafe extern "C" fn register_ascii(_: *const c_void, name: *const c_char) -> *const c_void {
    // SAFETY: NVTX's argument.
    handle(unsafe { ascii_fits(wanted().range.as_bytes(), name) })
}

unsafe extern "C" fn register_wide(_: *const c_void, name: *const u32) -> *const c_void {
    // SAFETY: NVTX's argument.
    handle(unsafe { wide_fits(wanted().range.as_bytes(), name) })
}

/// NVTX asks us to fill its tables. Nonzero: we have.
///
/// # Safety
/// `export_table` is NVTX's function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(
    export_table: Option<unsafe extern "C" fn(u32) -> *const c_void>,
) -> c_int {
    // SAFETY: NVTX's function, and what it returns for the callbacks.
    let callbacks = unsafe { export_table.map(|table| table(CALLBACKS).cast::<Callbacks>()) };
    let Some(callbacks) = callbacks.filter(|callbacks| !callbacks.is_null()) else { return 0 };
    let core: [(usize, usize); 8] = [
        (4, start_ex as *const () as usize),
        (5, start_ascii as *const () as usize),
        (6, start_wide as *const () as usize),
        (7, range_end as *const () as usize),
        (8, push_ex as *const () as usize),
        (9, push_ascii as *const () as usize),
        (10, push_wide as *const () as usize),
        (11, pop_last as *const () as usize),
    ];
    let core2: [(usize, usize); 8] = [
        (2, domain_start as *const () as usize),
        (3, domain_end as *const () as usize),
        (4, domain_push as *const () as usize),
        (5, domain_pop as *const () as usize),
        (10, register_ascii as *const () as usize),
        (11, register_wide as *const () as usize),
        (12, domain_create_ascii as *const () as usize),
        (13, domain_create_wide as *const () as usize),
    ];
    // SAFETY: as above.
    unsafe { fill(callbacks, MODULE_CORE, &core) && fill(callbacks, MODULE_CORE2, &core2) }.into()
}

/// # Safety
/// `callbacks` is NVTX's.
unsafe fn fill(callbacks: *const Callbacks, module: c_int, functions: &[(usize, usize)]) -> bool {
    let (mut table, mut count) = (core::ptr::null::<*mut usize>(), 0u32);
    // SAFETY: NVTX's function; it sets both.
    let found = unsafe {
        (*callbacks).bytes >= size_of::<Callbacks>()
            && (*callbacks).table.is_some_and(|get| get(module, &mut table, &mut count) != 0)
    };
    if !found || table.is_null() {
        return false;
    }
    for &(index, function) in functions {
        // SAFETY: the table has `count` places, each null or the address of a function pointer.
        unsafe {
            let place = if index < count as usize { *table.add(index) } else { core::ptr::null_mut() };
            if !place.is_null() {
                *place = function;
            }
        }
    }
    true
}
