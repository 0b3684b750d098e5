//! What one trace says, in a form that outlives it: of two traces only one need be in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::names::{Names, SiteName};
use super::rows::{Moved, Timed};
use crate::correlate::{AllocationKind, Allocations};
use crate::graph::{Cells, Stats};
use crate::lens::Moment;
use crate::memory::{Held, SizeClass, Snapshot, movements};
use crate::report::blocks::LensBlock;
use crate::report::gpu::{GpuBlock, Kernel, Migrations};
use crate::report::moment::{MomentBlock, Unfound, account, locate};
use crate::session::{Loaded, left_out};
use crate::trace::activity::What;
use crate::trace::{ApiId, Layer, SiteId};

/// A trace that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SideBlock {
    /// As it was given.
    pub path: String,
    /// Its files.
    pub files: Vec<String>,
    /// Its processes.
    pub processes: u64,
    /// From its first event to its last, ns.
    pub duration_ns: u64,
    /// Calls that have ended, whatever the lens.
    pub calls: u64,
    /// Events that are known to be missing.
    pub lost: u64,
    /// Calls that make or release memory of which the arguments are not recorded: what they did is not in these figures.
    pub unread_calls: u64,
    /// What the recording was told to leave out, a line each.
    pub left_out: Vec<String>,
    /// The lens in force; `None`: everything counts.
    pub lens: Option<LensBlock>,
}

/// What sums of memory are kept by.
pub(super) type MemoryKey = (SiteName, SizeClass, AllocationKind, u8);

/// Memory at a moment; without cells: the arguments of calls are not recorded.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) moment: MomentBlock,
    pub(super) cells: Option<BTreeMap<MemoryKey, Held>>,
}

/// What a trace says, whole, and memory at some moments.
#[derive(Debug)]
pub struct Side {
    pub(super) block: SideBlock,
    pub(super) taken: Vec<Taken>,
    pub(super) calls: u64,
    pub(super) time_ns: Option<u64>,
    pub(super) moved_bytes: Option<u64>,
    pub(super) faults: Option<u64>,
    pub(super) apis: BTreeMap<(String, &'static str), Timed>,
    pub(super) kernels: Option<BTreeMap<String, Timed>>,
    pub(super) migrated: Option<BTreeMap<SiteName, Moved>>,
    pub(super) names: Names,
}

impl Side {
    /// Takes it from a trace.
    ///
    /// # Errors
    /// If the trace has not got one of the moments.
    pub fn of(loaded: &mut Loaded, path: &str, moments: &[Moment]) -> Result<Self, Unfound> {
        let found = loaded.allocations();
        let (account, unread) = account(loaded, &found);
        let mut names = Names::of(loaded);
        let mut taken = Vec::new();
        for moment in moments {
            let (moment, at_ns) = locate(loaded, account.as_ref(), path, moment)?;
            let snapshot = account.as_ref().map(|account| Snapshot::at(account, at_ns));
            let cells = snapshot.map(|snapshot| cells(&snapshot, &mut |site| names.name(loaded, site)));
            taken.push(Taken { moment, cells });
        }
        let gpu = GpuBlock::of(loaded.trace(), loaded.gpu());
        let (calls, time_ns) = called_by_program([loaded.cells(), &loaded.unfinished()]);
        let ways = |all: &Migrations| [all.h2d.amount, all.d2h.amount, all.d2d.amount];
        Ok(Self {
            block: block(loaded, path, unread),
            taken,
            calls,
            time_ns,
            moved_bytes: gpu.migrations.as_ref().map(|all| ways(all).into_iter().fold(0, u64::saturating_add)),
            faults: gpu.faults.map(|faults| faults.cpu.saturating_add(faults.gpu_groups)),
            apis: functions(loaded),
            kernels: gpu.kernels.map(|kernels| {
                let timed = |kernel: Kernel| {
                    let sums = kernel.stats.sums;
                    (kernel.name, Timed { count: sums.count, total_ns: sums.extremes().map(|_| sums.total_ns) })
                };
                kernels.into_iter().map(timed).collect()
            }),
            migrated: migrated(loaded, &found, &mut names),
            names,
        })
    }

