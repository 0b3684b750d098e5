//! Files with a cap on their size that has been reached: new chunks take the places of the oldest.
//!
//! The writer goes round the file in order, so the reader does. What it could not read in time is counted.

use super::piece::{ChunkHeader, header_at};
use super::reader::NativeReader;
use crate::parse::ParseError;
use crate::trace::{Bytes, Trace};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};
use umtui_wire::chunk::HEADER_BYTES;
use umtui_wire::header::CHUNK_UNIT;

/// Chunks known but not begun: the reader does not look for more.
const AHEAD: usize = 512;
/// Places without news after which the writer is not beyond: several threads may be a little apart.
const APART: u64 = 256;

/// What is known of a file's places.
#[derive(Debug, Default)]
pub struct Reused {
    /// By place: the chunk there, and how many of its calls were read.
    known: FxHashMap<u64, (u64, u64)>,
    /// Chunks of a file that had gone round before it was opened, in their order: sequence and place.
    order: VecDeque<(u64, u64)>,
    /// Places where another chunk may come to lie, or lies, without a change of the writer's count: the one there has no
    /// events, or has gone already.
    silent: BTreeSet<u64>,
    /// The place after the newest reused one.
    next: u64,
    /// The writer's count when it was last looked.
    seen: u64,
    /// Of the events it counted, those that had been read.
    read: u64,
}

impl NativeReader {
    const fn has_cap(&self) -> bool {
        self.header.max_bytes > 0
    }

    /// Finds chunks in places that were used before; whether there are more.
    pub(super) fn discover_reused(&mut self, late: bool) -> Result<bool, ParseError> {
        if !self.has_cap() {
            return Ok(false);
        }
        if self.header.discarded > 0 && self.reused.known.is_empty() && self.next == CHUNK_UNIT {
            self.put_in_order()?;
        }
        if !self.reused.order.is_empty() {
            return self.take_in_order(late);
        }
        self.look_at_silent(late)?;
        if self.reused.seen != self.header.discarded {
            self.reused.seen = self.header.discarded;
            self.go_round(late)?;
        }
        Ok(false)
    }

    /// Remembers the chunk at a place.
    pub(super) fn know(&mut self, header: &ChunkHeader) {
        if self.has_cap() {
            self.reused.silent.remove(&header.offset);
            self.reused.known.insert(header.offset, (header.sequence, 0));
        }
    }

    fn chunk_at(&self, at: u64) -> Result<Option<ChunkHeader>, ParseError> {
        let mut bytes = [0; HEADER_BYTES];
        let count = self.bytes.read_at(at, &mut bytes).map_err(|error| self.io(at, error))?;
        Ok(bytes.get(..count).and_then(|bytes| header_at(bytes, at)))
    }

    fn put_in_order(&mut self) -> Result<(), ParseError> {
        let mut order = Vec::new();
        let mut at = CHUNK_UNIT;
        while at < self.length {
            let found = self.chunk_at(at)?;
            match &found {
                Some(header) => order.push((header.sequence, at)),
                // Perhaps one that makes room just now.
                None => _ = self.reused.silent.insert(at),
            }
            at = at.saturating_add(found.map_or(CHUNK_UNIT, |header| u64::from(header.bytes)));
        }
        order.sort_unstable();
        self.reused.next = CHUNK_UNIT;
        self.reused.order = order.into();
        self.reused.seen = self.header.discarded;
        self.next = at;
        Ok(())
    }

    fn take_in_order(&mut self, late: bool) -> Result<bool, ParseError> {
        let mut ahead = self.pieces.iter().filter(|piece| !piece.begun && piece.events()).count();
        while ahead < AHEAD
            && let Some((sequence, at)) = self.reused.order.pop_front()
        {
            let Some(header) = self.chunk_at(at)? else {
                self.reused.silent.insert(at);
                continue;
            };
            if header.sequence == sequence {
                ahead += 1;
                self.reused.next = at.saturating_add(CHUNK_UNIT);
                self.add_piece(&header, late);
            } else {
                // Reused since; found when it is its turn.
                self.reused.seen = 0;
            }
        }
        Ok(!self.reused.order.is_empty())
    }

