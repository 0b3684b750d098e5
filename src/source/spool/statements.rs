//! What was said among the events of the sender and still holds, where a reader joined too late to hear it.
//!
//! Such records go into the first chunk of the file, which nothing else is in: so they are read before the events that
//! came. Of a stream that was read from its beginning it stays empty, and then it is no chunk at all.

use rustc_hash::FxHashMap;
use std::fs::File;
use std::io;
use umtui_wire::chunk::{ChunkHeader, KIND_EVENTS};
use umtui_wire::clock::ClockTriple;
use umtui_wire::frame::{STATEMENTS, StatementPart, stated};
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{Head, KIND_CLOCK, KIND_THREAD, Slot};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::chunks::Records;
use super::place::Place;

/// The newest statements that came, and the chunk of those that came late.
#[derive(Debug)]
pub struct Statements {
    newest: FxHashMap<(u8, u32), Slot>,
    /// Where the chunk lies in the file, and its number.
    at: (u64, u64),
    place: Option<Place>,
    thread: u32,
}

impl Statements {
    /// With this place in the file, and number, for what may come late.
    pub fn new(at: (u64, u64)) -> Self {
        Self { newest: FxHashMap::default(), at, place: None, thread: 0 }
    }

    /// Whether none has been kept.
    pub const fn is_empty(&self) -> bool {
        self.place.is_none()
    }

    /// Records that came at their place among the events; `thread` is that of the first one.
    pub fn heard(&mut self, thread: u32, records: &[u8]) {
        let mut thread = thread;
        for (head, record) in Records(records) {
            if head.kind == KIND_THREAD {
                thread = head.b;
            } else if let Some(about) = stated(head, thread)
                && let Ok(slot) = Slot::read_from_bytes(record)
            {
                self.is_news(about, slot);
            }
        }
    }

    /// Takes those of a frame that nobody here has heard.
    pub fn take(&mut self, body: &[u8]) {
        let mut rest = body;
        while let Ok((part, record)) = StatementPart::read_from_prefix(rest)
            && let Ok((slot, others)) = Slot::read_from_prefix(record)
        {
            rest = others;
            let about = stated(Head::from_word(slot[0]), part.thread);
            if about.is_some_and(|about| self.is_news(about, slot)) {
                self.keep(&part, &slot);
            }
        }
    }

    /// Whether it says what was not known; from now on it is.
    fn is_news(&mut self, about: (u8, u32), slot: Slot) -> bool {
        match self.newest.get(&about) {
            Some(known) if *known == slot || known[1] > slot[1] => return false,
            None if self.newest.keys().filter(|(kind, _)| *kind == about.0).count() >= STATEMENTS => return false,
            _ => {}
        }
        self.newest.insert(about, slot);
        true
    }

    fn keep(&mut self, part: &StatementPart, slot: &Slot) {
        let record = |kind, b, words: [u64; 3]| {
            let [one, two, three] = words;
            [Head { kind, extra: 0, a: 0, b }.word(), one, two, three, 0, 0]
        };
        let ClockTriple { ticks, monotonic_ns, realtime_ns } = part.reading;
        let thread = record(KIND_THREAD, part.thread, [slot[1], u64::from(part.name), 0]);
        let clock = record(KIND_CLOCK, 0, [ticks, monotonic_ns, realtime_ns]);
        let (at, sequence) = self.at;
        let first = self.place.is_none();
        let place = self.place.get_or_insert_with(|| {
            let mut header = ChunkHeader::new_zeroed();
            header.kind = KIND_EVENTS;
            header.bytes = CHUNK_UNIT as u32;
            header.thread = part.thread;
            header.opened = part.reading;
            Place::new(&header, at, sequence)
        });
        // There is no second chunk: what does not fit came after hundreds of others had been lost.
        if !place.fits(3) {
            return;
        }
        if first || self.thread != part.thread {
            place.append(thread.as_bytes(), 0);
        }
        self.thread = part.thread;
        place.append([clock, *slot].as_bytes(), 0);
    }

    /// Writes what is new.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn publish(&mut self, out: &File) -> io::Result<()> {
        self.place.as_mut().map_or(Ok(()), |place| place.publish(out))
    }
}
