//! Records of ranges and marks, in the calling thread's chunk.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};
use umtui_wire::activity::{KIND_MARK, KIND_RANGE_END, KIND_RANGE_POP, KIND_RANGE_PUSH, KIND_RANGE_START, Range};
use umtui_wire::definition::NO_STRING;
use umtui_wire::record::{Head, SLOT_BYTES};

use super::event::{Event, Name};
use super::stacks::{Open, Stack};
use super::{handles, names};
use crate::thread::{BUSY, Thread};
use crate::{append, capture, chunks, clock, enter, process, record};

/// Whether ranges are recorded at all.
#[unsafe(link_section = ".data.small")]
static WANTED: AtomicBool = AtomicBool::new(true);

/// Says whether ranges are recorded.
pub fn want(wanted: bool) {
    WANTED.store(wanted, Ordering::Relaxed);
}

/// Whether the thread records ranges now. It becomes ready if the process records.
#[inline]
pub fn is_on(thread: &mut Thread) -> bool {
    let generation = process::generation();
    generation != 0
        && WANTED.load(Ordering::Relaxed)
        && capture::is_on()
        && (thread.generation == generation || begin(thread))
}

/// A thread's first range may come before its first call. What interrupts its thread in a call cannot make it ready.
#[cold]
#[inline(never)]
fn begin(thread: &mut Thread) -> bool {
    if thread.ending != 0 || thread.entering != 0 || thread.is_writing() {
        return false;
    }
    enter::begin_thread(thread);
    thread.generation == process::generation()
}

/// Whether the end of what this recording has can still be written: also while it is paused, as that of a call.
#[inline]
fn goes_on(thread: &Thread, written: u64) -> bool {
    written == process::generation() && thread.generation == written
}

#[inline(always)]
fn name_id(name: Name<'_>) -> u32 {
    match name {
        Name::None => NO_STRING,
        Name::Text(text) => names::id(text),
        Name::Handle(handle) => handles::id(handle),
    }
}

/// Appends a record; the thread has its chunk for itself. False if there is no room.
fn put(thread: &mut Thread, kind: u8, level: u16, now: u64, range: &Range) -> bool {
    let Some(place) = append::room(thread, now) else { return false };
    // SAFETY: the chunk has room for the slot.
    unsafe { write(place, kind, level, range) };
    let head = Head { kind, extra: 0, a: level, b: range.head as u32 };
    // SAFETY: as above.
    unsafe { append::commit(thread, place, head) };
    true
}

/// Writes a slot, the head last.
///
/// # Safety
/// There is room for it.
#[inline(always)]
unsafe fn write(place: *mut u8, kind: u8, level: u16, range: &Range) {
    let head = Head { kind, extra: 0, a: level, b: range.head as u32 };
    // SAFETY: as the caller says; the words after the head.
    unsafe {
        let words = (&raw const *range).cast::<[u64; 5]>().byte_add(8).read();
        place.cast::<[u64; 5]>().byte_add(8).write(words);
        AtomicU64::from_ptr(place.cast()).store(head.word(), Ordering::Release);
    }
}

/// As [`put`], where nothing is to be done but to write a record that fits the chunk, as [`record::leave`] does it. False:
/// it must be done the slow way. `is_due` is asked once nobody else can write it.
#[inline(always)]
fn put_quickly(thread: &mut Thread, kind: u8, level: u16, range: &Range, is_due: impl FnOnce() -> bool) -> bool {
    let until = thread.quick_until;
    if range.ticks >= until {
        return false;
    }
    // From here on a signal handler leaves the chunk alone, and must not have changed it since it was looked at.
    thread.quick_until = BUSY;
    compiler_fence(Ordering::SeqCst);
    let header = thread.chunk;
    // SAFETY: a thread that may write quickly has a mapped chunk; the slot is checked to lie within it.
    let fits = unsafe {
        let committed = chunks::committed(header);
        let at = committed.load(Ordering::Relaxed);
        let next = at.wrapping_add(SLOT_BYTES as u32);
        let fits = next <= thread.limit && is_due();
        if fits {
            write(header.cast::<u8>().add(at as usize), kind, level, range);
            committed.store(next, Ordering::Release);
        }
        fits
    };
    compiler_fence(Ordering::SeqCst);
    thread.quick_until = until;
    fits
}

/// Fills in the ids that name and domain have in this recording.
#[inline]
fn identify(open: &mut Open, name: Name<'_>) {
    open.range.name = name_id(name);
    open.range.domain = handles::domain_id(open.domain);
}

/// Likewise, with the name that was kept.
fn identify_kept(open: &mut Open) {
    open.range.name = name_id(open.name());
    open.range.domain = handles::domain_id(open.domain);
}

fn described(event: &Event<'_>, domain: u32, ticks: u64) -> Range {
    Range {
        head: u64::from(event.category),
        ticks,
        name: name_id(event.name),
        domain: handles::domain_id(domain),
        color: event.color,
        payload_type: event.payload_type,
        payload: event.payload,
        id: 0,
    }
}

/// Of an end only when and where count, and of what.
#[inline]
fn bare(domain: u32, ticks: u64, id: u64) -> Range {
    Range { head: 0, ticks, name: 0, domain, color: 0, payload_type: 0, payload: 0, id }
}

/// What could not be written is counted.
#[cold]
#[inline(never)]
fn lost(thread: &mut Thread) {
    record::lost(thread);
    if !thread.is_writing() {
        thread.try_again_if_due();
    }
}

