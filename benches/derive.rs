//! What the call tree costs beside decoding alone, on one core.
//!
//! `cargo bench --bench derive [-- MILLIONS]` writes a trace of 8 threads into memory (a runtime call with the driver
//! call in it, and single calls, from 24 call sites), decodes it, decodes it with the tree in the batches of a session,
//! and then asks for rows. All in one run, so that the ratios mean something; three rounds, the best counts.

mod common;

use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::Made;
use umtui::correlate::Allocations;
use umtui::graph::{Folds, Grouping, Labels, Rows, Tree, What, WindowRequest, Windows, Work};
use umtui::parse::NativeReader;
use umtui::trace::{Bytes, Layer, ProcessId, Trace, TrackId};

const BATCH: usize = 16 * 1024;
const ROUNDS: usize = 3;

struct NoNames;

impl Labels for NoNames {
    fn label(&self, what: What) -> String {
        format!("{what:?}")
    }

    fn version(&self) -> u64 {
        0
    }
}

fn main() {
    let millions = std::env::args().filter_map(|word| word.parse::<u64>().ok()).next().unwrap_or(4);
    let bytes: Arc<dyn Bytes> = Arc::new(write(millions * 1_000_000));
    let (mut decode, mut both, mut alone) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let mut last = None;
    for _ in 0..ROUNDS {
        let (trace, time) = read(&bytes, &mut |_| {});
        decode = decode.min(time);
        let begun = Instant::now();
        let mut tree = Tree::default();
        tree.update(&trace);
        alone = alone.min(begun.elapsed());
        let mut tree = Tree::default();
        let (trace, time) = read(&bytes, &mut |trace| tree.update(trace));
        both = both.min(time);
        last = Some((trace, tree));
    }
    let Some((trace, tree)) = last else { return };
    let events = trace.events();
    let rate = |time: Duration| events as f64 / time.as_secs_f64() / 1e6;
    let cells = tree.cells().len();
    println!("{events} events, {} threads, {cells} cells", trace.tracks.len());
    println!("decode                    {:7.1} M events/s", rate(decode));
    println!("decode and tree, batches  {:7.1} M events/s", rate(both));
    println!("tree alone, one pass      {:7.1} M events/s", rate(alone));
    allocations(&trace, &bytes);
    rows(&trace, &tree);
    many_cells();
}

/// Allocations by address and time: one pass over the calls, then look-ups.
fn allocations(trace: &Trace, bytes: &Arc<dyn Bytes>) {
    const LOOKED_UP: u64 = 1_000_000;
    let begun = Instant::now();
    let all = Allocations::of(trace, ProcessId(0), std::slice::from_ref(bytes));
    let pass = begun.elapsed();
    let (begun, mut found) = (Instant::now(), 0u64);
    let (start, length) = (trace.start_ns(), trace.end_ns().saturating_sub(trace.start_ns()).max(1));
    for number in 0..LOOKED_UP {
        let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let address = 0x7000_0000_0000 + (spread >> 20) % (100_000 * 4096);
        found += u64::from(all.find(address, start + spread % length).is_some());
    }
    let each = begun.elapsed().as_nanos() / u128::from(LOOKED_UP);
    println!(
        "{} allocations in one pass {pass:?}, a look-up {each} ns ({found} of {LOOKED_UP} found)",
        all.all().len()
    );
}

/// Folding and windows over the trace's own cells.
fn rows(trace: &Trace, tree: &Tree) {
    for grouping in [Grouping::Thread, Grouping::Flat, Grouping::Inverted] {
        let begun = Instant::now();
        let mut windows = Windows::new(Rows::new(grouping));
        windows.rows.refresh(tree.cells(), tree.unfinished(|_| &[], 0), trace);
        let fold = begun.elapsed();
        let begun = Instant::now();
        let shown = windows.window(&request(), (tree.cells(), &Work::default()), &NoNames);
        println!("{grouping:?}: fold {fold:?}, first window of {} rows {:?}", shown.total, begun.elapsed());
    }
}

/// The same with 100,000 cells, all open, refreshed after a batch that touched them all.
fn many_cells() {
    use umtui::trace::{ApiId, Call, CallFlags, SiteId, StreamId};
    let mut trace = Trace::default();
    for api in 0..10 {
        trace.api_of(&format!("cudaFunction{api}"), Layer::Runtime, umtui::trace::Signature::default());
    }
    let process = trace.add_process(umtui::trace::Process::default()).unwrap_or(umtui::trace::ProcessId(0));
    let track = trace.track_of(process, 1);
    let mut tree = Tree::default();
    let mut windows = Windows::new(Rows::new(Grouping::Thread));
    for round in 0..3u64 {
        tree.begin_batch();
        for number in 0..100_000u32 {
            trace.sites.find(process, u64::from(number / 10), 0);
            let call = Call {
                start_ns: round * 1_000_000_000 + u64::from(number) * 100,
                duration_ns: 50 + u64::from(number.wrapping_mul(2_654_435_761) >> 22),
                api: ApiId((number % 10) as u16),
                site: SiteId(number / 10),
                stream: StreamId::NONE,
                device: 0,
                depth: 0,
                flags: CallFlags::default(),
                extra: 0,
            };
            tree.push(TrackId(track.0), &call);
        }
        let begun = Instant::now();
        windows.rows.refresh(tree.cells(), tree.unfinished(|_| &[], 0), &trace);
        let refresh = begun.elapsed();
        let begun = Instant::now();
        let shown = windows.window(&request(), (tree.cells(), &Work::default()), &NoNames);
        let window = begun.elapsed();
        let begun = Instant::now();
        windows.window(&WindowRequest { first: 50_000, ..request() }, (tree.cells(), &Work::default()), &NoNames);
        let moved = begun.elapsed();
        println!(
            "100,000 cells changed: refresh {refresh:?}, window of {} rows {window:?}, moved {moved:?}",
            shown.total
        );
    }
}

fn request() -> WindowRequest {
    WindowRequest {
        sort: (umtui::graph::Column::Total, true),
        folds: Arc::new(Folds { open_depth: 20, ..Folds::default() }),
        cursor: None,
        first: 0,
        rows: 50,
    }
}

fn read(bytes: &Arc<dyn Bytes>, each: &mut dyn FnMut(&Trace)) -> (Trace, Duration) {
    let begun = Instant::now();
    let mut trace = Trace::default();
    if let Ok(mut reader) = NativeReader::open(bytes.clone(), "bench", &mut trace) {
        while let Ok(progress) = reader.poll(&mut trace, BATCH) {
            each(&trace);
            if !progress.more {
                break;
            }
        }
    }
    (trace, begun.elapsed())
}

/// A trace of about so many calls.
fn write(events: u64) -> Vec<u8> {
    match Made::calls(events, 10_000).write(Cursor::new(Vec::new())) {
        Ok(out) => out.into_inner(),
        Err(error) => {
            eprintln!("cannot write the trace: {error}");
            Vec::new()
        }
    }
}
