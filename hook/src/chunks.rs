//! Chunks of a thread: opening, moving on to the next, handing on.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use umtui_wire::checksum;
use umtui_wire::chunk::{self, ChunkHeader};
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{Head, KIND_CLOCK, KIND_THREAD, SLOT_BYTES, Slot};

use crate::file::{FIRST_BYTES, OpenFile};
use crate::thread::Thread;
use crate::{clock, copier, definitions, desks, evidence, file, nvtx, space, sys, written};

/// Bytes left in a chunk for which another thread goes on in it.
const WORTH_GOING_ON: u32 = 64 * SLOT_BYTES as u32;
/// Bytes of an image: a window without its own header.
const WINDOW_BYTES: u32 = CHUNK_UNIT as u32 - chunk::HEADER_BYTES as u32;
/// Calls that an image has room for.
const WINDOW_CALLS: u64 = WINDOW_BYTES as u64 / SLOT_BYTES as u64;
/// Images of threads that have ended.
static SPARE: [AtomicPtr<ChunkHeader>; 1024] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 1024];

/// One more than the last place that has been used.
#[unsafe(link_section = ".data.small")]
static SPARE_END: AtomicUsize = AtomicUsize::new(0);

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

/// Opens a chunk of definitions or desks, or a window: claimed, in memory, its header written, the magic last. The
/// `first` bytes at least may be written to; how many comes back.
pub fn open(kind: u16, first: u64, thread: u32) -> Option<(*mut ChunkHeader, u32)> {
    let piece = space::piece(first)?;
    let header = piece.address.cast::<ChunkHeader>();
    // SAFETY: fresh zeros of at least the header's length that only we know.
    unsafe {
        (*header).kind = kind;
        (*header).offset = piece.offset;
        start(&mut *header, thread);
    }
    written::add(header);
    Some((header, piece.reserved as u32))
}

/// Makes all of a chunk writable of which `limit` bytes are; false if that cannot be.
///
/// # Safety
/// `header` is an opened chunk of definitions or desks, or a window.
pub unsafe fn reserve_rest(header: *mut ChunkHeader, limit: u32) -> bool {
    // SAFETY: as the caller says; it does not change.
    let offset = unsafe { (*header).offset };
    space::reserve_more(offset.saturating_add(u64::from(limit)), CHUNK_UNIT.saturating_sub(u64::from(limit)))
}

/// Begins a header whose kind and place are set.
fn start(header: &mut ChunkHeader, thread: u32) {
    header.state = chunk::STATE_OPEN;
    header.bytes = CHUNK_UNIT as u32;
    header.thread = thread;
    header.sequence = space::next_sequence();
    header.opened = clock::triple();
    header.first_ticks = header.opened.ticks;
    header.committed = chunk::HEADER_BYTES as u32;
    // SAFETY: aligned, and from here on only accessed atomically.
    unsafe { AtomicU32::from_ptr(&raw mut header.magic) }.store(chunk::MAGIC, Ordering::Release);
}

/// The commit word of a chunk: where its complete slots end.
///
/// # Safety
/// `header` is a mapped chunk.
pub unsafe fn committed<'a>(header: *mut ChunkHeader) -> &'a AtomicU32 {
    // SAFETY: as the caller says; the field is aligned.
    unsafe { AtomicU32::from_ptr(&raw mut (*header).committed) }
}

/// Closes a chunk of definitions for good and unmaps it.
///
/// # Safety
/// `header` is an opened chunk that nobody else uses.
pub unsafe fn seal(header: *mut ChunkHeader) {
    // SAFETY: as the caller says.
    unsafe {
        let slots = committed_slots(header);
        close(&mut *header, slots);
        written::remove(header);
        sys::unmap(header.cast(), CHUNK_UNIT as usize);
    }
}

/// Fills in what a sealed header says of its committed slots. Its state comes last.
fn close(header: &mut ChunkHeader, slots: &[u8]) {
    header.checksum = checksum::of_slots(slots);
    header.sealed = clock::triple();
    header.last_ticks = header.sealed.ticks;
    core::sync::atomic::fence(Ordering::Release);
    // SAFETY: a field of ours.
    unsafe { (&raw mut header.state).write_volatile(chunk::STATE_SEALED) };
}

/// # Safety
/// The header lies before its committed slots, and nobody else writes to the chunk.
unsafe fn committed_slots<'a>(header: *mut ChunkHeader) -> &'a [u8] {
    // SAFETY: as the caller says.
    unsafe {
        let end = committed(header).load(Ordering::Relaxed) as usize;
        let first = header.cast::<u8>().add(chunk::HEADER_BYTES);
        core::slice::from_raw_parts(first, end.wrapping_sub(chunk::HEADER_BYTES))
    }
}

