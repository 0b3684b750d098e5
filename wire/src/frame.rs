//! Frames: how a trace travels through a pipe.
//!
//! A file is sent in pieces of at most [`FRAME_BYTES`], each written with one call, so that a pipe takes it whole or
//! not at all and frames of several senders never mix. Every frame stands alone: it names its file, carries a
//! checksum, and can be understood without the frames before it once the file's first page and its definitions are
//! known, which are sent again now and then. After bytes that are no frame a reader goes on at the next [`MAGIC`].
//!
//! | kind | after the [`FrameHeader`] |
//! |---|---|
//! | page | [`PagePart`], then that part of the file's first page |
//! | definitions | [`DefinitionsPart`], then whole records, or a part of one that is longer than a frame |
//! | events | [`EventsPart`], then whole records of one chunk; perhaps none, where only its header has changed |
//! | desks | [`DesksPart`], then for each thread a [`DeskPart`] and its open calls, outermost first |
//! | pass | [`PassPart`]: what came since the last one is complete up to its horizon |
//! | end | [`EndPart`]: nothing more comes of this file |
//! | statements | for each a [`StatementPart`] and its record: what was said among the events and still holds |
//!
//! Within a file definitions come before the records that use them, and desks after the records that were committed
//! when they were read. All numbers are little-endian, all parts multiples of 8 bytes.

use crate::activity::{KIND_EVIDENCE, KIND_GPU_CLOCK};
use crate::chunk::ChunkHeader;
use crate::clock::ClockTriple;
use crate::record::{Head, KIND_CALL, KIND_GPU_FIRST};

/// First bytes of a frame: `UMF` and an escape.
pub const MAGIC: u32 = 0x1b46_4d55;
/// Version of the frames. A reader passes over others.
pub const VERSION: u8 = 1;
/// Longest frame: what a pipe takes as one (`PIPE_BUF` of Linux).
pub const FRAME_BYTES: usize = 4096;
/// Bytes of [`FrameHeader`].
pub const HEADER_BYTES: usize = 48;
/// Where the bytes begin that [`FrameHeader::checksum`] is of.
pub const CHECKED_AT: usize = 16;

/// `kind`: a part of the file's first page.
pub const KIND_PAGE: u8 = 1;
/// `kind`: definitions.
pub const KIND_DEFINITIONS: u8 = 2;
/// `kind`: records of a chunk.
pub const KIND_EVENTS: u8 = 3;
/// `kind`: open calls.
pub const KIND_DESKS: u8 = 4;
/// `kind`: how the file stands after a pass of its sender.
pub const KIND_PASS: u8 = 5;
/// `kind`: the file is complete.
pub const KIND_END: u8 = 6;
/// `kind`: records that lie among the events and hold until the next of their kind, once more.
pub const KIND_STATEMENTS: u8 = 7;

/// Begins every frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct FrameHeader {
    /// [`MAGIC`].
    pub magic: u32,
    /// Bytes of the frame, this header included; a multiple of 8.
    pub bytes: u16,
    /// [`VERSION`].
    pub version: u8,
    /// `KIND_*`.
    pub kind: u8,
    /// [`checksum`] of the bytes from [`CHECKED_AT`] on.
    pub checksum: u64,
    /// Which file: a hash of what no two files have alike (host, process, when it was begun).
    pub file: u64,
    /// Number of the frame among those of the file.
    pub sequence: u64,
    /// Events of the file in the frames before this one.
    pub sent: u64,
    /// Events of the file that were overwritten before they could be sent.
    pub dropped: u64,
}

const _: () = assert!(size_of::<FrameHeader>() == HEADER_BYTES);

/// A part of the first page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct PagePart {
    /// Where the part begins in the page.
    pub at: u32,
    /// Zero.
    pub reserved: u32,
}

/// Parts that a page is sent in, each of as many bytes.
pub const PAGE_PARTS: usize = 2;

/// Where definitions lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct DefinitionsPart {
    /// Sequence number of their chunk.
    pub chunk: u64,
    /// Slot in it at which the first record begins.
    pub slot: u32,
    /// Slots of the record, if this is a part of one; zero: whole records follow.
    pub of: u32,
    /// Slots of the record before this part.
    pub part: u32,
    /// Zero.
    pub reserved: u32,
}

/// Slots of definitions in a frame.
pub const DEFINITION_SLOTS: usize = (FRAME_BYTES - HEADER_BYTES - size_of::<DefinitionsPart>()) / 48;

