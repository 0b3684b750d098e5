//! A chunk of a file as the reader goes through it.

use super::activity::GpuClock;
use super::clock::Reading;
use umtui_wire::chunk::{HEADER_BYTES, KIND_DEFINITIONS, KIND_DESKS, KIND_EVENTS, MAGIC, STATE_SEALED};
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::{CHUNK_MAX, CHUNK_UNIT};
use umtui_wire::record::{SLOT_BYTES, Slot};
use zerocopy::{FromBytes, IntoBytes};

pub use umtui_wire::chunk::ChunkHeader;

/// How far from its opening the ticks of an open chunk's records may lie: anything beyond is damage. At 3 GHz
/// this is nine months.
pub const FAR: u64 = 1 << 56;

/// Reads a chunk header that lies at `offset`; `None` if there is none.
#[must_use]
pub fn header_at(bytes: &[u8], offset: u64) -> Option<ChunkHeader> {
    let header = ChunkHeader::read_from_bytes(bytes.get(..HEADER_BYTES)?).ok()?;
    let length = u64::from(header.bytes);
    let fits = (CHUNK_UNIT..=CHUNK_MAX).contains(&length) && length.is_multiple_of(CHUNK_UNIT);
    (header.magic == MAGIC && header.offset == offset && fits).then_some(header)
}

/// Slots that fit a chunk of `bytes`.
#[must_use]
pub const fn capacity(bytes: u32) -> u32 {
    bytes.saturating_sub(HEADER_BYTES as u32) / SLOT_BYTES as u32
}

/// Slots that a header says are complete.
#[must_use]
pub const fn committed(header: &ChunkHeader) -> u32 {
    let said = header.committed.saturating_sub(HEADER_BYTES as u32) / SLOT_BYTES as u32;
    let fit = capacity(header.bytes);
    if said < fit { said } else { fit }
}

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Events.
    Events,
    /// Definitions.
    Definitions,
    /// Open calls.
    Desks,
    /// Something that this reader does not know.
    Unknown,
}

/// Why decoding of a chunk stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// It did not.
    No,
    /// The next call ended at these ticks, later than others have been read.
    Until(u64),
    /// From these ticks on another thread writes.
    HandOver {
        /// When the other thread began.
        ticks: u64,
        /// That thread.
        thread: u32,
    },
}

/// A chunk, and how far it has been read.
#[derive(Debug)]
pub struct Piece {
    /// Where it lies in the file.
    pub offset: u64,
    /// Number of the chunk among all of the file.
    pub sequence: u64,
    /// Bytes, header included.
    pub bytes: u32,
    /// What it holds.
    pub holds: Holds,
    /// Thread that opened it.
    pub opener: u32,
    /// When it was opened.
    pub opened: ClockTriple,
    /// Sealed when its header was last read.
    pub sealed: bool,
    /// Checksum, once sealed.
    pub checksum: u64,
    /// Last moment that its records may be of, if damaged.
    pub latest: u64,
    /// Slots that may be decoded.
    pub committed: u32,
    /// Slots that may be scanned: read from the header later than `committed`.
    pub scannable: u32,
    /// Whether it has been looked at: calls up to the first one that was not may be decoded.
    pub begun: bool,
    /// Slots scanned.
    pub scanned: u32,
    /// Slots decoded.
    pub decoded: u32,
    /// Events among them.
    pub calls: u64,
    /// Thread at `scanned`.
    pub scan_thread: u32,
    /// Thread at `decoded`.
    pub thread: u32,
    /// Clock reading at `decoded`.
    pub reading: Option<Reading>,
    /// The driver's clock at `decoded`, if it was compared in this chunk.
    pub gpu: Option<GpuClock>,
    /// What its next call submitted: correlation id, and when that call began, ticks. Not the thread's: a thread may have
    /// records in two chunks by turns.
    pub submit: Option<(u32, u64)>,
    /// Number of its first slot, if it has one, see [`crate::trace::activity::places`].
    pub numbered: Option<u32>,
    /// Why decoding stopped.
    pub stall: Stall,
    /// The checksum does not match: records are believed only where they are plausible.
    pub suspect: bool,
    /// Losses by the header.
    pub lost_header: u64,
    /// Losses by records that the trace does not know of yet, with their threads. The header counts them too.
    pub lost_records: Vec<(u32, u64)>,
    /// Losses by records that the trace knows of already.
    pub lost_told: u64,
    /// Losses by the header alone that the trace knows of already.
    pub lost_beyond: u64,
    /// Slots from `buffer_at` on, read but not all decoded.
    pub buffer: Vec<Slot>,
    /// Number of the first slot in `buffer`.
    pub buffer_at: u32,
    /// Something was said about a cut-off end already.
    pub cut: bool,
}

