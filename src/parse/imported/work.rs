//! Work of the GPU and of the driver as an input tells it.

use crate::trace::activity::evidence::What;
use umtui_wire::activity as wire;
use umtui_wire::record::{Head, SLOT_BYTES};
use zerocopy::IntoBytes;

/// A piece of work: the records of [`umtui_wire::activity`], whose enumerations and fields count. Times are nanoseconds
/// of the input's clock, [`Work::UNKNOWN`] for a start that it does not tell. Names are numbers of
/// [`super::Text`]. Heads are made here.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// A kernel.
    Kernel(wire::Kernel),
    /// A copy.
    Copy(wire::Copied),
    /// Memory was set.
    Set(wire::Set),
    /// A synchronisation.
    Wait(wire::Wait),
    /// An event was recorded.
    Event(wire::EventRecorded),
    /// Time that went elsewhere.
    Overhead(wire::Overhead),
    /// A migration, fault or remote mapping; the first number is one of `UNIFIED_*`, the second its cause or access.
    Unified(u16, u32, wire::Unified),
    /// A whole graph's run.
    Graph(wire::GraphRun),
    /// Memory was allocated or released.
    Memory(wire::Memory),
}

/// What is added to times, so that a start of zero is left to those that are not known.
pub const SHIFT: u64 = 1;
/// Longest duration, ns: three years.
const LONGEST: u64 = 1 << 55;

impl Work {
    /// A start that the input does not tell.
    pub const UNKNOWN: u64 = u64::MAX;

    /// Start and end, ns.
    #[must_use]
    pub const fn times(&self) -> (u64, u64) {
        match self {
            Self::Kernel(work) => (work.start, work.end),
            Self::Copy(work) => (work.start, work.end),
            Self::Set(work) => (work.start, work.end),
            Self::Wait(work) => (work.start, work.end),
            Self::Event(work) => (work.time, work.time),
            Self::Overhead(work) => (work.start, work.end),
            Self::Unified(_, _, work) => (work.start, work.end),
            Self::Graph(work) => (work.start, work.end),
            Self::Memory(work) => (work.time, work.time),
        }
    }

    /// Sets the context of what has one.
    pub const fn set_context(&mut self, context: u32) {
        match self {
            Self::Kernel(work) => work.context = context,
            Self::Copy(work) => work.context = context,
            Self::Set(work) => work.context = context,
            Self::Wait(work) => work.context = context,
            Self::Event(work) => work.context = context,
            Self::Graph(work) => work.context = context,
            Self::Memory(work) => work.context = context,
            Self::Overhead(_) | Self::Unified(..) => {}
        }
    }

    /// Sets them.
    pub const fn set_times(&mut self, start: u64, end: u64) {
        match self {
            Self::Kernel(work) => (work.start, work.end) = (start, end),
            Self::Copy(work) => (work.start, work.end) = (start, end),
            Self::Set(work) => (work.start, work.end) = (start, end),
            Self::Wait(work) => (work.start, work.end) = (start, end),
            Self::Event(work) => work.time = start,
            Self::Overhead(work) => (work.start, work.end) = (start, end),
            Self::Unified(_, _, work) => (work.start, work.end) = (start, end),
            Self::Graph(work) => (work.start, work.end) = (start, end),
            Self::Memory(work) => work.time = start,
        }
    }

    /// Times as they are written: shifted, zero where they are not known, none too long.
    pub fn place(&mut self) {
        let (start, end) = self.times();
        if start == Self::UNKNOWN {
            return self.set_times(0, 0);
        }
        let start = start.min(super::slices::LAST);
        let end = end.clamp(start, start.saturating_add(LONGEST));
        self.set_times(start.saturating_add(SHIFT), end.saturating_add(SHIFT));
    }

    /// The string that it names, to be replaced by the file's number.
    pub const fn name(&mut self) -> Option<&mut u32> {
        match self {
            Self::Kernel(work) => Some(&mut work.name),
            Self::Memory(work) => Some(&mut work.name),
            _ => None,
        }
    }

