//! Calls of the runtime and the driver, and what memory they made or released.
//!
//! An export has no arguments of calls. Of those that made or released memory, and of those about pools, it has an event
//! (`memory`), which is joined by the correlation id, so that what it says becomes the call's arguments.

use super::import::Importer;
use super::memory::{Memory, Takes};
use super::rows::{Call as Row, Frame};
use crate::parse::imported::{Call, Function, Process, api_name};
use crate::trace::Layer;
use crate::trace::semantics::base_name;
use rustc_hash::FxHashMap;
use std::io;
use umtui_wire::activity as wire;

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
    pub(super) memory: Memory,
    /// Pages of 64 correlation ids of calls that did not wait, by process.
    asynchronous: FxHashMap<(Process, i64), u64>,
    /// Who called: symbol, module and depth of the innermost frame of a stack that is not CUDA's own.
    stacks: FxHashMap<i64, (i64, i64, i64)>,
    /// Numbers of stacks that have rows of their own, by thread and correlation id.
    chains: FxHashMap<(i64, i64), i64>,
}

/// A function as the target knows it.
#[derive(Clone, Copy, Debug)]
struct Known {
    function: Function,
    /// The same, with arguments: what an event says.
    with: Option<Function>,
    /// The same, with a pool among them.
    with_pool: Option<Function>,
    takes: Takes,
    asynchronous: bool,
}

impl Calls {
    /// Whether the call with this correlation id was one that does not wait.
    pub(super) fn is_asynchronous(&self, process: Process, correlation: Option<i64>) -> bool {
        let Some(id) = correlation else { return false };
        self.asynchronous.get(&(process, id >> 6)).is_some_and(|page| page >> (id & 63) & 1 == 1)
    }
}

impl Importer<'_> {
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

    /// Stacks that rows of their own carry: the call's row does not have to name them.
    pub(super) fn read_backtraces(&mut self) {
        if self.calls.stacks.is_empty() || !self.database.has_column("CUPTI_ACTIVITY_KIND_RUNTIME", "eventClass") {
            return;
        }
        let (database, chains) = (self.database, &mut self.calls.chains);
        database.each_where("WHERE eventClass = 67", |row: Row| {
            if let (Some(thread), Some(id), Some(chain)) = (row.thread, row.correlation, row.chain) {
                chains.insert((thread, id), chain);
            }
            chains.len() < STACKS_KEPT
        });
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
        let succeeded = row.result.unwrap_or(0) == 0;
        let told = correlation.filter(|_| succeeded).and_then(|id| self.calls.memory.told(process, id, known.takes));
        let with = match told {
            Some(told) if told.names_pool => known.with_pool,
            Some(_) => known.with,
            // As those are that did not fail.
            None if self.calls.memory.has_pools => known.with_pool.or(known.with),
            None => known.with,
        };
        let own = || self.calls.chains.get(&(row.thread?, correlation?)).copied();
        let chain = row.chain.or_else(own);
        let call = Call {
            function: with.unwrap_or(known.function),
            start,
            end,
            status: row.result.map(|result| result as u32),
            correlation: self::correlation(correlation),
            site: self.site_of(chain),
            words: told.map(|told| told.words),
            short: told.map_or(0, |told| told.short),
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
        let takes = Takes::of(bare);
        let [with, with_pool] = takes.arguments().map(|arguments| {
            arguments.map(|arguments| {
                let function = self.target.function(layer, name, arguments);
                self.target.called(function, &full);
                function
            })
        });
        let function = self.target.function(layer, name, "");
        self.target.called(function, &full);
        let asynchronous = bare.ends_with("Async") || bare.contains("Launch");
        let known = Known { function, with, with_pool, takes, asynchronous };
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
