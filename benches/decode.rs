//! Decoding native files into a trace, beside a floor measured in the same run.
//!
//! `cargo bench --bench decode [-- EVENTS]` (default 10 million). Prints events a second for the reader and for the
//! floor, their ratio, and the heap that one event takes. The floor is what 64 Ki-row columns cost when filled by hand
//! from 48-byte records that lie in memory: no chunks, no checksums, no sites, streams or devices.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Cursor};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use umtui::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use umtui::parse::{NativeReader, ParseError};
use umtui::trace::{Bytes, Trace};
use umtui_wire::clock::ClockTriple;
use umtui_wire::table::Layer;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        grow(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const THREADS: u32 = 8;
const APIS: u64 = 40;
const ROWS: usize = 64 * 1024;
const RUNS: usize = 5;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A file of `events` calls: eight threads at once, forty functions, up to three deep, a quarter of them with a stream,
/// a tenth with an extra slot.
fn native(events: usize) -> io::Result<Vec<u8>> {
    let start = ClockTriple { ticks: 1 << 40, monotonic_ns: 1 << 38, realtime_ns: 1 << 60 };
    let info = FileInfo { ticks_per_second: 2_100_000_000, start, ..FileInfo::default() };
    let mut writer = NativeWriter::new(Cursor::new(Vec::with_capacity(events * 54 + (16 << 20))), info, 1 << 20);
    for api in 0..APIS {
        let arguments = match api % 4 {
            0 => "dst:ptr@32 bytes:size@40 kind:copykind@28",
            1 => "ptr:ptr@32 stream:handle@40",
            2 => "bytes:size@32 ptr:*ptr@40 flags:hex@28",
            _ => "function:handle@32 shared:u64@40 flags:hex@28",
        };
        let layer = if api % 2 == 0 { Layer::Runtime } else { Layer::Driver };
        writer.api(layer, &format!("cudaFunction{api}({arguments})"))?;
    }
    let get_device = writer.api(Layer::Runtime, "cudaGetDevice(device:*dev@28)")?;
    let mut random = Random(88_172_645_463_325_252);
    let mut ticks = [start.ticks; THREADS as usize];
    let mut call = CallRecord::default();
    let mut made = 0;
    while made < events {
        let thread = random.below(u64::from(THREADS)) as usize;
        let begin = ticks[thread] + random.below(4000);
        let depth = random.below(4).min(2) as u8;
        let mut end = begin + 200;
        for level in (0..=depth).rev() {
            end += 30 + random.below(9000);
            call.api = if random.below(40) == 0 { get_device } else { random.below(APIS) as u16 };
            call.start = begin + u64::from(level) * 10;
            call.duration = end - call.start;
            call.site = 0x7f00_0000_0000 + random.below(300) * 24;
            call.depth = level;
            call.status = u32::from(random.below(100) == 0);
            call.arguments.clear();
            call.arguments.extend_from_slice(&(random.below(5) as u32).to_le_bytes());
            call.arguments.extend_from_slice(&(0x7f00_0000_0000 + (random.below(65536) << 16)).to_le_bytes());
            let second = if call.api % 4 == 1 { 0x5000 + random.below(6) * 16 } else { random.below(64) << 20 };
            call.arguments.extend_from_slice(&second.to_le_bytes());
            if random.below(10) == 0 {
                call.arguments.extend_from_slice(&[7; 16]);
            }
            writer.call(thread as u32 + 1, &call)?;
            made += 1;
        }
        ticks[thread] = end;
    }
    writer.finish(true).map(Cursor::into_inner)
}

/// Columns as the floor fills them.
#[derive(Default)]
struct Columns {
    start: Vec<u64>,
    duration: Vec<u32>,
    api: Vec<u16>,
    thread: Vec<u16>,
    a: Vec<u64>,
    b: Vec<u64>,
    c: Vec<u32>,
}

impl Columns {
    fn new() -> Self {
        Self {
            start: Vec::with_capacity(ROWS),
            duration: Vec::with_capacity(ROWS),
            api: Vec::with_capacity(ROWS),
            thread: Vec::with_capacity(ROWS),
            a: Vec::with_capacity(ROWS),
            b: Vec::with_capacity(ROWS),
            c: Vec::with_capacity(ROWS),
        }
    }
}

/// The same number of 48-byte records, one after another: start, end, api, thread, three arguments.
fn flat(events: usize) -> Vec<u8> {
    let mut random = Random(88_172_645_463_325_252);
    let mut bytes = Vec::with_capacity(events * 48);
    let mut now = 1u64 << 40;
    for event in 0..events as u64 {
        now += 50 + random.below(4000);
        bytes.extend_from_slice(&now.to_le_bytes());
        bytes.extend_from_slice(&(now + 30 + random.below(9000)).to_le_bytes());
        bytes.extend_from_slice(&(random.below(APIS) as u32).to_le_bytes());
        bytes.extend_from_slice(&((event / 64 % 8) as u32).to_le_bytes());
        bytes.extend_from_slice(&(random.below(65536) << 16).to_le_bytes());
        bytes.extend_from_slice(&random.below(64).to_le_bytes());
        bytes.extend_from_slice(&random.below(3).to_le_bytes());
    }
    bytes
}

fn floor(bytes: &[u8]) -> Vec<Columns> {
    let mut chunks: Vec<Columns> = Vec::new();
    let mut left = 0;
    for record in bytes.chunks_exact(48) {
        if left == 0 {
            chunks.push(Columns::new());
            left = ROWS;
        }
        left -= 1;
        let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap_or_default());
        let Some(columns) = chunks.last_mut() else { break };
        let start = word(0);
        columns.start.push(start);
        columns.duration.push(u32::try_from(word(8) - start).unwrap_or(u32::MAX));
        columns.api.push(word(16) as u16);
        columns.thread.push((word(16) >> 32) as u16);
        columns.a.push(word(24));
        columns.b.push(word(32));
        columns.c.push(word(40) as u32);
    }
    chunks
}

