//! Who moves pages, in the report: allocations by the bytes of them that moved.

use serde::Serialize;
use std::fmt::Write as _;
use std::sync::Arc;

use super::table::Table;
use super::text::grouped;
use crate::correlate::Allocations;
use crate::memory::residency::Shares;
use crate::memory::{Movement, Overlap, Pattern, movements};
use crate::session::Loaded;
use crate::session::safe::safe;
use crate::symbols::demangled;
use crate::trace::activity::What;
use crate::trace::value::size;

/// Allocations that are kept.
const KEPT: usize = 100;
/// Those that are listed in the text, and kernels.
const LISTED: usize = 10;
/// Pages that went back so often, all together, are worth a line.
const MANY: u64 = 16;
/// How records were tied to allocations.
const JOINED_BY: &str = "address and time";

/// An allocation whose pages moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// Process id.
    pub process: u32,
    /// First address; `None`: all memory that no call was seen to allocate.
    pub address: Option<u64>,
    /// Its size.
    pub bytes: Option<u64>,
    /// `managed` and so on; `unknown` without an allocation.
    pub kind: &'static str,
    /// Code that allocated it.
    pub call_site: Option<String>,
    /// Bytes that moved to devices.
    pub h2d_bytes: u64,
    /// Bytes that moved to the host.
    pub d2h_bytes: u64,
    /// Bytes that moved between devices.
    pub d2d_bytes: u64,
    /// All of that in per cent of its size.
    pub moved_pct: Option<u64>,
    /// Records of moves.
    pub migrations: u64,
    /// Faults of the CPU, and records of faults of devices; `None`: not recorded.
    pub faults: Option<u64>,
    /// Faults of the CPU.
    pub cpu_faults: Option<u64>,
    /// Records of faults of devices.
    pub gpu_faults: Option<u64>,
    /// Bytes of different pages that moved, each counted once.
    pub moved_once_bytes: u64,
    /// Bytes that moved back to where their move before had taken them from.
    pub returned_bytes: u64,
    /// How often pages did so, all together.
    pub alternations: u64,
    /// How often the page did so that did it most.
    pub most_alternations: u32,
    /// Of what moved back, bytes that had come to a device without a fault and left it before any work ran there: both ways
    /// were for nothing. `None`: what ran was not recorded.
    pub needless_bytes: Option<u64>,
    /// Bytes that a prefetch call moved.
    pub prefetched_bytes: u64,
    /// Bytes that had to make room for others.
    pub evicted_bytes: u64,
    /// Bytes of those that came back.
    pub evicted_back_bytes: u64,
    /// Bytes that came to where they were already: CUPTI has lost records of their leaving.
    pub contradicted_bytes: u64,
    /// Where its pages were when it was released, or in the end; `None` without an allocation.
    pub last_pages: Option<LastPages>,
    /// In which order the CPU met its pages; `None`: faults were not recorded.
    pub cpu_pattern: Option<Order>,
    /// In which order a device did; of several devices the one with most faults.
    pub gpu_pattern: Option<Order>,
    /// How this is known.
    pub joined_by: &'static str,
}

/// Where pages were, in pages of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct LastPages {
    pub host: u64,
    pub device: u64,
    pub several: u64,
    pub unknown: u64,
}

/// In which order memory was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Order {
    /// `sequential`, `strided`, `random`; `undecided`: too few faults.
    pub kind: &'static str,
    /// Of a strided order: bytes, negative downwards.
    pub stride_bytes: Option<i64>,
}

/// What moved while kernels of one name ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ByKernel {
    /// Process id.
    pub process: u32,
    /// The kernel's name; `None`: no kernel ran on the device.
    pub kernel: Option<String>,
    /// Bytes that moved to the device.
    pub h2d_bytes: u64,
    /// Bytes that moved to the host.
    pub d2h_bytes: u64,
    /// Bytes that moved between devices.
    pub d2d_bytes: u64,
    /// Records of moves.
    pub migrations: u64,
}

