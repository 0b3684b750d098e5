//! What moved between the host and devices, in the report: the matrix, links, devices and how they are connected. As tables:
//! `text`.

mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::correlate::Allocations;
use crate::memory::transfers::{self, Flow, LinkEnd, LinkOptions, May, Moved, Side, Way};
use crate::session::{Address, Loaded, connections};
use crate::trace::activity::{LaneId, What};
use crate::trace::{ActivityKind, LaneOf};

pub(super) use text::write;

/// Copies and mappings between devices that are listed one by one.
const MARKED: usize = 100;

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transfers {
    /// The devices, in the order asked for.
    pub devices: Vec<Device>,
    /// What moved from where to where. Within the host and within a device, too.
    pub flows: Vec<Row>,
    /// Of copies through the host, as the program made them: the pairs.
    pub staged: Option<Vec<Staged>>,
    /// Likewise, as the driver did where there was no peer access; `None`: copies were not recorded. They are among the copies to
    /// the host and from it.
    pub staged_by_driver: Option<Vec<Staged>>,
    /// How much each link carried.
    pub links: Vec<Link>,
    /// Limit of a link between the host and a device that was told, bytes a second.
    pub limit_bytes_per_second: Option<u64>,
    /// Ways between devices.
    pub topology: Vec<Pair>,
    /// Copies and mappings between devices one by one, the first of them; `None`: not asked for.
    pub peer_events: Option<Vec<PeerEvent>>,
    /// How many there were.
    pub peer_event_count: Option<u64>,
    /// Bytes that moved to or from devices that were not chosen.
    pub not_shown_bytes: u64,
    /// Chosen numbers that are no device's.
    pub unknown_devices: Vec<u16>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Its number in this report.
    pub device: u16,
    /// Its machine.
    pub host: String,
    /// Its number in the first process that used it.
    pub number: u16,
    /// Its name; `None`: not recorded.
    pub name: Option<String>,
    /// `0000:07:00`, domain, bus and device; `None`: not recorded.
    pub pci: Option<String>,
}

/// Transfers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// How many.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// How long they took, each for itself, ns; `None`: not known.
    pub time_ns: Option<u64>,
    /// Bytes a second while they were under way; `None`: not known.
    pub bytes_per_second: Option<u64>,
}

impl Sums {
    fn of(moved: &Moved) -> Self {
        let known = moved.count == 0 || moved.time_ns > 0;
        Self {
            count: moved.count,
            bytes: moved.bytes,
            time_ns: known.then_some(moved.time_ns),
            bytes_per_second: moved.bandwidth(),
        }
    }
}

/// What moved from one end to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// `pageable`, `pinned`, `managed` (of the host), `device` or `unknown` (a device).
    pub from: &'static str,
    /// The device, if it is one.
    pub from_device: Option<u16>,
    /// As `from`.
    pub to: &'static str,
    /// As `from_device`.
    pub to_device: Option<u16>,
    /// Copies; `None`: not recorded.
    pub copies: Option<Sums>,
    /// Migrations; `None`: not recorded.
    pub migrations: Option<Sums>,
    /// Pages at `from` that were mapped for `to`; `None`: not recorded.
    pub mapped: Option<Sums>,
    /// Between devices: copies while peer access was allowed one way or the other.
    pub with_peer_access: Option<Sums>,
    /// Likewise: while it was not.
    pub without_peer_access: Option<Sums>,
}

/// Pairs of copies through the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Staged {
    pub from_device: u16,
    pub to_device: u16,
    pub count: u64,
    /// Bytes of the second copies.
    pub bytes: u64,
}

/// A link in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Device from; `None`: the host.
    pub from_device: Option<u16>,
    /// Device to; `None`: the host.
    pub to_device: Option<u16>,
    /// Bytes that it carried, of transfers of which the times are known.
    pub bytes: u64,
    /// When it carried most, since the trace's first event, ns.
    pub busiest_at_ns: u64,
    /// For how long that is, ns.
    pub busiest_for_ns: u64,
    /// How much that was, bytes a second.
    pub busiest_bytes_per_second: u64,
    /// Share of the limit that this is, per cent; `None`: no limit was told.
    pub busiest_share_pct: Option<u64>,
}

/// The way from one device to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Pair {
    pub from_device: u16,
    pub to_device: u16,
    /// `NVLink`, or which way PCIe goes; `None`: not known.
    pub link: Option<&'static str>,
    /// Whether the driver said that it can; `None`: nobody asked.
    pub can_access: Option<bool>,
    /// The driver's rank of its speed.
    pub rank: Option<i32>,
    /// Whether a call allowed it at any time.
    pub access_enabled: bool,
}

/// A copy or a mapping between devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct PeerEvent {
    /// Since the trace's first event, ns.
    pub at_ns: u64,
    pub duration_ns: u64,
    /// `copy` or `mapping`.
    pub what: &'static str,
    pub from_device: Option<u16>,
    pub to_device: Option<u16>,
    pub bytes: u64,
    /// Of copies, whether peer access was allowed; `None`: not known.
    pub peer_access: Option<bool>,
}

