//! What moved between the host and devices and from device to device: sums for each pair of ends, by copies and by migrations,
//! and how much each link carried when.
//!
//! Sums do not depend on the order of the rows, so a growing trace goes on where it stopped.

mod access;
mod devices;
mod halves;
mod options;
mod staged;
mod topology;
mod usage;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use umtui_wire::activity as wire;

use halves::Halves;
use topology::topology;

use crate::trace::activity::{Lane, LaneId};
use crate::trace::{Activity, ActivityKind, Bytes, NO_DEVICE, ProcessId, Trace};

pub use access::{Access, May};
pub use devices::{Device, Devices};
pub use options::{DeviceMap, LinkOptions};
pub use staged::{Calls, Staged, Staging};
pub use topology::Way;
pub use usage::Usage;

/// Devices of which all ways are told, also those that nobody asked of.
const WAYS: usize = 16;

/// One end of a transfer. The order is that of rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Memory of the host that the operating system may move.
    Pageable,
    /// Page-locked memory of the host.
    Pinned,
    /// Managed memory while it is on the host.
    Managed,
    /// A device: index into [`Devices::all`].
    Device(u16),
    /// A device that is not known.
    Unknown,
}

impl Side {
    /// What it is on a link: all memory of the host is one end.
    #[must_use]
    pub const fn end(self) -> LinkEnd {
        match self {
            Self::Pageable | Self::Pinned | Self::Managed => LinkEnd::Host,
            Self::Device(device) => LinkEnd::Device(device),
            Self::Unknown => LinkEnd::Unknown,
        }
    }
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkEnd {
    /// The host.
    Host,
    /// A device: index into [`Devices::all`].
    Device(u16),
    /// A device that is not known.
    Unknown,
}

/// Transfers of one kind between two ends. Sums saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// How many.
    pub count: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// How long they took, each for itself, ns. Transfers of which the times are not known take none.
    pub time_ns: u64,
    /// Bytes of those of which the times are known.
    pub timed_bytes: u64,
}

impl Moved {
    fn take(&mut self, activity: &Activity) {
        let timed = activity.timed && activity.duration_ns > 0;
        self.add(&Self {
            count: 1,
            bytes: activity.value,
            time_ns: if timed { activity.duration_ns } else { 0 },
            timed_bytes: if timed { activity.value } else { 0 },
        });
    }

    /// Adds others.
    pub const fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.timed_bytes = self.timed_bytes.saturating_add(other.timed_bytes);
    }

    /// Bytes a second while they were under way; `None` if no times are known.
    #[must_use]
    pub fn bandwidth(&self) -> Option<u64> {
        let bytes = u128::from(self.timed_bytes) * 1_000_000_000;
        Some(u64::try_from(bytes.checked_div(u128::from(self.time_ns))?).unwrap_or(u64::MAX))
    }
}

/// What moved from one end to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Where from.
    pub from: Side,
    /// Where to.
    pub to: Side,
    /// Copies that the program asked for.
    pub copies: Moved,
    /// Pages of managed memory that moved.
    pub migrations: Moved,
    /// Pages at `from` that were mapped for `to` where they are. Nothing moved.
    pub mapped: Moved,
    /// Of the copies between two devices, those at whose beginning one of them was allowed to access the other's memory.
    pub with_access: Moved,
    /// Likewise, neither was: the driver may have sent them through the host.
    pub without_access: Moved,
}

impl Flow {
    /// Nothing moved.
    #[must_use]
    pub const fn none(from: Side, to: Side) -> Self {
        const NOTHING: Moved = Moved { count: 0, bytes: 0, time_ns: 0, timed_bytes: 0 };
        Self {
            from,
            to,
            copies: NOTHING,
            migrations: NOTHING,
            mapped: NOTHING,
            with_access: NOTHING,
            without_access: NOTHING,
        }
    }

    /// Whether both ends are devices, and not the same one.
    #[must_use]
    pub fn is_between_devices(&self) -> bool {
        matches!((self.from, self.to), (Side::Device(from), Side::Device(to)) if from != to)
    }
}

/// What one row says.
enum What {
    Copied,
    Migrated,
    Mapped,
}