/// Gives the thread its first chunk: one that an ended thread has left, or a fresh one.
pub fn begin(thread: &mut Thread) -> bool {
    for place in SPARE.iter().take(SPARE_END.load(Ordering::Acquire)) {
        if place.load(Ordering::Relaxed).is_null() {
            continue;
        }
        let spare = place.swap(core::ptr::null_mut(), Ordering::AcqRel);
        if spare.is_null() {
            continue;
        }
        if !adopt(thread, spare) {
            return false;
        }
        // SAFETY: a mapped chunk that is now this thread's.
        let end = unsafe { committed(spare) }.load(Ordering::Relaxed);
        return if thread.limit.wrapping_sub(end) < WORTH_GOING_ON { next(thread) } else { introduce(thread) };
    }
    let Some((image, whole)) = window(thread.id) else { return false };
    if !adopt(thread, image) {
        return false;
    }
    if whole {
        thread.limit = WINDOW_BYTES;
    }
    next(thread)
}

/// A fresh window; where the images of its chunks lie, the first of which is to come; and whether all of it is reserved.
/// Files that are written by system calls have none: the image is written to its place.
fn window(thread: u32) -> Option<(*mut ChunkHeader, bool)> {
    if written::is_on() {
        let image = sys::map_private(WINDOW_BYTES as usize).ok()?.cast::<ChunkHeader>();
        written::add(image);
        return Some((image, true));
    }
    let (window, reserved) = open(chunk::KIND_WINDOW, FIRST_BYTES, thread)?;
    // SAFETY: the window is longer than two headers.
    unsafe {
        let image = window.byte_add(chunk::HEADER_BYTES);
        (*image).window = (*window).offset;
        Some((image, u64::from(reserved) == CHUNK_UNIT))
    }
}

/// Makes room for more records: in the rest of the window, or in a fresh chunk; false if there is none, and the old one
/// is kept to count losses in.
pub fn roll(thread: &mut Thread) -> bool {
    if !thread.has_chunk() {
        return false;
    }
    if thread.limit < WINDOW_BYTES {
        // SAFETY: the thread's own image.
        let reserved = unsafe { reserve_window(thread.chunk) };
        if reserved {
            thread.limit = WINDOW_BYTES;
        }
        return reserved;
    }
    next(thread)
}

/// Moves the thread to a fresh chunk; see [`roll`].
fn next(thread: &mut Thread) -> bool {
    let image = thread.chunk;
    let begun = clock::now();
    // Records of the next chunk may be of calls that have begun by now: of the outermost open one at the earliest.
    // SAFETY: the thread's own image, and its mapped desk.
    let next = unsafe {
        let outermost = &raw const (*thread.desk).calls[0];
        let first = if (*outermost).head == 0 { u64::MAX } else { (*outermost).start };
        let spare = if (*image).magic == chunk::MAGIC { copier::spare() } else { None };
        match spare {
            Some(spare) => change_window(thread, spare, first),
            None => move_on(image, thread.id, first).inspect(|_| nudge(clock::triple())),
        }
    };
    match next {
        Ok(true) => {
            file::chunk_costs(clock::now().wrapping_sub(begun), WINDOW_CALLS);
            introduce(thread)
        }
        Ok(false) => false,
        Err(errno) => {
            file::failed(errno);
            false
        }
    }
}

/// Begins the next chunk in another window, and leaves the full one to the copier. `Ok(false)`: there is no place for it.
///
/// # Safety
/// `spare` is nobody's image, its window reserved whole; the thread's own has begun.
unsafe fn change_window(thread: &mut Thread, spare: *mut ChunkHeader, first_ticks: u64) -> Result<bool, i32> {
    let full = thread.chunk;
    // SAFETY: as the caller says; a header is plain data.
    let placed = unsafe {
        let mut next = core::mem::MaybeUninit::<ChunkHeader>::zeroed().assume_init();
        next.kind = chunk::KIND_EVENTS;
        next.window = (*spare).window;
        start(&mut next, thread.id);
        next.first_ticks = next.first_ticks.min(first_ticks);
        let placed = OpenFile::again().and_then(|file| space::place(&file, &mut next));
        if placed == Ok(true) {
            put_header(spare, next);
        }
        placed
    };
    if placed != Ok(true) {
        copier::give_back(spare);
        return placed;
    }
    thread.chunk = spare;
    thread.limit = WINDOW_BYTES;
    copier::hand_over(full);
    Ok(true)
}

/// Writes an image's header, the magic last: with it the chunk is there.
///
/// # Safety
/// `image` is the caller's own.
unsafe fn put_header(image: *mut ChunkHeader, mut header: ChunkHeader) {
    // SAFETY: as the caller says.
    unsafe {
        AtomicU32::from_ptr(&raw mut (*image).magic).store(0, Ordering::Release);
        core::sync::atomic::fence(Ordering::Release);
        let magic = core::mem::replace(&mut header.magic, 0);
        image.write(header);
        AtomicU32::from_ptr(&raw mut (*image).magic).store(magic, Ordering::Release);
    }
}

