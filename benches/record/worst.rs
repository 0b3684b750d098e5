//! The longest of many single calls, recorded beside untraced, in processor time of the thread.
//!
//! Preemption does not count there, but interrupts and what a hypervisor takes do, so of several runs the one with the
//! smallest maximum is shown: what the call itself does is in all of them.

use super::{Bench, Under};
use std::process::Stdio;

/// What one run of `benches/c/worst.c` said.
#[derive(Default)]
struct Run {
    quantiles: Vec<(String, f64)>,
    /// From how many ns, calls, their ns.
    buckets: Vec<(u64, u64, f64)>,
    /// Number of the call, ns.
    late: Vec<(u64, f64)>,
    faulted: (u64, f64),
}

impl Run {
    fn of(bench: &Bench, calls: u64, under: Under, faults: bool) -> Self {
        let calls = calls.to_string();
        let arguments: &[&str] = if faults { &[&calls, "faults"] } else { &[&calls] };
        let (mut command, folder) = bench.command("worst", arguments, under);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        drop(folder);
        let mut run = Self::default();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let whole = |at: usize| words[at].parse::<u64>().unwrap();
            match words[0] {
                "quantile" => run.quantiles.push((words[1].to_owned(), whole(2) as f64)),
                "bucket" => run.buckets.push((whole(1), whole(2), whole(3) as f64)),
                "late" => run.late.push((whole(1), whole(2) as f64)),
                "faulted" => run.faulted = (whole(1), whole(2) as f64),
                _ => {}
            }
        }
        run
    }

    fn most(&self) -> f64 {
        self.quantiles.last().map_or(f64::NAN, |quantile| quantile.1)
    }
}

/// Runs untraced and recorded loops in turn and prints them side by side.
pub fn show(bench: &Bench, calls: u64, repeats: usize) {
    let ways = [("untraced", Under::Nothing), ("hook, memory", Under::Memory), ("hook, disk", Under::Disk)];
    let mut runs: [Vec<Run>; 3] = Default::default();
    for _ in 0..repeats {
        for ((_, under), runs) in ways.iter().zip(&mut runs) {
            runs.push(Run::of(bench, calls, *under, false));
        }
    }
    for runs in &mut runs {
        runs.sort_by(|one, other| one.most().total_cmp(&other.most()));
    }
    println!("\nsingle calls, {calls} each, processor time of the thread with one reading of its clock, us");
    println!("the run with the smallest maximum of {repeats}; in brackets all maxima");
    let best: Vec<&Run> = runs.iter().filter_map(|runs| runs.first()).collect();
    print!("{:<12}", "quantile");
    ways.iter().for_each(|(name, _)| print!(" {name:>14}"));
    println!("   recorded / untraced");
    for at in 0..best.first().map_or(0, |run| run.quantiles.len()) {
        let values: Vec<f64> = best.iter().map(|run| run.quantiles[at].1).collect();
        print!("{:<12}", best[0].quantiles[at].0);
        values.iter().for_each(|ns| print!(" {:>14.2}", ns / 1000.0));
        println!("   {:.1} and {:.1}", values[1] / values[0], values[2] / values[0]);
    }
    for ((name, _), runs) in ways.iter().zip(&runs) {
        let all: Vec<String> = runs.iter().map(|run| format!("{:.0}", run.most() / 1000.0)).collect();
        println!("[{name}: {}]", all.join(", "));
    }
    println!("\ncalls by time");
    let mut froms: Vec<u64> = best.iter().flat_map(|run| run.buckets.iter().map(|bucket| bucket.0)).collect();
    froms.sort_unstable();
    froms.dedup();
    for from in froms {
        print!("from {:>9.3} us", from as f64 / 1000.0);
        for run in &best {
            let count = run.buckets.iter().find(|bucket| bucket.0 == from).map_or(0, |bucket| bucket.1);
            print!(" {count:>12}");
        }
        println!();
    }
    println!("\nwhere the longest come from");
    for ((name, under), run) in ways.iter().zip(&best) {
        let faults = Run::of(bench, calls / 10, *under, true).faulted;
        let each = if faults.0 == 0 { 0.0 } else { faults.1 / faults.0 as f64 / 1000.0 };
        println!(
            "{name:<14} {}; {} of {} calls took a page fault, {each:.1} us each",
            spacing(run),
            faults.0,
            calls / 10
        );
    }
}

/// Whether the longest calls come at even distances, as chunk rolls do.
fn spacing(run: &Run) -> String {
    let mut at: Vec<u64> = run.late.iter().map(|late| late.0).collect();
    at.sort_unstable();
    let mean = run.late.iter().map(|late| late.1).sum::<f64>() / run.late.len().max(1) as f64;
    let distances: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let fitting = |kib: u64| distances.iter().filter(|&&distance| is_of_chunks(distance, kib)).count();
    // Of sizes that fit alike the largest: its multiples are the others' too.
    let kib = [64, 128, 256, 512, 1024].into_iter().max_by_key(|&kib| fitting(kib)).unwrap_or(0);
    let (fitting, all) = (fitting(kib), distances.len());
    format!(
        "longest {}: {:.0} us on average, {fitting} of {all} apart by whole {kib} KiB chunks",
        at.len(),
        mean / 1000.0
    )
}

/// Whether a number of calls fills whole chunks, of whose slots the header and the thread's introduction take some,
/// and now and then a clock reading one more.
fn is_of_chunks(calls: u64, kib: u64) -> bool {
    let each = (kib * 1024 - 128) / 48 - 2;
    let chunks = (calls + each / 2) / each;
    chunks > 0 && calls.abs_diff(chunks * each) <= chunks
}
