//! What a key of a search costs over very many names, beside a scan for a plain text in the same names.
//!
//! `cargo bench --bench search` makes a hundred thousand names of 40 characters and as many C++ names of 300, types
//! some texts letter by letter, and prints for each the longest pass over all names that one key took, the passes of
//! all keys together, and how long `str::contains` takes for the whole text. Five rounds, the best counts.

use std::time::{Duration, Instant};

use umtui::session::search::{Names, Pattern};

const COUNT: usize = 100_000;
const ROUNDS: usize = 5;
const TYPED: [&str; 5] = ["launchkernel", "sgemm128", "vctrz", "Reduce", "zzzz"];

/// A number that looks random.
fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}

fn name(seed: &mut u64, length: usize) -> String {
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
    let mut name = format!("k{}_", next(seed) % COUNT);
    while name.len() < length {
        name.push_str(WORDS[next(seed) % WORDS.len()]);
    }
    name.truncate(length);
    name
}

/// Longest pass of a key, and all of them.
fn type_text(names: &mut Names, text: &str) -> (Duration, Duration) {
    let (mut longest, mut all) = (Duration::ZERO, Duration::ZERO);
    for end in 1..=text.len() {
        let Some((typed, pattern)) = text.get(..end).and_then(|typed| Some((typed, Pattern::new(typed)?))) else {
            continue;
        };
        let begun = Instant::now();
        while !names.look_for(typed, &pattern, Instant::now() + Duration::from_millis(4)) {}
        longest = longest.max(begun.elapsed());
        all += begun.elapsed();
    }
    (longest, all)
}

fn main() {
    for length in [40, 300] {
        let mut seed = 7;
        let list: Vec<String> = (0..COUNT).map(|_| name(&mut seed, length)).collect();
        println!("{COUNT} names of {length} characters");
        for text in TYPED {
            let (mut longest, mut all, mut scan) = (Duration::MAX, Duration::MAX, Duration::MAX);
            let (mut found, mut plain) = (0, 0);
            for _ in 0..ROUNDS {
                let mut names = Names::default();
                for name in &list {
                    names.add(name);
                }
                let (one, keys) = type_text(&mut names, text);
                (longest, all) = (longest.min(one), all.min(keys));
                found = names.finds(text).map_or(0, umtui::session::search::Finds::count);
                let begun = Instant::now();
                plain = list.iter().filter(|name| name.contains(text)).count();
                scan = scan.min(begun.elapsed());
            }
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            println!(
                "  {text:<14} longest key {:6.1} ms   all keys {:6.1} ms   plain scan {:6.1} ms   found {found}, plainly {plain}",
                ms(longest),
                ms(all),
                ms(scan)
            );
        }
    }
}
