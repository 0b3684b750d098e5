//! A file as it would be if no chunk lay in a window.
//!
//! A chunk of events that is being written lies in the window of its thread; its place in the file holds only a header
//! that names the window. Whoever reads at the place through this sees the chunk there, open or sealed.

use super::piece::{self, ChunkHeader};
use crate::trace::Bytes;
use std::io;
use std::sync::Arc;
use umtui_wire::chunk::{HEADER_BYTES, KIND_EVENTS, STATE_OPEN};
use umtui_wire::header::CHUNK_UNIT;

/// How often a read is tried again because the chunk moved to its place meanwhile; it moves once.
const TRIES: usize = 4;

/// Bytes of a file, with the chunks that lie in windows at their places.
pub struct Windowed(Arc<dyn Bytes>);

impl Windowed {
    /// Over the bytes of a file.
    #[must_use]
    pub fn new(bytes: Arc<dyn Bytes>) -> Self {
        Self(bytes)
    }

    /// The header at an offset; `offset` is what it must say of itself.
    fn header(&self, at: u64, offset: u64) -> io::Result<Option<ChunkHeader>> {
        let mut bytes = [0; HEADER_BYTES];
        let count = self.0.read_at(at, &mut bytes)?;
        Ok(bytes.get(..count).and_then(|bytes| piece::header_at(bytes, offset)))
    }

    /// Where the image of the chunk lies whose place this is, and its sequence, while it is in a window. The copy at
    /// the place is whole once its header is sealed.
    fn image(&self, place: u64) -> io::Result<Option<(u64, u64)>> {
        let Some(header) = self.header(place, place)? else { return Ok(None) };
        if header.kind != KIND_EVENTS || header.state != STATE_OPEN || header.window == 0 {
            return Ok(None);
        }
        let at = header.window.saturating_add(HEADER_BYTES as u64);
        let image = self.header(at, place)?;
        let same = image.is_some_and(|image| image.sequence == header.sequence);
        Ok(same.then_some((at, header.sequence)))
    }
}

impl Bytes for Windowed {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let place = offset / CHUNK_UNIT * CHUNK_UNIT;
        if place == 0 {
            return self.0.read_at(offset, buffer);
        }
        for _ in 0..TRIES {
            let Some((at, sequence)) = self.image(place)? else { break };
            let count = self.0.read_at(at.saturating_add(offset - place), buffer)?;
            if self.header(at, place)?.is_some_and(|image| image.sequence == sequence) {
                return Ok(count);
            }
        }
        self.0.read_at(offset, buffer)
    }
}
