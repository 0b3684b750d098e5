//! Files with a cap: chunks are overwritten while they are followed.

use super::*;
use crate::parse::native::writer::FileInfo;
use std::os::unix::fs::FileExt;
use umtui_wire::checksum;
use umtui_wire::chunk::{ChunkHeader, KIND_EVENTS, MAGIC, STATE_SEALED};
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{Head, KIND_CALL, KIND_THREAD};
use zerocopy::{FromZeros, IntoBytes};

const START: u64 = 1_000;

/// A process that writes sealed chunks, each in the place of the oldest once there is no other.
struct Process {
    file: std::fs::File,
    info: FileInfo,
    places: u64,
    next: u64,
    /// Events of the chunk in each place.
    events: Vec<u64>,
    discarded: u64,
    made: u64,
}

impl Process {
    fn new(path: &Path, places: u64) -> Self {
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

    fn chunk(&mut self, calls: u64) {
        let place = self.next % self.places;
        let offset = (1 + place) * CHUNK_UNIT;
        let moment = START + 1 + self.made;
        let mut slots = vec![[Head { kind: KIND_THREAD, extra: 0, a: 0, b: 5 }.word(), moment, 0, 0, 0, 0]];
        let call = |index| [Head { kind: KIND_CALL, extra: 0, a: 9, b: 0 }.word(), moment + index, 0, 0, 0, 0];
        slots.extend((0..calls).map(call));
        let mut header = ChunkHeader::new_zeroed();
        header.magic = MAGIC;
        header.kind = KIND_EVENTS;
        header.state = STATE_SEALED;
        header.bytes = CHUNK_UNIT as u32;
        header.thread = 5;
        header.offset = offset;
        header.sequence = self.next;
        header.opened = ClockTriple { ticks: moment, monotonic_ns: moment, realtime_ns: moment };
        header.sealed = header.opened;
        header.committed = 128 + slots.len() as u32 * 48;
        header.others = 1;
        header.checksum = checksum::of_slots(slots.as_bytes());
        let fresh = self.next < self.places;
        if !fresh {
            self.file.write_all_at(&[0; 8], offset).unwrap();
        }
        self.file.write_all_at(slots.as_bytes(), offset + 128).unwrap();
        self.file.write_all_at(header.as_bytes(), offset).unwrap();
        if fresh {
            self.file.set_len(offset + CHUNK_UNIT).unwrap();
        } else {
            self.discarded += self.events[place as usize];
        }
        self.events[place as usize] = calls;
        self.made += calls;
        self.next += 1;
        self.page();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_is_overwritten_in_time_is_counted_to_the_event(
        seed: u64, places in 1u64..12, chunks in 1u64..60, often in 1u64..20,
    ) {
        let mut random = Random(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.umt");
        let mut process = Process::new(&path, places);
        let mut follower = Follower::new(&[path], true).unwrap();
        let mut kept = Kept::default();
        follower.look(true);
        follower.set_running(true);
        for _ in 0..chunks {
            process.chunk(random.below(600));
            if random.one_in(often) {
                follower.pass(&mut kept).unwrap();
            }
        }
        follower.set_running(false);
        pass_all(&mut follower, &mut kept);
        prop_assert_eq!(follower.counts().0 + follower.counts().1, process.made);
        let (files, said) = spool(&kept.frames.concat(), 4096);
        prop_assert_eq!(said, Vec::<String>::new());
        let trace = read(&[files[0].bytes()]);
        prop_assert_eq!(&trace.damage, &[]);
        prop_assert_eq!(trace.events() + trace.lost(), process.made);
        prop_assert_eq!((trace.events(), files[0].hold().missed), (follower.counts().0, 0));
        // The newest are there.
        let newest: u64 = process.events.iter().sum();
        prop_assert!(trace.events() >= newest);
    }
}
