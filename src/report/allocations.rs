//! Memory in the report: what was allocated, how much was in use at most and at the end, and by whom.

use rustc_hash::FxHashMap;
use serde::Serialize;
use std::fmt::Write as _;
use std::sync::Arc;

use super::table::Table;
use super::text::grouped;
use crate::correlate::{Allocation, AllocationKind, Allocations as Found};
use crate::memory::{Account, Block, Group, Totals};
use crate::session::Loaded;
use crate::session::safe::safe;
use crate::trace::value::size;
use crate::trace::{Layer, NO_DEVICE, ProcessId, SiteId, results};

/// Rows of each list that are kept.
const KEPT: usize = 100;
/// Those that are listed in the text.
const LISTED: usize = 10;

/// All allocations that the lens selects. Sums are of what adds to the memory in use: device, managed, pinned, pool,
/// physical and variables; what was registered, mapped or opened was there before, and a graph's memory is there only
/// while the graph runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Allocations {
    /// Allocations that add to the memory in use.
    pub count: u64,
    /// Calls that were refused memory.
    pub failed: u64,
    /// Bytes of all allocations.
    pub bytes: u64,
    /// The most bytes in use at a moment, all processes together.
    pub peak_bytes: u64,
    /// The first such moment, since the trace's first event, ns; `None`: there was no allocation.
    pub peak_ns: Option<u64>,
    /// Allocations that were not released.
    pub live_count: u64,
    /// Bytes of those.
    pub live_bytes: u64,
    /// Allocations of which the size is not recorded: they add nothing to any sum.
    pub unsized_count: u64,
    /// Calls that make or release memory of which the arguments are not recorded. Unless there are none, the sums are
    /// not to be relied on.
    pub unread_calls: u64,
    /// Each kind of memory, those that add nothing to the sums above too.
    pub by_kind: Vec<ByKind>,
    /// Each device; `None` where it is not known.
    pub by_device: Vec<ByDevice>,
    /// Each place in the program that allocates, the largest peak first.
    pub by_call_site: Vec<BySite>,
    /// Who held the memory at the peak, the most bytes first.
    pub at_peak: Vec<AtPeak>,
    /// What was not released, the largest first.
    pub live: Vec<Live>,
    /// What was refused, in order of time.
    pub failures: Vec<Refused>,
}

/// Allocations of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ByKind {
    /// `managed` and so on.
    pub kind: &'static str,
    /// Whether it adds to the memory in use.
    pub counted: bool,
    /// Its sums.
    #[serde(flatten)]
    pub sums: Sums,
}

/// Allocations of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ByDevice {
    /// Its number.
    pub device: Option<u8>,
    /// Its sums.
    #[serde(flatten)]
    pub sums: Sums,
}

/// Allocations of one place in the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BySite {
    /// The place.
    pub call_site: String,
    /// Its sums.
    #[serde(flatten)]
    pub sums: Sums,
}

/// Sums over allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// Allocations.
    pub count: u64,
    /// Bytes of them; `None`: not recorded of any.
    pub bytes: Option<u64>,
    /// Those that were not released.
    pub live_count: u64,
    /// Bytes of those; `None`: not recorded of any.
    pub live_bytes: Option<u64>,
    /// The most bytes in use at a moment; `None`: not recorded of any.
    pub peak_bytes: Option<u64>,
    /// Those of which the size is not recorded.
    pub unsized_count: u64,
}

/// Memory that one place held at the peak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AtPeak {
    /// The place.
    pub call_site: String,
    /// `managed` and so on.
    pub kind: &'static str,
    /// Allocations.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

/// An allocation that was not released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Live {
    /// Process id.
    pub process: u32,
    /// First address; `None`: it has none, or it is not recorded.
    pub address: Option<u64>,
    /// Its size; `None`: not recorded.
    pub bytes: Option<u64>,
    /// `managed` and so on.
    pub kind: &'static str,
    /// Device, if it is known.
    pub device: Option<u8>,
    /// When it was there, since the trace's first event, ns.
    pub time_ns: u64,
    /// Code that allocated it.
    pub call_site: String,
    /// The caching allocator that keeps it: then it is not leaked.
    pub allocator: Option<&'static str>,
}

/// A call that was refused memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Process id.
    pub process: u32,
    /// What it asked for; `None`: not recorded.
    pub bytes: Option<u64>,
    /// `managed` and so on.
    pub kind: &'static str,
    /// What it returned, by its name.
    pub result: String,
    /// When, since the trace's first event, ns.
    pub time_ns: u64,
    /// Bytes that all processes had in use then.
    pub live_bytes: u64,
    /// Code that asked.
    pub call_site: String,
}

