//! What two traces, or two moments of one, differ in: memory in use, and of two traces also calls, kernels and who moves
//! pages. What one of them does not know is `None`, and so is its growth.

mod checks;
mod names;
mod rows;
mod side;
mod text;
mod within;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

pub use checks::{Check, Figure, Threshold};
pub use rows::{AddressRow, AllocationRow, DeviceRow, InUse, KindRow, MigratedRow, Numbers, SiteRow, SizeRow, TimeRow};
pub use side::{Side, SideBlock};
pub use text::text;

use super::json::printable;
use super::moment::{MomentBlock, Unfound};
use crate::correlate::AllocationKind;
use crate::lens::Moment;
use crate::memory::{Delta, Held, SizeClass, difference};
use crate::session::Loaded;
use crate::trace::NO_DEVICE;
use names::SiteName;
use side::{MemoryKey, Taken};

/// Version of the layout of the JSON. Keys may be added to it, none is renamed.
const SCHEMA: u32 = 1;

/// What they differ in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    schema: u32,
    /// The traces: one, or two.
    pub traces: Vec<SideBlock>,
    /// Figures of the traces as a whole; `None` for two moments of one.
    pub totals: Option<Totals>,
    /// Memory, once for each two moments that are compared.
    pub memory: Vec<Memory>,
    /// Functions, what takes more time first; `None` for two moments of one trace.
    pub apis: Option<Vec<TimeRow>>,
    /// Kernels, likewise; `None` also where one trace has no records of them.
    pub kernels: Option<Vec<TimeRow>>,
    /// Who moves pages, by the call sites of allocations; `None` also where one trace has no records of migrations.
    pub migrated: Option<Vec<MigratedRow>>,
    /// What was to be checked.
    pub checks: Vec<Check>,
    /// Whether a check has found a regression; `None`: nothing was checked, or a check cannot tell.
    pub regression: Option<bool>,
}

/// Figures of two traces as a whole, as far as the lens selects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Calls by the program.
    pub calls: Numbers,
    /// Time in them, ns.
    pub time_ns: Numbers,
    /// Bytes of pages that moved.
    pub moved_bytes: Numbers,
    /// Page faults of the CPU, and records of those of devices.
    pub faults: Numbers,
}

/// Memory in use at two moments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The first moment.
    pub before: MomentBlock,
    /// The second.
    pub after: MomentBlock,
    /// Bytes in use.
    pub bytes: Numbers,
    /// Allocations in use.
    pub count: Numbers,
    /// Of those the ones of which the size is not recorded: they add no bytes anywhere.
    pub unsized_count: Numbers,
    /// By kind, those that add nothing to the sums above too; `None`: one of them is not known.
    pub by_kind: Option<Vec<KindRow>>,
    /// By device.
    pub by_device: Option<Vec<DeviceRow>>,
    /// By the place in the program that asked, what has grown most first.
    pub by_call_site: Option<Vec<SiteRow>>,
    /// By place and size, what has grown most first.
    pub by_size: Option<Vec<SizeRow>>,
    /// By address; `None` for two traces: addresses differ between runs.
    pub by_address: Option<Vec<AddressRow>>,
    /// Allocations that are there only after, the largest first; `None` for two traces.
    pub new: Option<Vec<AllocationRow>>,
    /// Allocations that were there only before, the largest first; `None` for two traces.
    pub gone: Option<Vec<AllocationRow>>,
}

impl Difference {
    /// Of two traces. What each says must have been taken at as many moments.
    #[must_use]
    pub fn of_traces(mut before: Side, mut after: Side) -> Self {
        before.beside(&after.names);
        after.beside(&before.names);
        let faults = [before.faults.is_some(), after.faults.is_some()];
        let moved = before.migrated.zip(after.migrated);
        Self {
            schema: SCHEMA,
            totals: Some(Totals {
                calls: Numbers::of(Some(before.calls), Some(after.calls)),
                time_ns: Numbers::of(before.time_ns, after.time_ns),
                moved_bytes: Numbers::of(before.moved_bytes, after.moved_bytes),
                faults: Numbers::of(before.faults, after.faults),
            }),
            memory: before.taken.into_iter().zip(after.taken).map(|(was, is)| Memory::of(was, is)).collect(),
            apis: Some(rows::times(before.apis, after.apis, |(name, layer)| (name, Some(layer)))),
            kernels: before.kernels.zip(after.kernels).map(|(was, is)| rows::times(was, is, |name| (name, None))),
            migrated: moved.map(|(was, is)| rows::migrated(was, is, faults)),
            traces: vec![before.block, after.block],
            checks: Vec::new(),
            regression: None,
        }
    }

