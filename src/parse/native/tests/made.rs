//! Traces made at random: what the file holds is known beforehand.

use super::gpu::{self, KnownWork};
use crate::parse::native::writer::{CallRecord, FileInfo, ModuleRecord, NativeWriter};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use umtui_wire::chunk::OpenCall;
use umtui_wire::clock::ClockTriple;
use umtui_wire::record::{FLAG_CAPTURED, FLAG_ENTRY, FLAG_NO_ARGUMENTS, FLAG_NOT_STATUS};
use umtui_wire::table::Layer;

/// A small random source, so that a failing seed is one number.
pub struct Random(pub u64);

impl Random {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound.max(1)
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

pub const SIGNATURES: &[(Layer, &str)] = &[
    (Layer::Runtime, "cudaMallocManaged(ptr:*ptr@32 bytes:size@40 flags:hex@28)"),
    (Layer::Runtime, "cudaFree(ptr:ptr@32)"),
    (Layer::Runtime, "cudaMemPrefetchAsync(ptr:ptr@32 bytes:size@40 location:loc@48 flags:hex@28 stream:handle@56)"),
    (Layer::Runtime, "cudaMemcpyAsync(dst:ptr@32 src:ptr@40 bytes:size@48 kind:copykind@28 stream:handle@56)"),
    (Layer::Runtime, "cudaMemcpyAsync_ptsz(dst:ptr@32 src:ptr@40 bytes:size@48 kind:copykind@28 stream:handle@56)"),
    (Layer::Driver, "cuLaunchKernel(function:handle@32 grid:dim3@40 block:dim3@52 shared:u32@28 stream:handle@64)"),
    (Layer::Runtime, "cudaGetErrorString(error:i32@28)"),
    (Layer::Driver, "cuModuleGetFunction(function:*handle@32 name:str@28)"),
    (Layer::Driver, "cuMemAdvise(ptr:ptr@32 bytes:size@40 advice:advice@28 device:dev@48)"),
    (Layer::Runtime, "cudaDeviceSynchronize()"),
    (Layer::Runtime, "cudaStreamCreate(stream:*handle@32)"),
    (Layer::Driver, "cuStreamCreate(stream:*handle@32 flags:hex@28)"),
    (Layer::Runtime, "cudaStreamDestroy(stream:handle@32)"),
    (Layer::Runtime, "cudaSetDevice(device:dev@28)"),
];
const PLAIN: u64 = 10;
const CREATE: u16 = 10;
const CREATE_INNER: u16 = 11;
const DESTROY: u16 = 12;
const SET_DEVICE: u16 = 13;

/// Where the stream of each plain function lies in its arguments.
const fn stream_at(api: u64) -> Option<usize> {
    match api {
        2..=4 => Some(28),
        5 => Some(36),
        _ => None,
    }
}

#[derive(Clone, Copy)]
pub struct Wishes {
    pub threads: u64,
    pub groups: u64,
    pub ticks_per_second: u64,
    pub sealed: bool,
    pub hand_overs: bool,
    /// Records of the GPU and ranges.
    pub gpu: bool,
}

/// A made trace, and what is known of its calls: (thread, start, duration, api, status, depth, site, generation of
/// its stream if it has one that was made).
pub struct Made {
    pub image: Vec<u8>,
    pub calls: Vec<Known>,
    pub lost: u64,
    pub open: usize,
    /// What the GPU did, sorted.
    pub works: Vec<KnownWork>,
    /// Beginnings and ends of ranges, and marks.
    pub range_records: u64,
    /// Correlation ids and the calls that submitted the work.
    pub submits: Vec<(u32, Known)>,
    /// Widest bracket of the driver's clock, ticks.
    pub error: u64,
}

impl Made {
    /// Events in the file.
    pub fn events(&self) -> u64 {
        self.calls.len() as u64 + self.works.len() as u64 + self.range_records
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    pub thread: u32,
    pub start: u64,
    pub duration: u64,
    pub api: u16,
    pub status: u32,
    pub depth: u8,
    pub site: u64,
    pub stream: Option<(u64, u32)>,
}

pub struct Stream {
    handle: u64,
    generation: u32,
    from: u64,
    last_use: u64,
}

pub struct Maker {
    pub random: Random,
    pub writer: NativeWriter<Cursor<Vec<u8>>>,
    calls: Vec<Known>,
    streams: Vec<Stream>,
    /// Handles that were destroyed, when, and how many streams they have been.
    free: Vec<(u64, u64, u32)>,
    pub busy_until: BTreeMap<u32, u64>,
    ids: u32,
    now: u64,
    lost: u64,
    pub strings: Vec<u32>,
    pub rate: u64,
    gpu: bool,
    /// Up to when each thread has collected records.
    pub collected: BTreeMap<u32, u64>,
    pub error: u64,
    pub works: Vec<KnownWork>,
    pub range_ids: u64,
    pub open_ranges: BTreeSet<u64>,
    pub range_records: u64,
    pub correlation: u32,
    submits: Vec<(u32, Known)>,
}

pub const START: u64 = 5_000_000_000;

#[allow(clippy::too_many_lines, reason = "one list of what is there at first")]
pub fn make(seed: u64, wishes: Wishes) -> Made {
    let start = ClockTriple { ticks: START, monotonic_ns: 77_000_000_000, realtime_ns: 1_700_000_000_000_000_000 };
    let info = FileInfo {
        pid: 4121,
        parent_pid: 4100,
        start_time: 99,
        rank: Some(0),
        local_rank: seed.is_multiple_of(2).then_some(7),
        boot_id: [7; 16],
        ticks_per_second: wishes.ticks_per_second,
        start,
        host: "gpu\"01".into(),
        program: "/opt/my app/train".into(),
        folder: "/home/u".into(),
        arguments: vec!["train".into(), String::new(), "--x=a b\n\u{1b}[1m".into()],
        ..FileInfo::default()
    };
    let mut random = Random(seed);
    let chunk = 65536 * (1 + random.below(3));
    let mut writer = NativeWriter::new(Cursor::new(Vec::new()), info, chunk);
    for (layer, signature) in SIGNATURES {
        writer.api(*layer, signature).unwrap();
    }
    let long = "k".repeat(30_000);
    let strings = ["_Z6kernelPf", "main", "a \"b\" \\ \n\t\u{7f}é", "", &long];
    let strings: Vec<u32> = strings.iter().map(|text| writer.string(text.as_bytes()).unwrap()).collect();
    for (index, path) in ["/usr/lib/libfoo.so", "/opt/my app/train", "/usr/lib/lib#odd).so"].iter().enumerate() {
        let path = writer.string(path.as_bytes()).unwrap();
        let start = 0x7f00_0000_0000 + index as u64 * 0x10_0000;
        let build_id = vec![index as u8; index * 20];
        let module = ModuleRecord {
            path,
            start,
            end: start + 0x8_0000,
            file_offset: index as u64 * 0x1000,
            ticks: START,
            build_id,
        };
        writer.module(&module).unwrap();
    }
    writer.kernel(0xabc0, strings[0], START).unwrap();
    let mut maker = Maker {
        random,
        writer,
        calls: Vec::new(),
        streams: Vec::new(),
        free: (0..4).map(|index| (0x5000 + index * 0x10, START, 0)).collect(),
        busy_until: BTreeMap::new(),
        ids: 100_000,
        now: START,
        lost: 0,
        strings,
        rate: wishes.ticks_per_second,
        gpu: wishes.gpu,
        collected: BTreeMap::new(),
        error: 0,
        works: Vec::new(),
        range_ids: 0,
        open_ranges: BTreeSet::new(),
        range_records: 0,
        correlation: 0,
        submits: Vec::new(),
    };
    if wishes.gpu {
        gpu::devices(&mut maker);
    }
    let mut threads: Vec<u32> = (0..wishes.threads as u32).map(|index| 4121 + index).collect();
    for _ in 0..wishes.groups {
        maker.step(&mut threads, wishes);
    }
    let open = maker.open_calls(&threads);
    let newest = maker.busy_until.values().copied().max().unwrap_or(START) + 10;
    let mut writer = maker.writer;
    writer.info_mut().last = ClockTriple { ticks: newest, monotonic_ns: newest, realtime_ns: newest };
    writer.info_mut().lost = 3;
    writer.info_mut().state = umtui_wire::header::STATE_ENDED;
    let image = writer.finish(wishes.sealed).unwrap().into_inner();
    maker.works.sort_unstable();
    Made {
        image,
        calls: maker.calls,
        lost: maker.lost + 3,
        open,
        works: maker.works,
        range_records: maker.range_records,
        submits: maker.submits,
        error: maker.error,
    }
}

impl Maker {
    fn step(&mut self, threads: &mut [u32], wishes: Wishes) {
        self.now += self.random.below(if self.random.0.is_multiple_of(50) { 7_000_000_000 } else { 400 });
        let index = self.random.below(threads.len() as u64) as usize;
        let mut thread = threads[index];
        let start = self.now.max(self.busy_until.get(&thread).copied().unwrap_or(0) + 1);
        if wishes.hand_overs && self.random.one_in(40) {
            self.ids += 1;
            let next = self.ids;
            if self.busy_until.contains_key(&thread) {
                let name = self.strings[1];
                self.writer.hand_over(thread, next, name, start).unwrap();
                threads[index] = next;
                self.busy_until.insert(next, start);
                thread = next;
            }
        }
        match self.random.below(60) {
            0 => self.writer.thread_name(thread, self.strings[self.random.0 as usize % 4], start).unwrap(),
            1 => {
                let rate = umtui_wire::clock::Rate::new(self.writer.info_mut().ticks_per_second);
                let since = rate.ns(start - START);
                let reading = ClockTriple {
                    ticks: start,
                    monotonic_ns: 77_000_000_000 + since,
                    realtime_ns: 1_700_000_000_000_000_000 + since,
                };
                self.writer.clock(thread, &reading).unwrap();
            }
            2 => {
                let count = self.random.below(9);
                self.writer.lost_here(thread, start, count).unwrap();
                self.lost += count;
            }
            3 => self.create(thread, start),
            4 => self.destroy(thread, start),
            5 => {
                let device = self.random.below(3);
                self.call(thread, start, 50, SET_DEVICE, 0, &(device as u32).to_le_bytes(), 0, None, 0);
                self.busy_until.insert(thread, start + 50);
            }
            6..=8 if wishes.gpu => self.collect(thread, start),
            9..=11 if wishes.gpu => self.range(thread, start),
            _ => {
                let depth = 0;
                let end = self.group(thread, start, depth);
                self.busy_until.insert(thread, end);
            }
        }
    }

