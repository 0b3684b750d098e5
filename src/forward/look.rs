//! Finds the chunks of a file that is followed, and takes what is committed in them.

use std::io;
use umtui_wire::chunk::{
    ChunkHeader, DESK_BYTES, DESKS_AT, Desk, HEADER_BYTES, KIND_DEFINITIONS, KIND_DESKS, KIND_EVENTS, OpenCall,
};
use umtui_wire::header::{self, CHUNK_UNIT, FileHeader, STATE_RECORDING};
use umtui_wire::record::{SLOT_BYTES, Slot};
use zerocopy::{FromBytes, IntoBytes};

use super::chunk::Chunk;
use super::file::{Followed, identity};
use crate::parse::native::piece::header_at;
use crate::parse::native::window::Windowed;
use crate::trace::Bytes;

/// Places looked at for chunks in one pass.
const STEPS: usize = 65_536;
/// Places without a chunk that are looked at again.
const HOLES: usize = 512;
/// Places without news after which no more are used again: threads may be a little apart.
const APART: u64 = 256;

/// What was committed when a pass began.
pub(super) struct Moment {
    /// The open calls of each thread that has any.
    pub desks: Vec<(u32, Vec<OpenCall>)>,
    /// Not all chunks have been found.
    pub more: bool,
}

impl Followed {
    /// Reads what is committed now.
    pub(super) fn look(&mut self) -> io::Result<Moment> {
        if let FirstPage::Recording(page) = first_page(&self.bytes)?
            && identity(&page) == self.counts.file
        {
            self.header = page;
        }
        let mut more = self.discover()?;
        self.look_for_reused()?;
        // An entry of a desk is cleared after its call's record is committed: looked at first, no call is missed.
        let desks = self.read_desks()?;
        self.snapshot(KIND_EVENTS)?;
        if !more {
            more = self.discover()?;
        }
        self.snapshot(KIND_DEFINITIONS)?;
        Ok(Moment { desks, more })
    }

    fn header_at(&self, at: u64) -> io::Result<(Option<ChunkHeader>, bool)> {
        let mut bytes = [0; HEADER_BYTES];
        let count = self.bytes.read_at(at, &mut bytes)?;
        let header = bytes.get(..count).and_then(|bytes| header_at(bytes, at));
        Ok((header, bytes.iter().take(4).all(|&byte| byte == 0)))
    }

    /// Finds chunks; whether it stopped before the end of the file.
    fn discover(&mut self) -> io::Result<bool> {
        let length = self.bytes.len()?;
        for hole in self.holes.clone() {
            if let (Some(header), _) = self.header_at(hole)? {
                self.insert(&header);
            }
        }
        for _ in 0..STEPS {
            let at = self.next;
            if at.saturating_add(HEADER_BYTES as u64) > length {
                return Ok(false);
            }
            match self.header_at(at)? {
                (Some(header), _) => self.insert(&header),
                (None, empty) => {
                    // A chunk that was claimed and not begun.
                    if empty && self.header.state == STATE_RECORDING && self.holes.len() < HOLES {
                        self.holes.insert(at);
                    }
                    self.next = at.saturating_add(CHUNK_UNIT);
                }
            }
        }
        Ok(true)
    }

    fn insert(&mut self, header: &ChunkHeader) {
        let (at, end) = (header.offset, header.offset.saturating_add(u64::from(header.bytes)));
        let covered: Vec<u64> = self.holes.range(at..end).copied().collect();
        for hole in covered {
            self.holes.remove(&hole);
        }
        self.next = self.next.max(end);
        self.chunks.insert(at, Chunk::new(header));
    }

    /// A file with a cap uses the places of its oldest chunks again, in the order of the file.
    fn look_for_reused(&mut self) -> io::Result<()> {
        let fresh = self.header.discarded;
        self.look_at_empty()?;
        if fresh != self.discarded {
            let places = (self.next / CHUNK_UNIT).saturating_sub(1);
            let (mut quiet, mut at) = (0, self.round);
            while quiet < APART.min(places) {
                at = if at < self.next { at.max(CHUNK_UNIT) } else { CHUNK_UNIT };
                let (header, _) = self.header_at(at)?;
                let same = self.chunks.get(&at).map(|chunk| header.is_some_and(|header| chunk.is(&header)));
                let next = at.saturating_add(header.map_or(CHUNK_UNIT, |header| u64::from(header.bytes)));
                quiet += 1;
                if matches!((same, header), (Some(false), _) | (None, Some(_))) {
                    quiet = 0;
                    self.round = next;
                    self.replace(at, header);
                }
                at = next;
            }
        }
        // Of a process that runs by the count of the pass before: a chunk that it has just counted may still have been
        // in its place when we looked.
        let counted = if self.gone == Some(true) { fresh } else { self.discarded };
        self.discarded = fresh;
        let overwritten = counted.saturating_sub(self.known_discarded).saturating_sub(self.vanished);
        self.counts.dropped = self.counts.dropped.max(overwritten.saturating_add(self.oversized));
        Ok(())
    }