/// All transfers of a trace.
#[derive(Debug, Default)]
pub struct Transfers {
    devices: Devices,
    access: Access,
    flows: FxHashMap<(Side, Side), Flow>,
    links: FxHashMap<(LinkEnd, LinkEnd), Usage>,
    halves: Halves,
    /// The next row of each lane.
    next: Vec<usize>,
}

impl Transfers {
    /// None so far. `files` are those of the trace: who may access whom is read from the arguments of calls.
    #[must_use]
    pub fn begin(trace: &Trace, files: &[Arc<dyn Bytes>]) -> Self {
        Self { access: Access::of(trace, files), devices: Devices::of(trace), ..Self::default() }
    }

    /// All of those that are wanted.
    #[must_use]
    pub fn of(trace: &Trace, files: &[Arc<dyn Bytes>], wanted: &dyn Fn(LaneId, usize) -> bool) -> Self {
        let mut transfers = Self::begin(trace, files);
        while !transfers.advance(trace, usize::MAX, wanted) {}
        transfers
    }

    /// Takes at most so many further rows; whether that were all.
    pub fn advance(&mut self, trace: &Trace, most: usize, wanted: &dyn Fn(LaneId, usize) -> bool) -> bool {
        let mut left = most;
        for (id, lane) in (0..).map(LaneId).zip(trace.activities.lanes()) {
            let index = id.0 as usize;
            if self.next.len() <= index {
                self.next.push(0);
            }
            let from = self.next.get(index).copied().unwrap_or(0);
            let until = lane.len().min(from.saturating_add(left));
            for row in from..until {
                if let Some(activity) = lane.get(row).filter(|_| wanted(id, row)) {
                    self.take(trace, lane, &activity);
                }
            }
            if let Some(next) = self.next.get_mut(index) {
                *next = until;
            }
            left -= until.saturating_sub(from);
            if until < lane.len() {
                return false;
            }
        }
        self.halves.settle(trace);
        true
    }

    fn take(&mut self, trace: &Trace, lane: &Lane, activity: &Activity) {
        let process = lane.process;
        let Some((from, to, what)) = self.ends(trace, process, activity) else { return };
        let flow = self.flows.entry((from, to)).or_insert_with(|| Flow::none(from, to));
        match what {
            What::Copied => flow.copies.take(activity),
            What::Migrated => flow.migrations.take(activity),
            What::Mapped => return flow.mapped.take(activity),
        }
        if matches!(what, What::Copied) && self.devices.all().len() > 1 {
            self.halves.take(process, activity);
        }
        if matches!(what, What::Copied) && flow.is_between_devices() {
            match self.access.between(process, activity.ends, activity.start_ns) {
                May::Yes => flow.with_access.take(activity),
                May::No => flow.without_access.take(activity),
                May::NotKnown => {}
            }
        }
        if from.end() != to.end() && activity.timed {
            let link = self.links.entry((from.end(), to.end())).or_default();
            link.take((activity.start_ns, activity.end_ns()), activity.value);
        }
    }

    /// Between which ends a row went; `None`: it is no transfer.
    fn ends(&mut self, trace: &Trace, process: ProcessId, activity: &Activity) -> Option<(Side, Side, What)> {
        let mut device = |ordinal: u8| match ordinal {
            NO_DEVICE => Side::Unknown,
            ordinal => self.devices.index(trace, process, ordinal).map_or(Side::Unknown, Side::Device),
        };
        let own = activity.device;
        match activity.kind {
            ActivityKind::Copy => {
                let host = match (activity.copy().1, activity.detail & Activity::MANAGED != 0) {
                    (true, _) => Side::Pageable,
                    (_, true) => Side::Managed,
                    _ => Side::Pinned,
                };
                // `CUpti_ActivityMemcpyKind`; arrays are a device's.
                let (from, to) = match activity.copy().0 {
                    1 | 3 => (host, device(own)),
                    2 | 4 => (device(own), host),
                    5..=8 => (device(own), device(own)),
                    9 => (host, host),
                    10 => (device(activity.ends[0]), device(activity.ends[1])),
                    _ => return None,
                };
                Some((from, to, What::Copied))
            }
            ActivityKind::Unified => {
                let mapped = |ordinal: u8| if ordinal == NO_DEVICE { Side::Managed } else { Side::Unknown };
                let (from, to, what) = match activity.unified().0 {
                    wire::UNIFIED_TO_DEVICE => (Side::Managed, device(own), What::Migrated),
                    wire::UNIFIED_TO_HOST => (device(own), Side::Managed, What::Migrated),
                    wire::UNIFIED_BETWEEN_DEVICES => {
                        let [from, to] = activity.ends;
                        (device(from), device(if to == NO_DEVICE { own } else { to }), What::Migrated)
                    }
                    // Here no device means the host.
                    wire::UNIFIED_REMOTE_MAP => {
                        let [from, to] = activity.ends.map(|ordinal| match mapped(ordinal) {
                            Side::Unknown => device(ordinal),
                            host => host,
                        });
                        (from, to, What::Mapped)
                    }
                    _ => return None,
                };
                Some((from, to, what))
            }
            _ => None,
        }
    }