/// Who moves pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Allocations, those that moved most.
    pub allocations: Vec<Migrated>,
    /// Kernels while which most moved. What several ran for counts for each of them. `None`: kernels were not recorded.
    pub kernels: Option<Vec<ByKernel>>,
}

/// Those that moved most; `None` if no migrations were recorded. `allocations` are those of each process.
#[must_use]
pub fn of(loaded: &mut Loaded, allocations: &[Arc<Allocations>]) -> Option<Moves> {
    let selected = loaded.selected();
    let wanted = |id, row| selected.is_none_or(|selected| selected.record(id, row));
    let mut found = movements(loaded.trace(), &loaded.bytes(), allocations, &wanted)?;
    found.allocations.truncate(KEPT);
    let has_faults = loaded.trace().activities.recorded(What::Faults);
    let kernels = found.kernels.map(|list| list.into_iter().take(KEPT).map(|one| by_kernel(loaded, one)).collect());
    let allocations = found.allocations.into_iter().map(|one| row(loaded, one, has_faults)).collect();
    Some(Moves { allocations, kernels })
}

fn row(loaded: &mut Loaded, one: Movement, has_faults: bool) -> Migrated {
    let call_site = one.allocation.map(|allocation| loaded.site(allocation.site));
    let size = one.allocation.and_then(|allocation| allocation.size());
    let last_pages = |Shares { host, device, several, unknown }| LastPages { host, device, several, unknown };
    Migrated {
        process: loaded.trace().process(one.process).map_or(0, |process| process.pid),
        address: one.allocation.map(|allocation| allocation.address),
        bytes: size,
        kind: one.allocation.map_or("unknown", |allocation| allocation.kind.word()),
        call_site,
        h2d_bytes: one.to_device,
        d2h_bytes: one.to_host,
        d2d_bytes: one.between,
        moved_pct: size.and_then(|size| u64::try_from(u128::from(one.bytes()) * 100 / u128::from(size)).ok()),
        migrations: one.migrations,
        faults: has_faults.then_some(one.faults()),
        cpu_faults: has_faults.then_some(one.host_faults),
        gpu_faults: has_faults.then_some(one.device_faults),
        moved_once_bytes: one.moved_once,
        returned_bytes: one.returned,
        alternations: one.alternations(),
        most_alternations: one.most_returns,
        needless_bytes: one.needless,
        prefetched_bytes: one.prefetched,
        evicted_bytes: one.evicted,
        evicted_back_bytes: one.evicted_back,
        contradicted_bytes: one.contradicted,
        last_pages: one.allocation.map(|_| last_pages(one.last)),
        cpu_pattern: one.host_pattern.map(Order::of),
        gpu_pattern: one.device_pattern.map(Order::of),
        joined_by: JOINED_BY,
    }
}

fn by_kernel(loaded: &Loaded, one: Overlap) -> ByKernel {
    let trace = loaded.trace();
    let name = |text| demangled(trace.names.get(trace.activities.name(text))).into_owned();
    ByKernel {
        process: trace.process(one.process).map_or(0, |process| process.pid),
        kernel: one.kernel.map(name),
        h2d_bytes: one.to_device,
        d2h_bytes: one.to_host,
        d2d_bytes: one.between,
        migrations: one.migrations,
    }
}

impl Order {
    const fn of(pattern: Pattern) -> Self {
        Self { kind: pattern.word(), stride_bytes: pattern.stride() }
    }

    fn words(self) -> String {
        self.stride_bytes.map_or_else(
            || self.kind.to_owned(),
            |bytes| format!("strided by {}{}", if bytes < 0 { "-" } else { "" }, size(bytes.unsigned_abs())),
        )
    }
}

