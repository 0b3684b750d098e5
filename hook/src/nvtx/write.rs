//! Records of ranges and marks, in the calling thread's chunk.

use core::sync::atomic::{AtomicBool, Ordering};
use umtui_wire::activity::{KIND_MARK, KIND_RANGE_END, KIND_RANGE_POP, KIND_RANGE_PUSH, KIND_RANGE_START, Range};
use umtui_wire::definition::NO_STRING;
use umtui_wire::record::Head;

use super::event::{Event, Name};
use super::stacks::{Open, Stack};
use super::{handles, names};
use crate::thread::{BUSY, Thread};
use crate::{capture, chunks, clock, enter, process, record};

/// Whether ranges are recorded at all.
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
fn begin(thread: &mut Thread) -> bool {
    if thread.ending != 0 || thread.busy != 0 || thread.entering != 0 || thread.quick_until == BUSY {
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

fn name_id(name: Name<'_>) -> u32 {
    match name {
        Name::None => NO_STRING,
        Name::Text(text) => names::id(text),
        Name::Handle(handle) => handles::id(handle),
    }
}

/// Appends a record; the thread has its chunk for itself. False if there is no room.
#[inline]
fn put(thread: &mut Thread, kind: u8, level: u16, now: u64, range: &Range) -> bool {
    let Some(place) = record::room(thread, now) else { return false };
    let head = Head { kind, extra: 0, a: level, b: range.head as u32 };
    // SAFETY: the chunk has room for the slot.
    unsafe {
        let mut range = *range;
        range.head = 0;
        place.cast::<Range>().write(range);
        record::commit(thread, place, head);
        if kind == KIND_RANGE_POP || kind == KIND_RANGE_END {
            // The end is no event of its own.
            (*thread.chunk).others = (*thread.chunk).others.wrapping_add(1);
        }
    }
    true
}

/// As a record, but for the head, which holds the category.
#[inline]
fn described(event: &Event<'_>, domain: u32, ticks: u64, id: u64) -> Range {
    Range {
        head: u64::from(event.category),
        ticks,
        name: name_id(event.name),
        domain: handles::domain_id(domain),
        color: event.color,
        payload_type: event.payload_type,
        payload: event.payload,
        id,
    }
}

fn bare(domain: u32, ticks: u64, id: u64) -> Range {
    Range { ticks, domain: handles::domain_id(domain), id, ..Range::default() }
}

/// What could not be written is counted.
#[cold]
fn lost(thread: &mut Thread) {
    record::lost(thread);
    if thread.busy == 0 && thread.quick_until != BUSY {
        thread.try_again_if_due();
    }
}

/// The range at a place of the thread's stack was pushed just now, as `event` says.
#[inline]
pub fn push(thread: &mut Thread, stack: &mut Stack, place: usize, event: &Event<'_>) {
    let generation = process::generation();
    let below = place.checked_sub(1);
    let _ = record::with_chunk(thread, |thread| {
        if let Some(below) = below {
            let lacks_some = stack.unwritten(below, generation).next().is_some();
            if lacks_some && !write_open(thread, stack, below) {
                return;
            }
        }
        // Where it has made the thread ready, it has been written with those around it.
        let Some(open) = stack.at(place).filter(|open| open.written != generation) else { return };
        let range = described(event, open.domain, open.ticks, 0);
        if put(thread, KIND_RANGE_PUSH, open.level, open.ticks, &range) {
            open.written = generation;
        }
    });
}

/// Writes the thread's open ranges up to a place that this recording lacks; false if there is no room.
#[cold]
fn write_open(thread: &mut Thread, stack: &mut Stack, last: usize) -> bool {
    let generation = process::generation();
    for open in stack.unwritten(last, generation) {
        let range = described(&open.event(), open.domain, open.ticks, 0);
        if !put(thread, KIND_RANGE_PUSH, open.level, clock::now(), &range) {
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
    let (domain, level, written) = (open.domain, open.level, open.written);
    if !goes_on(thread, written) && !is_on(thread) {
        return;
    }
    let generation = process::generation();
    let done = record::with_chunk(thread, |thread| {
        // It may have been opened while recording was paused.
        (written == generation || write_open(thread, stack, place))
            && put(thread, KIND_RANGE_POP, level, ticks, &bare(domain, ticks, 0))
    });
    if done != Some(true) {
        lost(thread);
    }
}

/// A range lies too deep to be recorded.
#[cold]
pub fn too_deep(thread: &mut Thread) {
    if is_on(thread) {
        lost(thread);
    }
}

/// Writes the thread's open ranges that this recording lacks: it has just begun, or goes on.
pub fn catch_up(thread: &mut Thread, stack: &mut Stack) {
    if let Some(last) = stack.innermost() {
        let _ = record::with_chunk(thread, |thread| write_open(thread, stack, last));
    }
}

/// A mark.
pub fn mark(thread: &mut Thread, domain: u32, event: &Event<'_>) {
    if !is_on(thread) {
        return;
    }
    let now = clock::now();
    let level = thread.ranges.min(u32::from(u16::MAX)) as u16;
    let done =
        record::with_chunk(thread, |thread| put(thread, KIND_MARK, level, now, &described(event, domain, now, 0)));
    if done != Some(true) {
        lost(thread);
    }
}

/// The beginning of a range that any thread may end, if this recording lacks it; whether it has it then.
pub fn start(thread: &mut Thread, open: &mut Open, event: Option<&Event<'_>>, id: u64) -> bool {
    if open.written == process::generation() && open.written != 0 {
        return true;
    }
    if !is_on(thread) {
        return false;
    }
    let done = record::with_chunk(thread, |thread| {
        let kept = open.event();
        let range = described(event.unwrap_or(&kept), open.domain, open.ticks, id);
        put(thread, KIND_RANGE_START, open.level, clock::now(), &range)
    });
    if done == Some(true) {
        open.written = process::generation();
    } else {
        lost(thread);
    }
    done == Some(true)
}

/// The end of such a range.
pub fn end(thread: &mut Thread, domain: u32, id: u64, ticks: u64, written: u64) {
    if !goes_on(thread, written) && !is_on(thread) {
        return;
    }
    let done = record::with_chunk(thread, |thread| put(thread, KIND_RANGE_END, 0, ticks, &bare(domain, ticks, id)));
    if done != Some(true) {
        lost(thread);
    }
}

/// The calling thread has a name.
pub fn thread_name(thread: &mut Thread, name: u32) {
    if !is_on(thread) {
        return;
    }
    let _ = record::with_chunk(thread, |thread| {
        let now = clock::now();
        record::room(thread, now).is_some() && chunks::name_thread(thread, now, name)
    });
}
