//! CUPTI's activity records, taken apart.
//!
//! A record's layout grows with CUPTI's versions, and what it had stays where it was (11.8 to 13.5, compared by
//! `offsetof`): so a field is there if the record is long enough for it, and nothing depends on which version it is.

use umtui_wire::activity::{
    Copied, EventRecorded, GraphRun, KIND_COPY, KIND_EVENT, KIND_GRAPH, KIND_KERNEL, KIND_MEMORY, KIND_OVERHEAD,
    KIND_SET, KIND_UNIFIED, KIND_WAIT, Kernel, Memory, NONE, Overhead, Set, Unified, Wait,
};
use umtui_wire::record::Head;

/// `CUpti_ActivityKind`: a copy.
pub const MEMCPY: u32 = 1;
/// Memory is set.
pub const MEMSET: u32 = 2;
/// A kernel that did not run alone by force.
const KERNEL: u32 = 3;
/// A kernel.
pub const CONCURRENT_KERNEL: u32 = 10;
/// Time that CUPTI or the driver took.
pub const OVERHEAD: u32 = 17;
/// A copy between devices.
pub const MEMCPY2: u32 = 22;
/// Unified memory.
pub const UNIFIED_MEMORY_COUNTER: u32 = 25;
/// An event is recorded.
pub const CUDA_EVENT: u32 = 36;
/// A synchronisation.
pub const SYNCHRONIZATION: u32 = 38;
/// Memory is allocated or released.
pub const MEMORY2: u32 = 49;
/// A graph as a whole.
pub const GRAPH_TRACE: u32 = 51;

/// A record as it goes into the file, but for its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A kernel, and the address of its name.
    Kernel(Kernel, u64),
    /// A copy.
    Copied(Copied),
    /// Memory was set.
    Set(Set),
    /// A synchronisation.
    Wait(Wait),
    /// An event was recorded.
    Event(EventRecorded),
    /// Overhead.
    Overhead(Overhead),
    /// Unified memory.
    Unified(Unified),
    /// A graph.
    Graph(GraphRun),
    /// Memory, and the address of a variable's name.
    Memory(Memory, u64),
}

impl Decoded {
    /// When it began, CUPTI's ns; zero if that is not known.
    pub fn start(&self) -> u64 {
        match self {
            Self::Kernel(record, _) => record.start,
            Self::Copied(record) => record.start,
            Self::Set(record) => record.start,
            Self::Wait(record) => record.start,
            Self::Event(record) => record.time,
            Self::Overhead(record) => record.start,
            Self::Unified(record) => record.start,
            Self::Graph(record) => record.start,
            Self::Memory(record, _) => record.time,
        }
    }
}

/// The bytes of a record; what lies beyond them is zero.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn array<const N: usize>(self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        if let Some(found) = self.0.get(at..at.saturating_add(N)) {
            bytes.copy_from_slice(found);
        }
        bytes
    }

    fn u8(self, at: usize) -> u8 {
        let [byte] = self.array(at);
        byte
    }

    fn u16(self, at: usize) -> u16 {
        u16::from_ne_bytes(self.array(at))
    }

    fn u32(self, at: usize) -> u32 {
        u32::from_ne_bytes(self.array(at))
    }

    fn u64(self, at: usize) -> u64 {
        u64::from_ne_bytes(self.array(at))
    }

    fn three(self, at: usize) -> [u32; 3] {
        [self.u32(at), self.u32(at.wrapping_add(4)), self.u32(at.wrapping_add(8))]
    }
}

/// Takes a record apart that CUPTI has handed over, from its first byte to the next record's. `None`: of a kind that is
/// not asked for, or too short for what its kind has had from the first version on.
pub fn decode(bytes: &[u8]) -> Option<Decoded> {
    let record = Bytes(bytes);
    let least = match record.u32(0) {
        KERNEL | CONCURRENT_KERNEL => 120,
        MEMCPY | MEMSET | UNIFIED_MEMORY_COUNTER => 64,
        MEMCPY2 => 72,
        SYNCHRONIZATION | OVERHEAD => 40,
        CUDA_EVENT => 24,
        GRAPH_TRACE => 48,
        MEMORY2 => 112,
        _ => return None,
    };
    if bytes.len() < least {
        return None;
    }
    Some(match record.u32(0) {
        KERNEL | CONCURRENT_KERNEL => kernel(record),
        MEMCPY | MEMCPY2 => Decoded::Copied(copied(record)),
        MEMSET => Decoded::Set(set(record)),
        SYNCHRONIZATION => Decoded::Wait(wait(record)),
        OVERHEAD => Decoded::Overhead(overhead(record)),
        CUDA_EVENT => Decoded::Event(event(record)),
        GRAPH_TRACE => Decoded::Graph(graph(record)),
        MEMORY2 => memory(record),
        _ => Decoded::Unified(unified(record)),
    })
}

