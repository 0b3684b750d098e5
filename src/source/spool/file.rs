//! A spooled file while it is written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, PoisonError};
use umtui_wire::chunk::{ChunkHeader, KIND_DEFINITIONS};
use umtui_wire::frame::{
    DefinitionsPart, END_GONE, EndPart, EventsPart, FrameHeader, KIND_DESKS, KIND_END, KIND_EVENTS, KIND_PASS,
    KIND_STATEMENTS, PassPart,
};
use umtui_wire::header::{CHUNK_UNIT, FileHeader};
use umtui_wire::record::SLOT_BYTES;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::account::Account;
use super::chunks::{Chunks, events_in};
use super::definitions::Definitions;
use super::desks::Desks;
use super::place::Place;
use super::statements::Statements;
use super::{Life, Spooled, Standing};

/// Bytes that wait for the end of a pass at most.
const PENDING: usize = 32 << 20;

/// A spooled file while it is written.
#[derive(Debug)]
pub struct SpoolFile {
    out: File,
    page: Box<FileHeader>,
    /// Losses that the sender's own first page tells of.
    lost: u64,
    spooled: Arc<Spooled>,
    account: Account,
    chunks: Chunks,
    definitions: Definitions,
    /// Where definitions go.
    defined: Option<Place>,
    desks: Desks,
    statements: Statements,
    /// Nothing is shown yet.
    waits: bool,
    /// Place and number of the next chunk.
    end: u64,
    sequence: u64,
    horizon: u64,
    broken: bool,
}

impl SpoolFile {
    /// With this first page, in this file.
    pub fn new(out: File, page: Box<FileHeader>, spooled: Arc<Spooled>) -> Self {
        let lost = page.lost;
        let (mut end, mut sequence) = (CHUNK_UNIT, 0);
        let statements = Statements::new(claim(&mut end, &mut sequence, CHUNK_UNIT));
        let mut file = Self {
            out,
            page,
            lost,
            spooled,
            account: Account::default(),
            chunks: Chunks::default(),
            definitions: Definitions::default(),
            defined: None,
            desks: Desks::default(),
            statements,
            waits: false,
            end,
            sequence,
            horizon: u64::MAX,
            broken: false,
        };
        file.publish(0);
        file
    }

    /// Takes a frame that began at byte `at` of the stream; true if it was the last.
    pub fn take(&mut self, header: &FrameHeader, body: &[u8], at: u64) -> bool {
        let events = match header.kind {
            KIND_EVENTS => EventsPart::read_from_prefix(body).ok(),
            _ => None,
        };
        self.account.frame(header, events.map_or(0, |(_, records)| events_in(records)));
        match header.kind {
            umtui_wire::frame::KIND_DEFINITIONS => {
                if let Ok((part, slots)) = DefinitionsPart::read_from_prefix(body) {
                    self.definitions.take(&part, slots);
                }
            }
            KIND_EVENTS => {
                if let Some((part, records)) = events {
                    self.events(&part, records);
                }
            }
            KIND_DESKS => self.desks.take(body),
            KIND_STATEMENTS => self.statements.take(body),
            KIND_PASS => {
                if let Ok((part, _)) = PassPart::read_from_prefix(body) {
                    self.pass(&part);
                }
                self.publish(at);
            }
            KIND_END => {
                let how = EndPart::read_from_prefix(body).map_or(0, |(part, _)| part.how);
                self.finish(at, if how == END_GONE { Life::Gone } else { Life::Left });
                return true;
            }
            _ => {}
        }
        if self.chunks.pending() > PENDING {
            self.publish(at);
        }
        false
    }

    fn events(&mut self, part: &EventsPart, records: &[u8]) {
        if self.broken {
            self.account.failed(events_in(records));
            return;
        }
        self.statements.heard(part.thread, records);
        let Self { chunks, account, end, sequence, .. } = self;
        chunks.take(part, records, account, &mut |bytes| claim(end, sequence, bytes));
    }

    fn pass(&mut self, part: &PassPart) {
        self.account.pass();
        self.horizon = part.horizon;
        self.lost = self.lost.max(part.lost);
        self.page.cost_ps = part.cost_ps;
        self.page.last = part.last;
        self.page.state = part.state;
        self.page.reason = part.reason;
        self.page.paused = part.paused;
    }

