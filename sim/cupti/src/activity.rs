//! What kinds of activity are recorded, and the records as they come from the driver.

use crate::records::{self, unified};
use crate::result::{INVALID_KIND, INVALID_PARAMETER, NOT_INITIALIZED, NOT_READY};
use crate::told::{Event, kind};
use crate::{buffers, clock, config, driver, ring, worker};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// `CUpti_ActivityKind`.
pub mod kinds {
    pub const MEMCPY: u32 = 1;
    pub const MEMSET: u32 = 2;
    pub const KERNEL: u32 = 3;
    pub const CONCURRENT_KERNEL: u32 = 10;
    pub const OVERHEAD: u32 = 17;
    pub const MEMCPY2: u32 = 22;
    pub const UNIFIED_MEMORY_COUNTER: u32 = 25;
    pub const CUDA_EVENT: u32 = 36;
    pub const SYNCHRONIZATION: u32 = 38;
    pub const MEMORY2: u32 = 49;
    pub const GRAPH_TRACE: u32 = 51;
    /// One past the last.
    pub const COUNT: u32 = 60;
}

/// Kinds that are recorded, a bit each.
static ENABLED: AtomicU64 = AtomicU64::new(0);
/// Counters of unified memory that are asked for, a bit each.
static COUNTERS: AtomicU32 = AtomicU32::new(0);

/// `CUpti_ActivityUnifiedMemoryCounterConfig`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CounterConfig {
    pub scope: u32,
    pub kind: u32,
    pub device: u32,
    pub enable: u32,
}

fn enabled(kind: u32) -> bool {
    ENABLED.load(Ordering::Relaxed) & (1 << (kind & 63)) != 0
}

fn check(kind: u32) -> Result<(), c_int> {
    if (1..kinds::COUNT).contains(&kind) { Ok(()) } else { Err(INVALID_KIND) }
}

/// Unified memory is recorded once `cuInit` has returned.
fn ready() -> Result<(), c_int> {
    let driver = driver::attach().ok_or(NOT_INITIALIZED)?;
    if (driver.initialized)() != 0 { Ok(()) } else { Err(NOT_READY) }
}

/// `cuptiActivityEnable`.
pub fn enable(kind: u32) -> Result<(), c_int> {
    config::get().permit("enable", Some(kind))?;
    check(kind)?;
    driver::attach().ok_or(NOT_INITIALIZED)?;
    let start = clock::monotonic();
    if kind == kinds::UNIFIED_MEMORY_COUNTER {
        ready()?;
    }
    worker::start();
    ENABLED.fetch_or(1 << kind, Ordering::Relaxed);
    if kind == kinds::UNIFIED_MEMORY_COUNTER {
        overhead(records::UVM_ACTIVITY_INIT, start);
    }
    Ok(())
}

/// `cuptiActivityDisable`.
pub fn disable(kind: u32) -> Result<(), c_int> {
    config::get().permit("disable", Some(kind))?;
    check(kind)?;
    ENABLED.fetch_and(!(1 << kind), Ordering::Relaxed);
    Ok(())
}

/// Nothing is recorded any more.
pub fn disable_all() {
    ENABLED.store(0, Ordering::Relaxed);
    COUNTERS.store(0, Ordering::Relaxed);
}

/// `cuptiActivityConfigureUnifiedMemoryCounter`.
pub fn configure(counters: &[CounterConfig]) -> Result<(), c_int> {
    config::get().permit("um", None)?;
    ready()?;
    let known = |counter: &CounterConfig| matches!(counter.scope, 1 | 2);
    if counters.is_empty() || !counters.iter().all(known) {
        return Err(INVALID_PARAMETER);
    }
    if !counters.iter().all(|counter| (unified::TO_DEVICE..=unified::BETWEEN_DEVICES).contains(&counter.kind)) {
        return Err(INVALID_KIND);
    }
    for counter in counters {
        let bit = 1 << counter.kind;
        if counter.enable != 0 {
            COUNTERS.fetch_or(bit, Ordering::Relaxed);
        } else {
            COUNTERS.fetch_and(!bit, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Whether a record is asked for.
fn wanted(event: &Event) -> bool {
    // Graphs are recorded as a whole, or by node.
    let node = event.graph != 0 && event.kind != kind::GRAPH;
    if node && enabled(kinds::GRAPH_TRACE) {
        return false;
    }
    match event.kind {
        kind::MIGRATION | kind::CPU_FAULT | kind::GPU_FAULT_GROUP | kind::REMOTE_MAP => {
            let counter = 1 << records::counter(event);
            enabled(kinds::UNIFIED_MEMORY_COUNTER) && COUNTERS.load(Ordering::Relaxed) & counter != 0
        }
        kind::KERNEL => enabled(kinds::CONCURRENT_KERNEL) || enabled(kinds::KERNEL),
        kind::COPY if records::is_peer(event) => enabled(kinds::MEMCPY2),
        kind::COPY => enabled(kinds::MEMCPY),
        kind::SET => enabled(kinds::MEMSET),
        kind::EVENT => enabled(kinds::CUDA_EVENT),
        kind::WAIT => enabled(kinds::SYNCHRONIZATION),
        kind::MEMORY => enabled(kinds::MEMORY2),
        kind::GRAPH => enabled(kinds::GRAPH_TRACE),
        records::OVERHEAD => enabled(kinds::OVERHEAD),
        _ => false,
    }
}

/// Something happened. Async-signal-safe.
///
/// # Safety
/// `event` is valid.
pub unsafe extern "C" fn on_event(event: *const Event) {
    // SAFETY: by the caller's contract.
    let event = unsafe { &*event };
    if wanted(event) && !ring::push(event) {
        buffers::drop_one();
    }
}

/// Time that we took ourselves, from `start` (monotonic ns) to now.
pub fn overhead(what: u64, start: u64) {
    // SAFETY: plain calls.
    let (process, thread) = unsafe { (libc::getpid() as u32, libc::syscall(libc::SYS_gettid) as u32) };
    let event = Event {
        start,
        end: clock::monotonic(),
        value: what,
        context: process,
        stream: thread,
        ..Event::new(records::OVERHEAD)
    };
    if wanted(&event) && !ring::push(&event) {
        buffers::drop_one();
    }
}
