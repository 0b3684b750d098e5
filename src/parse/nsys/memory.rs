//! Events of memory and of pools: what they say becomes the arguments of the calls that they belong to.
//!
//! A pool is told by its address, since handles are nowhere in an export.

use super::calls::{correlation, device, id};
use super::import::Importer;
use super::rows::{Pool, Usage};
use crate::parse::imported::{Process, Work};
use crate::trace::Sampled;
use rustc_hash::FxHashMap;
use std::io;
use umtui_wire::activity as wire;

/// Events that are kept until their calls are read.
const KEPT: usize = 8 << 20;

/// What a function needs of an event to have its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// Nothing.
    Nothing,
    /// Memory that was made.
    Made,
    /// Memory that was made in order of a stream, and the pool that it is from.
    MadeInPool,
    /// Memory that was released.
    Released,
    /// The pool that was created.
    PoolCreated,
    /// The one that was destroyed.
    PoolDestroyed,
    /// The one that gave back what it did not use.
    PoolTrimmed,
}

impl Takes {
    /// Of a function, by its name without `cuda`, `cu` and endings.
    pub fn of(bare: &str) -> Self {
        match bare {
            "Malloc" | "MallocPitch" | "Malloc3D" | "MemAlloc" | "MemAllocPitch" | "MallocManaged"
            | "MemAllocManaged" | "MallocHost" | "HostAlloc" | "MemAllocHost" | "MemHostAlloc" => Self::Made,
            "MallocAsync" | "MallocFromPoolAsync" | "MemAllocAsync" | "MemAllocFromPoolAsync" => Self::MadeInPool,
            "Free" | "FreeHost" | "FreeAsync" | "MemFree" | "MemFreeHost" | "MemFreeAsync" => Self::Released,
            "MemPoolCreate" => Self::PoolCreated,
            "MemPoolDestroy" => Self::PoolDestroyed,
            "MemPoolTrimTo" => Self::PoolTrimmed,
            _ => Self::Nothing,
        }
    }

    /// Its arguments in a signature, without and with a pool among them.
    pub const fn arguments(self) -> [Option<&'static str>; 2] {
        match self {
            Self::Nothing => [None, None],
            Self::Made => [Some("ptr:*ptr@32 bytes:size@40"), None],
            Self::MadeInPool => [Some("ptr:*ptr@32 bytes:size@40"), Some("ptr:*ptr@32 bytes:size@40 pool:handle@48")],
            Self::Released => [Some("ptr:ptr@32"), None],
            Self::PoolCreated => [Some("pool:*handle@32 device:dev@28"), None],
            Self::PoolDestroyed => [Some("pool:handle@32"), None],
            Self::PoolTrimmed => [Some("pool:handle@32 keep:size@40"), None],
        }
    }
}

/// Arguments of a call: see [`crate::parse::imported::Call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub words: [u64; 3],
    pub short: u32,
    pub names_pool: bool,
}

/// What events say that calls are still to take.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pieces: FxHashMap<(Process, i64), Piece>,
    pools: FxHashMap<(Process, i64), PoolPiece>,
    /// Some memory is known to be from a pool.
    pub has_pools: bool,
}

/// Memory that a call made or released.
#[derive(Clone, Copy, Debug)]
struct Piece {
    address: u64,
    bytes: u64,
    /// Zero for none.
    pool: u64,
    made: bool,
}

/// What a call did to a pool.
#[derive(Clone, Copy, Debug)]
struct PoolPiece {
    address: u64,
    keep: u64,
    device: u32,
    done: Takes,
}

impl Memory {
    /// What events say of the call with this correlation id.
    pub fn told(&mut self, process: Process, id: i64, takes: Takes) -> Option<Told> {
        let key = (process, id);
        match takes {
            Takes::Nothing => None,
            Takes::Made | Takes::MadeInPool | Takes::Released => {
                let piece = self.pieces.get(&key).filter(|piece| piece.made == (takes != Takes::Released))?;
                let names_pool = takes == Takes::MadeInPool && piece.pool != 0;
                Some(Told { words: [piece.address, piece.bytes, piece.pool], short: 0, names_pool })
            }
            Takes::PoolCreated | Takes::PoolDestroyed | Takes::PoolTrimmed => {
                let pool = self.pools.get(&key).copied().filter(|pool| pool.done == takes)?;
                self.pools.remove(&key);
                Some(Told { words: [pool.address, pool.keep, 0], short: pool.device, names_pool: false })
            }
        }
    }

    /// Events of pools that no call has taken.
    pub fn pools_left(&self) -> usize {
        self.pools.len()
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
            pool: bits(row.pool.filter(|&pool| pool != 0).or(row.imported)),
            ..wire::Memory::default()
        };
        if let Some(correlation) = row.correlation.filter(|&id| id != 0)
            && operation != 0
            && self.calls.memory.pieces.len() < KEPT
        {
            let Memory { pieces, has_pools, .. } = &mut self.calls.memory;
            let (address, bytes, pool) = (memory.address, memory.bytes, memory.pool);
            *has_pools |= pool != 0;
            pieces.entry((process, correlation)).or_insert(Piece { address, bytes, pool, made: operation == 1 });
        }
        let sizes = (row.pool_size, row.pool_used, row.pool_threshold);
        self.pool_sizes(process, time, row.pool, sizes)?;
        let correlation = correlation(row.correlation);
        self.target.work(process, device(row.device), correlation, Work::Memory(memory))
    }

    /// What became of a pool. Imported ones are another process's.
    pub(super) fn pool(&mut self, row: &Pool, number: u64) -> io::Result<()> {
        let done = match row.operation {
            Some(1) => Takes::PoolCreated,
            Some(2) => Takes::PoolDestroyed,
            Some(3) => Takes::PoolTrimmed,
            _ => Takes::Nothing,
        };
        let process = self.process(row.process);
        match (row.correlation.filter(|&id| id != 0), row.address.filter(|&address| address != 0)) {
            (Some(id), Some(address)) if done != Takes::Nothing && self.calls.memory.pools.len() < KEPT => {
                let device = device(row.device).map_or(wire::NONE, u32::from);
                let piece = PoolPiece { address: address as u64, keep: row.keep.unwrap_or(0) as u64, device, done };
                self.calls.memory.pools.insert((process, id), piece);
            }
            _ => self.target.unplaced("events of memory pools that no call is known of"),
        }
        let sizes = (row.size, row.used, row.threshold);
        if sizes == (None, None, None) {
            return Ok(());
        }
        let Some((time, _)) = self.times(row.start, None, number) else { return Ok(()) };
        self.pool_sizes(process, time, row.address, sizes)
    }

    /// What an event says a pool held just then, what of it was in use, and how much it keeps: counters, since no call of
    /// the program asked for them. SQLite has these unsigned numbers as signed ones.
    fn pool_sizes(
        &mut self,
        process: Process,
        time: u64,
        pool: Option<i64>,
        (size, used, threshold): (Option<i64>, Option<i64>, Option<i64>),
    ) -> io::Result<()> {
        let Some(pool) = pool.filter(|&pool| pool != 0) else { return Ok(()) };
        let counter = format!("memory pool {pool:#x}");
        let sizes = [("size", size), ("in use", used), ("release threshold", threshold)];
        for (series, bytes) in sizes.into_iter().filter_map(|(series, bytes)| Some((series, bytes?))) {
            self.target.sample(process, (&counter, series), time, Sampled::Unsigned(bytes as u64))?;
        }
        Ok(())
    }
}
