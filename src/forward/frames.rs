//! Makes frames.

use umtui_wire::frame::{CHECKED_AT, FRAME_BYTES, FrameHeader, HEADER_BYTES, MAGIC, VERSION, checksum};
use zerocopy::{Immutable, IntoBytes};

/// Why a frame did not go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nobody reads; somebody may later.
    NoReader,
    /// It was waited long enough, or nobody can ever read again.
    GiveUp,
}

/// Where frames go.
pub trait Sink {
    /// Sends a frame with so many events in it, or none of it.
    ///
    /// # Errors
    /// Why not.
    fn send(&mut self, frame: &[u8], events: u32) -> Result<(), Stop>;
}

/// What is counted through all frames of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Which file.
    pub file: u64,
    /// Frames.
    pub sequence: u64,
    /// Events in them.
    pub sent: u64,
    /// Events that were overwritten before they could be sent.
    pub dropped: u64,
}

/// A frame being made.
pub struct Frame {
    bytes: Vec<u8>,
    kind: u8,
    /// Events in it.
    pub events: u32,
}

impl Frame {
    /// Of this kind, with its part.
    pub fn new(kind: u8, part: &(impl IntoBytes + Immutable)) -> Self {
        let mut frame = Self::empty(kind);
        frame.push(part.as_bytes());
        frame
    }

    /// Of this kind, with nothing in it yet.
    pub fn empty(kind: u8) -> Self {
        let mut bytes = Vec::with_capacity(FRAME_BYTES);
        bytes.resize(HEADER_BYTES, 0);
        Self { bytes, kind, events: 0 }
    }

    /// Appends bytes, which fit.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether so many bytes more would fit.
    pub const fn fits(&self, bytes: usize) -> bool {
        self.bytes.len() + bytes <= FRAME_BYTES
    }

    /// Sends it, and counts it if it went out.
    pub fn send(mut self, counts: &mut Counts, sink: &mut dyn Sink) -> Result<(), Stop> {
        let mut header = FrameHeader {
            magic: MAGIC,
            bytes: self.bytes.len() as u16,
            version: VERSION,
            kind: self.kind,
            checksum: 0,
            file: counts.file,
            sequence: counts.sequence,
            sent: counts.sent,
            dropped: counts.dropped,
        };
        put(&mut self.bytes, &header);
        header.checksum = checksum(self.bytes.get(CHECKED_AT..).unwrap_or(&[]));
        put(&mut self.bytes, &header);
        sink.send(&self.bytes, self.events)?;
        counts.sequence += 1;
        counts.sent += u64::from(self.events);
        Ok(())
    }
}

fn put(bytes: &mut [u8], header: &FrameHeader) {
    if let Some(place) = bytes.get_mut(..HEADER_BYTES) {
        place.copy_from_slice(header.as_bytes());
    }
}
