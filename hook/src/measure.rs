//! What recording a call costs, measured where it happens: in the program, at its first call.
//!
//! A function that does nothing is called through the trampoline, with a chunk and a desk that nobody reads.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use umtui_wire::chunk::{self, ChunkHeader, DESK_CALLS, Desk, OpenCall};
use umtui_wire::record::SLOT_BYTES;

use crate::slots::Slot;
use crate::thread::Thread;
use crate::{arch, clock, sites};

/// Calls of a round.
const CALLS: usize = 64;
/// Rounds, of which the quickest counts.
const ROUNDS: usize = 8;

/// A chunk with room for a round.
#[repr(C, align(64))]
struct Scratch {
    header: ChunkHeader,
    slots: [u8; CALLS.saturating_add(2).saturating_mul(SLOT_BYTES)],
    desk: Desk,
}

struct Place(UnsafeCell<MaybeUninit<Scratch>>);
// SAFETY: used by the one thread that begins the recording.
unsafe impl Sync for Place {}
static SCRATCH: Place = Place(UnsafeCell::new(MaybeUninit::zeroed()));

/// Stands for the function that does nothing.
pub static NOTHING: Slot = Slot::new();

/// Measures what recording adds to a call, ticks for a thousand calls. The thread is ready to record, and signals are
/// held back.
pub fn added(thread: &mut Thread) -> u64 {
    NOTHING.stand_for(arch::nothing());
    sites::remember(arch::measured_site(), sites::epoch());
    let kept = (thread.chunk, thread.limit, thread.open, thread.desk_end, thread.desk, thread.quick_until);
    // SAFETY: plain data, zeroed, and ours alone.
    let scratch = unsafe { &mut *SCRATCH.0.get().cast::<Scratch>() };
    scratch.desk.no_frame = u64::MAX;
    thread.desk = &raw mut scratch.desk;
    thread.open = (&raw mut scratch.desk.calls).cast::<OpenCall>();
    // SAFETY: the end of the same array.
    thread.desk_end = unsafe { thread.open.add(DESK_CALLS) };
    thread.chunk = &raw mut scratch.header;
    thread.limit = size_of::<ChunkHeader>().wrapping_add(scratch.slots.len()) as u32;
    thread.quick_until = u64::MAX;
    let (mut recorded, mut direct) = (u64::MAX, u64::MAX);
    for _ in 0..ROUNDS {
        scratch.header.committed = chunk::HEADER_BYTES as u32;
        let start = clock::now();
        arch::call_recorded(CALLS);
        let middle = clock::now();
        arch::call_directly(CALLS);
        let end = clock::now();
        recorded = recorded.min(middle.wrapping_sub(start));
        direct = direct.min(end.wrapping_sub(middle));
    }
    (thread.chunk, thread.limit, thread.open, thread.desk_end, thread.desk, thread.quick_until) = kept;
    // Something went another way than the quick one: no number is better than a wrong one.
    let written = (scratch.header.committed as usize).wrapping_sub(chunk::HEADER_BYTES);
    if written != CALLS.wrapping_mul(SLOT_BYTES) {
        return 0;
    }
    recorded.saturating_sub(direct).saturating_mul(1000).checked_div(CALLS as u64).unwrap_or(0)
}
