//! A chunk of a file that is followed, and how far it has been sent.

use umtui_wire::activity::{KIND_DROPPED, KIND_GPU_CLOCK, KIND_MARK, KIND_RANGE_PUSH};
use umtui_wire::chunk::{ChunkHeader, KIND_EVENTS, STATE_SEALED};
use umtui_wire::clock::ClockTriple;
use umtui_wire::frame::{EventsPart, is_event};
use umtui_wire::record::{
    DURATION_AT, FLAG_LONG, Head, KIND_CALL, KIND_CLOCK, KIND_LOST, KIND_THREAD, Slot, unpack_site,
};

use crate::parse::native::piece::{FAR, committed};

/// A chunk. The place in the file is not enough to know it by: another may come to lie there later, with another
/// sequence number.
pub struct Chunk {
    /// Its header, as it was read last.
    pub header: ChunkHeader,
    /// Slots that may be sent.
    pub upto: u32,
    /// Slots sent.
    pub sent: u32,
    /// Events sent.
    pub events: u64,
    /// When the last record sent was complete, ticks: those after it were so later.
    pub ticks: u64,
    /// Thread after the last record sent, and the id of its name.
    thread: u32,
    name: u32,
    reading: ClockTriple,
    /// State and losses that a reader knows of.
    told: (u16, u64),
}

impl Chunk {
    /// Nothing of it has been sent.
    pub fn new(header: &ChunkHeader) -> Self {
        // Its first call may have ended before it was opened.
        let first = if header.first_ticks == 0 { u64::MAX } else { header.first_ticks };
        Self {
            header: *header,
            upto: 0,
            sent: 0,
            events: 0,
            ticks: header.opened.ticks.min(first),
            thread: header.thread,
            name: 0,
            reading: header.opened,
            told: (0, 0),
        }
    }

    /// Whether this is the header of the same chunk.
    pub const fn is(&self, header: &ChunkHeader) -> bool {
        self.header.sequence == header.sequence
    }

    /// Takes over what has changed.
    pub fn refresh(&mut self, header: &ChunkHeader) {
        self.header = *header;
        self.upto = self.upto.max(committed(header));
    }

    /// Whether its header will not change any more.
    pub const fn sealed(&self) -> bool {
        self.header.state == STATE_SEALED
    }

    /// Whether another may take its place without anybody counting its events: it has none.
    pub const fn is_empty(&self) -> bool {
        self.sealed() && self.header.kind == KIND_EVENTS && self.header.events() == 0
    }

    /// Whether a reader lacks something of it.
    pub const fn due(&self) -> bool {
        self.sent < self.upto || self.told.0 != self.header.state || self.told.1 != self.header.lost
    }

    /// Events that could not be recorded and that no frame has told of.
    pub const fn unrecorded(&self) -> u64 {
        self.header.lost.saturating_sub(self.told.1)
    }

    /// What a frame says of it whose records end before slot `end`.
    pub const fn part(&self, end: u32) -> EventsPart {
        let mut chunk = self.header;
        if end < self.upto {
            // Some of these losses may belong to records that have not been sent.
            chunk.lost = self.told.1;
        }
        EventsPart {
            chunk,
            reading: self.reading,
            ticks: self.ticks,
            before: self.events,
            slot: self.sent,
            thread: self.thread,
            name: self.name,
            reserved: 0,
        }
    }

    /// Thread at the next record, and the id of its name.
    pub const fn thread(&self) -> (u32, u32) {
        (self.thread, self.name)
    }

    /// The newest clock reading before the next record.
    pub const fn reading(&self) -> ClockTriple {
        self.reading
    }

    /// A record of these slots has been sent.
    pub fn pass(&mut self, head: Head, record: &[Slot]) {
        self.sent += record.len() as u32;
        self.events += u64::from(is_event(head.kind));
        let Some(first) = record.first() else { return };
        let moment = match head.kind {
            KIND_CALL => first[1].saturating_add(duration(first, head, record)),
            KIND_THREAD | KIND_CLOCK | KIND_LOST | KIND_GPU_CLOCK..=KIND_DROPPED | KIND_RANGE_PUSH..=KIND_MARK => {
                first[1]
            }
            _ => 0,
        };
        // Beyond that it is damage, and would hold everything up.
        if moment.abs_diff(self.header.opened.ticks) < FAR {
            self.ticks = self.ticks.max(moment);
        }
        match head.kind {
            KIND_THREAD => (self.thread, self.name) = (head.b, first[2] as u32),
            KIND_CLOCK => {
                self.reading = ClockTriple { ticks: first[1], monotonic_ns: first[2], realtime_ns: first[3] };
            }
            _ => {}
        }
    }

    /// A frame with all there is of it has been sent.
    pub const fn tell(&mut self) {
        self.told = (self.header.state, self.header.lost);
    }
}

fn duration(first: &Slot, head: Head, record: &[Slot]) -> u64 {
    let long = unpack_site(first[2]).2 & FLAG_LONG != 0 && head.extra > 0;
    match record.last().filter(|_| long) {
        Some(last) => last[5],
        None => first[DURATION_AT / 8] & u64::from(u32::MAX),
    }
}
