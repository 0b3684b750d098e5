//! Streams of which some did not arrive.

use super::*;
use crate::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use std::collections::BTreeSet;
use std::io::Cursor;
use umtui_wire::clock::ClockTriple;
use umtui_wire::frame::{KIND_DEFINITIONS, KIND_END, KIND_PASS};
use umtui_wire::table::Layer;

const START: u64 = 1_000_000;

/// A file in which nothing is lost, each call with a start of its own.
fn plain(random: &mut Random, calls: u64, run: u64) -> Vec<u8> {
    let start = ClockTriple { ticks: START, monotonic_ns: START, realtime_ns: 1_700_000_000_000_000_000 };
    let info = FileInfo { pid: 7, run_id: run, start, state: umtui_wire::header::STATE_ENDED, ..FileInfo::default() };
    let mut writer = NativeWriter::new(Cursor::new(Vec::new()), info, 65536 * (1 + random.below(2)));
    let api = writer.api(Layer::Runtime, "cudaFree(ptr:ptr@32)").unwrap();
    let long = writer.string("k".repeat(20_000).as_bytes()).unwrap();
    let mut threads: Vec<u32> = (1..=4).collect();
    for call in 0..calls {
        let start = START + 1 + call * 10;
        let at = random.below(4) as usize;
        if random.one_in(100) {
            let next = 100 + call as u32;
            writer.hand_over(threads[at], next, long, start).unwrap();
            threads[at] = next;
        }
        let arguments = vec![1; 20 + random.below(100) as usize];
        let record = CallRecord { api, start, duration: 5, arguments, ..CallRecord::default() };
        writer.call(threads[at], &record).unwrap();
    }
    writer.finish(random.one_in(2)).unwrap().into_inner()
}

fn starts(trace: &Trace) -> Vec<u64> {
    let mut starts = Vec::new();
    for track in &trace.tracks {
        track.for_each(0..track.len(), |call| starts.push(call.start_ns));
    }
    starts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_did_not_arrive_is_counted(seed: u64, calls in 1u64..6000, loss in 1u64..60, garbage: bool) {
        let mut random = Random(seed);
        let folder = tempfile::tempdir().unwrap();
        let images = [plain(&mut random, calls, 1), plain(&mut random, calls / 2, 2)];
        let mut each: Vec<_> = images
            .iter()
            .enumerate()
            .map(|(index, image)| frames_of(&[write(folder.path(), &format!("{index}.umt"), image)]).into_iter())
            .collect();
        let mut stream = Vec::new();
        let mut ended = 0;
        while !each.is_empty() {
            let index = random.below(each.len() as u64) as usize;
            let Some(frame) = each[index].next() else {
                drop(each.remove(index));
                continue;
            };
            let kind = header(&frame).kind;
            let needed = matches!(kind, KIND_PAGE | KIND_DEFINITIONS | KIND_END);
            ended += usize::from(kind == KIND_END);
            match random.below(4 * loss) {
                0 if !needed => {}
                1 if !needed => stream.extend_from_slice(&frame[..random.below(frame.len() as u64) as usize]),
                2 if !needed => {
                    let mut bad = frame.clone();
                    bad[random.below(frame.len() as u64) as usize] ^= 1 << random.below(8);
                    stream.extend(bad);
                }
                3 => stream.extend([frame.clone(), frame].concat()),
                _ => stream.extend(frame),
            }
            if garbage && random.one_in(5) {
                stream.extend((0..random.below(300)).map(|_| random.draw() as u8));
            }
        }
        prop_assert_eq!(ended, 2);
        let (files, said) = spool(&stream, 1 + random.below(9000) as usize);
        prop_assert!(said.iter().all(|said| said.contains("were no frames")), "{:?}", said);
        prop_assert_eq!(files.len(), 2);
        let mut sums: Vec<(u64, u64, u64)> = Vec::new();
        for file in &files {
            let trace = read(&[file.bytes()]);
            prop_assert_eq!(&trace.damage, &[]);
            let seen = starts(&trace);
            let distinct: BTreeSet<_> = seen.iter().collect();
            prop_assert_eq!(distinct.len(), seen.len(), "no call comes twice");
            prop_assert!(seen.iter().all(|start| start % 10 == 1));
            prop_assert_eq!(file.hold().missed, 0);
            let by_thread: u64 = trace.tracks.iter().map(|track| track.lost).sum();
            prop_assert!(by_thread <= trace.lost());
            sums.push((trace.events() + trace.lost(), trace.events(), trace.lost()));
        }
        sums.sort_unstable();
        let mut expected = [calls, calls / 2];
        expected.sort_unstable();
        prop_assert_eq!([sums[0].0, sums[1].0], expected, "{:?}", sums);
    }

    /// Whatever comes, nothing fails.
    #[test]
    fn any_bytes_are_survived(seed: u64, cuts in 0u64..40) {
        let mut random = Random(seed);
        let folder = tempfile::tempdir().unwrap();
        let image = plain(&mut random, 500, 1);
        let mut frames = frames_of(&[write(folder.path(), "a.umt", &image)]);
        // Frames that are right by their checksum, and wrong by what is in them.
        for _ in 0..cuts {
            let index = random.below(frames.len() as u64) as usize;
            let frame = &mut frames[index];
            let at = 48 + random.below(frame.len() as u64 - 48) as usize;
            frame[at] = random.draw() as u8;
            let sum = umtui_wire::frame::checksum(&frame[16..]);
            frame[8..16].copy_from_slice(&sum.to_le_bytes());
        }
        let (files, _) = spool(&frames.concat(), 4000);
        for file in files {
            let mut trace = Trace::default();
            if let Ok(mut reader) = NativeReader::open(file.bytes(), "a", &mut trace) {
                finish(&mut reader, &mut trace, 1000).unwrap();
            }
        }
    }
}

