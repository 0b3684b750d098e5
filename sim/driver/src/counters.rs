//! What happened, exactly: totals, a ring of records, and a sink for tests.
//!
//! Everything here may run inside the SIGSEGV handler, so it takes no lock and allocates nothing.

use crate::activity;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

pub use crate::told::{Event, kind};

/// Totals, of everything or of one allocation. `size` is `sizeof` this structure.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Totals {
    pub size: u64,
    pub bytes_h2d: u64,
    pub bytes_d2h: u64,
    pub bytes_d2d: u64,
    pub rows_h2d: u64,
    pub rows_d2h: u64,
    pub rows_d2d: u64,
    pub cpu_faults: u64,
    pub gpu_fault_groups: u64,
    pub remote_maps: u64,
    pub bytes_by_user: u64,
    pub bytes_by_coherence: u64,
    pub bytes_by_prefetch: u64,
    pub bytes_by_eviction: u64,
    pub kernels: u64,
    pub copies: u64,
    pub copy_bytes: u64,
    pub sets: u64,
    pub host_functions: u64,
}

const FIELDS: usize = std::mem::size_of::<Totals>() / 8;

impl Totals {
    /// Adds one record.
    pub fn add(&mut self, event: &Event) {
        match event.kind {
            kind::MIGRATION => {
                let (bytes, rows) = match (event.src, event.dst) {
                    (-1, _) => (&mut self.bytes_h2d, &mut self.rows_h2d),
                    (_, -1) => (&mut self.bytes_d2h, &mut self.rows_d2h),
                    _ => (&mut self.bytes_d2d, &mut self.rows_d2d),
                };
                *bytes += event.bytes;
                *rows += 1;
                match event.cause {
                    1 => self.bytes_by_user += event.bytes,
                    2 => self.bytes_by_coherence += event.bytes,
                    3 => self.bytes_by_prefetch += event.bytes,
                    4 => self.bytes_by_eviction += event.bytes,
                    _ => {}
                }
            }
            kind::CPU_FAULT => self.cpu_faults += 1,
            kind::GPU_FAULT_GROUP => self.gpu_fault_groups += 1,
            kind::REMOTE_MAP => self.remote_maps += 1,
            kind::KERNEL => self.kernels += 1,
            kind::COPY => {
                self.copies += 1;
                self.copy_bytes += event.bytes;
            }
            kind::SET => self.sets += 1,
            kind::HOST_FUNCTION => self.host_functions += 1,
            _ => {}
        }
    }

    fn words(&self) -> [u64; FIELDS] {
        // SAFETY: the structure is `repr(C)` and consists of u64 fields only.
        unsafe { std::mem::transmute_copy(self) }
    }
}

static TOTALS: [AtomicU64; FIELDS] = [const { AtomicU64::new(0) }; FIELDS];

const RING: usize = 1 << 16;

struct Cellule {
    /// 2 n + 1 while record n is written, 2 n + 2 when it is whole.
    sequence: AtomicU64,
    event: UnsafeCell<Event>,
}

// SAFETY: readers check the sequence before and after copying, and discard torn copies.
unsafe impl Sync for Cellule {}

static CELLS: [Cellule; RING] =
    [const { Cellule { sequence: AtomicU64::new(0), event: UnsafeCell::new(Event::ZERO) } }; RING];
static NEXT: AtomicU64 = AtomicU64::new(0);

type Sink = unsafe extern "C" fn(*const Event, *mut c_void);
static SINK: AtomicUsize = AtomicUsize::new(0);
static SINK_USER: AtomicUsize = AtomicUsize::new(0);