fn kernel(record: Bytes<'_>) -> Decoded {
    let [x, y, z] = record.three(64);
    let kernel = Kernel {
        head: Kernel::head(KIND_KERNEL, record.u32(40) as u16, record.u32(92)),
        start: record.u64(16),
        end: record.u64(24),
        context: record.u32(44),
        stream: record.u32(48),
        registers: record.u16(6),
        launch: record.u8(136),
        grid: record.three(52),
        block: [x as u16, y as u16, z as u16],
        static_shared: record.u32(76),
        dynamic_shared: record.u32(80),
        local: record.u32(84),
        graph: record.u32(156),
        node: record.u64(144),
        ..Kernel::default()
    };
    Decoded::Kernel(kernel, record.u64(104))
}

fn copied(record: Bytes<'_>) -> Copied {
    let between = record.u32(0) == MEMCPY2;
    let (correlation, node) = if between { (60, 72) } else { (44, 64) };
    let (from, to) = if between { (record.u32(44), record.u32(52)) } else { (NONE, NONE) };
    let graph = record.u32(if between { 80 } else { 72 });
    let node = record.u64(node);
    let mut copied = Copied {
        head: Copied::head(KIND_COPY, record.u32(32) as u16, record.u32(correlation)),
        start: record.u64(16),
        end: record.u64(24),
        bytes: record.u64(8),
        context: record.u32(36),
        stream: record.u32(40),
        kind: record.u8(4),
        from: record.u8(5),
        to: record.u8(6),
        flags: record.u8(7),
        from_device: from as u16,
        to_device: to as u16,
        graph,
        node,
        count: if between { 0 } else { record.u64(88) },
        ..Copied::default()
    };
    if graph == 0 && node == 0 && copied.count <= 1 {
        copied.head = short(copied.head);
    }
    copied
}

fn set(record: Bytes<'_>) -> Set {
    let mut set = Set {
        head: Set::head(KIND_SET, record.u32(32) as u16, record.u32(44)),
        start: record.u64(16),
        end: record.u64(24),
        bytes: record.u64(8),
        context: record.u32(36),
        stream: record.u32(40),
        memory: record.u16(50) as u8,
        flags: record.u16(48) as u8,
        value: record.u32(4),
        graph: record.u32(72),
        node: record.u64(64),
        ..Set::default()
    };
    if set.graph == 0 && set.node == 0 {
        set.head = short(set.head);
    }
    set
}

fn wait(record: Bytes<'_>) -> Wait {
    Wait {
        head: Wait::head(KIND_WAIT, 0, record.u32(24)),
        start: record.u64(8),
        end: record.u64(16),
        context: record.u32(28),
        stream: record.u32(32),
        kind: record.u32(4),
        event: record.u32(36),
        event_sync: record.u64(40),
    }
}

fn event(record: Bytes<'_>) -> EventRecorded {
    EventRecorded {
        head: EventRecorded::head(KIND_EVENT, record.u32(24) as u16, record.u32(4)),
        time: record.u64(40),
        event_sync: record.u64(48),
        context: record.u32(8),
        stream: record.u32(12),
        event: record.u32(16),
        ..EventRecorded::default()
    }
}

fn overhead(record: Bytes<'_>) -> Overhead {
    Overhead {
        head: Overhead::head(KIND_OVERHEAD, 0, record.u32(40)),
        start: record.u64(24),
        end: record.u64(32),
        kind: record.u32(4),
        object: record.u32(8),
        first: record.u32(12),
        second: record.u32(16),
        ..Overhead::default()
    }
}

fn unified(record: Bytes<'_>) -> Unified {
    let mut processors = [0; 5];
    for (word, at) in processors.iter_mut().zip((64..).step_by(8)) {
        *word = record.u64(at);
    }
    let mut unified = Unified {
        head: Unified::head(KIND_UNIFIED, record.u32(4) as u16, record.u32(56)),
        start: record.u64(16),
        end: record.u64(24),
        value: record.u64(8),
        address: record.u64(32),
        from: record.u32(40),
        to: record.u32(44),
        processors,
        ..Unified::default()
    };
    if processors == [0; 5] {
        unified.head = short(unified.head);
    }
    unified
}

fn graph(record: Bytes<'_>) -> GraphRun {
    let device = record.u32(24);
    GraphRun {
        head: GraphRun::head(KIND_GRAPH, device as u16, record.u32(4)),
        start: record.u64(8),
        end: record.u64(16),
        graph: record.u32(28),
        context: record.u32(32),
        stream: record.u32(36),
        end_device: if record.0.len() < 56 { device } else { record.u32(48) },
        ..GraphRun::default()
    }
}

fn memory(record: Bytes<'_>) -> Decoded {
    let memory = Memory {
        head: Memory::head(KIND_MEMORY, record.u32(52) as u16, record.u32(12)),
        time: record.u64(32),
        address: record.u64(16),
        bytes: record.u64(24),
        code: record.u64(40),
        context: record.u32(56),
        stream: record.u32(60),
        operation: record.u32(4) as u8,
        kind: record.u32(8) as u8,
        flags: u8::from(record.u32(72) != 0),
        ..Memory::default()
    };
    Decoded::Memory(memory, record.u64(64))
}

/// The head of the record without its second slot.
fn short(head: u64) -> u64 {
    Head { extra: 0, ..Head::from_word(head) }.word()
}

#[cfg(test)]
#[path = "recorded.rs"]
mod tests;
