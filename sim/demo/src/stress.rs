//! `stress`: an exact number of cheap calls over some threads, as fast as possible or at a rate.

use crate::Options;
use crate::cuda::{self, cheap};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// Calls that a thread makes between two looks at the clock, when it has a rate to keep.
const TICK: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Made {
    get_device: u64,
    peek: u64,
    query: u64,
}

impl Made {
    fn total(&self) -> u64 {
        self.get_device + self.peek + self.query
    }
}

#[inline(never)]
fn burst(calls: u64, stream: cuda::Handle, made: &mut Made) {
    let before = made.total();
    for number in before..before + calls {
        match number & 3 {
            0 | 2 => {
                cheap::get_device();
                made.get_device += 1;
            }
            1 => {
                cheap::query(stream);
                made.query += 1;
            }
            _ => {
                cheap::peek();
                made.peek += 1;
            }
        }
    }
}

#[inline(never)]
fn worker(calls: u64, rate: u64) -> Result<u64, String> {
    let mut stream = null_mut();
    // SAFETY: a valid out-pointer.
    unsafe { cuda::stream_create(&raw mut stream, 1) }?;
    let mut made = Made::default();
    if rate == 0 {
        burst(calls, stream, &mut made);
    } else {
        let start = Instant::now();
        while made.total() < calls {
            let due = u64::try_from(start.elapsed().as_nanos() * u128::from(rate) / 1_000_000_000).unwrap_or(calls);
            burst(due.min(calls).saturating_sub(made.total()), stream, &mut made);
            std::thread::sleep(TICK);
        }
    }
    cheap::account(made.get_device, made.peek, made.query);
    // SAFETY: this thread's own stream.
    unsafe { cuda::stream_destroy(stream) }?;
    Ok(made.total())
}

/// `total` split over `threads`, the first ones taking what does not divide.
fn share(total: u64, threads: u64, index: u64) -> u64 {
    total / threads + u64::from(index < total % threads)
}

/// Runs the scenario.
pub fn run(options: &Options) -> Result<String, String> {
    let calls = match (options.rate, options.seconds) {
        (0, _) | (_, 0) => options.calls,
        (rate, seconds) => rate.saturating_mul(seconds),
    };
    // SAFETY: device 0 exists or the call fails.
    unsafe { cuda::set_device(0) }?;
    let start = Instant::now();
    let made: Vec<u64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads)
            .map(|index| {
                let own = share(calls, options.threads, index);
                let rate = if options.rate == 0 { 0 } else { share(options.rate, options.threads, index).max(1) };
                scope.spawn(move || worker(own, rate))
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a thread failed".to_owned())))
            .collect::<Result<_, _>>()
    })?;
    let nanoseconds = start.elapsed().as_nanos();
    for (index, calls) in made.iter().enumerate() {
        println!("thread {index} calls {calls}");
    }
    let total: u64 = made.iter().sum();
    Ok(format!("stress threads {} calls {total} ns {nanoseconds}", options.threads))
}