    /// Of two moments of one trace.
    ///
    /// # Errors
    /// If the trace has no such moment.
    pub fn of_moments(loaded: &mut Loaded, path: &str, from: &Moment, to: &Moment) -> Result<Self, Unfound> {
        let (block, memory) = within::compare(loaded, path, from, to)?;
        Ok(Self {
            schema: SCHEMA,
            traces: vec![block],
            totals: None,
            memory: vec![memory],
            apis: None,
            kernels: None,
            migrated: None,
            checks: Vec::new(),
            regression: None,
        })
    }

    /// As one JSON object, ended by a newline.
    #[must_use]
    pub fn json(&self) -> String {
        // Plain structures of text and integers can always be written.
        let mut text = serde_json::to_string_pretty(self).map(|text| printable(&text)).unwrap_or_default();
        text.push('\n');
        text
    }
}

impl Memory {
    /// Of what was taken at two moments; where one is not known there are no rows.
    fn of(before: Taken, after: Taken) -> Self {
        let both = before.cells.as_ref().zip(after.cells.as_ref());
        let total =
            |taken: &Taken| taken.cells.as_ref().map(|cells| sum(cells, counted).remove(&()).unwrap_or_default());
        let (was, is) = (total(&before), total(&after));
        Self {
            bytes: Numbers::of(was.and_then(|held| held.bytes()), is.and_then(|held| held.bytes())),
            count: Numbers::of(was.map(|held| held.count), is.map(|held| held.count)),
            unsized_count: Numbers::of(was.map(|held| held.unsized_count), is.map(|held| held.unsized_count)),
            by_kind: both.map(|both| {
                let rows = deltas(both, |(_, _, kind, _)| Some(*kind));
                let row = |one: Delta<AllocationKind>| KindRow {
                    kind: one.key.word(),
                    counted: one.key.adds_memory(),
                    in_use: InUse::from(&one),
                };
                rows.map(row).collect()
            }),
            by_device: both.map(|both| {
                let rows = deltas(both, |key| counted(key).map(|()| key.3));
                rows.map(|one| DeviceRow { device: known(one.key), in_use: InUse::from(&one) }).collect()
            }),
            by_call_site: both.map(|both| {
                let rows = deltas(both, |key| counted(key).map(|()| key.0.clone()));
                let row = |one: Delta<SiteName>| SiteRow {
                    call_site: one.key.label().map(str::to_owned),
                    in_use: InUse::from(&one),
                };
                rows.map(row).collect()
            }),
            by_size: both.map(|both| {
                let rows = deltas(both, |key| counted(key).map(|()| (key.0.clone(), key.1)));
                let row = |one: Delta<(SiteName, SizeClass)>| SizeRow {
                    call_site: one.key.0.label().map(str::to_owned),
                    size_class_bytes: one.key.1.largest(),
                    in_use: InUse::from(&one),
                };
                rows.map(row).collect()
            }),
            by_address: None,
            new: None,
            gone: None,
            before: before.moment,
            after: after.moment,
        }
    }
}

type Cells = BTreeMap<MemoryKey, Held>;

/// What adds to the memory in use.
fn counted((_, _, kind, _): &MemoryKey) -> Option<()> {
    kind.adds_memory().then_some(())
}

fn sum<K: Ord>(cells: &Cells, key: impl Fn(&MemoryKey) -> Option<K>) -> BTreeMap<K, Held> {
    let mut sums = BTreeMap::<K, Held>::new();
    for (cell, held) in cells {
        if let Some(key) = key(cell) {
            sums.entry(key).or_default().merge(*held);
        }
    }
    sums
}

fn deltas<K: Ord>(
    (before, after): (&Cells, &Cells),
    key: impl Fn(&MemoryKey) -> Option<K>,
) -> impl Iterator<Item = Delta<K>> {
    difference(sum(before, &key), sum(after, &key)).into_iter()
}

fn known(device: u8) -> Option<u8> {
    Some(device).filter(|&device| device != NO_DEVICE)
}
