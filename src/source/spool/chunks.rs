//! Chunks of events of a spooled file.

use rustc_hash::{FxHashMap, FxHashSet};
use umtui_wire::chunk::{ChunkHeader, HEADER_BYTES, KIND_EVENTS, STATE_SEALED};
use umtui_wire::frame::{EventsPart, is_event};
use umtui_wire::header::{CHUNK_MAX, CHUNK_UNIT};
use umtui_wire::record::{Head, KIND_CLOCK, KIND_LOST, KIND_THREAD, SLOT_BYTES, Slot};
use zerocopy::IntoBytes;

use super::account::Account;
use super::definitions::head;
use super::place::Place;

/// The sender's chunks that are being filled, by sequence number, and what is full.
#[derive(Debug, Default)]
pub struct Chunks {
    open: FxHashMap<u64, Chunk>,
    /// Chunks that are complete: what still comes of them is repetition.
    done: FxHashSet<u64>,
    /// Full places that are not published yet.
    full: Vec<Place>,
}

/// A chunk of the sender.
#[derive(Debug)]
struct Chunk {
    place: Place,
    /// Slot of the sender's chunk that comes next.
    next: u32,
    /// Events of it that came or are counted as missing.
    events: u64,
    /// Events that are lost here, though the sender recorded them.
    missing: u64,
    /// Losses that are counted in places before this one.
    counted: u64,
}

/// Gives the place of one more chunk in the file, and its number.
pub type Claim<'a> = &'a mut dyn FnMut(u64) -> (u64, u64);

/// Events in a list of whole records.
#[must_use]
pub fn events_in(records: &[u8]) -> u64 {
    Records(records).filter(|(head, _)| is_event(head.kind)).count() as u64
}

impl Chunks {
    /// Takes a frame.
    pub fn take(&mut self, part: &EventsPart, records: &[u8], account: &mut Account, claim: Claim<'_>) {
        let source = &part.chunk;
        let sequence = source.sequence;
        let length = u64::from(source.bytes);
        let fits = (CHUNK_UNIT..=CHUNK_MAX).contains(&length) && length.is_multiple_of(CHUNK_UNIT);
        if self.done.contains(&sequence) || !fits || source.kind != KIND_EVENTS {
            return;
        }
        let first = !self.open.contains_key(&sequence);
        let chunk = self.open.entry(sequence).or_insert_with(|| {
            let mut header = *source;
            // Of what came before we know no thread.
            header.thread = if part.slot > 0 { part.thread } else { header.thread };
            header.lost = 0;
            let (offset, number) = claim(length);
            Chunk { place: Place::new(&header, offset, number), next: 0, events: 0, missing: 0, counted: 0 }
        });
        let (slot, before, records) = beyond(part, records, chunk.next);
        if slot > chunk.next {
            let missing = account.gap(before.saturating_sub(chunk.events), first);
            chunk.missing = chunk.missing.saturating_add(missing);
            chunk.resume(part, missing, &mut self.full, claim);
        }
        if slot >= chunk.next {
            for (head, record) in Records(records) {
                chunk.append(record, u64::from(is_event(head.kind)), part, &mut self.full, claim);
            }
            chunk.next = slot.saturating_add((records.len() / SLOT_BYTES) as u32);
            chunk.events = before.saturating_add(events_in(records));
        }
        chunk.live(source);
        let committed = source.committed.saturating_sub(HEADER_BYTES as u32) / SLOT_BYTES as u32;
        if source.state == STATE_SEALED && chunk.next >= committed {
            chunk.place.header.sealed = source.sealed;
            chunk.place.header.first_ticks = source.first_ticks;
            chunk.place.header.last_ticks = source.last_ticks;
            chunk.place.seal(source.checksum);
            self.done.insert(sequence);
            self.full.extend(self.open.remove(&sequence).map(|chunk| chunk.place));
        }
    }

    /// Places to be published: those that are full, once, then the open ones.
    pub fn places(&mut self) -> (Vec<Place>, impl Iterator<Item = &mut Place>) {
        (std::mem::take(&mut self.full), self.open.values_mut().map(|chunk| &mut chunk.place))
    }

    /// Bytes that wait for publication.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.full.iter().map(Place::pending).sum::<usize>()
            + self.open.values().map(|chunk| chunk.place.pending()).sum::<usize>()
    }
}

impl Chunk {
    /// Goes on after a gap: what was lost, and what the records after it take for known.
    fn resume(&mut self, part: &EventsPart, missing: u64, full: &mut Vec<Place>, claim: Claim<'_>) {
        self.place.altered = true;
        let record = |kind, b, words: [u64; 5]| {
            let [one, two, three, four, five] = words;
            [Head { kind, extra: 0, a: 0, b }.word(), one, two, three, four, five]
        };
        let ticks = part.ticks.max(part.reading.ticks);
        let thread = record(KIND_THREAD, part.thread, [ticks, u64::from(part.name), 0, 0, 0]);
        let reading = part.reading;
        let clock = record(KIND_CLOCK, 0, [reading.ticks, reading.monotonic_ns, reading.realtime_ns, 0, 0]);
        let lost = record(KIND_LOST, 0, [ticks, missing, 0, 0, 0]);
        for slot in [thread, clock, lost].iter().take(if missing > 0 { 3 } else { 2 }) {
            let slot: &Slot = slot;
            self.append(slot.as_bytes(), 0, part, full, claim);
        }
    }

    /// Appends a record; in a place of its own if this one is full, as may be after a gap.
    fn append(&mut self, record: &[u8], events: u64, part: &EventsPart, full: &mut Vec<Place>, claim: Claim<'_>) {
        let slots = record.len() / SLOT_BYTES;
        if !self.place.fits(slots) {
            let mut header = self.place.header;
            header.thread = part.thread;
            header.opened = part.reading;
            header.lost = 0;
            let (offset, number) = claim(u64::from(header.bytes));
            let mut old = std::mem::replace(&mut self.place, Place::new(&header, offset, number));
            self.place.altered = true;
            self.counted = self.counted.saturating_add(old.header.lost);
            old.altered = true;
            old.header.sealed = part.reading;
            old.header.last_ticks = u64::MAX;
            old.seal(0);
            full.push(old);
            if !self.place.fits(slots) {
                return;
            }
        }
        self.place.append(record, events);
    }

    /// Takes over what changes in the sender's header.
    const fn live(&mut self, source: &ChunkHeader) {
        let lost = source.lost.saturating_add(self.missing).saturating_sub(self.counted);
        if lost > self.place.header.lost {
            self.place.header.lost = lost;
            self.place.touch();
        }
    }
}

/// What of a frame lies at slot `next` or beyond: its first slot, the events of the chunk before it, the records.
fn beyond<'a>(part: &EventsPart, records: &'a [u8], next: u32) -> (u32, u64, &'a [u8]) {
    let (mut slot, mut before, mut passed) = (part.slot, part.before, 0);
    for (head, record) in Records(records) {
        if slot >= next {
            break;
        }
        slot = slot.saturating_add(1 + u32::from(head.extra));
        before = before.saturating_add(u64::from(is_event(head.kind)));
        passed += record.len();
    }
    (slot, before, records.get(passed..).unwrap_or(&[]))
}

/// Whole records, one after the other.
pub struct Records<'a>(pub &'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = (Head, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let head = head(self.0)?;
        let (record, rest) = self.0.split_at_checked((1 + usize::from(head.extra)) * SLOT_BYTES)?;
        self.0 = rest;
        Some((head, record))
    }
}