fn decode(bytes: &Arc<dyn Bytes>, budget: usize) -> Result<Trace, ParseError> {
    let mut trace = Trace::default();
    let mut reader = NativeReader::open(bytes.clone(), "bench.umt", &mut trace)?;
    while reader.poll(&mut trace, budget)?.more {}
    Ok(trace)
}

/// Seconds that this thread has been on a processor: what others do on the machine counts less than by the wall clock.
fn busy(begin: Instant) -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_cpu = schedstat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
    on_cpu.map_or_else(|| begin.elapsed().as_secs_f64(), |ns| ns as f64 / 1e9)
}

/// Seconds of the middle and of the quickest of five runs.
fn time<R>(mut run: impl FnMut() -> R) -> (f64, f64) {
    let epoch = Instant::now();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let begin = busy(epoch);
            let result = black_box(run());
            let seconds = busy(epoch) - begin;
            drop(result);
            seconds
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[RUNS / 2], times[0])
}

/// A file read with pread.
struct OnDisk(File);

impl Bytes for OnDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let events = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(10_000_000);
    let rate = |seconds: f64| events as f64 / seconds / 1e6;
    let line = |what: &str, (middle, best): (f64, f64), floor: (f64, f64)| {
        println!(
            "{what:<42}{:7.1} M events/s ({:.1} at best), {:.2}x the floor's time ({:.2} at best)",
            rate(middle),
            rate(best),
            middle / floor.0,
            best / floor.1
        );
    };
    let records = flat(events);
    let base = time(|| floor(&records));
    line("floor: by hand into 64 Ki-row columns", base, base);
    drop(records);

    let image = native(events)?;
    println!("native file: {} MB, {:.1} B an event", image.len() / 1_000_000, image.len() as f64 / events as f64);
    let path = std::env::temp_dir().join(format!("umtui-bench-{}.umt", std::process::id()));
    std::fs::write(&path, &image)?;
    let image: Arc<dyn Bytes> = Arc::new(image);

    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let trace = decode(&image, 80_000)?;
    let held = HELD.load(Ordering::Relaxed) - before;
    let peak = PEAK.load(Ordering::Relaxed) - before;
    println!(
        "heap: {:.1} B an event held, {:.1} at the peak",
        held as f64 / events as f64,
        peak as f64 / events as f64
    );
    println!(
        "{} calls, {} tracks, {} sites, {} streams, {} damaged",
        trace.events(),
        trace.tracks.len(),
        trace.sites.len(),
        trace.streams.len(),
        trace.damage.len()
    );
    let scan = time(|| {
        let mut sum = 0u64;
        for track in &trace.tracks {
            track.for_each(0..track.len(), |call| sum = sum.wrapping_add(call.duration_ns ^ call.start_ns));
        }
        sum
    });
    line("for_each over all rows", scan, base);
    drop(trace);

    let memory = time(|| decode(&image, 80_000));
    line("decode from memory", memory, base);
    drop(image);
    let file: Arc<dyn Bytes> = Arc::new(OnDisk(File::open(&path)?));
    let disk = time(|| decode(&file, 80_000));
    line("decode from a file in the page cache", disk, base);
    std::fs::remove_file(&path)?;
    Ok(())
}
