//! What was recorded of a process, since when, and why other things were not; and its devices.

use super::texts::TextId;
use crate::trace::ids::NameId;
use umtui_wire::activity as wire;

/// Most changes that are kept of a process; later ones are left out.
const KEPT: usize = 4096;

/// A kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum What {
    /// Kernels, copies, sets and waits.
    Activity = wire::EVIDENCE_ACTIVITY,
    /// Migrations.
    Migrations = wire::EVIDENCE_MIGRATIONS,
    /// Page faults, thrashing, throttling and remote mappings.
    Faults = wire::EVIDENCE_FAULTS,
    /// Which call submitted what, exactly.
    Correlation = wire::EVIDENCE_CORRELATION,
    /// Pointers among the parameters of kernels.
    Pointers = wire::EVIDENCE_POINTERS,
    /// Ranges and marks.
    Ranges = wire::EVIDENCE_RANGES,
    /// Allocations as the driver sees them.
    Memory = wire::EVIDENCE_MEMORY,
    /// Waits and events as the driver sees them.
    Waits = wire::EVIDENCE_WAITS,
}

impl What {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Activity,
        Self::Migrations,
        Self::Faults,
        Self::Correlation,
        Self::Pointers,
        Self::Ranges,
        Self::Memory,
        Self::Waits,
    ];

    /// By its number.
    #[must_use]
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|what| *what as u16 == number)
    }

    /// The level of evidence that it is, if it is one of the numbered ones.
    #[must_use]
    pub const fn level(self) -> Option<u8> {
        match self {
            Self::Activity => Some(2),
            Self::Migrations => Some(3),
            Self::Faults => Some(4),
            Self::Pointers => Some(5),
            Self::Correlation | Self::Ranges | Self::Memory | Self::Waits => None,
        }
    }

    /// In the words of a user.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Activity => "kernels and copies",
            Self::Migrations => "migrations",
            Self::Faults => "page faults",
            Self::Correlation => "which call submitted what",
            Self::Pointers => "pointers of kernels",
            Self::Ranges => "ranges",
            Self::Memory => "allocations by the driver",
            Self::Waits => "waits by the driver",
        }
    }
}

/// From here on something is recorded, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Statement {
    /// Since when, ns on the trace's axis.
    pub since_ns: u64,
    /// What.
    pub what: What,
    /// `WHY_*`.
    pub why: u32,
    /// Which library, or who else is there.
    pub detail: TextId,
    /// CUPTI's result.
    pub result: u32,
    /// Version of the driver, zero if it is not known.
    pub driver_version: u32,
    /// Version of CUPTI, zero if it is not known.
    pub library_version: u32,
}

impl Statement {
    /// Whether it says that there is evidence.
    #[must_use]
    pub const fn recorded(&self) -> bool {
        self.why == wire::WHY_RECORDED
    }
}

/// A process's, in order of time.
#[derive(Debug, Default)]
pub struct Statements {
    list: Vec<Statement>,
    /// Kinds that are or were recorded, a bit each.
    ever: u16,
}

impl Statements {
    /// All of them, in order of time.
    #[must_use]
    pub fn all(&self) -> &[Statement] {
        &self.list
    }

    /// Adds one.
    pub fn add(&mut self, statement: Statement) {
        if statement.recorded() {
            self.seen(statement.what);
        }
        if self.list.len() >= KEPT {
            self.leave_out_repetitions();
        }
        if self.list.len() >= KEPT {
            return;
        }
        let at = self.list.partition_point(|known| known <= &statement);
        self.list.insert(at, statement);
    }

    /// A recorder says the same again when what it said has been overwritten.
    fn leave_out_repetitions(&mut self) {
        let mut newest: [Option<Statement>; What::ALL.len() + 1] = [None; What::ALL.len() + 1];
        self.list.retain(|statement| {
            let Some(known) = newest.get_mut(statement.what as usize) else { return true };
            let same = known.is_some_and(|known| known == Statement { since_ns: known.since_ns, ..*statement });
            *known = Some(*statement);
            !same
        });
    }

    /// A record of this kind is there.
    pub const fn seen(&mut self, what: What) {
        self.ever |= 1 << what as u16;
    }

    /// Whether it is or was recorded.
    #[must_use]
    pub const fn ever(&self, what: What) -> bool {
        self.ever >> what as u16 & 1 == 1
    }

    /// What was said last.
    #[must_use]
    pub fn newest(&self, what: What) -> Option<&Statement> {
        self.list.iter().rev().find(|statement| statement.what == what)
    }
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Name.
    pub name: NameId,
    /// Its memory, bytes.
    pub memory_bytes: u64,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// PCI domain, bus and device.
    pub pci: (u32, u32, u32),
    /// `umtui_wire::record::DEVICE_*`.
    pub bits: u64,
    /// UUID, zeros if it is not known.
    pub uuid: [u64; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_in_order_of_time() {
        let mut statements = Statements::default();
        let say = |since_ns, what, why| Statement {
            since_ns,
            what,
            why,
            detail: TextId(0),
            result: 0,
            driver_version: 0,
            library_version: 0,
        };
        statements.add(say(9, What::Faults, wire::WHY_STEPPED_ASIDE));
        assert!(!statements.ever(What::Faults));
        statements.add(say(5, What::Faults, wire::WHY_RECORDED));
        statements.add(say(7, What::Activity, wire::WHY_REFUSED));
        assert_eq!(statements.all().iter().map(|statement| statement.since_ns).collect::<Vec<_>>(), [5, 7, 9]);
        assert!(statements.ever(What::Faults) && !statements.ever(What::Activity));
        assert_eq!(statements.newest(What::Faults).map(|statement| statement.why), Some(wire::WHY_STEPPED_ASIDE));
        for ns in 0..2 * KEPT as u64 {
            statements.add(say(ns, What::Ranges, 0));
        }
        assert!(statements.all().len() <= KEPT);
        statements.add(say(10, What::Ranges, 3));
        assert_eq!(
            statements.all().iter().filter(|statement| statement.what == What::Ranges && statement.why == 3).count(),
            1
        );
        for ns in 0..2 * KEPT as u64 {
            statements.add(say(ns, What::Memory, ns as u32));
        }
        assert_eq!(statements.all().len(), KEPT);
    }
}