    /// A call and what is nested in it; its end.
    fn group(&mut self, thread: u32, start: u64, depth: u8) -> u64 {
        let mut now = start + self.random.below(30);
        while depth < 3 && self.random.one_in(2 + u64::from(depth)) {
            now = self.group(thread, now, depth + 1) + self.random.below(20);
        }
        let long = self.random.one_in(200);
        now += if long { (1 << 32) + self.random.below(1 << 40) } else { self.random.below(3000) };
        let api = self.random.below(PLAIN);
        let mut arguments: Vec<u8> = (0..44).map(|_| self.random.draw() as u8).collect();
        let mut stream = None;
        if let Some(at) = stream_at(api) {
            let handle = self.pick_stream(start, now, &mut stream);
            arguments[at..at + 8].copy_from_slice(&handle.to_le_bytes());
        }
        if api == 7 {
            let id = self.strings[self.random.below(5) as usize];
            arguments[..4].copy_from_slice(&id.to_le_bytes());
        }
        if api == 3 && self.random.one_in(2) {
            arguments[..4].copy_from_slice(&(self.random.below(6) as u32).to_le_bytes());
        }
        let status = if self.random.one_in(12) { [2, 600, 700, 12345][self.random.below(4) as usize] } else { 0 };
        let mut flags = if self.random.one_in(9) { FLAG_CAPTURED } else { 0 };
        if api == 6 {
            flags |= FLAG_NOT_STATUS;
        } else if self.random.one_in(30) {
            flags |= FLAG_NO_ARGUMENTS;
            stream = None;
        } else if self.random.one_in(30) {
            flags |= FLAG_ENTRY;
            stream = None;
        }
        self.call(thread, start, now - start, api as u16, status, &arguments, depth, stream, flags);
        now
    }

