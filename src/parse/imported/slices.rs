//! Calls, ranges and marks while they are held.

use super::call::Call;
use super::range::Range;
use super::sorter::Item;
use std::cmp::Reverse;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// End of what has none.
pub const UNFINISHED: u64 = u64::MAX;
/// Last moment of an input, ns: what is later counts as this.
pub const LAST: u64 = i64::MAX as u64;

/// What a slice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A call.
    Call = 0,
    /// A range of the thread's stack.
    Range = 1,
    /// A range that crosses others as it likes.
    Loose = 2,
    /// A moment.
    Mark = 3,
}

const STATUS: u8 = 1;
const WORDS: u8 = 2;

/// Something of a thread that has a name and a time.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Slice {
    /// Start, ns.
    pub start: u64,
    /// End, ns, or [`UNFINISHED`].
    pub end: u64,
    /// Its place in the input.
    pub sequence: u64,
    /// Of calls their arguments; of ranges the payload, what else was said, and of samples of counters how many bytes
    /// of the name are the counter's.
    pub words: [u64; 3],
    /// Of calls: return address.
    pub site: u64,
    /// Thread.
    pub thread: u32,
    /// Function, or name.
    pub what: u32,
    /// Of calls: the correlation id; of ranges: the domain.
    pub more: u32,
    /// Of calls: what they returned; of ranges: the color.
    pub value: u32,
    /// Of ranges: the category; of calls the argument of four bytes.
    pub category: u32,
    /// Of ranges: type of the payload.
    pub payload_type: u16,
    kind: u8,
    flags: u8,
}

impl Item for Slice {
    type Key = (u32, u64, Reverse<u64>, u64);

    fn key(&self) -> Self::Key {
        (self.thread, self.start, Reverse(self.end), self.sequence)
    }

    fn group(&self) -> u32 {
        self.thread
    }
}

impl Slice {
    /// A call of a thread.
    pub fn call(thread: u32, sequence: u64, call: &Call) -> Self {
        let flags = if call.status.is_some() { STATUS } else { 0 } | if call.words.is_some() { WORDS } else { 0 };
        let start = call.start.min(LAST);
        Self {
            start,
            end: call.end.map_or(UNFINISHED, |end| end.clamp(start, LAST)),
            sequence,
            words: call.words.unwrap_or_default(),
            site: call.site,
            thread,
            what: call.function.0,
            more: call.correlation,
            value: call.status.unwrap_or(0),
            category: call.short,
            payload_type: 0,
            kind: Kind::Call as u8,
            flags,
        }
    }

    /// A range or mark of a thread.
    pub fn range(thread: u32, sequence: u64, kind: Kind, range: &Range) -> Self {
        let start = range.start.min(LAST);
        let (payload_type, payload) = range.payload.unwrap_or_default();
        Self {
            start,
            end: range.end.map_or(UNFINISHED, |end| end.clamp(start, LAST)),
            sequence,
            words: [payload, u64::from(range.said.0), 0],
            site: 0,
            thread,
            what: range.name.0,
            more: range.domain.0,
            value: range.color,
            category: range.category,
            payload_type,
            kind: kind as u8,
            flags: 0,
        }
    }

    /// A sample of a counter: a mark whose name begins with so many bytes of the counter's own.
    pub fn sample(thread: u32, sequence: u64, range: &Range, counter: u32) -> Self {
        let mut slice = Self::range(thread, sequence, Kind::Mark, range);
        slice.words[2] = u64::from(counter);
        slice
    }

    /// What it is.
    pub const fn kind(&self) -> Kind {
        match self.kind {
            0 => Kind::Call,
            1 => Kind::Range,
            2 => Kind::Loose,
            _ => Kind::Mark,
        }
    }

    /// What a call returned.
    pub fn status(&self) -> Option<u32> {
        (self.flags & STATUS != 0).then_some(self.value)
    }

    /// A call's arguments.
    pub fn arguments(&self) -> Option<[u64; 3]> {
        (self.flags & WORDS != 0).then_some(self.words)
    }
}
