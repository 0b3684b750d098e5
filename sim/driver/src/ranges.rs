//! Which allocation an address belongs to.

use crate::residency::{HOST, Place};
use crate::sync::Lock;
use std::collections::BTreeMap;

/// What an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `cuMemAlloc` and its kin.
    Device,
    /// `cuMemHostAlloc`.
    Pinned,
    /// `cuMemHostRegister`: not ours.
    Registered,
    /// `cuMemAllocManaged`.
    Managed,
    /// `cuMemAllocAsync`.
    Pool,
    /// A reserved address range with nothing behind it, or partly.
    Reserved,
    /// A mapping inside a reserved range.
    Mapped,
    /// `cuIpcOpenMemHandle`.
    Opened,
}

impl Kind {
    /// CUPTI's kind of the memory.
    pub fn memory(self) -> u8 {
        match self {
            Self::Pinned | Self::Registered => 2,
            Self::Managed => 5,
            Self::Device | Self::Pool | Self::Reserved | Self::Mapped | Self::Opened => 3,
        }
    }
}

/// One allocation.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub base: usize,
    pub bytes: usize,
    pub kind: Kind,
    pub device: usize,
    /// Handle of the context that was current.
    pub context: usize,
    pub flags: u32,
    /// Pool or VMM handle, if any.
    pub owner: usize,
    /// Number of the allocation, never used twice.
    pub id: u64,
}

impl Range {
    /// One past the last byte.
    pub fn end(&self) -> usize {
        self.base.saturating_add(self.bytes)
    }

    /// Where its bytes are, as far as the kind says it.
    pub fn place(&self) -> Place {
        match self.kind {
            Kind::Pinned | Kind::Registered => HOST,
            _ => crate::residency::device(self.device),
        }
    }
}

struct Table {
    ranges: BTreeMap<usize, Range>,
    /// Mappings lie inside reservations, so they have a table of their own.
    mapped: BTreeMap<usize, Range>,
    next: u64,
}

static TABLE: Lock<Table> = Lock::new(Table { ranges: BTreeMap::new(), mapped: BTreeMap::new(), next: 1 });

fn containing(map: &BTreeMap<usize, Range>, address: usize) -> Option<Range> {
    let range = map.range(..=address).next_back()?.1;
    (address < range.end().max(range.base + 1)).then_some(*range)
}

/// Enters an allocation; gives its number.
pub fn insert(mut range: Range) -> u64 {
    let mut table = TABLE.lock();
    range.id = table.next;
    table.next += 1;
    let map = if range.kind == Kind::Mapped { &mut table.mapped } else { &mut table.ranges };
    map.insert(range.base, range);
    range.id
}

/// The allocation that contains an address; a mapping before the reservation it lies in.
pub fn find(address: usize) -> Option<Range> {
    let table = TABLE.lock();
    containing(&table.mapped, address).or_else(|| containing(&table.ranges, address))
}

/// Takes out the allocation that begins at `base`, if `wanted` accepts it.
pub fn remove(base: usize, wanted: impl Fn(&Range) -> bool) -> Option<Range> {
    let mut table = TABLE.lock();
    for map in [Which::Mapped, Which::Plain] {
        let map = if matches!(map, Which::Mapped) { &mut table.mapped } else { &mut table.ranges };
        if map.get(&base).is_some_and(&wanted) {
            return map.remove(&base);
        }
    }
    None
}

enum Which {
    Mapped,
    Plain,
}

/// Every allocation for which `wanted` holds.
pub fn all(wanted: impl Fn(&Range) -> bool) -> Vec<Range> {
    let table = TABLE.lock();
    table.ranges.values().chain(table.mapped.values()).filter(|range| wanted(range)).copied().collect()
}

/// Whether any byte of `base..base + bytes` is known already.
pub fn overlaps(base: usize, bytes: usize) -> bool {
    let table = TABLE.lock();
    let end = base.saturating_add(bytes);
    table.ranges.range(..end).next_back().is_some_and(|(_, range)| range.end() > base)
}

/// The bare lock, for the fork handlers.
pub fn raw() -> &'static crate::sync::RawLock {
    TABLE.raw()
}
