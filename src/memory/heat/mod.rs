//! Activity of unified memory by address and time, summed up so that any rectangle of it is had at once.
//!
//! A [`Heat`] is made of a process's records in the order of their rows: pieces of 1,024, and above them nodes of eight,
//! each with a span of time and its sums by address (`profile::Profile`). What lies within one column of a picture
//! costs a few steps for each row of it, however many records there are; only pieces that a column's edge cuts are read
//! record by record. So a picture costs by its cells, and it is right to the record at every zoom. Records may come in
//! any order: pieces whose times overlap only cost more.
//!
//! Room: 6 bytes a record for the pieces, and at most 15 more for what the nodes above them hold, mostly far less.

mod build;
mod picture;
mod profile;

pub use build::Heat;
pub use picture::{Drawing, Grid};

use umtui_wire::activity as wire;

use crate::trace::{Activity, ActivityKind};

/// Causes of a migration: the program asked, and there was no room (`CUpti_ActivityUnifiedMemoryMigrationCause`).
const CAUSE_USER: u8 = 1;
const CAUSE_EVICTION: u8 = 4;

/// What is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Faults of the CPU, and records of faults of devices.
    Faults,
    /// Bytes that moved to devices, neither prefetched nor evicted.
    ToDevice,
    /// Likewise to the host.
    ToHost,
    /// Likewise from device to device.
    Between,
    /// Bytes that the program had prefetched to devices, from wherever.
    PrefetchedToDevice,
    /// Likewise to the host.
    PrefetchedToHost,
    /// Bytes that had to leave because there was no room.
    Evicted,
    /// Records of pages that were mapped where they are.
    RemoteMaps,
    /// Records of pages that are wanted at several places, or of processors held back for that.
    Thrashing,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Faults,
        Self::ToDevice,
        Self::ToHost,
        Self::Between,
        Self::PrefetchedToDevice,
        Self::PrefetchedToHost,
        Self::Evicted,
        Self::RemoteMaps,
        Self::Thrashing,
    ];

    /// Whether it is bytes; the others are records.
    #[must_use]
    pub const fn is_bytes(self) -> bool {
        !matches!(self, Self::Faults | Self::RemoteMaps | Self::Thrashing)
    }
}

/// Sums, one of each measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums([u64; Measure::ALL.len()]);

impl Sums {
    /// Of one measure: bytes or records.
    #[must_use]
    pub fn get(&self, measure: Measure) -> u64 {
        self.0.get(measure as usize).copied().unwrap_or(0)
    }

    /// Bytes that came to devices.
    #[must_use]
    pub fn to_device(&self) -> u64 {
        self.get(Measure::ToDevice).saturating_add(self.get(Measure::PrefetchedToDevice))
    }

    /// Bytes that came to the host, those that were evicted among them.
    #[must_use]
    pub fn to_host(&self) -> u64 {
        let asked = self.get(Measure::ToHost).saturating_add(self.get(Measure::PrefetchedToHost));
        asked.saturating_add(self.get(Measure::Evicted))
    }

    /// Bytes that moved in all.
    #[must_use]
    pub fn moved(&self) -> u64 {
        self.to_device().saturating_add(self.to_host()).saturating_add(self.get(Measure::Between))
    }

    /// Records that are counted as such: faults, mappings, thrashing.
    #[must_use]
    pub fn records(&self) -> u64 {
        let all = Measure::ALL.into_iter().filter(|measure| !measure.is_bytes());
        all.fold(0, |sum, measure| sum.saturating_add(self.get(measure)))
    }

    /// Bytes that went one way and as many the other.
    #[must_use]
    pub fn both_ways(&self) -> u64 {
        self.to_device().min(self.to_host())
    }

    /// Whether nothing is in them.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&sum| sum == 0)
    }

    /// Adds all of the other; saturates.
    pub fn add(&mut self, other: &Self) {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(other);
        }
    }

    /// Adds to one measure; saturates.
    pub fn count(&mut self, measure: Measure, amount: u64) {
        if let Some(sum) = self.0.get_mut(measure as usize) {
            *sum = sum.saturating_add(amount);
        }
    }

    /// These without the others, which are sums of a part of it.
    fn without(&self, part: &Self) -> Self {
        let mut rest = *self;
        for (sum, part) in rest.0.iter_mut().zip(part.0) {
            *sum = sum.saturating_sub(part);
        }
        rest
    }
}

/// What a record adds to a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// To which.
    pub measure: Measure,
    /// First address.
    pub from: u64,
    /// First address after it: each byte counts as one. What is counted by record is one byte long.
    pub to: u64,
}

impl Counted {
    /// Of a record; `None`: nothing that counts.
    #[must_use]
    pub fn of(activity: &Activity) -> Option<Self> {
        if activity.kind != ActivityKind::Unified {
            return None;
        }
        let (counter, cause) = activity.unified();
        let measure = match (counter, cause) {
            (wire::UNIFIED_CPU_FAULT | wire::UNIFIED_GPU_FAULT, _) => Measure::Faults,
            (wire::UNIFIED_REMOTE_MAP, _) => Measure::RemoteMaps,
            (wire::UNIFIED_THRASHING | wire::UNIFIED_THROTTLING, _) => Measure::Thrashing,
            (wire::UNIFIED_TO_HOST, CAUSE_EVICTION) => Measure::Evicted,
            (wire::UNIFIED_TO_HOST, CAUSE_USER) => Measure::PrefetchedToHost,
            (wire::UNIFIED_TO_HOST, _) => Measure::ToHost,
            (wire::UNIFIED_TO_DEVICE | wire::UNIFIED_BETWEEN_DEVICES, CAUSE_USER) => Measure::PrefetchedToDevice,
            (wire::UNIFIED_TO_DEVICE, _) => Measure::ToDevice,
            (wire::UNIFIED_BETWEEN_DEVICES, _) => Measure::Between,
            _ => return None,
        };
        let bytes = if measure.is_bytes() { activity.value } else { 1 };
        let to = activity.address.saturating_add(bytes);
        (to > activity.address).then_some(Self { measure, from: activity.address, to })
    }

    /// How much of it lies in `from..to`.
    #[must_use]
    pub fn within(&self, from: u64, to: u64) -> u64 {
        self.to.min(to).saturating_sub(self.from.max(from))
    }
}

#[cfg(test)]
mod tests;
