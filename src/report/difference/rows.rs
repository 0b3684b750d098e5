//! Rows of a difference.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::names::SiteName;
use crate::memory::{Delta, growth};

/// A number before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Numbers {
    /// What it was; `None`: not known.
    pub before: Option<u64>,
    /// What it is.
    pub after: Option<u64>,
    /// By how much it has grown; `None`: one of them is not known.
    pub growth: Option<i64>,
}

impl Numbers {
    /// Of both numbers.
    #[must_use]
    pub fn of(before: Option<u64>, after: Option<u64>) -> Self {
        let growth = before.zip(after).map(|(before, after)| growth(before, after));
        Self { before, after, growth }
    }

    fn bytes<K>(delta: &Delta<K>) -> Self {
        Self::of(delta.before.bytes(), delta.after.bytes())
    }

    fn count<K>(delta: &Delta<K>) -> Self {
        Self::of(Some(delta.before.count), Some(delta.after.count))
    }
}

/// What all rows of memory say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InUse {
    /// `new`, `gone`, `grown`, `shrunk` or `same`.
    pub became: &'static str,
    /// Bytes in use; `None`: there is something, and of nothing the size is recorded.
    pub bytes: Numbers,
    /// Allocations in use.
    pub count: Numbers,
}

impl<K> From<&Delta<K>> for InUse {
    fn from(delta: &Delta<K>) -> Self {
        Self { became: delta.verdict().word(), bytes: Numbers::bytes(delta), count: Numbers::count(delta) }
    }
}

/// Memory of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindRow {
    /// `managed` and so on.
    pub kind: &'static str,
    /// Whether it adds to the memory in use.
    pub counted: bool,
    /// How much.
    #[serde(flatten)]
    pub in_use: InUse,
}

/// Memory of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceRow {
    /// Its number; `None`: not known.
    pub device: Option<u8>,
    /// How much.
    #[serde(flatten)]
    pub in_use: InUse,
}

/// Memory that one place in the program asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SiteRow {
    /// The place; `None`: all that have no name.
    pub call_site: Option<String>,
    /// How much.
    #[serde(flatten)]
    pub in_use: InUse,
}

/// Memory of like sizes that one place in the program asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizeRow {
    /// The place; `None`: all that have no name.
    pub call_site: Option<String>,
    /// The largest size of the class, bytes: sizes are above half of it; `None`: not recorded.
    pub size_class_bytes: Option<u64>,
    /// How much.
    #[serde(flatten)]
    pub in_use: InUse,
}

/// Memory in one part of the address space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AddressRow {
    /// Process id.
    pub process: u32,
    /// First address; `None`: what has no address.
    pub from: Option<u64>,
    /// First address after it.
    pub to: Option<u64>,
    /// How much.
    #[serde(flatten)]
    pub in_use: InUse,
}

/// An allocation that is there at one moment alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AllocationRow {
    /// Process id.
    pub process: u32,
    /// First address; `None`: it has none, or it is not recorded.
    pub address: Option<u64>,
    /// How many allocations lay at that address before.
    pub generation: u64,
    /// Its size; `None`: not recorded.
    pub bytes: Option<u64>,
    /// `managed` and so on.
    pub kind: &'static str,
    /// When it was there, since the trace's first event, ns.
    pub time_ns: u64,
    /// When it was released, likewise; `None`: it was not.
    pub released_ns: Option<u64>,
    /// Code that asked for it.
    pub call_site: String,
}

/// A function or a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimeRow {
    /// Its name.
    pub name: String,
    /// `runtime` or `driver`; `None` for kernels.
    pub layer: Option<&'static str>,
    /// Calls or launches.
    pub count: Numbers,
    /// Time in them, ns; `None`: not recorded.
    pub total_ns: Numbers,
}

/// How often something happened, and how long it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timed {
    /// How often.
    pub count: u64,
    /// How long, ns; `None`: not recorded.
    pub total_ns: Option<u64>,
}

