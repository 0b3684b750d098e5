//! `umtui-demo SCENARIO [options]`: workloads whose calls are counted, so that recordings can be held against the truth.

mod calls;
mod cuda;
mod cuda_api;
mod leak;
mod multi_gpu;
mod nvtx;
mod pingpong;
mod stress;
mod training;
mod use_after_free;

use std::process::ExitCode;

const USAGE: &str = "usage: umtui-demo pingpong|prefetch|training|leak|use-after-free|multi-gpu|stress [--rounds N] \
                     [--calls N] [--threads N] [--rate N] [--seconds N] [--seed N] [--counts]";

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds of a ping-pong, steps of a training.
    pub rounds: u64,
    /// Calls of a stress run, over all threads.
    pub calls: u64,
    /// Threads of a stress run.
    pub threads: u64,
    /// Calls a second over all threads; 0 means as fast as possible.
    pub rate: u64,
    /// Seconds of a run with a rate.
    pub seconds: u64,
    /// Seeds the data.
    pub seed: u64,
    /// Prints the calls by name at the end.
    pub counts: bool,
}

fn parse(arguments: &[String]) -> Option<(String, Options)> {
    let mut options = Options { rounds: 10, calls: 1_000_000, threads: 1, rate: 0, seconds: 0, seed: 1, counts: false };
    let mut scenario = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let slot = match word.as_str() {
            "--counts" => {
                options.counts = true;
                continue;
            }
            "--rounds" => &mut options.rounds,
            "--calls" => &mut options.calls,
            "--threads" => &mut options.threads,
            "--rate" => &mut options.rate,
            "--seconds" => &mut options.seconds,
            "--seed" => &mut options.seed,
            name if !name.starts_with('-') && scenario.is_none() => {
                scenario = Some(name.to_owned());
                continue;
            }
            _ => return None,
        };
        *slot = words.next()?.parse().ok()?;
    }
    options.threads = options.threads.max(1);
    Some((scenario?, options))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((scenario, options)) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let outcome = match scenario.as_str() {
        "pingpong" => pingpong::run(&options, false),
        "prefetch" => pingpong::run(&options, true),
        "training" => training::run(&options),
        "leak" => leak::run(&options),
        "use-after-free" => use_after_free::run(&options),
        "multi-gpu" => multi_gpu::run(&options),
        "stress" => stress::run(&options),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(summary) => {
            println!("{summary}");
            if options.counts {
                calls::print();
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("umtui-demo: {error}");
            ExitCode::FAILURE
        }
    }
}