/// A range was pushed just now, as it says itself; its name is given as it came. False: that remains to be done by
/// [`push_slowly`].
#[inline(always)]
pub fn push(thread: &mut Thread, open: &mut Open, below: Option<u64>, name: Name<'_>) -> bool {
    let generation = thread.generation;
    identify(open, name);
    if below != Some(generation) && below != Some(u64::MAX) {
        return false;
    }
    // A handler that comes in between writes what it finds unwritten.
    let written = &raw mut open.written;
    // SAFETY: the thread's own stack.
    let mark = || unsafe {
        written.read_volatile() != generation && {
            written.write_volatile(generation);
            true
        }
    };
    put_quickly(thread, KIND_RANGE_PUSH, open.level, &open.range, mark)
}

/// The range at a place of the thread's stack was pushed, and those below it may have to be written first.
#[cold]
#[inline(never)]
pub fn push_slowly(thread: &mut Thread, stack: &mut Stack, place: usize) {
    let generation = process::generation();
    let _ = append::with_chunk(thread, |thread| {
        if !place.checked_sub(1).is_none_or(|below| write_open(thread, stack, below)) {
            return;
        }
        // Where it has made the thread ready, it has been written with those around it.
        let Some(open) = stack.at(place).filter(|open| open.written != generation) else { return };
        if put(thread, KIND_RANGE_PUSH, open.level, open.range.ticks, &open.range) {
            open.written = generation;
        }
    });
}

/// Writes the thread's open ranges up to a place that this recording lacks; false if there is no room.
#[cold]
fn write_open(thread: &mut Thread, stack: &mut Stack, last: usize) -> bool {
    let generation = process::generation();
    for open in stack.unwritten(last, generation) {
        identify_kept(open);
        if !put(thread, KIND_RANGE_PUSH, open.level, clock::now(), &open.range) {
            return false;
        }
        open.written = generation;
    }
    true
}

/// The range at a place of the thread's stack ends at these ticks.
#[inline]
pub fn pop(thread: &mut Thread, stack: &mut Stack, place: usize, ticks: u64) {
    let Some(open) = stack.at(place) else { return };
    let range = bare(open.range.domain, ticks, 0);
    if !goes_on(thread, open.written) || !put_quickly(thread, KIND_RANGE_POP, open.level, &range, || true) {
        pop_slowly(thread, stack, place, ticks);
    }
}

#[cold]
#[inline(never)]
fn pop_slowly(thread: &mut Thread, stack: &mut Stack, place: usize, ticks: u64) {
    let Some((level, written)) = stack.at(place).map(|open| (open.level, open.written)) else { return };
    if !goes_on(thread, written) && !is_on(thread) {
        return;
    }
    let generation = process::generation();
    let done = append::with_chunk(thread, |thread| {
        // It may have been opened while recording was paused.
        if written != generation && !write_open(thread, stack, place) {
            return false;
        }
        let domain = stack.at(place).map_or(0, |open| open.range.domain);
        put(thread, KIND_RANGE_POP, level, ticks, &bare(domain, ticks, 0))
    });
    if done != Some(true) {
        lost(thread);
    }
}

/// A range lies too deep to be recorded.
#[cold]
#[inline(never)]
pub fn too_deep(thread: &mut Thread) {
    if is_on(thread) {
        lost(thread);
    }
}

/// Writes the thread's open ranges that this recording lacks: it has just begun, or goes on.
pub fn catch_up(thread: &mut Thread, stack: &mut Stack) {
    if let Some(last) = stack.innermost() {
        let _ = append::with_chunk(thread, |thread| write_open(thread, stack, last));
    }
}

/// A mark.
pub fn mark(thread: &mut Thread, domain: u32, event: &Event<'_>) {
    if !is_on(thread) {
        return;
    }
    let now = clock::now();
    let level = thread.ranges.min(u32::from(u16::MAX)) as u16;
    let done = append::with_chunk(thread, |thread| put(thread, KIND_MARK, level, now, &described(event, domain, now)));
    if done != Some(true) {
        lost(thread);
    }
}

/// The beginning of a range that any thread may end, if this recording lacks it; whether it has it then. Its name is the
/// one that was kept if none is given.
pub fn start(thread: &mut Thread, open: &mut Open, name: Option<Name<'_>>) -> bool {
    if open.written == process::generation() && open.written != 0 {
        return true;
    }
    if !is_on(thread) {
        return false;
    }
    match name {
        Some(name) => identify(open, name),
        None => identify_kept(open),
    }
    let done =
        append::with_chunk(thread, |thread| put(thread, KIND_RANGE_START, open.level, clock::now(), &open.range));
    if done == Some(true) {
        open.written = process::generation();
    } else {
        lost(thread);
    }
    done == Some(true)
}

/// The end of such a range, which this recording has if `written` says so.
pub fn end(thread: &mut Thread, domain: u32, id: u64, ticks: u64, written: u64) {
    if !goes_on(thread, written) && !is_on(thread) {
        return;
    }
    let range = bare(handles::domain_id(domain), ticks, id);
    let done = append::with_chunk(thread, |thread| put(thread, KIND_RANGE_END, 0, ticks, &range));
    if done != Some(true) {
        lost(thread);
    }
}

/// The calling thread has a name.
pub fn thread_name(thread: &mut Thread, name: u32) {
    if !is_on(thread) {
        return;
    }
    let _ = append::with_chunk(thread, |thread| {
        let now = clock::now();
        append::room(thread, now).is_some() && chunks::name_thread(thread, now, name)
    });
}
