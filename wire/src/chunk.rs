//! Chunks: the pieces of a file that one thread writes at a time.
//!
//! A chunk's place is claimed by advancing the file's end. Definitions and desks are mapped where they lie. Events are
//! written into a window: a piece of the file that a thread keeps mapped, which holds the image of the thread's current
//! chunk (header and slots) behind the window's own header. When the image is full it is copied to the chunk's place,
//! and the next chunk begins in the same window: so no page is touched for the first time while events are recorded.
//! Until then the place holds only the chunk's header as it began, which names the window. The copy's header comes last:
//! as long as the one at the place is not sealed and the image has the same sequence, the image is what counts.
//!
//! When a thread ends, another may go on in its chunk after a [`crate::record::KIND_THREAD`] record, so that many short
//! threads do not eat the disk. A chunk that was claimed but never begun has no magic: a reader goes on at the next
//! [`crate::header::CHUNK_UNIT`].
//!
//! A file with a cap on its size that has reached it puts a new chunk in the place of the oldest sealed one of events:
//! same place, higher sequence.
//!
//! Calls that have begun and not ended lie elsewhere, in chunks of desks: each thread that records has one
//! [`Desk`] until it ends.

use crate::clock::ClockTriple;

/// First bytes of a chunk header; written last.
pub const MAGIC: u32 = 0x4b43_4d55;
/// Bytes of the chunk header; the first slot follows.
pub const HEADER_BYTES: usize = 128;

/// `kind`: records of one thread at a time.
pub const KIND_EVENTS: u16 = 1;
/// `kind`: definitions of the whole process.
pub const KIND_DEFINITIONS: u16 = 2;
/// `kind`: desks, from [`DESKS_AT`] on; no records.
pub const KIND_DESKS: u16 = 3;
/// `kind`: a window; at [`HEADER_BYTES`] lies the image of a chunk of events whose place is elsewhere.
pub const KIND_WINDOW: u16 = 4;

/// `state`: records may still be appended.
pub const STATE_OPEN: u16 = 1;
/// `state`: complete; `sealed`, `last_ticks`, and `checksum` hold.
pub const STATE_SEALED: u16 = 2;

/// Header of a chunk.
///
/// A reader takes `committed` first and the slots after it, in two reads: the slots below `committed` are
/// then whole. Everything else that changes is advice until `state` says sealed.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
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
    /// The chunk's place in the file: slots that look like a header elsewhere are not one. (In a window lies an image.)
    pub offset: u64,
    /// Number of the chunk among all of the file.
    pub sequence: u64,
    /// Taken when the chunk was opened.
    pub opened: ClockTriple,
    /// Taken when the chunk was sealed.
    pub sealed: ClockTriple,
    /// No call among the records started earlier, ticks.
    pub first_ticks: u64,
    /// No call among the records ended later, ticks.
    pub last_ticks: u64,
    /// [`crate::checksum::of_slots`] over the committed slots.
    pub checksum: u64,
    /// Live: events this thread could not record while it held this chunk.
    pub lost: u64,
    /// Live: where the complete slots end, bytes from the beginning of the chunk; at least [`HEADER_BYTES`].
    pub committed: u32,
    /// Live: slots that are not the first of an event: other records, and extra slots.
    pub others: u32,
    /// Offset in the file of the window that holds the chunk while it is open; zero: its place does.
    pub window: u64,
}

const _: () = assert!(size_of::<ChunkHeader>() == HEADER_BYTES);

impl ChunkHeader {
    /// Events among the committed slots.
    #[must_use]
    pub const fn events(&self) -> u32 {
        let slots = self.committed.saturating_sub(HEADER_BYTES as u32) / crate::record::SLOT_BYTES as u32;
        slots.saturating_sub(self.others)
    }
}

/// Calls of one thread that can be shown while they are open; deeper ones are recorded when they end, as all
/// are.
pub const DESK_CALLS: usize = 15;
/// Where the first desk of a chunk of desks lies; the others follow without gap.
pub const DESKS_AT: usize = 1024;
/// Bytes of a desk.
pub const DESK_BYTES: usize = 1024;

/// A thread's open calls, the outermost first. Its first 64 bytes have the layout of an [`OpenCall`], since
/// the hook looks at the call before the one that begins.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct Desk {
    /// Live: the thread, zero when the desk is free.
    pub thread: u32,
    /// Zero.
    pub reserved0: u32,
    /// Zero.
    pub reserved1: [u64; 5],
    /// All ones: above every frame.
    pub no_frame: u64,
    /// Zero.
    pub reserved2: u64,
    /// Live: the calls.
    pub calls: [OpenCall; DESK_CALLS],
}

const _: () = assert!(size_of::<Desk>() == DESK_BYTES);

/// A call that has begun. `head` is written last on entry and zeroed on exit after the call's record is
/// committed, so a reader drops an entry whose record (same start, same api) it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "zerocopy",
    derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
)]
#[repr(C)]
pub struct OpenCall {
    /// Zero: free. Else api + 1.
    pub head: u64,
    /// Start, ticks.
    pub start: u64,
    /// Return address.
    pub site: u64,
    /// The first three integer argument registers as they were.
    pub registers: [u64; 3],
    /// The hook's own: the call's frame.
    pub frame: u64,
    /// The call's depth, shifted to where [`crate::record::pack_site`] puts it.
    pub depth: u64,
}

const _: () = assert!(size_of::<OpenCall>() == 64);
