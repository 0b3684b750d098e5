//! Appends records to a thread's chunk.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use umtui_wire::record::{Head, SLOT_BYTES, Slot};

use crate::record::lost;
use crate::thread::Thread;
use crate::{chunks, clock, sys};

/// Bytes of the longest records that are written together: that of a call, and before it what it has submitted.
pub const LONGEST: usize = 16 * SLOT_BYTES;

/// Runs `write` while nobody else may write into the thread's chunk; `None` if somebody is.
pub fn with_chunk<R>(thread: &mut Thread, write: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    if thread.is_writing() {
        return None;
    }
    thread.busy = 1;
    thread.quick_until = 0;
    compiler_fence(Ordering::SeqCst);
    let result = write(thread);
    compiler_fence(Ordering::SeqCst);
    thread.go_on();
    Some(result)
}

/// Writes a record that is an event and no call, all its words, head first; false if it could not be, and is counted.
pub fn put_event(thread: &mut Thread, words: &[u64]) -> bool {
    let written = put_words(thread, words, None);
    if !written {
        lost(thread);
    }
    written
}

/// As [`put_event`], and before it in its chunk lies `before`, of one slot and no event: written where the chunk is not
/// number `told`, which it then is.
pub fn put_event_after(thread: &mut Thread, words: &[u64], before: &Slot, told: &mut u64) -> bool {
    let written = put_words(thread, words, Some((before, told)));
    if !written {
        lost(thread);
    }
    written
}

/// Writes a record that is no event; false if it could not be.
pub fn put_other(thread: &mut Thread, words: &[u64]) -> bool {
    let written = put_words(thread, words, None);
    if written {
        // SAFETY: the thread's own mapped chunk.
        unsafe { (*thread.chunk).others = (*thread.chunk).others.wrapping_add(1) };
    }
    written
}

fn put_words(thread: &mut Thread, words: &[u64], before: Option<(&Slot, &mut u64)>) -> bool {
    let Some((&head, rest)) = words.split_first() else { return false };
    let head = Head::from_word(head);
    let slots = usize::from(head.extra).wrapping_add(1);
    if slots.wrapping_mul(SLOT_BYTES) >= LONGEST || words.len() != slots.wrapping_mul(SLOT_BYTES / 8) {
        return false;
    }
    let written = with_chunk(thread, |thread| {
        let mut record = room(thread, clock::now())?;
        if let Some((before, told)) = before
            && *told != chunk_sequence(thread)
            && chunks::put(thread, *before)
        {
            *told = chunk_sequence(thread);
            record = record.wrapping_add(SLOT_BYTES);
        }
        // SAFETY: the chunk has room for the longest record, and for a slot before this one, which is shorter.
        unsafe {
            core::ptr::copy_nonoverlapping(rest.as_ptr(), record.add(8).cast::<u64>(), rest.len());
            commit(thread, record, head);
        }
        Some(())
    });
    written.flatten().is_some()
}

/// Number of the chunk that the thread's next record goes to, if it fits.
pub fn chunk_sequence(thread: &Thread) -> u64 {
    // SAFETY: the thread's mapped chunk.
    if thread.has_chunk() { unsafe { (*thread.chunk).sequence } } else { u64::MAX }
}

/// Where the next record goes, with room for the longest: after a fresh clock reading, in a fresh chunk, or
/// both, when they are due.
pub fn room(thread: &mut Thread, now: u64) -> Option<*mut u8> {
    if !thread.has_chunk() {
        return None;
    }
    let end = |thread: &Thread| {
        // SAFETY: the thread's mapped chunk.
        unsafe { chunks::committed(thread.chunk) }.load(Ordering::Relaxed)
    };
    let is_full = |thread: &Thread| end(thread).wrapping_add(LONGEST as u32) > thread.limit;
    let full = is_full(thread);
    if full || now >= thread.clock_due {
        // No handler in between: one that jumps away would leave locks behind, and on some file systems a signal makes
        // system calls fail.
        let _held = sys::SignalsHeld::hold();
        if full && !chunks::roll(thread) {
            chunks::losing(now);
            return None;
        }
        if now >= thread.clock_due {
            chunks::refresh_clock(thread);
            // That too takes room.
            if is_full(thread) && !chunks::roll(thread) {
                chunks::losing(now);
                return None;
            }
        }
    }
    // SAFETY: within the mapped chunk.
    Some(unsafe { thread.chunk.cast::<u8>().add(end(thread) as usize) })
}

/// # Safety
/// The record lies within the thread's mapped chunk, where its complete slots end.
pub unsafe fn commit(thread: &mut Thread, record: *mut u8, head: Head) {
    let slots = u32::from(head.extra).wrapping_add(1);
    // SAFETY: as the caller says.
    unsafe {
        AtomicU64::from_ptr(record.cast()).store(head.word(), Ordering::Release);
        (*thread.chunk).others = (*thread.chunk).others.wrapping_add(u32::from(head.extra));
        let committed = chunks::committed(thread.chunk);
        let end = committed.load(Ordering::Relaxed).wrapping_add(slots.wrapping_mul(SLOT_BYTES as u32));
        committed.store(end, Ordering::Release);
    }
}
