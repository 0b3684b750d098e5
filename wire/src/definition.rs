//! Definitions: what ids and handles in later records stand for.
//!
//! They lie in chunks of [`crate::chunk::KIND_DEFINITIONS`] and are committed before the first record that
//! uses them. Text begins at byte 16 of the record and runs on through its extra slots.
//!
//! | kind | `a` | `b` | word 1 | rest |
//! |---|---|---|---|---|
//! | string | 0 | id, from 1 | length in bytes, offset of this fragment << 32 | this fragment's bytes |
//! | api | api id | layer | length of the signature | the signature |
//! | module | 0 | string id of the path | start address | end, file offset, ticks, 0; build id length, build id |
//! | kernel | 0 | string id of the name | handle | ticks |
//!
//! A signature names the arguments and says where in the call's bytes they lie:
//! `cudaMallocManaged(ptr:*ptr@32 bytes:size@40 flags:hex@28)`. A `*` before the type: only there if the call
//! succeeded. So a reader understands functions that its own table lacks.
//!
//! `ptr:*ptr@88?type=10` is there only if the argument `type`, 4 bytes that are there whatever the others are, is 10;
//! `?type=6|7`: 6 or 7. What another argument holds then may lie in the same bytes. Recordings from before there were
//! conditions have none; a reader from then does not understand a function that has some, and shows its calls without
//! arguments, so this needed no other version of the format.

use crate::record::SLOT_BYTES;

/// Where text begins in a definition record.
pub const TEXT_AT: usize = 16;
/// Longest text of one record: longer strings take several, by offset.
pub const TEXT_MAX: usize = SLOT_BYTES - TEXT_AT + 255 * SLOT_BYTES;
/// Longest build id that is kept.
pub const BUILD_ID_MAX: usize = 40;
/// String id that stands for "not recorded".
pub const NO_STRING: u32 = 0;
/// Api ids from here on are given at run time, to functions the table does not know.
pub const API_DYNAMIC: u16 = 0x8000;

/// Extra slots that text of `bytes` needs; `bytes` is at most [`TEXT_MAX`].
#[must_use]
pub const fn extra_slots(bytes: usize) -> u8 {
    let beyond = bytes.saturating_sub(SLOT_BYTES - TEXT_AT);
    let slots = beyond.div_ceil(SLOT_BYTES);
    if slots > 255 { 255 } else { slots as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fills_slots_to_the_brim() {
        assert_eq!(extra_slots(0), 0);
        assert_eq!(extra_slots(32), 0);
        assert_eq!(extra_slots(33), 1);
        assert_eq!(extra_slots(80), 1);
        assert_eq!(extra_slots(81), 2);
        assert_eq!(extra_slots(TEXT_MAX), 255);
    }
}
