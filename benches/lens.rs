//! What a change of the lens costs, beside the call tree of the same calls, on one core.
//!
//! `cargo bench --bench lens [-- MILLIONS]` writes a trace (8 threads, a runtime call with the driver call in it and
//! single calls, from 24 call sites) into a file, loads it, and looks at it through several lenses: the time to the
//! first answer of the calls screen and of the events screen, as a session's slices of 4 ms give it, and the time until
//! everything has been looked at. Three rounds, medians.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;
use std::time::{Duration, Instant};

use umtui::filter::{Condition, expression};
use umtui::graph::Tree;
use umtui::lens::Lens;
use umtui::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use umtui::session::Loaded;
use umtui::session::view::{CallsRequest, Column, EventKinds, EventsAt, EventsRequest, Folds, Grouping, View};
use umtui::trace::Layer;

const THREADS: u32 = 8;
const ROUNDS: usize = 3;

const LENSES: [(&str, Option<(u64, u64)>); 9] = [
    ("api:cudaMalloc", None),
    ("-thread:103", None),
    ("duration>=2us", None),
    ("duration>=4100ns", None),
    ("api:cu* duration<1us or failed", None),
    ("children-of(api:cudaLaunchKernel)", None),
    ("callers-of(duration>=4us)", None),
    ("size>=1KiB", None),
    ("", Some((1_000_000_000, 2_000_000_000))),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let millions = std::env::args().filter_map(|word| word.parse::<u64>().ok()).next().unwrap_or(10);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("bench.umt");
    write(&path, millions * 1_000_000)?;
    let mut loaded = Loaded::load_all(std::slice::from_ref(&path))?;
    let events = loaded.trace().events();
    println!("{events} events, {} threads", loaded.trace().tracks.len());
    let tree = median(|| {
        let begun = Instant::now();
        let mut tree = Tree::default();
        tree.update(loaded.trace());
        begun.elapsed()
    });
    println!("call tree, one pass: {tree:?}");
    println!(
        "{:40} {:>12} {:>12} {:>12} {:>12} {:>8}",
        "lens", "calls first", "events first", "complete", "shown", "of tree"
    );
    for (text, range) in LENSES {
        let condition: Option<Condition> =
            if text.is_empty() { None } else { Some(expression::read("", text).map_err(|error| error.to_string())?) };
        let lens = Lens { condition: condition.map(Arc::new), range: range.map(Into::into) };
        let mut times: Vec<(Duration, Duration, Duration)> = Vec::new();
        let mut shown = 0;
        for _ in 0..ROUNDS {
            loaded.look_through(&Lens::default(), "", Duration::ZERO)?;
            let calls = loaded.first_answer(&lens, calls(), Duration::from_millis(4));
            loaded.look_through(&Lens::default(), "", Duration::ZERO)?;
            let events = loaded.first_answer(&lens, events_at_end(), Duration::from_millis(4));
            loaded.look_through(&Lens::default(), "", Duration::ZERO)?;
            let begun = Instant::now();
            loaded.look_through(&lens, text, Duration::ZERO)?;
            loaded.view(calls_view());
            times.push((calls, events, begun.elapsed()));
            shown = loaded.lens_status().map_or(0, |status| status.shown);
        }
        let pick = |of: fn(&(Duration, Duration, Duration)) -> Duration| {
            let mut list: Vec<Duration> = times.iter().map(of).collect();
            list.sort_unstable();
            list.get(list.len() / 2).copied().unwrap_or_default()
        };
        let (calls, events, complete) = (pick(|one| one.0), pick(|one| one.1), pick(|one| one.2));
        let ratio = complete.as_secs_f64() / tree.as_secs_f64();
        let name = if text.is_empty() { format!("{range:?}") } else { text.to_owned() };
        println!("{name:40} {calls:>12.1?} {events:>12.1?} {complete:>12.1?} {shown:>12} {ratio:>8.2}");
    }
    Ok(())
}

fn median(mut run: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| run()).collect();
    times.sort_unstable();
    times.get(ROUNDS / 2).copied().unwrap_or_default()
}

fn calls() -> View {
    calls_view()
}

fn calls_view() -> View {
    View::Calls(CallsRequest {
        grouping: Grouping::Thread,
        sort: (Column::Total, true),
        folds: Arc::new(Folds { open_depth: 2, ..Folds::default() }),
        cursor: None,
        first: 0,
        rows: 50,
    })
}

fn events_at_end() -> View {
    View::Events(EventsRequest { node: None, at: EventsAt::End, rows: 50, kinds: EventKinds::ALL, details: None })
}

/// A trace of about so many calls.
fn write(path: &std::path::Path, events: u64) -> std::io::Result<()> {
    let mut writer = NativeWriter::new(BufWriter::new(File::create(path)?), FileInfo::default(), 1 << 20);
    let launch = writer.api(Layer::Runtime, "cudaLaunchKernel(function:ptr@32)")?;
    let inner = writer.api(Layer::Driver, "cuLaunchKernel(function:handle@32)")?;
    let singles =
        ["cudaMalloc(ptr:*ptr@28 bytes:size@36)", "cudaFree(ptr:ptr@28)", "cudaStreamSynchronize(stream:handle@32)"];
    let singles: Vec<_> =
        singles.iter().map(|signature| writer.api(Layer::Runtime, signature)).collect::<Result<_, _>>()?;
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let mut now = 1_000_000;
    let mut made = 0;
    while made < events {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let thread = 100 + (random >> 8) as u32 % THREADS;
        let site = 0x40_0000 + (random >> 16) % 24 * 16;
        let duration = 200 + (random >> 24) % 4000;
        let address = 0x7000_0000_0000 + (random >> 20) % 100_000 * 4096;
        let arguments = [address.to_le_bytes(), 4096u64.to_le_bytes()].concat();
        let call = CallRecord { site, arguments, ..CallRecord::default() };
        now += 1_000;
        if random % 10 < 6 {
            let start = now + 100;
            writer.call(thread, &CallRecord { api: inner, start, duration, depth: 1, ..call.clone() })?;
            writer.call(thread, &CallRecord { api: launch, start: now, duration: duration + 300, ..call })?;
            made += 2;
        } else {
            let api = singles.get((random >> 40) as usize % 3).copied().unwrap_or(launch);
            writer.call(thread, &CallRecord { api, start: now, duration, ..call })?;
            made += 1;
        }
    }
    writer.finish(true)?;
    Ok(())
}
