//! Files into frames, frames into files again: nothing changes but what was lost on the way, and that is counted.

use super::Follower;
use super::file::{Followed, Opened};
use super::frames::{Sink, Stop};
use crate::parse::NativeReader;
use crate::parse::native::tests::made::{Random, Wishes, make};
use crate::parse::native::tests::model::{finish, lines};
use crate::source::frames::Frames;
use crate::source::spool::{Life, Spool, Spooled};
use crate::trace::{Bytes, Trace};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use umtui_wire::frame::{FRAME_BYTES, FrameHeader, KIND_EVENTS, KIND_PAGE};
use umtui_wire::header::{FileHeader, STATE_FAILED};
use zerocopy::FromBytes;

mod losses;
mod reused;
mod statements;

/// Keeps frames.
#[derive(Default)]
pub(super) struct Kept {
    pub frames: Vec<Vec<u8>>,
    /// Takes so many more.
    pub room: Option<usize>,
}

impl Sink for Kept {
    fn send(&mut self, frame: &[u8], _: u32) -> Result<(), Stop> {
        assert!(frame.len() <= FRAME_BYTES);
        if let Some(room) = &mut self.room {
            *room = room.checked_sub(1).ok_or(Stop::NoReader)?;
        }
        self.frames.push(frame.to_vec());
        Ok(())
    }
}

pub(super) fn header(frame: &[u8]) -> FrameHeader {
    FrameHeader::read_from_prefix(frame).unwrap().0
}

/// Passes until nothing is left.
pub(super) fn pass_all(follower: &mut Follower, kept: &mut Kept) {
    loop {
        follower.look(true);
        let passed = follower.pass(kept).unwrap();
        if !passed.more && !passed.moved {
            return;
        }
    }
}

pub(super) fn frames_of(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    let mut kept = Kept::default();
    let mut follower = Follower::new(paths, false).unwrap();
    pass_all(&mut follower, &mut kept);
    kept.frames
}

/// The files that a stream becomes, and what is said at its end.
pub(super) fn spool(stream: &[u8], pieces: usize) -> (Vec<Arc<Spooled>>, Vec<String>) {
    let mut frames = Frames::default();
    let mut spool = Spool::new("s");
    let take = |frames: &mut Frames, spool: &mut Spool| {
        while let Some((header, body)) = frames.next_frame() {
            spool.take(&header, body, 0);
        }
    };
    for piece in stream.chunks(pieces) {
        frames.push(piece);
        take(&mut frames, &mut spool);
    }
    frames.end();
    take(&mut frames, &mut spool);
    let said = spool.end(frames.offset(), frames.skipped());
    (spool.fresh(), said)
}

/// A trace of these files, and where their bytes lie.
pub(super) fn read(files: &[Arc<dyn Bytes>]) -> Trace {
    let mut trace = Trace::default();
    for (index, file) in files.iter().enumerate() {
        let mut reader = NativeReader::open(file.clone(), &format!("{index}.umt"), &mut trace).unwrap();
        finish(&mut reader, &mut trace, 1000).unwrap();
    }
    trace
}

pub(super) fn bytes(files: &[Arc<Spooled>]) -> Vec<Arc<dyn Bytes>> {
    files.iter().map(|file| file.bytes()).collect()
}

pub(super) fn write(folder: &Path, name: &str, image: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, image).unwrap();
    path
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_was_recorded_is_what_arrives(
        seed: u64, threads in 1u64..6, groups in 0u64..3000, sealed: bool, hand_overs: bool, pieces in 1usize..9000,
    ) {
        let made = make(seed, Wishes { threads, groups, ticks_per_second: 1_000_000_000, sealed, hand_overs, gpu: true });
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "a.umt", &made.image);
        let image: Arc<dyn Bytes> = Arc::new(made.image);
        let expected = lines(&read(std::slice::from_ref(&image)), &[image]);
        let stream = frames_of(&[path]).concat();
        let (files, said) = spool(&stream, pieces);
        prop_assert_eq!((files.len(), said), (1, Vec::new()));
        prop_assert_eq!(files[0].hold().life, Life::Gone);
        prop_assert_eq!(files[0].hold().missed, 0);
        prop_assert!(files[0].hold().notes.is_empty());
        let files = bytes(&files);
        let trace = read(&files);
        prop_assert_eq!(&trace.damage, &[]);
        let seen = lines(&trace, &files);
        for (one, other) in expected.iter().zip(&seen) {
            prop_assert_eq!(one, other);
        }
        prop_assert_eq!(expected.len(), seen.len());
    }
}

