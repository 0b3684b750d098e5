//! Chunks of a thread: opening, changing, handing on.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use umtui_wire::checksum;
use umtui_wire::chunk::{self, ChunkHeader};
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::{CHUNK_MAX, CHUNK_UNIT};
use umtui_wire::record::{Head, KIND_CLOCK, KIND_THREAD, SLOT_BYTES, Slot};

use crate::thread::Thread;
use crate::{clock, definitions, file, sys};

/// Bytes left in a chunk for which it is handed on.
const WORTH_HANDING_ON: u32 = 64 * SLOT_BYTES as u32;
/// Chunks of threads that have ended, with room left.
static SPARE: [AtomicPtr<ChunkHeader>; 256] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 256];

struct Nowhere(core::cell::UnsafeCell<core::mem::MaybeUninit<ChunkHeader>>);
// SAFETY: threads without a chunk write their in-flight entries there; nobody reads them.
unsafe impl Sync for Nowhere {}
static NOWHERE: Nowhere = Nowhere(core::cell::UnsafeCell::new(core::mem::MaybeUninit::zeroed()));

/// Stands in for the chunk of a thread that could get none, so that the trampoline need not ask.
pub fn nowhere() -> *mut ChunkHeader {
    NOWHERE.0.get().cast()
}

/// Gives a thread no chunk: its calls are counted as lost.
pub fn stand_in(thread: &mut Thread) {
    thread.chunk = nowhere();
    thread.limit = 0;
    thread.clock_due = u64::MAX;
    thread.quick_until = 0;
}

/// Opens a chunk: claimed, mapped, its header written, the magic last.
pub fn open(bytes: u64, kind: u16, thread: u32) -> Option<*mut ChunkHeader> {
    let piece = file::claim(bytes)?;
    let header = piece.address.cast::<ChunkHeader>();
    // SAFETY: fresh zeros of at least the header's length that only we know.
    let fields = unsafe { &mut *header };
    fields.kind = kind;
    fields.state = chunk::STATE_OPEN;
    fields.bytes = bytes as u32;
    fields.thread = thread;
    fields.offset = piece.offset;
    fields.sequence = piece.sequence;
    fields.opened = clock::triple();
    fields.first_ticks = fields.opened.ticks;
    fields.committed = chunk::HEADER_BYTES as u32;
    // SAFETY: aligned, and from here on only accessed atomically.
    unsafe { AtomicU32::from_ptr(&raw mut (*header).magic) }.store(chunk::MAGIC, Ordering::Release);
    file::nudge(fields.opened);
    Some(header)
}

/// The commit word of a chunk: where its complete slots end.
///
/// # Safety
/// `header` is a mapped chunk.
pub unsafe fn committed<'a>(header: *mut ChunkHeader) -> &'a AtomicU32 {
    // SAFETY: as the caller says; the field is aligned.
    unsafe { AtomicU32::from_ptr(&raw mut (*header).committed) }
}

/// Closes a chunk for good and unmaps it.
///
/// # Safety
/// `header` is a mapped chunk that nobody else uses.
pub unsafe fn seal(header: *mut ChunkHeader) {
    // SAFETY: as the caller says.
    unsafe {
        let end = committed(header).load(Ordering::Relaxed) as usize;
        let bytes = (*header).bytes as usize;
        let start = header.cast::<u8>().add(chunk::HEADER_BYTES);
        let slots = core::slice::from_raw_parts(start, end.wrapping_sub(chunk::HEADER_BYTES));
        (*header).checksum = checksum::of_slots(slots);
        (*header).sealed = clock::triple();
        (*header).last_ticks = (*header).sealed.ticks;
        core::sync::atomic::fence(Ordering::Release);
        (&raw mut (*header).state).write_volatile(chunk::STATE_SEALED);
        sys::unmap(header.cast(), bytes);
    }
}

/// Gives the thread its first chunk: one that an ended thread has left, or a fresh one.
pub fn begin(thread: &mut Thread) -> bool {
    thread.next_bytes = CHUNK_UNIT as u32;
    for place in &SPARE {
        let spare = place.swap(core::ptr::null_mut(), Ordering::AcqRel);
        if !spare.is_null() {
            adopt(thread, spare);
            return introduce(thread);
        }
    }
    open_next(thread) && introduce(thread)
}