/// Writes a full image's chunk to its place, where it is sealed; the image is free then.
///
/// # Errors
/// The errno of what failed: the image stays the chunk.
///
/// # Safety
/// `image` has begun, and is the caller's own.
pub unsafe fn copy(image: *mut ChunkHeader) -> Result<(), i32> {
    let file = OpenFile::again()?;
    // SAFETY: as the caller says.
    unsafe {
        seal_at_place(&file, image)?;
        AtomicU32::from_ptr(&raw mut (*image).magic).store(0, Ordering::Release);
    }
    Ok(())
}

/// # Safety
/// As [`copy`].
unsafe fn seal_at_place(file: &OpenFile, image: *mut ChunkHeader) -> Result<(), i32> {
    // SAFETY: as the caller says; a header is plain data.
    unsafe {
        let slots = committed_slots(image);
        let mut sealed = image.read();
        close(&mut sealed, slots);
        file.write(slots, sealed.offset.saturating_add(chunk::HEADER_BYTES as u64))?;
        file.write(space::header_bytes(&sealed), sealed.offset)
    }
}

/// A window that is nobody's yet, reserved whole and touched, so that writing to it takes no page fault.
pub fn spare_window() -> Option<*mut ChunkHeader> {
    let (image, whole) = window(0)?;
    // SAFETY: a fresh window of zeros that only we know; where its image lies was written there.
    unsafe {
        if !whole && !reserve_window(image) {
            return None;
        }
        let window = (*image).window;
        core::ptr::write_bytes(image.cast::<u8>(), 0, WINDOW_BYTES as usize);
        (*image).window = window;
    }
    Some(image)
}

/// Copies the image to its place and begins the next chunk in it. In this order, so that a process that is killed in
/// between leaves every record once. The image is not sealed itself: if a write fails, it stays the chunk. `Ok(false)`:
/// somebody is writing the image, or recording has stopped.
///
/// # Safety
/// `image` is the thread's own.
unsafe fn move_on(image: *mut ChunkHeader, thread: u32, first_ticks: u64) -> Result<bool, i32> {
    if !file::is_open() {
        return Ok(false);
    }
    let Some(_held) = written::hold(image) else { return Ok(false) };
    let file = OpenFile::again()?;
    // SAFETY: as the caller says; a header is plain data.
    unsafe {
        let mut next = core::mem::MaybeUninit::<ChunkHeader>::zeroed().assume_init();
        next.kind = chunk::KIND_EVENTS;
        next.window = (*image).window;
        start(&mut next, thread);
        next.first_ticks = next.first_ticks.min(first_ticks);
        let begun = (*image).magic == chunk::MAGIC;
        let placed = space::place(&file, &mut next)?;
        if begun && placed {
            seal_at_place(&file, image)?;
        } else if begun {
            // No place but its own: what it holds makes room.
            file::discarded(u64::from((*image).events()));
            next.offset = (*image).offset;
            file.write(space::header_bytes(&next), next.offset)?;
        } else if !placed {
            file::full();
            return Ok(false);
        }
        put_header(image, next);
    }
    Ok(true)
}

/// The thread ends: another may go on in its chunk.
pub fn hand_back(thread: &mut Thread) {
    let image = thread.chunk;
    if !thread.has_chunk() {
        return;
    }
    thread.chunk = nowhere();
    thread.limit = 0;
    // Where there is no room for it, it stays as it is.
    for (number, place) in SPARE.iter().enumerate() {
        if place.compare_exchange(core::ptr::null_mut(), image, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            SPARE_END.fetch_max(number.wrapping_add(1), Ordering::AcqRel);
            return;
        }
    }
}

/// In a child after fork: a signal handler may have forked in the midst of a call, and its thread goes on with that here,
/// as if the file were still its own. What it writes then must not come into the parent's, which has gone on as well.
pub fn leave_to_parent(thread: &Thread) {
    if written::is_on() || !thread.has_chunk() || !thread.is_amid_a_call() {
        return;
    }
    desks::leave_to_parent(thread);
    // SAFETY: the image lies in its window, behind the header. Of its records none is read again here.
    unsafe { sys::map_private_over(thread.chunk.cast::<u8>().sub(chunk::HEADER_BYTES), CHUNK_UNIT as usize) };
}

