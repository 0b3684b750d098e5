//! Desks: where a thread's open calls lie, so that the call in which a process died is in its trace.
//!
//! A desk stays where it is for as long as its thread lives; then another thread takes it.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use umtui_wire::chunk::{ChunkHeader, DESK_BYTES, DESK_CALLS, DESKS_AT, Desk, KIND_DESKS, OpenCall};
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{FLAG_NO_ARGUMENTS, pack_site};

use crate::lock::TryLock;
use crate::thread::Thread;
use crate::{chunks, slots, sys};

/// Chunks of desks that are mapped; each holds 63.
static PAGES: [AtomicPtr<ChunkHeader>; 256] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 256];
/// Whether all of the first of them is reserved on disk. Until then its first desks only are used: most processes call from
/// few threads.
#[unsafe(link_section = ".data.small")]
static WHOLE: AtomicBool = AtomicBool::new(false);
/// Where zeros are written to reserve, a second time would wipe what is used by then.
#[unsafe(link_section = ".data.small")]
static RESERVING: TryLock = TryLock::new();
const FIRST_BYTES: usize = 4096;
const FIRST_DESKS: usize = (FIRST_BYTES - DESKS_AT) / DESK_BYTES;
const DESKS: usize = (CHUNK_UNIT as usize - DESKS_AT) / DESK_BYTES;

struct Nowhere(UnsafeCell<MaybeUninit<Desk>>);
// SAFETY: threads without a desk share it, and write nothing there but what is there already: their calls have no place on
// it.
unsafe impl Sync for Nowhere {}
static NOWHERE: Nowhere = Nowhere(UnsafeCell::new(MaybeUninit::zeroed()));

/// Gives the thread a desk; false if there is none to be had: it then has one that has no places.
pub fn sit_down(thread: &mut Thread) -> bool {
    let Some(desk) = find(thread.id) else {
        sit_nowhere(thread);
        return false;
    };
    thread.desk = desk;
    thread.deeper = 0;
    // SAFETY: a mapped desk that is now this thread's.
    unsafe {
        (*desk).no_frame = u64::MAX;
        let calls = (&raw mut (*desk).calls).cast::<OpenCall>();
        for depth in 0..DESK_CALLS {
            (*calls.add(depth)).depth = (depth as u64).wrapping_shl(48) | flags();
        }
        thread.open = calls;
        thread.desk_end = calls.add(DESK_CALLS);
    }
    true
}

/// The thread has a desk that has no places.
fn sit_nowhere(thread: &mut Thread) {
    let desk: *mut Desk = NOWHERE.0.get().cast();
    thread.desk = desk;
    thread.deeper = 0;
    // SAFETY: the end of the desk's calls, and the last of them, whose frame is above all.
    unsafe {
        thread.desk_end = (&raw mut (*desk).calls).cast::<OpenCall>().add(DESK_CALLS);
        AtomicU64::from_ptr(&raw mut (*thread.desk_end.sub(1)).frame).store(u64::MAX, Ordering::Relaxed);
    }
    thread.open = thread.desk_end;
}

/// The thread could not begin: its desk, if it got one, is for others.
pub fn leave(thread: &mut Thread) {
    stand_up(thread);
    sit_nowhere(thread);
}

/// Flags of all calls, where records have them.
pub fn flags() -> u64 {
    pack_site(0, 0, if slots::arguments_wanted() { 0 } else { FLAG_NO_ARGUMENTS })
}

/// The thread ends: its desk is free.
pub fn stand_up(thread: &mut Thread) {
    if thread.desk != NOWHERE.0.get().cast() {
        // SAFETY: the thread's own desk.
        unsafe { AtomicU32::from_ptr(&raw mut (*thread.desk).thread) }.store(0, Ordering::Release);
    }
}

fn find(thread: u32) -> Option<*mut Desk> {
    for (number, page) in PAGES.iter().enumerate() {
        let mut chunk = page.load(Ordering::Acquire);
        if chunk.is_null() {
            let first = if number == 0 { FIRST_BYTES as u64 } else { CHUNK_UNIT };
            (chunk, _) = chunks::open(KIND_DESKS, first, thread)?;
            if let Err(other) = page.compare_exchange(core::ptr::null_mut(), chunk, Ordering::AcqRel, Ordering::Acquire)
            {
                // Another thread was quicker; ours stays in the file, empty.
                chunk = other;
            }
        }
        for index in 0..DESKS {
            if number == 0 && index == FIRST_DESKS && !WHOLE.load(Ordering::Relaxed) {
                let _held = RESERVING.try_for_a_while()?;
                // SAFETY: a mapped chunk.
                if !WHOLE.load(Ordering::Relaxed) && !unsafe { chunks::reserve_rest(chunk, FIRST_BYTES as u32) } {
                    return None;
                }
                WHOLE.store(true, Ordering::Relaxed);
            }
            let at = DESKS_AT.wrapping_add(index.wrapping_mul(DESK_BYTES));
            // SAFETY: the desk lies within the mapped chunk.
            let desk = unsafe { chunk.byte_add(at) }.cast::<Desk>();
            // SAFETY: aligned, and only accessed atomically while it is free.
            let owner = unsafe { AtomicU32::from_ptr(&raw mut (*desk).thread) };
            if owner.compare_exchange(0, thread, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Some(desk);
            }
        }
    }
    None
}

/// In a child after fork, see [`chunks::leave_to_parent`].
pub fn leave_to_parent(thread: &Thread) {
    let desk = thread.desk as usize;
    let holds = |page: &*mut ChunkHeader| desk.wrapping_sub(*page as usize) < CHUNK_UNIT as usize;
    let page = PAGES.iter().map(|page| page.load(Ordering::Relaxed)).take_while(|page| !page.is_null()).find(holds);
    if let Some(page) = page {
        // SAFETY: a mapped chunk of desks; a call's place that is zeros has no other use than to be cleared.
        unsafe { sys::map_private_over(page.cast(), CHUNK_UNIT as usize) };
    }
}

/// In a child after fork: the desks are the parent's.
pub fn forget() {
    WHOLE.store(false, Ordering::Relaxed);
    RESERVING.reset();
    for page in PAGES.iter().filter(|page| !page.load(Ordering::Relaxed).is_null()) {
        page.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}
