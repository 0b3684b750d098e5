//! A made-up trace, the same for all benches that need one: eight threads, single calls and launches with the driver's
//! call in them, from 24 call sites; if wanted also kernels on four streams and ranges.

#![allow(dead_code, reason = "each bench uses a part of it")]

use std::io::{self, Seek, Write};
use std::time::Duration;

use umtui::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use umtui::trace::Layer;
use umtui::trace::activity::raw::Submitted;
use umtui_wire::activity::{KIND_GPU_CLOCK, KIND_KERNEL, KIND_RANGE_POP, KIND_RANGE_PUSH, Kernel, Range};
use umtui_wire::clock::ClockTriple;
use umtui_wire::record::Head;

/// Threads that call.
pub const THREADS: u32 = 8;
/// The driver's clock where the file's begins, ns.
const DRIVER_NS: u64 = 1_700_000_000_000_000_000;
/// The thread that collects what the GPU did.
const COLLECTOR: u32 = 99;
/// Distinct names of ranges.
const RANGES: u64 = 50;
/// A range begins with about so many calls of a thread.
const CALLS_IN_RANGE: u64 = 1_000;

/// What the trace has.
pub struct Made {
    /// About so many calls, records and beginnings and ends of ranges.
    pub events: u64,
    /// Time from call to call, ns.
    pub step_ns: u64,
    /// Names of kernels; without any there are neither kernels nor ranges.
    pub kernels: Vec<String>,
}

impl Made {
    /// Calls alone.
    pub fn calls(events: u64, step_ns: u64) -> Self {
        Self { events, step_ns, kernels: Vec::new() }
    }

    /// Writes it.
    pub fn write<W: Write + Seek>(&self, out: W) -> io::Result<W> {
        let start = ClockTriple { ticks: 0, monotonic_ns: 0, realtime_ns: DRIVER_NS };
        let mut writer = NativeWriter::new(out, FileInfo { start, ..FileInfo::default() }, 1 << 20);
        self.fill(&mut writer)?;
        writer.finish(true)
    }

    fn fill<W: Write + Seek>(&self, writer: &mut NativeWriter<W>) -> io::Result<()> {
        let launch = writer.api(Layer::Runtime, "cudaLaunchKernel(function:ptr@32)")?;
        let inner = writer.api(Layer::Driver, "cuLaunchKernel(function:handle@32)")?;
        let singles = [
            writer.api(Layer::Runtime, "cudaMalloc(ptr:*ptr@28 bytes:size@36)")?,
            writer.api(Layer::Runtime, "cudaFree(ptr:ptr@28)")?,
            writer.api(Layer::Runtime, "cudaStreamSynchronize(stream:handle@32)")?,
        ];
        let mut gpu = Gpu::new(writer, &self.kernels)?;
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let mut now = 1_000_000;
        let mut made = 0;
        while made < self.events {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let thread = 100 + (random >> 8) as u32 % THREADS;
            let site = 0x40_0000 + (random >> 16) % 24 * 16;
            let duration = 200 + (random >> 24) % 4000;
            // Of 100,000 addresses.
            let address = 0x7000_0000_0000 + (random >> 20) % 100_000 * 4096;
            let arguments = [address.to_le_bytes(), 4096u64.to_le_bytes()].concat();
            let call = CallRecord { site, arguments, ..CallRecord::default() };
            now += self.step_ns;
            made += gpu.range(writer, thread, random >> 32, now)?;
            if random % 10 < 6 {
                let start = now + 100;
                made += gpu.launch(writer, thread, random >> 12, start)?;
                writer.call(thread, &CallRecord { api: inner, start, duration, depth: 1, ..call.clone() })?;
                writer.call(thread, &CallRecord { api: launch, start: now, duration: duration + 300, ..call })?;
                made += 2;
            } else {
                let api = singles.get((random >> 40) as usize % 3).copied().unwrap_or(launch);
                writer.call(thread, &CallRecord { api, start: now, duration, ..call })?;
                made += 1;
            }
        }
        Ok(())
    }
}

/// What the GPU does, and the ranges.
struct Gpu {
    kernels: Vec<u32>,
    ranges: Vec<u32>,
    /// Threads with an open range.
    open: [bool; THREADS as usize],
    correlation: u32,
    /// Every kernel is launched once first.
    next: usize,
}

impl Gpu {
    fn new<W: Write + Seek>(writer: &mut NativeWriter<W>, names: &[String]) -> io::Result<Self> {
        let kernels: Vec<u32> = names.iter().map(|name| writer.string(name.as_bytes())).collect::<Result<_, _>>()?;
        let mut ranges = Vec::new();
        if !kernels.is_empty() {
            let head = Head { kind: KIND_GPU_CLOCK, extra: 0, a: 0, b: 0 };
            writer.record(COLLECTOR, &[head.word(), 1_000, DRIVER_NS + 1_000, 0, DRIVER_NS + 1_000, 0], 1_000)?;
            for number in 0..RANGES {
                ranges.push(writer.string(format!("step {number}").as_bytes())?);
            }
        }
        Ok(Self { kernels, ranges, open: [false; THREADS as usize], correlation: 0, next: 0 })
    }

    fn range<W: Write + Seek>(
        &mut self,
        writer: &mut NativeWriter<W>,
        thread: u32,
        random: u64,
        now: u64,
    ) -> io::Result<u64> {
        let slot = self.open.get_mut((thread - 100) as usize);
        let (Some(open), 0, false) = (slot, random % CALLS_IN_RANGE, self.ranges.is_empty()) else { return Ok(0) };
        let kind = if *open { KIND_RANGE_POP } else { KIND_RANGE_PUSH };
        *open = !*open;
        let name = self.ranges.get((random / CALLS_IN_RANGE % RANGES) as usize).copied().unwrap_or(0);
        let ticks = now - 50;
        writer.record(thread, &Range { head: Range::head(kind, 0, 0), ticks, name, ..Range::default() }, ticks)?;
        Ok(1)
    }

    /// The call that starts then launches a kernel.
    fn launch<W: Write + Seek>(
        &mut self,
        writer: &mut NativeWriter<W>,
        thread: u32,
        random: u64,
        start: u64,
    ) -> io::Result<u64> {
        if self.kernels.is_empty() {
            return Ok(0);
        }
        let number = if self.next < self.kernels.len() { self.next } else { random as usize % self.kernels.len() };
        self.next += 1;
        self.correlation += 1;
        let correlation = self.correlation;
        writer.submit(thread, start, &Submitted { correlation, ..Submitted::default() })?;
        let (begin, stream) = (DRIVER_NS + start + 3_000, 7 + (random >> 20) as u32 % 4);
        let end = begin + 1_000 + (random >> 24) % 20_000;
        let name = self.kernels.get(number).copied().unwrap_or(0);
        let head = Kernel::head(KIND_KERNEL, 0, correlation);
        let kernel = Kernel { head, start: begin, end, name, context: 1, stream, ..Kernel::default() };
        writer.record(COLLECTOR, &kernel, start + 30_000)?;
        Ok(1)
    }
}

/// Processor time of this thread so far: what others do on the machine counts less than by the wall clock.
pub fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is there on every Linux, and the place is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// The middle one.
pub fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
