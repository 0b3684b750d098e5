//! Copies full chunks to their places, in a thread of ours, so that the program's threads do not have to.
//!
//! A thread whose chunk is full goes on in a spare window and leaves the full one here. Until it is copied it stays where
//! it is, whole and readable: a process that is killed loses nothing. Where there is no spare window, because the copier
//! is behind or there is none, a thread copies its own chunk ([`crate::chunks`]).

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use umtui_wire::chunk::ChunkHeader;

use crate::{chunks, clock, file, process, space, spawn, sys, written};

/// Windows that are handed round, at most: 2 MiB of the file.
const MOST: u32 = 32;
/// Of these made at first.
const FIRST: u32 = 4;
/// Full chunks for which the copier is woken; fewer wait, for [`PATIENCE_NS`] at most.
const WORTH_WAKING: u32 = 2;
/// ns.
const PATIENCE_NS: u64 = 100_000_000;
/// ns: as good as for ever.
const IDLE_NS: u64 = 3_600_000_000_000;
/// Bytes of its stack.
const STACK_BYTES: usize = 64 << 10;

/// A set of images, each with at most one owner: this set, or whoever has taken it out.
struct Images([AtomicPtr<ChunkHeader>; MOST as usize]);

impl Images {
    const fn new() -> Self {
        Self([const { AtomicPtr::new(core::ptr::null_mut()) }; MOST as usize])
    }

    fn put(&self, image: *mut ChunkHeader) -> bool {
        let null = core::ptr::null_mut();
        self.0.iter().any(|place| place.compare_exchange(null, image, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    }

    fn take(&self) -> Option<*mut ChunkHeader> {
        let there = self.0.iter().filter(|place| !place.load(Ordering::Relaxed).is_null());
        there.map(|place| place.swap(core::ptr::null_mut(), Ordering::AcqRel)).find(|image| !image.is_null())
    }

    fn clear(&self) {
        for place in self.0.iter().filter(|place| !place.load(Ordering::Relaxed).is_null()) {
            place.store(core::ptr::null_mut(), Ordering::Relaxed);
        }
    }
}

/// Ready to be written to.
#[unsafe(link_section = ".data.small")]
static SPARE: Images = Images::new();
/// To be copied.
#[unsafe(link_section = ".data.small")]
static FULL: Images = Images::new();
/// How many lie in [`FULL`].
#[unsafe(link_section = ".data.small")]
static WAITING: AtomicU32 = AtomicU32::new(0);
/// Windows that there are.
#[unsafe(link_section = ".data.small")]
static MADE: AtomicU32 = AtomicU32::new(0);
/// Windows that there should be.
#[unsafe(link_section = ".data.small")]
static WANTED: AtomicU32 = AtomicU32::new(0);
/// Nonzero: there is something to do. The thread sleeps on it.
#[unsafe(link_section = ".data.small")]
static WORK: AtomicU32 = AtomicU32::new(0);
#[unsafe(link_section = ".data.small")]
static LIFE: spawn::Life = spawn::Life::new();
/// The recording that has a copier, by its generation.
#[unsafe(link_section = ".data.small")]
static OF: AtomicU64 = AtomicU64::new(0);

/// Starts the copier of this recording. When the program has initialised the driver: from then on there are threads
/// anyway.
pub fn start() {
    let generation = process::generation();
    if generation == 0 || written::is_on() || !space::is_roomy() || OF.swap(generation, Ordering::AcqRel) == generation
    {
        return;
    }
    LIFE.starts();
    if !spawn::detached(run, STACK_BYTES) {
        LIFE.forget();
        OF.store(0, Ordering::Release);
        return;
    }
    static REGISTERED: AtomicU32 = AtomicU32::new(0);
    if REGISTERED.swap(1, Ordering::Relaxed) == 0 {
        spawn::at_exit(exiting);
    }
}

/// The process ends in order: no thread of ours is to be in the way of whoever looks for what is left. What is full stays
/// readable where it is.
unsafe extern "C" fn exiting(_: *mut c_void) {
    if process::generation() == 0 || OF.swap(0, Ordering::AcqRel) != process::generation() {
        return;
    }
    wake();
    LIFE.wait_for_end(spawn::GOING_NS);
}

/// A window to go on in, if there is one.
pub fn spare() -> Option<*mut ChunkHeader> {
    if OF.load(Ordering::Acquire) != process::generation() || !file::is_open() {
        return None;
    }
    let spare = SPARE.take();
    if spare.is_none() {
        let made = MADE.load(Ordering::Relaxed);
        // One that is being made need not be asked for again.
        if made < MOST && WANTED.load(Ordering::Relaxed) <= made {
            WANTED.store(if made == 0 { FIRST } else { made.saturating_mul(2).min(MOST) }, Ordering::Relaxed);
            wake();
        }
    }
    spare
}

/// Takes a window that was not needed after all.
pub fn give_back(image: *mut ChunkHeader) {
    SPARE.put(image);
}

/// Takes a full chunk that nobody writes to any more.
pub fn hand_over(image: *mut ChunkHeader) {
    // There is a place for each window that there is, and for those with which threads begin.
    if !FULL.put(image) {
        return;
    }
    if WAITING.fetch_add(1, Ordering::AcqRel).wrapping_add(1) >= WORTH_WAKING {
        wake();
    }
}

fn wake() {
    if WORK.swap(1, Ordering::AcqRel) == 0 {
        sys::wake(&WORK);
    }
}

/// In a child after fork: all of it is the parent's.
pub fn forget() {
    SPARE.clear();
    FULL.clear();
    for number in [&WAITING, &MADE, &WANTED, &WORK] {
        number.store(0, Ordering::Relaxed);
    }
    LIFE.forget();
}

unsafe extern "C" fn run(_: *mut c_void) -> *mut c_void {
    LIFE.begins();
    sys::set_thread_name(c"umtui copy");
    sys::share_no_descriptors();
    let generation = process::generation();
    while process::generation() == generation && OF.load(Ordering::Acquire) == generation {
        WORK.store(0, Ordering::SeqCst);
        if copy_all() {
            file::nudge(clock::triple());
        }
        while MADE.load(Ordering::Relaxed) < WANTED.load(Ordering::Relaxed) {
            let Some(image) = chunks::spare_window() else { break };
            MADE.fetch_add(1, Ordering::Relaxed);
            SPARE.put(image);
        }
        sys::wait(&WORK, 0, if WAITING.load(Ordering::Acquire) == 0 { IDLE_NS } else { PATIENCE_NS });
    }
    core::ptr::null_mut()
}

/// Whether there was any.
fn copy_all() -> bool {
    let mut any = false;
    while file::is_open()
        && let Some(image) = FULL.take()
    {
        WAITING.fetch_sub(1, Ordering::AcqRel);
        any = true;
        // SAFETY: whoever filled it has left it to us.
        match unsafe { chunks::copy(image) } {
            Ok(()) => _ = SPARE.put(image),
            // It stays where it is, and stays readable.
            Err(errno) => file::failed(errno),
        }
    }
    any
}
