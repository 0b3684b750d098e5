//! What memory costs: the table of allocations, the account of what was in use, and where pages were, on one core.
//!
//! `cargo bench --bench memory [-- THOUSANDS]` writes a trace of so many thousand allocations of managed memory (1,000 if
//! not said; half of them are released) by eight threads, and ten records of unified memory for each (faults of both
//! sides, migrations to and fro), into a file. Then it loads that, finds the allocations at once and in slices of 4 ms,
//! and makes the account, the movements of pages, heat and transfers, in processor time of the thread; and says how much heap a
//! record and an allocation take. Then it opens the file as the program does, with the memory screen and with the heatmap: when they can
//! be used, when all of them is there, and how long answers and frames take while keys are pressed (`frames`).
//!
//! `-- THOUSANDS keep=PATH` writes the trace there, and does nothing else; `-- THOUSANDS screens` leaves out all but the
//! screens.

mod common;
#[path = "memory/frames.rs"]
mod frames;

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{THREADS, cpu};
use umtui::correlate::{Allocation, AllocationFinder, Allocations};
use umtui::memory::heat::{Grid, Heat};
use umtui::memory::transfers::Transfers;
use umtui::memory::{Account, Block, movements};
use umtui::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use umtui::session::Loaded;
use umtui::trace::{Bytes, LaneOf, Layer, ProcessId};
use umtui_wire::activity::{
    KIND_GPU_CLOCK, KIND_UNIFIED, UNIFIED_CPU_FAULT, UNIFIED_GPU_FAULT, UNIFIED_TO_DEVICE, UNIFIED_TO_HOST,
};
use umtui_wire::clock::ClockTriple;
use umtui_wire::record::Head;

/// The driver's clock where the file's begins, ns.
const DRIVER_NS: u64 = 1_700_000_000_000_000_000;
/// The thread that collects records.
const COLLECTOR: u32 = 99;
/// Bytes of an allocation: 16 pages.
const BYTES: u64 = 64 << 10;
/// Places that memory comes from again and again; what is not released has a place of its own.
const PLACES: u64 = 10_000;
/// Records of unified memory for each allocation.
const RECORDS: u64 = 10;
/// The newest allocations, in which pages move; half of them are released after that.
const NEWEST: u64 = 1_000;
/// A slice of a session's thread.
const SLICE: Duration = Duration::from_millis(4);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let thousands = std::env::args().filter_map(|word| word.parse::<u64>().ok()).next().unwrap_or(1_000);
    if let Some(path) = std::env::args().find_map(|word| word.strip_prefix("keep=").map(str::to_owned)) {
        return Ok(write(BufWriter::new(File::create(path)?), thousands * 1_000)?);
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("bench.umt");
    write(BufWriter::new(File::create(&path)?), thousands * 1_000)?;
    if std::env::args().any(|word| word == "screens") {
        return frames::screens(&path);
    }
    let (begun, wall) = (cpu(), Instant::now());
    let mut loaded = Loaded::load_all(std::slice::from_ref(&path))?;
    println!("{} events loaded in {:.2?} ({:.2?} on the wall)", loaded.trace().events(), cpu() - begun, wall.elapsed());
    let activities = &loaded.trace().activities;
    let heap = activities.heap_bytes() as f64 / activities.records() as f64;
    println!("{} records of unified memory, {heap:.1} bytes of heap each", activities.records());

    let begun = cpu();
    let found = loaded.allocations();
    let count: usize = found.iter().map(|of| of.all().len()).sum();
    println!("{count} allocations found at once in {:.2?}", cpu() - begun);
    slices(&loaded);
    rest(&loaded, &found);
    heat(&loaded);
    transfers(&loaded);
    drop((loaded, found));
    frames::screens(&path)
}

/// Finds them as a session's thread does, between batches.
fn slices(loaded: &Loaded) {
    let files: Vec<Option<Arc<dyn Bytes>>> = loaded.bytes().into_iter().map(Some).collect();
    let mut finder = AllocationFinder::default();
    let (mut longest, mut slices, begun) = (Duration::ZERO, 0, cpu());
    loop {
        let slice = cpu();
        let done = finder.advance(loaded.trace(), &files, &mut || cpu() - slice < SLICE);
        longest = longest.max(cpu() - slice);
        slices += 1;
        if done {
            break;
        }
    }
    println!("in {slices} slices in {:.2?}, the longest {longest:.2?}", cpu() - begun);
}

/// What is made of them.
fn rest(loaded: &Loaded, found: &[Arc<Allocations>]) {
    let begun = cpu();
    let block = |process| move |&allocation: &Allocation| Block { process, allocation };
    let processes = (0..).map(ProcessId).zip(found);
    let blocks = processes.flat_map(|(process, of)| of.all().iter().map(block(process))).collect();
    let account = Account::of(blocks, Vec::new());
    let all = account.totals(umtui::memory::Group::All);
    println!("account of {} allocations, {} live at the end, in {:.2?}", all.count, all.live_count, cpu() - begun);
    let begun = cpu();
    let list = movements(loaded.trace(), &loaded.bytes(), found, &|_, _| true).unwrap_or_default().allocations;
    let moved: u64 = list.iter().map(umtui::memory::Movement::bytes).sum();
    println!("movements of {} allocations, {moved} bytes, in {:.2?}", list.len(), cpu() - begun);
}

