//! Records as they lie in the file, for what the columns do not hold.

use crate::trace::Bytes;
use crate::trace::call::Location;
use std::io;
use umtui_wire::activity::{KIND_SUBMIT, POINTERS_CUT, POINTERS_MAX};
use umtui_wire::record::{Head, SLOT_BYTES};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Reads a record of [`umtui_wire::activity`]; slots that it does not have are zeros.
///
/// # Errors
/// When it cannot be read, or is no longer there.
pub fn read<R: FromBytes + IntoBytes + Immutable + KnownLayout>(
    bytes: &dyn Bytes,
    location: Location,
) -> io::Result<R> {
    let mut record = R::new_zeroed();
    let place = record.as_mut_bytes();
    let count = bytes.read_at(location.offset, place)?;
    let head = word(place, 0);
    let wanted = (SLOT_BYTES * (1 + usize::from(Head::from_word(head).extra))).min(place.len());
    if head == 0 || count < wanted {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    place.get_mut(wanted..).unwrap_or_default().fill(0);
    Ok(record)
}

/// What is known of a call that submitted work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submitted {
    /// Correlation id of the work, zero if it is not known.
    pub correlation: u32,
    /// The graph's node, or zero.
    pub node: u64,
    /// Pointers among the kernel's parameters.
    pub pointers: Vec<u64>,
    /// There were more of them.
    pub cut: bool,
}

/// What the record before a call's says of what it submitted; `None` if there is no such record. `start` is the call's, in
/// ticks.
///
/// # Errors
/// When it cannot be read.
pub fn submitted(bytes: &dyn Bytes, call: Location, start: u64) -> io::Result<Option<Submitted>> {
    const MOST: usize = (3 + POINTERS_MAX as usize).div_ceil(6);
    let mut slots = [0; MOST * SLOT_BYTES];
    for count in 1..=MOST {
        let length = count * SLOT_BYTES;
        let (Some(at), Some(record)) = (call.offset.checked_sub(length as u64), slots.get_mut(..length)) else { break };
        if bytes.read_at(at, record)? < length {
            continue;
        }
        let head = Head::from_word(word(record, 0));
        if head.kind == KIND_SUBMIT && usize::from(head.extra) + 1 == count && word(record, 1) == start {
            let pointers = usize::from(head.a & !POINTERS_CUT).min(count * 6 - 3);
            return Ok(Some(Submitted {
                correlation: head.b,
                node: word(record, 2),
                pointers: (3..3 + pointers).map(|at| word(record, at)).collect(),
                cut: head.a & POINTERS_CUT != 0,
            }));
        }
    }
    Ok(None)
}

fn word(bytes: &[u8], index: usize) -> u64 {
    let eight = bytes.get(index * 8..).and_then(|rest| rest.first_chunk::<8>());
    eight.map_or(0, |eight| u64::from_le_bytes(*eight))
}
