//! A chunk of a spooled file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use umtui_wire::checksum;
use umtui_wire::chunk::{ChunkHeader, HEADER_BYTES, MAGIC, STATE_OPEN, STATE_SEALED};
use umtui_wire::record::SLOT_BYTES;
use zerocopy::IntoBytes;

/// A chunk of a spooled file: what is already there, and what will be with the next publication.
#[derive(Debug)]
pub struct Place {
    /// As it will be in the file.
    pub header: ChunkHeader,
    pending: Vec<u8>,
    /// Events among what is pending.
    pub pending_events: u64,
    dirty: bool,
    /// The records differ from those that the checksum is of.
    pub altered: bool,
}

impl Place {
    /// An empty chunk like `header`, at this place of the file.
    #[must_use]
    pub const fn new(header: &ChunkHeader, offset: u64, sequence: u64) -> Self {
        let mut own = *header;
        own.magic = MAGIC;
        own.state = STATE_OPEN;
        own.offset = offset;
        own.sequence = sequence;
        own.committed = HEADER_BYTES as u32;
        own.checksum = 0;
        own.others = 0;
        own.window = 0;
        Self { header: own, pending: Vec::new(), pending_events: 0, dirty: true, altered: false }
    }

    /// Whether there is room for so many slots more.
    #[must_use]
    pub const fn fits(&self, slots: usize) -> bool {
        self.header.committed as usize + slots * SLOT_BYTES <= self.header.bytes as usize
    }

    /// Appends whole records, which fit.
    pub fn append(&mut self, records: &[u8], events: u64) {
        self.pending.extend_from_slice(records);
        self.pending_events += events;
        self.header.committed += records.len() as u32;
        self.header.others += (records.len() / SLOT_BYTES) as u32 - events as u32;
        self.dirty = true;
    }

    /// Something in the header has changed.
    pub const fn touch(&mut self) {
        self.dirty = true;
    }

    /// Bytes that wait for publication.
    #[must_use]
    pub const fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Nothing more will come. `checksum` is right unless the records were altered.
    pub const fn seal(&mut self, checksum: u64) {
        self.header.state = STATE_SEALED;
        self.header.checksum = checksum;
        self.dirty = true;
    }

    /// Writes what is new.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn publish(&mut self, out: &File) -> io::Result<()> {
        if !self.dirty {
            return Ok(());
        }
        let end = u64::from(self.header.committed);
        let at = self.header.offset + end.saturating_sub(self.pending.len() as u64);
        out.write_all_at(&self.pending, at)?;
        if self.header.state == STATE_SEALED && self.altered {
            let mut slots = vec![0; (end as usize).saturating_sub(HEADER_BYTES)];
            out.read_exact_at(&mut slots, self.header.offset + HEADER_BYTES as u64)?;
            self.header.checksum = checksum::of_slots(&slots);
        }
        out.write_all_at(self.header.as_bytes(), self.header.offset)?;
        self.pending.clear();
        self.pending_events = 0;
        self.dirty = false;
        Ok(())
    }
}
