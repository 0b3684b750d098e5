//! The buffers that CUPTI fills: a few, made when the first is asked for, handed round between CUPTI and the collector.
//!
//! When all of them are full CUPTI gets none, drops what it has and counts it: the program never waits for us.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::sys;

/// Bytes of a buffer. A buffer is handed over when all its records are complete, so one long kernel holds back no more
/// than this.
pub const BYTES: usize = 128 * 1024;
/// Buffers at most, 16 MiB in all; memory is used as far as they are filled.
const COUNT: usize = 128;

/// Nobody has it.
const FREE: u32 = 0;
/// CUPTI has it.
const LENT: u32 = 1;
/// It is full, the collector is to take it.
const FULL: u32 = 2;

struct Buffer {
    state: AtomicU32,
    address: AtomicUsize,
    /// Bytes of it that hold records.
    valid: AtomicUsize,
    /// When it was handed over, among all.
    order: AtomicU64,
}

static BUFFERS: [Buffer; COUNT] = [const {
    Buffer {
        state: AtomicU32::new(FREE),
        address: AtomicUsize::new(0),
        valid: AtomicUsize::new(0),
        order: AtomicU64::new(0),
    }
}; COUNT];

static HANDED_OVER: AtomicU64 = AtomicU64::new(0);
/// Requests that found none free, since the last look.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// CUPTI wants a buffer; null: there is none.
pub fn lend() -> *mut u8 {
    for buffer in &BUFFERS {
        if buffer.state.compare_exchange(FREE, LENT, Ordering::Acquire, Ordering::Relaxed).is_err() {
            continue;
        }
        if buffer.address.load(Ordering::Relaxed) == 0 {
            let Ok(address) = sys::map_private(BYTES) else {
                buffer.state.store(FREE, Ordering::Release);
                break;
            };
            buffer.address.store(address as usize, Ordering::Relaxed);
        }
        return buffer.address.load(Ordering::Relaxed) as *mut u8;
    }
    REFUSED.fetch_add(1, Ordering::Relaxed);
    core::ptr::null_mut()
}

/// CUPTI hands a buffer over, of which the first `valid` bytes are records; false for one that is not ours.
pub fn hand_over(address: *mut u8, valid: usize) -> bool {
    let ours = BUFFERS.iter().find(|buffer| {
        buffer.address.load(Ordering::Relaxed) == address as usize && buffer.state.load(Ordering::Relaxed) == LENT
    });
    let Some(buffer) = ours else { return false };
    if valid == 0 {
        buffer.state.store(FREE, Ordering::Release);
        return true;
    }
    buffer.valid.store(valid.min(BYTES), Ordering::Relaxed);
    buffer.order.store(HANDED_OVER.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    buffer.state.store(FULL, Ordering::Release);
    true
}

/// A buffer to be read, given back when it goes.
pub struct Full(&'static Buffer);

impl Full {
    /// Its records.
    pub fn records(&self) -> (*mut u8, usize) {
        (self.0.address.load(Ordering::Relaxed) as *mut u8, self.0.valid.load(Ordering::Relaxed))
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        self.0.state.store(FREE, Ordering::Release);
    }
}

/// The full buffer that was handed over first. Only one thread at a time may ask.
pub fn take() -> Option<Full> {
    let full = BUFFERS.iter().filter(|buffer| buffer.state.load(Ordering::Acquire) == FULL);
    full.min_by_key(|buffer| buffer.order.load(Ordering::Relaxed)).map(Full)
}

/// How often CUPTI got no buffer since the last time this was asked.
pub fn refused() -> u64 {
    REFUSED.swap(0, Ordering::Relaxed)
}