    /// A stream that is there from `start` to `end`, or a default one.
    fn pick_stream(&mut self, start: u64, end: u64, stream: &mut Option<(u64, u32)>) -> u64 {
        let count = self.streams.len() as u64;
        if count == 0 || self.random.one_in(3) {
            return self.random.below(3);
        }
        let index = self.random.below(count) as usize;
        let picked = &mut self.streams[index];
        if picked.from > start {
            return 0;
        }
        picked.last_use = picked.last_use.max(end);
        *stream = Some((picked.handle, picked.generation));
        picked.handle
    }

    fn create(&mut self, thread: u32, start: u64) {
        let Some(place) = self.free.iter().position(|&(_, since, _)| since < start) else { return };
        let (handle, _, generation) = self.free.remove(place);
        let stream = Some((handle, generation));
        let bytes = [[0; 4].as_slice(), &handle.to_le_bytes()].concat();
        self.call(thread, start + 5, 10, CREATE_INNER, 0, &bytes, 1, stream, 0);
        self.call(thread, start, 20, CREATE, 0, &bytes, 0, stream, 0);
        self.streams.push(Stream { handle, generation, from: start + 20, last_use: start + 20 });
        self.busy_until.insert(thread, start + 20);
    }

    fn destroy(&mut self, thread: u32, start: u64) {
        let Some(place) = self.streams.iter().position(|stream| stream.last_use < start) else { return };
        let Stream { handle, generation, .. } = self.streams.remove(place);
        let bytes = [[0; 4].as_slice(), &handle.to_le_bytes()].concat();
        self.call(thread, start, 20, DESTROY, 0, &bytes, 0, Some((handle, generation)), 0);
        self.free.push((handle, start + 20, generation + 1));
        self.busy_until.insert(thread, start + 20);
    }

