//! The end of a call: one record into the thread's chunk.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};
use umtui_wire::activity::{KIND_SUBMIT, POINTERS_CUT, POINTERS_MAX};
use umtui_wire::chunk::{DESK_CALLS, OpenCall};
use umtui_wire::record::{DURATION_AT, FLAG_ENTRY, FLAG_LONG, FLAG_NOT_STATUS, Head, KIND_CALL, SLOT_BYTES, pack_site};

use crate::append::{commit, room, with_chunk};
use crate::arch::Frame;
use crate::arguments::{all_arguments, argument, lowest_address, put};
use crate::slots::{Slot, shape};
use crate::thread::{BUSY, Thread};
use crate::{capture, chunks, cupti, desks, file, kernels, left_out, procaddress, process, slots, sys};

/// Called by the trampoline when the real function has returned and the trampoline itself does not know how its
/// arguments are read. Only the usual case is here: nothing is to be done but to write a record that fits the chunk.
///
/// # Safety
/// `frame` is the trampoline's frame of this call, `thread` the calling thread's state.
pub unsafe extern "C" fn leave(frame: &mut Frame, end: u64, thread: &mut Thread) {
    // SAFETY: slots are static; the frame's desk entry and the thread's chunk are mapped, and the chunk has room
    // for the record's slots. User addresses leave the upper 16 bits of the site free.
    unsafe {
        let slot = &*frame.slot;
        let open = frame.open;
        let until = thread.quick_until;
        if thread.generation != process::generation() || end >= until {
            return leave_slowly(frame, end, thread);
        }
        // From here on a signal handler that calls CUDA leaves the chunk alone, and must not have changed it since
        // it was looked at.
        thread.quick_until = BUSY;
        compiler_fence(Ordering::SeqCst);
        let header = thread.chunk;
        let committed = chunks::committed(header);
        let at = committed.load(Ordering::Relaxed);
        let next = at.wrapping_add(slot.record_bytes.load(Ordering::Relaxed));
        let start = (*open).start;
        let duration = end.wrapping_sub(start);
        if next > thread.limit {
            thread.quick_until = until;
            return leave_slowly(frame, end, thread);
        }
        let record = header.cast::<u8>().add(at as usize);
        let status = frame.result as u32;
        put(record, 8, start);
        put(record, 16, frame.site | (*open).depth);
        put(record, DURATION_AT, duration as u32);
        let [first, second, ..] = frame.registers;
        match slot.shape.load(Ordering::Relaxed) {
            shape::NONE => {}
            shape::VALUE => put(record, 32, first),
            shape::TWO_VALUES => {
                put(record, 32, first);
                put(record, 40, second);
            }
            shape::POINTEE if status == 0 && first >= 4096 => put(record, 32, (first as *const u64).read_unaligned()),
            shape::POINTEE => put(record, 32, 0u64),
            shape::POINTEE_VALUE if status == 0 && first >= 4096 => {
                put(record, 32, (first as *const u64).read_unaligned());
                put(record, 40, second);
            }
            shape::VALUE4 => put(record, 28, first as u32),
            shape::POINTEE4 if status == 0 && first >= 4096 => put(record, 28, (first as *const u32).read_unaligned()),
            shape::POINTEE4 => put(record, 28, 0u32),
            // A call of its own, so that this one needs no registers saved.
            _ => return arguments(frame, thread, record, next, until),
        }
        publish(frame, thread, record, next, until);
    }
}

/// Reads the arguments of a call that has more than a few, then as [`publish`].
///
/// # Safety
/// As [`publish`], all but the arguments written.
#[inline(never)]
unsafe fn arguments(frame: &Frame, thread: &mut Thread, record: *mut u8, next: u32, until: u64) {
    // SAFETY: as the caller says.
    unsafe {
        let lowest = lowest_address(frame.result as u32 == 0);
        for op in (*frame.slot).ops() {
            argument(frame, op, lowest, record);
        }
        (*thread.chunk).others = (*thread.chunk).others.wrapping_add(u32::from((*frame.slot).extra()));
        publish(frame, thread, record, next, until);
    }
}