/// In a child after fork: the spare chunks are the parent's.
pub fn forget() {
    // To look costs a child no page of its own.
    for place in
        SPARE.iter().take(SPARE_END.load(Ordering::Acquire)).filter(|place| !place.load(Ordering::Relaxed).is_null())
    {
        place.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Takes over an image, with room for a while; false if that cannot be had. Of one whose cursor is among the first bytes
/// no more may be reserved; to reserve the rest twice does no harm.
fn adopt(thread: &mut Thread, image: *mut ChunkHeader) -> bool {
    const FIRST: u32 = FIRST_BYTES as u32 - chunk::HEADER_BYTES as u32;
    // SAFETY: an image that is now this thread's.
    let end = unsafe { committed(image) }.load(Ordering::Relaxed);
    let fits = !written::is_on() && end.wrapping_add(WORTH_GOING_ON) <= FIRST;
    // SAFETY: likewise.
    if !fits && end <= FIRST && !unsafe { reserve_window(image) } {
        return false;
    }
    thread.limit = if fits { FIRST } else { WINDOW_BYTES };
    thread.chunk = image;
    true
}

/// Makes all of an image's window writable.
///
/// # Safety
/// The calling thread's own image.
unsafe fn reserve_window(image: *mut ChunkHeader) -> bool {
    // SAFETY: as the caller says; the window does not change.
    let window = unsafe { (*image).window };
    space::reserve_more(window.saturating_add(FIRST_BYTES), CHUNK_UNIT.saturating_sub(FIRST_BYTES))
}

/// Writes who the thread is and what time it is at the cursor of a chunk that has room.
fn introduce(thread: &mut Thread) -> bool {
    let name = nvtx::thread_name(thread).unwrap_or_else(|| own_name(thread));
    let now = clock::triple();
    name_thread(thread, now.ticks, name);
    note_clock(thread, now);
    evidence::write_due(thread);
    true
}

/// Writes down a fresh clock reading, and the thread's name if it has changed. The chunk has room for two slots.
pub fn refresh_clock(thread: &mut Thread) {
    let now = clock::triple();
    note_clock(thread, now);
    let name = sys::thread_name();
    if name != thread.name {
        thread.name = name;
        nvtx::forget_thread_name(thread);
        let name = own_name(thread);
        name_thread(thread, now.ticks, name);
    }
    evidence::write_due(thread);
}

/// String id of the name that the system knows the thread by.
fn own_name(thread: &Thread) -> u32 {
    definitions::string(thread.name.split(|&byte| byte == 0).next().unwrap_or_default())
}

/// Writes down which thread goes on and its name; false if there is no room.
pub fn name_thread(thread: &mut Thread, ticks: u64, name: u32) -> bool {
    let head = Head { kind: KIND_THREAD, extra: 0, a: 0, b: thread.id };
    put(thread, [head.word(), ticks, u64::from(name), 0, 0, 0])
}

fn note_clock(thread: &mut Thread, now: ClockTriple) {
    thread.clock_due = now.ticks.wrapping_add(clock::refresh_ticks());
    let head = Head { kind: KIND_CLOCK, extra: 0, a: 0, b: 0 };
    put(thread, [head.word(), now.ticks, now.monotonic_ns, now.realtime_ns, 0, 0]);
    nudge_sometimes(now);
}

#[unsafe(link_section = ".data.small")]
static NUDGED: AtomicU64 = AtomicU64::new(0);

fn nudge_sometimes(now: ClockTriple) {
    if now.ticks.wrapping_sub(NUDGED.load(Ordering::Relaxed)) >= clock::refresh_ticks() {
        nudge(now);
    }
}

fn nudge(now: ClockTriple) {
    NUDGED.store(now.ticks, Ordering::Relaxed);
    file::nudge(now);
}

/// Calls are being lost, at these ticks: from time to time watchers, and the file where it is written, learn of it.
pub fn losing(ticks: u64) {
    if ticks.wrapping_sub(NUDGED.load(Ordering::Relaxed)) >= clock::refresh_ticks() {
        nudge_sometimes(clock::triple());
    }
}

/// Appends one slot that is no event of its own; false if there is no room. The thread has its chunk for itself.
pub fn put(thread: &mut Thread, slot: Slot) -> bool {
    if !thread.has_chunk() {
        return false;
    }
    // SAFETY: the thread's mapped chunk; the slot is checked to lie within it.
    unsafe {
        let end = committed(thread.chunk);
        let at = end.load(Ordering::Relaxed);
        let next = at.wrapping_add(SLOT_BYTES as u32);
        if next > thread.limit {
            return false;
        }
        let [head, rest @ ..] = slot;
        let record = thread.chunk.byte_add(at as usize);
        record.byte_add(8).cast::<[u64; 5]>().write(rest);
        AtomicU64::from_ptr(record.cast()).store(head, Ordering::Release);
        (*thread.chunk).others = (*thread.chunk).others.wrapping_add(1);
        end.store(next, Ordering::Release);
    }
    true
}