    /// What evidence it is.
    #[must_use]
    pub const fn evidence(&self) -> What {
        match self {
            Self::Unified(wire::UNIFIED_TO_DEVICE | wire::UNIFIED_TO_HOST | wire::UNIFIED_BETWEEN_DEVICES, ..) => {
                What::Migrations
            }
            Self::Unified(..) => What::Faults,
            Self::Memory(_) => What::Memory,
            Self::Wait(_) | Self::Event(_) => What::Waits,
            _ => What::Activity,
        }
    }

    /// Whether it is done in order of a stream, submitted by a call.
    #[must_use]
    pub const fn is_submitted(&self) -> bool {
        matches!(self, Self::Kernel(_) | Self::Copy(_) | Self::Set(_) | Self::Graph(_))
    }

    /// Calls `with` with the record's bytes: as many slots as are needed.
    pub fn with_bytes<T>(mut self, device: u16, correlation: u32, with: impl FnOnce(&[u8]) -> T) -> T {
        let kind = match &self {
            Self::Kernel(_) => wire::KIND_KERNEL,
            Self::Copy(_) => wire::KIND_COPY,
            Self::Set(_) => wire::KIND_SET,
            Self::Wait(_) => wire::KIND_WAIT,
            Self::Event(_) => wire::KIND_EVENT,
            Self::Overhead(_) => wire::KIND_OVERHEAD,
            Self::Unified(..) => wire::KIND_UNIFIED,
            Self::Graph(_) => wire::KIND_GRAPH,
            Self::Memory(_) => wire::KIND_MEMORY,
        };
        let (a, b) = match self {
            Self::Unified(what, flags, _) => (what, flags),
            Self::Overhead(_) => (0, correlation),
            _ => (device, correlation),
        };
        // Unified memory that names no processors, and copies and sets of no graph, take one slot.
        let bytes = match &mut self {
            Self::Kernel(work) => work.as_mut_bytes(),
            Self::Copy(work) => work.as_mut_bytes(),
            Self::Set(work) => work.as_mut_bytes(),
            Self::Wait(work) => work.as_mut_bytes(),
            Self::Event(work) => work.as_mut_bytes(),
            Self::Overhead(work) => work.as_mut_bytes(),
            Self::Unified(_, _, work) => work.as_mut_bytes(),
            Self::Graph(work) => work.as_mut_bytes(),
            Self::Memory(work) => work.as_mut_bytes(),
        };
        let whole = matches!(kind, wire::KIND_KERNEL | wire::KIND_MEMORY);
        let second = bytes.get(SLOT_BYTES..).unwrap_or(&[]);
        let length = if whole || second.iter().any(|&byte| byte != 0) { bytes.len() } else { SLOT_BYTES };
        let extra = u8::try_from(length / SLOT_BYTES).unwrap_or(1).saturating_sub(1);
        let head = Head { kind, extra, a, b }.word();
        if let Some(place) = bytes.first_chunk_mut::<8>() {
            *place = head.to_le_bytes();
        }
        with(bytes.get(..length).unwrap_or(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(work: Work, device: u16, correlation: u32) -> Vec<u8> {
        work.with_bytes(device, correlation, <[u8]>::to_vec)
    }

    #[test]
    fn records_take_the_slots_they_need() {
        let copy = wire::Copied { start: 5, end: 9, bytes: 7, ..Default::default() };
        let mut work = Work::Copy(copy);
        work.place();
        assert_eq!(work.times(), (6, 10));
        assert_eq!(bytes(work, 1, 2).len(), SLOT_BYTES);
        assert_eq!(bytes(Work::Copy(wire::Copied { node: 1, ..copy }), 1, 2).len(), 2 * SLOT_BYTES);
        assert_eq!(bytes(Work::Kernel(wire::Kernel::default()), 0, 0).len(), 2 * SLOT_BYTES);
        let mut work = Work::Set(wire::Set { start: Work::UNKNOWN, ..Default::default() });
        work.place();
        assert_eq!(work.times(), (0, 0));
        let head = bytes(work, 3, 4);
        assert_eq!(Head::from_word(u64::from_le_bytes(*head.first_chunk().unwrap())).a, 3);
    }
}