    /// The stream has ended without a word about this file.
    pub fn cut(&mut self, at: u64) {
        self.finish(at, Life::Cut);
        let why = "the stream ended without its end: its sender was stopped, or the connection is gone";
        self.note(at, why.to_owned());
    }

    /// Something to be told of this file.
    pub fn note(&self, at: u64, why: String) {
        self.spooled.hold().notes.push((at, why));
    }

    fn finish(&mut self, at: u64, life: Life) {
        self.account.end();
        self.definitions.end();
        self.horizon = u64::MAX;
        self.publish(at);
        let missing = self.account.frames_missing();
        let mut standing = self.spooled.standing.lock().unwrap_or_else(PoisonError::into_inner);
        standing.life = life;
        if missing > 0 {
            standing.notes.push((at, format!("{missing} frames of the stream are missing")));
        }
    }

    /// Whether what comes is shown later only.
    pub const fn wait(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// Shows all that has come.
    fn publish(&mut self, at: u64) {
        if self.waits {
            return;
        }
        let spooled = self.spooled.clone();
        let mut standing = spooled.hold();
        if let Err(error) = self.write(&mut standing)
            && !self.broken
        {
            self.broken = true;
            let folder = std::env::temp_dir();
            let why = format!(
                "what comes from here on is counted as lost: the temporary file in {} cannot be written: {error}; set \
                 TMPDIR to a folder with room",
                folder.display()
            );
            standing.notes.push((at, why));
        }
    }

    fn write(&mut self, standing: &mut Standing) -> io::Result<()> {
        standing.horizon = self.horizon;
        standing.missed = self.account.missed();
        if self.broken {
            // What is there stays readable, and the first page, which is not to grow, still counts the losses.
            self.page.lost = self.lost.saturating_add(self.account.lost());
            return self.out.write_all_at(self.page.as_bytes(), 0);
        }
        let mut result = self.define();
        result = result.and(self.statements.publish(&self.out));
        let Self { chunks, account, desks, out, end, sequence, .. } = self;
        let (full, open) = chunks.places();
        for mut place in full {
            let written = place.publish(out);
            if written.is_err() {
                account.failed(place.pending_events);
            }
            result = result.and(written);
        }
        for place in open {
            let written = place.publish(out);
            if written.is_err() {
                account.failed(std::mem::take(&mut place.pending_events));
            }
            result = result.and(written);
        }
        result = result.and(desks.publish(out, |bytes| claim(end, sequence, bytes)));
        // The place that is kept for statements is none before there is anything in it, or behind it.
        let first = self.end == 2 * CHUNK_UNIT && self.statements.is_empty();
        self.page.end = if first { CHUNK_UNIT } else { self.end };
        self.page.lost = self.lost.saturating_add(self.account.lost());
        self.page.last_sequence = 0;
        result.and(self.out.write_all_at(self.page.as_bytes(), 0))
    }

    /// Writes the definitions that have come.
    fn define(&mut self) -> io::Result<()> {
        for record in std::mem::take(&mut self.definitions.ready) {
            let slots = record.len() / SLOT_BYTES;
            if self.defined.as_ref().is_none_or(|place| !place.fits(slots)) {
                let mut header = ChunkHeader::new_zeroed();
                header.kind = KIND_DEFINITIONS;
                header.bytes = CHUNK_UNIT as u32;
                header.opened = self.page.start;
                let (offset, number) = claim(&mut self.end, &mut self.sequence, CHUNK_UNIT);
                if let Some(mut full) = self.defined.replace(Place::new(&header, offset, number)) {
                    full.altered = true;
                    full.seal(0);
                    full.publish(&self.out)?;
                }
            }
            if let Some(place) = self.defined.as_mut().filter(|place| place.fits(slots)) {
                place.append(&record, 0);
            }
        }
        self.defined.as_mut().map_or(Ok(()), |place| place.publish(&self.out))
    }
}

fn claim(end: &mut u64, sequence: &mut u64, bytes: u64) -> (u64, u64) {
    let claimed = (*end, *sequence);
    *end += bytes;
    *sequence += 1;
    claimed
}
