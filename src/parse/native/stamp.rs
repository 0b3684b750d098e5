//! Where records lie in a file whose chunks make room for newer ones.
//!
//! A record that was decoded may be looked at again much later, for its arguments. Under a cap another chunk may lie in
//! its place by then, whose bytes are as good as its own. So the place of such a record is told with the number of its
//! chunk, and whoever reads there gets nothing once that chunk is gone.

use super::piece::{ChunkHeader, Piece, header_at};
use crate::trace::Bytes;
use std::io;
use umtui_wire::chunk::HEADER_BYTES;
use umtui_wire::header::CHUNK_UNIT;

/// Tells stamped places from offsets, which are no larger than a signed number.
const STAMPED: u64 = 1 << 63;
/// Bits of the offset; the chunk's number has those above, as far as there is room.
const OFFSET_BITS: u32 = 40;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
const NUMBER_MASK: u64 = (STAMPED >> OFFSET_BITS) - 1;

/// What turns an offset within this piece into one that holds only as long as the chunk is there; zero where nothing
/// takes its place.
#[must_use]
pub const fn stamp(piece: &Piece, has_cap: bool) -> u64 {
    // Only chunks of one unit are replaced.
    if !has_cap || piece.bytes as u64 != CHUNK_UNIT || piece.offset.saturating_add(CHUNK_UNIT) > OFFSET_MASK {
        return 0;
    }
    STAMPED | (piece.sequence & NUMBER_MASK) << OFFSET_BITS
}

/// Bytes of a file, also by stamped offsets.
pub struct Stamped<B>(pub B);

impl<B: Bytes> Stamped<B> {
    fn header(&self, place: u64) -> io::Result<Option<ChunkHeader>> {
        let mut bytes = [0; HEADER_BYTES];
        let count = self.0.read_at(place, &mut bytes)?;
        Ok(bytes.get(..count).and_then(|bytes| header_at(bytes, place)))
    }
}

impl<B: Bytes> Bytes for Stamped<B> {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset & STAMPED == 0 {
            return self.0.read_at(offset, buffer);
        }
        let number = offset >> OFFSET_BITS & NUMBER_MASK;
        let offset = offset & OFFSET_MASK;
        let count = self.0.read_at(offset, buffer)?;
        // Looked at last: a chunk's header is replaced before its records are.
        let header = self.header(offset / CHUNK_UNIT * CHUNK_UNIT)?;
        let there = header.is_some_and(|header| header.sequence & NUMBER_MASK == number);
        Ok(if there { count } else { 0 })
    }
}
