//! Takes a native file into a packed one, chunk by chunk.

use super::layout::{PREFACE_BYTES, ROLE_NATIVE, SPAN_MAX};
use super::writer::{Where, Writer};
use crate::parse::native::piece::{ChunkHeader, committed, header_at};
use crate::trace::Bytes;
use std::io::{self, Write};
use umtui_wire::chunk::{KIND_DEFINITIONS, KIND_EVENTS, KIND_WINDOW};
use umtui_wire::frame::is_event;
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{Head, SLOT_BYTES, Slot};
use zerocopy::IntoBytes;

/// Slots of a block, about: what is unpacked to look at one record.
const SLOTS: usize = 1400;
/// Bytes of a block of anything else.
const BYTES: u64 = 64 * 1024;
/// How often a chunk is read again because another took its place meanwhile.
const TRIES: usize = 8;

/// A native file that is being taken.
struct Taking<'a, W: Write> {
    bytes: &'a dyn Bytes,
    number: u32,
    length: u64,
    /// Where zeros began that have not been written.
    zeros: u64,
    writer: &'a mut Writer<W>,
}

/// Takes a native file as image `number`: what its readers read, as it is now. Its bytes are those that a reader has, with
/// chunks in their places and not in windows. `tell` is told how many bytes were read.
///
/// # Errors
/// When reading or writing fails.
pub fn take<W: Write>(
    bytes: &dyn Bytes,
    number: u32,
    writer: &mut Writer<W>,
    tell: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let length = bytes.len()?;
    let mut taking = Taking { bytes, number, length, zeros: 0, writer };
    let mut at = 0;
    while at < length {
        at = if at == 0 { taking.bytes(0, CHUNK_UNIT.min(length))? } else { taking.place(at)? };
        tell(at);
    }
    taking.flush(length)
}

/// Writes the first page once more: without it nothing of the file can be read.
///
/// # Errors
/// When reading or writing fails.
pub fn take_first_page<W: Write>(bytes: &dyn Bytes, number: u32, writer: &mut Writer<W>) -> io::Result<()> {
    let length = CHUNK_UNIT.min(bytes.len()?);
    Taking { bytes, number, length, zeros: 0, writer }.bytes(0, length).map(|_| ())
}

impl<W: Write> Taking<'_, W> {
    const fn at(&self, place: u64, span: u64) -> Where {
        Where { role: ROLE_NATIVE, number: self.number, place, span }
    }

    /// Writes the zeros up to `until`.
    fn flush(&mut self, until: u64) -> io::Result<()> {
        while self.zeros < until {
            let span = SPAN_MAX.min(until - self.zeros);
            self.writer.put_bytes(self.at(self.zeros, span), &[])?;
            self.zeros += span;
        }
        Ok(())
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read_at(at, buffer)
    }

    fn header(&self, at: u64) -> io::Result<Option<(ChunkHeader, [u8; PREFACE_BYTES])>> {
        let mut bytes = [0; PREFACE_BYTES];
        let count = self.read(at, &mut bytes)?;
        Ok(bytes.get(..count).and_then(|bytes| header_at(bytes, at)).map(|header| (header, bytes)))
    }

    /// What lies at a place where a chunk may begin; where the next may.
    fn place(&mut self, at: u64) -> io::Result<u64> {
        for _ in 0..TRIES {
            let Some((header, preface)) = self.header(at)? else { break };
            let next = at.saturating_add(u64::from(header.bytes));
            let end = next.min(self.length);
            let slots = match header.kind {
                KIND_EVENTS | KIND_DEFINITIONS => committed(&header) as usize,
                KIND_WINDOW => 0,
                _ => return self.unknown(at, &preface, end),
            };
            let mut read: Vec<Slot> = vec![[0; 6]; slots];
            let count = self.read(at + PREFACE_BYTES as u64, read.as_mut_bytes())?;
            // Where chunks make room for newer ones, the slots may be of the next already.
            if self.header(at)?.is_none_or(|(again, _)| again.sequence != header.sequence) {
                continue;
            }
            let read = read.get(..count / SLOT_BYTES).unwrap_or(&[]);
            // The file may end before a chunk whose records are still in a window.
            let end = end.max(at + (PREFACE_BYTES + size_of_val(read)) as u64);
            self.flush(at)?;
            match header.kind {
                KIND_EVENTS => self.events(at, &preface, read, end)?,
                _ => self.writer.put_chunk(self.at(at, end - at), &preface, read.as_bytes())?,
            }
            self.zeros = end;
            return Ok(next);
        }
        let end = at.saturating_add(CHUNK_UNIT).min(self.length);
        self.bytes(at, end)
    }

    /// A chunk of a kind that is taken as it is.
    fn unknown(&mut self, at: u64, preface: &[u8], end: u64) -> io::Result<u64> {
        let mut bytes = vec![0; usize::try_from(end - at).unwrap_or(0)];
        let count = self.read(at, &mut bytes)?;
        self.flush(at)?;
        let behind = bytes.get(PREFACE_BYTES..count).unwrap_or(&[]);
        self.writer.put_chunk(self.at(at, end - at), preface, behind)?;
        self.zeros = end;
        Ok(end)
    }

    /// Bytes that are no chunk; where they end.
    fn bytes(&mut self, at: u64, end: u64) -> io::Result<u64> {
        let mut from = at;
        while from < end {
            let upto = end.min(from + BYTES);
            let mut bytes = vec![0; usize::try_from(upto - from).unwrap_or(0)];
            let count = self.read(from, &mut bytes)?;
            let bytes = bytes.get(..count).unwrap_or(&[]);
            if bytes.iter().any(|&byte| byte != 0) {
                self.flush(from)?;
                self.writer.put_bytes(self.at(from, upto - from), bytes)?;
                self.zeros = upto;
            }
            from = upto;
        }
        Ok(end)
    }

    /// A chunk of events, in blocks of whole records. The last one also stands for what is not used behind it.
    fn events(&mut self, at: u64, preface: &[u8], slots: &[Slot], end: u64) -> io::Result<()> {
        let mut done = 0;
        loop {
            let (upto, events) = records(slots, done);
            let place = |slot: usize| at + (PREFACE_BYTES + slot * SLOT_BYTES) as u64;
            let begin = if done == 0 { at } else { place(done) };
            let until = if upto < slots.len() { place(upto) } else { end };
            let preface = if done == 0 { preface } else { &[] };
            let part = slots.get(done..upto).unwrap_or(&[]);
            self.writer.put_slots(self.at(begin, until - begin), preface, part, events)?;
            done = upto;
            if done >= slots.len() {
                return Ok(());
            }
        }
    }
}

/// Where the records of a block end that begins at slot `from`, and how many of them are events.
fn records(slots: &[Slot], from: usize) -> (usize, u32) {
    let (mut at, mut events) = (from, 0);
    while let Some(slot) = slots.get(at) {
        let head = Head::from_word(slot[0]);
        let next = at + 1 + usize::from(head.extra);
        if next > slots.len() {
            return (slots.len(), events);
        }
        events += u32::from(is_event(head.kind));
        at = next;
        if at - from >= SLOTS {
            break;
        }
    }
    (at, events)
}