    /// Call sites are called as they are compared with those of another trace.
    pub(super) fn beside(&mut self, other: &Names) {
        for cells in self.taken.iter_mut().filter_map(|taken| taken.cells.as_mut()) {
            let mut renamed: BTreeMap<MemoryKey, Held> = BTreeMap::new();
            for ((name, class, kind, device), held) in std::mem::take(cells) {
                renamed.entry((other.beside(name), class, kind, device)).or_default().merge(held);
            }
            *cells = renamed;
        }
        if let Some(migrated) = &mut self.migrated {
            let mut renamed: BTreeMap<SiteName, Moved> = BTreeMap::new();
            for (name, moved) in std::mem::take(migrated) {
                renamed.entry(other.beside(name)).or_default().add(&moved);
            }
            *migrated = renamed;
        }
    }
}

/// Sums of a snapshot by names.
pub(super) fn cells(snapshot: &Snapshot, name: &mut dyn FnMut(SiteId) -> SiteName) -> BTreeMap<MemoryKey, Held> {
    let mut known: FxHashMap<SiteId, SiteName> = FxHashMap::default();
    let mut cells: BTreeMap<MemoryKey, Held> = BTreeMap::new();
    for (cell, held) in snapshot.cells() {
        let site = known.entry(cell.site).or_insert_with(|| name(cell.site)).clone();
        cells.entry((site, cell.class, cell.kind, cell.device)).or_default().merge(held);
    }
    cells
}

pub(super) fn block(loaded: &Loaded, path: &str, unread_calls: u64) -> SideBlock {
    let trace = loaded.trace();
    SideBlock {
        path: path.to_owned(),
        files: trace.files.clone(),
        processes: trace.processes.len() as u64,
        duration_ns: trace.end_ns().saturating_sub(trace.start_ns()),
        calls: trace.calls(),
        lost: trace.lost(),
        unread_calls,
        left_out: left_out::lines(trace),
        lens: LensBlock::of(loaded),
    }
}

/// Calls by the program, and the time in them, ns; `None`: not recorded.
fn called_by_program(cells: [&Cells; 2]) -> (u64, Option<u64>) {
    let (mut calls, mut time) = (0u64, None);
    for (_, cell) in cells.iter().flat_map(|cells| cells.iter()).filter(|(_, cell)| !cell.inner && !cell.hidden) {
        let sums = &cell.stats.sums;
        calls = calls.saturating_add(sums.count);
        if sums.extremes().is_some() {
            time = Some(time.unwrap_or(0u64).saturating_add(sums.total_ns));
        }
    }
    (calls, time)
}

fn functions(loaded: &mut Loaded) -> BTreeMap<(String, &'static str), Timed> {
    let functions = loaded.functions();
    let trace = loaded.trace();
    let timed = |(id, stats): (ApiId, Stats)| {
        let api = trace.api(id)?;
        let layer = match api.layer {
            Layer::Runtime => "runtime",
            Layer::Driver => "driver",
        };
        let total_ns = stats.sums.extremes().map(|_| stats.sums.total_ns);
        Some(((trace.names.get(api.name).to_owned(), layer), Timed { count: stats.sums.count, total_ns }))
    };
    functions.into_iter().filter_map(timed).collect()
}

fn migrated(loaded: &mut Loaded, found: &[Arc<Allocations>], names: &mut Names) -> Option<BTreeMap<SiteName, Moved>> {
    let selected = loaded.selected();
    let wanted = |id, row| selected.is_none_or(|selected| selected.record(id, row));
    let list = movements(loaded.trace(), &loaded.bytes(), found, &wanted)?.allocations;
    let has_faults = loaded.trace().activities.recorded(What::Faults);
    let mut sums: BTreeMap<SiteName, Moved> = BTreeMap::new();
    for one in list {
        let name = one.allocation.map_or(SiteName::Unseen, |allocation| names.name(loaded, allocation.site));
        let bytes = [one.to_device, one.to_host, one.between];
        sums.entry(name).or_default().add(&Moved { bytes, faults: has_faults.then_some(one.faults()) });
    }
    Some(sums)
}
