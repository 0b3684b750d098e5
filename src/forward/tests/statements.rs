//! What was said once among the events, for readers that come later.

use super::*;
use crate::trace::ProcessId;
use crate::trace::activity::TextId;
use crate::trace::activity::evidence::{Statement, What};
use umtui_wire::frame::{HEADER_BYTES, KIND_PASS, KIND_STATEMENTS};

/// All frames of a file whose process runs on, and those that are sent again at the end.
fn twice(path: &Path) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut first, mut again) = (Kept::default(), Kept::default());
    let mut follower = Follower::new(&[path.to_owned()], false).unwrap();
    follower.look(true);
    follower.set_running(true);
    while follower.pass(&mut first).unwrap().more {}
    follower.repeat(&mut again).unwrap();
    follower.pass(&mut again).unwrap();
    (first.frames, again.frames)
}

/// The newest statement about each kind of evidence, with its detail.
fn newest(trace: &Trace) -> Vec<Option<(Statement, String)>> {
    let evidence = &trace.activities.of(ProcessId(0)).unwrap().evidence;
    let one = |what| {
        let said = evidence.newest(what)?;
        let detail = trace.names.get(trace.activities.name(said.detail)).to_owned();
        Some((Statement { detail: TextId(0), ..*said }, detail))
    };
    What::ALL.into_iter().map(one).collect()
}

fn made_file(seed: u64, groups: u64, folder: &Path) -> (PathBuf, Vec<u8>) {
    let wishes =
        Wishes { threads: 3, groups, ticks_per_second: 1_000_000_000, sealed: false, hand_overs: true, gpu: true };
    let image = make(seed, wishes).image;
    (write(folder, "a.umt", &image), image)
}