/// Tables, if there is anything in them.
pub(super) fn write(moves: Option<&Moves>, out: &mut String) {
    let Some(Moves { allocations: list, kernels }) = moves.filter(|moves| !moves.allocations.is_empty()) else {
        return;
    };
    out.push('\n');
    let headings = [
        "who moves pages",
        "kind",
        "size",
        "to device",
        "to host",
        "dev to dev",
        "moved back",
        "faults",
        "process",
        "allocated by",
    ];
    let mut table = Table::new(&headings).last_is_text();
    for one in list.iter().take(LISTED) {
        table.row(vec![
            one.address.map_or_else(|| "(not seen)".to_owned(), |address| format!("{address:#x}")),
            one.kind.to_owned(),
            one.bytes.map_or_else(|| "-".to_owned(), size),
            size(one.h2d_bytes),
            size(one.d2h_bytes),
            size(one.d2d_bytes),
            size(one.returned_bytes),
            one.faults.map_or_else(|| "-".to_owned(), grouped),
            one.process.to_string(),
            one.call_site.as_deref().map_or_else(|| "-".to_owned(), |site| safe(site).into_owned()),
        ]);
    }
    table.write(out);
    let more = list.len().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", grouped(more as u64));
    }
    let _ = writeln!(out, "joined by {JOINED_BY}; moved back: to where their move before had taken them from");
    list.iter().take(LISTED).for_each(|one| notes(one, out));
    let lost = list.iter().fold(0u64, |sum, one| sum.saturating_add(one.contradicted_bytes));
    if lost > 0 {
        let _ = writeln!(out, "{} came to where they were already: records of their leaving are missing", size(lost));
    }
    if let Some(kernels) = kernels.as_deref().filter(|list| list.iter().any(|one| one.kernel.is_some())) {
        write_kernels(kernels, out);
    }
}

/// What is to be said of one, if anything.
fn notes(one: &Migrated, out: &mut String) {
    let mut notes = Vec::new();
    if let Some(pct) = one.moved_pct.filter(|&pct| pct >= 200) {
        notes.push(format!("{} times its size moved", grouped(pct / 100)));
    }
    if one.alternations >= MANY {
        notes.push(format!("a page went back {} times at most", grouped(u64::from(one.most_alternations))));
    }
    let mut bytes = |bytes: u64, words: &str| {
        if bytes > 0 {
            notes.push(format!("{} {words}", size(bytes)));
        }
    };
    bytes(one.needless_bytes.unwrap_or(0), "went to a device and back unused");
    bytes(one.evicted_bytes, "made room for others");
    bytes(one.evicted_back_bytes, "of that came back");
    for (who, order) in [("CPU", one.cpu_pattern), ("GPU", one.gpu_pattern)] {
        notes.extend(order.filter(|order| order.kind != Pattern::Undecided.word()).map(|order| {
            format!(
                "the {who} meets it {}",
                match order.kind {
                    "sequential" => "in sequence".to_owned(),
                    "random" => "at random".to_owned(),
                    _ => order.words(),
                }
            )
        }));
    }
    if !notes.is_empty() {
        let name = one.address.map_or_else(|| "(not seen)".to_owned(), |address| format!("{address:#x}"));
        let _ = writeln!(out, "{name}: {}", notes.join(", "));
    }
}

fn write_kernels(list: &[ByKernel], out: &mut String) {
    out.push('\n');
    let mut table =
        Table::new(&["moved while", "to device", "to host", "dev to dev", "migrations", "process", "kernel"])
            .last_is_text();
    for one in list.iter().take(LISTED) {
        table.row(vec![
            if one.kernel.is_some() { "a kernel ran" } else { "none ran" }.to_owned(),
            size(one.h2d_bytes),
            size(one.d2h_bytes),
            size(one.d2d_bytes),
            grouped(one.migrations),
            one.process.to_string(),
            one.kernel.as_deref().map_or_else(|| "-".to_owned(), |name| safe(name).into_owned()),
        ]);
    }
    table.write(out);
    let more = list.len().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", grouped(more as u64));
    }
}