/// Where records of a chunk lie, and what a reader must know that has seen none of the chunk before.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct EventsPart {
    /// The chunk's header as it was when the records were read. A chunk is known by its sequence number.
    pub chunk: ChunkHeader,
    /// The newest clock reading before the records.
    pub reading: ClockTriple,
    /// When the last record before these was complete, ticks.
    pub ticks: u64,
    /// Events of the chunk before these.
    pub before: u64,
    /// Slot of the chunk at which the records begin.
    pub slot: u32,
    /// Thread at the first record.
    pub thread: u32,
    /// String id of its name.
    pub name: u32,
    /// Zero.
    pub reserved: u32,
}

/// Slots of records in a frame. The hook's longest record has 16.
pub const EVENT_SLOTS: usize = (FRAME_BYTES - HEADER_BYTES - size_of::<EventsPart>()) / 48;

const _: () = assert!(EVENT_SLOTS >= 16 && size_of::<EventsPart>().is_multiple_of(8));

/// One of the frames with the open calls of all threads at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct DesksPart {
    /// Which moment: frames with the same number belong together.
    pub moment: u32,
    /// Number of this frame among them.
    pub part: u16,
    /// How many there are. Threads that are in none of them have no open calls.
    pub parts: u16,
}

/// The open calls of one thread follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct DeskPart {
    /// The thread.
    pub thread: u32,
    /// Its open calls.
    pub calls: u32,
}

/// How the file stood at the end of a pass: the live fields of its first page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct PassPart {
    /// All calls that ended at these ticks or earlier have been sent; all ones: all that were committed.
    pub horizon: u64,
    /// As in the first page.
    pub lost: u64,
    /// As in the first page.
    pub cost_ps: u64,
    /// As in the first page.
    pub last: ClockTriple,
    /// As in the first page.
    pub state: u32,
    /// As in the first page.
    pub reason: u32,
    /// As in the first page.
    pub paused: u32,
    /// Zero.
    pub reserved: u32,
}

/// A record follows that was sent before, at its place among the events: the newest [`KIND_EVIDENCE`] of a kind of
/// evidence, or the newest [`KIND_GPU_CLOCK`] of a thread. It is one slot long. A reader that has the same record, or
/// one with later ticks, passes over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct StatementPart {
    /// The newest clock reading before it.
    pub reading: ClockTriple,
    /// The thread that wrote it.
    pub thread: u32,
    /// String id of the thread's name.
    pub name: u32,
}

/// Statements of one kind that a sender keeps and a reader takes, at most: kinds of evidence, or threads.
pub const STATEMENTS: usize = 64;

/// What a record states, if it is one that may be sent again: two records with the same answer are about the same.
#[must_use]
pub const fn stated(head: Head, thread: u32) -> Option<(u8, u32)> {
    match head.kind {
        KIND_EVIDENCE if head.extra == 0 && (head.a as usize) < STATEMENTS => Some((head.kind, head.a as u32)),
        KIND_GPU_CLOCK if head.extra == 0 => Some((head.kind, thread)),
        _ => None,
    }
}

/// `how`: the process is gone; the state that was sent last says whether it ended in order.
pub const END_GONE: u32 = 1;
/// `how`: the sender went away first, or does not know what became of the process.
pub const END_LEFT: u32 = 2;

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct EndPart {
    /// `END_*`.
    pub how: u32,
    /// Zero.
    pub reserved: u32,
}

/// Whether records of this kind are events: they are counted where others are not.
#[must_use]
pub const fn is_event(kind: u8) -> bool {
    kind == KIND_CALL || kind >= KIND_GPU_FIRST
}

/// Checksum of a frame's bytes. Unlike that of a chunk it depends on the order of words: torn frames consist of
/// right words in the wrong places.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = bytes.len() as u64;
    for word in bytes.chunks(8) {
        let mut eight = [0; 8];
        for (to, from) in eight.iter_mut().zip(word) {
            *to = *from;
        }
        sum = (sum ^ u64::from_le_bytes(eight)).wrapping_mul(MIX).rotate_left(29);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_the_order_and_the_length_count() {
        let mut base = [0u8; 64];
        for (at, byte) in base.iter_mut().enumerate() {
            *byte = at as u8;
        }
        let sum = checksum(&base);
        for index in 0..base.len() {
            for bit in 0..8 {
                let mut flipped = base;
                flipped[index] ^= 1 << bit;
                assert_ne!(checksum(&flipped), sum, "byte {index} bit {bit}");
            }
        }
        let mut swapped = base;
        swapped.rotate_left(32);
        assert_ne!(checksum(&swapped), sum);
        assert_ne!(checksum(&base[..56]), sum);
        assert_ne!(checksum(&[0; 8]), checksum(&[0; 16]));
    }
}
