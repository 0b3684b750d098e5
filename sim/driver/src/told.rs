//! What the driver tells the profiling interface (`sim/cupti`), which includes this file: so both have the same layouts.

use std::ffi::{c_char, c_int, c_void};

/// No stream, event, device.
pub const NONE: u32 = u32::MAX;

/// Kinds of [`Event`].
pub mod kind {
    /// Pages moved; `bytes`, `src`, `dst`, `cause`.
    pub const MIGRATION: u32 = 1;
    /// The CPU faulted; `value` is the program counter, `access` 1 read or 2 write.
    pub const CPU_FAULT: u32 = 2;
    /// A device's fault group; `access` 1 read or 2 write, `src` the device.
    pub const GPU_FAULT_GROUP: u32 = 3;
    /// Pages were mapped where they are; `src` who maps, `dst` where they are.
    pub const REMOTE_MAP: u32 = 4;
    /// A kernel ran; `name`, `grid`, `block`, `shared`, `cooperative`, `graph`, `node`.
    pub const KERNEL: u32 = 5;
    /// A copy ran; `value` is the copy kind (1 h2d, 2 d2h, 3 d2d, 0 h2h), `access` 1 where a side was pageable, `memory`.
    pub const COPY: u32 = 6;
    /// A memset ran; `value`, `memory`.
    pub const SET: u32 = 7;
    /// A host function ran.
    pub const HOST_FUNCTION: u32 = 8;
    /// An event was recorded, at `start`; `object`, `number`. From here on the profiling interface alone is told.
    pub const EVENT: u32 = 9;
    /// A call or a stream (`value` 2) waited; `value` is CUPTI's kind of synchronisation, `object` and `number` the event's.
    pub const WAIT: u32 = 10;
    /// Memory was allocated (`value` 1) or released (2), at `start`; `address`, `bytes`, `memory`.
    pub const MEMORY: u32 = 11;
    /// A graph ran as a whole; `graph`.
    pub const GRAPH: u32 = 12;
}

/// CUPTI's kinds of synchronisation, `value` of a wait.
pub mod sync {
    /// The host waited for an event.
    pub const EVENT: u64 = 1;
    /// A stream waits for an event.
    pub const STREAM_FOR_EVENT: u64 = 2;
    /// The host waited for a stream.
    pub const STREAM: u64 = 3;
    /// The host waited for a context.
    pub const CONTEXT: u64 = 4;
}

/// One record. `src` and `dst` are -1 for the host, else a device ordinal. Times are CLOCK_MONOTONIC nanoseconds.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Event {
    /// `sizeof` this structure, so that it can grow.
    pub size: u32,
    /// See [`kind`].
    pub kind: u32,
    pub start: u64,
    pub end: u64,
    pub address: u64,
    pub bytes: u64,
    pub src: c_int,
    pub dst: c_int,
    /// CUPTI's migration cause.
    pub cause: u32,
    pub access: u32,
    pub value: u64,
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    /// Number of the submitting call, see `umsim_last_correlation`.
    pub correlation: u32,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Mangled kernel name, valid as long as its library is loaded.
    pub name: *const c_char,
    /// CUPTI's kinds of the memory read and written: 1 pageable, 2 pinned, 3 device, 5 managed.
    pub memory: [u8; 2],
    /// 1 where the call did not wait for the work.
    pub asynchronous: u8,
    /// 1 for a cooperative launch.
    pub cooperative: u8,
    /// Bytes of shared memory that the launch adds.
    pub shared: u32,
    /// The graph that the work belongs to, and its node there; zero for none.
    pub graph: u32,
    /// Number of an event, [`NONE`] for none.
    pub object: u32,
    pub node: u64,
    /// Which recording of the event.
    pub number: u64,
}

// SAFETY: the only pointer names a string that outlives the record (kernel names are never freed).
unsafe impl Send for Event {}

impl Event {
    /// All zero: no record. Kept apart from [`Self::new`] so that a ring of them costs no space in the library's file.
    // SAFETY: integers and a pointer, for all of which zero is a value.
    pub const ZERO: Self = unsafe { std::mem::zeroed() };

    /// A record of a kind, all else zero.
    pub const fn new(kind: u32) -> Self {
        Self { size: std::mem::size_of::<Self>() as u32, kind, src: -1, dst: -1, object: NONE, ..Self::ZERO }
    }
}

/// A watched driver call begins or ends.
#[repr(C)]
pub struct Call {
    /// 0 at its beginning, 1 at its end.
    pub site: u32,
    /// What [`Driver::watch`] was given.
    pub id: u32,
    pub correlation: u32,
    /// Number of the thread's context, 0 for none.
    pub context_id: u32,
    pub context: *const c_void,
    /// The arguments in their order, as a C structure.
    pub params: *const c_void,
    /// The result, valid at the end.
    pub result: *const c_int,
    /// Mangled name of the kernel that is launched, or null.
    pub symbol: *const c_char,
    /// A word that is the same at both sites.
    pub data: *mut u64,
}

/// Whom the driver tells.
#[repr(C)]
pub struct Sink {
    /// `sizeof` this structure.
    pub size: usize,
    /// A watched call, on the thread that makes it.
    pub call: unsafe extern "C" fn(*const Call),
    /// Something happened. Called on any thread, also inside the SIGSEGV handler: it must be async-signal-safe.
    pub event: unsafe extern "C" fn(*const Event),
    /// A context was made (1) or is about to end (2).
    pub context: unsafe extern "C" fn(u32, *const c_void),
}

/// What the driver offers in return.
#[repr(C)]
pub struct Driver {
    /// `sizeof` this structure.
    pub size: usize,
    /// Whether `cuInit` has returned successfully.
    pub initialized: extern "C" fn() -> c_int,
    /// The exported symbol of an index and its length, not NUL-ended; null beyond the last.
    pub symbol: unsafe extern "C" fn(usize, *mut usize) -> *const c_char,
    /// From now on calls of the symbol are told with this id; 0: no longer.
    pub watch: extern "C" fn(usize, u32),
}