/// A stream that is looked at after every pass shows at no time what is not so at the end.
#[test]
fn live_equals_reopened() {
    let wishes = Wishes {
        threads: 5,
        groups: 60_000,
        ticks_per_second: 1_000_000_000,
        sealed: true,
        hand_overs: true,
        gpu: true,
    };
    let made = make(11, wishes);
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "a.umt", &made.image);
    let image: Arc<dyn Bytes> = Arc::new(made.image);
    let expected = lines(&read(std::slice::from_ref(&image)), &[image]);
    let mut spool = Spool::new("s");
    let mut trace = Trace::default();
    let mut reader: Option<(NativeReader, Arc<Spooled>)> = None;
    let mut passes = 0;
    for frame in frames_of(&[path]) {
        let header = header(&frame);
        spool.take(&header, &frame[umtui_wire::frame::HEADER_BYTES..], 0);
        if header.kind != umtui_wire::frame::KIND_PASS && header.kind != umtui_wire::frame::KIND_END {
            continue;
        }
        passes += 1;
        if let Some(file) = spool.fresh().pop() {
            reader = Some((NativeReader::open(file.bytes(), "0.umt", &mut trace).unwrap(), file));
        }
        let (reader, file) = reader.as_mut().unwrap();
        reader.set_horizon(file.hold().horizon);
        finish(reader, &mut trace, 500).unwrap();
    }
    assert!(passes > 2, "more than one pass is wanted: {passes}");
    let files = vec![reader.unwrap().1.bytes()];
    assert_eq!(trace.damage, []);
    let seen = lines(&trace, &files);
    for (one, other) in expected.iter().zip(&seen) {
        assert_eq!(one, other);
    }
    assert_eq!(expected.len(), seen.len());
}

#[test]
fn several_files_mix_in_one_stream() {
    let wishes = |threads| Wishes {
        threads,
        groups: 900,
        ticks_per_second: 1_000_000_000,
        sealed: true,
        hand_overs: true,
        gpu: true,
    };
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(4);
    let mut expected = Vec::new();
    let mut streams: Vec<std::vec::IntoIter<Vec<u8>>> = Vec::new();
    for seed in 0..3 {
        let made = make(seed, wishes(seed + 1));
        let image: Arc<dyn Bytes> = Arc::new(made.image.clone());
        expected.push(lines(&read(std::slice::from_ref(&image)), &[image]));
        // They would be taken for one process else.
        let mut image = made.image;
        let at = std::mem::offset_of!(umtui_wire::header::FileHeader, run_id);
        image[at] = seed as u8;
        streams.push(frames_of(&[write(folder.path(), &format!("{seed}.umt"), &image)]).into_iter());
    }
    let mut stream = Vec::new();
    while !streams.is_empty() {
        let index = random.below(streams.len() as u64) as usize;
        match streams[index].next() {
            Some(frame) => stream.extend(frame),
            None => drop(streams.remove(index)),
        }
    }
    let (files, said) = spool(&stream, 1000);
    assert_eq!((files.len(), said), (3, Vec::new()));
    for file in bytes(&files) {
        let seen = lines(&read(std::slice::from_ref(&file)), std::slice::from_ref(&file));
        let same = |expected: &Vec<String>| {
            let strip = |line: &&String| !line.starts_with("process");
            expected.iter().filter(strip).eq(seen.iter().filter(strip))
        };
        let found = expected.iter().position(same).expect("one of the files");
        expected.remove(found);
    }
}

