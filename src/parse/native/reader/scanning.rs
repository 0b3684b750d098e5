//! The first look at what was added to chunks, before it is decoded.

use super::{NativeReader, Piece, check, cut};
use crate::parse::ParseError;
use crate::trace::Trace;
use umtui_wire::record::SLOT_BYTES;

/// Bytes scanned before it is decoding's turn.
const SCAN_BYTES: usize = 1 << 20;
/// Slots kept between scanning and decoding, all chunks together: 8 MiB.
const KEPT_SLOTS: usize = (8 << 20) / SLOT_BYTES;

impl NativeReader {
    /// Scans what was added to chunks that were looked at before.
    pub(super) fn scan_begun(&mut self, trace: &mut Trace) -> Result<(), ParseError> {
        for index in 0..self.pieces.len() {
            let due = |piece: &Piece| piece.begun && piece.events() && piece.scanned < piece.scannable;
            if self.pieces.get(index).is_some_and(due) {
                self.scan(index, trace)?;
            }
        }
        Ok(())
    }

    /// Scans chunks that were not looked at yet; whether there was one.
    pub(super) fn scan_next(&mut self, trace: &mut Trace) -> Result<bool, ParseError> {
        let mut bytes = 0;
        let mut any = false;
        for index in 0..self.pieces.len() {
            let Some(piece) = self.pieces.get_mut(index).filter(|piece| !piece.begun && piece.events()) else {
                continue;
            };
            piece.begun = true;
            bytes += piece.scannable as usize * SLOT_BYTES;
            any = true;
            self.scan(index, trace)?;
            if bytes >= SCAN_BYTES {
                break;
            }
        }
        Ok(any)
    }

    fn scan(&mut self, index: usize, trace: &mut Trace) -> Result<(), ParseError> {
        let Some((from, upto)) = self.pieces.get(index).map(|piece| (piece.scanned, piece.scannable)) else {
            return Ok(());
        };
        let scratch = std::mem::take(&mut self.scratch);
        let slots = self.read_slots(index, from, upto, scratch)?;
        if let Some(piece) = self.pieces.get_mut(index) {
            let upto = upto.min(piece.scannable);
            let short = (slots.len() as u32) < upto - from;
            if short {
                cut(piece, from + slots.len() as u32, &self.file, trace);
            }
            if piece.sealed && from == 0 && upto > 0 && upto == piece.committed && !short {
                check(piece, &slots, self.file.file, trace);
            }
            self.scan.look(piece, &slots, &mut self.file, &mut trace.streams);
            if piece.sealed && piece.scanned < piece.scannable {
                piece.scanned = piece.scannable;
            }
        }
        // What was read for scanning is kept for decoding, as far as there is room.
        match self.pieces.get_mut(index) {
            Some(piece) if piece.buffer.is_empty() && piece.decoded == from && self.kept < KEPT_SLOTS => {
                self.kept += slots.capacity();
                piece.buffer = slots;
                piece.buffer_at = from;
                self.scratch = self.spare.pop().unwrap_or_default();
            }
            _ => self.scratch = slots,
        }
        Ok(())
    }
}