impl Piece {
    /// From its header; `late`: it may be looked at, but nothing of it decoded before the header is read again.
    #[must_use]
    pub fn new(header: &ChunkHeader, late: bool) -> Self {
        let mut piece = Self {
            offset: header.offset,
            sequence: header.sequence,
            bytes: header.bytes,
            holds: match header.kind {
                KIND_EVENTS => Holds::Events,
                KIND_DEFINITIONS => Holds::Definitions,
                KIND_DESKS => Holds::Desks,
                _ => Holds::Unknown,
            },
            opener: header.thread,
            opened: header.opened,
            sealed: false,
            checksum: 0,
            latest: u64::MAX,
            committed: 0,
            scannable: 0,
            begun: false,
            scanned: 0,
            decoded: 0,
            calls: 0,
            scan_thread: header.thread,
            thread: header.thread,
            reading: None,
            gpu: None,
            submit: None,
            numbered: None,
            stall: Stall::No,
            suspect: false,
            lost_header: 0,
            lost_records: Vec::new(),
            lost_told: 0,
            lost_beyond: 0,
            buffer: Vec::new(),
            buffer_at: 0,
            cut: false,
        };
        if !late {
            piece.refresh(header);
        }
        piece
    }

    /// Takes over what changes in a header.
    pub fn refresh(&mut self, header: &ChunkHeader) {
        self.committed = self.committed.max(committed(header));
        self.scannable = self.scannable.max(self.committed);
        self.lost_header = header.lost;
        if header.state == STATE_SEALED {
            self.sealed = true;
            self.checksum = header.checksum;
            self.latest = header.sealed.ticks.max(header.last_ticks);
        }
    }

    /// Another chunk lies in its place now: what has not been read of it is gone.
    pub fn give_up(&mut self) {
        self.sealed = true;
        self.committed = self.decoded;
        self.scannable = self.scanned;
    }

    /// Byte offset of a slot.
    #[must_use]
    pub const fn slot_offset(&self, slot: u32) -> u64 {
        self.offset + HEADER_BYTES as u64 + slot as u64 * SLOT_BYTES as u64
    }

    /// Whether nothing more will come from it.
    #[must_use]
    pub const fn finished(&self) -> bool {
        match self.holds {
            Holds::Events => self.sealed && self.decoded >= self.committed && self.scanned >= self.scannable,
            Holds::Definitions => self.sealed && self.decoded >= self.committed,
            Holds::Desks => false,
            Holds::Unknown => true,
        }
    }

    /// Whether it holds events.
    #[must_use]
    pub const fn events(&self) -> bool {
        matches!(self.holds, Holds::Events)
    }

    /// First and last moment that its records may be of.
    #[must_use]
    pub const fn plausible(&self, file_start: u64) -> (u64, u64) {
        if self.suspect && self.latest >= self.opened.ticks && self.opened.ticks >= file_start {
            return (file_start, self.latest);
        }
        (self.opened.ticks.saturating_sub(FAR), self.opened.ticks.saturating_add(FAR))
    }
}

/// A slot list as bytes.
#[must_use]
pub fn bytes_of(slots: &[Slot]) -> &[u8] {
    slots.as_bytes()
}
