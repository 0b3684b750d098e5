//! What moved between the host and devices, for the tab of transfers. Rows are summed up in slices between two batches; while a
//! trace grows, sums go on where they stopped.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub use crate::memory::transfers::{LinkEnd, LinkOptions, Moved as Transferred, Side, Way};

use super::later::Later;
use crate::memory::transfers::{Calls, Flow, Staging, Transfers, Usage};
use crate::session::links;
use crate::session::model::Model;
use crate::session::safe::safe;
use crate::session::sampler::Address;
use crate::trace::activity::What;

/// Rows that are summed up between two looks at the clock.
const SLICE: usize = 8192;
/// While a trace grows, what calls say is looked at anew so many times less often than that takes.
const PAUSE: u32 = 10;

/// The tab of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransfersRequest {
    /// Which devices, in which order, and what a link can carry.
    pub options: LinkOptions,
    /// Cells of a link's use over time.
    pub cells: u16,
    /// First row wanted.
    pub first: u64,
    /// Rows wanted.
    pub rows: usize,
}

/// What moved from one end to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferRow {
    /// What the two ends are called, `host pinned > GPU 0`.
    pub name: String,
    /// Where from.
    pub from: Side,
    /// Where to.
    pub to: Side,
    /// Which devices these are, as far as anything described them: numbers and names.
    pub devices: Vec<(u16, String)>,
    /// Copies; `None`: not recorded.
    pub copies: Option<Transferred>,
    /// Migrations; `None`: not recorded.
    pub migrations: Option<Transferred>,
    /// Pages at `from` that were mapped for `to`; `None`: not recorded.
    pub mapped: Option<Transferred>,
    /// Of copies between devices those with peer access.
    pub with_access: Transferred,
    /// Those without.
    pub without_access: Transferred,
    /// Pairs of copies by which the program sent as much this way through the host: how many, and bytes.
    pub staged: Option<(u64, u64)>,
    /// Copies this way that the driver sent through the host: how many, and bytes. They are among those to the host and from
    /// it, too.
    pub staged_by_driver: Option<(u64, u64)>,
    /// Bytes that the link between the two carried this way, by cells of the trace's time; nothing if there is none.
    pub over_time: Vec<u64>,
    /// When that link carried most.
    pub busiest: Option<Busiest>,
    /// What is known of the way between two devices.
    pub way: Option<Way>,
    /// What connects them, `NVLink` or which way PCIe goes, where NVML of this machine tells it.
    pub link: Option<&'static str>,
}

/// When a link carried most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busiest {
    /// Bytes a second.
    pub bytes_per_second: u64,
    /// Since when in the trace, ns.
    pub at_ns: u64,
    /// For how long, ns.
    pub for_ns: u64,
    /// Share of what the link can carry, per cent; `None`: that was not told.
    pub share_pct: Option<u64>,
}

/// What moved between all ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferRows {
    /// Pairs of ends in all.
    pub total: u64,
    /// Number of the first row here.
    pub first: u64,
    /// A row for each pair of ends, in their order.
    pub rows: Vec<TransferRow>,
}

/// What one end is called.
fn end_name(side: Side) -> String {
    match side {
        Side::Pageable => "host pageable".to_owned(),
        Side::Pinned => "host pinned".to_owned(),
        Side::Managed => "host managed".to_owned(),
        Side::Device(device) => format!("GPU {device}"),
        Side::Unknown => "GPU ?".to_owned(),
    }
}

/// What two ends are called.
pub(super) fn name(flow: &Flow) -> String {
    format!("{} > {}", end_name(flow.from), end_name(flow.to))
}

