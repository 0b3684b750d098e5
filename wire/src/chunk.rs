//! Chunks: the pieces of a file that one thread writes at a time.
//!
//! A thread claims a chunk by advancing the file's end, reserves its bytes on disk, maps it, and appends
//! records. When a thread ends, another may go on in its chunk after a [`crate::record::KIND_THREAD`] record,
//! so that many short threads do not eat the disk. A chunk that was claimed but never begun has no magic:
//! a reader goes on at the next [`crate::header::CHUNK_UNIT`].

use crate::clock::ClockTriple;
use crate::record::SLOT_BYTES;

/// First bytes of a chunk header; written last.
pub const MAGIC: u32 = 0x4b43_4d55;
/// Bytes of the chunk header; the first slot follows.
pub const HEADER_BYTES: usize = 576;
/// Depth of calls that the in-flight area can show; deeper ones are recorded when they end, as all are.
pub const IN_FLIGHT: usize = 8;

/// `kind`: records of one thread at a time.
pub const KIND_EVENTS: u16 = 1;
/// `kind`: definitions of the whole process.
pub const KIND_DEFINITIONS: u16 = 2;

/// `state`: records may still be appended.
pub const STATE_OPEN: u16 = 1;
/// `state`: complete; `sealed`, `first_ticks`, `last_ticks` and `checksum` hold.
pub const STATE_SEALED: u16 = 2;

/// Header of a chunk.
///
/// A reader takes `committed` first and the slots after it, in two reads: the slots below `committed` are
/// then whole. Everything else that changes is advice until `state` says sealed.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "zerocopy", derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout))]
#[repr(C)]
pub struct ChunkHeader {
    /// [`MAGIC`].
    pub magic: u32,
    /// `KIND_*`.
    pub kind: u16,
    /// Live: `STATE_*`.
    pub state: u16,
    /// Bytes of the chunk, header included.
    pub bytes: u32,
    /// Thread that opened the chunk; a [`crate::record::KIND_THREAD`] record may hand it on.
    pub thread: u32,
    /// Where the chunk lies in the file: slots that look like a header elsewhere are not one.
    pub offset: u64,
    /// Number of the chunk among all of the file.
    pub sequence: u64,
    /// Taken when the chunk was opened.
    pub opened: ClockTriple,
    /// Taken when the chunk was sealed.
    pub sealed: ClockTriple,
    /// Smallest start among the records, ticks.
    pub first_ticks: u64,
    /// Largest end among the records, ticks.
    pub last_ticks: u64,
    /// [`crate::checksum::of_slots`] over the committed slots.
    pub checksum: u64,
    /// Live: events this thread could not record while it held this chunk.
    pub lost: u64,
    /// Live: slots that are complete, from the first.
    pub committed: u32,
    /// Zero.
    pub reserved0: u32,
    /// Zero.
    pub reserved: [u64; 9],
    /// Live: calls that have begun and not ended, the outermost first; see [`InFlight`].
    pub in_flight: [InFlight; IN_FLIGHT],
}

const _: () = assert!(size_of::<ChunkHeader>() == HEADER_BYTES);
const _: () = assert!(HEADER_BYTES % SLOT_BYTES == 0);

/// A call that has begun. `head` is written last on entry and zeroed first on exit; when a thread moves on
/// to a new chunk, its open calls move along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout))]
#[repr(C)]
pub struct InFlight {
    /// Zero: free. Else api + 1.
    pub head: u64,
    /// Start, ticks.
    pub start: u64,
    /// Return address.
    pub site: u64,
    /// The first three integer argument registers as they were.
    pub registers: [u64; 3],
}

const _: () = assert!(size_of::<InFlight>() == SLOT_BYTES);

/// Slots that fit a chunk of `bytes`.
#[must_use]
pub const fn capacity(bytes: u32) -> u32 {
    bytes.saturating_sub(HEADER_BYTES as u32) / SLOT_BYTES as u32
}
