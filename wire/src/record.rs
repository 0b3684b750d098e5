//! Records: one 48-byte slot, and as many extra slots as its head says.
//!
//! A reader that does not know a kind skips `1 + extra` slots. The head is written last: a zero head is a
//! record that was never finished.

/// Bytes of a slot.
pub const SLOT_BYTES: usize = 48;
/// A slot as words.
pub type Slot = [u64; 6];

/// One CUDA call, complete. `a` is the api id, `b` the returned status.
pub const KIND_CALL: u8 = 1;
/// The chunk goes on with another thread, or the thread has a new name: `b` is the thread id, word 1 the
/// ticks, word 2 the id of its name.
pub const KIND_THREAD: u8 = 2;
/// A fresh clock reading in words 1 to 3.
pub const KIND_CLOCK: u8 = 3;
/// Events were lost here: word 1 the ticks, word 2 how many.
pub const KIND_LOST: u8 = 4;
/// Definitions, see [`crate::definition`]: a string.
pub const KIND_STRING: u8 = 16;
/// A CUDA function.
pub const KIND_API: u8 = 17;
/// A mapped module of the process.
pub const KIND_MODULE: u8 = 18;
/// A kernel handle and its name.
pub const KIND_KERNEL: u8 = 19;
/// A device: `a` its ordinal, `b` the string id of its name; word 1 its memory in bytes, word 2 compute capability (minor
/// << 32 | major), word 3 multiprocessors | PCI domain << 32, word 4 PCI bus << 32 | PCI device, word 5 `DEVICE_*` bits;
/// in the extra slot its UUID, two words.
pub const KIND_DEVICE: u8 = 20;
/// Kinds from here on are those of the GPU and the driver, see [`crate::activity`].
pub const KIND_GPU_FIRST: u8 = 32;
/// Kinds from here on are ranges and marks, see [`crate::activity`].
pub const KIND_RANGE_FIRST: u8 = 64;

/// Device bit: host and device may use managed memory at the same time.
pub const DEVICE_CONCURRENT_MANAGED: u64 = 1;
/// Device bit: it reaches memory that CUDA did not allocate.
pub const DEVICE_PAGEABLE_ACCESS: u64 = 2;
/// Device bit: it does so through the host's page tables.
pub const DEVICE_HOST_PAGE_TABLES: u64 = 4;
/// Device bit: it is part of the host's chip.
pub const DEVICE_INTEGRATED: u64 = 8;
/// Device bit: it is a part of a device (MIG).
pub const DEVICE_PART: u64 = 16;

/// The first word of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// `KIND_*`.
    pub kind: u8,
    /// Slots that belong to the record after the first.
    pub extra: u8,
    /// By kind.
    pub a: u16,
    /// By kind.
    pub b: u32,
}

impl Head {
    /// As the word on disk.
    #[must_use]
    pub const fn word(self) -> u64 {
        self.kind as u64 | (self.extra as u64) << 8 | (self.a as u64) << 16 | (self.b as u64) << 32
    }

    /// From the word on disk.
    #[must_use]
    pub const fn from_word(word: u64) -> Self {
        Self { kind: word as u8, extra: (word >> 8) as u8, a: (word >> 16) as u16, b: (word >> 32) as u32 }
    }
}

/// Bits of a return address that are kept; the rest of word 2 holds depth and flags. Canonical user addresses
/// of x86-64 and aarch64 fit.
pub const SITE_MASK: u64 = (1 << 48) - 1;

/// Call flag: the duration does not fit 32 bits; the last extra slot's last word holds all of it.
pub const FLAG_LONG: u8 = 1;
/// Call flag: only the entry was seen (a function the table does not know): no duration, no status.
pub const FLAG_ENTRY: u8 = 2;
/// Call flag: the arguments could not be read.
pub const FLAG_NO_ARGUMENTS: u8 = 4;
/// Call flag: the function returns something other than a status; `b` is its low half.
pub const FLAG_NOT_STATUS: u8 = 8;
/// Call flag: made while the stream was being captured into a graph.
pub const FLAG_CAPTURED: u8 = 16;

/// Word 2 of a call: return address, depth (0: called by the program), flags.
#[must_use]
pub const fn pack_site(site: u64, depth: u8, flags: u8) -> u64 {
    (site & SITE_MASK) | (depth as u64) << 48 | (flags as u64) << 56
}

/// The parts of word 2 of a call: return address, depth, flags.
#[must_use]
pub const fn unpack_site(word: u64) -> (u64, u8, u8) {
    (word & SITE_MASK, (word >> 48) as u8, (word >> 56) as u8)
}

/// Where the arguments of a call begin in its bytes. Before them, at 24, the low 32 bits of the duration in
/// ticks; they run on through the extra slots.
pub const ARGUMENTS_AT: usize = 28;
/// Where the low half of the duration lies in a call's first slot.
pub const DURATION_AT: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_sites_come_back() {
        let head = Head { kind: KIND_CALL, extra: 3, a: 0xabcd, b: 0xdead_beef };
        assert_eq!(Head::from_word(head.word()), head);
        let word = pack_site(0x7fff_1234_5678, 5, FLAG_LONG);
        assert_eq!(unpack_site(word), (0x7fff_1234_5678, 5, FLAG_LONG));
    }
}
