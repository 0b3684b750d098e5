//! Finds the chunks of a file, and takes what is committed in them.

use super::header;
use super::piece::{ChunkHeader, Holds, Piece, committed, header_at};
use super::reader::NativeReader;
use crate::parse::ParseError;
use crate::trace::{Bytes, State, Trace};
use umtui_wire::chunk::HEADER_BYTES;
use umtui_wire::header::CHUNK_UNIT;

/// Places looked at for chunks in one poll.
const STEPS: usize = 4096;
/// Chunks known but not begun: the reader does not look for more.
const AHEAD: usize = 512;
/// Places without a chunk that are looked at again while the file is being written.
const HOLES: usize = 512;

impl NativeReader {
    /// Finds chunks; whether it stopped before the end of the file. `late`: after the moment that decoding goes up to.
    pub(super) fn discover(&mut self, trace: &mut Trace, late: bool) -> Result<bool, ParseError> {
        self.length = self.length.max(self.bytes.len().map_err(|error| self.io(0, error))?);
        if self.discover_reused(late)? {
            return Ok(true);
        }
        for hole in self.holes.clone() {
            self.try_chunk(hole, late)?;
        }
        if header::state(&self.header, self.gone) != State::Recording {
            self.holes.clear();
        }
        let mut ahead = self.pieces.iter().filter(|piece| !piece.begun && piece.events()).count();
        for _ in 0..STEPS {
            if self.next.saturating_add(HEADER_BYTES as u64) > self.length {
                return Ok(false);
            }
            if ahead >= AHEAD {
                break;
            }
            let at = self.next;
            match self.try_chunk(at, late)? {
                Found::Chunk(bytes) => {
                    self.in_gap = false;
                    ahead += 1;
                    self.next = at.saturating_add(bytes);
                }
                Found::Nothing => {
                    self.in_gap = false;
                    let recording = header::state(&self.header, self.gone) == State::Recording;
                    if recording && self.holes.len() < HOLES {
                        self.holes.insert(at);
                    }
                    self.next = at.saturating_add(CHUNK_UNIT);
                }
                Found::Odd => {
                    if !self.in_gap {
                        self.in_gap = true;
                        trace.add_damage(
                            self.file.file,
                            at,
                            "no chunk begins here, though one should; skipped to the next",
                        );
                    }
                    self.next = at.saturating_add(CHUNK_UNIT);
                }
            }
        }
        Ok(true)
    }

    fn try_chunk(&mut self, at: u64, late: bool) -> Result<Found, ParseError> {
        let mut bytes = [0; HEADER_BYTES];
        let count = self.bytes.read_at(at, &mut bytes).map_err(|error| self.io(at, error))?;
        let Some(header) = bytes.get(..count).and_then(|bytes| header_at(bytes, at)) else {
            let nothing = bytes.iter().take(4).all(|&byte| byte == 0);
            return Ok(if nothing { Found::Nothing } else { Found::Odd });
        };
        let length = u64::from(header.bytes);
        let covered: Vec<u64> = self.holes.range(at..at.saturating_add(length)).copied().collect();
        for hole in covered {
            self.holes.remove(&hole);
        }
        self.add_piece(&header, late);
        Ok(Found::Chunk(length))
    }

    /// Pieces lie in the order of their chunks.
    pub(super) fn add_piece(&mut self, header: &ChunkHeader, late: bool) {
        let key = |piece: &Piece| (piece.sequence, piece.offset);
        let place = self.pieces.partition_point(|piece| key(piece) < (header.sequence, header.offset));
        self.pieces.insert(place, Piece::new(header, late));
        self.know(header);
    }

    /// Takes what is committed now: for scanning and definitions if `later`, else for decoding. The newest chunks are
    /// read first, so that whatever a thread wrote before is there as well.
    pub(super) fn snapshot(&mut self, later: bool) -> Result<(), ParseError> {
        for index in (0..self.pieces.len()).rev() {
            let live = |piece: &&mut Piece| !piece.sealed && piece.holds != Holds::Desks;
            let Some(piece) = self.pieces.get_mut(index).filter(live) else { continue };
            let mut bytes = [0; HEADER_BYTES];
            let offset = piece.offset;
            let count = match self.bytes.read_at(offset, &mut bytes) {
                Ok(count) => count,
                Err(error) => return Err(self.io(offset, error)),
            };
            let Some(header) = bytes.get(..count).and_then(|bytes| header_at(bytes, offset)) else { continue };
            if header.sequence != piece.sequence {
                piece.give_up();
                if piece.sequence < header.sequence {
                    // A chunk that had no place but its own. The one in its stead lies behind it in the list.
                    self.replace(&header, true);
                }
                continue;
            }
            if later && piece.events() {
                piece.scannable = piece.scannable.max(committed(&header));
            } else {
                piece.refresh(&header);
            }
        }
        Ok(())
    }
}

/// What lies at a place where a chunk may begin.
enum Found {
    /// A chunk of so many bytes.
    Chunk(u64),
    /// Zeros.
    Nothing,
    /// Something else.
    Odd,
}
