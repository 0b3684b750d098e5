//! One file that is followed.
//!
//! A pass takes what is committed at one moment, in the order that the reader of files takes it: open calls first, then
//! the newest chunks before the older ones, definitions last. Then it sends definitions, events in order of time, open
//! calls, and how the file stands; a reader shows all of that at once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use umtui_wire::chunk::{KIND_DEFINITIONS, KIND_EVENTS, OpenCall};
use umtui_wire::frame::{
    self, DEFINITION_SLOTS, DefinitionsPart, DeskPart, DesksPart, EVENT_SLOTS, EndPart, PAGE_PARTS, PagePart, PassPart,
    is_event,
};
use umtui_wire::header::{self, CHUNK_UNIT, FileHeader};
use umtui_wire::record::{Head, SLOT_BYTES, Slot};
use zerocopy::IntoBytes;

use super::chunk::Chunk;
use super::frames::{Counts, Frame, Sink, Stop};
use super::look::{FirstPage, first_page};
use super::statements::Statements;
use crate::parse::native::piece::bytes_of;
use crate::parse::native::window::Windowed;
use crate::source::FileBytes;

/// Slots read at once.
const BLOCK: u32 = 8 * EVENT_SLOTS as u32;
/// Slots of events in a pass, at most: about 4 MiB. What is behind catches up over several passes, in order of time.
const PASS: u32 = (4 << 20) / SLOT_BYTES as u32;

/// A file that is followed.
pub struct Followed {
    pub(super) bytes: Windowed,
    path: PathBuf,
    /// Its first page, as it was read last.
    pub header: Box<FileHeader>,
    pub(super) chunks: BTreeMap<u64, Chunk>,
    pub(super) next: u64,
    pub(super) holes: BTreeSet<u64>,
    pub(super) counts: Counts,
    /// Events sent of chunks that have been overwritten since.
    pub(super) vanished: u64,
    /// Events overwritten at the last pass.
    pub(super) discarded: u64,
    /// Events overwritten before we came: readers are told by the first page, as readers of the file are.
    pub(super) known_discarded: u64,
    /// Events whose records are longer than a frame.
    pub(super) oversized: u64,
    /// Where the next place may be that is used again.
    pub(super) round: u64,
    /// The reader has the first page and the definitions.
    pub greeted: bool,
    statements: Statements,
    desks: Option<Vec<(u32, Vec<OpenCall>)>>,
    moment: u32,
    told: Option<PassPart>,
    /// Losses of the first page that a frame has told of.
    told_lost: u64,
    told_dropped: u64,
    /// Its process was seen to be gone before the last pass began.
    pub gone: Option<bool>,
}

/// What a pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Something was sent.
    pub moved: bool,
    /// There is more.
    pub more: bool,
}

/// A file as it was found.
pub enum Opened {
    /// A recording.
    Recording(Box<Followed>),
    /// Perhaps a recording of which nothing has been written yet.
    Unwritten,
    /// No recording.
    Foreign,
}

impl Followed {
    /// Begins to follow a file, if it is a recording. `ours`: nobody else is to read it, so what is overwritten in it is
    /// lost.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path, ours: bool) -> io::Result<Opened> {
        let bytes = Windowed::new(Arc::new(FileBytes::open(path)?));
        let page = match first_page(&bytes)? {
            FirstPage::Recording(page) => page,
            FirstPage::Unwritten => return Ok(Opened::Unwritten),
            FirstPage::Foreign => return Ok(Opened::Foreign),
        };
        let counts = Counts { file: identity(&page), ..Counts::default() };
        let known_discarded = if ours { 0 } else { page.discarded };
        Ok(Opened::Recording(Box::new(Self {
            bytes,
            path: path.to_owned(),
            header: page,
            chunks: BTreeMap::new(),
            next: CHUNK_UNIT,
            holes: BTreeSet::new(),
            counts,
            vanished: 0,
            discarded: known_discarded,
            known_discarded,
            oversized: 0,
            round: CHUNK_UNIT,
            greeted: false,
            statements: Statements::default(),
            desks: None,
            moment: 0,
            told: None,
            told_lost: 0,
            told_dropped: 0,
            gone: None,
        })))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Events sent, and events that readers know to have been overwritten before they could be.
    pub const fn counts(&self) -> (u64, u64) {
        (self.counts.sent, self.told_dropped)
    }