/// What comes of a stream that is read while it comes.
fn live(frames: &[Vec<u8>]) -> (Trace, Vec<Arc<dyn Bytes>>) {
    let (mut spool, mut trace) = (Spool::new("s"), Trace::default());
    let mut reader: Option<(NativeReader, Arc<Spooled>)> = None;
    for frame in frames {
        let header = header(frame);
        spool.take(&header, &frame[HEADER_BYTES..], 0);
        if let Some(file) = spool.fresh().pop() {
            reader = Some((NativeReader::open(file.bytes(), "0.umt", &mut trace).unwrap(), file));
        }
        if let Some((reader, file)) = &mut reader {
            reader.set_horizon(file.hold().horizon);
            finish(reader, &mut trace, 500).unwrap();
        }
    }
    let (reader, file) = reader.expect("a first page");
    (
        trace,
        vec![{
            drop(reader);
            file.bytes()
        }],
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_reader_that_joins_late_hears_what_still_holds(seed: u64, groups in 0u64..3000, at in 0usize..1000) {
        let folder = tempfile::tempdir().unwrap();
        let (path, image) = made_file(seed, groups, folder.path());
        let image: Arc<dyn Bytes> = Arc::new(image);
        let whole = read(std::slice::from_ref(&image));
        let (first, again) = twice(&path);
        let from = first.len() * at / 1000;
        let frames = [&first[from..], &again[..]].concat();
        let (trace, files) = live(&frames);
        prop_assert_eq!(&trace.damage, &[]);
        // Of several of one moment any may be the newest.
        for (heard, said) in newest(&trace).into_iter().zip(newest(&whole)) {
            let moment = |one: &Option<(Statement, String)>| one.as_ref().map(|(one, _)| (one.what, one.since_ns));
            prop_assert_eq!(moment(&heard), moment(&said));
            let all = whole.activities.of(ProcessId(0)).unwrap().evidence.all();
            let same = |one: &Statement| heard.as_ref().is_none_or(|(heard, _)| Statement { detail: TextId(0), ..*one } == *heard);
            prop_assert!(heard.is_none() || all.iter().any(same), "{:?}", heard);
        }
        // What came is as it is in the file; of work and calls not which belong together. Times of the GPU are the same, but
        // for what came before the first comparison of clocks that the reader heard: for that the driver's clock stands.
        let untimed = |line: &str| {
            let (before, rest) = line.split_once("start_ns: ").unwrap_or((line, ""));
            let rest = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
            // Which call it belongs to, of which a late reader may not have heard.
            let call = rest.rfind(" Some((").or_else(|| rest.rfind(" None")).unwrap_or(rest.len());
            let rest = &rest[..call];
            format!("{before}{rest}")
        };
        let known: std::collections::BTreeSet<String> =
            lines(&whole, &[image]).iter().filter(|line| line.contains("Activity {")).map(|line| untimed(line)).collect();
        for line in lines(&trace, &files).iter().filter(|line| line.contains("Activity {")) {
            prop_assert!(known.contains(&untimed(line)), "{}", line);
        }
        // Live equals reopened.
        let reopened = read(&files);
        prop_assert_eq!(lines(&trace, &files), lines(&reopened, &files));
        let threads = |trace: &Trace| (0..trace.tracks.len()).map(|at| trace.tracks[at].thread).collect::<Vec<_>>();
        let known = threads(&whole);
        prop_assert!(threads(&trace).iter().all(|thread| known.contains(thread)));
    }

    #[test]
    fn a_reader_that_heard_it_hears_nothing_new(seed: u64, groups in 0u64..3000) {
        let folder = tempfile::tempdir().unwrap();
        let (path, image) = made_file(seed, groups, folder.path());
        let image: Arc<dyn Bytes> = Arc::new(image);
        let expected = lines(&read(std::slice::from_ref(&image)), &[image]);
        let (first, again) = twice(&path);
        let frames = [first, again.clone(), again].concat();
        let (trace, files) = live(&frames);
        prop_assert_eq!(&trace.damage, &[]);
        let seen = lines(&trace, &files);
        for (one, other) in expected.iter().zip(&seen).filter(|(one, _)| !one.starts_with("process")) {
            prop_assert_eq!(one, other);
        }
        prop_assert_eq!(expected.len(), seen.len());
    }
}

/// A reader that was seen to come is told at once, and before the events.
#[test]
fn a_new_reader_is_told_first() {
    let folder = tempfile::tempdir().unwrap();
    let (path, image) = made_file(5, 9000, folder.path());
    let whole = read(&[Arc::new(image)]);
    assert!(newest(&whole).iter().flatten().count() > 2);
    let mut follower = Follower::new(&[path], false).unwrap();
    follower.look(true);
    follower.set_running(true);
    let (mut first, mut second) = (Kept::default(), Kept::default());
    while follower.pass(&mut first).unwrap().more {}
    assert!(first.frames.iter().all(|frame| header(frame).kind != KIND_STATEMENTS), "nothing had been said by then");
    follower.forget_reader();
    follower.pass(&mut second).unwrap();
    let kinds: Vec<u8> = second.frames.iter().map(|frame| header(frame).kind).collect();
    assert!(kinds.contains(&KIND_STATEMENTS) && kinds.last() == Some(&KIND_PASS), "{kinds:?}");
    assert_eq!(newest(&live(&second.frames).0), newest(&whole));
}

/// Any bytes in such a frame: no panic, and no more than a chunk of them.
#[test]
fn bad_statements_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = made_file(5, 500, folder.path());
    let (first, again) = twice(&path);
    let mut frames = [first, again.clone()].concat();
    let mut random = Random(9);
    let page = frames[0].clone();
    for _ in 0..2000 {
        let mut frame = again.iter().find(|frame| header(frame).kind == KIND_STATEMENTS).unwrap().clone();
        for _ in 0..1 + random.below(40) {
            let at = HEADER_BYTES + random.below((frame.len() - HEADER_BYTES) as u64) as usize;
            frame[at] = random.below(256) as u8;
        }
        frames.push(frame);
    }
    frames.push(page);
    let (trace, _) = live(&frames);
    assert!(trace.tracks.len() < 3000);
}
