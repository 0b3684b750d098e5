//! What a call was called with: registers, what they lead to, strings, into its record.

use umtui_wire::checksum::of_slots;
use umtui_wire::record::{ARGUMENTS_AT, SLOT_BYTES};
use umtui_wire::table::{Access, Op, pool_attribute_is_wide};

use crate::arch::Frame;
use crate::definitions;
use crate::slots::Slot;

/// Writes a value into a record.
///
/// # Safety
/// `at` and the value's bytes lie within the record.
#[inline(always)]
pub unsafe fn put<T>(record: *mut u8, at: usize, value: T) {
    // SAFETY: as the caller says.
    unsafe { record.add(at).cast::<T>().write_unaligned(value) };
}

/// The lowest address that is followed: none after failure, since only a successful call has used its pointers;
/// small ones are dangling pointers to empty arrays.
#[inline(always)]
pub fn lowest_address(succeeded: bool) -> u64 {
    if succeeded { 4096 } else { u64::MAX }
}

/// Reads one argument into the record.
///
/// # Safety
/// `frame` is the call's, `op` one of its function's, `lowest` from [`lowest_address`], and the record has the
/// slots that function takes.
#[inline(always)]
pub unsafe fn argument(frame: &Frame, op: &Op, lowest: u64, record: *mut u8) {
    let access = op.access as u8;
    // SAFETY: the word is a register or a stack argument that the function has; pointers are those that the
    // function itself has used.
    unsafe {
        let place = record.add(usize::from(op.at));
        let mut value = *frame.words().add(usize::from(op.word));
        if access & Access::POINTEE != 0 {
            let address = value.wrapping_add(u64::from(op.field));
            if value < lowest {
                value = 0;
            } else if access & Access::WIDE != 0 {
                value = (address as *const u64).read_unaligned();
            } else {
                value = u64::from((address as *const u32).read_unaligned());
            }
        }
        if access & Access::WIDE != 0 {
            place.cast::<u64>().write_unaligned(value);
        } else {
            place.cast::<u32>().write_unaligned(value as u32);
        }
    }
}

/// Reads the arguments of a call some of which are strings, digests, of as many bytes as another one says, or there only if
/// another one says so.
///
/// # Safety
/// As [`argument`].
#[cold]
pub unsafe fn all_arguments(frame: &Frame, slot: &Slot, succeeded: bool, record: *mut u8) {
    let mut ops = slot.ops().iter();
    if ops.clone().any(|op| op.access == Access::Only) {
        // Not all of it is written, and what an older record held must not stay.
        let bytes = usize::from(slot.extra()).wrapping_add(1).wrapping_mul(SLOT_BYTES).wrapping_sub(ARGUMENTS_AT);
        // SAFETY: the record has these slots.
        unsafe { record.add(ARGUMENTS_AT).write_bytes(0, bytes) };
    }
    while let Some(op) = ops.next() {
        // SAFETY: as the caller says.
        unsafe {
            match op.access {
                Access::Only => {
                    let found = record.add(usize::from(op.at)).cast::<u32>().read_unaligned();
                    let skipped = if found == op.value() { 0 } else { op.steps() };
                    (0..skipped).for_each(|_| _ = ops.next());
                }
                Access::Text | Access::PointeeText => {
                    let word = *frame.words().add(usize::from(op.word));
                    put(record, usize::from(op.at), text(op.access, word, succeeded));
                }
                Access::Digest | Access::DigestAt => {
                    let words = frame.words().add(usize::from(op.word));
                    let begin = if op.access == Access::Digest { words.addr() as u64 } else { *words };
                    put(record, usize::from(op.at), digest(begin, usize::from(op.field), succeeded));
                }
                Access::PoolAttribute => {
                    let word = *frame.words().add(usize::from(op.word));
                    put(record, usize::from(op.at), pool_attribute(frame, word, succeeded));
                }
                _ => argument(frame, op, lowest_address(succeeded), record),
            }
        }
    }
}

/// The id of the string that an argument leads to.
///
/// # Safety
/// As [`argument`].
unsafe fn text(access: Access, word: u64, succeeded: bool) -> u32 {
    // SAFETY: as the caller says.
    unsafe {
        match access {
            Access::Text if succeeded => definitions::c_string(word as *const core::ffi::c_char),
            // A failed call may not have looked at its string.
            Access::Text => definitions::string_at(word),
            _ if succeeded && word >= 4096 => definitions::c_string(*(word as *const *const core::ffi::c_char)),
            _ => 0,
        }
    }
}

/// The value of a memory pool's attribute, which the call's second argument names.
///
/// # Safety
/// As [`argument`], of a call that has such an argument.
unsafe fn pool_attribute(frame: &Frame, word: u64, succeeded: bool) -> u64 {
    let [_, attribute, ..] = frame.registers;
    if word < lowest_address(succeeded) {
        return 0;
    }
    // SAFETY: the call has succeeded, so it has read or written as many bytes as the attribute has.
    unsafe {
        if pool_attribute_is_wide(attribute as u32) {
            (word as *const u64).read_unaligned()
        } else {
            u64::from((word as *const u32).read_unaligned())
        }
    }
}

/// What stands for a structure's bytes; zero where the call has not used them.
///
/// # Safety
/// As [`argument`]; so many bytes lie there.
unsafe fn digest(begin: u64, bytes: usize, succeeded: bool) -> u64 {
    if begin < lowest_address(succeeded) {
        return 0;
    }
    // SAFETY: as the caller says.
    let bytes = unsafe { core::slice::from_raw_parts(begin as *const u8, bytes) };
    of_slots(bytes).max(1)
}