/// Commits a record, lets others at the chunk again and takes the call off the desk.
///
/// # Safety
/// The record is written, all but its head; it ends at `next` in the thread's mapped chunk.
#[inline(always)]
unsafe fn publish(frame: &Frame, thread: &mut Thread, record: *mut u8, next: u32, until: u64) {
    // SAFETY: as the caller says; the call's desk is mapped.
    unsafe {
        let head = u64::from((*frame.slot).head.load(Ordering::Relaxed)) | frame.result << 32;
        AtomicU64::from_ptr(record.cast()).store(head, Ordering::Release);
        chunks::committed(thread.chunk).store(next, Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        thread.quick_until = until;
        AtomicU64::from_ptr(&raw mut (*frame.open).head).store(0, Ordering::Release);
        thread.open = frame.open;
    }
}

/// # Safety
/// As [`leave`].
#[cold]
#[inline(never)]
unsafe fn leave_slowly(frame: &mut Frame, end: u64, thread: &mut Thread) {
    if thread.generation != process::generation() {
        // The process was forked, or the thread torn down, inside the call: this side did not begin it.
        return;
    }
    // SAFETY: slots are static.
    let slot = unsafe { &*frame.slot };
    // The call site may have been known, and not the function.
    slots::define_once(slot);
    let flags = slot.flags.load(Ordering::Relaxed);
    if flags & slots::CONTROLS_RECORDING != 0 {
        capture::controlled(slot.api(), true);
    }
    if flags & slots::ACTIONS != 0 && frame.result as u32 == 0 && !is_known_launch(frame, flags) {
        // SAFETY: this call's frame.
        unsafe { act(frame, thread, flags, slot.api()) };
    }
    let call = Opened::of(frame, thread);
    // SAFETY: this call's frame.
    let written = with_chunk(thread, |thread| unsafe {
        if slot.also.load(Ordering::Relaxed) & slots::ASKS != 0 && is_left_out(frame, slot, &call, end, thread) {
            return true;
        }
        write(frame, slot, flags, &call, end, thread)
    });
    if written != Some(true) {
        lost(thread);
    }
    close(frame, thread);
    if slot.also.load(Ordering::Relaxed) & !slots::ASKS != 0 && cupti::is_due() && frame.result as u32 == 0 {
        cupti::begin();
    }
    thread.hand_on_if_ending();
    thread.try_again_if_due();
}

/// Whether the call is a launch of a kernel that was asked about.
fn is_known_launch(frame: &Frame, flags: u8) -> bool {
    let [first, second, ..] = frame.registers;
    match flags & slots::ACTIONS {
        slots::ACTION_LAUNCH => kernels::is_known(first),
        slots::ACTION_LAUNCH_EX => kernels::is_known(second),
        _ => false,
    }
}

/// Stands in for the place of a call on a desk that is full. While there are such calls, none ends the quick way.
pub static DEEPER: OpenCall = OpenCall { head: 0, start: 0, site: 0, registers: [0; 3], frame: 0, depth: 0 };

fn is_deeper(open: *const OpenCall) -> bool {
    core::ptr::eq(open, &raw const DEEPER)
}

/// When and how deep a call was opened.
struct Opened {
    start: u64,
    depth: u8,
}

impl Opened {
    fn of(frame: &Frame, thread: &Thread) -> Self {
        if is_deeper(frame.open) {
            let depth = (DESK_CALLS as u32).wrapping_add(thread.deeper).wrapping_sub(1).min(255);
            return Self { start: frame.late_start, depth: depth as u8 };
        }
        // SAFETY: the thread's desk is mapped.
        unsafe { Self { start: (*frame.open).start, depth: ((*frame.open).depth >> 48) as u8 } }
    }
}

/// The call is no longer open.
fn close(frame: &Frame, thread: &mut Thread) {
    if is_deeper(frame.open) {
        thread.deeper = thread.deeper.saturating_sub(1);
    } else {
        // SAFETY: the thread's desk is mapped.
        unsafe { AtomicU64::from_ptr(&raw mut (*frame.open).head) }.store(0, Ordering::Release);
        thread.open = frame.open;
        lose_deeper(thread);
    }
    if !thread.is_writing() {
        thread.go_on();
    }
}

/// Calls for which the desk had no place have left no trace if they did not return.
fn lose_deeper(thread: &mut Thread) {
    for _ in 0..core::mem::take(&mut thread.deeper) {
        lost(thread);
    }
}

/// # Safety
/// `frame` is the call's.
unsafe fn write(frame: &Frame, slot: &Slot, flags: u8, call: &Opened, end: u64, thread: &mut Thread) -> bool {
    let duration = end.wrapping_sub(call.start);
    let long = duration >> 32 != 0;
    let extra = slot.extra().wrapping_add(u8::from(long));
    let bytes = usize::from(extra).wrapping_add(1).wrapping_mul(SLOT_BYTES);
    let Some(mut record) = room(thread, end) else { return false };
    let also = slot.also.load(Ordering::Relaxed);
    if also & (slots::SUBMITS | slots::NODE | slots::CHANGES_NODE) != 0 && !is_deeper(frame.open) {
        // SAFETY: the call's frame, after the call.
        record = unsafe { submit(frame, (flags, also), call, thread, record) };
    }
    let status = frame.result as u32;
    let succeeded = status == 0 || flags & slots::RETURNS_OTHER != 0;
    let mut call_flags = if flags & slots::RETURNS_OTHER != 0 { FLAG_NOT_STATUS } else { 0 };
    if long {
        call_flags |= FLAG_LONG;
    }
    // SAFETY: the record's slots lie within the thread's mapped chunk, which has room for them.
    unsafe {
        put(record, 8, call.start);
        put(record, 16, pack_site(frame.site, call.depth, call_flags) | desks::flags());
        put(record, DURATION_AT, duration as u32);
        let lowest = lowest_address(succeeded);
        if flags & slots::READS_MORE == 0 {
            for op in slot.ops() {
                argument(frame, op, lowest, record);
            }
        } else {
            all_arguments(frame, slot, succeeded, record);
        }
        if long {
            put(record, bytes.wrapping_sub(8), duration);
        }
        let head = Head { kind: KIND_CALL, extra, a: slot.api(), b: status };
        commit(thread, record, head);
    }
    true
}

/// Whether the filter leaves out a call that has returned; it is counted then.
///
/// # Safety
/// `frame` is the call's.
#[cold]
#[inline(never)]
unsafe fn is_left_out(frame: &Frame, slot: &Slot, call: &Opened, end: u64, thread: &mut Thread) -> bool {
    // When a clock reading is due, so is a look at the thread's name.
    let has_room = room(thread, end).is_some();
    // SAFETY: as the caller says.
    let left_out = has_room && unsafe { left_out::leaves_out(frame, slot, end.wrapping_sub(call.start), thread) };
    if left_out {
        if slot.also.load(Ordering::Relaxed) & slots::SUBMITS != 0 {
            thread.correlation = 0;
            thread.correlation_depth = 0;
        }
        file::left_out();
    }
    left_out
}

/// Before the record of a call that hands work to a device, or a kernel to a graph: what the work is known by there, and
/// which memory it may touch. The driver's function, which is inside the runtime's, has both. Returns where the call's
/// own record goes, which is to lie in the same chunk.
///
/// # Safety
/// `frame` is the call's; `record` is from [`room`].
unsafe fn submit(
    frame: &Frame,
    (flags, also): (u8, u8),
    call: &Opened,
    thread: &mut Thread,
    record: *mut u8,
) -> *mut u8 {
    let mut correlation = 0;
    if also & slots::SUBMITS != 0 {
        // The callback came while this call was open, or one inside it.
        let told = thread.correlation_depth > u16::from(call.depth).wrapping_add(1);
        correlation = if told { thread.correlation } else { 0 };
        thread.correlation = 0;
        thread.correlation_depth = 0;
    }
    // SAFETY: the chunk has room for the longest record of this kind and that of the call. It is not committed yet.
    unsafe {
        let words = record.cast::<u64>();
        let mut pointers = 0u16;
        if frame.result as u32 == 0 && slots::arguments_wanted() {
            let found = core::slice::from_raw_parts_mut(words.add(3), POINTERS_MAX as usize);
            // The call has succeeded.
            pointers = if also & (slots::NODE | slots::CHANGES_NODE) != 0 {
                kernels::pointers_of_node(frame, also, found)
            } else {
                kernels::pointers(frame, flags, found)
            };
        }
        if correlation == 0 && pointers == 0 {
            return record;
        }
        let used = 3usize.wrapping_add(usize::from(pointers & !POINTERS_CUT));
        let slots = used.div_ceil(SLOT_BYTES / 8);
        words.add(1).write(call.start);
        words.add(2).write(0);
        for rest in used..slots.wrapping_mul(SLOT_BYTES / 8) {
            words.add(rest).write(0);
        }
        let head = Head { kind: KIND_SUBMIT, extra: slots.wrapping_sub(1) as u8, a: pointers, b: correlation };
        commit(thread, record, head);
        (*thread.chunk).others = (*thread.chunk).others.wrapping_add(1);
        record.add(slots.wrapping_mul(SLOT_BYTES))
    }
}

/// Counts a call that could not be recorded.
#[cold]
pub fn lost(thread: &mut Thread) {
    if thread.busy != 0 {
        // The chunk may be about to change.
        // SAFETY: an aligned field of the thread's own; only it and its signal handlers write it.
        unsafe { AtomicU32::from_ptr(&raw mut thread.lost_meanwhile) }.fetch_add(1, Ordering::Relaxed);
    } else {
        lost_many(thread, 1);
    }
}

/// Counts calls in the thread's chunk, or in the file where there is none, or where it is still the parent's.
pub fn lost_many(thread: &mut Thread, calls: u64) {
    if !thread.has_chunk() || thread.generation != process::generation() {
        file::lost(calls);
        return;
    }
    // SAFETY: the thread's own mapped chunk; only this thread and its signal handlers write the count.
    unsafe {
        AtomicU64::from_ptr(&raw mut (*thread.chunk).lost).fetch_add(calls, Ordering::Relaxed);
    }
}

/// Records that a call began, where its end will not be seen.
pub fn entry(thread: &mut Thread, api: u16, start: u64, site: u64, depth: u8) {
    let written = with_chunk(thread, |thread| {
        let record = room(thread, start)?;
        // SAFETY: the chunk has room for the slot.
        unsafe {
            put(record, 8, start);
            put(record, 16, pack_site(site, depth, FLAG_ENTRY));
            commit(thread, record, Head { kind: KIND_CALL, extra: 0, a: api, b: 0 });
        }
        Some(())
    });
    if written.flatten().is_none() {
        lost(thread);
    }
}

/// Calls from a depth on were left without returning: records their beginnings.
pub fn abandon_from(thread: &mut Thread, depth: usize) {
    // SAFETY: the thread's desk is mapped, and `open` lies within it.
    unsafe {
        let calls = (&raw mut (*thread.desk).calls).cast::<OpenCall>();
        while thread.open > calls.add(depth) {
            let call = thread.open.sub(1);
            thread.open = call;
            let OpenCall { head, start, site, depth, .. } = *call;
            if let Some(api) = head.checked_sub(1) {
                entry(thread, api as u16, start, site, (depth >> 48) as u8);
                AtomicU64::from_ptr(&raw mut (*call).head).store(0, Ordering::Release);
            }
        }
    }
    lose_deeper(thread);
}

/// What some calls need done after success.
///
/// # Safety
/// `frame` is the call's.
#[cold]
unsafe fn act(frame: &Frame, thread: &mut Thread, flags: u8, api: u16) {
    let [first, second, ..] = frame.registers;
    let errno = sys::Errno::save();
    thread.entering = thread.entering.wrapping_add(1);
    if flags & slots::ACTION_PROC_ADDRESS != 0 {
        // SAFETY: the caller's promise.
        unsafe { procaddress::swap(frame, api) };
    } else if flags & slots::ACTION_LAUNCH != 0 {
        kernels::launched(first);
    } else if flags & slots::ACTION_LAUNCH_EX != 0 {
        kernels::launched(second);
    } else {
        kernels::unloaded();
    }
    thread.entering = thread.entering.wrapping_sub(1);
    drop(errno);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::LONGEST;
    use umtui_wire::table::FUNCTIONS;

    #[test]
    fn the_longest_call_and_what_it_has_submitted_fit_into_the_room_that_is_made_for_them() {
        let longest = FUNCTIONS.iter().map(|function| usize::from(function.extra)).max().unwrap_or(0);
        let submitted = (3 + usize::from(POINTERS_MAX)).div_ceil(SLOT_BYTES / 8);
        // One slot for the call itself, and one where its duration is long.
        assert!((longest + 2 + submitted) * SLOT_BYTES <= LONGEST, "{longest}");
    }
}