/// What is known of transfers, and of which state of the trace that is.
#[derive(Default)]
pub(super) struct KnownTransfers {
    sums: Sums,
    /// In place of those, once they are complete: access or lens have changed.
    next: Option<Sums>,
    ways: BTreeMap<(u16, u16), Way>,
    of: Option<Of>,
    due: Option<Instant>,
    /// What connects devices of this machine, asked in a thread of its own; of so many devices.
    links: Later<usize, Vec<(usize, usize, &'static str)>>,
}

/// Calls, and what a lens had decided.
type Of = (u64, Option<u64>);

/// What rows and calls sum up to so far.
#[derive(Default)]
struct Sums {
    all: Transfers,
    staging: Staging,
    staged: BTreeMap<(u16, u16), (u64, u64)>,
}

impl Model {
    /// Brings up to date what is known of transfers, until `until`; true if it is that of the trace as it is now. Allocations are
    /// looked up as far as they are known.
    pub(super) fn learn_transfers(&mut self, until: Instant) -> bool {
        let decided = self.selected().map(|_| self.decided());
        let of: Of = (self.trace.calls(), decided);
        let begun = Instant::now();
        let files = self.all_files();
        let known = &mut self.books.transfers;
        if known.of != Some(of) && known.next.is_none() && known.due.is_none_or(|due| begun >= due) {
            // Sums begin anew if they would be others, but go on if all that is the same.
            let mut fresh = Transfers::begin(&self.trace, &files);
            known.ways = fresh.ways(&self.trace, &files);
            let same_lens = known.of.map(|(_, decided)| decided) == Some(decided) && decided.is_none();
            if !same_lens || fresh.access() != known.sums.all.access() {
                known.next = Some(Sums { all: fresh, ..Sums::default() });
            }
            let pause = begun.elapsed().checked_mul(PAUSE).unwrap_or(Duration::MAX);
            (known.of, known.due) = (Some(of), Instant::now().checked_add(pause));
        }
        let allocated = self.lives.allocated();
        let selected = self.lensed.selected();
        let calls = Calls {
            trace: &self.trace,
            files: &files,
            allocations: allocated.all,
            known_until: &|process| allocated.known_until.get(process.index()).copied().unwrap_or(0),
            wanted: &|track, row| selected.is_none_or(|selected| selected.call(track, row)),
        };
        let wanted = |id, row| selected.is_none_or(|selected| selected.record(id, row));
        let sums = known.next.as_mut().unwrap_or(&mut known.sums);
        loop {
            let (all, staged) = (&mut sums.all, &mut sums.staged);
            let done = all.advance(&self.trace, SLICE, &wanted)
                && sums.staging.advance(&calls, SLICE, &mut |process, one| {
                    let ends = (all.device(&self.trace, process, one.from), all.device(&self.trace, process, one.to));
                    if let (Some(from), Some(to)) = ends {
                        let sum = staged.entry((from, to)).or_default();
                        *sum = (sum.0.saturating_add(1), sum.1.saturating_add(one.bytes));
                    }
                });
            if done {
                break;
            }
            if Instant::now() >= until {
                return false;
            }
        }
        if let Some(next) = known.next.take() {
            known.sums = next;
        }
        let devices = known.sums.all.devices().all();
        if known.links.key() != Some(&devices.len()) && !known.links.is_making() {
            let known_devices = devices.iter().map(|one| (one.host, Address { uuid: one.uuid, pci: one.pci }));
            let ours = links::here(&self.trace, &known_devices.collect::<Vec<_>>());
            known.links.update(devices.len(), begun, move || links::ask(&ours));
        } else {
            // The driver may take its time: nobody waits for it.
            known.links.wait(begun);
        }
        known.of == Some(of)
    }

    /// The pairs of ends that are shown, in their order, as far as they are known.
    pub(super) fn flows(&self, options: &LinkOptions) -> Vec<Flow> {
        let known = &self.books.transfers;
        let mut flows = known.sums.all.flows();
        let by_driver = known.sums.all.staged_by_driver();
        for &(from, to) in known.sums.staged.keys().chain(by_driver.keys()) {
            let ends = (Side::Device(from), Side::Device(to));
            if !flows.iter().any(|flow| (flow.from, flow.to) == ends) {
                flows.push(Flow::none(ends.0, ends.1));
            }
        }
        flows.retain(|flow| options.side(flow.from).is_some() && options.side(flow.to).is_some());
        flows.sort_by_key(|flow| (options.side(flow.from), options.side(flow.to)));
        flows
    }

