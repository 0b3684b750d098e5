//! The process's recording: begun at the first CUDA call, begun anew in a child after fork.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::arch::{self, Trampoline};
use crate::{
    capture, chunks, clock, config, copier, cupti, definitions, desks, ending, evidence, file, follow, kept, kernels,
    left_out, loader, modules, nvtx, objects, sites, slots, symbols, sys, thread, written,
};

/// A page that the kernel wipes in a child after fork or clone, so one load tells a child from its parent.
#[repr(C)]
pub struct Page {
    /// Which recording this is, counted through forks; zero: none yet.
    generation: AtomicU64,
    state: AtomicU32,
    alone: arch::OwnPages,
}

/// See [`Page`].
pub static PAGE: Page = Page { generation: AtomicU64::new(0), state: AtomicU32::new(0), alone: arch::OwnPages };

const STATE_NONE: u32 = 0;
const STATE_BEGINNING: u32 = 1;
const STATE_RECORDING: u32 = 2;
const STATE_OFF: u32 = 3;
const STATE_WAITING: u32 = 4;

/// Recordings begun so far, in this process and those it was forked from.
#[unsafe(link_section = ".data.small")]
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Which recording this is; zero: none.
pub fn generation() -> u64 {
    PAGE.generation.load(Ordering::Acquire)
}

/// Whether what a call costs is yet to be measured in this recording; once. A child costs what its parent does.
pub fn is_to_be_measured() -> bool {
    #[unsafe(link_section = ".data.small")]
    static MEASURED: AtomicU32 = AtomicU32::new(0);
    MEASURED.swap(1, Ordering::Relaxed) == 0
}

/// Whether a call is to be recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It may be, but could not wait for another thread that is about to begin: such calls are lost.
    Unknown,
}

/// Begins recording if that has not been tried.
pub fn ready() -> Ready {
    let recording = match PAGE.state.compare_exchange(STATE_NONE, STATE_BEGINNING, Ordering::AcqRel, Ordering::Acquire)
    {
        Ok(_) => {
            GIVEN_UP.store(false, Ordering::Relaxed);
            let state = match capture::is_on().then(begin) {
                Some(true) => STATE_RECORDING,
                Some(false) => STATE_OFF,
                None => STATE_WAITING,
            };
            PAGE.state.store(state, Ordering::Release);
            capture::settle();
            state == STATE_RECORDING
        }
        Err(STATE_BEGINNING) => return wait(),
        Err(state) => state == STATE_RECORDING && capture::is_on(),
    };
    if recording { Ready::Yes } else { Ready::No }
}

/// Recording goes on or is to begin, or it pauses. In signal handlers too.
pub fn recording_wanted(on: bool) {
    // Where it has not begun, the next call begins it.
    let _ = on && PAGE.state.compare_exchange(STATE_WAITING, STATE_NONE, Ordering::AcqRel, Ordering::Acquire).is_ok();
    let state = PAGE.state.load(Ordering::Acquire);
    arch::use_trampoline(match state {
        STATE_OFF => Trampoline::Off,
        _ if !on => Trampoline::Off,
        STATE_RECORDING if clock::by_ticks() => Trampoline::ByTicks,
        _ => Trampoline::ByClock,
    });
}

/// How long another thread is waited for that is about to begin, ns. It takes about a millisecond, longer where the disk
/// or the processor is busy.
const WAIT_NS: u64 = 500_000_000;
/// Somebody has waited for so long: from then on nobody does.
#[unsafe(link_section = ".data.small")]
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Another thread is at it; or was, in the parent of a child that was made by a system call of the program's own: so not
/// for ever.
fn wait() -> Ready {
    let end = sys::clock_ns(libc::CLOCK_MONOTONIC).saturating_add(WAIT_NS);
    let mut rounds = 0u32;
    loop {
        match PAGE.state.load(Ordering::Acquire) {
            STATE_BEGINNING => {}
            STATE_RECORDING => return Ready::Yes,
            _ => return Ready::No,
        }
        rounds = rounds.saturating_add(1);
        if rounds < 1_000 {
            sys::yield_now();
        } else if GIVEN_UP.load(Ordering::Relaxed) {
            return Ready::Unknown;
        } else if sys::clock_ns(libc::CLOCK_MONOTONIC) < end {
            sys::sleep_ns(100_000);
        } else {
            GIVEN_UP.store(true, Ordering::Relaxed);
        }
    }
}