/// Counts a record, keeps it in the ring and hands it to the sinks.
pub fn emit(event: &Event) {
    let mut one = Totals::default();
    one.add(event);
    for (total, word) in TOTALS.iter().zip(one.words()) {
        if word != 0 {
            total.fetch_add(word, Ordering::Relaxed);
        }
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    if let Some(cell) = CELLS.get(number as usize % RING) {
        cell.sequence.store(2 * number + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        // SAFETY: the cell is this writer's until the sequence says otherwise; a lapped writer can only spoil a record
        // that the sequence check discards.
        unsafe { cell.event.get().write_volatile(*event) };
        cell.sequence.store(2 * number + 2, Ordering::Release);
    }
    let sink = SINK.load(Ordering::Acquire);
    if sink != 0 {
        // SAFETY: only `umsim_set_event_sink` stores here, and it stores a function of this type.
        let sink: Sink = unsafe { std::mem::transmute::<usize, Sink>(sink) };
        // SAFETY: the record lives for the call; the user pointer is the registrar's own.
        unsafe { sink(event, SINK_USER.load(Ordering::Relaxed) as *mut c_void) };
    }
    activity::tell(event);
}

/// Fills the totals since the start of the process. Returns 0.
///
/// # Safety
/// `out` is valid for a write of [`Totals`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umsim_counters(out: *mut Totals) -> c_int {
    let mut words = [0u64; FIELDS];
    for (word, total) in words.iter_mut().zip(&TOTALS) {
        *word = total.load(Ordering::Relaxed);
    }
    // SAFETY: the reverse of `words`: the same bytes.
    let mut totals: Totals = unsafe { std::mem::transmute_copy(&words) };
    totals.size = std::mem::size_of::<Totals>() as u64;
    // SAFETY: by the caller's contract.
    unsafe { crate::abi::put(out, totals) };
    0
}

/// Copies up to `max` records from number `from` on into `out`; stores in `next` the number to go on from. Records that
/// the ring has lost already are skipped: a jump of `next` beyond `from` + result says how many.
///
/// # Safety
/// `out` is valid for `max` records, `next` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umsim_events(from: u64, out: *mut Event, max: usize, next: *mut u64) -> usize {
    let end = NEXT.load(Ordering::Acquire);
    let mut number = from.max(end.saturating_sub(RING as u64));
    let mut copied = 0;
    while number < end && copied < max {
        let Some(cell) = CELLS.get(number as usize % RING) else { break };
        let whole = 2 * number + 2;
        let before = cell.sequence.load(Ordering::Acquire);
        if before < whole {
            break;
        }
        // SAFETY: any bytes make a valid Event for copying; a torn one is discarded below.
        let event = unsafe { cell.event.get().read_volatile() };
        fence(Ordering::Acquire);
        if before == whole && cell.sequence.load(Ordering::Relaxed) == whole {
            // SAFETY: `copied` is below `max`.
            unsafe { out.add(copied).write(event) };
            copied += 1;
        }
        number += 1;
    }
    // SAFETY: by the caller's contract.
    unsafe { crate::abi::put(next, number) };
    copied
}

/// Sends every record to `sink` as it is made (null: no longer). It is called on whatever thread makes the record, also
/// inside the SIGSEGV handler that serves a CPU fault: it must be async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn umsim_set_event_sink(sink: Option<Sink>, user: *mut c_void) {
    SINK_USER.store(user as usize, Ordering::Relaxed);
    SINK.store(sink.map_or(0, |f| f as usize), Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_are_counted() {
        let mut before = Totals::default();
        // SAFETY: a valid out-pointer.
        unsafe { umsim_counters(&raw mut before) };
        let event = Event { bytes: 4096, src: 0, dst: -1, cause: 2, ..Event::new(kind::MIGRATION) };
        emit(&event);
        let mut after = Totals::default();
        // SAFETY: as above.
        unsafe { umsim_counters(&raw mut after) };
        assert!(after.bytes_d2h >= before.bytes_d2h + 4096);
        let mut events = vec![Event::new(0); 64];
        let mut next = 0;
        // SAFETY: room for 64 records.
        let count = unsafe { umsim_events(0, events.as_mut_ptr(), 64, &raw mut next) };
        assert!(count >= 1 && next >= 1);
        assert!(events[..count].iter().any(|e| e.bytes == 4096 && e.cause == 2));
    }
}
