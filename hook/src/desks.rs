//! Desks: where a thread's open calls lie, so that the call in which a process died is in its trace.
//!
//! A desk stays where it is for as long as its thread lives; then another thread takes it.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use umtui_wire::chunk::{ChunkHeader, DESK_BYTES, DESK_CALLS, DESKS_AT, Desk, KIND_DESKS, OpenCall};
use umtui_wire::header::CHUNK_UNIT;

use crate::chunks;
use crate::thread::Thread;

/// Chunks of desks that are mapped; each holds 63.
static PAGES: [AtomicPtr<ChunkHeader>; 256] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 256];
const DESKS: usize = (CHUNK_UNIT as usize - DESKS_AT) / DESK_BYTES;

struct Nowhere(UnsafeCell<MaybeUninit<Desk>>);
// SAFETY: threads without a desk write their open calls there; what they read of it only concerns calls that
// are lost anyway.
unsafe impl Sync for Nowhere {}
static NOWHERE: Nowhere = Nowhere(UnsafeCell::new(MaybeUninit::zeroed()));

/// Gives the thread a desk; one that leads nowhere if there is none to be had.
pub fn sit_down(thread: &mut Thread) {
    let desk = find(thread.id).unwrap_or(NOWHERE.0.get().cast());
    // SAFETY: a mapped desk that is now this thread's.
    unsafe {
        (*desk).no_frame = u64::MAX;
        let calls = (&raw mut (*desk).calls).cast::<OpenCall>();
        for depth in 0..DESK_CALLS {
            (*calls.add(depth)).depth = (depth as u64).wrapping_shl(48);
        }
        thread.open = calls;
        thread.desk_end = calls.add(DESK_CALLS);
    }
    thread.desk = desk;
    thread.deeper = 0;
}

/// The thread ends: its desk is free.
pub fn stand_up(thread: &mut Thread) {
    if thread.desk != NOWHERE.0.get().cast() {
        // SAFETY: the thread's own desk.
        unsafe { AtomicU32::from_ptr(&raw mut (*thread.desk).thread) }.store(0, Ordering::Release);
    }
}

fn find(thread: u32) -> Option<*mut Desk> {
    for page in &PAGES {
        let mut chunk = page.load(Ordering::Acquire);
        if chunk.is_null() {
            chunk = chunks::open(KIND_DESKS, thread)?;
            if let Err(other) = page.compare_exchange(core::ptr::null_mut(), chunk, Ordering::AcqRel, Ordering::Acquire)
            {
                // Another thread was quicker; ours stays in the file, empty.
                chunk = other;
            }
        }
        for index in 0..DESKS {
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

/// In a child after fork: the desks are the parent's.
pub fn forget() {
    for page in &PAGES {
        page.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}