    /// Events that could not be recorded and that no frame has told of.
    pub fn unrecorded(&mut self) -> u64 {
        // What cannot be read any more was counted as it stood.
        let _ = self.look();
        let untold = self.header.lost.saturating_sub(self.told_lost);
        untold + self.chunks.values().map(Chunk::unrecorded).sum::<u64>()
    }

    /// The reader has gone, or another may have come: it is told everything but events again.
    pub fn forget_reader(&mut self) {
        self.greeted = false;
        self.desks = None;
        self.told = None;
    }

    /// Sends what is new.
    ///
    /// # Errors
    /// When nobody takes it. What went out is not sent again.
    pub fn pass(&mut self, sink: &mut dyn Sink) -> Result<Passed, Stop> {
        // A file that cannot be read just now stands as it stood.
        let Ok(moment) = self.look() else { return Ok(Passed::default()) };
        let before = self.counts.sequence;
        if self.greeted {
            self.send_definitions(sink, false)?;
        } else {
            self.introduce(sink)?;
        }
        self.greeted = true;
        let horizon = self.send_events(sink)?;
        if horizon == u64::MAX {
            self.send_desks(moment.desks, sink)?;
        }
        self.send_pass(horizon, self.counts.sequence != before, sink)?;
        Ok(Passed { moved: self.counts.sequence != before, more: moment.more || horizon != u64::MAX })
    }

    /// Sends everything but events again.
    ///
    /// # Errors
    /// As [`Followed::pass`].
    pub fn repeat(&mut self, sink: &mut dyn Sink) -> Result<(), Stop> {
        if self.greeted {
            self.introduce(sink)?;
            // With them comes the end of a pass, for which a reader waits that joins here.
            self.desks = None;
        }
        Ok(())
    }

    /// Sends what a reader must know of that comes here: first page, definitions, statements.
    fn introduce(&mut self, sink: &mut dyn Sink) -> Result<(), Stop> {
        self.send_page(sink)?;
        self.send_definitions(sink, true)?;
        self.statements.send(&mut self.counts, sink)
    }

    /// Says that nothing more comes.
    ///
    /// # Errors
    /// As [`Followed::pass`].
    pub fn end(&mut self, how: u32, sink: &mut dyn Sink) -> Result<(), Stop> {
        Frame::new(frame::KIND_END, &EndPart { how, reserved: 0 }).send(&mut self.counts, sink)?;
        self.told_dropped = self.counts.dropped;
        Ok(())
    }

    fn send_page(&mut self, sink: &mut dyn Sink) -> Result<(), Stop> {
        let length = header::HEADER_BYTES / PAGE_PARTS;
        let mut page = self.header.clone();
        page.discarded = self.known_discarded;
        let page = page.as_bytes();
        for (index, bytes) in page.chunks(length).enumerate() {
            let mut frame = Frame::new(frame::KIND_PAGE, &PagePart { at: (index * length) as u32, reserved: 0 });
            frame.push(bytes);
            frame.send(&mut self.counts, sink)?;
        }
        Ok(())
    }

    /// Sends definitions: those that are new, or all.
    fn send_definitions(&mut self, sink: &mut dyn Sink, all: bool) -> Result<(), Stop> {
        let places: Vec<u64> = self
            .chunks
            .iter()
            .filter(|(_, chunk)| chunk.header.kind == KIND_DEFINITIONS && (all || chunk.sent < chunk.upto))
            .map(|(at, _)| *at)
            .collect();
        for at in places {
            let Some((from, upto, sequence)) =
                self.chunks.get(&at).map(|chunk| (if all { 0 } else { chunk.sent }, chunk.upto, chunk.header.sequence))
            else {
                continue;
            };
            let Ok(Some(slots)) = self.slots(at, from, upto) else { continue };
            let whole = send_records(&slots, from, sequence, &mut self.counts, sink)?;
            if let Some(chunk) = self.chunks.get_mut(&at) {
                chunk.sent = chunk.sent.max(from + whole);
            }
        }
        Ok(())
    }