/// Pages that moved, of the allocations that one place in the program asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MigratedRow {
    /// The place; `None`: all that have no name.
    pub call_site: Option<String>,
    /// Whether calls were seen to allocate it; else it is all the memory of which none was, such as variables.
    pub seen: bool,
    /// Bytes that moved, in any direction.
    pub bytes: Numbers,
    /// Bytes that moved to devices.
    pub h2d_bytes: Numbers,
    /// Bytes that moved to the host.
    pub d2h_bytes: Numbers,
    /// Bytes that moved between devices.
    pub d2d_bytes: Numbers,
    /// Faults of the CPU, and records of those of devices.
    pub faults: Numbers,
}

/// Pages that moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes to devices, to the host, and between devices.
    pub bytes: [u64; 3],
    /// Faults; `None`: not recorded.
    pub faults: Option<u64>,
}

impl Moved {
    /// And what another one says, of the same trace.
    pub fn add(&mut self, other: &Self) {
        for (sum, bytes) in self.bytes.iter_mut().zip(other.bytes) {
            *sum = sum.saturating_add(bytes);
        }
        self.faults = other.faults.map(|faults| self.faults.unwrap_or(0).saturating_add(faults));
    }

    /// Bytes in all; saturates.
    pub fn total(&self) -> u64 {
        self.bytes.iter().fold(0, |sum: u64, &bytes| sum.saturating_add(bytes))
    }
}

/// Rows of what is in a trace or in both: what is not in one of them was nothing there.
fn both<K: Ord, V: Clone>(before: BTreeMap<K, V>, after: BTreeMap<K, V>, nothing: [V; 2]) -> Vec<(K, V, V)> {
    let [no_before, no_after] = nothing;
    let mut sides: BTreeMap<K, (V, V)> = BTreeMap::new();
    for (key, value) in before {
        sides.insert(key, (value, no_after.clone()));
    }
    for (key, value) in after {
        match sides.get_mut(&key) {
            Some(side) => side.1 = value,
            None => drop(sides.insert(key, (no_before.clone(), value))),
        }
    }
    sides.into_iter().map(|(key, (before, after))| (key, before, after)).collect()
}

/// Functions or kernels by how much more time they take, then by how often they came more.
pub fn times<K: Ord>(
    before: BTreeMap<K, Timed>,
    after: BTreeMap<K, Timed>,
    name: impl Fn(K) -> (String, Option<&'static str>),
) -> Vec<TimeRow> {
    let nothing = Timed { count: 0, total_ns: Some(0) };
    let row = |(key, before, after): (K, Timed, Timed)| {
        let (name, layer) = name(key);
        TimeRow {
            name,
            layer,
            count: Numbers::of(Some(before.count), Some(after.count)),
            total_ns: Numbers::of(before.total_ns, after.total_ns),
        }
    };
    let mut list: Vec<TimeRow> = both(before, after, [nothing; 2]).into_iter().map(row).collect();
    list.sort_by_key(|row| Reverse((row.total_ns.growth.unwrap_or(0), row.count.growth)));
    list
}

/// Who moves pages, by how many more bytes. `faults` says of which trace they are recorded.
pub fn migrated(
    before: BTreeMap<SiteName, Moved>,
    after: BTreeMap<SiteName, Moved>,
    faults: [bool; 2],
) -> Vec<MigratedRow> {
    let nothing = faults.map(|recorded| Moved { bytes: [0; 3], faults: recorded.then_some(0) });
    let row = |(name, before, after): (SiteName, Moved, Moved)| {
        let [h2d_bytes, d2h_bytes, d2d_bytes] =
            [0, 1, 2].map(|way| Numbers::of(before.bytes.get(way).copied(), after.bytes.get(way).copied()));
        MigratedRow {
            seen: name != SiteName::Unseen,
            call_site: name.label().map(str::to_owned),
            bytes: Numbers::of(Some(before.total()), Some(after.total())),
            h2d_bytes,
            d2h_bytes,
            d2d_bytes,
            faults: Numbers::of(before.faults, after.faults),
        }
    };
    let mut list: Vec<MigratedRow> = both(before, after, nothing).into_iter().map(row).collect();
    list.sort_by_key(|row| Reverse((row.bytes.growth, row.faults.growth)));
    list
}