/// Kept out of line for its stack: threads may have little.
#[cold]
#[inline(never)]
fn begin() -> bool {
    let before = BEGUN.fetch_add(1, Ordering::Relaxed);
    if before > 0 {
        objects::after_fork();
        definitions::after_fork();
        modules::after_fork();
        chunks::forget();
        copier::forget();
        desks::forget();
        slots::after_fork();
        file::forget();
        evidence::after_fork();
    }
    let config = config::read();
    if !config.wanted || !loader::is_glibc() {
        return false;
    }
    left_out::begin();
    slots::record_only(config.arguments, config.groups);
    nvtx::begin(&config);
    let clock = clock::choose(config.ticks_per_second, config.clock);
    if file::create(&config, &clock).is_err() {
        return false;
    }
    let page = (&raw const PAGE).cast_mut().cast::<u8>();
    sys::wipe_on_fork(page, size_of::<Page>());
    // The library may not have been loaded whole: other constructors may call before ours.
    watch_fork();
    if before == 0 || !definitions::take_over() {
        // A child knows what its parent does, but its file does not.
        modules::forget();
        kernels::forget();
        sites::forget();
        slots::for_each_used(slots::define_once);
    }
    PAGE.generation.store(before.wrapping_add(1), Ordering::Release);
    true
}

/// The C library tells of its own forks: there are kernels that cannot wipe the page, and emulators that say they will and
/// do not; and another thread may be in the midst of something that it will never finish in the child. At load, before any
/// fork that matters.
fn watch_fork() {
    #[unsafe(link_section = ".data.small")]
    static WATCHING: AtomicU32 = AtomicU32::new(0);
    if WATCHING.swap(1, Ordering::Relaxed) != 0 {
        return;
    }
    type RegisterAtFork = unsafe extern "C" fn(usize, usize, unsafe extern "C" fn(), usize) -> i32;
    if let Some(register) = symbols::of_library(b"libc.so.6", b"__register_atfork") {
        // SAFETY: glibc's function; no handlers before fork or in the parent, no object to unload.
        unsafe { core::mem::transmute::<usize, RegisterAtFork>(register)(0, 0, forked, 0) };
    }
}

unsafe extern "C" fn forked() {
    // SAFETY: the calling thread's own state.
    chunks::leave_to_parent(unsafe { &*arch::thread() });
    objects::after_fork();
    slots::after_fork();
    // A recording that had begun is the parent's, and whoever was about to begin one is not here.
    if generation() != 0 || PAGE.state.load(Ordering::Relaxed) == STATE_BEGINNING {
        PAGE.generation.store(0, Ordering::Release);
        PAGE.state.store(STATE_NONE, Ordering::Release);
    }
    file::after_fork();
    nvtx::after_fork();
    cupti::after_fork();
}

unsafe extern "C" fn load() {
    loader::prepare();
    objects::prepare();
    symbols::prepare();
    capture::prepare();
    thread::prepare();
    watch_fork();
    kept::prepare();
    nvtx::prepare();
    follow::prepare();
    ending::prepare();
}

unsafe extern "C" fn unload() {
    if generation() != 0 {
        file::ended();
        // SAFETY: the calling thread's own state.
        written::ends(unsafe { &mut *arch::thread() });
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: unsafe extern "C" fn() = load;
#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOAD: unsafe extern "C" fn() = unload;