    /// Sends events in order of time; up to which ticks all have been sent.
    fn send_events(&mut self, sink: &mut dyn Sink) -> Result<u64, Stop> {
        let due = self.chunks.iter().filter(|(_, chunk)| chunk.header.kind == KIND_EVENTS && chunk.due());
        let mut queue: BinaryHeap<_> = due.map(|(at, chunk)| Reverse((chunk.ticks, *at))).collect();
        let mut slots = 0;
        while let Some(Reverse((ticks, at))) = queue.pop() {
            if slots >= PASS {
                return Ok(ticks);
            }
            let Some(before) = self.chunks.get(&at).map(|chunk| chunk.sent) else { continue };
            self.send_block(at, sink)?;
            if let Some(chunk) = self.chunks.get(&at) {
                slots += chunk.sent - before;
                if chunk.sent < chunk.upto && chunk.sent > before {
                    queue.push(Reverse((chunk.ticks, at)));
                }
            }
        }
        Ok(u64::MAX)
    }

    /// Sends what there is of a chunk, as far as one block reaches.
    fn send_block(&mut self, at: u64, sink: &mut dyn Sink) -> Result<(), Stop> {
        let Some((from, upto)) = self.chunks.get(&at).map(|chunk| (chunk.sent, chunk.upto)) else { return Ok(()) };
        let block = upto.min(from.saturating_add(BLOCK));
        let slots = match self.slots(at, from, block) {
            Ok(Some(slots)) => slots,
            Ok(None) => {
                self.vanish(at);
                return Ok(());
            }
            Err(_) => return Ok(()),
        };
        let Self { chunks, counts, oversized, statements, .. } = self;
        let Some(chunk) = chunks.get_mut(&at) else { return Ok(()) };
        let mut rest = slots.as_slice();
        loop {
            let (length, events) = records_for_a_frame(rest);
            let (now, others) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            if now.is_empty() && (chunk.sent < chunk.upto || !chunk.due()) {
                break;
            }
            let mut frame = Frame::new(frame::KIND_EVENTS, &chunk.part(chunk.sent + length as u32));
            frame.push(bytes_of(now));
            frame.events = events;
            frame.send(counts, sink)?;
            pass(chunk, statements, now);
            rest = others;
            if chunk.sent >= chunk.upto {
                chunk.tell();
                break;
            }
        }
        // A record that is longer than any frame, or a sealed chunk that ends within one.
        let stuck = chunk.sent == from && !slots.is_empty();
        if stuck && let Some(head) = slots.first().map(|slot| Head::from_word(slot[0])) {
            let length = 1 + u32::from(head.extra);
            if from + length <= upto {
                *oversized += u64::from(is_event(head.kind));
                counts.dropped += u64::from(is_event(head.kind));
                chunk.sent += length;
            } else if chunk.sealed() {
                chunk.sent = upto;
            }
        }
        Ok(())
    }

    fn send_desks(&mut self, desks: Vec<(u32, Vec<OpenCall>)>, sink: &mut dyn Sink) -> Result<(), Stop> {
        if self.desks.as_ref().is_some_and(|told| *told == desks) {
            return Ok(());
        }
        self.moment = self.moment.wrapping_add(1);
        // What frames hold is settled first: each says how many there are.
        let mut bodies = vec![Vec::new()];
        let room = frame::FRAME_BYTES - frame::HEADER_BYTES - size_of::<DesksPart>();
        for (thread, calls) in &desks {
            let desk = DeskPart { thread: *thread, calls: calls.len() as u32 };
            let bytes = [desk.as_bytes(), calls.as_slice().as_bytes()].concat();
            match bodies.last_mut().filter(|body| body.len() + bytes.len() <= room) {
                Some(body) => body.extend(bytes),
                None => bodies.push(bytes),
            }
        }
        let parts = u16::try_from(bodies.len()).unwrap_or(u16::MAX);
        for (part, body) in (0..parts).zip(&bodies) {
            let mut frame = Frame::new(frame::KIND_DESKS, &DesksPart { moment: self.moment, part, parts });
            frame.push(body);
            frame.send(&mut self.counts, sink)?;
        }
        self.desks = Some(desks);
        Ok(())
    }

