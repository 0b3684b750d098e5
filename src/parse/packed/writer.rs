//! Writes a packed file, block after block.

use super::layout::{
    BLOCK_MAGIC, BlockHead, CODING_BYTES, CODING_PREFACE, CODING_SLOTS, CODING_ZERO, Entry, FIRST_BLOCK, Footer, MAGIC,
    ROLE_INDEX, SPAN_MAX, VERSION, sum,
};
use std::io::{self, Read, Write};
use umtui_wire::record::Slot;
use zerocopy::IntoBytes;

/// How hard Zstandard tries. Higher levels take several times as long and save little: what is left to find are
/// differences.
const LEVEL: i32 = 3;
/// Entries in a block of the index.
const ENTRIES: usize = 32 * 1024;
/// Bytes of a text in a block.
const TEXT: usize = 256 * 1024;

/// What a block is of.
#[derive(Clone, Copy, Debug)]
pub struct Where {
    /// `ROLE_*`.
    pub role: u8,
    /// Which image of the role.
    pub number: u32,
    /// Where it lies in the image.
    pub place: u64,
    /// Bytes that it stands for, at most [`SPAN_MAX`].
    pub span: u64,
}

/// A packed file that is being written. What it holds in memory are 32 bytes for each block.
pub struct Writer<W: Write> {
    out: W,
    at: u64,
    entries: Vec<Entry>,
    compressor: zstd::bulk::Compressor<'static>,
    /// What is compressed, and what came of it.
    plain: Vec<u8>,
    payload: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins one.
    ///
    /// # Errors
    /// When writing fails.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&[0; 4])?;
        let compressor = zstd::bulk::Compressor::new(LEVEL)?;
        Ok(Self { out, at: FIRST_BLOCK, entries: Vec::new(), compressor, plain: Vec::new(), payload: Vec::new() })
    }

    /// Bytes of an image; zeros behind them are left out.
    ///
    /// # Errors
    /// When writing fails.
    pub fn put_bytes(&mut self, at: Where, bytes: &[u8]) -> io::Result<()> {
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        self.plain.clear();
        self.plain.extend_from_slice(bytes.get(..used).unwrap_or(&[]));
        self.block(at, if used == 0 { CODING_ZERO } else { CODING_BYTES }, 0, &[])
    }

    /// The header of a chunk, which `preface` is if it is not empty, and slots of events behind it.
    ///
    /// # Errors
    /// When writing fails.
    pub fn put_slots(&mut self, at: Where, preface: &[u8], slots: &[Slot], events: u32) -> io::Result<()> {
        self.plain.clear();
        let mut coding = CODING_SLOTS;
        if !super::columns::encode(slots, &mut self.plain) {
            self.plain.clear();
            self.plain.extend_from_slice(slots.as_bytes());
            coding = CODING_BYTES;
        }
        self.block(at, coding, events, preface)
    }

    /// The header of a chunk, and bytes behind it.
    ///
    /// # Errors
    /// When writing fails.
    pub fn put_chunk(&mut self, at: Where, preface: &[u8], bytes: &[u8]) -> io::Result<()> {
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        self.plain.clear();
        self.plain.extend_from_slice(bytes.get(..used).unwrap_or(&[]));
        self.block(at, CODING_BYTES, 0, preface)
    }

    /// A whole image of text.
    ///
    /// # Errors
    /// When reading or writing fails.
    pub fn put_text(&mut self, role: u8, number: u32, mut text: impl Read) -> io::Result<()> {
        let mut place = 0;
        loop {
            let mut part = Vec::new();
            let count = text.by_ref().take(TEXT as u64).read_to_end(&mut part)? as u64;
            if count == 0 {
                return Ok(());
            }
            self.put_bytes(Where { role, number, place, span: count }, &part)?;
            place += count;
        }
    }

    /// Writes the index. The file is whole then; how many bytes it has.
    ///
    /// # Errors
    /// When writing fails.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        let entries = std::mem::take(&mut self.entries);
        let footer = Footer::new(self.at, entries.len() as u64);
        for (number, part) in entries.chunks(ENTRIES).enumerate() {
            let bytes = part.as_bytes();
            self.plain.clear();
            self.plain.extend_from_slice(bytes);
            let place = (number * size_of_val(part)) as u64;
            self.block(Where { role: ROLE_INDEX, number: 0, place, span: bytes.len() as u64 }, CODING_BYTES, 0, &[])?;
        }
        self.out.write_all(footer.as_bytes())?;
        self.out.flush()?;
        Ok((self.out, self.at + size_of::<Footer>() as u64))
    }

    /// A block of what is in `self.plain`.
    fn block(&mut self, at: Where, coding: u8, events: u32, preface: &[u8]) -> io::Result<()> {
        let too_large = || io::Error::new(io::ErrorKind::InvalidInput, "too large for a block of a packed file");
        let span = u32::try_from(at.span).ok().filter(|_| at.span <= SPAN_MAX).ok_or_else(too_large)?;
        self.payload.clear();
        self.payload.extend_from_slice(preface);
        if !self.plain.is_empty() {
            let begin = preface.len();
            self.payload.resize(begin + zstd::zstd_safe::compress_bound(self.plain.len()), 0);
            let place = self.payload.get_mut(begin..).unwrap_or(&mut []);
            let count = self.compressor.compress_to_buffer(&self.plain, place)?;
            self.payload.truncate(begin + count);
        }
        let head = BlockHead {
            magic: BLOCK_MAGIC,
            role: at.role,
            coding: if preface.is_empty() { coding } else { coding | CODING_PREFACE },
            reserved: 0,
            place: at.place,
            number: at.number,
            packed: self.payload.len() as u32,
            plain: self.plain.len() as u32,
            span,
            events,
            sum: sum(&self.payload),
            preface_sum: sum(preface),
            head_sum: 0,
        }
        .sealed();
        if at.role != ROLE_INDEX {
            self.entries.push(Entry::new(self.at, &head));
        }
        self.out.write_all(head.as_bytes())?;
        self.out.write_all(&self.payload)?;
        self.at += (size_of::<BlockHead>() + self.payload.len()) as u64;
        Ok(())
    }
}