#[test]
fn a_reader_that_comes_late_understands() {
    let wishes = Wishes {
        threads: 3,
        groups: 3000,
        ticks_per_second: 1_000_000_000,
        sealed: false,
        hand_overs: true,
        gpu: true,
    };
    let made = make(3, wishes);
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "a.umt", &made.image);
    // The first reader takes some frames and dies.
    let mut first = Kept { room: Some(60), ..Kept::default() };
    let mut follower = Follower::new(&[path], false).unwrap();
    follower.look(true);
    assert_eq!(follower.pass(&mut first), Err(Stop::NoReader));
    let before = follower.counts().0;
    follower.forget_reader();
    let mut second = Kept::default();
    pass_all(&mut follower, &mut second);
    assert_eq!(header(&second.frames[0]).kind, KIND_PAGE);
    let (files, _) = spool(&second.frames.concat(), 5000);
    assert_eq!(files[0].hold().missed, before);
    let files = bytes(&files);
    let trace = read(&files);
    assert_eq!(trace.damage, []);
    assert_eq!(trace.events() + before, made.events());
    let text = lines(&trace, &files).join("\n");
    assert!(text.contains("cudaMallocManaged") && text.contains("_Z6kernelPf") && text.contains("libfoo.so"));
    assert!(!text.contains("string#") && !text.contains("api#"));
    // All events are of threads that are known, also where a chunk had changed hands before.
    let threads: Vec<u32> = made.calls.iter().map(|call| call.thread).collect();
    assert!(trace.tracks.iter().filter(|track| !track.is_empty()).all(|track| threads.contains(&track.thread)));
    let frames = [first.frames, second.frames].concat();
    let events: u64 = frames.iter().filter(|frame| header(frame).kind == KIND_EVENTS).count() as u64;
    assert!(events > 60);
}

const WISHES: Wishes =
    Wishes { threads: 1, groups: 9, ticks_per_second: 1_000_000_000, sealed: true, hand_overs: false, gpu: true };

#[test]
fn what_changes_in_a_first_page_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let mut image = make(1, WISHES).image;
    let path = write(folder.path(), "a.umt", &image);
    let mut kept = Kept::default();
    let mut follower = Follower::new(std::slice::from_ref(&path), false).unwrap();
    follower.look(true);
    follower.set_running(true);
    follower.pass(&mut kept).unwrap();
    let page = FileHeader::mut_from_prefix(&mut image).unwrap().0;
    (page.state, page.reason, page.paused, page.lost, page.cost_ps) = (STATE_FAILED, 28, 1, 77, 4000);
    page.last.ticks += 5;
    let expected = (page.state, page.reason, page.paused, page.lost, page.cost_ps, page.last);
    write(folder.path(), "a.umt", &image);
    pass_all(&mut follower, &mut kept);
    let (files, _) = spool(&kept.frames.concat(), 4096);
    let mut bytes = vec![0; size_of::<FileHeader>()];
    files[0].bytes().read_at(0, &mut bytes).unwrap();
    let page = FileHeader::read_from_bytes(&bytes).unwrap();
    assert_eq!((page.state, page.reason, page.paused, page.lost, page.cost_ps, page.last), expected);
}

/// The hook gives a file its length, then writes its first page, the magic last: a look that comes in between finds
/// nothing yet, and one that ends after it must not take the file for something else.
#[test]
fn a_file_that_is_begun_while_it_is_looked_at_is_followed() {
    let image = make(1, WISHES).image;
    let folder = tempfile::tempdir().unwrap();
    let foreign = write(folder.path(), "foreign", b"not a recording");
    let mut follower = Follower::new(&[folder.path().to_owned()], false).unwrap();
    for number in 0..60 {
        let path = folder.path().join(format!("{number}.umt"));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                use std::os::unix::fs::FileExt;
                let file = std::fs::File::create(&path).unwrap();
                file.set_len(image.len() as u64).unwrap();
                file.write_all_at(&image[8..], 8).unwrap();
                file.write_all_at(&image[..8], 0).unwrap();
            });
            for _ in 0..20 {
                follower.look(true);
            }
        });
        follower.look(true);
        assert_eq!(follower.seen(), number + 1);
    }
    assert!(foreign.exists());
}

#[test]
fn a_first_page_is_told_by_what_is_there_of_it() {
    let image = make(1, WISHES).image;
    let folder = tempfile::tempdir().unwrap();
    let opened = |bytes: &[u8]| Followed::open(&write(folder.path(), "file", bytes), false).unwrap();
    for unwritten in [&b""[..], &[0; 3], &[0; 5000], &image[..3], &image[..8], &image[..4000]] {
        assert!(matches!(opened(unwritten), Opened::Unwritten), "{} bytes", unwritten.len());
    }
    assert!(matches!(opened(&image), Opened::Recording(_)));
    for foreign in [&b"x"[..], b"# umtui trace 1\n", &[1; 5000], b"UMTUI\n"] {
        assert!(matches!(opened(foreign), Opened::Foreign), "{} bytes", foreign.len());
    }
}
