//! What a change of the lens costs, beside the call tree of the same calls, on one core.
//!
//! `cargo bench --bench lens [-- MILLIONS]` writes a trace (8 threads, a runtime call with the driver call in it and
//! single calls, from 24 call sites, kernels and ranges) into a file, loads it, and looks at it through several lenses: the time to the
//! first answer of the calls screen and of the events screen, as a session's slices of 4 ms give it, and the time until
//! everything has been looked at, in processor time of the thread; then what other groupings take through the same lens,
//! at first and again. Three rounds, medians. `-- only:TEXT` leaves those lenses in whose text it stands.

mod common;

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;
use std::time::Duration;

use common::{Made, cpu};
use umtui::filter::{Condition, expression};
use umtui::graph::Tree;
use umtui::lens::Lens;
use umtui::session::Loaded;
use umtui::session::view::{CallsRequest, Column, EventKinds, EventsAt, EventsRequest, Folds, Grouping, View};

const ROUNDS: usize = 3;

const LENSES: [(&str, Option<(u64, u64)>); 15] = [
    ("api:cudaMalloc", None),
    ("-thread:103", None),
    ("duration>=2us", None),
    ("duration>=4100ns", None),
    ("api:cu* duration<1us or failed", None),
    ("children-of(api:cudaLaunchKernel)", None),
    ("callers-of(duration>=4us)", None),
    ("size>=1KiB", None),
    ("kernel:*kernel_7<*", None),
    ("callers-of(kernel:*kernel_7<*)", None),
    ("range:\"step 7\"", None),
    ("range:\"step 7\" duration>=2us -thread:103", None),
    ("stream:8 or api:cudaFree", None),
    ("", Some((1_000_000_000, 2_000_000_000))),
    ("duration>=2us", Some((1_000_000_000, 2_000_000_000))),
];
/// Screens besides calls by thread.
const GROUPINGS: [Grouping; 3] = [Grouping::Stream, Grouping::Range, Grouping::Flat];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let millions = std::env::args().filter_map(|word| word.parse::<u64>().ok()).next().unwrap_or(10);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("bench.umt");
    let kernels = (0..64).map(|number| format!("void kernel_{number}<float>(float*, int)")).collect();
    // A quarter of the events are kernels.
    let made = Made { events: millions * 1_000_000, step_ns: 1_000, kernels };
    made.write(BufWriter::new(File::create(&path)?))?;
    let mut loaded = Loaded::load_all(std::slice::from_ref(&path))?;
    let events = loaded.trace().events();
    println!("{events} events, {} threads", loaded.trace().tracks.len());
    let tree = median(|| {
        let begun = cpu();
        let mut tree = Tree::default();
        tree.update(loaded.trace());
        cpu() - begun
    });
    println!("call tree, one pass: {tree:.1?}");
    println!(
        "{:40} {:>12} {:>12} {:>12} {:>12} {:>8}",
        "lens", "calls first", "events first", "complete", "shown", "of tree"
    );
    let only = std::env::args().find_map(|word| word.strip_prefix("only:").map(str::to_owned)).unwrap_or_default();
    for (text, range) in LENSES.into_iter().filter(|(text, _)| text.contains(&only)) {
        let condition: Option<Condition> =
            if text.is_empty() { None } else { Some(expression::read("", text).map_err(|error| error.to_string())?) };
        let lens = Lens { condition: condition.map(Arc::new), range: range.map(Into::into) };
        let mut times: Vec<(Duration, Duration, Duration)> = Vec::new();
        let mut shown = 0;
        for _ in 0..ROUNDS {
            loaded.look_through(&Lens::default(), "", Duration::ZERO)?;
            let calls = loaded.first_answer(&lens, calls_view(Grouping::Thread), Duration::from_millis(4));
            loaded.look_through(&Lens::default(), "", Duration::ZERO)?;
            let events = loaded.first_answer(&lens, events_at_end(), Duration::from_millis(4));
            loaded.look_through(&Lens::default(), "", Duration::ZERO)?;
            let begun = cpu();
            loaded.look_through(&lens, text, Duration::ZERO)?;
            loaded.view(calls_view(Grouping::Thread));
            times.push((calls, events, cpu() - begun));
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
        // What is made anew for another screen through the same lens, and its rows; then the rows alone.
        let screens = GROUPINGS.map(|grouping| {
            let times = [(); 2].map(|()| {
                let begun = cpu();
                loaded.view(calls_view(grouping));
                cpu() - begun
            });
            format!("{grouping:?} {:.0?} {:.1?}", times[0], times[1])
        });
        println!(
            "{name:40} {calls:>12.1?} {events:>12.1?} {complete:>12.1?} {shown:>12} {ratio:>8.2}   {}",
            screens.join(", ")
        );
    }
    Ok(())
}

fn median(mut run: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| run()).collect();
    times.sort_unstable();
    times.get(ROUNDS / 2).copied().unwrap_or_default()
}

fn calls_view(grouping: Grouping) -> View {
    View::Calls(CallsRequest {
        grouping,
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
