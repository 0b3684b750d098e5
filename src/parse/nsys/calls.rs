//! Calls of the runtime and the driver, and what memory they made or released.
//!
//! An export has no arguments of calls. Of those that made or released memory it has an event with address and size,
//! which is joined by the correlation id, so that they become the call's arguments.

use super::import::Importer;
use super::rows::{Call as Row, Frame, Usage};
use crate::parse::imported::{Call, Function, Process, Work, api_name};
use crate::trace::Layer;
use crate::trace::semantics::base_name;
use rustc_hash::FxHashMap;
use std::io;
use umtui_wire::activity as wire;

/// Events of memory that are kept until their calls are read.
const MEMORY_KEPT: usize = 8 << 20;
/// Stacks of which the caller is kept.
const STACKS_KEPT: usize = 4 << 20;

/// `eventClass` of calls of the runtime and of the driver, and of rows that only carry a stack.
const RUNTIME: i64 = 0;
const DRIVER: i64 = 1;
const BACKTRACE: i64 = 67;

/// Modules of which no code is the program's.
const OWN: &[&str] = &["libcuda.so", "libcudart", "libToolsInjection", "libcupti", "libnvidia"];

/// What calls leave for others to be joined with.
#[derive(Default)]
pub(super) struct Calls {
    /// Names of processes, by the upper bits of `globalPid`.
    pub(super) names: FxHashMap<i64, String>,
    /// Names of threads: `globalTid` and the number of the name.
    pub(super) thread_names: Vec<(i64, i64)>,
    functions: FxHashMap<(bool, i64), Known>,
    memory: FxHashMap<(Process, i64), Piece>,
    /// Pages of 64 correlation ids of calls that did not wait, by process.
    asynchronous: FxHashMap<(Process, i64), u64>,
    /// Who called: symbol, module and depth of the innermost frame of a stack that is not CUDA's own.
    stacks: FxHashMap<i64, (i64, i64, i64)>,
}

/// A function as the target knows it.
#[derive(Clone, Copy)]
struct Known {
    function: Function,
    /// It makes memory, or releases it: the arguments then are what an event of memory says.
    makes: Option<bool>,
    asynchronous: bool,
}

/// Memory that a call made or released.
#[derive(Clone, Copy)]
struct Piece {
    address: u64,
    bytes: u64,
    made: bool,
}

impl Calls {
    /// Whether the call with this correlation id was one that does not wait.
    pub(super) fn is_asynchronous(&self, process: Process, correlation: Option<i64>) -> bool {
        let Some(id) = correlation else { return false };
        self.asynchronous.get(&(process, id >> 6)).is_some_and(|page| page >> (id & 63) & 1 == 1)
    }
}