    fn go_round(&mut self, late: bool) -> Result<(), ParseError> {
        let places = (self.next / CHUNK_UNIT).saturating_sub(1);
        let mut quiet = 0;
        let mut at = self.reused.next.max(CHUNK_UNIT);
        while quiet < APART.min(places) {
            if at >= self.next {
                at = CHUNK_UNIT;
            }
            if self.look_at_place(at, late)? {
                quiet = 0;
            } else {
                quiet += 1;
            }
            at = at.saturating_add(CHUNK_UNIT);
        }
        Ok(())
    }

    /// What makes room without having had events is not counted: such places are looked at each time, those first whose
    /// turn is next.
    fn look_at_silent(&mut self, late: bool) -> Result<(), ParseError> {
        let (before, after) =
            (self.reused.silent.range(..self.reused.next), self.reused.silent.range(self.reused.next..));
        let next: Vec<u64> = after.chain(before).copied().take(APART as usize).collect();
        for at in next {
            self.look_at_place(at, late)?;
        }
        Ok(())
    }

    /// Whether there is another chunk now in a place that was used before.
    fn look_at_place(&mut self, at: u64, late: bool) -> Result<bool, ParseError> {
        let known = self.reused.known.get(&at).copied();
        let found = self.chunk_at(at)?;
        // Places that are looked at as new are none.
        if self.holes.contains(&at) {
            return Ok(false);
        }
        match found {
            Some(header) if known.is_none_or(|(sequence, _)| sequence < header.sequence) => {
                self.replace(&header, late);
                self.reused.next = at.saturating_add(CHUNK_UNIT);
                return Ok(true);
            }
            // It has been counted, and what takes its place is about to come.
            None if known.is_some() => _ = self.reused.silent.insert(at),
            _ => {}
        }
        Ok(false)
    }

    /// Another chunk lies in a place that is known.
    pub(super) fn replace(&mut self, header: &ChunkHeader, late: bool) {
        let known = self.reused.known.get(&header.offset).copied();
        if let Some((sequence, calls)) = known {
            self.reused.read = self.reused.read.saturating_add(calls);
            let old = self.pieces.iter_mut().find(|piece| piece.sequence == sequence && piece.offset == header.offset);
            if let Some(piece) = old {
                self.reused.read = self.reused.read.saturating_add(piece.calls);
                piece.calls = 0;
                piece.give_up();
            }
        }
        self.add_piece(header, late);
    }

    /// Whether another chunk has taken the place of this piece since it was found.
    pub(super) fn is_overwritten(&mut self, index: usize) -> Result<bool, ParseError> {
        let Some((offset, sequence)) = self.pieces.get(index).map(|piece| (piece.offset, piece.sequence)) else {
            return Ok(false);
        };
        if !self.has_cap() || self.chunk_at(offset)?.is_some_and(|header| header.sequence == sequence) {
            return Ok(false);
        }
        if let Some(piece) = self.pieces.get_mut(index) {
            piece.give_up();
        }
        Ok(true)
    }

    /// Drops pieces that have been read, and remembers how much of each was.
    pub(super) fn forget_finished(&mut self, trace: &mut Trace) {
        if self.has_cap() {
            for piece in self.pieces.iter().filter(|piece| piece.finished()) {
                if let Some((sequence, calls)) = self.reused.known.get_mut(&piece.offset)
                    && *sequence == piece.sequence
                {
                    *calls = piece.calls;
                    if piece.calls == 0 {
                        self.reused.silent.insert(piece.offset);
                    }
                }
            }
            let discarded = self.header.discarded.saturating_sub(self.reused.read);
            if let Some(process) = trace.processes.get_mut(self.file.process.index())
                && process.discarded != discarded
            {
                process.discarded = discarded;
                trace.touch();
            }
        }
        self.pieces.retain(|piece| !piece.finished());
    }
}
