//! What lies where in a packed file.

use flate2::Crc;
use umtui_wire::header::CHUNK_MAX;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// First bytes of a packed file. The line ends show damage by a text-mode transfer.
pub const MAGIC: [u8; 8] = *b"UMTPK\r\n\x1a";
/// Version of the layout. A reader refuses a higher one.
pub const VERSION: u32 = 1;
/// Bytes before the first block.
pub const FIRST_BLOCK: u64 = 16;
/// First bytes of a block.
pub const BLOCK_MAGIC: u32 = 0x6b42_4d55;
/// Bytes of a block's head; what is packed follows.
pub const HEAD_BYTES: usize = 48;
/// First bytes of the footer.
pub const FOOTER_MAGIC: [u8; 8] = *b"UMTPEND\x1a";
/// Bytes of the footer.
pub const FOOTER_BYTES: usize = 32;
/// Bytes of an image that a block stands for at most.
pub const SPAN_MAX: u64 = CHUNK_MAX;
/// Bytes of a payload at most, and of what it decompresses to.
pub const PAYLOAD_MAX: usize = 2 << 20;
/// Bytes before the compressed part of a payload, if there are any: a chunk's header.
pub const PREFACE_BYTES: usize = umtui_wire::chunk::HEADER_BYTES;

/// What an image is: a native file.
pub const ROLE_NATIVE: u8 = 1;
/// The description of an input, JSON.
pub const ROLE_ABOUT: u8 = 2;
/// Names of call sites, in lines as in the side file of a recording.
pub const ROLE_NAMES: u8 = 3;
/// A part of the index.
pub const ROLE_INDEX: u8 = 9;

/// How a block is coded: it stands for zeros and has no payload.
pub const CODING_ZERO: u8 = 0;
/// Bytes.
pub const CODING_BYTES: u8 = 1;
/// Slots, see [`super::columns`].
pub const CODING_SLOTS: u8 = 2;
/// Bit: the payload begins with [`PREFACE_BYTES`] that are not compressed, the first of the image's bytes.
pub const CODING_PREFACE: u8 = 0x80;

/// Head of a block.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct BlockHead {
    /// [`BLOCK_MAGIC`].
    pub magic: u32,
    /// `ROLE_*`.
    pub role: u8,
    /// `CODING_*`.
    pub coding: u8,
    /// Zero.
    pub reserved: u16,
    /// Where in the image its bytes lie.
    pub place: u64,
    /// Which image of the role.
    pub number: u32,
    /// Bytes of the payload.
    pub packed: u32,
    /// Bytes that its compressed part decompresses to.
    pub plain: u32,
    /// Bytes of the image that it stands for; those that the payload does not have are zero.
    pub span: u32,
    /// Events among its slots.
    pub events: u32,
    /// Checksum of the payload.
    pub sum: u32,
    /// Checksum of the uncompressed part of the payload.
    pub preface_sum: u32,
    /// Checksum of the head before this field.
    pub head_sum: u32,
}

const _: () = assert!(size_of::<BlockHead>() == HEAD_BYTES);

impl BlockHead {
    /// Sets the checksum.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.head_sum = self.own_sum();
        self
    }

    fn own_sum(&self) -> u32 {
        sum(self.as_bytes().get(..HEAD_BYTES - 4).unwrap_or(&[]))
    }

    /// From bytes; `None` if that is no whole head of a block of lawful size.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let head = Self::read_from_bytes(bytes.get(..HEAD_BYTES)?).ok()?;
        let fits = head.plain as usize <= PAYLOAD_MAX && Entry::new(0, &head).fits();
        (head.magic == BLOCK_MAGIC && head.head_sum == head.own_sum() && fits).then_some(head)
    }
}

/// A block, as the index has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Entry {
    /// Where it lies in the packed file.
    pub at: u64,
    /// As [`BlockHead::place`].
    pub place: u64,
    /// As [`BlockHead::number`].
    pub number: u32,
    /// As [`BlockHead::packed`].
    pub packed: u32,
    /// As [`BlockHead::span`].
    pub span: u32,
    /// As [`BlockHead::role`].
    pub role: u8,
    /// As [`BlockHead::coding`].
    pub coding: u8,
    /// Zero.
    pub reserved: u16,
}

/// Bytes of an entry of the index.
pub const ENTRY_BYTES: usize = 32;
const _: () = assert!(size_of::<Entry>() == ENTRY_BYTES);

impl Entry {
    /// Of the block at an offset.
    #[must_use]
    pub const fn new(at: u64, head: &BlockHead) -> Self {
        let BlockHead { place, number, packed, span, role, coding, .. } = *head;
        Self { at, place, number, packed, span, role, coding, reserved: 0 }
    }

    /// Whether the head is that of this block.
    #[must_use]
    pub fn is_of(&self, head: &BlockHead) -> bool {
        Self::new(self.at, head) == *self
    }

    /// Whether it is of lawful size.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.packed as usize <= PAYLOAD_MAX
            && u64::from(self.span) <= SPAN_MAX
            && self.place.checked_add(SPAN_MAX).is_some_and(|end| i64::try_from(end).is_ok())
    }

    /// Where its bytes end in the image.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.place.saturating_add(self.span as u64)
    }

    /// What orders blocks: image, place, and of two of one place the first in the file.
    #[must_use]
    pub const fn key(&self) -> (u8, u32, u64, u64) {
        (self.role, self.number, self.place, self.at)
    }
}

/// The end of a packed file.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Footer {
    /// [`FOOTER_MAGIC`].
    pub magic: [u8; 8],
    /// Where the first block of the index lies.
    pub index_at: u64,
    /// Blocks before that.
    pub blocks: u64,
    /// Zero.
    pub reserved: u32,
    /// Checksum of the footer before this field.
    pub sum: u32,
}

const _: () = assert!(size_of::<Footer>() == FOOTER_BYTES);

impl Footer {
    /// A footer.
    #[must_use]
    pub fn new(index_at: u64, blocks: u64) -> Self {
        let mut footer = Self { magic: FOOTER_MAGIC, index_at, blocks, reserved: 0, sum: 0 };
        footer.sum = footer.own_sum();
        footer
    }

    fn own_sum(&self) -> u32 {
        sum(self.as_bytes().get(..FOOTER_BYTES - 4).unwrap_or(&[]))
    }

    /// From bytes; `None` if that is none.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let footer = Self::read_from_bytes(bytes).ok()?;
        (footer.magic == FOOTER_MAGIC && footer.sum == footer.own_sum()).then_some(footer)
    }
}

/// The checksum: CRC-32.
#[must_use]
pub fn sum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}