    /// Of a copy or a mapping from one device to another: which ones, and whether it is a copy. `None`: it is something else.
    pub fn peers(&mut self, trace: &Trace, process: ProcessId, activity: &Activity) -> Option<(Side, Side, bool)> {
        let is_device = |side| matches!(side, Side::Device(_) | Side::Unknown);
        let (from, to, what) = self.ends(trace, process, activity)?;
        let between = is_device(from) && is_device(to) && from != to && !matches!(what, What::Migrated);
        between.then_some((from, to, matches!(what, What::Copied)))
    }

    /// A process's device by its number there: its number in [`Devices::all`]. `None`: there are too many.
    pub fn device(&mut self, trace: &Trace, process: ProcessId, ordinal: u8) -> Option<u16> {
        self.devices.index(trace, process, ordinal)
    }

    /// How many copies the driver sent through the host, and bytes, from each device to each. They are among those to the host
    /// and from it, too.
    #[must_use]
    pub fn staged_by_driver(&self) -> BTreeMap<(u16, u16), (u64, u64)> {
        let mut sums: BTreeMap<(u16, u16), (u64, u64)> = BTreeMap::new();
        for ((process, from, to), (count, bytes)) in self.halves.all() {
            if let (Some(from), Some(to)) = (self.devices.find(process, from), self.devices.find(process, to)) {
                let sum = sums.entry((from, to)).or_default();
                *sum = (sum.0.saturating_add(count), sum.1.saturating_add(bytes));
            }
        }
        sums
    }

    /// Who may access whom.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.access
    }

    /// The devices that they are between.
    #[must_use]
    pub const fn devices(&self) -> &Devices {
        &self.devices
    }

    /// What is known of the way from each device to each other. `files` are those of the trace.
    #[must_use]
    pub fn ways(&mut self, trace: &Trace, files: &[Arc<dyn Bytes>]) -> BTreeMap<(u16, u16), Way> {
        let mut ways = topology(trace, files, &mut self.devices);
        for (process, who, whose) in self.access.allowed() {
            let ends = (self.devices.index(trace, process, who), self.devices.index(trace, process, whose));
            if let (Some(who), Some(whose)) = ends {
                ways.entry((who, whose)).or_default().was_enabled = true;
            }
        }
        let count = u16::try_from(self.devices.all().len()).unwrap_or(u16::MAX);
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            if from != to && usize::from(count) <= WAYS {
                ways.entry((from, to)).or_default();
            }
        }
        ways
    }

    /// What moved between which ends, in order of the ends.
    #[must_use]
    pub fn flows(&self) -> Vec<Flow> {
        let mut flows: Vec<Flow> = self.flows.values().copied().collect();
        flows.sort_unstable_by_key(|flow| (flow.from, flow.to));
        flows
    }

    /// How much each link carried when, in order of its ends. What stayed on a device or on the host went over none.
    #[must_use]
    pub fn links(&self) -> Vec<(LinkEnd, LinkEnd, &Usage)> {
        let mut links: Vec<_> = self.links.iter().map(|(&(from, to), usage)| (from, to, usage)).collect();
        links.sort_unstable_by_key(|&(from, to, _)| (from, to));
        links
    }
}

#[cfg(test)]
mod tests;