impl Importer<'_> {
    pub(super) fn usage(&mut self, row: &Usage, number: u64) -> io::Result<()> {
        let Some((time, _)) = self.times(row.start, None, number) else { return Ok(()) };
        let process = self.process(row.process);
        let operation = self.kinds.operation(row.operation);
        let bits = |value: Option<i64>| value.unwrap_or(0) as u64;
        let name = row.name.as_deref().map_or(0, |name| self.target.text(name).0);
        let memory = wire::Memory {
            time,
            address: bits(row.address),
            bytes: bits(row.bytes),
            code: bits(row.pc),
            context: id(row.context),
            stream: id(row.stream),
            operation,
            kind: self.kinds.memory(row.kind),
            flags: u8::from(row.pool.is_some_and(|pool| pool != 0)),
            name,
            pool: bits(row.pool.or(row.imported)),
            ..wire::Memory::default()
        };
        if let Some(correlation) = row.correlation.filter(|&id| id != 0)
            && operation != 0
            && self.calls.memory.len() < MEMORY_KEPT
        {
            let piece = Piece { address: memory.address, bytes: memory.bytes, made: operation == 1 };
            self.calls.memory.entry((process, correlation)).or_insert(piece);
        }
        let correlation = correlation(row.correlation);
        self.target.work(process, device(row.device), correlation, Work::Memory(memory))
    }

    pub(super) fn frame(&mut self, row: &Frame, _: u64) -> io::Result<()> {
        let (Some(id), Some(symbol), Some(depth)) = (row.id, row.symbol, row.depth) else { return Ok(()) };
        let module = row.module.unwrap_or(-1);
        let name = self.strings.get(row.module).unwrap_or_default();
        let file = name.rsplit('/').next().unwrap_or(name);
        if OWN.iter().any(|own| file.starts_with(own)) {
            return Ok(());
        }
        let stacks = &mut self.calls.stacks;
        let is_better = match stacks.get(&id) {
            Some(known) => depth < known.2,
            None => stacks.len() < STACKS_KEPT,
        };
        if is_better {
            stacks.insert(id, (symbol, module, depth));
        }
        Ok(())
    }

    pub(super) fn call(&mut self, row: &Row, number: u64) -> io::Result<()> {
        let is_driver = match row.class {
            Some(RUNTIME) => false,
            Some(DRIVER) => true,
            // The same call once more, with its stack.
            Some(BACKTRACE) => return Ok(()),
            Some(class) => {
                self.target.unplaced(other(class));
                return Ok(());
            }
            None => self.strings.get(row.name).is_some_and(|name| name.starts_with("cu") && !name.starts_with("cuda")),
        };
        let Some((start, end)) = self.times(row.start, row.end, number) else { return Ok(()) };
        let known = self.function(is_driver, row.name);
        let thread = self.thread(row.thread);
        let process = self.process(row.thread);
        let correlation = row.correlation.filter(|&id| id != 0);
        if known.asynchronous
            && let Some(id) = correlation
        {
            *self.calls.asynchronous.entry((process, id >> 6)).or_default() |= 1 << (id & 63);
        }
        let piece = correlation.and_then(|id| self.calls.memory.get(&(process, id)).copied());
        let piece = piece.filter(|piece| known.makes == Some(piece.made) && row.result.unwrap_or(0) == 0);
        let call = Call {
            function: known.function,
            start,
            end,
            status: row.result.map(|result| result as u32),
            correlation: self::correlation(correlation),
            site: self.site_of(row.chain),
            words: piece.map(|piece| [piece.address, piece.bytes, 0]),
        };
        self.target.call(thread, &call)
    }

    fn function(&mut self, is_driver: bool, name: Option<i64>) -> Known {
        let key = (is_driver, name.unwrap_or(-1));
        if let Some(&known) = self.calls.functions.get(&key) {
            return known;
        }
        let layer = if is_driver { Layer::Driver } else { Layer::Runtime };
        let full = self.strings.get(name).map_or_else(|| format!("function {}", key.1), ToOwned::to_owned);
        let name = api_name(&full);
        let base = base_name(name);
        let bare = base.strip_prefix("cuda").or_else(|| base.strip_prefix("cu")).unwrap_or(base);
        let (makes, arguments) = if MAKE.contains(&bare) {
            (Some(true), "ptr:*ptr@32 bytes:size@40")
        } else if RELEASE.contains(&bare) {
            (Some(false), "ptr:ptr@32")
        } else {
            (None, "")
        };
        let known = Known {
            function: self.target.function(layer, name, arguments),
            makes,
            asynchronous: bare.ends_with("Async") || bare.contains("Launch"),
        };
        self.calls.functions.insert(key, known);
        known
    }

    /// Whoever made a call, if the export has stacks.
    fn site_of(&mut self, chain: Option<i64>) -> u64 {
        let Some(&(symbol, module, _)) = chain.and_then(|chain| self.calls.stacks.get(&chain)) else { return 0 };
        let module = self.strings.get(Some(module)).unwrap_or_default();
        let function = self.strings.get(Some(symbol)).unwrap_or_default();
        self.target.site(module, function, "", 0)
    }
}

/// Functions that make memory at an address, without `cuda`, `cu` and endings.
const MAKE: &[&str] = &[
    "Malloc",
    "MallocPitch",
    "Malloc3D",
    "MemAlloc",
    "MemAllocPitch",
    "MallocManaged",
    "MemAllocManaged",
    "MallocHost",
    "HostAlloc",
    "MemAllocHost",
    "MemHostAlloc",
    "MallocAsync",
    "MallocFromPoolAsync",
    "MemAllocAsync",
    "MemAllocFromPoolAsync",
];
/// Likewise that release it.
const RELEASE: &[&str] = &["Free", "FreeHost", "FreeAsync", "MemFree", "MemFreeHost", "MemFreeAsync"];

/// Calls of other libraries, in the table of CUDA's.
const fn other(class: i64) -> &'static str {
    match class {
        13 => "calls of EGL",
        28 | 33 | 34 => "calls of cuDNN",
        29 | 35 | 36 => "calls of cuBLAS",
        77 => "creations of graph nodes",
        _ => "calls of other libraries",
    }
}

/// An id of a context or stream.
pub(super) fn id(value: Option<i64>) -> u32 {
    value.map_or(wire::NONE, |value| value as u32)
}

/// A device.
pub(super) fn device(value: Option<i64>) -> Option<u16> {
    value.and_then(|value| u16::try_from(value).ok())
}

/// A correlation id; zero for none.
pub(super) fn correlation(value: Option<i64>) -> u32 {
    value.map_or(0, |value| value as u32)
}
