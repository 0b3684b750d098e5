//! Records in the layouts of CUPTI 13.0, or of 11 (see `Config::short`): the shorter ones are beginnings of the longer.

use crate::activity::kinds;
use crate::clock::epoch;
use crate::config::{self, Config};
use crate::told::{Event, NONE, kind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Our own kind of [`Event`]: overhead; `value` is what for, `context` and `stream` are process and thread.
pub const OVERHEAD: u32 = 1000;
/// `CUpti_ActivityOverheadKind`.
pub const BUFFER_FLUSH: u64 = 1 << 16;
/// Likewise.
pub const UVM_ACTIVITY_INIT: u64 = 8 << 16;

/// `CUpti_ActivityUnifiedMemoryCounterKind`.
pub mod unified {
    pub const TO_DEVICE: u32 = 1;
    pub const TO_HOST: u32 = 2;
    pub const CPU_FAULT: u32 = 3;
    pub const GPU_FAULT: u32 = 4;
    pub const REMOTE_MAP: u32 = 7;
    pub const BETWEEN_DEVICES: u32 = 8;
}

/// The first of the kinds that nobody knows, see `UMSIM_CUPTI_GARBAGE`; and how long they are.
const UNKNOWN: u32 = 900;
const UNKNOWN_SIZES: [usize; 4] = [8, 24, 72, 136];
const LONGEST: usize = 208;
const THREAD: u32 = 2;

/// Bytes of a record, 0 for a kind that is not written here.
pub fn size(kind: u32, short: bool) -> usize {
    let (old, new) = match kind {
        kinds::MEMCPY => (88, 96),
        kinds::MEMSET => (88, 88),
        kinds::KERNEL | kinds::CONCURRENT_KERNEL => (200, 208),
        kinds::OVERHEAD => (40, 56),
        kinds::MEMCPY2 => (96, 96),
        kinds::UNIFIED_MEMORY_COUNTER => (64, 104),
        kinds::CUDA_EVENT => (24, 56),
        kinds::SYNCHRONIZATION => (40, 56),
        kinds::MEMORY2 => (120, 128),
        kinds::GRAPH_TRACE => (48, 56),
        _ => {
            let size = kind.checked_sub(UNKNOWN).and_then(|index| UNKNOWN_SIZES.get(index as usize)).copied();
            (size.unwrap_or(0), size.unwrap_or(0))
        }
    };
    if short { old } else { new }
}

/// One record.
#[derive(Clone)]
pub struct Record {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Record {
    fn new(kind: u32, short: bool) -> Self {
        Self { bytes: [0; LONGEST], length: size(kind, short) }.u32(0, kind)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn put(mut self, at: usize, value: &[u8]) -> Self {
        if let Some(field) = self.bytes.get_mut(at..at + value.len()) {
            field.copy_from_slice(value);
        }
        self
    }

    fn u8(self, at: usize, value: u8) -> Self {
        self.put(at, &[value])
    }

    fn u16(self, at: usize, value: u16) -> Self {
        self.put(at, &value.to_ne_bytes())
    }

    fn u32(self, at: usize, value: u32) -> Self {
        self.put(at, &value.to_ne_bytes())
    }

    fn u64(self, at: usize, value: u64) -> Self {
        self.put(at, &value.to_ne_bytes())
    }

    /// Start and end one behind the other.
    fn times(self, at: usize, event: &Event) -> Self {
        self.u64(at, epoch(event.start)).u64(at + 8, epoch(event.end))
    }

    /// Device, context and stream one behind the other.
    fn place(self, at: usize, event: &Event) -> Self {
        self.u32(at, event.device).u32(at + 4, event.context).u32(at + 8, event.stream)
    }
}

/// Whether it is a copy from one device to another.
pub fn is_peer(event: &Event) -> bool {
    event.kind == kind::COPY && event.src >= 0 && event.dst >= 0 && event.src != event.dst
}

/// Whether it is of our own making.
pub fn is_overhead(event: &Event) -> bool {
    event.kind == OVERHEAD
}

/// The counter of unified memory that an event belongs to.
pub fn counter(event: &Event) -> u32 {
    match event.kind {
        kind::CPU_FAULT => unified::CPU_FAULT,
        kind::GPU_FAULT_GROUP => unified::GPU_FAULT,
        kind::REMOTE_MAP => unified::REMOTE_MAP,
        _ if event.src < 0 => unified::TO_DEVICE,
        _ if event.dst < 0 => unified::TO_HOST,
        _ => unified::BETWEEN_DEVICES,
    }
}

fn unified(event: &Event, short: bool) -> Record {
    // The host has no number; what the real library says of it is not documented.
    let place = |ordinal: i32| u32::try_from(ordinal).unwrap_or(NONE);
    let counter = counter(event);
    let (value, flags) = match counter {
        unified::CPU_FAULT | unified::GPU_FAULT => (event.value, event.access),
        // Advice keeps the pages where they are: policy.
        unified::REMOTE_MAP => (event.bytes, 3),
        _ => (event.bytes, event.cause),
    };
    // A mapping goes from where the pages are to who maps them.
    let (from, to) = if counter == unified::REMOTE_MAP { (event.dst, event.src) } else { (event.src, event.dst) };
    let end = if counter == unified::REMOTE_MAP { 0 } else { event.end };
    Record::new(kinds::UNIFIED_MEMORY_COUNTER, short)
        .u32(4, counter)
        .u64(8, value)
        .times(16, &Event { end, ..*event })
        .u64(32, event.address)
        .u32(40, place(from))
        .u32(44, place(to))
        .u32(48, NONE)
        .u32(52, std::process::id())
        .u32(56, flags)
}

fn kernel(event: &Event, short: bool) -> Record {
    static GRIDS: AtomicU64 = AtomicU64::new(1);
    let mut record = Record::new(kinds::CONCURRENT_KERNEL, short)
        .u16(6, 32)
        .times(16, event)
        .u64(32, epoch(event.end))
        .place(40, event)
        .u32(80, event.shared)
        .u32(92, event.correlation)
        .u64(96, GRIDS.fetch_add(1, Ordering::Relaxed))
        .u64(104, event.name.addr() as u64)
        .u8(136, event.cooperative)
        .u64(144, event.node)
        .u32(156, event.graph);
    for (index, size) in event.grid.iter().chain(&event.block).enumerate() {
        record = record.u32(52 + 4 * index, *size);
    }
    record
}

fn copy(event: &Event, short: bool) -> Record {
    let way = match (event.src, event.dst) {
        (..0, ..0) => 9,
        (..0, _) => 1,
        (_, ..0) => 2,
        _ => 8,
    };
    let [from, to] = event.memory;
    Record::new(kinds::MEMCPY, short)
        .put(4, &[way, from, to, event.asynchronous])
        .u64(8, event.bytes)
        .times(16, event)
        .place(32, event)
        .u32(44, event.correlation)
        .u64(64, event.node)
        .u32(72, event.graph)
        .u64(88, 1)
}

fn peer(event: &Event, short: bool) -> Record {
    let [from, to] = event.memory;
    let ordinal = |ordinal: i32| u32::try_from(ordinal).unwrap_or(NONE);
    // Of the contexts only the one in which it was asked for is known.
    let context = |device: i32| if ordinal(device) == event.device { event.context } else { NONE };
    Record::new(kinds::MEMCPY2, short)
        .put(4, &[10, from, to, event.asynchronous])
        .u64(8, event.bytes)
        .times(16, event)
        .place(32, event)
        .u32(44, ordinal(event.src))
        .u32(48, context(event.src))
        .u32(52, ordinal(event.dst))
        .u32(56, context(event.dst))
        .u32(60, event.correlation)
        .u64(72, event.node)
        .u32(80, event.graph)
}

fn set(event: &Event, short: bool) -> Record {
    Record::new(kinds::MEMSET, short)
        .u32(4, event.value as u32)
        .u64(8, event.bytes)
        .times(16, event)
        .place(32, event)
        .u32(44, event.correlation)
        .u16(48, u16::from(event.asynchronous))
        .u16(50, u16::from(event.memory[1]))
        .u64(64, event.node)
        .u32(72, event.graph)
}

fn memory(event: &Event, short: bool) -> Record {
    Record::new(kinds::MEMORY2, short)
        .u32(4, event.value as u32)
        .u32(8, u32::from(event.memory[1]))
        .u32(12, event.correlation)
        .u64(16, event.address)
        .u64(24, event.bytes)
        .u64(32, epoch(event.start))
        .u32(48, std::process::id())
        .place(52, event)
        .u32(72, u32::from(event.asynchronous))
}

fn build(event: &Event, short: bool) -> Option<Record> {
    Some(match event.kind {
        kind::MIGRATION | kind::CPU_FAULT | kind::GPU_FAULT_GROUP | kind::REMOTE_MAP => unified(event, short),
        kind::KERNEL => kernel(event, short),
        kind::COPY if is_peer(event) => peer(event, short),
        kind::COPY => copy(event, short),
        kind::SET => set(event, short),
        kind::MEMORY => memory(event, short),
        kind::WAIT => Record::new(kinds::SYNCHRONIZATION, short)
            .u32(4, event.value as u32)
            .times(8, event)
            .u32(24, event.correlation)
            .u32(28, event.context)
            .u32(32, event.stream)
            .u32(36, event.object)
            .u64(40, event.number),
        kind::EVENT => Record::new(kinds::CUDA_EVENT, short)
            .u32(4, event.correlation)
            .u32(8, event.context)
            .u32(12, event.stream)
            .u32(16, event.object)
            .u32(24, event.device)
            .u64(40, epoch(event.start))
            .u64(48, event.number),
        kind::GRAPH => Record::new(kinds::GRAPH_TRACE, short)
            .u32(4, event.correlation)
            .times(8, event)
            .u32(24, event.device)
            .u32(28, event.graph)
            .u32(32, event.context)
            .u32(36, event.stream)
            .u32(48, event.device)
            .u32(52, event.context),
        OVERHEAD => Record::new(kinds::OVERHEAD, short)
            .u32(4, event.value as u32)
            .u32(8, THREAD)
            .u32(12, event.context)
            .u32(16, event.stream)
            .times(24, event),
        _ => return None,
    })
}

/// Writes an event's record, and what a test wants to have among the records.
pub fn write(event: &Event, out: &mut dyn FnMut(&Record)) {
    let config = config::get();
    if let Some(record) = build(event, config.short()) {
        out(&record);
        rubbish(&record, config, out);
    }
}

/// Every third record is followed by one of a kind that nobody knows, every fifth by one like it whose numbers cannot be.
fn rubbish(record: &Record, config: &Config, out: &mut dyn FnMut(&Record)) {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    if config.garbage == 0 {
        return;
    }
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    if number.is_multiple_of(3) {
        let kind = UNKNOWN + (number / 3 % UNKNOWN_SIZES.len() as u64) as u32;
        out(&Record { bytes: [0xa5; LONGEST], length: size(kind, false) }.u32(0, kind));
    }
    if config.garbage >= 2 && number.is_multiple_of(5) {
        let mut impossible = record.clone();
        impossible.bytes.iter_mut().skip(4).for_each(|byte| *byte = 0xff);
        // A name is a pointer: only a null one can be wrong without harm.
        let kernel = impossible.bytes.first() == Some(&(kinds::CONCURRENT_KERNEL as u8));
        let memory = impossible.bytes.first() == Some(&(kinds::MEMORY2 as u8));
        out(&match (kernel, memory) {
            (true, _) => impossible.u64(104, 0),
            (_, true) => impossible.u64(64, 0),
            _ => impossible,
        });
    }
}

/// The place behind the record at `at`, or `None` where its kind is not known or it does not lie before `valid`.
///
/// # Safety
/// `buffer` has `valid` bytes.
pub unsafe fn next(buffer: *const u8, valid: usize, at: usize) -> Option<usize> {
    if at.checked_add(4)? > valid {
        return None;
    }
    // SAFETY: four bytes before the end.
    let kind = unsafe { buffer.add(at).cast::<u32>().read_unaligned() };
    match size(kind, config::get().short()) {
        0 => None,
        size => at.checked_add(size).filter(|end| *end <= valid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(record: &Record, at: usize) -> u32 {
        u32::from_ne_bytes(record.bytes()[at..at + 4].try_into().unwrap())
    }

    fn wide(record: &Record, at: usize) -> u64 {
        u64::from_ne_bytes(record.bytes()[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn short_records_are_beginnings_of_long_ones() {
        for kind in 1..=12 {
            let event = Event { start: 5, end: 9, bytes: 4096, value: 1, number: 3, ..Event::new(kind) };
            let (Some(short), Some(long)) = (build(&event, true), build(&event, false)) else { continue };
            assert!(short.bytes().len() <= long.bytes().len());
            let grid = 96..104;
            for (at, (a, b)) in short.bytes().iter().zip(long.bytes()).enumerate() {
                assert!(a == b || (kind == kind::KERNEL && grid.contains(&at)), "kind {kind} byte {at}");
            }
            assert!(short.bytes().len().is_multiple_of(8) && long.bytes().len().is_multiple_of(8));
        }
    }

    #[test]
    fn unified_memory_says_what_moved_where_and_why() {
        let event = Event {
            src: -1,
            dst: 1,
            cause: 2,
            bytes: 65_536,
            start: 7,
            end: 9,
            address: 0x7000,
            ..Event::new(kind::MIGRATION)
        };
        let record = build(&event, false).unwrap();
        assert_eq!(record.bytes().len(), 104);
        assert_eq!((number(&record, 0), number(&record, 4)), (25, 1));
        assert_eq!((wide(&record, 8), wide(&record, 32)), (65_536, 0x7000));
        assert_eq!((number(&record, 40), number(&record, 44), number(&record, 56)), (NONE, 1, 2));
        assert_eq!(wide(&record, 24) - wide(&record, 16), 2);
        let fault = Event { value: 0x40_1234, access: 2, start: 7, ..Event::new(kind::CPU_FAULT) };
        let record = build(&fault, true).unwrap();
        assert_eq!(record.bytes().len(), 64);
        assert_eq!(
            (number(&record, 4), wide(&record, 8), wide(&record, 24), number(&record, 56)),
            (3, 0x40_1234, 0, 2)
        );
    }

    #[test]
    fn copies_between_devices_have_a_kind_of_their_own() {
        let event = Event { src: 0, dst: 1, device: 0, context: 4, ..Event::new(kind::COPY) };
        let record = build(&event, false).unwrap();
        assert_eq!((number(&record, 0), number(&record, 44), number(&record, 52)), (22, 0, 1));
        let event = Event { dst: 0, ..event };
        assert_eq!(number(&build(&event, false).unwrap(), 0), 1);
    }

    #[test]
    fn records_are_walked_and_no_further_than_they_go() {
        let mut buffer = Vec::new();
        for kind in [kinds::MEMCPY, UNKNOWN, UNKNOWN + 2, kinds::CUDA_EVENT] {
            buffer.extend_from_slice(Record::new(kind, false).bytes());
        }
        let mut places = vec![0];
        // SAFETY: all within the buffer.
        while let Some(next) = unsafe { next(buffer.as_ptr(), buffer.len(), *places.last().unwrap()) } {
            places.push(next);
        }
        assert_eq!(places, [0, 96, 104, 176, 232]);
        // SAFETY: as above.
        assert_eq!(unsafe { next(buffer.as_ptr(), buffer.len() - 1, 176) }, None);
    }
}