/// Moves the thread to a fresh chunk; false if there is none, and the old one is kept to count losses in.
pub fn roll(thread: &mut Thread) -> bool {
    let old = thread.chunk;
    let kept = thread.has_chunk();
    if !open_next(thread) {
        return false;
    }
    // Records here may be of calls that began before: the outermost open one at the earliest.
    // SAFETY: the thread's desk and its chunks, both mapped.
    unsafe {
        let outermost = &raw const (*thread.desk).calls[0];
        if (*outermost).head != 0 {
            (*thread.chunk).first_ticks = (*outermost).start.min((*thread.chunk).first_ticks);
        }
        if kept {
            seal(old);
        }
    }
    introduce(thread)
}

/// The thread ends: another may go on in its chunk.
pub fn hand_back(thread: &mut Thread) {
    let header = thread.chunk;
    if !thread.has_chunk() {
        return;
    }
    thread.chunk = nowhere();
    // SAFETY: the thread's own mapped chunk.
    let end = unsafe { committed(header) }.load(Ordering::Relaxed);
    if thread.limit.wrapping_sub(end) >= WORTH_HANDING_ON {
        for place in &SPARE {
            if place.compare_exchange(core::ptr::null_mut(), header, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }
    // SAFETY: nobody else has it.
    unsafe { seal(header) };
}

/// In a child after fork: the spare chunks are the parent's.
pub fn forget() {
    for place in &SPARE {
        place.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

fn open_next(thread: &mut Thread) -> bool {
    let bytes = u64::from(thread.next_bytes).clamp(CHUNK_UNIT, CHUNK_MAX);
    let Some(header) = open(bytes, chunk::KIND_EVENTS, thread.id) else { return false };
    thread.next_bytes = bytes.wrapping_mul(2).min(CHUNK_MAX) as u32;
    adopt(thread, header);
    true
}

fn adopt(thread: &mut Thread, header: *mut ChunkHeader) {
    // SAFETY: a mapped chunk that is now this thread's.
    thread.limit = unsafe { (*header).bytes };
    thread.chunk = header;
}

/// Writes who the thread is and what time it is at the cursor of a chunk that has room.
fn introduce(thread: &mut Thread) -> bool {
    let name = thread.name;
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = definitions::string(name);
    let now = clock::triple();
    let head = Head { kind: KIND_THREAD, extra: 0, a: 0, b: thread.id };
    put(thread, [head.word(), now.ticks, u64::from(name), 0, 0, 0]);
    note_clock(thread, now);
    true
}

/// Writes down a fresh clock reading, and the thread's name if it has changed. The chunk has room for two slots.
pub fn refresh_clock(thread: &mut Thread) {
    let now = clock::triple();
    note_clock(thread, now);
    let name = sys::thread_name();
    if name != thread.name {
        thread.name = name;
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let head = Head { kind: KIND_THREAD, extra: 0, a: 0, b: thread.id };
        put(thread, [head.word(), now.ticks, u64::from(definitions::string(name)), 0, 0, 0]);
    }
}

fn note_clock(thread: &mut Thread, now: ClockTriple) {
    thread.clock_due = now.ticks.wrapping_add(clock::refresh_ticks());
    let head = Head { kind: KIND_CLOCK, extra: 0, a: 0, b: 0 };
    put(thread, [head.word(), now.ticks, now.monotonic_ns, now.realtime_ns, 0, 0]);
    nudge_sometimes(now);
}

fn nudge_sometimes(now: ClockTriple) {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let last = LAST.load(Ordering::Relaxed);
    if now.ticks.wrapping_sub(last) >= clock::refresh_ticks() {
        LAST.store(now.ticks, Ordering::Relaxed);
        file::nudge(now);
    }
}

/// Appends one slot, if there is room.
fn put(thread: &mut Thread, slot: Slot) {
    if !thread.has_chunk() {
        return;
    }
    // SAFETY: the thread's mapped chunk; the slot is checked to lie within it.
    unsafe {
        let end = committed(thread.chunk);
        let at = end.load(Ordering::Relaxed);
        let next = at.wrapping_add(SLOT_BYTES as u32);
        if next > thread.limit {
            return;
        }
        let [head, rest @ ..] = slot;
        let record = thread.chunk.byte_add(at as usize);
        record.byte_add(8).cast::<[u64; 5]>().write(rest);
        AtomicU64::from_ptr(record.cast()).store(head, Ordering::Release);
        end.store(next, Ordering::Release);
    }
}
