//! What a key of a search costs over very many names, beside a scan for a plain text in the same names.
//!
//! `cargo bench --bench search` makes a hundred thousand names of 40 characters and as many C++ names of 300, and types
//! some texts letter by letter. Of each it prints the longest that one key took and all keys together, in medians of
//! three rounds: looking through the names alone; the finder over a trace with as many kernels of these names, with its
//! ranking and its list of 40; and the calls screen by stream of that trace, up to the match and the count of all. The
//! floor is `str::contains` for the whole text over the same names. All in processor time of the thread.

mod common;

use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Made, cpu, median};
use umtui::session::Loaded;
use umtui::session::search::{Names, Pattern};
use umtui::session::view::{
    CallsRequest, Column, Folds, Grouping, Lens, SearchFrom, SearchRequest, Step, View, ViewRequest,
};

const COUNT: usize = 100_000;
const ROUNDS: usize = 3;
const TYPED: [&str; 5] = ["launchkernel", "sgemm128", "vctrz", "Reduce", "zzzz"];
/// Of a session.
const SLICE: Duration = Duration::from_millis(4);

/// A number that looks random.
fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}

fn name(seed: &mut u64, number: usize, length: usize) -> String {
    const WORDS: [&str; 16] = [
        "at::native::",
        "vectorized_",
        "elementwise_kernel",
        "<float, ",
        "Reduce",
        "unsigned long",
        "sgemm_",
        "128x64",
        "_nn",
        "thrust::",
        "cuda_cub::",
        "LaunchKernel",
        "Functor>",
        "(int, ",
        "cutlass",
        "Tensor&)",
    ];
    let mut name = format!("k{number}_");
    while name.len() < length {
        name.push_str(WORDS[next(seed) % WORDS.len()]);
    }
    name.truncate(length);
    name
}

/// Longest pass of a key, and all of them.
fn type_text(text: &str, mut key: impl FnMut(&str)) -> (Duration, Duration) {
    let (mut longest, mut all) = (Duration::ZERO, Duration::ZERO);
    for end in 1..=text.len() {
        let Some(typed) = text.get(..end) else { continue };
        let begun = cpu();
        key(typed);
        let time = cpu() - begun;
        longest = longest.max(time);
        all += time;
    }
    (longest, all)
}

/// Medians of the longest key and of all keys.
fn rounds(text: &str, mut round: impl FnMut(&str) -> (Duration, Duration)) -> String {
    let (mut longest, mut all): (Vec<_>, Vec<_>) = (0..ROUNDS).map(|_| round(text)).unzip();
    let ms = |times: &mut Vec<Duration>| median(times).as_secs_f64() * 1e3;
    format!("{:6.1} {:7.1}", ms(&mut longest), ms(&mut all))
}

/// A search of a screen as the session's thread does it: slices until all has been looked at.
fn search(loaded: &mut Loaded, id: &mut u64, text: &str, step: Step) -> u64 {
    *id += 1;
    let search = SearchRequest { id: *id, text: text.to_owned(), from: SearchFrom::Node(None), step };
    let view = View::Calls(CallsRequest {
        grouping: Grouping::Stream,
        sort: (Column::Total, true),
        folds: Arc::new(Folds { open_depth: 2, ..Folds::default() }),
        cursor: None,
        first: 0,
        rows: 50,
    });
    let request = ViewRequest { id: *id, view, search: Some(search), lens: Lens::default() };
    loaded.search(&request, SLICE).search.map_or(0, |search| search.count)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    for length in [40, 300] {
        let mut seed = 7;
        let list: Vec<String> = (0..COUNT).map(|number| name(&mut seed, number, length)).collect();
        let path = folder.path().join(format!("{length}.umt"));
        let made = Made { events: 4 * COUNT as u64, step_ns: 1_000, kernels: list.clone() };
        std::fs::write(&path, made.write(Cursor::new(Vec::new()))?.into_inner())?;
        let mut loaded = Loaded::load_all(&[path])?;
        let mut id = 0;
        // What is made once for a trace is no key's work.
        let begun = Instant::now();
        let things = search(&mut loaded, &mut id, "", Step::Names(40));
        println!("{COUNT} names of {length} characters; {things} things listed in {:.1?}", begun.elapsed());
        let begun = Instant::now();
        search(&mut loaded, &mut id, "q", Step::Here);
        println!("rows named in {:.1?}", begun.elapsed());
        println!("  longest key, all keys, ms:   names          finder          screen          plain scan   found");
        for text in TYPED {
            let mut found = 0;
            let alone = rounds(text, |text| {
                let mut names = Names::default();
                for name in &list {
                    names.add(name);
                }
                let times = type_text(text, |typed| {
                    let Some(pattern) = Pattern::new(typed) else { return };
                    while !names.look_for(typed, &pattern, Instant::now() + SLICE) {}
                });
                found = names.finds(text).map_or(0, umtui::session::search::Finds::count);
                times
            });
            let mut screen_of = |step: Step| {
                rounds(text, |text| {
                    // Other texts, so that what was found is not remembered.
                    for other in 0..25 {
                        search(&mut loaded, &mut id, &format!("q{other}"), step);
                    }
                    type_text(text, |typed| {
                        search(&mut loaded, &mut id, typed, step);
                    })
                })
            };
            let (finder, screen) = (screen_of(Step::Names(40)), screen_of(Step::Here));
            let mut scans: Vec<Duration> = (0..ROUNDS)
                .map(|_| {
                    let begun = cpu();
                    std::hint::black_box(list.iter().filter(|name| name.contains(text)).count());
                    cpu() - begun
                })
                .collect();
            let scan = median(&mut scans).as_secs_f64() * 1e3;
            println!("  {text:<24} {alone}  {finder}  {screen}   {scan:9.1}   {found}");
        }
    }
    Ok(())
}
