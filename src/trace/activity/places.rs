//! Where records lie, in 32 bits each.
//!
//! Chunks of a file that hold such records are numbered on: each slot that a chunk may have has a number of its own.

/// The numbered chunks.
#[derive(Debug, Default)]
pub struct Places {
    /// Number of the first slot, and its byte offset (stamped, where its chunk may make room for another).
    chunks: Vec<(u32, u64)>,
    next: u32,
}

/// Number of a slot that could not be numbered: beyond 192 GiB of such chunks.
pub const NOWHERE: u32 = u32::MAX;

/// Bytes of a slot.
const SLOT: u64 = umtui_wire::record::SLOT_BYTES as u64;

impl Places {
    /// Numbers a chunk of so many slots, the first of which lies at `offset`: the number of that one.
    pub fn add(&mut self, offset: u64, slots: u32) -> u32 {
        let first = self.next;
        let Some(next) = first.checked_add(slots).filter(|&next| next < NOWHERE) else { return NOWHERE };
        self.next = next;
        self.chunks.push((first, offset));
        first
    }

    /// Byte offset of a slot.
    #[must_use]
    pub fn offset(&self, number: u32) -> Option<u64> {
        if number >= self.next {
            return None;
        }
        let at = self.chunks.partition_point(|&(first, _)| first <= number).checked_sub(1)?;
        let &(first, offset) = self.chunks.get(at)?;
        Some(offset + u64::from(number - first) * SLOT)
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<(u32, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_slots() {
        let mut places = Places::default();
        assert_eq!((places.add(1000, 10), places.add(1 << 63 | 5000, 5)), (0, 10));
        assert_eq!(places.offset(9), Some(1000 + 9 * 48));
        assert_eq!(places.offset(12), Some((1 << 63 | 5000) + 96));
        assert_eq!((places.offset(15), places.offset(NOWHERE)), (None, None));
        assert_eq!(places.add(0, u32::MAX), NOWHERE);
        assert_eq!(places.add(0, 1), 15);
    }
}
