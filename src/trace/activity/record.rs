//! A record of what the GPU or the driver did, and where it belongs.

use super::texts::TextId;
use crate::trace::call::NO_DEVICE;
use umtui_wire::activity as wire;

/// What a record is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ActivityKind {
    /// A kernel ran.
    #[default]
    Kernel = wire::KIND_KERNEL,
    /// Memory was copied.
    Copy = wire::KIND_COPY,
    /// Memory was set.
    Set = wire::KIND_SET,
    /// The host or a stream waited.
    Wait = wire::KIND_WAIT,
    /// An event was recorded.
    Event = wire::KIND_EVENT,
    /// Time that went elsewhere.
    Overhead = wire::KIND_OVERHEAD,
    /// Unified memory.
    Unified = wire::KIND_UNIFIED,
    /// A whole graph ran.
    Graph = wire::KIND_GRAPH,
    /// Memory was allocated or released, as the driver sees it.
    Memory = wire::KIND_MEMORY,
}

impl ActivityKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Kernel,
        Self::Copy,
        Self::Set,
        Self::Wait,
        Self::Event,
        Self::Overhead,
        Self::Unified,
        Self::Graph,
        Self::Memory,
    ];

    /// Of a record's kind.
    #[must_use]
    pub fn of(kind: u8) -> Option<Self> {
        Some(match kind {
            wire::KIND_KERNEL => Self::Kernel,
            wire::KIND_COPY => Self::Copy,
            wire::KIND_SET => Self::Set,
            wire::KIND_WAIT => Self::Wait,
            wire::KIND_EVENT => Self::Event,
            wire::KIND_OVERHEAD => Self::Overhead,
            wire::KIND_UNIFIED => Self::Unified,
            wire::KIND_GRAPH => Self::Graph,
            wire::KIND_MEMORY => Self::Memory,
            _ => return None,
        })
    }

    /// Slots of its longest record.
    #[must_use]
    pub const fn slots(self) -> u16 {
        match self {
            Self::Kernel | Self::Copy | Self::Set | Self::Unified | Self::Memory => 2,
            Self::Wait | Self::Event | Self::Overhead | Self::Graph => 1,
        }
    }

    /// Whether it is work of a stream.
    #[must_use]
    pub const fn is_work(self) -> bool {
        matches!(self, Self::Kernel | Self::Copy | Self::Set | Self::Graph)
    }
}

/// What a lane is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneOf {
    /// Kernels, copies, sets and graphs of a stream.
    Stream {
        /// CUPTI's id of the context.
        context: u32,
        /// CUPTI's id of the stream.
        stream: u32,
    },
    /// Likewise of the streams that are too many to be told apart.
    Rest,
    /// Unified memory.
    Unified,
    /// Allocations as the driver sees them.
    Memory,
    /// Waits, events and overheads.
    Host,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// What it is of.
    pub kind: ActivityKind,
    /// Start, ns on the trace's axis.
    pub start_ns: u64,
    /// Duration, ns; zero for moments.
    pub duration_ns: u64,
    /// Whether the driver knew when; if not, `start_ns` is when it was written down, about.
    pub timed: bool,
    /// By kind. Kernel: how it was launched (0 to 3). Copy: its kind, 1 to the device, 2 to the host and so on, with
    /// [`Activity::PAGEABLE`] if either side is pageable and [`Activity::MANAGED`] if either is managed. Set: kind of memory. Wait: what for, 1 to 4. Unified memory:
    /// `UNIFIED_*`, and its flags (cause or access) in the upper four bits. Memory: 1 allocated, 2 released.
    pub detail: u8,
    /// Device, or [`NO_DEVICE`]. Of a migration the device that is not the host, of one between devices that which it
    /// went to.
    pub device: u8,
    /// By kind. Kernel: [`TextId`] of its name. Copy, set, memory, migration: bytes. GPU fault: groups. Graph: CUPTI's
    /// id of it. Wait, event: CUPTI's id of the stream. Overhead: `CUpti_ActivityOverheadKind`. CPU fault: zero, the
    /// instruction is in the record.
    pub value: u64,
    /// Correlation id, zero if there is none.
    pub correlation: u32,
    /// Address, zero if there is none.
    pub address: u64,
    /// Of copies, migrations and mappings between devices: from which one to which one. [`NO_DEVICE`]: none, or not known.
    pub ends: [u8; 2],
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            kind: ActivityKind::default(),
            start_ns: 0,
            duration_ns: 0,
            timed: true,
            detail: 0,
            device: NO_DEVICE,
            value: 0,
            correlation: 0,
            address: 0,
            ends: NO_ENDS,
        }
    }
}

/// Of a row that went between no devices.
pub const NO_ENDS: [u8; 2] = [NO_DEVICE; 2];

impl Activity {
    /// Bit of a copy's detail: one side of it is pageable memory.
    pub const PAGEABLE: u8 = 1 << 7;
    /// Bit of a copy's detail: one side of it is managed memory.
    pub const MANAGED: u8 = 1 << 6;
    const COPY_KIND: u8 = !(Self::PAGEABLE | Self::MANAGED);

    /// End, ns on the trace's axis; saturates.
    #[must_use]
    pub const fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }

    /// Of a kernel: its name.
    #[must_use]
    pub const fn text(&self) -> TextId {
        TextId(self.value as u32)
    }

    /// Of unified memory: `UNIFIED_*`, and the flags: a migration's cause, a fault's access.
    #[must_use]
    pub const fn unified(&self) -> (u16, u8) {
        (self.detail as u16 & 15, self.detail >> 4)
    }

    /// Of a copy: its kind, and whether one side is pageable.
    #[must_use]
    pub const fn copy(&self) -> (u8, bool) {
        (self.detail & Self::COPY_KIND, self.detail & Self::PAGEABLE != 0)
    }

    /// A copy's detail: its kind, and whether a side is pageable, and managed.
    #[must_use]
    pub const fn copy_detail(kind: u8, pageable: bool, managed: bool) -> u8 {
        let kind = if kind < Self::COPY_KIND { kind } else { Self::COPY_KIND };
        kind | if pageable { Self::PAGEABLE } else { 0 } | if managed { Self::MANAGED } else { 0 }
    }
}