    fn send_pass(&mut self, horizon: u64, moved: bool, sink: &mut dyn Sink) -> Result<(), Stop> {
        let header = &self.header;
        // An odd sequence number: it is being written just now.
        let last = match self.told {
            Some(told) if !header.last_sequence.is_multiple_of(2) => told.last,
            _ => header.last,
        };
        let part = PassPart {
            horizon,
            lost: header.lost,
            cost_ps: header.cost_ps,
            last,
            state: header.state,
            reason: header.reason,
            paused: header.paused,
            reserved: 0,
        };
        if !moved && self.told == Some(part) && self.told_dropped == self.counts.dropped {
            return Ok(());
        }
        Frame::new(frame::KIND_PASS, &part).send(&mut self.counts, sink)?;
        self.told = Some(part);
        self.told_dropped = self.counts.dropped;
        self.told_lost = self.told_lost.max(part.lost);
        Ok(())
    }
}

/// Tells a file from all others, on whatever host.
pub(super) fn identity(page: &FileHeader) -> u64 {
    let numbers = [u64::from(page.pid), page.start_time, page.run_id, page.start.ticks, page.start.realtime_ns];
    let bytes = [page.host.as_slice(), &page.boot_id, numbers.as_bytes()].concat();
    frame::checksum(&bytes)
}

fn pass(chunk: &mut Chunk, statements: &mut Statements, mut slots: &[Slot]) {
    while let Some((head, record, rest)) = first_record(slots) {
        statements.sent(head, record, chunk.thread(), chunk.reading());
        chunk.pass(head, record);
        slots = rest;
    }
}

fn first_record(slots: &[Slot]) -> Option<(Head, &[Slot], &[Slot])> {
    let head = Head::from_word(slots.first()?[0]);
    let (record, rest) = slots.split_at_checked(1 + usize::from(head.extra))?;
    Some((head, record, rest))
}

/// Slots of whole records that one frame takes, and the events in them.
fn records_for_a_frame(slots: &[Slot]) -> (usize, u32) {
    let (mut length, mut events, mut rest) = (0, 0, slots);
    while let Some((head, record, others)) = first_record(rest) {
        if length + record.len() > EVENT_SLOTS {
            break;
        }
        length += record.len();
        events += u32::from(is_event(head.kind));
        rest = others;
    }
    (length, events)
}

/// Sends definitions of a chunk, from its slot `from` on; how many slots are whole records.
fn send_records(slots: &[Slot], from: u32, chunk: u64, counts: &mut Counts, sink: &mut dyn Sink) -> Result<u32, Stop> {
    let (mut done, mut rest) = (0, slots);
    let mut frame: Option<Frame> = None;
    while let Some((_, record, others)) = first_record(rest) {
        let part = DefinitionsPart { chunk, slot: from + done, of: 0, part: 0, reserved: 0 };
        let bytes = bytes_of(record);
        if !frame.as_ref().is_some_and(|frame| frame.fits(bytes.len()))
            && let Some(full) = frame.take()
        {
            full.send(counts, sink)?;
        }
        if record.len() > DEFINITION_SLOTS {
            let of = record.len() as u32;
            for (index, piece) in record.chunks(DEFINITION_SLOTS).enumerate() {
                let at = (index * DEFINITION_SLOTS) as u32;
                let mut frame = Frame::new(frame::KIND_DEFINITIONS, &DefinitionsPart { of, part: at, ..part });
                frame.push(bytes_of(piece));
                frame.send(counts, sink)?;
            }
        } else {
            frame.get_or_insert_with(|| Frame::new(frame::KIND_DEFINITIONS, &part)).push(bytes);
        }
        done += record.len() as u32;
        rest = others;
    }
    if let Some(frame) = frame {
        frame.send(counts, sink)?;
    }
    Ok(done)
}