/// `None` if neither copies nor migrations were recorded.
#[must_use]
pub fn of(loaded: &Loaded, allocations: &[Arc<Allocations>], options: &LinkOptions) -> Option<Transfers> {
    let (trace, files, selected) = (loaded.trace(), loaded.bytes(), loaded.selected());
    let has = |what| trace.activities.recorded(what);
    if !has(What::Activity) && !has(What::Migrations) {
        return None;
    }
    let wanted = |id: LaneId, row: usize| selected.is_none_or(|selected| selected.record(id, row));
    let mut all = transfers::Transfers::of(trace, &files, &wanted);
    let ways = all.ways(trace, &files);
    let mut not_shown_bytes = 0u64;
    let mut flows = all.flows();
    flows.retain(|flow| {
        let shown = options.side(flow.from).is_some() && options.side(flow.to).is_some();
        if !shown {
            not_shown_bytes = not_shown_bytes.saturating_add(flow.copies.bytes).saturating_add(flow.migrations.bytes);
        }
        shown
    });
    flows.sort_by_key(|flow| (options.side(flow.from), options.side(flow.to)));
    let start = trace.start_ns();
    let (peer_events, peer_event_count) =
        options.markers.then(|| peer_events(loaded, &mut all, options, &wanted)).unzip();
    let mut pairs: Vec<Pair> = ways.into_iter().filter_map(|way| pair(way, options)).collect();
    if !pairs.is_empty() {
        let known = all.devices().all().iter().map(|one| (one.host, Address { uuid: one.uuid, pci: one.pci }));
        for (from, to, link) in connections(trace, &known.collect::<Vec<_>>()) {
            let of = |pair: &&mut Pair| (usize::from(pair.from_device), usize::from(pair.to_device)) == (from, to);
            if let Some(pair) = pairs.iter_mut().find(of) {
                pair.link = Some(link);
            }
        }
    }
    pairs.sort_by_key(|pair| (options.place(pair.from_device), options.place(pair.to_device)));
    let links = all.links();
    let mut links: Vec<_> =
        links.into_iter().filter(|link| options.end(link.0).is_some() && options.end(link.1).is_some()).collect();
    links.sort_by_key(|link| (options.end(link.0), options.end(link.1)));
    Some(Transfers {
        flows: flows.iter().map(|flow| row(flow, has)).collect(),
        staged: (trace.calls() > 0).then(|| staged(loaded, &files, allocations, &all, options)),
        staged_by_driver: has(What::Activity).then(|| staged_rows(all.staged_by_driver(), options)),
        links: links.into_iter().map(|(from, to, usage)| link(from, to, usage, start, options)).collect(),
        limit_bytes_per_second: options.limit,
        topology: pairs,
        peer_events,
        peer_event_count,
        not_shown_bytes,
        unknown_devices: options
            .map
            .all()
            .iter()
            .copied()
            .filter(|&one| usize::from(one) >= all.devices().all().len())
            .collect(),
        devices: devices(loaded, all.devices(), options),
    })
}

fn devices(loaded: &Loaded, devices: &transfers::Devices, options: &LinkOptions) -> Vec<Device> {
    let names = &loaded.trace().names;
    let row = |(index, device): (u16, &transfers::Device)| Device {
        device: index,
        host: names.get(device.host).to_owned(),
        number: device.number,
        name: Some(names.get(device.name)).filter(|name| !name.is_empty()).map(str::to_owned),
        pci: (device.pci != (0, 0, 0) || device.uuid != [0; 2])
            .then(|| format!("{:04x}:{:02x}:{:02x}", device.pci.0, device.pci.1, device.pci.2)),
    };
    let mut list: Vec<Device> = (0..).zip(devices.all()).map(row).collect();
    list.retain(|device| options.place(device.device).is_some());
    list.sort_by_key(|device| options.place(device.device));
    list
}

const fn side(side: Side) -> (&'static str, Option<u16>) {
    match side {
        Side::Pageable => ("pageable", None),
        Side::Pinned => ("pinned", None),
        Side::Managed => ("managed", None),
        Side::Device(device) => ("device", Some(device)),
        Side::Unknown => ("unknown", None),
    }
}

fn row(flow: &Flow, has: impl Fn(What) -> bool) -> Row {
    let ((from, from_device), (to, to_device)) = (side(flow.from), side(flow.to));
    let peers = flow.is_between_devices() && has(What::Activity);
    Row {
        from,
        from_device,
        to,
        to_device,
        copies: has(What::Activity).then(|| Sums::of(&flow.copies)),
        migrations: has(What::Migrations).then(|| Sums::of(&flow.migrations)),
        mapped: has(What::Faults).then(|| Sums::of(&flow.mapped)),
        with_peer_access: peers.then(|| Sums::of(&flow.with_access)),
        without_peer_access: peers.then(|| Sums::of(&flow.without_access)),
    }
}

