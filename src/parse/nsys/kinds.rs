//! Numbers that an export gives to kinds of copies, of memory and so on, brought to those of CUPTI.
//!
//! The export says in tables of its own what its numbers mean; where it lacks them, they are those of schema 3.28.

use super::database::{Database, Row};
use super::rows::{Accesses, Causes, CopyKinds, MemoryKinds, MemoryOperations, WaitKinds};
use rustc_hash::FxHashMap;

/// `CUDA_MEMCPY_KIND_*`, and the kind of a copy that is meant: CUPTI's below [`MIGRATION`].
const COPIES: &[(i64, &str, u8)] = &[
    (1, "HTOD", 1),
    (2, "DTOH", 2),
    (3, "HTOA", 3),
    (4, "ATOH", 4),
    (5, "ATOA", 5),
    (6, "ATOD", 6),
    (7, "DTOA", 7),
    (8, "DTOD", 8),
    (9, "HTOH", 9),
    (10, "PTOP", 10),
    (11, "UVM_HTOD", TO_DEVICE),
    (12, "UVM_DTOH", TO_HOST),
    (13, "UVM_DTOD", BETWEEN),
];

/// From here on kinds are migrations of unified memory.
pub const MIGRATION: u8 = 100;
/// Pages moved to a device.
pub const TO_DEVICE: u8 = 101;
/// To the host.
pub const TO_HOST: u8 = 102;
/// From device to device.
pub const BETWEEN: u8 = 103;

/// `CUDA_MEMOPR_MEMORY_KIND_*` and `CUpti_ActivityMemoryKind`.
const MEMORY: &[(i64, &str, u8)] = &[
    (0, "PAGEABLE", 1),
    (1, "PINNED", 2),
    (2, "DEVICE", 3),
    (3, "ARRAY", 4),
    (4, "MANAGED", 5),
    (5, "DEVICE_STATIC", 6),
    (6, "MANAGED_STATIC", 7),
];

/// `CUDA_DEV_MEM_EVENT_OPR_*` and what we write for it.
const OPERATIONS: &[(i64, &str, u8)] = &[(0, "ALLOCATION", 1), (1, "DEALLOCATION", 2)];

/// `CUpti_ActivitySynchronizationType`, by how names end.
const WAITS: &[(i64, &str, u8)] = &[
    (1, "EVENT_SYNCHRONIZE", 1),
    (2, "STREAM_WAIT_EVENT", 2),
    (3, "STREAM_SYNCHRONIZE", 3),
    (4, "CONTEXT_SYNCHRONIZE", 4),
];

/// `CUpti_ActivityUnifiedMemoryMigrationCause`, likewise.
const CAUSES: &[(i64, &str, u8)] =
    &[(1, "USER", 1), (2, "COHERENCE", 2), (3, "PREFETCH", 3), (4, "EVICTION", 4), (5, "ACCESS_COUNTERS", 5)];

/// `CUpti_ActivityUnifiedMemoryAccessType`, likewise.
const ACCESSES: &[(i64, &str, u8)] = &[(1, "READ", 1), (2, "WRITE", 2), (3, "ATOMIC", 3), (4, "PREFETCH", 4)];

/// What numbers mean in an export.
#[derive(Debug)]
pub struct Kinds {
    copies: FxHashMap<i64, u8>,
    memory: FxHashMap<i64, u8>,
    operations: FxHashMap<i64, u8>,
    waits: FxHashMap<i64, u8>,
    causes: FxHashMap<i64, u8>,
    accesses: FxHashMap<i64, u8>,
}

impl Kinds {
    /// Of a database.
    pub fn read(database: &Database) -> Self {
        let copies = |row: CopyKinds| (row.id, row.name);
        let memory = |row: MemoryKinds| (row.id, row.name);
        let operations = |row: MemoryOperations| (row.id, row.name);
        let waits = |row: WaitKinds| (row.id, row.name);
        let causes = |row: Causes| (row.id, row.name);
        let accesses = |row: Accesses| (row.id, row.name);
        Self {
            copies: table(database, "CUDA_MEMCPY_KIND_", COPIES, copies),
            memory: table(database, "CUDA_MEMOPR_MEMORY_KIND_", MEMORY, memory),
            operations: table(database, "CUDA_DEV_MEM_EVENT_OPR_", OPERATIONS, operations),
            waits: table(database, "", WAITS, waits),
            causes: table(database, "", CAUSES, causes),
            accesses: table(database, "", ACCESSES, accesses),
        }
    }

    /// A copy's kind; zero if it is not known.
    pub fn copy(&self, kind: Option<i64>) -> u8 {
        kind.and_then(|kind| self.copies.get(&kind)).copied().unwrap_or(0)
    }

    /// A kind of memory; zero if it is not known.
    pub fn memory(&self, kind: Option<i64>) -> u8 {
        kind.and_then(|kind| self.memory.get(&kind)).copied().unwrap_or(0)
    }

    /// 1 allocated, 2 released, zero if it is not known.
    pub fn operation(&self, operation: Option<i64>) -> u8 {
        operation.and_then(|operation| self.operations.get(&operation)).copied().unwrap_or(0)
    }

    /// A wait's kind; the export's own number if it is not known.
    pub fn wait(&self, kind: Option<i64>) -> u32 {
        kind.map_or(0, |kind| self.waits.get(&kind).map_or(kind as u32, |&known| u32::from(known)))
    }

    /// Why pages moved; zero if it is not known.
    pub fn cause(&self, cause: Option<i64>) -> u32 {
        cause.and_then(|cause| self.causes.get(&cause)).copied().map_or(0, u32::from)
    }

    /// How pages were used; zero if it is not known.
    pub fn access(&self, access: Option<i64>) -> u32 {
        access.and_then(|access| self.accesses.get(&access)).copied().map_or(0, u32::from)
    }
}

/// What the numbers of a table mean: by their names there, by our own list where it has none of them. Without a prefix
/// names are known by their ends.
fn table<R: Row>(
    database: &Database,
    prefix: &str,
    known: &[(i64, &str, u8)],
    read: impl Fn(R) -> (Option<i64>, Option<String>),
) -> FxHashMap<i64, u8> {
    let mut found = FxHashMap::default();
    let mut left = 1000;
    database.each::<R>(|row| {
        if let (Some(id), Some(name)) = read(row) {
            let rest = name.strip_prefix(prefix).unwrap_or(&name);
            let is_it = |called: &str| called == rest || (prefix.is_empty() && rest.ends_with(called));
            if let Some((.., kind)) = known.iter().find(|(_, called, _)| is_it(called)) {
                found.insert(id, *kind);
            }
        }
        left -= 1;
        left > 0
    });
    if found.is_empty() {
        found.extend(known.iter().map(|&(id, _, kind)| (id, kind)));
    }
    found
}
