//! Kinds of events, as a user chooses among them.

/// Kinds of events that are shown or left out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it")]
#[repr(u8)]
pub enum EventGroup {
    Calls,
    /// Also whole graphs.
    Kernels,
    /// Also memory set.
    Copies,
    /// Of the host and of streams; also events recorded.
    Waits,
    Migrations,
    /// Page faults, thrashing, throttling and remote mappings.
    Faults,
    /// As the driver sees them.
    Allocations,
    /// Time that the driver or the profiling interface took.
    Overheads,
    /// Also marks.
    Ranges,
}

impl EventGroup {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Calls,
        Self::Kernels,
        Self::Copies,
        Self::Waits,
        Self::Migrations,
        Self::Faults,
        Self::Allocations,
        Self::Overheads,
        Self::Ranges,
    ];
}

/// A set of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventKinds(u16);

impl Default for EventKinds {
    fn default() -> Self {
        Self::ALL
    }
}

impl EventKinds {
    /// All.
    pub const ALL: Self = Self((1 << EventGroup::ALL.len()) - 1);

    /// One alone.
    #[must_use]
    pub const fn only(group: EventGroup) -> Self {
        Self(1 << group as u16)
    }

    /// Whether a group is in it.
    #[must_use]
    pub const fn has(self, group: EventGroup) -> bool {
        self.0 >> group as u16 & 1 == 1
    }

    /// The set with a group put in or taken out.
    #[must_use]
    pub const fn flipped(self, group: EventGroup) -> Self {
        Self(self.0 ^ 1 << group as u16)
    }
}
