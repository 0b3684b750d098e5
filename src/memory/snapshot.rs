//! What was in use at a moment.

use std::collections::BTreeMap;
use std::fmt;

use super::{Account, Block};
use crate::correlate::{Allocation, AllocationKind};
use crate::trace::SiteId;
use crate::trace::value::size;

/// Sizes that are alike: those above one power of two and up to the next. As with allocators, a class is called by the
/// largest size in it: `64 KiB` holds what is above 32 KiB and up to 64 KiB. So sizes that are powers of two, which most
/// buffers have, are called by their own size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SizeClass(u8);

impl SizeClass {
    /// Sizes that are not recorded.
    pub const UNKNOWN: Self = Self(u8::MAX);

    /// That of a size in bytes; `None`: not recorded.
    #[must_use]
    pub const fn of(bytes: Option<u64>) -> Self {
        match bytes {
            None => Self::UNKNOWN,
            Some(0 | 1) => Self(0),
            Some(bytes) => Self(64 - (bytes - 1).leading_zeros() as u8),
        }
    }

    /// The largest size in it, bytes; `None`: not recorded. The uppermost class ends where numbers do.
    #[must_use]
    pub const fn largest(self) -> Option<u64> {
        match self.0 {
            u8::MAX => None,
            64.. => Some(u64::MAX),
            power => Some(1 << power),
        }
    }
}

impl fmt::Display for SizeClass {
    /// Its largest size, or `-`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.largest() {
            Some(bytes) => out.write_str(&size(bytes)),
            None => out.write_str("-"),
        }
    }
}

/// How much is held. Sizes that are not recorded count as nothing, and how many there are is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Allocations.
    pub count: u64,
    /// Bytes of them; saturates.
    pub sized_bytes: u64,
    /// Those whose size is not recorded.
    pub unsized_count: u64,
}

impl Held {
    /// One more.
    pub fn add(&mut self, one: &Allocation) {
        self.count += 1;
        self.sized_bytes = self.sized_bytes.saturating_add(one.bytes);
        self.unsized_count += u64::from(one.size().is_none());
    }

    /// And what another one holds.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sized_bytes = self.sized_bytes.saturating_add(other.sized_bytes);
        self.unsized_count += other.unsized_count;
    }

    /// Bytes; `None`: there is something, and of nothing the size is recorded.
    #[must_use]
    pub const fn bytes(&self) -> Option<u64> {
        if self.count > 0 && self.unsized_count == self.count { None } else { Some(self.sized_bytes) }
    }
}

/// What allocations in use are summed up by, as finely as anybody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Code that asked.
    pub site: SiteId,
    /// Size.
    pub class: SizeClass,
    /// Kind.
    pub kind: AllocationKind,
    /// Device, or [`crate::trace::NO_DEVICE`].
    pub device: u8,
}

/// What was in use at a moment, of all kinds: also of those that add nothing to the memory in use
/// ([`AllocationKind::adds_memory`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    at_ns: u64,
    blocks: Vec<usize>,
    cells: BTreeMap<Cell, Held>,
}

impl Snapshot {
    /// At a moment, ns on the trace's axis; `u64::MAX`: after all that the trace holds. What comes at that moment is there,
    /// also if it is gone at once; what goes is not: so at the moment of a peak it holds the peak's bytes.
    #[must_use]
    pub fn at(account: &Account, at_ns: u64) -> Self {
        let (mut blocks, mut cells) = (Vec::new(), BTreeMap::<Cell, Held>::new());
        for (index, block) in account.blocks().iter().enumerate() {
            let one = &block.allocation;
            if !is_there(one, at_ns) {
                continue;
            }
            blocks.push(index);
            let cell = Cell { site: one.site, class: SizeClass::of(one.size()), kind: one.kind, device: one.device };
            cells.entry(cell).or_default().add(one);
        }
        Self { at_ns, blocks, cells }
    }

    /// The moment, ns on the trace's axis; `u64::MAX`: after all that the trace holds.
    #[must_use]
    pub const fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// The allocations: indices into [`Account::blocks`], in order.
    #[must_use]
    pub fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// Sums over them, in order.
    pub fn cells(&self) -> impl Iterator<Item = (Cell, Held)> + '_ {
        self.cells.iter().map(|(&cell, &held)| (cell, held))
    }

    /// Sums by what is asked of each cell, in order; `None` leaves one out.
    pub fn by<K: Ord>(&self, mut key: impl FnMut(Cell) -> Option<K>) -> BTreeMap<K, Held> {
        let mut sums = BTreeMap::<K, Held>::new();
        for (cell, held) in self.cells() {
            if let Some(key) = key(cell) {
                sums.entry(key).or_default().merge(held);
            }
        }
        sums
    }

    /// All that adds to the memory in use.
    #[must_use]
    pub fn total(&self) -> Held {
        self.by(|cell| cell.kind.adds_memory().then_some(())).remove(&()).unwrap_or_default()
    }
}

/// Whether an allocation is in use at a moment, as [`Snapshot::at`] has it.
pub(super) const fn is_there(one: &Allocation, at_ns: u64) -> bool {
    one.made_ns <= at_ns && (!one.has_ended() || one.freed_ns > at_ns || one.made_ns == at_ns)
}

/// A block of an account by its index.
pub(super) fn block(account: &Account, index: usize) -> Option<&Block> {
    account.blocks().get(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_called_by_its_largest_size() {
        for (bytes, largest) in [
            (0, 1),
            (1, 1),
            (2, 2),
            (3, 4),
            (4, 4),
            (5, 8),
            (64 << 10, 64 << 10),
            ((64 << 10) + 1, 128 << 10),
            (1 << 63, 1 << 63),
            ((1 << 63) + 1, u64::MAX),
            (u64::MAX, u64::MAX),
        ] {
            let class = SizeClass::of(Some(bytes));
            assert_eq!(class.largest(), Some(largest), "{bytes}");
            assert!(class < SizeClass::UNKNOWN);
        }
        assert_eq!(SizeClass::of(None).largest(), None);
        assert_eq!(
            (SizeClass::of(Some(40_000)).to_string(), SizeClass::UNKNOWN.to_string()),
            ("64 KiB".into(), "-".into())
        );
    }
}
