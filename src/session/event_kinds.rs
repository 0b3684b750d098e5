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

/// A rectangle of unified memory: addresses of a process by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventsWithin {
    /// Number of the process.
    pub process: u16,
    /// First address, and first after it.
    pub addresses: (u64, u64),
    /// Begin and end, ns since the trace began; what starts in between is in it.
    pub ns: (u64, u64),
}

/// A set of groups, and perhaps of them only what happened within a rectangle of unified memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventKinds {
    groups: u16,
    within: Option<EventsWithin>,
}

impl Default for EventKinds {
    fn default() -> Self {
        Self::ALL
    }
}

impl EventKinds {
    /// All.
    pub const ALL: Self = Self { groups: (1 << EventGroup::ALL.len()) - 1, within: None };

    /// One alone.
    #[must_use]
    pub const fn only(group: EventGroup) -> Self {
        Self { groups: 1 << group as u16, within: None }
    }

    /// Whether a group is in it.
    #[must_use]
    pub const fn has(self, group: EventGroup) -> bool {
        self.groups >> group as u16 & 1 == 1
    }

    /// The set with a group put in or taken out.
    #[must_use]
    pub const fn flipped(self, group: EventGroup) -> Self {
        Self { groups: self.groups ^ 1 << group as u16, ..self }
    }

    /// Migrations, faults and the like within a rectangle of unified memory.
    #[must_use]
    pub const fn inside(within: EventsWithin) -> Self {
        let groups = 1 << EventGroup::Migrations as u16 | 1 << EventGroup::Faults as u16;
        Self { groups, within: Some(within) }
    }

    /// The rectangle, if there is one.
    #[must_use]
    pub const fn within(self) -> Option<EventsWithin> {
        self.within
    }
}