    /// What makes room without having had events is not counted: such places are looked at each time, those first whose
    /// turn is next.
    fn look_at_empty(&mut self) -> io::Result<()> {
        let (before, after) = (self.chunks.range(..self.round), self.chunks.range(self.round..));
        let empty = after.chain(before).filter(|(_, chunk)| chunk.is_empty()).map(|(at, _)| *at);
        for at in empty.take(APART as usize).collect::<Vec<_>>() {
            let (header, _) = self.header_at(at)?;
            if !header.is_some_and(|header| self.chunks.get(&at).is_some_and(|chunk| chunk.is(&header))) {
                self.round = at.saturating_add(CHUNK_UNIT);
                self.replace(at, header);
            }
        }
        Ok(())
    }

    fn replace(&mut self, at: u64, header: Option<ChunkHeader>) {
        self.vanish(at);
        if let Some(header) = header {
            self.insert(&header);
        }
    }

    /// Whatever lay here has been overwritten.
    pub(super) fn vanish(&mut self, at: u64) {
        if let Some(chunk) = self.chunks.remove(&at) {
            self.vanished += chunk.events;
            self.holes.insert(at);
        }
    }

    /// The open calls of each thread that has any.
    fn read_desks(&self) -> io::Result<Vec<(u32, Vec<OpenCall>)>> {
        let mut desks = Vec::new();
        for (offset, chunk) in self.chunks.iter().filter(|(_, chunk)| chunk.header.kind == KIND_DESKS) {
            let mut bytes = vec![0; (chunk.header.bytes as usize).saturating_sub(DESKS_AT)];
            let count = self.bytes.read_at(offset.saturating_add(DESKS_AT as u64), &mut bytes)?;
            let whole = bytes.get(..count).unwrap_or(&[]).chunks_exact(DESK_BYTES);
            for desk in whole.filter_map(|desk| Desk::read_from_bytes(desk).ok()).filter(|desk| desk.thread != 0) {
                let calls: Vec<_> = desk.calls.iter().filter(|call| call.head != 0).copied().collect();
                if !calls.is_empty() {
                    desks.push((desk.thread, calls));
                }
            }
        }
        Ok(desks)
    }

    /// Takes what is committed now in chunks of a kind, the newest first, so that whatever a thread wrote before is
    /// there as well.
    fn snapshot(&mut self, kind: u16) -> io::Result<()> {
        let live: Vec<u64> = self
            .chunks
            .iter()
            .rev()
            .filter(|(_, chunk)| chunk.header.kind == kind && !chunk.sealed() | (chunk.upto == 0))
            .map(|(at, _)| *at)
            .collect();
        for at in live {
            let (Some(header), _) = self.header_at(at)? else { continue };
            if self.chunks.get(&at).is_some_and(|chunk| !chunk.is(&header)) {
                // It had no place but its own.
                self.replace(at, Some(header));
            }
            if let Some(chunk) = self.chunks.get_mut(&at) {
                chunk.refresh(&header);
            }
        }
        Ok(())
    }

    /// Slots `from..upto` of the chunk at `at`, if it still is the same after they were read.
    pub(super) fn slots(&self, at: u64, from: u32, upto: u32) -> io::Result<Option<Vec<Slot>>> {
        let mut slots = vec![[0; 6]; upto.saturating_sub(from) as usize];
        let offset = at + HEADER_BYTES as u64 + u64::from(from) * SLOT_BYTES as u64;
        let count = self.bytes.read_at(offset, slots.as_mut_bytes())?;
        slots.truncate(count / SLOT_BYTES);
        let (header, _) = self.header_at(at)?;
        let same = header.is_some_and(|header| self.chunks.get(&at).is_some_and(|chunk| chunk.is(&header)));
        Ok(same.then_some(slots))
    }
}

/// What a file's first page is.
pub(super) enum FirstPage {
    /// A recording's.
    Recording(Box<FileHeader>),
    /// Nothing yet: a recording's may still be written.
    Unwritten,
    /// Something else, which never becomes a recording.
    Foreign,
}

/// The first page, all of it decided by one read: between two the hook may write it.
pub(super) fn first_page(bytes: &Windowed) -> io::Result<FirstPage> {
    let mut page = vec![0; header::HEADER_BYTES];
    let count = bytes.read_at(0, &mut page)?;
    let read = page.get(..count).unwrap_or(&[]);
    let magic = read.get(..header::MAGIC.len()).unwrap_or(read);
    if magic.iter().all(|&byte| byte == 0) {
        return Ok(FirstPage::Unwritten);
    }
    if !header::MAGIC.starts_with(magic) {
        return Ok(FirstPage::Foreign);
    }
    let whole = FileHeader::read_from_bytes(read).ok();
    Ok(whole
        .filter(|page| page.magic == header::MAGIC)
        .map_or(FirstPage::Unwritten, |page| FirstPage::Recording(Box::new(page))))
}
