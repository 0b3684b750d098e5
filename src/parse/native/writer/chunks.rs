//! Chunks of a file that is written, and its end.

use std::io::{self, Seek, SeekFrom, Write};
use umtui_wire::checksum;
use umtui_wire::chunk::{
    self, ChunkHeader, DESK_BYTES, DESKS_AT, Desk, KIND_DESKS, KIND_EVENTS, OpenCall, STATE_OPEN, STATE_SEALED,
};
use umtui_wire::clock::ClockTriple;
use umtui_wire::frame::is_event;
use umtui_wire::header::{CHUNK_UNIT, HEADER_BYTES};
use umtui_wire::record::{Head, Slot};
use zerocopy::{FromZeros, IntoBytes};

use super::NativeWriter;
use crate::parse::native::piece::capacity;

/// A chunk being filled.
pub struct Filling {
    pub header: ChunkHeader,
    pub slots: Vec<Slot>,
    /// First start and last end of its calls.
    pub ticks: (u64, u64),
}

impl Filling {
    pub fn fits(&self, slots: usize) -> bool {
        self.slots.len() + slots <= capacity(self.header.bytes) as usize
    }

    /// Appends records; `ticks` are the start and end of a call among them.
    pub fn take(&mut self, slots: &[Slot], ticks: Option<(u64, u64)>) {
        self.slots.extend_from_slice(slots);
        let (mut events, mut rest) = (0, slots);
        while let Some(slot) = rest.first() {
            let head = Head::from_word(slot[0]);
            events += usize::from(is_event(head.kind));
            rest = rest.get(1 + usize::from(head.extra)..).unwrap_or(&[]);
        }
        self.header.others += (slots.len() - events) as u32;
        if let Some((first, last)) = ticks {
            self.ticks = (self.ticks.0.min(first), self.ticks.1.max(last));
        }
    }
}

impl<W: Write + Seek> NativeWriter<W> {
    pub(super) fn open(&mut self, kind: u16, thread: u32, moment: u64) -> Filling {
        let short = kind != KIND_EVENTS || self.sparse && !self.long.contains(&thread);
        let bytes = if short { CHUNK_UNIT } else { self.chunk_bytes };
        let mut header = ChunkHeader::new_zeroed();
        header.magic = chunk::MAGIC;
        header.kind = kind;
        header.state = STATE_OPEN;
        header.bytes = bytes as u32;
        header.thread = thread;
        header.offset = self.end;
        header.sequence = self.sequence;
        header.opened = self.triple(moment);
        self.end += bytes;
        self.sequence += 1;
        Filling { header, slots: std::mem::take(&mut self.spare), ticks: (u64::MAX, 0) }
    }

    /// A clock reading that agrees with the start at the file's rate.
    fn triple(&self, ticks: u64) -> ClockTriple {
        let rate = umtui_wire::clock::Rate::new(self.info.ticks_per_second);
        let since = rate.ns(ticks.saturating_sub(self.info.start.ticks));
        ClockTriple {
            ticks,
            monotonic_ns: self.info.start.monotonic_ns.saturating_add(since),
            realtime_ns: self.info.start.realtime_ns.saturating_add(since),
        }
    }

    pub(super) fn put_chunk(&mut self, mut chunk: Filling, seal: bool) -> io::Result<()> {
        let slots = chunk.slots.as_bytes();
        chunk.header.committed = (chunk::HEADER_BYTES + slots.len()) as u32;
        if seal {
            chunk.header.state = STATE_SEALED;
            chunk.header.checksum = checksum::of_slots(slots);
            chunk.header.sealed = self.triple(self.newest);
            chunk.header.last_ticks = chunk.ticks.1;
            chunk.header.first_ticks = if chunk.ticks.0 == u64::MAX { 0 } else { chunk.ticks.0 };
        }
        self.out.seek(SeekFrom::Start(chunk.header.offset))?;
        self.out.write_all(chunk.header.as_bytes())?;
        self.out.write_all(slots)?;
        if self.sparse {
            chunk.slots.clear();
            self.spare = chunk.slots;
            return Ok(());
        }
        let rest = (chunk.header.bytes as usize).saturating_sub(chunk::HEADER_BYTES + slots.len());
        io::copy(&mut io::Read::take(io::repeat(0), rest as u64), &mut self.out)?;
        Ok(())
    }

    fn put_desks(&mut self) -> io::Result<()> {
        let per_chunk = (CHUNK_UNIT as usize - DESKS_AT) / DESK_BYTES;
        let mut left: Vec<(u32, Vec<OpenCall>)> = std::mem::take(&mut self.desks).into_iter().collect();
        while !left.is_empty() {
            let mut chunk = self.open(KIND_DESKS, 0, self.newest);
            chunk.header.committed = chunk::HEADER_BYTES as u32;
            self.out.seek(SeekFrom::Start(chunk.header.offset))?;
            self.out.write_all(chunk.header.as_bytes())?;
            let mut bytes = vec![0; DESKS_AT - chunk::HEADER_BYTES];
            for (thread, calls) in left.drain(..left.len().min(per_chunk)) {
                let mut desk = Desk::new_zeroed();
                desk.thread = thread;
                desk.no_frame = u64::MAX;
                for (place, call) in desk.calls.iter_mut().zip(calls) {
                    *place = call;
                }
                bytes.extend_from_slice(desk.as_bytes());
            }
            bytes.resize(CHUNK_UNIT as usize - chunk::HEADER_BYTES, 0);
            self.out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Writes what is left and the header; the chunks still being filled stay open unless `seal`.
    ///
    /// # Errors
    /// When writing fails.
    pub fn finish(mut self, seal: bool) -> io::Result<W> {
        if let Some(chunk) = self.definitions.take() {
            self.put_chunk(chunk, seal)?;
        }
        for chunk in std::mem::take(&mut self.threads).into_values() {
            self.put_chunk(chunk, seal)?;
        }
        self.put_desks()?;
        let header = self.info.header(self.end);
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(header.as_bytes())?;
        let gap = CHUNK_UNIT - HEADER_BYTES as u64;
        if self.end == CHUNK_UNIT {
            io::copy(&mut io::Read::take(io::repeat(0), gap), &mut self.out)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}