const fn device_of(end: LinkEnd) -> Option<u16> {
    match end {
        LinkEnd::Device(device) => Some(device),
        LinkEnd::Host | LinkEnd::Unknown => None,
    }
}

fn link(from: LinkEnd, to: LinkEnd, usage: &transfers::Usage, start: u64, options: &LinkOptions) -> Link {
    let (bytes, at) = usage.busiest().unwrap_or((0, start));
    let rate = u128::from(bytes) * 1_000_000_000 / u128::from(usage.bin_ns());
    let rate = u64::try_from(rate).unwrap_or(u64::MAX);
    Link {
        from_device: device_of(from),
        to_device: device_of(to),
        bytes: usage.bytes(),
        busiest_at_ns: at.saturating_sub(start),
        busiest_for_ns: usage.bin_ns(),
        busiest_bytes_per_second: rate,
        busiest_share_pct: options.share((from, to), rate),
    }
}

fn pair(((from, to), way): ((u16, u16), Way), options: &LinkOptions) -> Option<Pair> {
    options.place(from).zip(options.place(to))?;
    let link = way.link();
    let Way { can_access, rank, was_enabled, .. } = way;
    Some(Pair { from_device: from, to_device: to, link, can_access, rank, access_enabled: was_enabled })
}

fn staged(
    loaded: &Loaded,
    files: &[Arc<dyn crate::trace::Bytes>],
    allocations: &[Arc<Allocations>],
    all: &transfers::Transfers,
    options: &LinkOptions,
) -> Vec<Staged> {
    let selected = loaded.selected();
    let wanted = |track, row| selected.is_none_or(|selected| selected.call(track, row));
    let mut sums: BTreeMap<(u16, u16), (u64, u64)> = BTreeMap::new();
    let (trace, known_until) = (loaded.trace(), |_| u64::MAX);
    let calls = transfers::Calls { trace, files, allocations, known_until: &known_until, wanted: &wanted };
    transfers::Staging::default().advance(&calls, usize::MAX, &mut |process, one| {
        let ends = (all.devices().find(process, one.from), all.devices().find(process, one.to));
        let (Some(from), Some(to)) = ends else { return };
        let sum = sums.entry((from, to)).or_default();
        *sum = (sum.0.saturating_add(1), sum.1.saturating_add(one.bytes));
    });
    staged_rows(sums, options)
}

/// How many, and bytes, from which device to which, of those that are shown.
fn staged_rows(sums: BTreeMap<(u16, u16), (u64, u64)>, options: &LinkOptions) -> Vec<Staged> {
    let is_shown = |ends: &(u16, u16)| options.place(ends.0).is_some() && options.place(ends.1).is_some();
    let row = |((from_device, to_device), (count, bytes))| Staged { from_device, to_device, count, bytes };
    sums.into_iter().filter(|(ends, _)| is_shown(ends)).map(row).collect()
}

/// The first copies and mappings between devices in order of time, and how many there are.
fn peer_events(
    loaded: &Loaded,
    all: &mut transfers::Transfers,
    options: &LinkOptions,
    wanted: &dyn Fn(LaneId, usize) -> bool,
) -> (Vec<PeerEvent>, u64) {
    let trace = loaded.trace();
    let (mut list, mut count) = (Vec::new(), 0);
    for (id, lane) in (0..).map(LaneId).zip(trace.activities.lanes()) {
        if matches!(lane.of, LaneOf::Memory | LaneOf::Host) {
            continue;
        }
        lane.for_each(0, |row, activity| {
            let Some((from, to, is_copy)) = all.peers(trace, lane.process, &activity) else { return };
            let shown = options.side(from).is_some() && options.side(to).is_some();
            if !shown || !wanted(id, row) {
                return;
            }
            let may = is_copy.then(|| all.access().between(lane.process, activity.ends, activity.start_ns));
            count += 1;
            list.push(PeerEvent {
                at_ns: activity.start_ns.saturating_sub(trace.start_ns()),
                duration_ns: activity.duration_ns,
                what: if activity.kind == ActivityKind::Copy { "copy" } else { "mapping" },
                from_device: side(from).1,
                to_device: side(to).1,
                bytes: activity.value,
                peer_access: may.and_then(|may| match may {
                    May::Yes => Some(true),
                    May::No => Some(false),
                    May::NotKnown => None,
                }),
            });
            if list.len() >= 1 << 16 {
                keep_first(&mut list);
            }
        });
    }
    keep_first(&mut list);
    (list, count)
}

/// Of those events the first in time.
fn keep_first(list: &mut Vec<PeerEvent>) {
    list.sort_by_key(|one| (one.at_ns, one.from_device, one.to_device));
    list.truncate(MARKED);
}