#[test]
fn a_stream_that_breaks_off_says_so() {
    let mut random = Random(1);
    let folder = tempfile::tempdir().unwrap();
    let image = plain(&mut random, 3000, 1);
    let frames = frames_of(&[write(folder.path(), "a.umt", &image)]);
    let last = frames.iter().rposition(|frame| header(frame).kind == KIND_PASS).unwrap();
    let (files, _) = spool(&frames[..last].concat(), 4000);
    let standing = files[0].hold();
    assert_eq!(standing.life, Life::Cut);
    assert!(standing.notes.iter().any(|(_, why)| why.contains("without its end")), "{:?}", standing.notes);
    drop(standing);
    assert_eq!(read(&[files[0].bytes()]).events(), 3000);
    // Before its first page nothing can be shown, and that is said.
    let (files, said) = spool(&frames[3..].concat(), 4000);
    assert!(files.is_empty());
    assert!(said[0].contains("never came"));
}

#[test]
fn what_was_sent_before_is_told_apart_from_what_was_lost() {
    let mut random = Random(9);
    let folder = tempfile::tempdir().unwrap();
    let image = plain(&mut random, 3000, 1);
    let frames = frames_of(&[write(folder.path(), "a.umt", &image)]);
    let is_events = |frame: &&Vec<u8>| header(frame).kind == KIND_EVENTS;
    let others: Vec<u8> = frames
        .iter()
        .filter(|frame| matches!(header(frame).kind, KIND_PAGE | KIND_DEFINITIONS))
        .flatten()
        .copied()
        .collect();
    let from = frames.iter().position(|frame| is_events(&frame)).unwrap() + 10;
    // The reader joins before the eleventh frame of events; the thirteenth is lost.
    let mut stream: Vec<u8> = frames[from..from + 2].concat();
    stream.extend(others);
    stream.extend(frames[from + 3..].concat());
    let (files, _) = spool(&stream, 4000);
    let missed = header(&frames[from]).sent;
    let lost = header(&frames[from + 3]).sent - header(&frames[from + 2]).sent;
    let trace = read(&[files[0].bytes()]);
    assert_eq!(files[0].hold().missed, missed);
    assert_eq!((trace.lost(), trace.events()), (lost, 3000 - missed - lost));
}