/// The account of what the lens selects, and how many calls could not be read. Places in the program that look alike are
/// one: a line that was inlined in several functions has several addresses.
pub(super) fn account(loaded: &mut Loaded, found: &[Arc<Found>]) -> (Account, u64) {
    let selected = loaded.selected();
    let (mut blocks, mut refused, mut unread) = (Vec::new(), Vec::new(), 0);
    for (process, found) in (0..u16::MAX).map(ProcessId).zip(found) {
        let wanted = |track, row: u32| selected.is_none_or(|selected| selected.call(track, row as usize));
        let of = |&allocation: &Allocation| Block { process, allocation };
        blocks.extend(found.all().iter().filter(|one| wanted(one.track, one.row)).map(of));
        refused.extend(found.refused().iter().filter(|one| wanted(one.track, one.row)).map(|&one| (process, one)));
        unread += found.unread();
    }
    let mut first: FxHashMap<String, SiteId> = FxHashMap::default();
    let mut same: FxHashMap<SiteId, SiteId> = FxHashMap::default();
    for block in &mut blocks {
        let site = block.allocation.site;
        block.allocation.site = *same.entry(site).or_insert_with(|| *first.entry(loaded.site(site)).or_insert(site));
    }
    (Account::of(blocks, refused), unread)
}

/// All of it; `None` where no argument of any call is recorded. `unread_calls` are those that could not be read.
#[must_use]
pub fn of(loaded: &mut Loaded, account: &Account, unread_calls: u64) -> Option<Allocations> {
    if unread_calls > 0 && account.blocks().is_empty() && account.refused().is_empty() {
        return None;
    }
    let all = account.totals(Group::All);
    let start = loaded.trace().start_ns();
    let since = |ns: u64| ns.saturating_sub(start);
    let groups = account.groups();
    let kinds = AllocationKind::ALL.into_iter().map(|kind| (kind, account.totals(Group::Kind(kind))));
    let by_kind = kinds.filter(|(_, totals)| totals.count > 0).map(|(kind, totals)| ByKind {
        kind: kind.word(),
        counted: kind.adds_memory(),
        sums: sums(&totals),
    });
    let by_device = groups.iter().filter_map(|(group, totals)| match group {
        Group::Device(device) => Some(ByDevice { device: known(*device), sums: sums(totals) }),
        _ => None,
    });
    let mut sites: Vec<(SiteId, Totals)> = groups
        .iter()
        .filter_map(|&(group, totals)| match group {
            Group::Site(site) => Some((site, totals)),
            _ => None,
        })
        .collect();
    sites.sort_by_key(|&(site, totals)| (std::cmp::Reverse((totals.peak_bytes, totals.bytes, totals.count)), site));
    sites.truncate(KEPT);
    let mut holders = if all.count > 0 { account.holders(all.peak_ns) } else { Vec::new() };
    holders.truncate(KEPT);
    Some(Allocations {
        count: all.count,
        failed: account.refused().len() as u64,
        bytes: all.bytes,
        peak_bytes: all.peak_bytes,
        peak_ns: (all.count > 0).then(|| since(all.peak_ns)),
        live_count: all.live_count,
        live_bytes: all.live_bytes,
        unsized_count: all.unsized_count,
        unread_calls,
        by_kind: by_kind.collect(),
        by_device: by_device.collect(),
        by_call_site: sites
            .into_iter()
            .map(|(site, totals)| BySite { call_site: loaded.site(site), sums: sums(&totals) })
            .collect(),
        at_peak: holders
            .into_iter()
            .map(|one| AtPeak {
                call_site: loaded.site(one.site),
                kind: one.kind.word(),
                count: one.count,
                bytes: one.bytes,
            })
            .collect(),
        live: live_list(loaded, account),
        failures: refused_list(loaded, account),
    })
}

fn live_list(loaded: &mut Loaded, account: &Account) -> Vec<Live> {
    let start = loaded.trace().start_ns();
    let mut live: Vec<&Block> = account
        .blocks()
        .iter()
        .filter(|block| !block.allocation.has_ended() && block.allocation.kind.adds_memory())
        .collect();
    live.sort_by_key(|block| (std::cmp::Reverse(block.allocation.bytes), block.process, block.allocation.from_ns));
    live.truncate(KEPT);
    let row = |block: &Block| Live {
        process: pid(loaded, block.process),
        address: block.allocation.has_address().then_some(block.allocation.address),
        bytes: block.allocation.size(),
        kind: block.allocation.kind.word(),
        device: known(block.allocation.device),
        time_ns: block.allocation.made_ns.saturating_sub(start),
        call_site: loaded.site(block.allocation.site),
        allocator: loaded.allocator(block.allocation.site).map(|(allocator, _)| allocator.name()),
    };
    live.into_iter().map(row).collect()
}