    #[allow(clippy::too_many_arguments)]
    fn call(
        &mut self,
        thread: u32,
        start: u64,
        duration: u64,
        api: u16,
        status: u32,
        arguments: &[u8],
        depth: u8,
        stream: Option<(u64, u32)>,
        flags: u8,
    ) {
        let modules = self.random.below(4);
        let site = 0x7f00_0000_0000 + modules * 0x10_0000 + self.random.below(40) * 16;
        let duration = if flags & FLAG_ENTRY != 0 { 0 } else { duration };
        let arguments = arguments.to_vec();
        let submit = (self.gpu && api == 5 && self.random.one_in(2)).then(|| self.submit(thread, start));
        // What is captured has an id, but does no work.
        let submit = submit.filter(|_| flags & FLAG_CAPTURED == 0);
        let record = CallRecord { api, status, start, duration, site, depth, flags, arguments };
        self.writer.call(thread, &record).unwrap();
        self.calls.push(Known { thread, start, duration, api, status, depth, site, stream });
        self.submits.extend(submit.zip(self.calls.last().cloned()));
    }

    fn open_calls(&mut self, threads: &[u32]) -> usize {
        let mut count = 0;
        for &thread in threads {
            if !self.random.one_in(2) {
                continue;
            }
            let start = self.busy_until.get(&thread).copied().unwrap_or(START) + 10;
            let mut calls = Vec::new();
            for depth in 0..=self.random.below(3) {
                calls.push(OpenCall {
                    head: 1 + self.random.below(PLAIN),
                    start: start + depth,
                    site: 0x7f00_0000_0040,
                    registers: [self.random.draw(), 0, u64::MAX],
                    frame: 0,
                    depth: depth << 48,
                });
            }
            count += calls.len();
            self.writer.in_flight(thread, &calls).unwrap();
        }
        count
    }
}
