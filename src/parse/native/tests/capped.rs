//! Files with a cap on their size: chunks are overwritten while they are read.

use super::made::Random;
use super::model::finish;
use crate::parse::NativeReader;
use crate::parse::native::writer::FileInfo;
use crate::trace::{Bytes, Trace};
use proptest::prelude::*;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use umtui_wire::checksum;
use umtui_wire::chunk::{ChunkHeader, KIND_EVENTS, MAGIC, STATE_OPEN, STATE_SEALED};
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{Head, KIND_CALL, KIND_THREAD};
use zerocopy::{FromZeros, IntoBytes};

const START: u64 = 1_000;

/// A process that writes sealed chunks, each in the place of the oldest once there is no other.
pub struct Process {
    file: std::fs::File,
    info: FileInfo,
    places: u64,
    next: u64,
    /// Events of the chunk in each place.
    pub events: Vec<u64>,
    discarded: u64,
    /// Events written so far.
    pub made: u64,
}

impl Process {
    pub fn new(path: &Path, places: u64) -> Self {
        let file = std::fs::File::options().create(true).truncate(true).read(true).write(true).open(path).unwrap();
        let start = ClockTriple { ticks: START, monotonic_ns: START, realtime_ns: START };
        let max_bytes = (places + 1) * CHUNK_UNIT;
        let process = Self {
            file,
            info: FileInfo { start, max_bytes, ..FileInfo::default() },
            places,
            next: 0,
            events: vec![0; places as usize],
            discarded: 0,
            made: 0,
        };
        process.page();
        process
    }

    fn page(&self) {
        let mut page = self.info.header((1 + self.next.min(self.places)) * CHUNK_UNIT);
        page.discarded = self.discarded;
        self.file.write_all_at(page.as_bytes(), 0).unwrap();
    }

    /// Takes the place of the oldest chunk for the next one, if there is no other.
    pub fn make_room(&mut self) {
        let place = self.next % self.places;
        if self.next >= self.places {
            self.file.write_all_at(&[0; 8], (1 + place) * CHUNK_UNIT).unwrap();
            self.discarded += std::mem::take(&mut self.events[place as usize]);
            self.page();
        }
    }

    /// A sealed chunk with so many calls.
    pub fn chunk(&mut self, calls: u64) {
        self.put(calls, STATE_SEALED);
    }

    /// A chunk with so many calls, to which more may be added.
    pub fn open_chunk(&mut self, calls: u64) {
        self.put(calls, STATE_OPEN);
    }

    fn put(&mut self, calls: u64, state: u16) {
        let place = self.next % self.places;
        let offset = (1 + place) * CHUNK_UNIT;
        let moment = START + 1 + self.made;
        let mut slots = vec![[Head { kind: KIND_THREAD, extra: 0, a: 0, b: 5 }.word(), moment, 0, 0, 0, 0]];
        let call = |index| [Head { kind: KIND_CALL, extra: 0, a: 9, b: 0 }.word(), moment + index, 0, 0, 0, 0];
        slots.extend((0..calls).map(call));
        let mut header = ChunkHeader::new_zeroed();
        header.magic = MAGIC;
        header.kind = KIND_EVENTS;
        header.state = state;
        header.bytes = CHUNK_UNIT as u32;
        header.thread = 5;
        header.offset = offset;
        header.sequence = self.next;
        header.opened = ClockTriple { ticks: moment, monotonic_ns: moment, realtime_ns: moment };
        header.sealed = header.opened;
        header.committed = 128 + slots.len() as u32 * 48;
        header.others = 1;
        header.checksum = checksum::of_slots(slots.as_bytes());
        self.make_room();
        self.file.write_all_at(slots.as_bytes(), offset + 128).unwrap();
        self.file.write_all_at(header.as_bytes(), offset).unwrap();
        if self.next < self.places {
            self.file.set_len(offset + CHUNK_UNIT).unwrap();
        }
        self.events[place as usize] = calls;
        self.made += calls;
        self.next += 1;
        self.page();
    }
}

struct OnDisk(std::fs::File);

impl Bytes for OnDisk {
    fn len(&self) -> io::Result<u64> {
        self.0.metadata().map(|data| data.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(&self.0, buffer, offset)
    }
}

/// A file with this many places and a reader of it.
fn open(folder: &Path, places: u64) -> (Process, NativeReader, Trace) {
    let path = folder.join("a.umt");
    let process = Process::new(&path, places);
    let mut trace = Trace::default();
    let bytes = Arc::new(OnDisk(std::fs::File::open(&path).unwrap()));
    let reader = NativeReader::open(bytes, "a.umt", &mut trace).unwrap();
    (process, reader, trace)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_overwritten_before_it_was_read_is_counted_to_the_event(
        seed: u64, places in 1u64..12, chunks in 1u64..60, often in 1u64..20, empty in 1u64..5,
    ) {
        let mut random = Random(seed);
        let folder = tempfile::tempdir().unwrap();
        let (mut process, mut reader, mut trace) = open(folder.path(), places);
        for _ in 0..chunks {
            process.chunk(if random.one_in(empty) { 0 } else { random.below(600) });
            if random.one_in(often) {
                finish(&mut reader, &mut trace, 1000).unwrap();
            }
        }
        finish(&mut reader, &mut trace, 1000).unwrap();
        prop_assert_eq!(&trace.damage, &[]);
        prop_assert_eq!(trace.events() + trace.processes[0].discarded, process.made);
        prop_assert!(trace.events() >= process.events.iter().sum());
    }
}

/// Nobody counts what makes room without having had events.
#[test]
fn what_takes_the_place_of_a_chunk_without_events_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, mut reader, mut trace) = open(folder.path(), 3);
    for events in [0, 0, 0, 7, 0, 5, 3, 2] {
        process.chunk(events);
        finish(&mut reader, &mut trace, 1000).unwrap();
        assert_eq!((trace.events(), trace.processes[0].discarded), (process.made, 0));
    }
}

/// The count comes first, then the chunk: a reader that looks in between looks again.
#[test]
fn a_chunk_that_is_about_to_come_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, mut reader, mut trace) = open(folder.path(), 2);
    for events in [4, 4] {
        process.chunk(events);
    }
    finish(&mut reader, &mut trace, 1000).unwrap();
    process.make_room();
    finish(&mut reader, &mut trace, 1000).unwrap();
    process.chunk(5);
    finish(&mut reader, &mut trace, 1000).unwrap();
    assert_eq!((trace.events(), trace.processes[0].discarded), (13, 0));
}

/// A thread that finds no other place goes on in that of its own chunk, which nobody sealed.
#[test]
fn a_chunk_that_takes_its_own_place_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, mut reader, mut trace) = open(folder.path(), 1);
    for events in [0, 4, 0, 0, 6] {
        process.open_chunk(events);
        finish(&mut reader, &mut trace, 1000).unwrap();
        finish(&mut reader, &mut trace, 1000).unwrap();
        assert_eq!((trace.events(), trace.processes[0].discarded), (process.made, 0));
    }
}