fn refused_list(loaded: &mut Loaded, account: &Account) -> Vec<Refused> {
    let start = loaded.trace().start_ns();
    let row = |(process, one): &(ProcessId, crate::correlate::Refused)| Refused {
        process: pid(loaded, *process),
        bytes: one.bytes,
        kind: one.kind.word(),
        result: result(loaded, one),
        time_ns: one.at_ns.saturating_sub(start),
        live_bytes: account.live().at(one.at_ns),
        call_site: loaded.site(one.site),
    };
    account.refused().iter().take(KEPT).map(row).collect()
}

fn sums(totals: &Totals) -> Sums {
    let sized = totals.unsized_count < totals.count;
    Sums {
        count: totals.count,
        bytes: sized.then_some(totals.bytes),
        live_count: totals.live_count,
        live_bytes: sized.then_some(totals.live_bytes),
        peak_bytes: sized.then_some(totals.peak_bytes),
        unsized_count: totals.unsized_count,
    }
}

pub(super) fn pid(loaded: &Loaded, process: ProcessId) -> u32 {
    loaded.trace().process(process).map_or(0, |process| process.pid)
}

pub(super) fn known(device: u8) -> Option<u8> {
    Some(device).filter(|&device| device != NO_DEVICE)
}

fn result(loaded: &Loaded, refused: &crate::correlate::Refused) -> String {
    let trace = loaded.trace();
    let call = trace.track(refused.track).and_then(|track| track.call(refused.row as usize));
    let layer = call.and_then(|call| trace.api(call.api)).map_or(Layer::Runtime, |api| api.layer);
    results::text(layer, refused.status)
}

/// Tables, if anything was allocated or refused.
pub(super) fn write(allocations: Option<&Allocations>, out: &mut String) {
    let Some(all) = allocations else {
        out.push_str("\nmemory: not known, the arguments of calls are not recorded\n");
        return;
    };
    if all.by_kind.is_empty() && all.failed == 0 {
        return;
    }
    out.push('\n');
    let count = |sums: &Sums| grouped(sums.count);
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), size);
    let mut table = Table::new(&["memory", "count", "allocated", "peak", "not released", "in"]);
    for one in &all.by_kind {
        let note = if one.counted { "" } else { " (not counted below)" };
        let sums = &one.sums;
        table.row(vec![
            format!("{}{note}", one.kind),
            count(sums),
            bytes(sums.bytes),
            bytes(sums.peak_bytes),
            grouped(sums.live_count),
            bytes(sums.live_bytes),
        ]);
    }
    table.row(vec![
        "all that adds".to_owned(),
        grouped(all.count),
        size(all.bytes),
        size(all.peak_bytes),
        grouped(all.live_count),
        size(all.live_bytes),
    ]);
    table.write(out);
    for (number, what) in [
        (all.unsized_count, "of a size that is not recorded: they add nothing here"),
        (all.unread_calls, "calls with arguments that are not recorded: what they made or released is not known"),
    ] {
        if number > 0 {
            let _ = writeln!(out, "{} {what}", grouped(number));
        }
    }
    if !all.at_peak.is_empty() {
        let mut table = Table::new(&["held at the peak", "kind", "count", "bytes", "allocated by"]).last_is_text();
        for (index, one) in all.at_peak.iter().take(LISTED).enumerate() {
            table.row(vec![
                (index + 1).to_string(),
                one.kind.to_owned(),
                grouped(one.count),
                size(one.bytes),
                safe(&one.call_site).into_owned(),
            ]);
        }
        out.push('\n');
        table.write(out);
        more(out, all.at_peak.len());
    }
    if !all.failures.is_empty() {
        let mut table =
            Table::new(&["memory refused", "kind", "asked for", "in use then", "process", "asked by"]).last_is_text();
        for one in all.failures.iter().take(LISTED) {
            table.row(vec![
                safe(&one.result).into_owned(),
                one.kind.to_owned(),
                bytes(one.bytes),
                size(one.live_bytes),
                one.process.to_string(),
                safe(&one.call_site).into_owned(),
            ]);
        }
        out.push('\n');
        table.write(out);
        more(out, usize::try_from(all.failed).unwrap_or(usize::MAX));
    }
}

fn more(out: &mut String, count: usize) {
    let more = count.saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", grouped(more as u64));
    }
}