    /// Rows of the tab, as far as they are known. The last cell ends at `now`.
    pub(super) fn transfers(&self, request: &TransfersRequest, now: u64) -> TransferRows {
        let flows = self.flows(&request.options);
        let total = flows.len() as u64;
        let first = request.first.min(total);
        let links = self.books.transfers.sums.all.links();
        let window = flows.iter().skip(usize::try_from(first).unwrap_or(usize::MAX)).take(request.rows);
        let row = |flow: &Flow| {
            let ends = (flow.from.end(), flow.to.end());
            let usage = links.iter().find(|(from, to, _)| (*from, *to) == ends).map(|(.., usage)| *usage);
            self.transfer(flow, usage, request, now)
        };
        TransferRows { total, first, rows: window.map(row).collect() }
    }

    fn transfer(&self, flow: &Flow, usage: Option<&Usage>, request: &TransfersRequest, now: u64) -> TransferRow {
        let (trace, known) = (&self.trace, &self.books.transfers);
        let (start, has) = (trace.start_ns(), |what| trace.activities.recorded(what));
        let ends = [flow.from, flow.to].map(|side| match side {
            Side::Device(device) => Some(device),
            _ => None,
        });
        let pair = ends[0].zip(ends[1]);
        let mut numbers: Vec<u16> = ends.into_iter().flatten().collect();
        numbers.dedup();
        let described = |device: u16| {
            let name = trace.names.get(known.sums.all.devices().all().get(usize::from(device))?.name);
            (!name.is_empty()).then(|| (device, safe(name).into_owned()))
        };
        let cells = usize::from(request.cells);
        TransferRow {
            name: name(flow),
            from: flow.from,
            to: flow.to,
            devices: numbers.into_iter().filter_map(described).collect(),
            copies: has(What::Activity).then_some(flow.copies),
            migrations: has(What::Migrations).then_some(flow.migrations),
            mapped: has(What::Faults).then_some(flow.mapped),
            with_access: flow.with_access,
            without_access: flow.without_access,
            staged: pair.and_then(|pair| known.sums.staged.get(&pair)).copied(),
            staged_by_driver: pair.and_then(|pair| known.sums.all.staged_by_driver().get(&pair).copied()),
            over_time: usage.map_or_else(Vec::new, |usage| usage.cells((start, now), cells)),
            busiest: usage.and_then(|usage| {
                let (bytes, at) = usage.busiest()?;
                let rate = u128::from(bytes) * 1_000_000_000 / u128::from(usage.bin_ns());
                let bytes_per_second = u64::try_from(rate).unwrap_or(u64::MAX);
                Some(Busiest {
                    bytes_per_second,
                    at_ns: at.saturating_sub(start),
                    for_ns: usage.bin_ns(),
                    share_pct: request.options.share((flow.from.end(), flow.to.end()), bytes_per_second),
                })
            }),
            way: pair.and_then(|pair| known.ways.get(&pair)).copied(),
            link: pair.and_then(|pair| {
                let links = known.links.get()?.iter();
                let mut links = links.filter(|link| (link.0, link.1) == (usize::from(pair.0), usize::from(pair.1)));
                links.next().map(|link| link.2)
            }),
        }
    }

    /// Why there are no transfers; `None`: they may come.
    pub(super) fn why_no_transfers(&self) -> Option<String> {
        let has = |what| self.trace.activities.recorded(what);
        let none = !has(What::Activity) && !has(What::Migrations);
        none.then(|| "transfers are not known: what the GPU does is not recorded; the overview says why".to_owned())
    }
}
