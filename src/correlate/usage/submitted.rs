//! What calls submitted, a block of records at a time: as `trace::activity::raw::submitted`, which asks for one.

use crate::trace::Bytes;
use umtui_wire::activity::{KIND_SUBMIT, POINTERS_CUT, POINTERS_MAX};
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{Head, SLOT_BYTES};

/// Most slots of a record of what was submitted.
const MOST: usize = (3 + POINTERS_MAX as usize).div_ceil(6);

/// A block of a file.
#[derive(Debug, Default)]
pub struct Blocks {
    start: u64,
    block: Vec<u8>,
}

/// What a call submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted<'a> {
    /// Correlation id of the work, zero if it is not known.
    pub correlation: u32,
    /// There were more pointers.
    pub cut: bool,
    words: &'a [u8],
}

impl Submitted<'_> {
    /// Pointers among the kernel's parameters.
    pub fn pointers(&self) -> impl Iterator<Item = u64> {
        self.words.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
    }
}

impl Blocks {
    /// What the record before that of a call says, which lies at `offset`; `None`: there is none.
    pub fn submitted(&mut self, bytes: &dyn Bytes, offset: u64) -> Option<Submitted<'_>> {
        let chunk = offset - offset % CHUNK_UNIT;
        // Start and all that may lie before are in the block, or the block is read anew.
        let first = offset.saturating_sub((MOST * SLOT_BYTES) as u64).max(chunk);
        let holds = self.start <= first && offset + 16 <= self.start + self.block.len() as u64;
        if !holds {
            self.start = first;
            self.block.resize(usize::try_from(chunk + CHUNK_UNIT - first).ok()?, 0);
            let count = bytes.read_at(first, &mut self.block).ok()?;
            self.block.truncate(count);
        }
        let at = usize::try_from(offset - self.start).ok()?;
        let start = word(&self.block, at + 8)?;
        for count in 1..=MOST {
            let length = count * SLOT_BYTES;
            let Some(record) = at.checked_sub(length).and_then(|from| self.block.get(from..at)) else { break };
            let head = Head::from_word(word(record, 0)?);
            if head.kind == KIND_SUBMIT && usize::from(head.extra) + 1 == count && word(record, 8) == Some(start) {
                let pointers = usize::from(head.a & !POINTERS_CUT).min(count * 6 - 3);
                return Some(Submitted {
                    correlation: head.b,
                    cut: head.a & POINTERS_CUT != 0,
                    words: record.get(24..24 + pointers * 8)?,
                });
            }
        }
        None
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk::<8>().map(|eight| u64::from_le_bytes(*eight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Location;
    use crate::trace::activity::raw;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the bytes, the same as asking for each.
        #[test]
        fn the_same_as_by_looking_at_each(
            kinds in prop::collection::vec((0u8..3, 1u8..7, 0u16..40, any::<bool>()), 1..60),
        ) {
            let mut file = vec![0u8; CHUNK_UNIT as usize + 48];
            let mut calls = Vec::new();
            for (number, &(kind, slots, pointers, cut)) in (1u64..).zip(&kinds) {
                let mut put = |kind: u8, slots: u8, a: u16, start: u64| {
                    let from = file.len();
                    file.resize(from + usize::from(slots) * SLOT_BYTES, number as u8);
                    file[from..from + 8].copy_from_slice(&Head { kind, extra: slots - 1, a, b: number as u32 }.word().to_le_bytes());
                    file[from + 8..from + 16].copy_from_slice(&start.to_le_bytes());
                    from as u64
                };
                if kind > 0 {
                    // Of another call, if it is none of this one's.
                    let start = if kind == 1 { number } else { number + 1000 };
                    put(KIND_SUBMIT, slots, pointers | if cut { POINTERS_CUT } else { 0 }, start);
                }
                calls.push((put(1, 2, 0, number), number));
            }
            let mut blocks = Blocks::default();
            for (offset, start) in calls {
                let location = Location { file: 0, offset, slots: 2 };
                let expected = raw::submitted(&file, location, start).unwrap();
                let found = blocks.submitted(&file, offset);
                prop_assert_eq!(found.is_some(), expected.is_some());
                if let (Some(found), Some(expected)) = (found, expected) {
                    prop_assert_eq!((found.correlation, found.cut), (expected.correlation, expected.cut));
                    prop_assert_eq!(found.pointers().collect::<Vec<_>>(), expected.pointers);
                }
            }
        }
    }
}
