//! The process's recording: begun at the first CUDA call, begun anew in a child after fork.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::arch::{self, Trampoline};
use crate::{
    chunks, clock, config, definitions, desks, file, kernels, loader, modules, sites, slots, symbols, sys, thread,
};

/// A page that the kernel wipes in a child after fork or clone, so one load tells a child from its parent.
#[repr(C, align(4096))]
pub struct Page {
    /// Which recording this is, counted through forks; zero: none yet.
    generation: AtomicU64,
    state: AtomicU32,
    rest: UnsafeCell<[u8; 4080]>,
}
// SAFETY: `rest` is never touched.
unsafe impl Sync for Page {}

/// See [`Page`].
pub static PAGE: Page =
    Page { generation: AtomicU64::new(0), state: AtomicU32::new(0), rest: UnsafeCell::new([0; 4080]) };

const STATE_NONE: u32 = 0;
const STATE_BEGINNING: u32 = 1;
const STATE_RECORDING: u32 = 2;
const STATE_OFF: u32 = 3;

/// Recordings begun so far, in this process and those it was forked from.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Which recording this is; zero: none.
pub fn generation() -> u64 {
    PAGE.generation.load(Ordering::Acquire)
}

/// Begins recording if that has not been tried; whether it records.
pub fn ready() -> bool {
    match PAGE.state.compare_exchange(STATE_NONE, STATE_BEGINNING, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            let begun = begin();
            PAGE.state.store(if begun { STATE_RECORDING } else { STATE_OFF }, Ordering::Release);
            if begun && clock::by_ticks() {
                arch::use_trampoline(Trampoline::ByTicks);
            } else if !begun {
                arch::use_trampoline(Trampoline::Off);
            }
            begun
        }
        Err(STATE_BEGINNING) => wait(),
        Err(state) => state == STATE_RECORDING,
    }
}

/// Another thread is at it. It takes about a millisecond; a handler that interrupted that very thread must not
/// wait for ever.
fn wait() -> bool {
    for _ in 0..20_000 {
        sys::yield_now();
        if PAGE.state.load(Ordering::Acquire) != STATE_BEGINNING {
            return PAGE.state.load(Ordering::Acquire) == STATE_RECORDING;
        }
    }
    false
}

/// Kept out of line for its stack: threads may have little.
#[cold]
#[inline(never)]
fn begin() -> bool {
    let before = BEGUN.fetch_add(1, Ordering::Relaxed);
    if before > 0 {
        definitions::after_fork();
        modules::after_fork();
        chunks::forget();
        desks::forget();
        kernels::after_fork();
        slots::after_fork();
    }
    let config = config::read();
    if !config.wanted {
        return false;
    }
    let clock = clock::choose(config.ticks_per_second, config.clock);
    if file::create(&config, &clock).is_err() {
        return false;
    }
    let page = (&raw const PAGE).cast_mut().cast::<u8>();
    if !sys::wipe_on_fork(page, size_of::<Page>()) {
        watch_fork();
    }
    sites::objects_changed();
    PAGE.generation.store(before.wrapping_add(1), Ordering::Release);
    // A child knows the functions that its parent has called, but its file does not.
    slots::for_each_used(slots::define_once);
    true
}

/// Where the kernel cannot wipe the page: the C library tells of its own forks.
fn watch_fork() {
    type RegisterAtFork = unsafe extern "C" fn(usize, usize, unsafe extern "C" fn(), usize) -> i32;
    let register = loader::own(c"__register_atfork");
    if !register.is_null() {
        // SAFETY: glibc's function; no handlers before fork or in the parent, no object to unload.
        unsafe { core::mem::transmute::<*mut core::ffi::c_void, RegisterAtFork>(register)(0, 0, forked, 0) };
    }
}

unsafe extern "C" fn forked() {
    PAGE.generation.store(0, Ordering::Release);
    PAGE.state.store(STATE_NONE, Ordering::Release);
}

unsafe extern "C" fn load() {
    loader::prepare();
    symbols::prepare();
    thread::prepare();
}

unsafe extern "C" fn unload() {
    if generation() != 0 {
        file::ended();
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: unsafe extern "C" fn() = load;
#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOAD: unsafe extern "C" fn() = unload;