/// Heat of all records, beside a look at each of them, and pictures of it.
fn heat(loaded: &Loaded) {
    let lanes = loaded.trace().activities.lanes();
    let Some(lane) = lanes.iter().find(|lane| lane.of == LaneOf::Unified) else { return };
    let begun = cpu();
    let mut bytes = 0u64;
    lane.for_each(0, |_, activity| bytes = bytes.wrapping_add(activity.value ^ activity.address));
    println!("floor: {} records looked at in {:.2?} ({bytes:x})", lane.len(), cpu() - begun);
    let begun = cpu();
    let mut heat = Heat::default();
    heat.take(lane, usize::MAX, |_| true);
    let each = heat.heap_bytes() as f64 / lane.len() as f64;
    println!("heat of them in {:.2?}, {each:.1} bytes of heap each", cpu() - begun);
    let (first, last) = heat.span().unwrap_or_default();
    let extents = heat.extents(u64::MAX / 2);
    let (from, to) = extents.first().copied().unwrap_or_default();
    for (what, lines, columns, closer) in
        [("80 x 24", 16, 69, 1), ("200 x 50", 43, 189, 1), ("a hundredth", 43, 189, 100)]
    {
        let size = (to - from).div_ceil(lines).next_power_of_two();
        let rows: Vec<(u64, u64)> = (0..lines).map(|row| (from + row * size, from + (row + 1) * size)).collect();
        let column_ns = (last - first).div_ceil(columns as u64 * closer) + 1;
        let begun = cpu();
        let cells = heat.picture(lane, Grid { from_ns: first, column_ns, columns, rows: &rows });
        let used = cells.iter().filter(|cell| !cell.is_empty()).count();
        println!("a picture of all addresses, {what}: {:.2?}, {used} cells with something in them", cpu() - begun);
    }
}

/// What moved from where to where, as the tab of transfers and the report sum it up.
fn transfers(loaded: &Loaded) {
    let begun = cpu();
    let all = Transfers::of(loaded.trace(), &loaded.bytes(), &|_, _| true);
    println!("transfers of all records in {:.2?}, {} pairs", cpu() - begun, all.flows().len());
}

fn write<W: Write + Seek>(out: W, allocations: u64) -> io::Result<()> {
    let start = ClockTriple { ticks: 0, monotonic_ns: 0, realtime_ns: DRIVER_NS };
    let mut writer = NativeWriter::new(out, FileInfo { start, ..FileInfo::default() }, 1 << 20);
    let malloc = writer.api(Layer::Runtime, "cudaMallocManaged(ptr:*ptr@28 bytes:size@36)")?;
    let free = writer.api(Layer::Runtime, "cudaFree(ptr:ptr@28)")?;
    let head = Head { kind: KIND_GPU_CLOCK, extra: 0, a: 0, b: 0 };
    writer.record(COLLECTOR, &[head.word(), 1_000, DRIVER_NS + 1_000, 0, DRIVER_NS + 1_000, 0], 1_000)?;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let address = |number: u64| {
        let place = if number.is_multiple_of(2) { number / 2 % PLACES } else { PLACES + number / 2 };
        0x7000_0000_0000 + place * BYTES
    };
    let mut now = 1_000_000;
    for number in 0..allocations {
        let thread = 100 + next() as u32 % THREADS;
        let site = 0x40_0000 + next() % 24 * 16;
        let arguments = [address(number).to_le_bytes(), BYTES.to_le_bytes()].concat();
        let call = CallRecord { site, arguments, start: now, duration: 800, ..CallRecord::default() };
        writer.call(thread, &CallRecord { api: malloc, ..call.clone() })?;
        now += 1_000;
        for _ in 0..RECORDS {
            // One of the newest thousand, any page of it.
            let page = address(number.saturating_sub(next() % NEWEST)) + next() % 16 * 4096;
            let (what, bytes, length, from, to) = match next() % 4 {
                0 => (UNIFIED_GPU_FAULT, 1 + next() % 3, 20_000, 0, 0),
                1 => (UNIFIED_CPU_FAULT, 0, 0, 0, 0),
                2 => (UNIFIED_TO_DEVICE, 4096, 3_000, u32::MAX, 0),
                _ => (UNIFIED_TO_HOST, 4096, 3_000, 0, u32::MAX),
            };
            now += 200;
            let start = DRIVER_NS + now;
            let head = Head { kind: KIND_UNIFIED, extra: 0, a: what, b: 1 + (next() % 2) as u32 };
            let end = if length == 0 { 0 } else { start + length + next() % 1_000 };
            let words = [head.word(), start, end, bytes, page, u64::from(from) | u64::from(to) << 32];
            writer.record(COLLECTOR, &words, now + 30_000)?;
        }
        if let Some(old) = number.checked_sub(NEWEST).filter(|old| old.is_multiple_of(2)) {
            let arguments = address(old).to_le_bytes().to_vec();
            writer.call(thread, &CallRecord { api: free, start: now, duration: 900, arguments, ..call })?;
            now += 1_000;
        }
    }
    writer.finish(true)?;
    Ok(())
}
