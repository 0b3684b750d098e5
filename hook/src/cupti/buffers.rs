//! The buffers that CUPTI fills: a few, made when the first is asked for, handed round between CUPTI and the collector.
//!
//! When all of them are full CUPTI gets none, drops what it has and counts it: the program never waits for us.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::{clock, sys};

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
    /// When it was lent, ticks.
    lent: AtomicU64,
}

static BUFFERS: [Buffer; COUNT] = [const {
    Buffer {
        state: AtomicU32::new(FREE),
        address: AtomicUsize::new(0),
        valid: AtomicUsize::new(0),
        order: AtomicU64::new(0),
        lent: AtomicU64::new(0),
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
        let address = buffer.address.load(Ordering::Relaxed) as *mut u8;
        // SAFETY: mapped, and nobody else's; see `withheld`.
        unsafe { AtomicU64::from_ptr(address.cast()) }.store(0, Ordering::Relaxed);
        buffer.lent.store(clock::now(), Ordering::Release);
        return address;
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

/// Whether CUPTI keeps a buffer with records that it had before these ticks: since then it was to hand over what is
/// complete, so some record in it is not, and others wait with it.
pub fn withheld(before: u64) -> bool {
    BUFFERS.iter().filter(|buffer| buffer.state.load(Ordering::Acquire) == LENT).any(|buffer| {
        let address = buffer.address.load(Ordering::Relaxed) as *mut u64;
        let lent = buffer.lent.load(Ordering::Acquire);
        // A record begins with its kind, which is never zero. An empty one may be kept for what comes.
        // SAFETY: it stays mapped, and is aligned.
        lent != 0
            && lent < before
            && !address.is_null()
            && unsafe { AtomicU64::from_ptr(address) }.load(Ordering::Relaxed) != 0
    })
}

/// How often CUPTI got no buffer since the last time this was asked.
pub fn refused() -> u64 {
    REFUSED.swap(0, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_go_round_in_order_and_what_is_held_back_is_known() {
        let before = clock::now();
        let buffers: Vec<*mut u8> = (0..COUNT).map(|_| lend()).collect();
        assert!(buffers.iter().all(|buffer| !buffer.is_null()));
        assert!(lend().is_null() && lend().is_null(), "there are no more");
        assert_eq!((refused(), refused()), (2, 0));
        assert!(!hand_over(core::ptr::without_provenance_mut(8), 100), "none of ours");
        let after = clock::now() + 1;
        assert!(!withheld(after), "all are empty");
        let [first, second, third, ..] = buffers[..] else { return };
        // SAFETY: they are long enough.
        unsafe {
            first.cast::<u32>().write(10);
            third.cast::<u32>().write(25);
        }
        assert!(withheld(after) && !withheld(before));
        assert!(hand_over(third, 64) && hand_over(first, BYTES + 1) && hand_over(second, 0));
        assert!(!withheld(after) && !hand_over(third, 64), "once");
        let order: Vec<_> = core::iter::from_fn(|| take().map(|full| full.records())).collect();
        assert_eq!(order, [(third, 64), (first, BYTES)], "the first comes first, and an empty one not at all");
        assert_eq!(lend(), first, "free again");
    }
}
